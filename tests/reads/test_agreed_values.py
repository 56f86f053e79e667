"""Which values exclude row groups: those that all engines compare with a column as it is stored.

Each file has one row group, with statistics and filters, of one value; what is asked for is another one.
"""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb

UTC, DAY = dt.UTC, dt.datetime(2024, 1, 1)
NOON = 1_704_110_400_000_000_000

EXCLUDES: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int32(), 5, 6),
    (pa.int8(), 5, np.int64(6)),
    (pa.int8(), 5, 1000),
    (pa.uint64(), 2**64 - 1, 2**63),
    (pa.float64(), 0.5, 0.25),
    (pa.float64(), 0.5, 3),
    (pa.float32(), 0.5, 0.25),
    (pa.decimal128(9, 2), Decimal("1.25"), Decimal("1.5")),
    (pa.decimal128(30, 2), Decimal("1.25"), 7),
    (pa.string(), "ä", "ö"),
    (pa.string(), "a", "\\x61"),
    (pa.binary(), b"a", b"b"),
    (pa.binary(), b"a", "b"),
    (pa.uuid(), uuid.UUID(int=1).bytes, uuid.UUID(int=2)),
    (pa.uuid(), uuid.UUID(int=1).bytes, str(uuid.UUID(int=2))),
    (pa.date32(), DAY.date(), dt.date(2024, 1, 2)),
    (pa.time64("us"), dt.time(1), dt.time(2)),
    (pa.timestamp("us"), DAY, dt.datetime(2024, 1, 2)),
    (pa.timestamp("us", "UTC"), DAY.replace(tzinfo=UTC), dt.datetime(2024, 1, 2, tzinfo=UTC)),
    (pa.timestamp("ns"), NOON, dt.datetime(2024, 1, 2)),
    (pa.list_(pa.int64()), [5], 6),
]
KEEPS: list[tuple[pa.DataType, Any, Any]] = [
    (pa.bool_(), True, False),
    (pa.int32(), 5, 6.0),
    (pa.int32(), 5, True),
    (pa.int32(), 5, Decimal(6)),
    (pa.float32(), 0.5, 0.1),
    (pa.float64(), 0.5, 2**53 + 1),
    (pa.float64(), 0.5, Decimal("0.25")),
    (pa.float64(), 0.5, float("nan")),
    (pa.decimal128(9, 2), Decimal("1.25"), 1.5),
    (pa.decimal128(9, 2), Decimal("1.25"), Decimal("1.255")),
    (pa.decimal256(50, 2), Decimal("1.25"), Decimal("1.5")),
    (pa.string(), "a", b"b"),
    (pa.binary(), b"a", "\\x62"),
    (pa.binary(), b"a", "ä"),
    (pa.date32(), DAY.date(), DAY),
    (pa.date32(), DAY.date(), 7),
    (pa.time64("us"), dt.time(1), dt.time(2, tzinfo=UTC)),
    (pa.timestamp("us"), DAY, DAY.date()),
    (pa.timestamp("us"), DAY, 7),
    (pa.timestamp("us"), DAY, dt.datetime(2024, 1, 2, tzinfo=UTC)),
    (pa.timestamp("us", "UTC"), DAY.replace(tzinfo=UTC), dt.datetime(2024, 1, 2)),
    (pa.timestamp("us", "UTC"), DAY.replace(tzinfo=UTC), np.datetime64("2024-01-02")),
    (pa.timestamp("ms"), DAY, dt.datetime(2024, 1, 2, microsecond=1)),
    # Cut to microseconds, it is the same.
    (pa.timestamp("ns"), NOON + 999, np.datetime64(NOON, "ns")),
    (pa.timestamp("ns"), NOON - 999, np.datetime64(NOON, "ns")),
    (pa.time64("ns"), 999, dt.time(0)),
]


def left(folder: Path, kind: pa.DataType, stored: Any, filters: Any) -> int:
    """How many of the one row group are left."""
    path = folder / "a.parquet"
    pq.write_table(pa.table({"c": pa.array([stored], kind)}), path)
    if not pa.types.is_boolean(kind):
        with pb.open(path) as file:
            columns = file.columns
        pb.build(path, columns=columns, in_place=True, fpp=0.0001)
    return int(pb.row_groups(path, filters).num_rows)


def column_of(kind: pa.DataType) -> str:
    return "c.list.element" if pa.types.is_list(kind) else "c"


@pytest.mark.parametrize(("kind", "stored", "value"), EXCLUDES, ids=lambda each: repr(each))
def test_another_value_excludes(tmp_path: Path, kind: pa.DataType, stored: Any, value: Any) -> None:
    assert left(tmp_path, kind, stored, [(column_of(kind), "==", value)]) == 0


@pytest.mark.parametrize(("kind", "stored", "value"), KEEPS, ids=lambda each: repr(each))
def test_a_value_in_doubt_does_not(
    tmp_path: Path, kind: pa.DataType, stored: Any, value: Any
) -> None:
    assert left(tmp_path, kind, stored, [("c", "==", value)]) == 1


# NaN is the greatest number to DuckDB and polars, and not in statistics.
@pytest.mark.parametrize(("operator", "kept"), [("<", 0), ("<=", 0), (">", 1), (">=", 1)])
def test_nan_is_greater_than_bounds(tmp_path: Path, operator: str, kept: int) -> None:
    value = 5.0 if operator[0] == ">" else 0.5
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": [1.0, float("nan"), 2.0]}), path)
    assert pb.row_groups(path, [("c", operator, value)]).num_rows == kept


@pytest.mark.parametrize(
    ("operator", "value", "kept"),
    [("<", NOON, 1), ("<", NOON - 1_000_000, 0), (">", NOON, 1), (">", NOON + 1_000_000, 0)],
)
def test_bounds_of_nanoseconds_are_cut_by_some(
    tmp_path: Path, operator: str, value: int, kept: int
) -> None:
    stored = NOON + (500 if operator == "<" else -500)
    filters = [("c", operator, np.datetime64(value, "ns"))]
    assert left(tmp_path, pa.timestamp("ns"), stored, filters) == kept


def test_zeros_are_equal(tmp_path: Path) -> None:
    assert left(tmp_path, pa.float64(), -0.0, {"c": 0}) == 1
    assert left(tmp_path, pa.float32(), 0.0, {"c": -0.0}) == 1


def test_int96_excludes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"c": pa.array([DAY], pa.timestamp("ns"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    pb.build(path, columns="c", in_place=True)
    assert pb.row_groups(path, {"c": dt.datetime(2024, 1, 2)}).num_rows == 1
