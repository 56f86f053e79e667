"""Files of others: of each column, stored values are looked for, and no row of them is left out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from conftest import IS_LONG, SHARED, missing

import parquet_bloom as pb

DATA = SHARED / "data"
# Of each column: with statistics alone, and again with filters.
VALUES = 1
# Of every so many files.
STRIDE = 1 if IS_LONG else 5
# Of a file, spread over it: one has 216 columns, and would take nine tenths of the time.
MOST_COLUMNS = 1000 if IS_LONG else 20


class Asked(NamedTuple):
    """What was asked of a file about a value of its column, how many rows match, and how many of them are left."""

    column: str
    operator: str
    kind: str
    rows: int
    left: int


def leaves(kind: pa.DataType, name: str) -> list[str]:
    """The names of fields below structs, as filters have them."""
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in leaves(field.type, f"{name}.{field.name}")]
    return [] if pa.types.is_nested(kind) else [name]


def values_of(table: pa.Table, name: str, chance: random.Random) -> list[pa.Scalar]:
    top, *below = name.split(".")
    column = table[top]
    for part in below:
        column = pc.struct_field(column, part)
    return [column[chance.randrange(table.num_rows)] for _ in range(VALUES if len(table) else 0)]


def wanted(name: str, operator: str, value: pa.Scalar) -> pc.Expression:
    field = pc.field(*name.split("."))
    return {"==": field == value, "<=": field <= value, ">=": field >= value}[operator]


def asked_of(path: Path, table: pa.Table, name: str, chance: random.Random) -> Iterator[Asked]:
    for value in values_of(table, name, chance):
        operator = chance.choice(("==", "==", "<=", ">="))
        try:
            rows = table.filter(wanted(name, operator, value)).num_rows
            found = pb.dataset(path, [(name, operator, value)])
            left = found.to_table(filter=wanted(name, operator, value)).num_rows
        except (pb.ParquetBloomError, pa.ArrowException, OSError):
            # What one of us refuses to read, or pyarrow to compare.
            continue
        yield Asked(name, operator, str(value.type), rows, left)


def with_filter(path: Path, name: str) -> bool:
    try:
        pb.build(path, columns=name, in_place=True, fpp=0.0001)
    except (pb.ParquetBloomError, OSError):
        return False
    return True


def asked_of_file(path: Path, chance: random.Random) -> Iterator[Asked]:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError, NotImplementedError):
        return
    names = [leaf for field in table.schema for leaf in leaves(field.type, field.name)]
    for name in names[:: -(-len(names) // MOST_COLUMNS) or 1]:
        yield from asked_of(path, table, name, chance)
        if with_filter(path, name):
            yield from asked_of(path, table, name, chance)


def test_no_row_is_left_out(tmp_path: Path) -> None:
    if not DATA.is_dir():
        missing("../shared/data")
    chance, lost, asked = random.Random(1), [], 0
    for original in sorted(DATA.glob("*/*.parquet"))[::STRIDE]:
        path = tmp_path / original.name
        path.write_bytes(original.read_bytes())
        for each in asked_of_file(path, chance):
            asked += 1
            if each.left != each.rows:
                lost.append((original.name, each))
        path.unlink()
    assert lost == []
    assert asked > (300 if IS_LONG else 30)
