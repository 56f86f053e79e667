"""Files of types that engines read in different ways, and predicates about them."""

from __future__ import annotations

import datetime as dt
import random
import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import parquet_bloom as pb

DAY = dt.datetime(2024, 2, 29)
NAN, INF = float("nan"), float("inf")


def _moment(random: random.Random, step: int) -> dt.datetime:
    return DAY + dt.timedelta(microseconds=step * random.randrange(-40, 40))


def _in_utc(random: random.Random, step: int) -> dt.datetime:
    return _moment(random, step).replace(tzinfo=dt.UTC)


def _time(random: random.Random, step: int) -> dt.time:
    return (DAY + dt.timedelta(microseconds=step * random.randrange(40))).time()


def _float32(random: random.Random) -> float:
    choice = random.choice((0.0, -0.0, NAN, INF, -INF, 0.1, 16777217.0, random.randrange(20) / 4))
    return float(np.float32(choice))


def _float64(random: random.Random) -> float:
    return random.choice((0.0, -0.0, NAN, INF, 0.1, 2.0**53, random.randrange(50) / 7))


def _text(random: random.Random) -> str:
    return random.choice(("", "a", "ä", "\\x41", "A", "z" * 80, f"key {random.randrange(60)}"))


def _nanos(random: random.Random) -> int:
    return 1_709_164_800_000_000_000 + random.randrange(-3000, 3000)


def _integer(low: int, high: int) -> Callable[[random.Random], int]:
    return lambda chance: chance.choice(
        (low, high, 0, high // 2, chance.randrange(max(low, -60), 60))
    )


# A type of Arrow, and what makes a value of it.
TYPES: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "bool": (pa.bool_(), lambda r: r.random() < 0.5),
    "i8": (pa.int8(), _integer(-(2**7), 2**7 - 1)),
    "i16": (pa.int16(), _integer(-(2**15), 2**15 - 1)),
    "i32": (pa.int32(), _integer(-(2**31), 2**31 - 1)),
    "i64": (pa.int64(), _integer(-(2**63), 2**63 - 1)),
    "u8": (pa.uint8(), _integer(0, 2**8 - 1)),
    "u16": (pa.uint16(), _integer(0, 2**16 - 1)),
    "u32": (pa.uint32(), _integer(0, 2**32 - 1)),
    "u64": (pa.uint64(), _integer(0, 2**64 - 1)),
    "f32": (pa.float32(), _float32),
    "f64": (pa.float64(), _float64),
    "f16": (pa.float16(), lambda r: np.float16(r.randrange(50) / 8)),
    "d5": (pa.decimal128(5, 2), lambda r: Decimal(r.randrange(-50, 50)) / 4),
    "d15": (pa.decimal128(15, 2), lambda r: Decimal(r.randrange(-50, 50)) / 4),
    "d30": (pa.decimal128(30, 3), lambda r: Decimal(r.randrange(-50, 50)) * 10**20),
    "d50": (pa.decimal256(50, 3), lambda r: Decimal(r.randrange(-50, 50)) * 10**40),
    "date": (pa.date32(), lambda r: DAY.date() + dt.timedelta(days=r.randrange(-50, 50))),
    "t_ms": (pa.time32("ms"), lambda r: _time(r, 1000)),
    "t_us": (pa.time64("us"), lambda r: _time(r, 1)),
    "t_ns": (pa.time64("ns"), lambda r: r.randrange(4000)),
    "ts_ms": (pa.timestamp("ms"), lambda r: _moment(r, 1000)),
    "ts_us": (pa.timestamp("us"), lambda r: _moment(r, 1)),
    "ts_ns": (pa.timestamp("ns"), _nanos),
    "tz_ms": (pa.timestamp("ms", "UTC"), lambda r: _in_utc(r, 1000)),
    "tz_us": (pa.timestamp("us", "Europe/Berlin"), lambda r: _in_utc(r, 3_600_000_000)),
    "tz_ns": (pa.timestamp("ns", "UTC"), _nanos),
    "s": (pa.string(), _text),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), _text),
    "b": (pa.binary(), lambda r: _text(r).encode()),
    "fixed": (pa.binary(3), lambda r: struct.pack(">I", r.randrange(90))[1:]),
    "id": (pa.uuid(), lambda r: uuid.UUID(int=r.randrange(60)).bytes),
    "n": (
        pa.struct({"x": pa.int64(), "y": pa.string()}),
        lambda r: {"x": r.randrange(90), "y": _text(r)},
    ),
    "l": (pa.list_(pa.int64()), lambda r: [r.randrange(90) for _ in range(r.randrange(3))]),
}


def _order(value: Any) -> tuple[bool, bool, Any]:
    """Nulls first, then NaN."""
    is_known = value is not None and not (isinstance(value, float) and isnan(value))
    return value is not None, is_known, value if is_known else 0


def awkward_table(random: random.Random, num_rows: int, first_row: int) -> pa.Table:
    """A column of each type, with nulls, in runs, and `row`, which no other row of a lake has."""
    columns: dict[str, pa.Array] = {}
    for name, (kind, make) in TYPES.items():
        values = [None if random.random() < 0.1 else make(random) for _ in range(num_rows)]
        if random.random() < 0.3 and name not in ("n", "l"):
            values.sort(key=_order)
        columns[name] = pa.array(values, kind)
    columns["row"] = pa.array(range(first_row, first_row + num_rows), pa.int64())
    return pa.table(columns)


def awkward_lake(random: random.Random, folder: Path, num_files: int = 3) -> list[str]:
    """Files with and without statistics, filters, dictionaries; some filters are only in some files."""
    paths = []
    for number in range(num_files):
        path = folder / f"{number}.parquet"
        num_rows = random.choice((1, 40, 120))
        pq.write_table(
            awkward_table(random, num_rows, 1000 * number),
            path,
            row_group_size=random.choice((5, 20)),
            use_dictionary=random.random() < 0.5,
            write_statistics=random.random() < 0.8,
            compression=random.choice(("snappy", "zstd", "none")),
            data_page_version=random.choice(("1.0", "2.0")),
            store_schema=random.random() < 0.7,
            store_decimal_as_integer=random.random() < 0.5,
        )
        with pb.open(path) as file:
            columns = [name for name in file.columns if random.random() < 0.7]
        if random.random() < 0.85 and columns:
            pb.build(path, columns=columns, in_place=True, fpp=0.001)
        paths.append(str(path))
    return paths


def value_like(random: random.Random, name: str) -> Any:
    """A value as users have it, that a column may hold; sometimes one that it cannot."""
    if random.random() < 0.06:
        return random.choice(
            (0, -1, 1.5, "x", b"x", True, NAN, 2**70, None, DAY, DAY.date(), Decimal("0.1"))
        )
    if name in ("t_ns", "ts_ns", "tz_ns"):
        if name == "t_ns":
            return dt.time(0, 0, 0, random.randrange(4))
        if random.random() < 0.5:
            return np.datetime64(_nanos(random), "ns")
        return _in_utc(random, 1) if name == "tz_ns" else _moment(random, 1)
    if name == "id":
        return uuid.UUID(int=random.randrange(60))
    if name in ("n.x", "l.list.element"):
        return random.randrange(90)
    if name == "n.y":
        return _text(random)
    value = TYPES[name][1](random)
    if name in ("i64", "u32", "d15") and random.random() < 0.3:
        value = random.choice((float(value), Decimal(value), np.int64(min(int(value), 2**62))))
    return value


def conditions(random: random.Random, columns: Sequence[str]) -> tuple[str, str, Any]:
    """One condition, as pandas and pyarrow take it."""
    name = random.choice(columns)
    operator = random.choice(("==", "==", "=", "in", "<", "<=", ">", ">=", "!=", "not in"))
    if operator in ("in", "not in"):
        return name, operator, [value_like(random, name) for _ in range(random.randrange(1, 5))]
    return name, operator, value_like(random, name)
