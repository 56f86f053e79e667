"""PB5xx: whether a filter, or the footer, gives away what encryption hides; whether it opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parquet_bloom.errors import TamperedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.rules.catalogue import Finding, finding
from parquet_bloom.rules.view import chunk_finding, without_place

# Fields of a ColumnMetaData that tell of values; readers without the key need none of them.
_STATISTICS = 12
_BLOOM_FILTER_OFFSET = 14
_TELLING = {13: "encoding_stats", 16: "size_statistics", 17: "geospatial_statistics"}

# parquet-go numbers the modules of filters like those of page indexes.
_OF_PARQUET_GO = "column index"


def check_plaintext(chunk: ColumnChunk, stored: bloom.StoredFilter) -> Iterator[Finding]:
    """A header that can be read without a key is that of a filter that anybody can ask."""
    if bloom.is_leaked(chunk, stored):
        yield chunk_finding(
            "PB501", chunk, "the column is encrypted and its filter is not: whoever has the file"
            " can try values", expected="an encrypted header", found=f"one at {stored.offset}",
        )  # fmt: skip


def does_not_open(file: ParquetFile, chunk: ColumnChunk, error: TamperedError) -> Finding:
    """A filter whose header or bitset is not what its key has sealed."""
    offset = chunk.bloom_filter_offset or 0
    found = chunk.modules.another_module(file.source, offset, file.footer.start)
    if found == _OF_PARQUET_GO:
        return chunk_finding(
            "PB505", chunk, "the header is encrypted as if it were a column index, which is how"
            " parquet-go does it: no other reader opens it", expected="a filter header",
            found=found,
        )  # fmt: skip
    return chunk_finding("PB502", chunk, without_place(error, file, chunk), found=found)


def check_signature(file: ParquetFile) -> Iterator[Finding]:
    """Without the key a reader believes a footer that anybody may have changed."""
    reason = file.footer.protection.unverified
    if reason and file.footer.is_signed:
        yield finding(
            "PB506", f"the footer is signed, and its signature was not verified: {reason}"
        )
    elif reason:
        yield finding("PB508", reason)


def check_plain_columns(file: ParquetFile, leaves: Sequence[LeafColumn]) -> Iterator[Finding]:
    """Columns that a footer, which anybody may have changed, shows as not encrypted."""
    encrypted = file.footer.chunks.every("has_crypto_metadata")
    width = len(file.footer.leaves)
    for leaf in leaves:
        doubt = file.footer.protection.doubt(leaf.path)
        if doubt and not all(encrypted[leaf.index :: width]):
            yield finding("PB508", doubt, column=leaf.name)


def check_locked(file: ParquetFile, leaves: Sequence[LeafColumn]) -> Iterator[Finding]:
    """Columns without a key, of whose filters nothing is known, not even whether there are any."""
    encrypted = file.footer.chunks.every("has_crypto_metadata")
    offsets = file.footer.chunks.every("bloom_filter_offset")
    width = len(file.footer.leaves)
    for leaf in leaves:
        hidden = [
            row_group
            for row_group in range(file.num_row_groups)
            if encrypted[row_group * width + leaf.index]
            and offsets[row_group * width + leaf.index] == _kernel.ABSENT
            and file.footer.chunk(row_group, leaf).is_locked
        ]
        if hidden:
            yield finding(
                "PB408", f"{NO_KEY}: whether there are filters, and right ones, is not known of"
                f" {len(hidden)} row groups", column=leaf.name,
            )  # fmt: skip


def check_copies(file: ParquetFile, leaves: Sequence[LeafColumn]) -> Iterator[Finding]:
    """What the footer shows of encrypted columns to those who have not their keys."""
    if not file.footer.protection.is_encrypted:
        return
    encrypted = file.footer.chunks.every("has_crypto_metadata")
    width = len(file.footer.leaves)
    for leaf in leaves:
        shown = [
            file.footer.shown_fields(row_group, leaf.index)
            for row_group in range(file.num_row_groups)
            if encrypted[row_group * width + leaf.index]
        ]
        yield from _check_shown(leaf.name, shown)


def _check_shown(column: str, shown: Sequence[frozenset[int]]) -> Iterator[Finding]:
    showing = sum(_STATISTICS in fields for fields in shown)
    if showing:
        yield finding(
            "PB503", "the column is encrypted, and the footer shows its statistics, such as its"
            f" least and greatest value, in {showing} row groups", column=column,
            expected="no statistics", found=f"{showing} times",
        )  # fmt: skip
    located = sum(_BLOOM_FILTER_OFFSET in fields for fields in shown)
    if located:
        yield finding(
            "PB507", "the column is encrypted, and the footer shows where its filters lie, and so"
            " how large they are", column=column, found=f"{located} times",
        )  # fmt: skip
    telling = [name for number, name in _TELLING.items() if any(number in each for each in shown)]
    if telling:
        yield finding(
            "PB504", f"the column is encrypted, and the footer shows its {', '.join(telling)}",
            column=column, found=", ".join(telling),
        )  # fmt: skip
