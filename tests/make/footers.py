"""Footers of Parquet files, changed: every number in one can be a lie.

file     | PAR1 | pages | filters | FileMetaData | length | PAR1 |
"""

from collections.abc import Callable, Sequence
from typing import Any

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

MAGIC = b"PAR1"


def with_footer(data: bytes, footer: ttypes.FileMetaData | bytes) -> bytes:
    raw = footer if isinstance(footer, bytes) else compact.encode(footer)
    return data + raw + len(raw).to_bytes(4, "little") + MAGIC


def footer_start(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def footer_of(data: bytes) -> ttypes.FileMetaData:
    return compact.decode(ttypes.FileMetaData, data[footer_start(data) : -8])[0]


def edited(data: bytes, edit: Callable[[ttypes.FileMetaData], None]) -> bytes:
    """The same file after `edit` has changed its footer; what stands behind that, such as a
    signature, stays."""
    start = footer_start(data)
    footer, end = compact.decode(ttypes.FileMetaData, data[start:-8])
    behind = data[start:-8][end:]
    edit(footer)
    return with_footer(data[:start], compact.encode(footer) + behind)


def meta_of(footer: ttypes.FileMetaData, row_group: int, column: int) -> ttypes.ColumnMetaData:
    return footer.row_groups[row_group].columns[column].meta_data


def with_meta(data: bytes, row_group: int, column: int, **fields: Any) -> bytes:
    """The same file with other numbers in one ColumnMetaData."""

    def edit(footer: ttypes.FileMetaData) -> None:
        for name, value in fields.items():
            setattr(meta_of(footer, row_group, column), name, value)

    return edited(data, edit)


def with_created_by(data: bytes, created_by: str) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        footer.created_by = created_by

    return edited(data, edit)


def with_key(data: bytes, key: str, value: str) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        pairs = footer.key_value_metadata or []
        footer.key_value_metadata = [*pairs, ttypes.KeyValue(key=key, value=value)]

    return edited(data, edit)


# ------------------------------------------------------------------------------------------------
# Where filters are


def pointer(data: bytes, row_group: int = 0, column: int = 0) -> tuple[int, int]:
    """bloom_filter_offset and bloom_filter_length of one chunk."""
    meta = meta_of(footer_of(data), row_group, column)
    return meta.bloom_filter_offset, meta.bloom_filter_length


def with_pointer(
    data: bytes, offset: int | None, length: int | None, row_group: int = 0, column: int = 0
) -> bytes:
    """The same file with another place for the filter of one chunk."""
    place = {"bloom_filter_offset": offset, "bloom_filter_length": length}
    return with_meta(data, row_group, column, **place)


def without_lengths(data: bytes) -> bytes:
    """The same file without any bloom_filter_length, and otherwise the same bytes."""
    start = footer_start(data)
    raw = data[start:-8]
    footer = footer_of(data)
    for row_group in footer.row_groups:
        for chunk in row_group.columns:
            if chunk.meta_data.bloom_filter_length is not None:
                with_length = compact.encode(chunk.meta_data)
                chunk.meta_data.bloom_filter_length = None
                assert raw.count(with_length) == 1
                raw = raw.replace(with_length, compact.encode(chunk.meta_data))
    return with_footer(data[:start], raw)


def with_meta_field(data: bytes, number: int, value: tuple[int, bytes] | None) -> bytes:
    """The same file with one field of the first ColumnMetaData: its type and its bytes; None: without it."""
    return with_field(data, (4, 0, 1, 0, 3), number, value)


def with_field(
    data: bytes, path: Sequence[int], number: int, value: tuple[int, bytes] | None
) -> bytes:
    """The same file with another field in a struct of its footer, or without it. `path`: the way there, by turns
    the id of a field and, if that is a list, the index of an item."""
    start = footer_start(data)
    raw = data[start:-8]
    at, steps = 0, iter(path)
    for step in steps:
        _, wire, _, at, _ = next(field for field in _kernel.fields(raw, at) if field[0] == step)
        if wire == compact.TYPE_LIST:
            at = _kernel.elements(raw, at)[next(steps)]
    new = compact.splice(raw, at, {number: value})
    return with_footer(data[:start], raw[:at] + new + raw[_kernel.struct_end(raw, at) :])


def with_index_past_the_end(data: bytes) -> bytes:
    """The same file with a column index of the first chunk that ends with the file."""
    start = footer_start(data)

    def edit(footer: ttypes.FileMetaData) -> None:
        chunk = footer.row_groups[0].columns[0]
        chunk.column_index_offset, chunk.column_index_length = start - 4, 40

    return edited(data, edit)


def with_extension(data: bytes, field: int = 32767) -> bytes:
    """The same file with four bytes of another format in its footer."""
    start = footer_start(data)
    if field < 0:
        # Behind all others, as by those who write 08 FF FF 01.
        field_bytes = bytes([compact.TYPE_BINARY]) + compact.zigzag(field) + b"\4abcd\0"
        return with_footer(data[:start], data[start : -len(MAGIC) - 5] + field_bytes)
    extension = {field: (compact.TYPE_BINARY, b"\4abcd")}
    return with_footer(data[:start], compact.splice(data[start:-8], 0, extension))


def with_file_type(data: bytes) -> bytes:
    """The same file with a root of the logical type FILE."""

    def edit(footer: ttypes.FileMetaData) -> None:
        footer.schema[0].logicalType = ttypes.LogicalType(FILE=ttypes.FileType())

    return edited(data, edit)
