"""The files of the catalogue: each is named and parsed, and found by its lines without being parsed."""

import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT

from parquet_bloom.engines.catalogue import NAMES, engines, engines_where, find_engine
from parquet_bloom.engines.engine import Engine, parse_engine
from parquet_bloom.engines.reading import engine_notes, paragraph, without_filters
from parquet_bloom.vocabulary import LostKind, words

FOLDER = ROOT / "parquet_bloom" / "engines" / "catalogue"

# With these words, a sentence about several engines begins as it should: `refuse`, not `carrie`.
VERBS = {
    "cannot",
    "fails",
    "ignores",
    "looks",
    "loses",
    "opens",
    "reads",
    "refuses",
    "uses",
    "writes",
}


def test_every_file_is_named():
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.iterdir())
    assert len({engine.name for engine in engines()}) == len(NAMES)


def said(engine: Engine, key: str) -> list[str]:
    """What an engine's file says by this key, at least a part of the line."""
    match key:
        case "kinds":
            return [kind for lost in engine.loses for kind in lost.kinds]
        case "when":
            return [note.when for note in engine.notes]
    return [trouble.created_by for trouble in engine.wrote]


@pytest.mark.parametrize("key", ["kinds", "when", "created_by"])
@pytest.mark.parametrize("name", NAMES)
def test_what_a_file_says_is_found_by_its_line(name, key):
    engine = find_engine(name)
    for each in said(engine, key):
        assert engine in engines_where(key, lambda line, each=each: f'"{each}"' in line)


READ = """
import sys
import parquet_bloom as pb
read = []
sys.addaudithook(lambda event, found: read.append(str(found[0])) if event == "open" else None)
pb.build(sys.argv[1], sys.argv[2], columns=["c"])
print(sum(path.endswith(".toml") for path in read), sum(path == sys.argv[1] for path in read))
"""


@pytest.mark.parametrize(("kind", "is_read"), [(pa.string(), False), (pa.binary(), True)])
def test_it_is_only_read_where_there_may_be_something_to_say(kind, is_read, tmp_path):
    """Reading it takes seven system calls for each engine, in the midst of a build."""
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": pa.array([b"a", b"b"], kind)}), source)
    arguments = [sys.executable, "-c", READ, source, tmp_path / "b.parquet"]
    run = subprocess.run(arguments, capture_output=True, text=True, check=True)
    found, opened = map(int, run.stdout.split())
    assert opened >= 1
    assert found == (len(NAMES) if is_read else 0)


def test_every_kind_of_which_rows_may_be_lost_is_one_of_which_some_are():
    assert {kind for each in engines() for lost in each.loses for kind in lost.kinds} == {
        *words(LostKind)
    }


def test_nothing_else_is_parsed():
    code = (
        "import sys; from parquet_bloom.engines.reading import ColumnKind, engine_note, lost_rows;"
        "assert engine_note('') == ''; assert 'tomllib' not in sys.modules;"
        "assert lost_rows(ColumnKind('BYTE_ARRAY')); from parquet_bloom.engines import catalogue;"
        "print(catalogue.find_engine.cache_info().currsize)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"


@pytest.mark.parametrize("name", NAMES)
def test_notes_begin_with_a_verb_and_end_without_a_full_stop(name):
    for note in find_engine(name).notes:
        assert note.does.split()[0] in VERBS
        assert not note.does.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_links_are_reports(name):
    engine = find_engine(name)
    for each in (*engine.loses, *engine.notes, *engine.wrote):
        assert each.link == "" or re.fullmatch(r"https://[\w./-]+", each.link)


@pytest.mark.parametrize("name", NAMES)
def test_what_advise_says_has_a_source(name):
    engine = find_engine(name)
    assert engine.source or not engine.parquet


def test_engines_that_do_the_same_share_a_sentence():
    assert engine_notes("more than 128 MiB") == (
        "Trino, parquet-java and Arrow C++ refuse the filter",
    )
    assert engine_notes("encrypted") == (
        "DuckDB up to 2.0 cannot read encrypted columns that have a filter",
    )


def test_what_engines_do_can_depend_on_the_table():
    used = "use the filters once the new sizes are committed"
    query_builder = "deltalake's QueryBuilder (DataFusion)"
    by_dataset = "deltalake's to_pyarrow_dataset"
    refused = (
        "column mapping, deletion vectors, the feature deletionVectors or other reader features"
    )
    without_use = "deletion vectors or column mapping with delta.enableDeletionVectors"
    assert engine_notes("in a Delta table", ("deltalake", "Sail"))[:2] == (
        f"{query_builder} uses{used.removeprefix('use')}, unless the table has {without_use}",
        f"{by_dataset} reads the same rows without the filters, unless the table has {refused}",
    )
    assert engine_notes("in a Delta table", ("deltalake", "Sail"), ())[0] == (
        f"{query_builder} and Sail {used}"
    )
    (of_any,) = engine_notes("in an Iceberg table", ("Sail",))
    assert of_any.endswith(", unless the table has delete files or renamed columns")


def test_a_paragraph_has_the_reports():
    assert paragraph("less than 64 bytes") == (
        "Impala looks in the wrong block (the smallest filter that it writes itself has 64 bytes;"
        " [IMPALA-12700](https://issues.apache.org/jira/browse/IMPALA-12700))."
    )
    with pytest.raises(ValueError, match="about: nonsense, expected a published murmur3 filter"):
        paragraph("nonsense")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('name = "X"\nuse = ["FLOAT"]', TypeError),
        ('name = "X"\n[[loses]]\nkinds = ["STRING"]\nlooks_up = ""', ValueError),
        ('name = "X"\n[[notes]]\nwhen = "late"\ndoes = "fails"', ValueError),
        ('name = "X"\n[[wrote]]\ncreated_by = "X"\nwhen = "late"\ncondition = ""\nlink = ""', ValueError),
        ('name = "X"\n[settings.parquet]\ntext = ""\nnames = "all"', ValueError),
        ('name = "X', ValueError),
    ],
)  # fmt: skip
def test_what_a_file_must_not_say(text, error):
    with pytest.raises(error):
        parse_engine(text)


def test_who_uses_no_filters_whatever_the_column():
    named = ("Spark", "DuckDB", "pyarrow", "Polars")
    assert without_filters(named, "parquet") == ("pyarrow", "Polars")
    assert without_filters(named, "orc") == ("DuckDB", "pyarrow", "Polars")
    assert without_filters((), "orc") == ()
