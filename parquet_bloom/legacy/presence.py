"""Whether column chunks have legacy filters at all, without importing what reads them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from typing import Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn

# The key of our note in the key-value metadata of a ColumnMetaData.
NOTE_KEY: Final = "pbloom.murmur3"

# Fields of a ColumnMetaData.
KEY_VALUE_METADATA: Final = 8
STATISTICS: Final = 12

# Fields of Statistics where a filter may be, in the order in which they are looked at: ours, and
# historic ones.
PRIVATE_FIELD: Final = 31420
FIELD_IDS: Final = (PRIVATE_FIELD, 7, 5)


def has_notes(footer: Footer) -> bool:
    """Whether the key of a note is anywhere in the footer."""
    return footer.mentions(NOTE_KEY.encode())


def any_private(footer: Footer) -> bool:
    """Whether any chunk at all may have a private filter."""
    return has_notes(footer) or footer.has_struct_in_statistics


def may_have_private(footer: Footer, chunks: Collection[ColumnChunk]) -> bool:
    """Whether one of `chunks` may have a private filter."""
    return any(has_private(footer, chunk) for chunk in chunks)


def has_private(footer: Footer, chunk: ColumnChunk) -> bool:
    """Whether the chunk may have a filter that bloom_filter_offset does not lead to."""
    return has_notes(footer) or (not chunk.has_crypto_metadata and _has_struct(footer, chunk))


def candidates(
    footer: Footer, leaves: Iterable[LeafColumn], modern: Container[ChunkKey] = ()
) -> Iterator[ColumnChunk]:
    """The chunks of `leaves` that may have a legacy filter anywhere. The others are not even
    decoded: a file can have very many. `modern`: chunks whose bloom_filter_offset is known to lead
    to a current filter."""
    noted = has_notes(footer)
    offsets = footer.chunks.every("bloom_filter_offset")
    structs = footer.chunks.every("struct_in_statistics")
    sealed = footer.chunks.every("has_crypto_metadata")
    for row_group in range(footer.num_row_groups):
        for leaf in leaves:
            index = row_group * len(footer.leaves) + leaf.index
            if (
                noted
                or (offsets[index] != _kernel.ABSENT and (row_group, leaf.index) not in modern)
                or (
                    structs[index] != _kernel.ABSENT
                    and not sealed[index]
                    and _has_struct(footer, footer.chunk(row_group, leaf))
                )
            ):
                yield footer.chunk(row_group, leaf)


def private_dialects(footer: Footer, chunk: ColumnChunk) -> tuple[str, ...]:
    """The dialects of the private filters that a chunk seems to have, usable or not."""
    if chunk.meta_start is None or chunk.has_crypto_metadata:
        return ()
    found = {"murmur3": _has_note(footer, chunk), "statistics": _has_struct(footer, chunk)}
    return tuple(dialect for dialect, is_there in found.items() if is_there)


def _has_note(footer: Footer, chunk: ColumnChunk) -> bool:
    pairs = footer.fields(chunk, (KEY_VALUE_METADATA,))[KEY_VALUE_METADATA]
    return pairs is not None and NOTE_KEY.encode() in pairs[1]


def _has_struct(footer: Footer, chunk: ColumnChunk) -> bool:
    """Whether the chunk's Statistics have a struct where a filter may be."""
    if chunk.struct_in_statistics is None:
        return False
    text, start = footer.meta_data(chunk)
    for outer in _kernel.fields(text, start):
        if outer[0] == STATISTICS and outer[1] == compact.TYPE_STRUCT:
            for inner in _kernel.fields(text, outer[3]):
                if inner[1] == compact.TYPE_STRUCT and inner[0] in FIELD_IDS:
                    return True
    return False
