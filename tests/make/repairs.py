"""Files whose filters want repair, and what is asked about a repair."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from make.filters import bitset_at, filter_header, with_bitset, with_filter_bytes
from make.footers import footer_start, pointer, with_meta, without_lengths

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.verbs.repair import RepairReport
from parquet_bloom.verbs.validate import validate

ROWS = 200
GROUPS = 2
A, S, B = 0, 1, 2
COLUMNS = {"a": A, "s": S, "b": B}
LIKE_A_FILTER = filter_header(64) + b"\x01" * 64


def with_offset(data: bytes, offset: int | None, row_group: int = 0, column: int = A) -> bytes:
    return with_meta(data, row_group, column, bloom_filter_offset=offset)


def with_length(data: bytes, more: int, row_group: int = 0, column: int = A) -> bytes:
    length = pointer(data, row_group, column)[1] + more
    return with_meta(data, row_group, column, bloom_filter_length=length)


def with_place_of(
    data: bytes, other: tuple[int, int], row_group: int, column: int = A, more: int = 0
) -> bytes:
    """The same with the pointer of one chunk that of another."""
    offset, length = pointer(data, *other)
    place = {"bloom_filter_offset": offset + more, "bloom_filter_length": length}
    return with_meta(data, row_group, column, **place)


def cleared(data: bytes) -> bytes:
    start, end = bitset_at(data, 0, A)
    return with_bitset(data, bytes(end - start))


def with_unions(data: bytes, **unions: Any) -> bytes:
    return with_filter_bytes(data, 0, A, filter_header(64, **unions) + b"\x01" * 64)


def overlapping(data: bytes) -> bytes:
    """The filter of `a` in row group 0 reaches into the next, that of `s`."""
    (start, end), (offset, length) = bitset_at(data, 0, A), pointer(data, 0, A)
    header = filter_header(2 * (end - start))
    assert offset + len(header) == start
    changed = data[:offset] + header + data[start:]
    return with_meta(changed, 0, A, bloom_filter_length=length + end - start)


def into_footer(data: bytes) -> bytes:
    header = filter_header(1 << 20)
    changed = with_filter_bytes(data, 0, A, header + b"\x01" * 64)
    return with_meta(changed, 0, A, bloom_filter_length=len(header) + (1 << 20))


def in_pages(data: bytes) -> bytes:
    place = {"bloom_filter_length": len(LIKE_A_FILTER)}
    return with_meta(data, 0, A, bloom_filter_offset=data.index(LIKE_A_FILTER), **place)


def in_a_page_index(data: bytes) -> bytes:
    """Where the least value of a page is."""
    place = data.rindex(LIKE_A_FILTER, 0, footer_start(data))
    length = len(LIKE_A_FILTER)
    return with_meta(data, 0, A, bloom_filter_offset=place, bloom_filter_length=length)


def stored_values(path: Path, row_group: int) -> list[int]:
    return pq.ParquetFile(path).read_row_group(row_group, columns=["a"])["a"].to_pylist()


UNKNOWN_ALGORITHM = ttypes.BloomFilterAlgorithm()
UNKNOWN_HASH = ttypes.BloomFilterHash()
UNKNOWN_COMPRESSION = ttypes.BloomFilterCompression()
EMPTY_UNIONS = {
    "algorithm": UNKNOWN_ALGORITHM,
    "hash": UNKNOWN_HASH,
    "compression": UNKNOWN_COMPRESSION,
}

A_DROPPED = [(0, "a", "pointer dropped")]
A_LENGTH = [(0, "a", "length set")]

# What is repaired without a look at the values: the rule, how the file is made, what is done.
REPAIRS: list[tuple[str, Callable[[bytes], bytes], list[tuple[int, str, str]]]] = [
    ("PB101", lambda data: with_offset(data, 0), A_DROPPED),
    ("PB101", lambda data: with_offset(data, 3), A_DROPPED),
    ("PB101", lambda data: with_offset(data, -1), A_DROPPED),
    ("PB101", lambda data: with_offset(data, footer_start(data)), A_DROPPED),
    ("PB101", lambda data: with_offset(data, 1 << 60), A_DROPPED),
    ("PB102", lambda data: with_filter_bytes(data, 0, A, b"\xff" * 80), A_DROPPED),
    ("PB102", lambda data: with_filter_bytes(data, 0, A, bytes(80)), A_DROPPED),
    ("PB103", in_pages, A_DROPPED),
    ("PB104", in_a_page_index, A_DROPPED),
    ("PB105", into_footer, A_DROPPED),
    ("PB106", overlapping, A_DROPPED),
    (
        "PB107",
        lambda data: with_place_of(data, (1, A), 0),
        [(0, "a", "pointer dropped"), (1, "a", "pointer dropped")],
    ),
    ("PB108", lambda data: with_unions(data, algorithm=UNKNOWN_ALGORITHM), A_DROPPED),
    ("PB109", lambda data: with_unions(data, hash=UNKNOWN_HASH), A_DROPPED),
    ("PB204", lambda data: with_unions(data, compression=UNKNOWN_COMPRESSION), A_DROPPED),
    ("PB214", lambda data: with_unions(data, **EMPTY_UNIONS), A_DROPPED),
    *(
        ("PB110", lambda data, size=size: with_filter_bytes(data, 0, A, filter_header(size) + bytes(64)), A_DROPPED)
        for size in (0, -32, 33, 8)
    ),
    (
        "PB111",
        without_lengths,
        [(group, column, "length set") for group in range(GROUPS) for column in "as"],
    ),
    ("PB112", lambda data: with_length(data, -1), A_LENGTH),
    ("PB112", lambda data: with_length(data, -10_000), A_LENGTH),
    ("PB113", lambda data: with_length(data, 1), A_LENGTH),
    ("PB113", lambda data: with_length(data, 1 << 30), A_LENGTH),
    # More blocks, where the next filter is, or the footer: so the header is right.
    ("PB113", lambda data: with_length(data, 64), A_LENGTH),
    ("PB113", lambda data: with_length(data, 64, 1, S), [(1, "s", "length set")]),
    ("PB114", lambda data: with_offset(data, None), [(0, "a", "length removed")]),
    ("PB402", cleared, A_DROPPED),
]  # fmt: skip


def done(report: RepairReport) -> list[tuple[int, str, str]]:
    return [(item.place.part, item.column, item.action) for item in report.repaired]


def rules(report: RepairReport) -> set[str]:
    return {item.rule for item in report.repaired}


def errors(path: Path, deep: bool = True) -> set[str]:
    found = validate(path, deep=deep).findings
    return {finding.rule for finding in found if finding.severity == "error"}


def without_pointers(data: bytes) -> ttypes.FileMetaData:
    """The footer, but for what it says of filters."""
    footer = compact.decode(ttypes.FileMetaData, data[footer_start(data) : -8])[0]
    for row_group in footer.row_groups:
        for chunk in row_group.columns:
            chunk.meta_data.bloom_filter_offset = chunk.meta_data.bloom_filter_length = None
    return footer
