"""ORC files of every type to build filters in, and what native filters look like."""

import decimal
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from parquet_bloom.filters.k_hash import KHashFilter, KHashFilters
from parquet_bloom.orc.bloom import StoredIndex
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.orc.keys import insert_values
from parquet_bloom.orc.stripe import OrcChunk
from parquet_bloom.orc.values import groups

STRIDE = 1000
ROWS = 3 * STRIDE + 300


def decimals(numbers: Iterable[Any], scale: int) -> list[decimal.Decimal | None]:
    return [
        None if n is None else decimal.Decimal(int(n)).scaleb(-scale, decimal.Context(prec=50))
        for n in numbers
    ]


def all_types(rows: int = ROWS, seed: int = 1) -> pa.Table:
    """Random values, shuffled, one in ten null: no minimum or maximum tells where a value is. No
    zeros among floats, no time within a day of 1970, which writers have of their own."""
    random = np.random.default_rng(seed)

    def nulls(values: Any) -> list[Any]:
        gaps = random.random(len(values)) < 0.1
        return [None if gap else value for gap, value in zip(gaps, values, strict=True)]

    def integers(bits: int) -> list[Any]:
        return nulls(random.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1, rows).tolist())

    moments = random.integers(-(2**52), 2**52, rows)
    moments[np.abs(moments) < 2 * 86_400_000_000] += 10 * 86_400_000_000
    texts = [f"Wort {n} ü" if n % 7 else "" for n in random.integers(0, 1 << 40, rows)]
    return pa.table(
        {
            "byte": pa.array(integers(8), pa.int8()),
            "short": pa.array(integers(16), pa.int16()),
            "int": pa.array(integers(32), pa.int32()),
            "long": pa.array(integers(64), pa.int64()),
            "float": pa.array(nulls(random.normal(size=rows).tolist()), pa.float32()),
            "double": pa.array(nulls(random.normal(size=rows).tolist()), pa.float64()),
            "string": pa.array(nulls(texts)),
            "binary": pa.array(nulls([text.encode("utf-16") for text in texts]), pa.binary()),
            "date": pa.array(nulls(random.integers(-140_000, 140_000, rows).tolist()), pa.int32())
            .cast(pa.date32()),
            "timestamp": pa.array(nulls(moments.tolist()), pa.int64()).cast(pa.timestamp("us")),
            "decimal9": pa.array(
                decimals(nulls(random.integers(-10_000, 10_000, rows)), 2), pa.decimal128(9, 2)
            ),
            "decimal30": pa.array(
                decimals(nulls(random.integers(-(1 << 62), 1 << 62, rows)), 10),
                pa.decimal128(30, 10),
            ),
            "decimal12": pa.array(
                decimals(nulls(random.integers(-50, 50, rows) * 100), 0), pa.decimal128(12, 0)
            ),
            "list": pa.array(
                nulls([[n, None, n + 1][: n % 4] for n in random.integers(0, 1 << 50, rows).tolist()]),
                pa.list_(pa.int64()),
            ),
            "map": pa.array(
                nulls([[(f"k{n}", n / 8)][: n % 2] for n in random.integers(0, 1 << 50, rows).tolist()]),
                pa.map_(pa.string(), pa.float64()),
            ),
            "struct": pa.array(
                nulls([{"a": n, "b": {"c": f"c{n}"}} for n in random.integers(0, 1 << 50, rows).tolist()]),
                pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))]),
            ),
        }
    )  # fmt: skip


LEAVES = (
    "byte", "short", "int", "long", "float", "double", "string", "binary", "date", "timestamp",
    "decimal9", "decimal30", "decimal12", "list._elem", "map._key", "map._value", "struct.a",
    "struct.b.c",
)  # fmt: skip


def rebuilt(file: OrcContainer, chunk: OrcChunk, stored: StoredIndex) -> Iterator[KHashFilter]:
    """The filters of a chunk from its values, of the stored ones' size and keys."""
    for group, native in zip(groups(file, chunk), stored.filters, strict=True):
        found = KHashFilters(1, native.num_bits, native.num_hashes)
        values, form = group.distinct, stored.key_form
        insert_values(found, range(1), chunk.column, values, array("q", [len(values)]), form)
        yield from found.filters


def differing(file: OrcContainer, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Of each column the number of filters, in streams of both kinds, that are not the rebuilt one,
    and the number of all."""
    found = {}
    for name in names:
        column = file.column(name)
        pairs: list[tuple[KHashFilter, KHashFilter]] = []
        for index in range(file.num_stripes):
            (chunk,) = file.chunks(index, [column])
            for stream in chunk.filter_streams:
                stored = file.filters_in(chunk.stripe, column, stream)
                pairs += zip(stored.filters, rebuilt(file, chunk, stored), strict=True)
        different = sum(bytes(a.bitset) != bytes(b.bitset) for a, b in pairs)
        found[name] = different, len(pairs)
    return found
