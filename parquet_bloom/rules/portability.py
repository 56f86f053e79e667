"""PB2xx: whether every reader takes the filter, or some are known to stumble over it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES, MIN_BYTES
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.membership import Membership
from parquet_bloom.rules.catalogue import Finding, finding
from parquet_bloom.rules.known_writers import troubles
from parquet_bloom.rules.view import FilterView, chunk_finding

# With this key DuckDB (2.0) looks for a normalized form of each INTERVAL.
DUCKDB_INTERVALS = "duckdb.interval_bloom_filter"

# What a look-up of every value tells better than any list of writers.
LOST_VALUES = ("PB401", "PB402")


def check_writer(created_by: str, chunks: Sequence[tuple[ColumnChunk, bool]]) -> Iterator[Finding]:
    """What is known of filters by this writer; `chunks`: those that have one, and whether all their
    values were found, which clears the writer of having lost them."""
    for trouble in troubles(created_by):
        concerned = sum(
            trouble.concerns(chunk) and not (is_right and trouble.proof in LOST_VALUES)
            for chunk, is_right in chunks
        )
        if concerned:
            yield finding(
                "PB205", f"{concerned} filters may be wrong: {trouble.condition}. Concerns"
                f" {trouble.readers}: {trouble.consequence} ({trouble.link})",
                found=created_by,
            )  # fmt: skip


def check_order(stored: Sequence[tuple[ColumnChunk, bloom.StoredFilter]]) -> Iterator[Finding]:
    """`stored`: the filters of a file, by row group and column."""
    for (_, before), (chunk, found) in itertools.pairwise(stored):
        if found.offset < before.offset:
            yield finding(
                "PB206", "filters do not follow the order of row groups and columns: readers that"
                " fetch those of a row group together need more requests",
                row_group=chunk.row_group, column=chunk.leaf.name,
                expected=f"behind {before.offset}", found=found.offset,
            )  # fmt: skip
            return


def check_header(chunk: ColumnChunk, stored: bloom.StoredFilter) -> Iterator[Finding]:
    """What the header says, for readers that are stricter than the format."""
    if stored.compression != bloom.UNCOMPRESSED:
        yield chunk_finding(
            "PB204", chunk, "the header says that the bitset is compressed, which the format does"
            " not define: other readers ignore the filter or fail",
            expected=bloom.UNCOMPRESSED, found=stored.compression,
        )  # fmt: skip
    if stored.num_bytes > MAX_BYTES:
        yield chunk_finding(
            "PB203", chunk, "Arrow C++, parquet-java and Trino refuse a bitset of this size",
            expected=f"at most {MAX_BYTES} bytes", found=stored.num_bytes,
        )  # fmt: skip
    elif stored.num_bytes == BLOCK_BYTES:
        yield chunk_finding(
            "PB202", chunk, "Impala looks up the wrong block of a filter this small",
            expected=f"{MIN_BYTES} bytes or more", found=stored.num_bytes,
        )  # fmt: skip
    if stored.num_blocks > 0 and stored.num_blocks & (stored.num_blocks - 1):
        yield chunk_finding(
            "PB201", chunk, "Arrow C++ refuses a number of blocks that is not a power of two, and"
            " Impala looks up the wrong ones",
            expected="a power of two", found=f"{stored.num_blocks} blocks",
        )  # fmt: skip


def check_type(chunk: ColumnChunk) -> Iterator[Finding]:
    """Types whose values writers and readers hash differently."""
    leaf = chunk.leaf.type
    if leaf.physical == "BOOLEAN":
        yield chunk_finding(
            "PB207", chunk, "the format does not say which bytes of a BOOLEAN are hashed, and"
            " writers differ"
        )  # fmt: skip
    if leaf.physical == "BYTE_ARRAY" and leaf.logical_name == "DECIMAL":
        yield chunk_finding(
            "PB208", chunk, "a DECIMAL in a BYTE_ARRAY is hashed at the length that its writer"
            " chose, which readers must guess"
        )  # fmt: skip


def check_forms(view: FilterView, membership: Membership) -> Iterator[Finding]:
    """Forms of the values that readers look for."""
    if membership.missing_form_bits == 0:
        return
    if view.chunk.leaf.type.logical_name == "FLOAT16":
        yield view.finding(
            "PB209", "DuckDB looks for FLOAT16 values as FLOAT, and loses rows where a filter has"
            " them in two bytes only"
        )  # fmt: skip
    elif DUCKDB_INTERVALS in view.file.footer.keys:
        yield view.finding(
            "PB210", f"with the key {DUCKDB_INTERVALS} DuckDB looks for 60 days as 2 months, and"
            " loses rows where a filter has them as they are stored only"
        )  # fmt: skip
