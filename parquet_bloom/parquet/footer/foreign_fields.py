"""Fields of a footer in which another writer keeps something of its own, where an edit needs the place
or would contradict it.

    FileMetaData      32767, -16384   an extension, such as a second footer in FlatBuffers
    ColumnMetaData    14, 15          lists in files by Dremio, which had them long before the format gave
                                      these ids to bloom_filter_offset and bloom_filter_length

A list in field 15 stays where it is, as readers can do without a length. The others stand in the way.

Spec: parquet-format, BinaryProtocolExtensions.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import (
    BLOOM_FILTER_LENGTH,
    BLOOM_FILTER_OFFSET,
    Footer,
)

REMEDY = "`build --drop-foreign-fields` drops it"

# What the specification means, and the id that the bytes have which it prints for it, 08 FF FF 01.
EXTENSIONS = (32767, -16384)

_INTEGERS = (compact.TYPE_I16, compact.TYPE_I32, compact.TYPE_I64)


def chunks_with_foreign_pointer(footer: Footer) -> Iterator[ColumnChunk]:
    """The chunks in whose field 14 or 15 there is no integer."""
    for index, field in enumerate(footer.chunks.every("foreign_pointer")):
        if field != _kernel.ABSENT:
            row_group, column = divmod(index, len(footer.leaves))
            yield footer.chunk(row_group, footer.leaves[column])


def foreign_pointer(footer: Footer, chunk: ColumnChunk) -> str:
    """What is in the way of a filter's pointer: `field 15, bloom_filter_length: …`."""
    number = chunk.foreign_pointer
    assert number is not None
    field = footer.fields(chunk, [number])[number]
    found = "" if field is None else compact.TYPE_NAMES[field[0]]
    name = "bloom_filter_offset" if number == BLOOM_FILTER_OFFSET else "bloom_filter_length"
    return f"ColumnMetaData field {number}, {name}: expected an integer, found {found}"


def check_pointers(footer: Footer, chunks: Iterable[ColumnChunk]) -> None:
    """Raise UnsupportedError if there is no place for the offset of a filter in one of these chunks."""
    for chunk in chunks:
        if chunk.foreign_pointer == BLOOM_FILTER_OFFSET:
            raise UnsupportedError(
                f"{footer.where}: {chunk.where}: {foreign_pointer(footer, chunk)}, which would be"
                f" lost: {REMEDY}"
            )


def extension(footer: Footer) -> int | None:
    """The id of the field with bytes of another format that are attached to the FileMetaData; None if
    there are none."""
    there = {
        number for number, kind, *_ in _kernel.fields(footer.raw) if kind == compact.TYPE_BINARY
    }
    return next((number for number in EXTENSIONS if number in there), None)


def extension_obstacle(footer: Footer) -> str:
    """Why a footer with an extension is not edited; empty if it has none."""
    number = extension(footer)
    if number is None:
        return ""
    return (
        f"footer: field {number} is an extension, such as a second footer in FlatBuffers,"
        f" which an edited footer would contradict: {REMEDY}"
    )


def obstacles(footer: Footer) -> Iterator[str]:
    """What `build` refuses the file or some of its columns for."""
    if problem := extension_obstacle(footer):
        yield problem
    columns: dict[str, str] = {}
    for chunk in chunks_with_foreign_pointer(footer):
        if chunk.foreign_pointer == BLOOM_FILTER_OFFSET:
            columns.setdefault(chunk.leaf.name, foreign_pointer(footer, chunk))
    for name, problem in columns.items():
        yield f"column {name}: {problem}: {REMEDY}"


def without_foreign_fields(footer: Footer) -> Footer:
    """The footer without them, except in ColumnMetaData that is sealed; itself if it has none."""
    raw = _without_foreign_pointers(footer)
    if extension(footer) is not None:
        raw = compact.splice(raw, 0, dict.fromkeys(EXTENSIONS))
    if raw == footer.raw:
        return footer
    new = Footer(raw, footer.start, footer.where, footer.protection)
    new.checksums = footer.checksums
    # As the table calls them that the file is opened for.
    vars(new)["leaves"] = footer.leaves
    return new


def _without_foreign_pointers(footer: Footer) -> bytes:
    pieces, done = [], 0
    for chunk in chunks_with_foreign_pointer(footer):
        if footer.is_opened(chunk):
            continue
        start, end = chunk.meta_start or 0, chunk.meta_end or 0
        dropped = {
            number: None
            for number, kind, *_ in _kernel.fields(footer.raw, start)
            if number in (BLOOM_FILTER_OFFSET, BLOOM_FILTER_LENGTH) and kind not in _INTEGERS
        }
        pieces += [footer.raw[done:start], compact.splice(footer.raw, start, dropped)]
        done = end
    return b"".join([*pieces, footer.raw[done:]])
