"""Whether column chunks have filters of older dialects at all, for those who do not want to import
what reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.vocabulary import NO_FILTER

# Of our own note in the key-value metadata of a ColumnMetaData.
NOTE_KEY: Final = "pbloom.murmur3"

# Of a ColumnMetaData.
KEY_VALUE_METADATA: Final = 8

# The field of a ColumnMetaData, and those in it where a filter may lie, in the order in which they
# are looked at: ours, and historic ones.
STATISTICS: Final = 12
PRIVATE_FIELD: Final = 31420
FIELD_IDS: Final = (PRIVATE_FIELD, 7, 5)


def has_notes(footer: Footer) -> bool:
    """Whether the footer has the key of a note anywhere."""
    return footer.mentions(NOTE_KEY.encode())


def may_have_hidden(footer: Footer, chunks: Collection[ColumnChunk]) -> bool:
    """Whether one of `chunks` may have a filter to which bloom_filter_offset does not lead."""
    return any(has_private(footer, chunk) for chunk in chunks)


def has_private(footer: Footer, chunk: ColumnChunk) -> bool:
    """The same of one chunk."""
    return has_notes(footer) or (not chunk.has_crypto_metadata and _has_struct(footer, chunk))


def suspects(footer: Footer, leaves: Iterable[LeafColumn]) -> Iterator[ColumnChunk]:
    """The chunks of `leaves` that can have a filter of an older dialect, wherever it lies; for files
    of so many chunks that most must not even be decoded."""
    noted = has_notes(footer)
    offsets = footer.chunks.every("bloom_filter_offset")
    starts = footer.chunks.every("meta_start")
    sealed = footer.chunks.every("has_crypto_metadata")
    for row_group in range(footer.num_row_groups):
        for leaf in leaves:
            index = row_group * len(footer.leaves) + leaf.index
            if (
                noted
                or offsets[index] != _kernel.ABSENT
                or (
                    starts[index] != _kernel.ABSENT
                    and not sealed[index]
                    and _is_struct_in_statistics(footer.raw, starts[index])
                )
            ):
                yield footer.chunk(row_group, leaf)


def hidden_dialects(footer: Footer, chunk: ColumnChunk) -> tuple[str, ...]:
    """The dialects of filters that one chunk seems to have, and to which bloom_filter_offset does
    not lead; whether they can be used is not looked at."""
    if chunk.meta_start is None or chunk.has_crypto_metadata:
        return ()
    found = {"murmur3": _has_note(footer, chunk), "statistics": _has_struct(footer, chunk)}
    return tuple(dialect for dialect, is_there in found.items() if is_there)


def reason_for_none(footer: Footer, chunk: ColumnChunk) -> str:
    """Why a chunk has no filter of today, with the dialects that may be asked for instead."""
    dialects = hidden_dialects(footer, chunk)
    if not dialects:
        return NO_FILTER
    return f"{NO_FILTER}; there is one of the dialect {' and of '.join(dialects)}"


def _has_note(footer: Footer, chunk: ColumnChunk) -> bool:
    pairs = footer.fields(chunk, (KEY_VALUE_METADATA,))[KEY_VALUE_METADATA]
    return pairs is not None and NOTE_KEY.encode() in pairs[1]


def _has_struct(footer: Footer, chunk: ColumnChunk) -> bool:
    if chunk.meta_start is None:
        return False
    text, start = footer.meta_data(chunk)
    return _is_struct_in_statistics(text, start)


def _is_struct_in_statistics(text: bytes, start: int) -> bool:
    """Of the ColumnMetaData at `start`."""
    for outer in _kernel.fields(text, start):
        if outer[0] == STATISTICS and outer[1] == compact.TYPE_STRUCT:
            for inner in _kernel.fields(text, outer[3]):
                if inner[1] == compact.TYPE_STRUCT and inner[0] in FIELD_IDS:
                    return True
    return False
