"""PB1xx: whether there is a filter where the footer says, and in a place of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from parquet_bloom.errors import FilterError, FooterError, MissingKeyError, TamperedError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.rules.catalogue import Finding, finding
from parquet_bloom.rules.security import does_not_open
from parquet_bloom.rules.view import chunk_finding, not_checked, without_place


def check_footer(file: ParquetFile, leaves: Sequence[LeafColumn]) -> Iterator[Finding]:
    """What the footer says of rows and places as a whole, and of filters of `leaves`."""
    try:
        file.footer.check_row_counts()
    except FooterError as error:
        yield finding("PB115", without_place(error, file))
    if file.footer.layout.pages_reach_past_the_end:
        yield finding(
            "PB115", f"pages reach past {file.footer.start}, where the data ends: every place"
            " behind them is doubtful",
        )  # fmt: skip
    if file.footer.repeated_ordinals and any(file.footer.chunks.every("has_crypto_metadata")):
        groups = ", ".join(map(str, sorted(file.footer.repeated_ordinals)))
        yield finding(
            "PB115", f"row groups {groups} have ordinals that others have, too: who can write the"
            " file can exchange what is encrypted in them, filters as well",
        )  # fmt: skip
    yield from _lengths_without_offset(file, {leaf.index for leaf in leaves})


def _lengths_without_offset(file: ParquetFile, leaves: Collection[int]) -> Iterator[Finding]:
    """`leaves`: the indices of those that count."""
    chunks = file.footer.chunks
    pairs = zip(
        chunks.every("bloom_filter_offset"), chunks.every("bloom_filter_length"), strict=True
    )
    for index, (offset, length) in enumerate(pairs):
        if offset == _kernel.ABSENT and length != _kernel.ABSENT:
            row_group, column = divmod(index, len(file.footer.leaves))
            if column in leaves:
                name = file.footer.leaves[column].name
                message = "there is a bloom_filter_length but no bloom_filter_offset"
                yield finding("PB114", message, row_group=row_group, column=name, found=length)


def read_header(
    file: ParquetFile, chunk: ColumnChunk
) -> tuple[bloom.StoredFilter | None, list[Finding]]:
    """The header that the chunk points to; None, and why, if there is none."""
    offset = chunk.bloom_filter_offset
    if offset is None:
        return None, []
    if not MAGIC_BYTES <= offset < file.footer.start:
        expected = f"{MAGIC_BYTES} to {file.footer.start - 1}"
        message = "bloom_filter_offset leads to no byte of the data"
        return None, [chunk_finding("PB101", chunk, message, expected=expected, found=offset)]
    try:
        return bloom.read_header(file.source, file.footer, chunk), []
    except FilterError as error:
        return None, [chunk_finding("PB102", chunk, without_place(error, file, chunk))]
    except TamperedError as error:
        return None, [does_not_open(file, chunk, error)]
    except MissingKeyError:
        return None, [not_checked(chunk, NO_KEY)]


def is_readable(file: ParquetFile, stored: bloom.StoredFilter) -> bool:
    """Whether the bits can be looked at, whatever else is wrong."""
    return (
        (stored.algorithm, stored.hash, stored.compression)
        == (bloom.SPLIT_BLOCK, bloom.XXHASH, bloom.UNCOMPRESSED)
        and stored.num_bytes > 0
        and stored.num_bytes % BLOCK_BYTES == 0
        and stored.end <= file.footer.start
    )


def check_header(
    file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Iterator[Finding]:
    """What the header says, beside what the footer does."""
    if stored.algorithm != bloom.SPLIT_BLOCK:
        yield chunk_finding(
            "PB108", chunk, "the header's algorithm is not the one that the format defines",
            expected=bloom.SPLIT_BLOCK, found=stored.algorithm,
        )  # fmt: skip
    if stored.hash != bloom.XXHASH:
        yield chunk_finding(
            "PB109", chunk, "the header's hash is not the one that the format defines",
            expected=bloom.XXHASH, found=stored.hash,
        )  # fmt: skip
    if stored.num_bytes <= 0 or stored.num_bytes % BLOCK_BYTES:
        yield chunk_finding(
            "PB110", chunk, "the size of the bitset is not that of whole blocks",
            expected=f"a positive multiple of {BLOCK_BYTES} bytes", found=stored.num_bytes,
        )  # fmt: skip
        return
    yield from _check_length(chunk, stored)
    yield from _check_place(file, chunk, stored)


def _check_length(chunk: ColumnChunk, stored: bloom.StoredFilter) -> Iterator[Finding]:
    length = stored.end - stored.offset
    if stored.length is None:
        yield chunk_finding(
            "PB111", chunk, "bloom_filter_length is missing: parquet-java 1.14.0 to 1.15.2"
            " (Spark 4.0, Iceberg 1.9) loses rows", expected=length,
        )  # fmt: skip
    elif stored.length < length:
        yield chunk_finding(
            "PB112", chunk, "bloom_filter_length cuts the filter off: readers that trust it lose"
            " rows", expected=length, found=stored.length,
        )  # fmt: skip
    elif stored.length > length:
        yield chunk_finding(
            "PB113", chunk, "bloom_filter_length is more than header and bitset take: readers that"
            " trust it look for blocks in other bytes, and lose rows",
            expected=length, found=stored.length,
        )  # fmt: skip


def _check_place(
    file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Iterator[Finding]:
    layout = file.footer.layout
    place = f"bytes {stored.offset} to {stored.end - 1}"
    if stored.end > file.footer.start:
        yield chunk_finding(
            "PB105", chunk, "the filter reaches into the footer",
            expected=f"an end by {file.footer.start}", found=place,
        )  # fmt: skip
    if layout.overlaps_pages(stored.offset, stored.end):
        yield chunk_finding(
            "PB103", chunk, "the filter shares bytes with the pages of a column chunk", found=place
        )
    if layout.overlaps_indexes(stored.offset, stored.end):
        yield chunk_finding(
            "PB104", chunk, "the filter shares bytes with a page index", found=place
        )
    sharing = layout.num_filters_at(stored.offset)
    if sharing > 1:
        yield chunk_finding(
            "PB107", chunk, f"{sharing} column chunks point to this filter", found=stored.offset
        )
    elif layout.overlaps_filters(stored.offset, stored.end):
        yield chunk_finding(
            "PB106", chunk, "the filter shares bytes with the filter of another column chunk",
            found=place,
        )  # fmt: skip
