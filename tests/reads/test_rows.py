"""`pb.rows`: the rows that pyarrow's filter leaves of the whole table, out of few pages."""

from __future__ import annotations

import itertools
import json
import random
import uuid
from base64 import b64decode, b64encode
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG
from make.awkward_files import TYPES, awkward_lake, conditions
from make.reading_engines import _OF_PYARROW
from make.s3_server import S3Server
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import (
    ColumnError,
    PageError,
    ParquetBloomError,
    UnsupportedError,
    ValueTypeError,
)
from parquet_bloom.parquet.footer.top_fields import TopField
from parquet_bloom.reads import matching
from parquet_bloom.values.given import is_missing

SOME = uuid.UUID(int=5)
COLUMNS = [name for name in TYPES if name not in ("n", "l")] + ["n.x", "n.y"]


def expression(condition: tuple[str, str, Any]) -> Any:
    column, operator, value = condition
    field = pc.field(*column.split("."))
    if operator in ("in", "not in"):
        if column in ("f32", "f64"):
            # One zero is equal to the other, also in a set.
            value = [*value, *(-each for each in value if each == 0)]
        return field.isin(value) if operator == "in" else ~field.isin(value)
    return _OF_PYARROW[operator](field, value)


def is_refused(condition: tuple[str, str, Any]) -> bool:
    """What pyarrow compares in some way, which depends on the operator."""
    column, _, value = condition
    values = value if isinstance(value, list) else [value]
    expected = {"n.x": NUMBERS, "n.y": TEXTS}.get(column) or classes_of(TYPES[column][0])
    return any(
        is_missing(each)
        or not isinstance(each, expected)
        or isinstance(each, bool) > (expected is bool)
        for each in values
    )


NUMBERS = (int, float, Decimal, np.number)
TEXTS = (str, bytes, uuid.UUID)


def classes_of(kind: pa.DataType) -> Any:
    types = pa.types
    if types.is_boolean(kind):
        return bool
    if types.is_decimal(kind):
        return int, Decimal, np.integer
    if types.is_temporal(kind):
        return date, time, np.datetime64, int
    return NUMBERS if types.is_integer(kind) or types.is_floating(kind) else TEXTS


def by_pyarrow(paths: list[str], any_of: list[list[tuple[str, str, Any]]]) -> list[pa.Table] | None:
    try:
        wanted = None
        for all_of in any_of:
            part = expression(all_of[0])
            for each in all_of[1:]:
                part &= expression(each)
            wanted = part if wanted is None else wanted | part
        return [pq.read_table(path).filter(wanted) for path in paths]
    except (pa.ArrowException, OverflowError, TypeError):
        return None


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4 if IS_LONG else 2))
def test_the_rows_are_those_of_pyarrow(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    paths = awkward_lake(chance, tmp_path)
    index = None
    if seed % 2:
        index = tmp_path / "lake.index"
        columns = chance.sample([name for name in COLUMNS if name != "bool"], 8)
        pb.Index.build(index, paths, columns).close()
    compared = some = 0
    for _ in range(40):
        any_of = [
            [conditions(chance, COLUMNS) for _ in range(chance.choice((1, 1, 2)))]
            for _ in range(chance.choice((1, 1, 2)))
        ]
        wanted = by_pyarrow(paths, any_of)
        names = chance.sample(list(TYPES), 4)
        for at, path in enumerate(paths):
            try:
                found = pb.rows(path, any_of, ["row", *names], index=index)
            except (ParquetBloomError, ValueError):
                is_known = any(is_refused(each) for all_of in any_of for each in all_of)
                assert wanted is None or is_known, any_of
                continue
            if wanted is not None:
                compared += 1
                some += found.num_rows > 0
                table = wanted[at].select(["row", *names])
                assert found.schema.equals(table.schema), any_of
                assert repr(found.to_pylist()) == repr(table.to_pylist()), any_of
    assert compared > 60
    assert some > 15


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(3):
        rows = np.arange(10_000 * number, 10_000 * (number + 1))
        table = pa.table({"id": rows, "half": rows // 2, "text": rows.astype(str)})
        pq.write_table(
            table, folder / f"{number}.parquet", row_group_size=5000, write_page_index=True,
            data_page_size=1, write_batch_size=500, use_dictionary=False, compression="none",
        )  # fmt: skip
    return folder


def read(table: pa.Table) -> dict[str, int]:
    found: dict[str, int] = json.loads(table.schema.metadata[b"parquet_bloom"])
    return found


def test_only_pages_with_rows_are_read_of_other_columns(lake: Path) -> None:
    found = pb.rows(lake, {"id": [12_345, 27_000]}, columns=["text"])
    assert found["text"].to_pylist() == ["12345", "27000"]
    # Two row groups of ten pages of `id`, and a page for each row.
    about = read(found)
    assert (about["files_read"], about["row_groups_read"], about["pages_read"]) == (2, 2, 22)
    assert about["bytes_read"] < 3 * (40_000 + 6000 + 8000)


@pytest.mark.parametrize(
    "values",
    [
        np.array([7, 29_999]),
        pa.array([7, 29_999]),
        pa.chunked_array([[7], [29_999]]),
        pl.Series([7, 29_999]),
        {7, 29_999},
        (np.int32(each) for each in (7, 29_999)),
    ],
    ids=lambda values: type(values).__name__,
)
def test_values_of_any_kind(lake: Path, values: Any) -> None:
    assert pb.rows(lake, {"id": values})["id"].to_pylist() == [7, 29_999]


def test_without_columns_all_are_read(lake: Path) -> None:
    found = pb.rows(lake, [("half", "==", 3), ("id", "!=", 6)])
    assert found.to_pylist() == [{"id": 7, "half": 3, "text": "7"}]
    nothing = pb.rows(lake, {"id": -1})
    assert nothing.num_rows == 0
    assert nothing.schema.equals(pq.read_schema(lake / "0.parquet"))
    assert [batch.num_rows for batch in found.to_batches()] == [1]


def test_columns_of_which_pyarrow_takes_no_rows_are_read_again(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those whose text is too long, be it in some row groups alone."""
    expected = pb.rows(lake, {"id": [5, 6000]})
    take, taken = pa.Table.take, []

    class Table:
        def __init__(self, table: pa.Table) -> None:
            self._table = table

        column_names = property(lambda self: self._table.column_names)

        def select(self, names: list[str]) -> Any:
            return Table(self._table.select(names))

        def take(self, rows: Any) -> pa.Table:
            taken.append(rows)
            if len(taken) % 2:
                raise pa.ArrowInvalid("offset overflow while concatenating arrays")
            return take(self._table, rows)

    taken_of = matching._taken
    monkeypatch.setattr(matching, "_taken", lambda keys, *args: taken_of(Table(keys), *args))
    assert pb.rows(lake, {"id": [5, 6000]}).equals(expected)
    assert taken


def test_files_that_lack_a_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [1, 2], "more": [5, 6]}), tmp_path / "1.parquet")
    found = pb.rows(tmp_path, {"id": 1}, columns=["id", "more"])
    assert found["more"].to_pylist() == [None, 5]
    assert pb.rows(tmp_path, {"more": 5})["id"].to_pylist() == [1]
    assert pb.rows(tmp_path, [[("more", "in", [5])], [("id", "<", 2)]])["id"].to_pylist() == [1, 1]
    with pytest.raises(ColumnError, match="no column moer; did you mean more"):
        pb.rows(tmp_path, {"id": 1}, columns=["moer"])


def test_files_that_lack_a_field_of_a_struct(tmp_path: Path) -> None:
    """As one that lacks a column: there is null."""
    more = [{"x": 1, "y": {"z": 5}}, {"x": 2, "y": None}]
    pq.write_table(pa.table({"id": [1], "s": [{"x": 1}]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [2, 3], "s": more}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [4]}), tmp_path / "2.parquet")
    for filters, expected in (
        ([("s.y.z", "==", 5)], [2]),
        ([("s.y.z", "in", [5, 6]), ("s.x", "==", 1)], [2]),
        ([[("s.y.z", "==", 5)], [("s.x", "<", 2)]], [1, 2]),
        ([("s.y.z", "!=", 6)], [2]),
        # As pyarrow says of null.
        ([("s.y.z", "not in", [5])], [1, 3, 4]),
    ):
        assert pb.rows(tmp_path, filters, columns=["id"])["id"].to_pylist() == expected
    with pytest.raises(ColumnError, match=r"0\.parquet: no column s\.z; did you mean s\.x"):
        pb.rows(tmp_path, {"s.z": 5})
    pq.write_table(pa.table({"id": [5], "s": ["text"]}), tmp_path / "3.parquet")
    with pytest.raises(ValueTypeError, match=r"3\.parquet: filters: column s\.y\.z: string has no"):
        pb.rows(tmp_path, {"s.y.z": 5}, columns=["id"])


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0.parquet"
    pq.write_table(pa.table({"id": [1]}), path)
    with pytest.raises(ValueTypeError, match="filters: "):
        pb.rows(path, [("id", "!=", "text")])
    with pytest.raises(ValueError, match="'is', expected one of"):
        pb.rows(path, [("id", "is", None)])


def test_columns_are_named_once_for_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each: of 20,000 columns, that took minutes."""
    path, width = tmp_path / "wide.parquet", 300
    pq.write_table(pa.table({f"c{number}": [number] for number in range(width)}), path)
    calls, called = [], TopField.called
    monkeypatch.setattr(
        TopField, "called", lambda field, leaves: calls.append(field) or called(field, leaves)
    )
    assert pb.rows(path, {"c7": 7}).num_columns == width
    assert len(calls) < 20 * width


def test_a_file_in_a_store_is_opened_once(s3: S3Server, tmp_path: Path) -> None:
    table = pa.table({name: np.arange(1 << 19) * 7 for name in ("id", "a", "b")})
    plain, path = tmp_path / "plain", tmp_path / "a.parquet"
    pq.write_table(
        table, plain, write_page_index=True, use_dictionary=False, data_page_size=1 << 15,
        compression="none", row_group_size=1 << 18,
    )  # fmt: skip
    pb.build(plain, path, columns=["id"])
    s3.put("lake/a.parquet", path.read_bytes())
    options: dict[str, Any] = {"storage_options": s3.options}
    found = pb.rows("s3://lake/a.parquet", {"id": 7 * 300_000}, ["a", "b"], **options)
    assert found.to_pylist() == [{"a": 7 * 300_000, "b": 7 * 300_000}]
    # The footer; the filters that statistics leave; page indexes; `id`; at once a page of `a` and of `b`.
    assert s3.kinds() == ["GET"] * 6
    s3.forget()
    assert pb.rows("s3://lake/a.parquet", {"id": 5}, ["a", "b"], **options).num_rows == 0
    assert s3.kinds() == ["GET"] * 2
    s3.forget()
    report = pb.find("s3://lake/a.parquet", "id", 7 * 300_000, columns=["a", "b"], **options)
    assert report.values.equals(found)
    assert s3.kinds() == ["GET"] * 6
    with pytest.raises(FileNotFoundError, match=r"lake/none\.parquet"):
        pb.rows("s3://lake/none.parquet", {"id": 5}, **options)


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        (("id", "==", 5.0), [5]),
        (("id", "!=", 5.0), [7, 2**53 + 1]),
        (("id", ">", 7.0), [2**53 + 1]),
        (("id", "in", [5.0, 7.0]), [5, 7]),
    ],
)
def test_integers_given_as_floats(tmp_path: Path, condition: Any, held: list[int]) -> None:
    """Beside one that no float is, of which pyarrow would make a float, and fail."""
    pq.write_table(pa.table({"id": [5, 7, 2**53 + 1]}), tmp_path / "a.parquet")
    assert pb.rows(tmp_path / "a.parquet", [condition])["id"].to_pylist() == held


LARGE = (1 << 53) + 1


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        (("n", "==", 2.5), []),
        (("n", "in", [2.5, 2]), [2]),
        (("n", "<", 2.5), [2]),
        (("n", ">=", Decimal("2.5")), [LARGE]),
        (("n", "<=", float(1 << 53)), [2]),
        (("n", "!=", 2.5), [LARGE, 2]),
        (("n", "not in", [2.5]), [LARGE, 2, None]),
        (("n", "<", float("inf")), [LARGE, 2]),
        (("n", ">", Decimal("-1e999999")), [LARGE, 2]),
        (("n", ">", Decimal("1e-999999")), [LARGE, 2]),
        (("d", "==", 5), [Decimal("5.00")]),
        (("d", "in", np.array([5, 7])), [Decimal("5.00")]),
        (("d", "in", [Decimal("5.0000"), Decimal("0.001")]), [Decimal("5.00")]),
        (("d", "<", Decimal("0.015")), [Decimal("0.01")]),
        (("d", ">", Decimal("0.015")), [Decimal("5.00")]),
        (("d", "<", 10**50), [Decimal("5.00"), Decimal("0.01")]),
        (("d", ">", 10**50), []),
        (("small", "in", [Decimal("5.0"), 7]), [Decimal("5.00")]),
        (("large", "==", 10**40), [Decimal(10**40)]),
        (("large", ">", Decimal(10**40 - 1)), [Decimal(10**40)]),
        (("f", "==", 0.1), [np.float32(0.1)]),
        (("f", "in", [0.1]), [np.float32(0.1)]),
        (("f", "<=", 0.1), [-0.0]),
        (("f", "in", [0]), [-0.0]),
        (("f", "==", 1e300), []),
        (("f", "in", [2**70, 0.1]), [np.float32(0.1)]),
        (("half", "!=", 2**70), [1.5, 2.5]),
        (("half", "==", 2**2000), []),
        (("half", "<", Decimal("1e400")), [1.5, 2.5]),
        (("half", "==", 1.5), [1.5]),
        (("half", "in", np.array([1.5, 2], np.float16)), [1.5]),
        (("half", ">", 2), [2.5]),
        (("long", ">", LARGE), [float(1 << 54)]),
        (("long", "<", LARGE), [float(1 << 53)]),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_numbers_are_compared_exactly(tmp_path: Path, condition: Any, held: list[Any]) -> None:
    """pyarrow makes numbers of 64 bits of integers and of decimals, or fails."""
    fives = [Decimal("5.00"), Decimal("0.01"), None]
    columns = {
        "n": pa.array([LARGE, 2, None]),
        "d": pa.array(fives, pa.decimal128(9, 2)),
        "small": pa.array(fives, getattr(pa, "decimal32", pa.decimal128)(9, 2)),
        "large": pa.array([Decimal(10**40), Decimal(7), None], pa.decimal256(50, 3)),
        "f": pa.array([0.1, -0.0, None], pa.float32()),
        "half": pa.array([np.float16(1.5), np.float16(2.5), None], pa.float16()),
        "long": pa.array([float(1 << 53), float(1 << 54), None]),
    }
    pq.write_table(pa.table(columns), tmp_path / "n.parquet")
    column = condition[0]
    found = pb.rows(tmp_path / "n.parquet", [condition])[column].to_pylist()
    assert found == held


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (
            "d",
            2.5,
            "2.5: cannot be a value of decimal128(9, 2): expected a decimal, such as decimal.Decimal",
        ),
        (
            "d",
            "2.5",
            "'2.5': cannot be a value of decimal128(9, 2): expected a decimal, such as decimal.Decimal",
        ),
        ("i", b"a", "b'a': cannot be a value of int64: expected a number"),
        ("i", True, "True: cannot be a value of int64: expected a number"),
        ("i", SOME, f"{SOME}: cannot be a value of int64: expected a number"),
        ("half", bytearray(b"ab"), "b'ab': cannot be a value of halffloat: expected a number"),
        ("b", 1, "1: cannot be a value of binary_view: expected text or bytes"),
        ("s", SOME, f"{SOME}: cannot be a value of string_view: expected text or bytes"),
        ("s", "\ud800", r"'\ud800': cannot be a value of string_view: expected text or bytes"),
        (
            "day",
            time(1),
            "01:00:00: cannot be a value of date32[day]: expected a date, such as datetime.date",
        ),
        ("day", 5, "5: cannot be a value of date32[day]: expected a date, such as datetime.date"),
        (
            "at",
            5,
            "5: cannot be a value of timestamp[us]: expected a timestamp, such as datetime.datetime",
        ),
        (
            "clock",
            date(2024, 1, 1),
            "2024-01-01: cannot be a value of time64[us]: expected a time, such as datetime.time",
        ),
        (
            "at",
            time(1),
            "01:00:00: cannot be a value of timestamp[us]: expected a timestamp, such as datetime.datetime",
        ),
        ("flag", 1, "1: cannot be a value of bool: expected a boolean"),
        (
            "long",
            1.5,
            "1.5: cannot be a value of duration[us]: expected a duration, such as datetime.timedelta",
        ),
        ("id", "abc", "'abc': cannot be a value of UUID: expected a UUID"),
    ],
)
def test_what_cannot_be_a_value_of_a_column(
    tmp_path: Path, column: str, value: Any, expected: str
) -> None:
    """In our words, with the column's name; for any operator."""
    kinds = {
        "d": pa.decimal128(9, 2), "i": pa.int64(), "half": pa.float16(), "b": pa.binary_view(),
        "s": pa.string_view(), "day": pa.date32(), "clock": pa.time64("us"),
        "at": pa.timestamp("us"), "flag": pa.bool_(), "long": pa.duration("us"), "id": pa.uuid(),
    }  # fmt: skip
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({name: pa.array([None], kind) for name, kind in kinds.items()}), path)
    for filters in ([(column, "!=", value)], [(column, "not in", [value])]):
        with pytest.raises(ValueTypeError) as raised:
            pb.rows(path, filters)
        assert str(raised.value) == f"{path}: filters: column {column}: {expected}"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "value", ["b", b"b", bytearray(b"b"), memoryview(b"b"), pa.scalar("b", pa.string_view())]
)
@pytest.mark.parametrize(
    "kind",
    [
        pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()),
        pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1),
    ],
    ids=str,
)  # fmt: skip
def test_text_and_bytes(tmp_path: Path, kind: pa.DataType, value: Any) -> None:
    """One value, as all who ask filters take it, for a type for which pyarrow has no comparison, too."""
    path = tmp_path / "a.parquet"
    held = pa.array(["a", "b", None]).cast(kind)
    nested = pa.StructArray.from_arrays([held], ["x"])
    pq.write_table(pa.table({"c": held, "s": nested, "row": range(3)}), path)
    text = (
        bytes(value).decode() if isinstance(value, bytes | bytearray | memoryview) else str(value)
    )
    array = pa.array([text]).cast(kind)
    for column in ("c", "s.x"):
        for filters in (
            {column: value},
            {column: [value]},
            {column: array},
            [(column, "==", value)],
            [(column, ">", "a")],
            [(column, "!=", "a")],
        ):
            assert pb.rows(path, filters, ["row"])["row"].to_pylist() == [1], filters
    assert [row.row for row in pb.find(path, "c", value).rows] == [1]


def test_an_array_of_a_type_that_pyarrow_does_not_look_up(tmp_path: Path) -> None:
    """It made all rows match."""
    views, path = pa.array(["b", "c"], pa.string_view()), tmp_path / "a.parquet"
    kinds = {"fixed": pa.array([b"aa", None]).cast(pa.binary(2)), "row": pa.array([0, 1])}
    pq.write_table(pa.table(kinds), path)
    assert pb.rows(path, {"fixed": views}).num_rows == 0


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_of_numpy_arrays(tmp_path: Path, unit: str, zone: str | None) -> None:
    moments = np.array(["2024-01-02T03:04:05", "2024-01-03"], "M8[us]")
    path = tmp_path / "a.parquet"
    kind = pa.timestamp(unit, zone)
    pq.write_table(
        pa.table({"at": pa.array(moments[:1]).cast(pa.timestamp("us", zone)).cast(kind)}), path
    )
    for filters in (
        {"at": moments},
        {"at": moments.astype("M8[ns]")},
        [("at", "==", moments[0])],
        [("at", "<", np.datetime64("2024-01-02T03:04:05.000000001"))],
        [("at", ">=", moments[0]), ("at", "<", date(2024, 1, 3))],
    ):
        assert pb.rows(path, filters).num_rows == 1
    assert pb.rows(path, {"at": moments + np.timedelta64(1, "us")}).num_rows == 0


def test_durations(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"d": pa.array([1500, None], pa.duration("us"))}), path)
    one = timedelta(microseconds=1500)
    for value in (one, np.timedelta64(1500, "us"), np.timedelta64(1_500_000, "ns"), 1500):
        assert pb.rows(path, {"d": [value]})["d"].to_pylist() == [one]
    assert pb.rows(path, [("d", "<", np.timedelta64(1, "h"))]).num_rows == 1
    for value in (np.timedelta64("NaT", "us"), np.timedelta64(1, "M")):
        with pytest.raises(
            ValueTypeError,
            match=r"duration\[us\]: expected a duration, such as datetime.timedelta$",
        ):
            pb.rows(path, {"d": value})


def test_a_moment_is_no_day(tmp_path: Path) -> None:
    """pyarrow cut off the time of those in lists."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"day": [date(2024, 1, 2)]}), path)
    noon = datetime(2024, 1, 2, 12)
    assert pb.rows(path, {"day": [noon]}).num_rows == 0
    assert pb.rows(path, {"day": noon}).num_rows == 0
    assert pb.rows(path, [("day", "<", noon)]).num_rows == 1
    assert pb.rows(path, {"day": [datetime(2024, 1, 2)]}).num_rows == 1


@pytest.mark.parametrize("missing", ["None", "NaT", "NA", "numpy", "nan"])
def test_nulls_and_nan_are_not_looked_for(tmp_path: Path, missing: str) -> None:
    """As by find: some engines find null by null, some find nothing,
    and a gap among ids is no wish for all rows without one."""
    pd = pytest.importorskip("pandas")
    value = {
        "None": None, "NaT": pd.NaT, "NA": pd.NA, "numpy": np.datetime64("NaT", "s"), "nan": float("nan"),
    }[missing]  # fmt: skip
    path, what = tmp_path / "a.parquet", "NaN" if missing == "nan" else "null"
    pq.write_table(pa.table({"id": [5, None]}), path)
    for filters, where in (
        ({"id": value}, ""),
        ({"id": [5, value]}, " at position 1"),
        ([("id", "!=", value)], ""),
        ([("id", "not in", [value, 5])], " at position 0"),
        ([[("id", "<", value)], [("id", "==", 5)]], ""),
    ):
        with pytest.raises(ValueTypeError) as raised:
            pb.rows(path, filters)
        expected = f"filters: column id: {what}{where}: cannot be looked for, leave it out"
        assert str(raised.value) == expected
        assert pb.row_groups(path, filters).num_rows == 1


FORMS = {
    "text": pa.string(),
    "long": pa.large_string(),
    "view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "short dictionary": pa.dictionary(pa.int8(), pa.string()),
    "bytes": pa.binary(),
    "view of bytes": pa.binary_view(),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("other", FORMS)
@pytest.mark.parametrize("one", FORMS)
def test_the_same_values_in_another_form(tmp_path: Path, one: str, other: str) -> None:
    for number, name in enumerate((one, other)):
        values = pa.array(["x", "y", None]).cast(FORMS[name])
        nested = pa.StructArray.from_arrays([values], ["f"])
        lists = pa.ListArray.from_arrays([0, 1, 3, 3], values)
        table = pa.table({"c": values, "s": nested, "l": lists, "id": [1, 2, 3]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    found = pb.rows(tmp_path, {"id": [1, 3]})
    are_bytes = "bytes" in one or "bytes" in other
    x = b"x" if are_bytes else "x"
    first = {"c": x, "s": {"f": x}, "l": [x], "id": 1}
    last = {"c": None, "s": {"f": None}, "l": [], "id": 3}
    assert found.to_pylist() == [first, last] * 2
    assert pb.find(tmp_path, "id", [1, 3], columns=["c", "s", "l"]).values.equals(
        found.drop_columns("id").replace_schema_metadata()
    )
    if one == other:
        assert found.schema.field("c").type == FORMS[one]
    assert pb.rows(tmp_path, {"c": "y"})["id"].to_pylist() == [2, 2]


def test_no_conditions_are_those_of_all_rows(tmp_path: Path) -> None:
    """As for row_groups and dataset; a value that is none is an error of all of them."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [5, None]}), path)
    assert pb.rows(path, {}).to_pylist() == [{"id": 5}, {"id": None}]
    assert (
        pb.dataset(path, {}).to_table().num_rows == pb.row_groups(path, {})["rows"][0].as_py() == 2
    )
    assert pb.rows(path, {"id": []}).num_rows == 0
    for read in (pb.rows, pb.row_groups, pb.dataset, pb.polars_source):
        with pytest.raises(
            TypeError, match=r"^filters: column id: values: a dict, expected one value"
        ):
            read(path, {"id": {}})
        with pytest.raises(ValueError, match=r"^filters: none, expected a dictionary"):
            read(path, [])


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_moments_of_pandas_keep_their_nanoseconds(tmp_path: Path, zone: str | None) -> None:
    pd = pytest.importorskip("pandas")
    held = pa.array([1_000_000_001, 1_000_000_000], pa.timestamp("ns", zone))
    pq.write_table(pa.table({"at": held}), tmp_path / "a.parquet")
    pb.build(tmp_path / "a.parquet", columns="at", in_place=True)
    moment = pd.Timestamp(1_000_000_001, tz=zone and "America/New_York")
    for wanted in (moment, [moment], (moment,), {moment}):
        assert pb.rows(tmp_path / "a.parquet", {"at": wanted})["at"].to_pylist() == [
            held[0].as_py()
        ]


@pytest.mark.parametrize("value", ["abc", b"abc", uuid.UUID(int=5)])
def test_objects_of_polars_are_what_they_are(tmp_path: Path, value: Any) -> None:
    """Their array in Arrow has addresses."""
    path = tmp_path / "a.parquet"
    kind = pa.uuid() if isinstance(value, uuid.UUID) else None
    stored = value.bytes if isinstance(value, uuid.UUID) else value
    pq.write_table(pa.table({"id": pa.array([stored], kind)}), path)
    pb.build(path, columns="id", in_place=True)
    asked = pl.Series([value], dtype=pl.Object)
    assert [row.row for row in pb.find(path, "id", asked).rows] == [0]
    assert [each.verdict for each in pb.probe(path, "id", asked).results] == ["maybe"]
    assert pb.probe_values(path, "id", asked).absent == 0
    with pb.open(path) as file:
        assert file.bloom_filter(0, "id").check_many(asked).tolist() == [True]
    assert pb.rows(path, {"id": asked}).num_rows == 1


@pytest.mark.parametrize(
    ("filters", "held"),
    [
        ({"h": 5}, [5]),
        ({"h": 2**63 + 1}, [2**63 + 1]),
        ({"h": [2**63 + 1, 5, 6]}, [2**63 + 1, 5]),
        ({"h": [5, -1]}, [5]),
        ([("h", "not in", [5, -1])], [2**63 + 1]),
        ([("h", ">", 5)], [2**63 + 1]),
        ([("h", "!=", 2**63 + 1)], [5]),
        ({"h": np.array([2**63 + 1], np.uint64)}, [2**63 + 1]),
    ],
)
def test_integers_without_signs(tmp_path: Path, filters: Any, held: list[int]) -> None:
    """As hashes are."""
    pq.write_table(pa.table({"h": pa.array([2**63 + 1, 5], pa.uint64())}), tmp_path / "h.parquet")
    assert pb.rows(tmp_path / "h.parquet", filters)["h"].to_pylist() == held


def test_uuids_and_categories(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    one, other = uuid.UUID(int=5), uuid.UUID(int=7)
    ids = pa.array([one.bytes, other.bytes, None], pa.uuid())
    pq.write_table(pa.table({"id": ids, "name": ["a", "b", "c"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"name": ["d"]}), tmp_path / "b.parquet")
    for filters in (
        {"id": one},
        {"id": [one, uuid.UUID(int=9)]},
        {"id": [one.bytes]},
        {"id": pa.array([one.bytes], pa.uuid())},
        {"id": pl.Series([one], dtype=pl.Object)},
        [("id", "==", one)],
        {"name": pd.Series(["a", "z"], dtype="category")},
        {"name": pl.Series(["a", "z"], dtype=pl.Categorical)},
        {"name": pa.array(["a", "z"]).dictionary_encode()},
    ):
        assert pb.rows(tmp_path, filters)["name"].to_pylist() == ["a"], filters


@pytest.mark.parametrize(
    ("column", "wanted", "held"),
    [
        ("h", 5, [5]),
        ("h", 2**63 + 1, [2**63 + 1]),
        ("h", [2**63 + 1, 5], [2**63 + 1, 5]),
        ("h", np.uint64(2**63 + 1), [2**63 + 1]),
        ("h", 5.0, [5]),
        ("h", float(2**63), []),
        ("h", -1, []),
        ("h", [-1, 2**70, 5], [5]),
        ("h", [("h", ">=", 2**63)], [2**63 + 1]),
        ("h", [("h", ">", -1)], [2**63 + 1, 5]),
        ("h", [("h", "<", 2**64)], [2**63 + 1, 5]),
        ("h", pa.scalar(5), [5]),
        ("h", pa.array([5, -1]), [5]),
        ("i", [("i", "<", 2**80)], [1, 7]),
        ("i", [2**32 + 1, 7], [7]),
        ("i", [("i", "not in", [2**63, 7])], [1]),
    ],
)
def test_integers_are_of_the_type_of_the_column(
    tmp_path: Path, column: str, wanted: Any, held: list[int]
) -> None:
    """pyarrow takes an integer for one of 64 bits with a sign, and what is beside it for floats."""
    hashes = pa.array([2**63 + 1, 5], pa.uint64())
    pq.write_table(pa.table({"h": hashes, "i": pa.array([1, 7], pa.int32())}), tmp_path / "a")
    filters = wanted if type(wanted) is list and type(wanted[0]) is tuple else {column: wanted}
    assert pb.rows(tmp_path / "a", filters)[column].to_pylist() == held


@pytest.mark.parametrize("of_type", ["Timestamp", "datetime64", "both", "with datetime"])
def test_nanoseconds_among_others(tmp_path: Path, of_type: str) -> None:
    pd = pytest.importorskip("pandas")
    path, exact = tmp_path / "a", [1_000_000_001, 2_000_000_000]
    pq.write_table(pa.table({"at": pa.array(exact, pa.timestamp("ns"))}), path)
    of_numpy, of_pandas = np.datetime64(exact[0], "ns"), pd.Timestamp(exact[0])
    values = {
        "Timestamp": of_pandas,
        "datetime64": of_numpy,
        "both": [of_pandas, np.datetime64("2024-01"), np.datetime64(5, "h"), of_numpy],
        "with datetime": [datetime(1970, 1, 1), of_pandas],
    }[of_type]
    found = pb.rows(path, {"at": values})["at"]
    assert found.cast(pa.int64()).to_pylist() == exact[:1]


@pytest.mark.parametrize("unit", ["D", "M", "Y", "W", "h", "m", "s"])
def test_moments_of_numpy_of_any_unit(tmp_path: Path, unit: str) -> None:
    moment = np.datetime64("1970-01-01", unit)
    day = date(1970, 1, 1)
    pq.write_table(pa.table({"day": [day, date(2024, 1, 1)]}), tmp_path / "a")
    for wanted in (moment, [moment], np.array([moment])):
        assert pb.rows(tmp_path / "a", {"day": wanted})["day"].to_pylist() == [day]


def test_a_moment_between_nanoseconds(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), tmp_path / "a")
    expected = r"a: filters: column at: 1970-01-01T00:00:00\.000000000001: cannot be a value of timestamp\[ns\]: "
    with pytest.raises(
        ValueTypeError, match=f"{expected}expected a timestamp, such as datetime.datetime$"
    ):
        pb.rows(tmp_path / "a", {"at": np.datetime64(1, "ps")})
    assert pb.rows(tmp_path / "a", {"at": np.datetime64(1000, "ps")}).num_rows == 1


def kind_of(value: object) -> str | None:
    """No address, which every process has another of."""
    return None if isinstance(value, str) else type(value).__name__


@pytest.mark.parametrize(
    "wanted",
    [
        SOME,
        [SOME],
        str(SOME),
        [str(SOME)],
        pl.Series([str(SOME)]),
        SOME.bytes,
        [SOME.bytes],
        pa.scalar(SOME.bytes, pa.uuid()),
        pa.array([SOME.bytes], pa.uuid()),
        pl.Series([SOME], dtype=pl.Object),
        [("id", ">=", SOME)],
        [("id", "not in", [uuid.UUID(int=4)])],
    ],
    ids=kind_of,
)
def test_uuids_in_every_form(tmp_path: Path, wanted: Any) -> None:
    kinds = {"uuid": pa.uuid(), "nested": pa.struct({"id": pa.uuid()})}
    ids = pa.array([uuid.UUID(int=4).bytes, SOME.bytes], pa.uuid())
    nested = pa.StructArray.from_arrays([ids], fields=[*kinds["nested"]])
    pq.write_table(pa.table({"id": ids, "n": nested}), tmp_path / "a")
    is_list = isinstance(wanted, list) and isinstance(wanted[0], tuple)
    assert pb.rows(tmp_path / "a", wanted if is_list else {"id": wanted})["id"].to_pylist() == [
        SOME
    ]
    if not is_list:
        assert pb.rows(tmp_path / "a", {"n.id": wanted})["id"].to_pylist() == [SOME]


def test_categories_are_their_values(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    pq.write_table(pa.table({"k": ["abc", "d"]}), tmp_path / "a")
    of_arrow = pa.array(["abc"]).dictionary_encode()
    for wanted in (
        pd.Series(["abc"], dtype="category"),
        pd.Categorical(["abc"]),
        pl.Series(["abc"], dtype=pl.Categorical),
        of_arrow,
        pa.chunked_array([of_arrow]),
        of_arrow[0],
    ):
        assert pb.rows(tmp_path / "a", {"k": wanted})["k"].to_pylist() == ["abc"]


def test_fields_of_structs_and_of_nothing_else(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "s": [{"x": 5}]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": [2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [3], "l": [[1, 2]]}), tmp_path / "2.parquet")
    either = [[("s.x", "==", 5)], [("id", "==", 2)]]
    assert pb.rows(tmp_path, either)["id"].to_pylist() == [1, 2]
    for column in ("l", "l.list.element"):
        expected = (
            rf"2\.parquet: filters: column {column}: list<element: int64>, expected one value in each row, "
            r"as in a whole column or a field of structs; pb\.find finds the rows where any is equal$"
        )
        for value in (1, 99):
            with pytest.raises(ValueTypeError, match=expected):
                pb.rows(tmp_path / "2.parquet", {column: value}, ["id"])
            with pytest.raises(ValueTypeError, match=expected):
                pb.rows(tmp_path, {column: value}, ["id"])
    with pytest.raises(ColumnError, match=r"no column id\.x"):
        pb.rows(tmp_path / "2.parquet", {"id.x": 1})


@pytest.mark.parametrize("value", [1, 99])
def test_what_is_in_lists_is_refused_whether_or_not_it_is_there(tmp_path: Path, value: int) -> None:
    table = pa.table({"id": [3], "l": [[1, 2]]})
    pq.write_table(table, tmp_path / "a.parquet")
    orc.write_table(table, tmp_path / "a.orc")
    pb.Index.build(tmp_path / "index", tmp_path / "a.parquet", "l.list.element").close()
    for files, column, index in (
        (tmp_path / "a.parquet", "l.list.element", None),
        (tmp_path / "a.parquet", "l.bag.array_element", None),
        (None, "l.list.element", tmp_path / "index"),
        (tmp_path / "a.orc", "l._elem", None),
    ):
        with pytest.raises(ValueTypeError, match=rf"column {column}: list<.*expected one value in"):
            pb.rows(files, {column: value}, ["id"], index=index)


@pytest.mark.parametrize("indexed", ["l.list.element", "id"])
@pytest.mark.parametrize("columns", [None, ["id"]])
def test_what_is_in_lists_is_refused_whatever_an_index_leaves(
    tmp_path: Path, indexed: str, columns: list[str] | None
) -> None:
    """Be it nothing, and though the first file has no list."""
    lists = pa.array([[1, 2], [3], None], pa.list_(pa.int64()))
    tables = [pa.table({"id": [0]}), *[pa.table({"id": [1, 2, 3], "l": lists})] * 2]
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    index = tmp_path / "index"
    pb.Index.build(index, tmp_path, indexed).close()
    for filters in ({"id": 9, "l.list.element": 9}, {"id": 0, "l.list.element": 3}):
        for given in (None, index):
            with pytest.raises(ValueTypeError, match=r"column l\.list\.element: list<"):
                pb.rows(tmp_path, filters, columns, index=given)


def test_the_columns_of_filters_are_read_once(lake: Path) -> None:
    found = pb.rows(lake, {"id": [12_345, 27_000]}, columns=["text", "id"])
    assert found.to_pylist() == [{"text": "12345", "id": 12_345}, {"text": "27000", "id": 27_000}]
    # As without `id` among the columns.
    assert read(found)["pages_read"] == 22


@pytest.mark.parametrize("num_groups", [1, 40])
def test_no_byte_is_read_twice(tmp_path: Path, num_groups: int) -> None:
    path = tmp_path / "a.parquet"
    numbers = np.random.default_rng(1).permutation(40_000)
    table = pa.table({"id": numbers, "text": [f"{number:032}" for number in numbers]})
    pq.write_table(table, path, row_group_size=40_000 // num_groups, compression="none")
    found = pb.rows(path, [("id", "<", 20_000)])
    assert found.replace_schema_metadata() == table.filter(pc.field("id") < 20_000)
    size = path.stat().st_size
    assert 0.8 * size < read(found)["bytes_read"] <= size


def test_files_of_many_row_groups_are_in_their_order(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).permutation(4000)
    for file in range(8):
        table = pa.table({"id": numbers[500 * file :][:500], "file": [file] * 500})
        pq.write_table(table, tmp_path / f"{file}.parquet", row_group_size=50)
    found = pb.rows(tmp_path, [("id", ">=", 100)])
    assert found["id"].to_pylist() == [*numbers[numbers >= 100]]
    assert read(found)["row_groups_read"] == 80


def test_a_damaged_row_group_among_small_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": np.arange(300), "n": np.arange(300)}), path, row_group_size=100)
    chunk = pq.read_metadata(path).row_group(1).column(1)
    data = bytearray(path.read_bytes())
    end = chunk.dictionary_page_offset + chunk.total_compressed_size
    data[end - 40 : end] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(PageError, match="row group 1, column n: "):
        pb.rows(path, [("id", ">=", 50)])
    assert pb.rows(path, [("id", "<", 50)]).num_rows == 50


def test_a_damaged_column_among_others(tmp_path: Path) -> None:
    """They are decoded together, and one of them is named."""
    path = tmp_path / "a.parquet"
    texts = [f"{number}" for number in range(300)]
    table = pa.table({"id": np.arange(300), "a": texts, "b": texts, "c": texts})
    pq.write_table(table, path, row_group_size=100, use_dictionary=False, compression="none")
    chunk = pq.read_metadata(path).row_group(1).column(2)
    data = bytearray(path.read_bytes())
    end = chunk.data_page_offset + chunk.total_compressed_size
    data[end - 40 : end] = b"\xff" * 40
    path.write_bytes(data)
    for columns in (["b"], ["a", "b", "c"], ["c", "b", "a"], ["id", "a", "b"]):
        with pytest.raises(PageError, match=r"/a\.parquet: row group 1, column b: pyarrow: "):
            pb.rows(path, {"id": 150}, columns)
    assert pb.rows(path, {"id": 150}, ["a", "c"]).to_pylist() == [{"a": "150", "c": "150"}]


@pytest.mark.parametrize("filters", [{"id": 7}, {"kind": "x"}])
def test_an_index_beyond_the_dictionary(tmp_path: Path, filters: Any) -> None:
    path = tmp_path / "a.parquet"
    kinds = pa.array(["x", "y", "z"] * 10).dictionary_encode()
    table = pa.table({"id": range(30), "kind": kinds})
    pq.write_table(table, path, compression="none", store_schema=True)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    data = bytearray(path.read_bytes())
    end = chunk.dictionary_page_offset + chunk.total_compressed_size
    # Of three entries, two bits tell the number.
    data[end - 7 : end] = b"\xff" * 7
    path.write_bytes(data)
    expected = r"/a\.parquet: row group 0, column kind: index 3 of the dictionary's entries, expected less than 3$"
    with pytest.raises(PageError, match=expected):
        pb.rows(path, filters)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [7], "text": ["a"]}), path, store_schema=False)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"text", b"t\xffxt"))
    for read, value in ((pb.rows, 7), (pb.rows, 8), (pb.dataset, 7)):
        with pytest.raises(pb.FormatError, match=r"/a\.parquet: .*pyarrow: .*'utf-8' codec can't"):
            read(path, {"id": value})
    # In what Arrow's writer says of the file, which then tells nothing.
    pq.write_table(pa.table({"id": [7], "text": ["a"]}), path)
    data = path.read_bytes()
    schema = pq.read_metadata(path).metadata[b"ARROW:schema"]
    other = b64encode(b64decode(schema).replace(b"text", b"t\xffxt"))
    path.write_bytes(data.replace(schema, other))
    assert pb.rows(path, {"id": 7}).to_pylist() == [{"id": 7, "text": "a"}]


@pytest.mark.parametrize("filters", [{}, {"id": [5, 105, 250]}])
@pytest.mark.parametrize("count", [0, 72, -100])
def test_no_rows_are_lost_with_a_row_group(tmp_path: Path, filters: Any, count: int) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(300)}), path, row_group_size=100)

    def stored(num_rows: int) -> bytes:
        zigzag = 2 * num_rows if num_rows >= 0 else -2 * num_rows - 1
        # RowGroup's field 3 behind field 2, as an i64 of two bytes.
        return bytes((0x16, 0x80 | zigzag & 0x7F, zigzag >> 7))

    data = path.read_bytes()
    *_, footer = data.rpartition(stored(300))
    assert pq.read_metadata(path).num_row_groups == 3
    at = len(data) - len(footer) + footer.rindex(stored(100))
    path.write_bytes(data[:at] + stored(count) + data[at + 3 :])
    assert pq.read_metadata(path).row_group(2).num_rows == count
    with pytest.raises(
        pb.FooterError, match=f"the row groups hold {200 + count} rows, the file 300"
    ):
        pb.rows(path, filters)


def test_no_rows_of_structs_of_uuids(tmp_path: Path) -> None:
    """Of which pyarrow makes no empty array."""
    path = tmp_path / "a.parquet"
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"u" * 16], pa.binary(16)))
    struct = pa.StructArray.from_arrays([ids], ["u"])
    pq.write_table(pa.table({"id": [7], "s": struct}), path)
    found = pb.rows(path, {"id": 8})
    assert (found.num_rows, found.schema.names) == (0, ["id", "s"])
    assert found.schema.field("s").type == pb.rows(path, {"id": 7}).schema.field("s").type
    assert pb.find(path, "id", 8, columns=["s"]).rows == ()


@pytest.mark.parametrize("in_lists", [False, True])
def test_iterators_are_looked_through_once(tmp_path: Path, in_lists: bool) -> None:
    """By us, in more than one place."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(100)}), path)
    for operator, num_rows in (("in", 2), ("not in", 98)):
        condition = ("id", operator, (value for value in (3, 7)))
        conditions = (each for each in [condition])
        filters = [[*conditions]] if in_lists else conditions
        assert pb.rows(path, filters).num_rows == num_rows
    assert pb.rows(path, {"id": map(int, "37")}).num_rows == 2


def test_moments_in_several_zones_are_in_that_of_the_first_file(tmp_path: Path) -> None:
    zones = {"a": ("us", "Europe/Zurich"), "b": ("ns", "UTC"), "c": ("us", "America/New_York")}
    for name, (unit, zone) in zones.items():
        at = pa.array([1, None], pa.timestamp("us", tz=zone)).cast(pa.timestamp(unit, tz=zone))
        # One zone in all files, which is another than that beside it.
        same = pa.array([2, 2], pa.timestamp("us", tz="Asia/Tokyo"))
        structs = pa.StructArray.from_arrays([at, same], ["at", "same"])
        lists = pa.ListArray.from_arrays([0, 1, 2], at)
        maps = pa.MapArray.from_arrays([0, 1, 2], pa.array(["k", "l"]), at)
        table = pa.table({"id": [7, 8], "at": at, "s": structs, "l": lists, "m": maps})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    found = pb.rows(tmp_path, {"id": 7})
    kind = pa.timestamp("ns", "Europe/Zurich")
    assert found.schema.field("at").type == kind
    assert found["s"].type.field("same").type == pa.timestamp("us", "Asia/Tokyo")
    inside = [found["s"].type.field("at"), found["l"].type.value_field, found["m"].type.item_field]
    assert [field.type for field in inside] == [kind] * 3
    assert pc.cast(found["at"], pa.int64()).to_pylist() == [1000] * 3
    assert found["s"].to_pylist()[0] == found["s"].to_pylist()[2]
    # Each row is found by its moment, whatever its zone.
    moment = datetime(1970, 1, 1, microsecond=1, tzinfo=UTC)
    assert pb.rows(tmp_path, {"at": moment})["id"].to_pylist() == [7, 7, 7]
    values = pb.find(tmp_path, "id", 7, columns=["at"]).values
    assert values.schema.field("at").type == kind


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (pa.int64(), pa.decimal128(20, 4), pa.decimal128(23, 4)),
        (pa.int8(), pa.decimal128(4, 2), pa.decimal128(5, 2)),
        (pa.int64(), pa.decimal128(38, 30), pa.decimal256(49, 30)),
        (pa.uint64(), pa.int64(), pa.decimal128(20, 0)),
        (pa.int16(), pa.uint64(), pa.decimal128(20, 0)),
        (pa.uint32(), pa.int64(), pa.int64()),
        (pa.uint64(), pa.uint8(), pa.uint64()),
    ],
)
def test_numbers_of_several_types_have_one_that_holds_all(
    tmp_path: Path, one: pa.DataType, other: pa.DataType, kind: pa.DataType
) -> None:
    """Whatever the values are."""

    def most(of: pa.DataType) -> int:
        is_signed = pa.types.is_signed_integer(of)
        return 3 if pa.types.is_decimal(of) else 2 ** (of.bit_width - is_signed) - 1

    for name, each in (("a", one), ("b", other)):
        numbers = pa.array([1, None, most(each)], each)
        structs = pa.StructArray.from_arrays([numbers], ["x"])
        table = pa.table({"id": [1, 2, 3], "x": numbers, "s": structs})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    for number in (1, 3):
        found = pb.rows(tmp_path, {"id": number})
        assert found.schema.field("x").type == found.schema.field("s").type.field("x").type == kind
        expected = [1, 1] if number == 1 else [most(one), most(other)]
        assert found["x"].to_pylist() == expected
        assert [each["x"] for each in found["s"].to_pylist()] == expected
    assert pb.rows(tmp_path, {"x": most(one)}).num_rows == (2 if most(one) == most(other) else 1)


def test_types_that_do_not_go_together(tmp_path: Path) -> None:
    for name, zone in (("a", "UTC"), ("b", None)):
        at = pa.array([1], pa.timestamp("us", zone))
        pq.write_table(pa.table({"id": [7], "at": at}), tmp_path / f"{name}.parquet")
    with pytest.raises(pb.UnsupportedError) as said:
        pb.rows(tmp_path, {"id": 7})
    assert str(said.value).startswith(
        "column at of several files: Unable to merge: Field at has incompatible types:"
        " timestamp[us, tz=UTC] vs timestamp[us]"
    )
    assert str(said.value).endswith("; leave it out with columns=")
    assert pb.rows(tmp_path, {"id": 7}, ["id"]).num_rows == 2


@pytest.mark.parametrize(
    ("column", "value", "by_rows", "by_find"),
    [
        ("i", 2.5, 0, "an error"),
        ("u", -1, 0, "an error"),
        ("i", float(2**53), 1, "an error"),
        ("d", datetime(2024, 1, 2), 1, "an error"),
        ("d", datetime(2024, 1, 2, 5), 0, "an error"),
        ("d", 19724, "an error", 1),
        ("b", True, 2, "unknown"),
        ("i", True, "an error", "an error"),
        ("i", "2", "an error", "an error"),
        ("s", 2, "an error", "an error"),
        ("i", [2, "x"], "an error", "1 and unknown"),
        ("i", pb.literal("2"), "an error", 1),
    ],
)
def test_in_which_values_rows_and_find_differ(
    tmp_path: Path, column: str, value: object, by_rows: object, by_find: object
) -> None:
    """As the page about reading says."""
    path = tmp_path / "a.parquet"
    columns = {
        "i": [1, 2, 2**53],
        "u": pa.array([1, 2, 2**63], pa.uint64()),
        "d": [date(2024, 1, day) for day in (1, 2, 3)],
        "b": [True, False, True],
        "s": ["1", "2", "3"],
    }
    pq.write_table(pa.table(columns), path)

    def found() -> object:
        report = pb.find(path, column, value)
        counted = [str(len(report.rows))] * bool(report.rows) + ["unknown"] * bool(report.unknown)
        return " and ".join(counted)

    def outcome(ask: Any) -> str:
        try:
            return str(ask())
        except (ValueTypeError, TypeError):
            return "an error"

    assert outcome(lambda: pb.rows(path, {column: value}).num_rows) == str(by_rows)
    assert outcome(found) == str(by_find)


def test_a_column_that_only_files_of_other_partitions_have_than_those_it_is_asked_of(
    tmp_path: Path,
) -> None:
    """All files are asked something, those with the column nothing about it."""
    for day, table in (("1", {"id": [1]}), ("2", {"id": [2], "score": [5]})):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table(table), tmp_path / f"day={day}" / "a.parquet")
    filters = [[("day", "==", 1), ("score", "==", 5)], [("id", "==", 2)]]
    assert pb.rows(tmp_path, filters)["id"].to_pylist() == [2]
    assert pb.read_plan(tmp_path, filters).num_files == 2
    assert pb.dataset(tmp_path, filters).schema.names == ["id", "day", "score"]
    filters[0][1] = ("scores", "==", 5)
    with pytest.raises(pb.ColumnError, match="no column scores"):
        pb.rows(tmp_path, filters)


def test_columns_of_one_name_are_not_taken_for_null(tmp_path):
    """Rows are read by names: an index means a column to find, and to nobody who reads rows."""
    file = tmp_path / "two.parquet"
    table = pa.table([[1, 2], [3, 4], ["a", "b"]], names=["id", "id", "name"])
    pq.write_table(table, file)
    way_out = ", expected a name that no other column has, as rows are read by names; pb.find takes an index, such as #0"
    told = {
        "id": "column id: 2 columns have the name id",
        "#0": "column #0: named by its index",
        "id#1": "column id#1: named by its index",
    }
    for name, problem in told.items():
        # Whatever the file holds.
        for value, read in itertools.product((1, 9), (pb.rows, pb.dataset)):
            columns = {"columns": ["name"]} if read is pb.rows else {}
            with pytest.raises(UnsupportedError) as raised:
                read(file, [(name, "==", value)], **columns)
            assert str(raised.value) == f"{file}: {problem}{way_out}"
    assert pb.rows(file, [("name", "==", "b")], columns=["name"]).num_rows == 1
    found = pb.find(file, "#1", 4, columns=["name"])
    assert found.values["name"].to_pylist() == ["b"]
    every = r"column id: 2 columns have this name, expected one; name the columns that are wanted, without it$"
    with pytest.raises(ColumnError, match=every):
        pb.rows(file, [("name", "==", "b")])
    with pytest.raises(
        UnsupportedError, match=r"column id: 2 columns have this name, .* try pb\.rows"
    ):
        pb.dataset(file, [("name", "==", "b")])


def test_a_file_without_columns_has_none(tmp_path):
    file = tmp_path / "none.parquet"
    pq.write_table(pa.table({"id": [1]}).select([]), file)
    for name in ("id", "#0"):
        with pytest.raises(ColumnError, match=f"no column {name}; the file has no columns$"):
            pb.probe(file, name, 1)
