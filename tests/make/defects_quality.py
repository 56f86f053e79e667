"""Files that break PB3xx: quality. Policies are those of a user who asks for more."""

from collections.abc import Iterable

import pyarrow as pa
from make.defects_files import (
    ROWS,
    Defect,
    integers,
    making,
    sound,
    table,
    texts,
    without_filters,
    without_pointer,
)
from make.filters import bits_of, bitset, with_bits
from make.parquet_files import built, written


def capped(max_bytes: int) -> bytes:
    """As if a writer's limit had cut the filter short."""
    return built(without_filters(), "a", max_bytes=max_bytes, force=True)


def sized_for(ndv: int, columns: Iterable[str] = "s") -> bytes:
    return built(without_filters(), columns, ndv=ndv)


def dictionary(rows: int = 20 * ROWS) -> bytes:
    """A few values, over and over: the dictionary has them all. 1 KiB of it, and a filter of 2."""
    values = integers(0)[:128] * (rows // 128)
    data = written(pa.table({"a": pa.array(values, pa.int64())}), use_dictionary=True)
    return with_bits(data, bits_of(values[:128], 64))


def larger_than_the_chunk() -> bytes:
    """parquet-java's default of 1 MiB a filter would do the same; 32 KiB do for 16 KiB of data."""
    return sized_for(16 * ROWS, "a")


def without_values() -> bytes:
    """pyarrow writes an empty filter for a chunk of nulls."""
    nulls = pa.table({"a": pa.nulls(ROWS, pa.int64()), "t": texts(0)})
    return written(nulls, bloom_filter_options={"a": True})


def mostly_filters() -> bytes:
    return built(written(table("as"), row_group_size=ROWS), "a", ndv=32 * ROWS)


def missing_in_row_group_1() -> bytes:
    return without_pointer(sound(), 1, 0)


FILL = (
    Defect("capped at 512 bytes", "PB301", making(lambda: capped(512)), issue="B27"),
    Defect("capped at 1 KiB", "PB302", making(lambda: capped(1024)), row_group=1),
    Defect("all ones", "PB303", making(lambda: with_bits(sound(), b"\xff" * len(bitset(sound()))))),
)

SIZE = (
    Defect(
        "for 16 times the values",
        "PB304",
        making(lambda: sized_for(16 * ROWS)),
        column="s",
        issue="B28",
    ),
    Defect("1 MiB", "PB304", making(lambda: sized_for(700_000)), 1, "s", issue="B35"),
    Defect("2 KiB for 1 KiB", "PB305", making(dictionary), issue="B7"),
    Defect("32 KiB for 16 KiB", "PB306", making(larger_than_the_chunk), issue="B5"),
    Defect("pyarrow over nulls", "PB308", making(without_values)),
    Defect("a third of the file", "PB309", making(mostly_filters), None, None, issue="B28"),
    Defect("1 MiB filters", "PB309", making(lambda: sized_for(700_000)), None, None, issue="B29"),
)

PRESENCE = (
    Defect("not in row group 1", "PB307", making(missing_in_row_group_1), None, issue="B6"),
    Defect(
        "not in row group 1",
        "PB310",
        making(missing_in_row_group_1),
        row_group=1,
        policy={"require": ("a",)},
        issue="B6",
    ),
    Defect("in none", "PB310", making(without_filters), policy={"require": ("s", "a")}),
    Defect("no such column", "PB310", making(sound), None, "z", policy={"require": ("z",)}),
)

LIMITS = (
    # The size that the closed formula gives for 0.1 %, with which most writers undersize.
    Defect(
        "undersized at 0.1 %",
        "PB311",
        making(lambda: with_bits(sound(), bits_of(integers(0), 115))),
        policy={"max_fpp": 0.001},
        issue="B26",
    ),
    Defect("above 0.1 %", "PB311", making(sound), 1, "s", policy={"max_fpp": 0.001}),
    Defect("above 64 bytes", "PB312", making(sound), policy={"max_bytes": 64}, issue="B30"),
    Defect(
        "above 8 KiB",
        "PB312",
        making(lambda: sized_for(16 * ROWS)),
        column="s",
        policy={"max_bytes": 8192},
        issue="B5",
    ),
)

QUALITY = (*FILL, *SIZE, *PRESENCE, *LIMITS)
