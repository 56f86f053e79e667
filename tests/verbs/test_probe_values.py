"""Values as Python users give them: one present is never absent, whatever it is given as, in either
format and every dialect, one by one and many at a time."""

import atexit
import pickle
import re
import shutil
import uuid
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.orc_files import LEAVES, all_types
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.filters.asked import MANY
from parquet_bloom.values.given import list_values, python_values, show_value, show_values

ROWS = 600
EPOCH = datetime(1970, 1, 1)

# Columns of a Parquet file, by what is stored; each value is another one.
PARQUET = {
    "int8": pa.array(range(-100, 100), pa.int8()),
    "int32": pa.array(range(-300, 300), pa.int32()),
    "uint32": pa.array(range(2**32 - ROWS, 2**32), pa.uint32()),
    "int64": pa.array([n * 7919 - 2**40 for n in range(ROWS)], pa.int64()),
    "uint64": pa.array(range(2**64 - ROWS, 2**64), pa.uint64()),
    "float": pa.array([n / 8 for n in range(-300, 300)], pa.float32()),
    "double": pa.array([n / 10 for n in range(-300, 300)], pa.float64()),
    "string": pa.array([f"42 ü {n}" for n in range(ROWS)]),
    "digits": pa.array([str(n) for n in range(ROWS)]),
    "binary": pa.array([b"\xff%d" % n for n in range(ROWS)], pa.binary()),
    "fixed": pa.array([b"%04d" % n for n in range(ROWS)], pa.binary(4)),
    "uuid": pa.array([uuid.UUID(int=n << 64).bytes for n in range(ROWS)], pa.uuid()),
    "date": pa.array([date(2024, 1, 1) + timedelta(n) for n in range(ROWS)]),
    "time": pa.array([time(1, n // 60, n % 60, n) for n in range(ROWS)], pa.time64("us")),
    "nanos": pa.array(np.arange(ROWS) + 10**18, pa.timestamp("ns")),
    "zoned": pa.array([EPOCH + timedelta(n, 1) for n in range(ROWS)], pa.timestamp("us", "UTC")),
    "decimal": pa.array([Decimal(n).scaleb(-2) for n in range(ROWS)], pa.decimal128(9, 2)),
    "wide": pa.array([Decimal(n).scaleb(-10) for n in range(ROWS)], pa.decimal128(30, 10)),
}


@cache
def folder() -> Path:
    path = Path(mkdtemp())
    atexit.register(shutil.rmtree, path)
    return path


@cache
def parquet_file(dialect: str = "xxhash", *columns: str) -> Path:
    """These columns, or every one, with as many values in each: some have theirs again."""
    columns = columns or tuple(PARQUET)
    path = folder() / f"{'-'.join((dialect, *columns))}.parquet"
    rows = np.arange(ROWS)
    table = pa.table({name: PARQUET[name].take(rows % len(PARQUET[name])) for name in columns})
    pq.write_table(table, path, row_group_size=ROWS // 2)
    kinds = {
        "xxhash": None,
        "murmur3": pb.Murmur3(publish_offset=True),
        "statistics": pb.StatisticsFilter(strategy="guava-64"),
    }
    pb.build(path, columns=columns, in_place=True, dialect=kinds[dialect])
    return path


@cache
def orc_file() -> tuple[Path, pa.Table]:
    path, table = folder() / "a.orc", all_types(ROWS)
    orc.write_table(table, path)
    pb.build(path, columns=list(LEAVES), in_place=True)
    return path, table


def ways(values: pa.Array) -> dict[str, object]:
    """Arrow values in the ways that users have several."""
    kind = values.type
    found: dict[str, object] = {
        "arrow": values,
        "chunked": pa.chunked_array([values]),
        "pandas": values.to_pandas(),
        "list of arrow": list(values),
        "list of literals": [each["literal"] for each in map(ways_of_one, values)],
    }
    if not isinstance(kind, pa.BaseExtensionType):
        found["dictionary"] = values.dictionary_encode()
        found["polars"] = pl.Series(values)
        found["pandas, Arrow"] = pd.Series(pd.arrays.ArrowExtensionArray(values))
    if kind != pa.timestamp("ns"):
        found["list"] = values.to_pylist()
        found["object"] = np.array([*values.to_pylist(), None], object)[:-1]
    if is_numeric(kind):
        numbers = values.to_numpy(zero_copy_only=False)
        found["numpy"] = numbers
        found["list of numpy"] = list(numbers)
        found["masked"] = np.ma.array(numbers, mask=[False] * len(numbers))
    return found


def ways_of_one(value: pa.Scalar) -> dict[str, object]:
    """One Arrow value in the ways that users have one."""
    found: dict[str, object] = {"arrow": value}
    if value.type == pa.timestamp("ns"):
        # Python has no nanoseconds.
        found["literal"] = pb.literal(str(value.cast(pa.string())))
    else:
        plain = value.as_py()
        found["python"] = plain
        text = plain.isoformat() if isinstance(plain, datetime) else str(plain)
        found["literal"] = pb.literal(f"0x{plain.hex()}" if isinstance(plain, bytes) else text)
    if is_numeric(value.type):
        numbers = pa.array([value]).to_numpy(zero_copy_only=False)
        found["numpy"] = numbers[0]
        found["numpy without dimensions"] = np.array(numbers[0])
    return found


def is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind)


def assert_never_absent(path: Path, column: str, values: pa.Array, **options: str) -> None:
    """One by one, few and all."""
    few = values.take(pa.array([0, len(values) // 2, len(values) - 1]))
    asked = [(way, 1, each) for value in few for way, each in ways_of_one(value).items()]
    asked += [(way, len(few), each) for way, each in ways(few).items()]
    asked += [(way, len(values), each) for way, each in ways(values).items()]
    taken, refusals = set(), []
    for way, count, each in asked:
        try:
            results = pb.probe(path, column, each, **options).results
        except (TypeError, pb.ValueTypeError) as error:
            refusals.append(str(error))
            continue
        assert [each.verdict for each in results].count("absent") == 0, (way, count)
        assert len(results) == count
        taken.add((way, count))
    assert all("expected" in each for each in refusals), refusals
    assert len(taken) >= 16, sorted(taken)


@pytest.mark.every(6)
@pytest.mark.parametrize("dialect", ["xxhash", "murmur3", "statistics"])
@pytest.mark.parametrize("column", PARQUET)
def test_what_is_in_a_parquet_file_is_never_absent(column, dialect):
    path = parquet_file(dialect, column)
    values = pq.read_table(path)[column].combine_chunks()
    # Few values and many take different ways through the library.
    assert len(values) >= MANY
    assert_never_absent(path, column, values, dialect=dialect)


@pytest.mark.parametrize("column", [name for name in LEAVES if "." not in name])
def test_what_is_in_an_orc_file_is_never_absent(column):
    path, table = orc_file()
    assert_never_absent(path, column, table[column].drop_null().combine_chunks()[:100])


@pytest.mark.parametrize("values", [[], (), np.array([], np.int64), pa.array([], pa.int64())])
def test_no_values_have_no_verdicts(values):
    assert pb.probe(parquet_file(), "int64", values).results == ()


PRESENT, ABSENT = PARQUET["int64"][7].as_py(), 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("42", ["42 maybe"]),
        (["4", "nobody"], ["4 maybe", "nobody absent"]),
        (b"42", ["b'42' maybe"]),
        (pb.literal("\\x3432"), ["\\x3432 maybe"]),
        (pb.literal("0x3432"), ["0x3432 absent"]),
        (pb.literal("0x3432", "string"), ["0x3432 absent"]),
        ({"42"}, ["42 maybe"]),
        ((text for text in ("42", None)), ["42 maybe", "None unknown"]),
        (pd.Series(["42", None]), ["42 maybe", "None unknown"]),
        (None, ["None unknown"]),
    ],
    ids=range(10),
)
def test_text_is_one_value(values, expected):
    results = pb.probe(parquet_file(), "digits", values).results
    assert [f"{each.value} {each.verdict}" for each in results] == expected


NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
NANOS = pa.array([1, 1_706_702_400_000_000_000], pa.timestamp("ns"))
# As they are asked for, in reports, and in documents.
AS_REPORTED = {
    "numpy": (np.array([1, 2]), [1, 2], ["1", "2"]),
    "pandas": (pd.Series([1, None], dtype="Int64"), [1, None], ["1", "null"]),
    "floats": (np.array([0.5], np.float32), [0.5], ["0.5"]),
    "bytes": ([b"a", bytearray(b"b"), memoryview(b"c")], [b"a", b"b", b"c"], ["0x61", "0x62", "0x63"]),
    "literal": ([pb.literal("007"), "a"], ["007", "a"], ["007", "a"]),
    "dates": (pl.Series([date(2024, 1, 31)]), [date(2024, 1, 31)], ["2024-01-31"]),
    "times": (pa.array([time(1, 2, 3)]), [time(1, 2, 3)], ["01:02:03"]),
    "datetime64": (np.array(["2024-01-31T12"], "datetime64[s]"), [NOON.replace(tzinfo=None)], ["2024-01-31 12:00:00"]),
    "zoned": (pa.array([NOON], pa.timestamp("ms", "UTC")), [NOON], ["2024-01-31 12:00:00+00:00"]),
    "nanoseconds": (NANOS, [np.datetime64(1, "ns"), NOON.replace(tzinfo=None)], ["1970-01-01T00:00:00.000000001", "2024-01-31 12:00:00"]),
    "nanoseconds of a time": (pa.array([1], pa.time64("ns")), None, ["1 time64[ns]"]),
    "pandas with nanoseconds": ([pd.Timestamp(1)], [pd.Timestamp(1)], ["1970-01-01 00:00:00.000000001"]),
    "others": ([Decimal("1.50"), uuid.UUID(int=1)], [Decimal("1.50"), uuid.UUID(int=1)], ["1.50", str(uuid.UUID(int=1))]),
}  # fmt: skip


@pytest.mark.parametrize("kind", AS_REPORTED)
def test_values_are_pythons_in_reports_and_text_in_documents(kind):
    given, values, texts = AS_REPORTED[kind]
    found = python_values(list_values(given))
    assert values is None or [*zip(map(type, found), found, strict=True)] == [
        *zip(map(type, values), values, strict=True)
    ]
    assert show_values(list_values(given)) == [*map(show_value, found)] == texts


@pytest.mark.parametrize("path", [parquet_file, lambda: orc_file()[0]], ids=["parquet", "orc"])
@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (
            "42",
            pb.ValueTypeError,
            "'42': cannot be .*expected an integer, or pb.literal(…) to read it",
        ),
        (
            ["42"] * MANY,
            pb.ValueTypeError,
            "'42': cannot be .*, or pb.literal(…) to read it from text",
        ),
        (b"42", pb.ValueTypeError, "b'42': cannot be .*expected an integer"),
        ([[42]], pb.ValueTypeError, "[42]: cannot be .*expected an integer"),
        (4.5, pb.ValueTypeError, "4.5: cannot be .*expected an integer"),
        (pb.literal("x"), pb.ValueTypeError, "x: cannot be .*expected an integer"),
        ({"long": 42}, TypeError, "values: a dict, expected one value, or a list or an array"),
        (pa.table({"long": [42]}), TypeError, "values: a Table, expected one column of it"),
        (pd.DataFrame({"long": [42]}), TypeError, "values: a DataFrame, expected one column of it"),
        (pl.DataFrame({"long": [42]}), TypeError, "values: a DataFrame, expected one column of it"),
    ],
    ids=range(10),
)
def test_what_is_no_value_is_an_error_that_says_what_is(path, values, error, message):
    column = "int64" if path is parquet_file else "long"
    where = f"{path()}: column {column}: " if error is pb.ValueTypeError else ""
    pattern = re.escape(f"{where}{message}").replace(re.escape(".*"), ".*")
    with pytest.raises(error, match=f"^{pattern}"):
        pb.probe(path(), column, values)


# ------------------------------------------------------------------------------------------------
# Open files


@pytest.mark.parametrize("dialect", ["xxhash", "murmur3", "statistics"])
def test_a_filter_of_any_dialect_takes_values(dialect):
    values = PARQUET["int64"].to_pylist()
    with pb.open(parquet_file(dialect)) as file:
        found = file.bloom_filter(0, "int64", dialect=dialect)
        assert (found.dialect, found.column, str(found.place)) == (dialect, "int64", "row group 0")
        assert found.check_many(values[: ROWS // 2]).all()
        assert found.check_many(values[ROWS // 2 :]).mean() < 0.1
        assert found.check(np.int64(values[0]))
        assert found.check_many([pb.literal(str(values[0])), None]).all()
        assert 0 < found.fpp < 0.1
        with pytest.raises(pb.UnsupportedError, match="a Parquet file has no index groups"):
            file.bloom_filter(0, "int64", 0)


def test_a_published_legacy_filter_is_the_filter():
    with pb.open(parquet_file("murmur3")) as file:
        assert file.bloom_filter(0, "int64").dialect == "murmur3"
        with pytest.raises(pb.FilterError):
            file.bloom_filter(0, "int64", dialect="xxhash")


def test_an_orc_filter_takes_values(tmp_path):
    path = tmp_path / "a.orc"
    orc.write_table(
        pa.table({"id": pa.array(range(2500), pa.int64())}), path, row_index_stride=1000
    )
    pb.build(path, columns="id", in_place=True)
    with pb.open(path) as file:
        found = file.bloom_filter(0, "id", 1)
        assert (found.dialect, str(found.place)) == ("orc", "stripe 0, index group 1")
        assert found.check_many(range(1000, 2000)).all()
        assert found.check_many(np.arange(1000)).mean() < 0.05
        assert found.check(pb.literal("1500"))
        message = "stripe 0: 3 index groups, expected index_group, 0 to 2"
        with pytest.raises(pb.ColumnError, match=message):
            file.bloom_filter(0, "id")
        with pytest.raises(pb.UnsupportedError, match="dialect is not supported"):
            file.bloom_filter(0, "id", 0, dialect="murmur3")


def test_open_files_of_both_formats_are_alike():
    with pb.open(parquet_file()) as one, pb.open(orc_file()[0]) as other:
        assert [part.num_rows for part in one.parts] == [ROWS // 2] * 2
        assert (one.row_groups, one.stripes) == (one.parts, ())
        assert [part.num_rows for part in other.parts] == [ROWS]
        assert (other.row_groups, other.stripes) == ((), other.parts)
        assert one.columns == tuple(PARQUET)
        assert repr(one) == f"<ParquetFile {one.path}: 600 rows, 2 row groups, 18 columns>"
        assert repr(other).startswith(f"<OrcFile {other.path}: 600 rows, 1 stripe, ")


# ------------------------------------------------------------------------------------------------
# Many values at a time


@pytest.mark.parametrize("column", ["int64", "double", "string", "decimal", "date"])
@pytest.mark.parametrize("dialect", ["xxhash", "murmur3", "statistics"])
def test_many_values_get_the_answers_of_each(column, dialect):
    values = [*PARQUET[column].to_pylist(), None]
    path = parquet_file(dialect, column)
    many = pb.probe(path, column, values * 2).results
    assert len(many) == 2 * len(values) > MANY
    parts = [values[start : start + 10] for start in range(0, len(values), 10)]
    few = [each for part in parts for each in pb.probe(path, column, part).results]
    assert list(many) == few * 2


def test_many_values_of_an_orc_file_get_the_answers_of_each():
    path, table = orc_file()
    for column in ("long", "string", "double", "timestamp", "decimal9"):
        values = [*table[column].to_pylist()[:30], None]
        few = [each for value in values for each in pb.probe(path, column, [value]).results]
        assert list(pb.probe(path, column, values * 20).results) == few * 20


def test_many_values_read_each_filter_once():
    path = parquet_file()
    with open_file(path) as file:
        filters = [chunk.filter for part in pb.inspect(path, columns="int64").parts
                   for chunk in part.columns]  # fmt: skip
        footer = file.source.bytes_read
    read = pb.probe(path, "int64", list(range(10_000))).bytes_read
    assert read == footer + sum(each.num_bytes + 64 for each in filters)


def test_a_large_filter_is_not_read_whole_for_some_hundred_values(tmp_path):
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    pb.build(path, columns="a", in_place=True, ndv=10_000_000)
    (part,) = pb.inspect(path).parts
    size = part.columns[0].filter.num_bytes
    assert size > (16 << 10) * MANY
    report = pb.probe(path, "a", [1, *range(1000, 999 + MANY)])
    assert report.bytes_read < size / 100
    assert [each.verdict for each in report.results] == ["maybe"] + ["absent"] * (MANY - 1)


def of_both_formats():
    return [(parquet_file(), "int64"), (orc_file()[0], "long")]


@pytest.mark.parametrize("few", [True, False])
def test_what_is_to_read_is_an_array(few):
    for path, column in of_both_formats():
        present = pq.read_table(path)[column] if column == "int64" else orc_file()[1][column]
        values = [*present.to_pylist()[:40], *range(-160, 0), None] * (1 if few else 3)
        report = pb.probe(path, column, values)
        expected = [[each != "absent" for each in result.verdicts] for result in report.results]
        assert (report.to_read.dtype, report.to_read.tolist()) == (bool, expected)
        assert all(any(each) for each in expected[:40])
        assert False in expected[45]
        assert all(expected[200])
        assert report.results[200].groups[0].reason
        assert not report.is_absent
        absent = [result.value for result in report.results if result.verdict == "absent"]
        assert pb.probe(path, column, list(map(int, absent))).is_absent


def test_a_report_of_many_values_is_the_one_that_was_asked_for():
    """Its verdicts are listed later than they are found."""
    for path, column in of_both_formats():
        values = np.arange(-MANY, MANY)
        report, same = pb.probe(path, column, values), pb.probe(path, column, values)
        assert report.results == same.results != pb.probe(path, column, values[1:]).results
        assert hash(report) == hash(same)
        values[:] = 0
        assert [each.value for each in report.results][::MANY] == [-MANY, 0]
        assert len(report.results) == 2 * MANY
        assert report.results[-1:] == (report.results[2 * MANY - 1],)
        verdicts = Counter(each.verdict for each in report.results)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        assert repr(report.results) == f"<ProbedValues: {counts}>"
        assert pickle.loads(pickle.dumps(report)) == report
        (first, *_) = report.to_dict()["results"]
        assert (first["value"], first["verdict"]) == (str(-MANY), report.results[0].verdict)


def test_a_file_without_row_groups_has_no_value(tmp_path):
    path = tmp_path / "empty.parquet"
    with pq.ParquetWriter(path, pa.schema({"a": pa.int64()})):
        pass
    report = pb.probe(path, "a", range(MANY))
    assert report.is_absent
    assert report.to_read.shape == (MANY, 0)
    assert {each.verdict for each in report.results} == {"absent"}


# Beyond what Python's dates hold: 10183-10-27, -0245-12-24, and 2024-01-31 for comparison.
FAR_DATES = pa.array([3_000_000, -809_000, 19_753], pa.int32()).cast(pa.date32())


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize(
    "ask", [list, lambda dates: pa.chunked_array([dates]), lambda dates: dates]
)
def test_arrow_dates_may_lie_beyond_pythons(tmp_path, kind, ask):
    path = tmp_path / f"far.{kind}"
    (pq if kind == "parquet" else orc).write_table(pa.table({"d": FAR_DATES}), path)
    pb.build(path, columns=["d"], in_place=True)
    asked = pa.concat_arrays([FAR_DATES, pa.array([3_000_001], pa.int32()).cast(pa.date32())])
    results = pb.probe(path, "d", ask(asked)).results
    # In ORC, dates before October 1582 may be stored by another calendar.
    old = "maybe" if kind == "parquet" else "unknown"
    assert [each.verdict for each in results] == ["maybe", old, "maybe", "absent"]
    assert [each.value for each in results[1:3]] == [
        np.datetime64(-809_000, "D"),
        date(2024, 1, 31),
    ]


def test_arrow_dates_of_milliseconds_are_those_days(tmp_path):
    path = tmp_path / "days.parquet"
    pq.write_table(pa.table({"d": FAR_DATES}), path)
    pb.build(path, columns=["d"], in_place=True)
    millis = pa.array([3_000_000 * 86_400_000, 86_400_000], pa.int64()).cast(pa.date64())
    assert [each.verdict for each in pb.probe(path, "d", millis).results] == ["maybe", "absent"]


@pytest.mark.parametrize("count", [1, MANY - 1, MANY, 2 * MANY])
@pytest.mark.parametrize("column", ["float", "double"])
def test_long_doubles_are_floats_however_many_there_are(column, count):
    values = PARQUET[column].to_numpy()[:1].astype(np.longdouble)
    stored = np.repeat(values, count)
    assert {each.verdict for each in pb.probe(parquet_file(), column, stored).results} == {"maybe"}
    absent = np.repeat(np.longdouble(1e30), count)
    assert {each.verdict for each in pb.probe(parquet_file(), column, absent).results} == {"absent"}
    nan = np.repeat(np.longdouble("nan"), count)
    assert {each.verdict for each in pb.probe(parquet_file(), column, nan).results} == {"unknown"}
    if np.finfo(np.longdouble).maxexp > 1024:
        with pytest.raises(pb.ValueTypeError, match="expected a number that fits"):
            pb.probe(parquet_file(), column, np.repeat(np.longdouble("1e4000"), count))


@pytest.mark.parametrize("count", [1, 2 * MANY])
def test_integers_of_128_bits_of_polars(count):
    """Arrow has none."""
    stored, *_ = PARQUET["int64"].to_pylist()
    series = pl.Series([stored, 3] * count, dtype=pl.Int128)
    verdicts = [each.verdict for each in pb.probe(parquet_file(), "int64", series).results]
    assert verdicts == ["maybe", "absent"] * count
    beyond = pl.Series([1 << 100] * count, dtype=pl.Int128)
    assert pb.probe(parquet_file(), "int64", beyond).is_absent
