"""docs/engines.md is what was found says, and the package says the same."""

import json
import subprocess
import sys
from collections import defaultdict

import pytest
from conftest import ROOT
from engines.run import ENGINES, NESTED_RESULTS, RESULTS, TYPED, write_built
from make.leaves import leaf

from parquet_bloom.conformance.column_type import TYPES
from parquet_bloom.conformance.nested_cases import FORMS
from parquet_bloom.engines.catalogue import engines
from parquet_bloom.engines.reading import ELEMENTS, FIELDS, KEYS, MEMBERS, kind_of, lost_rows
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.values.types import LeafType

FOUND = {path.stem: json.loads(path.read_text()) for path in RESULTS.glob("*.json")}
NESTED_FOUND = {path.stem: json.loads(path.read_text()) for path in NESTED_RESULTS.glob("*.json")}
ADVISED = {each.name: each.parquet for each in engines() if each.parquet}
LATEST = {
    "DuckDB": "duckdb",
    "DataFusion": "datafusion",
    "Spark": "spark",
    "ClickHouse": "clickhouse",
}
VERSIONS = {name: engine.nested for name, engine in ENGINES.items() if engine.nested}


def column(type: LeafType) -> LeafColumn:
    return LeafColumn(0, ("v",), type, 0, 0)


def test_the_page_is_what_make_docs_writes():
    script = str(ROOT / "docs" / "engines.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert run.stdout == (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")


def test_make_docs_writes_it():
    makefile = (ROOT / "Makefile").read_text()
    assert "\t$(BIN)/python docs/engines.py > docs/engines.md\n" in makefile
    assert "\tPYTHONPATH=tests $(BIN)/python tests/engines/run.py read $(ENGINES)\n" in makefile


@pytest.mark.parametrize("name", ENGINES)
def test_what_was_found_is_about_every_type(name):
    found = FOUND[name]
    assert (found["engine"], found["settings"]) == (ENGINES[name].title, ENGINES[name].settings)
    assert set(found["versions"]) <= set(ENGINES[name].versions)
    for version in found["versions"].values():
        assert list(version["plain"]) == list(version["dictionary"]) == list(TYPES)


def test_nothing_else_was_found():
    assert FOUND.keys() == ENGINES.keys()


@pytest.mark.parametrize("engine", LATEST)
def test_advise_says_what_the_latest_version_does(engine):
    """Of chunks without a dictionary, or with one if that is the only way to ask."""
    latest = list(FOUND[LATEST[engine]]["versions"].values())[-1]
    uses = defaultdict(set)
    for type in TYPES:
        words = {latest[encoding][type].partition(":")[0] for encoding in ("plain", "dictionary")}
        uses[kind_of(leaf(type))].add("uses" in words)
    # Of DECIMAL in bytes, only some lengths are used.
    used = {kind for kind, answers in uses.items() if True in answers}
    assert used == {*ADVISED[engine].uses}


@pytest.mark.parametrize("engine", LATEST)
def test_advise_says_since_which_version_a_type_is_used(engine):
    """If not since the engine uses any filters; to lose rows, it has to ask them."""
    asking = {"uses", "loses"}
    versions = {
        version.rpartition(".")[0]: {
            type for type in TYPES if asking & {found["plain"][type], found["dictionary"][type]}
        }
        for version, found in FOUND[LATEST[engine]]["versions"].items()
    }
    first = next(asked for asked in versions.values() if asked)
    since = {}
    for type in set().union(*versions.values()) - first:
        version = next(version for version, asked in versions.items() if type in asked)
        since[kind_of(leaf(type))] = f"since {version}"
    told = {kind: ADVISED[engine].used_since(kind) for kind in ADVISED[engine].uses}
    assert {kind: when for kind, when in told.items() if when} == {
        kind: when for kind, when in since.items() if kind in told
    }


def test_rows_are_lost_where_the_rule_says_so():
    """By readers that skip by themselves."""
    lost = defaultdict(set)
    for name, found in FOUND.items():
        if name == "parquetjs":
            continue
        for version in found["versions"].values():
            for type in TYPES:
                if "loses" in (version["plain"][type], version["dictionary"][type]):
                    lost[type].add(found["engine"])
    expected = {type: lost_rows(column_kind(column(leaf(type)))) for type in TYPES}
    assert lost == {
        type: {each.engine for each in found} for type, found in expected.items() if found
    }


@pytest.mark.interop
def test_an_engine_that_is_here_answers_as_it_was_asked(tmp_path):
    """The files with filters of this package are what they are said to be, or DuckDB would not find its way."""
    duckdb = pytest.importorskip("duckdb")
    case = next(each for each in TYPED if each.id == "types/int64-integer-64-true-plain")
    write_built(case, tmp_path)
    (value,) = case.ask.values
    for form in ("filtered", "filtered-damaged"):
        query = f"SELECT n FROM '{tmp_path / case.path(form)}' WHERE v = {value.literal}"
        assert duckdb.sql(query).fetchall() == [case.rows]
    damaged = tmp_path / case.path("filtered-damaged")
    with pytest.raises(duckdb.Error):
        duckdb.sql(f"SELECT max(v) FROM '{damaged}' WHERE n > 0").fetchall()


# ------------------------------------------------------------------------------------------------
# Nested columns


LATEST_NESTED = {name: NESTED_FOUND[file] for name, file in LATEST.items()}


def of_latest(engine: str, shown: str) -> set[str]:
    """What its latest version does with a predicate, in chunks of either encoding."""
    latest = list(LATEST_NESTED[engine]["versions"].values())[-1]
    return {latest[encoding][shown] for encoding in ("plain", "dictionary")}


def test_nested_results_are_about_every_predicate():
    assert NESTED_FOUND.keys() == VERSIONS.keys()
    for name, found in NESTED_FOUND.items():
        assert tuple(found["versions"]) == VERSIONS[name]
        for version in found["versions"].values():
            shown = [form.shown for form in FORMS]
            assert list(version["plain"]) == list(version["dictionary"]) == shown


@pytest.mark.parametrize("engine", LATEST)
@pytest.mark.parametrize(
    ("nesting", "predicate"),
    [
        (MEMBERS, "`s.a = 40`"),
        (ELEMENTS, "`l[1] = 40`, the first element"),
        (ELEMENTS, "`m['k'] = 40`, a value of a map"),
        (KEYS, "a key of a map"),
        (FIELDS, "`v.a::INT = 40`, a shredded VARIANT"),
    ],
)
def test_advise_says_of_nested_columns_what_the_latest_version_does(engine, nesting, predicate):
    assert (nesting in ADVISED[engine].nested) == ("uses" in of_latest(engine, predicate))


def test_what_duckdb_does_not_ask():
    for predicate in (
        "`i IN (40, 41)`, neighbouring integers",
        "`l` contains 40",
        "a row per element, `UNNEST(l) = 40`",
        "`v.a::BIGINT = 40`, not the type that is stored",
        "`v.a::INT = 40`, with text in another row",
    ):
        assert of_latest("DuckDB", predicate) == {"ignores"}


def test_nested_columns_that_duckdb_loses_rows_of():
    """By filters of decimals, and as the rule says, not before 2.0."""
    versions = NESTED_FOUND["duckdb"]["versions"]
    lost = {
        (version, form.shown)
        for version, found in versions.items()
        for form in FORMS
        if "loses" in (found["plain"][form.shown], found["dictionary"][form.shown])
    }
    decimals = {form.shown for form in FORMS if form.file == "decimal"}
    assert lost == {("2.0.0", shown) for shown in decimals}
    others = {name: found for name, found in NESTED_FOUND.items() if name != "duckdb"}
    assert "loses" not in str(others)


# ------------------------------------------------------------------------------------------------
# Readers that advise does not know


def test_what_is_said_of_rugo():
    found = FOUND["rugo"]["versions"]["0.5.6"]["plain"]
    used = {kind_of(leaf(type)) for type, word in found.items() if word == "uses"}
    assert {"DATE", "TIMESTAMP in MICROS", "STRING", "BYTE_ARRAY"} < used
    assert all(word == "uses" for type, word in found.items() if "INTEGER" in type)
    assert {found["FLOAT"], found["DOUBLE"], found["INT64 DECIMAL(18,3)"]} == {"ignores"}


def test_what_is_said_of_daft():
    words = set(map(str, FOUND["daft"]["versions"]["0.7.26"]["plain"].values()))
    assert {word.partition(":")[0] for word in words} == {"ignores", "refuses"}


def test_what_is_said_of_parquetjs():
    found = FOUND["parquetjs"]["versions"]["1.8.9"]["plain"]
    assert {type for type, word in found.items() if word == "uses"} == {
        "BYTE_ARRAY STRING",
        "BYTE_ARRAY ENUM",
    }
    assert {word for type, word in found.items() if "INTEGER" in type} == {"loses"}
