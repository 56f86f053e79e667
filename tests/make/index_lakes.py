"""Lakes of small files that differ in what an index must not mix up, and what is true of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import parquet_bloom as pb

COLUMNS = ("n", "s", "x")
GROUP = 30

FILTERED = pa.schema({"id": pa.int64(), "name": pa.string()})
FILTERED_GROUP = 100
FPPS = (0.3, 0.02, 0.001)

Values = Callable[[random.Random, int], pa.Array]


def _drawn(type: pa.DataType, draw: Callable[[random.Random], Any]) -> Values:
    return lambda source, rows: pa.array([draw(source) for _ in range(rows)], type)


def _number(source: random.Random) -> int:
    return source.randrange(-200, 200)


def _decimal(source: random.Random) -> Decimal:
    return Decimal(source.randrange(-20_000, 20_000)).scaleb(-2)


def _text(source: random.Random) -> str | None:
    return None if source.random() < 0.2 else f"user {source.randrange(300)}"


def _float(source: random.Random) -> float | None:
    usual = source.randrange(-200, 200) / 2
    return source.choice([usual, usual, usual, 0.0, -0.0, float("nan"), float("inf"), None])


# Each file has one of these types for a column, or lacks it.
TYPES: dict[str, tuple[Values | None, ...]] = {
    "n": (
        *[_drawn(pa.int64(), _number)] * 4,
        _drawn(pa.int32(), _number),
        _drawn(pa.decimal128(9, 2), _decimal),
        _drawn(pa.decimal128(30, 2), _decimal),
        _drawn(pa.string(), _text),
        None,
    ),
    "s": (*[_drawn(pa.string(), _text)] * 3, _drawn(pa.string(), lambda _: None), None),
    "x": (*[_drawn(pa.float64(), _float)] * 3, _drawn(pa.float32(), _float)),
}


def _with_null_groups(values: Values) -> Values:
    """The same with nothing but null in every other row group."""

    def with_nulls(source: random.Random, rows: int) -> pa.Array:
        first = source.choice([0, 1])
        are_null = pa.array([row // GROUP % 2 == first for row in range(rows)], pa.bool_())
        drawn = values(source, rows)
        return pc.if_else(are_null, pa.nulls(rows, drawn.type), drawn)

    return with_nulls


# What lakes have besides, in files of those who take less care.
MORE_TYPES: dict[str, tuple[Values | None, ...]] = {
    "n": (
        *TYPES["n"],
        *[_with_null_groups(_drawn(pa.int64(), _number))] * 2,
        _with_null_groups(_drawn(pa.string(), _text)),
        _drawn(pa.uint32(), lambda source: abs(_number(source))),
        _drawn(pa.null(), lambda _: None),
        _drawn(pa.bool_(), lambda source: source.random() < 0.5),
    ),
    "s": (
        *TYPES["s"],
        _with_null_groups(_drawn(pa.string(), _text)),
        _drawn(pa.binary(), lambda source: f"user {source.randrange(300)}".encode()),
        _drawn(pa.null(), lambda _: None),
    ),
    "x": (*TYPES["x"], _with_null_groups(_drawn(pa.float64(), _float))),
}


def spoil(path: Path, source: random.Random) -> None:
    """A file that nobody can read any more, in place of this one."""
    size = path.stat().st_size
    left = path.read_bytes()[: source.choice([0, size // 2, size - 1])]
    path.unlink()
    path.write_bytes(left)


def write_file(
    path: Path,
    source: random.Random,
    kinds: Mapping[str, tuple[Values | None, ...]] = TYPES,
) -> None:
    """A file of up to four row groups; some have none, some no rows in them. `kinds`: of each column,
    one for a file."""
    rows = source.choice([0, 1, 25, 60, 95])
    columns = {"other": pa.array(range(rows), pa.int64())}
    for name, types in kinds.items():
        values = source.choice(types)
        if values is not None:
            columns[name] = values(source, rows)
    # A file that is changed is another file, as writers of lakes have it.
    path.unlink(missing_ok=True)
    pq.write_table(
        pa.table(columns), path, row_group_size=GROUP, use_dictionary=source.choice([True, False]),
        data_page_size=source.choice([64, 1 << 20]), write_batch_size=7,
        data_page_version=source.choice(["1.0", "2.0"]),
    )  # fmt: skip


def write_filtered(path: Path, source: random.Random, rows: int, share: float = 1) -> Path:
    """A file of row groups of FILTERED_GROUP rows, of which more and fewer are distinct: filters of several sizes,
    and none in some row groups."""
    ids, names = [], []
    for _ in range(0, rows, FILTERED_GROUP):
        distinct = source.choice([3, 40, 1 << 40])
        ids += [source.randrange(distinct) for _ in range(FILTERED_GROUP)]
        names += [f"user {source.randrange(distinct)}" for _ in range(FILTERED_GROUP)]
    plain = path.with_suffix(".plain")
    table = pa.table({"id": ids[:rows], "name": names[:rows]}, FILTERED)
    pq.write_table(table, plain, row_group_size=FILTERED_GROUP)
    parts = [part for part in range(-(-rows // FILTERED_GROUP)) if source.random() < share]
    pb.build(
        plain, path, columns=["id", "name"], row_groups=parts or None, fpp=source.choice(FPPS),
        overwrite=True,
    )  # fmt: skip
    plain.unlink()
    return path


def is_held(value: Any, values: Collection[Any]) -> bool:
    """Whether one of several values is this one, as Parquet has it: text is its bytes, and a BOOLEAN no number."""
    return _as_stored(value) in map(_as_stored, values)


def _as_stored(value: Any) -> Any:
    if isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    return isinstance(value, bool), value


def where(path: Path, column: str, value: Any) -> set[int]:
    """The row groups of a file in which a column has a value."""
    return {at for at, values in enumerate(groups(path, column)) if is_held(value, values)}


def groups(path: Path, column: str) -> Iterator[set[Any]]:
    """The values of each row group."""
    file = pq.ParquetFile(path)
    if column in file.schema_arrow.names:
        for at in range(file.num_row_groups):
            found = file.read_row_group(at, [column])[column].to_pylist()
            yield {value for value in found if value is not None}
