"""Fields of a VARIANT, asked by their path: no value is `absent` that SQL finds.

PBLOOM_VARIANT_QUERIES: how many random queries DuckDB answers, and Spark, in `make long`.
"""

import json
import math
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import Any

import duckdb
import numpy as np
import pytest
from conftest import ROOT
from make.commands import outcome
from make.documents import blocks, figures
from make.footers import edited
from make.shown import rewritten
from make.variant_values import TYPES, Shredding, Value, variant_file

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.vocabulary import BEYOND_BITS

QUERIES = int(os.environ.get("PBLOOM_VARIANT_QUERIES", "160"))
AT_ONCE = 40

PATHS = ("a", "b.c", "d", "A", "b.e")
# What a query can cast a field to, and what it then compares it with.
CASTS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **{f"DECIMAL(12,{scale})": f"decimal {scale}" for scale in (0, 1, 2, 3)},
    "VARCHAR": "text",
    "DATE": "date",
    "TIMESTAMP": "local",
    "TIMESTAMPTZ": "moment",
    "BOOLEAN": "bool",
}
# What Spark calls them.
IN_SPARK = {
    "HUGEINT": "DECIMAL(38,0)",
    "VARCHAR": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMP": "TIMESTAMP_NTZ",
}
TEXTS = ("40", " 40", "040", "40.0", "4e1", "x", "true", "2024-01-31", "", "Ä", "-0")
DAYS = (date(2024, 1, 31), date(1969, 12, 31))
TIMES = (datetime(2024, 1, 31), datetime(2024, 1, 31, 10, 0, 0, 1), datetime(1969, 12, 31, 23))


def a_number(chance: random.Random) -> float:
    return chance.choice((40, 40, 41, -1, 0, 1, 40.4, 39.6, 40.005, -0.0, 0.1, 300, 2**31, 1e9))


def a_value(chance: random.Random, kind: str) -> Value:
    number = a_number(chance)
    match kind:
        case "boolean":
            return kind, chance.random() < 0.5
        case "int8" | "int16" | "int32" | "int64":
            limit = 1 << (int(kind[3:]) - 1)
            return kind, int(number) % limit * chance.choice((1, 1, -1))
        case "float":
            return kind, float(np.float32(number))
        case "double":
            return kind, chance.choice(
                (float(number), float(number), math.nan, float(np.float32(0.1)))
            )
        case "decimal":
            return kind, Decimal(str(round(min(number, 1e6), 2))).quantize(Decimal("0.01"))
        case "string":
            return kind, chance.choice(TEXTS)
        case "date":
            return kind, chance.choice(DAYS)
        case "timestamp":
            return kind, chance.choice(TIMES).replace(tzinfo=UTC)
        case "local":
            return kind, chance.choice(TIMES)
    raise AssertionError(kind)


def any_value(chance: random.Random, usual: str | None) -> Value:
    kind = usual if usual and chance.random() < 0.85 else chance.choice(list(TYPES))
    return (
        a_value(chance, kind) if chance.random() < 0.95 else chance.choice((None, [("int32", 40)]))
    )


def a_shredding(chance: random.Random) -> dict[str, Shredding]:
    kinds = list(TYPES)
    found: dict[str, Shredding] = {"a": chance.choice(kinds)}
    if chance.random() < 0.7:
        found["b"] = {"c": chance.choice(kinds)}
    if chance.random() < 0.3:
        found["A"] = chance.choice(kinds)
    return found


def an_object(chance: random.Random, shredding: dict[str, Shredding], is_tidy: bool) -> Value:
    """`is_tidy`: one that is shredded wholly."""
    below = shredding.get("b")
    usual = {"a": shredding["a"], "A": shredding.get("A"), "c": below["c"] if below else None}

    def field(name: str) -> Value:
        kind = usual.get(name)
        if is_tidy and isinstance(kind, str):
            return a_value(chance, kind)
        return any_value(chance, kind if isinstance(kind, str) else None)

    names = [name for name in shredding if name != "b"] if is_tidy else ["a", "A", "d"]
    found: dict[str, Value] = {name: field(name) for name in names if chance.random() < 0.8}
    if below or not is_tidy:
        inner = ["c"] if is_tidy else ["c", "e"]
        found["b"] = {name: field(name) for name in inner if chance.random() < 0.8}
    if not is_tidy and chance.random() < 0.1:
        return any_value(chance, None)
    return found


def a_file(chance: random.Random, path: Path) -> None:
    shredding = a_shredding(chance)
    groups, n = [], 0
    for _ in range(4):
        is_tidy = chance.random() < 0.7
        rows = []
        for _ in range(chance.randrange(1, 6)):
            rows.append((n, an_object(chance, shredding, is_tidy)))
            n += 1
        groups.append(rows)
    path.write_bytes(variant_file(groups, shredding))
    pb.build(path, in_place=True, columns=["v"], force=True)


def a_query(chance: random.Random) -> tuple[str, str, object, str]:
    """The path of a field, the type that it is cast to, and a value of that, for us and in SQL."""
    cast = chance.choice(list(CASTS))
    number = a_number(chance)
    match CASTS[cast].split():
        case ["int"]:
            value: object = int(number)
            sql = str(value)
        case ["float"]:
            value = float(np.float32(number)) if cast == "FLOAT" else float(number)
            sql = f"TRY_CAST('{value!r}' AS {cast})"
        case ["decimal", scale]:
            value = Decimal(str(round(number, int(scale)))).quantize(Decimal(1).scaleb(-int(scale)))
            sql = f"TRY_CAST('{value}' AS {cast})"
        case ["text"]:
            value = chance.choice(TEXTS)
            sql = f"'{value}'"
        case ["date"]:
            value = chance.choice(DAYS)
            sql = f"DATE '{value}'"
        case ["local"]:
            value = chance.choice(TIMES)
            sql = f"CAST('{value}' AS TIMESTAMP)"
        case ["moment"]:
            value = chance.choice(TIMES).replace(tzinfo=UTC)
            sql = f"CAST('{value}' AS TIMESTAMPTZ)"
        case _:
            value = chance.random() < 0.5
            sql = str(value).lower()
    return chance.choice(PATHS), cast, value, sql


def literal_of(chance: random.Random, value: object) -> object:
    """The same as text, as on the command line."""
    if chance.random() < 0.5:
        return value
    if isinstance(value, str | float):
        return pb.literal(str(value), "string" if isinstance(value, str) else "float")
    text = value.isoformat() if isinstance(value, date) else str(value)
    return pb.literal(text.replace("+00:00", "Z"))


def by_duckdb(path: Path, queries: list[tuple[str, str, object, str]]) -> list[set[int]]:
    """The rows for which each holds, without any filter being pushed down."""
    found = []
    for field, cast, _, sql in queries:
        extracted = "v"
        for name in field.split("."):
            extracted = f"variant_extract({extracted}, '{name}')"
        found.append(f"TRY_CAST({extracted} AS {cast}) = {sql}")
    rows = duckdb.sql(f"SET TimeZone='UTC'; SELECT n, {', '.join(found)} FROM '{path}'").fetchall()
    return [{row[0] for row in rows if row[at]} for at in range(1, 1 + len(queries))]


def by_spark(spark: Any, path: Path, queries: list[tuple[str, str, object, str]]) -> list[set[int]]:
    found = []
    for field, cast, value, _ in queries:
        type = IN_SPARK.get(cast, cast)
        found.append(f"try_variant_get(v, '$.{field}', '{type}') = TRY_CAST('{value}' AS {type})")
    rows = spark.sql(f"SELECT n, {', '.join(found)} FROM parquet.`{path}`").collect()
    return [{row[0] for row in rows if row[at]} for at in range(1, 1 + len(queries))]


def believed(path: Path, field: str, value: object) -> set[int]:
    """The rows of all groups that are excluded."""
    found: set[int] = set()
    (probed,) = pb.probe(path, f"v:{field}", [value]).results
    for group in probed.groups:
        if group.verdict == "absent":
            found |= set(range(group.first_row, group.first_row + group.num_rows))
    return found


def is_apart(path: Path, field: str, cast: str) -> bool:
    """Whether a cast is one that the answer is about: FLOAT and DOUBLE look alike to us."""
    if cast != "FLOAT":
        return True
    (note,) = {pb.probe(path, f"v:{field}", 0.5).caveat}
    return note is None or "DOUBLE" not in note


def rounds(tmp_path: Path, count: int) -> Iterator[tuple[Path, list[tuple[str, str, object, str]]]]:
    chance = random.Random(39)
    for number in range(math.ceil(count / AT_ONCE)):
        path = tmp_path / f"{number}.parquet"
        a_file(chance, path)
        yield path, [a_query(chance) for _ in range(AT_ONCE)]


def contradictions(
    path: Path, queries: list[tuple[str, str, object, str]], answers: list[set[int]]
) -> Iterator[str]:
    chance = random.Random(str(path.name))
    for (field, cast, value, _), rows in zip(queries, answers, strict=True):
        given = literal_of(chance, value)
        wrong = believed(path, field, given) & rows
        if wrong and is_apart(path, field, cast):
            yield f"{path}: cast({field} as {cast}) = {value!r} ({given!r}): rows {wrong}"


def check(answered_by: Callable[..., list[set[int]]], tmp_path: Path, count: int) -> None:
    found, excluded, held = [], 0, 0
    for path, queries in rounds(tmp_path, count):
        answers = answered_by(path, queries)
        found += contradictions(path, queries, answers)
        held += sum(map(bool, answers))
        excluded += sum(bool(believed(path, field, value)) for field, _, value, _ in queries)
    assert not found, "\n".join(found)
    # Or nothing was tried.
    assert held > count / 10
    assert excluded > count / 25


def test_duckdb_finds_nothing_that_is_absent(tmp_path):
    check(by_duckdb, tmp_path, QUERIES)


@pytest.mark.long
def test_spark_finds_nothing_that_is_absent(spark, tmp_path):
    check(partial(by_spark, spark), tmp_path, QUERIES)


# --- paths ----------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    """Row groups that are wholly shredded, but for a null; with a value that is not; with an object that has a field
    more; with something that is no object."""
    whole: Value = {"a": ("int32", 40), "b": {"c d": ("string", "x")}}
    other: Value = {"a": ("string", "40"), "b": {"c d": ("string", "y")}}
    more: Value = {**whole, "z": ("int32", 1)}
    groups: list[list[tuple[int, Value]]] = [
        [(0, whole), (1, None)],
        [(2, whole), (3, other)],
        [(4, more)],
        [(5, whole), (6, ("string", "40"))],
    ]
    path = tmp_path / "fields.parquet"
    shredding: dict[str, Shredding] = {"a": "int32", "b": {"c d": "string"}, "x.y": "double"}
    path.write_bytes(variant_file(groups, shredding))
    pb.build(path, in_place=True, columns=["v"], force=True)
    return path


def answers(path, name, value):
    (found,) = pb.probe(path, name, [value]).results
    return [(each.verdict, each.reason) for each in found.groups]


ABSENT = "absent", None
OWN = "maybe", "1 value of the field is not shredded"
NOT_ALL = "maybe", "1 value of v is not wholly shredded"


@pytest.mark.parametrize("name", ["v:a", "v.a", "v:$.a", "v:['a']", 'v:$["a"]', "v:.a"])
def test_a_field_is_named_by_its_path(path, name):
    assert answers(path, name, 99) == [ABSENT, OWN, ABSENT, NOT_ALL]
    assert answers(path, name, 40) == [("maybe", None)] * 4


def test_fields_in_fields_have_residuals_on_the_way(path):
    for name in ("v:b.c d", "v:b['c d']", "v.b.c d"):
        assert answers(path, name, "x") == [("maybe", None)] * 4
        assert answers(path, name, "z") == [ABSENT, ABSENT, ABSENT, NOT_ALL]


def test_a_dot_in_a_name_leads_nowhere(path):
    unknown = [("unknown", "the field is not shredded in the file")] * 4
    for name in ("v:x.y", "v:z", "v:$", "v:$a", "v:a[0]", "v:a..b", "v:b", "v:A"):
        wanted = pytest.raises(pb.ColumnError) if name in ("v:a[0]", "v:a..b") else None
        if wanted is None:
            assert answers(path, name, 1.5) == unknown
            continue
        with wanted:
            pb.probe(path, name, 1)
    nulls = "absent", "only nulls, by its null_count and its pages"
    assert answers(path, "v:['x.y']", 1.5) == [nulls] * 3 + [NOT_ALL]


def test_names_that_are_no_fields(path):
    fields = "v:a, v:b.c d, v:['x.y']"
    cases = {
        "v": f"column v: a VARIANT, expected one of its shredded fields: {fields}",
        "v:a[0]": f"column v:a[0]: arrays are not supported; shredded fields of v: {fields}",
        "v.typed_value.a": "column v.typed_value.a: a group, expected a leaf column such as"
        " v.typed_value.a.value, v.typed_value.a.typed_value",
    }
    for name, message in cases.items():
        with pytest.raises(pb.ColumnError) as caught:
            pb.probe(path, name, 1)
        assert str(caught.value) == f"{path}: {message}"
    with pytest.raises(pb.ColumnError, match="column v:zz: not shredded; shredded fields of v: "):
        pb.build(path, path.with_suffix(".new"), columns=["v:zz"])


def test_arrays_are_refused(tmp_path):
    path = tmp_path / "arrays.parquet"
    duckdb.sql("SELECT {'l': [i], 'a': i}::VARIANT AS v FROM range(9) t(i)").write_parquet(
        str(path)
    )
    for name in ("v:l", "v:l[0]"):
        with pytest.raises(
            pb.ColumnError,
            match=re.escape(f"column {name}: arrays are not supported; shredded fields of v: v:a"),
        ):
            pb.build(path, tmp_path / "new.parquet", columns=[name])


def test_verbs_take_fields_and_whole_variants(path):
    typed = ["v.typed_value.a.typed_value", "v.typed_value.b.typed_value.c d.typed_value"]
    pb.strip(path, in_place=True, columns=["v:a"])
    seen = pb.inspect(path, columns=["v"]).row_groups[0].columns
    assert [each.column for each in seen] == [*typed, "v.typed_value.x.y.typed_value"]
    assert [each.filter is not None for each in seen] == [False, True, False]
    built = pb.build(path, in_place=True, columns=["v:a"]).filters
    assert [each.column for each in built] == typed[:1] * 4
    assert pb.advise(path, columns=["v:b['c d']"]).columns[0].column == typed[1]
    sampled = pb.advise(path, columns=["v:a"], value_sample={"v:a": [40, 99]}).columns[0]
    assert (sampled.column, sampled.values_asked, sampled.values_stored) == (typed[0], 2, 1)
    with pytest.raises(pb.ColumnError, match="column v stands for 3 columns, expected one"):
        pb.advise(path, columns=["v"], value_sample={"v": [40]})


def residual_of_a(count: int | None, **fields: Any) -> Callable[[ttypes.FileMetaData], None]:
    def edit(footer: ttypes.FileMetaData) -> None:
        for group in footer.row_groups:
            for chunk in group.columns:
                if chunk.meta_data.path_in_schema == ["v", "typed_value", "a", "value"]:
                    chunk.meta_data.statistics = ttypes.Statistics(null_count=count)
                    set_fields(chunk.meta_data, fields)

    return edit


def set_fields(struct: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(struct, name, value)


@pytest.mark.parametrize("count", [None, -1, 9])
def test_what_is_not_counted_is_read(path, count):
    path.write_bytes(edited(path.read_bytes(), residual_of_a(count)))
    assert answers(path, "v:a", 99) == [ABSENT, OWN, ABSENT, NOT_ALL]


def test_what_cannot_be_read_is_not_excluded(path):
    unknown = "unknown", "nobody has counted how many values of the field are not shredded"
    data = path.read_bytes()
    path.write_bytes(edited(data, residual_of_a(None, codec=99)))
    assert answers(path, "v:a", 99) == [unknown] * 4
    path.write_bytes(edited(data, residual_of_a(0, codec=99)))
    two, one = (f"{each} of the field" for each in ("2 values", "1 value"))
    left = [reason for _, reason in answers(path, "v:a", 99)]
    assert left[:3] == [
        f"{two} are not shredded",
        f"{two} are not shredded",
        f"{one} is not shredded",
    ]
    assert left[3] == f"{two} are not shredded and 1 value of v is not wholly shredded"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (40.0, "40.0: a cast of INT32 may make other values equal to it: expected an integer"),
        ("40", "40: a cast of INT32 may make other values equal to it: expected an integer"),
        (None, "null: a cast of INT32 may make other values equal to it: expected an integer"),
        (1 << 31, f"2147483648: {BEYOND_BITS}"),
    ],
)
def test_values_of_other_types_are_not_looked_up(path, given, reason):
    assert answers(path, "v:a", given) == [("unknown", reason)] * 4
    many = pb.probe(path, "v:a", [given, *range(300)]).results
    assert many[0].verdict == "unknown"
    assert many[100].verdicts == ("absent", "maybe", "absent", "maybe")


def test_text_that_looks_like_a_number_is_quoted(path):
    reason = (
        "41: a cast of BYTE_ARRAY STRING may make other values equal to it: expected text, in"
        " quotes if it looks like something else"
    )
    assert answers(path, "v:b['c d']", pb.literal("41")) == [("unknown", reason)] * 4
    for text in ("2024-1-31", " 41", "1/2", "10:0"):
        assert answers(path, "v:b['c d']", pb.literal(text))[0][0] == "unknown"
    assert answers(path, "v:b['c d']", pb.literal("4f2"))[0] == ("absent", None)
    assert answers(path, "v:b['c d']", pb.literal('"41"'))[0] == ("absent", None)
    assert answers(path, "v:b['c d']", pb.literal("41", "string"))[0] == ("absent", None)


def test_a_decimal_is_no_floating_point_number(tmp_path):
    """40.005 is 40.01 as a DECIMAL of two digits."""
    path = tmp_path / "floats.parquet"
    path.write_bytes(variant_file([[(0, {"a": ("double", 40.005)})]], {"a": "double"}))
    pb.build(path, in_place=True, columns=["v:a"], force=True)
    reason = (
        "40.01: a cast of DOUBLE may make other values equal to it: expected a floating-point number,"
        " as by --type float, that the type has exactly"
    )
    assert answers(path, "v:a", pb.literal("40.01")) == [("unknown", reason)]
    assert answers(path, "v:a", Decimal("40.01"))[0][0] == "unknown"
    for given in (40.01, pb.literal("4.001e1"), pb.literal("40.01", "float")):
        assert answers(path, "v:a", given) == [("absent", None)]
    for given in (40.005, pb.literal("4.0005e1"), pb.literal("40.005", "float")):
        assert answers(path, "v:a", given) == [("maybe", None)]


def test_the_command_says_why(path):
    asked = outcome("probe", path, "-c", "v:a", "-v", "99")
    assert asked.stdout.splitlines()[1:] == [
        "value\tverdict\trow groups to read\trows to read\treason",
        "99\tmaybe\t1, 3\t4\t1 value of the field is not shredded",
        "note: about v:a cast to INT32, or to a type in which its values stay different",
    ]
    document = json.loads(outcome("probe", path, "-c", "v:a", "-v", "99", "--json").stdout)
    assert document["column"] == "v:a"
    assert (
        document["caveat"]
        == "about v:a cast to INT32, or to a type in which its values stay different"
    )
    explained = outcome("probe", path, "-c", "v:a", "-v", "99", "--explain")
    assert explained.stdout.count("63000000") == 4
    assert outcome("probe", path, "-c", "v:a", "-v", "99", "--groups-to-read").stdout == (
        f"{path}\t1\t2\t2\n{path}\t3\t5\t2\n"
    )


def test_find_looks_into_typed_leaves_alone(path):
    (unknown,) = pb.find(path, "v:a", [40]).unknown
    assert unknown.reason == (
        "row group 1, column v:a: 1 value of the field is not shredded: look for the rows with an"
        " engine"
    )
    # Outside of the bounds of the typed leaf, too.
    assert len(pb.find(path, "v:a", [99]).unknown) == 1
    other = path.with_name("whole.parquet")
    other.write_bytes(variant_file([[(0, {"a": ("int32", 40)})]], {"a": "int32"}))
    assert [each.row for each in pb.find(other, "v:a", [40]).rows] == [0]


def test_rows_and_indexes_take_no_field(path, tmp_path):
    for read in (pb.row_groups, pb.rows):
        with pytest.raises(pb.ColumnError) as caught:
            read(path, {"v:a": 40})
        assert str(caught.value) == (
            f"{path}: column v:a: readers compare no fields of a VARIANT, expected a leaf column such as"
            " v.typed_value.a.typed_value"
        )
    (found,) = pb.Index.build(tmp_path / "index", [path], ["v:a"]).probe("v:a", [99]).results
    assert [(each.verdict, each.reason) for each in found.files] == [
        (
            "unknown",
            "a field of a VARIANT can have values outside its typed leaf, which are not indexed",
        )
    ]


def test_the_page_shows_what_is_printed(tmp_path):
    page = (ROOT / "docs" / "types.md").read_text()
    (program,) = blocks(page, "python")
    (tmp_path / "page.py").write_text(program)
    with chdir(tmp_path):
        run_path(tmp_path / "page.py")
        assert figures(rewritten(page)) == figures(page)


def test_residuals_count_that_a_table_does_not_have(path):
    with open_file(path) as file:
        typed = {leaf.index: leaf.name for leaf in file.leaves if leaf.path[-1] == "typed_value"}
        file.call_columns(typed, typed.values(), lambda _: False)
        found = [".".join(leaf.path) for _, leaf in file.column("v:a").residuals]
    assert found == ["v.value", "v.typed_value.a.value"]
