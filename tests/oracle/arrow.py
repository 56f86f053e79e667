"""What pyarrow reads in a file: its leaf columns, its rows, and where its filters are."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from oracle.stored import Leaf


def describe(path: Path) -> dict[str, Any]:
    """The description beside a test file."""
    description: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    return description


def leaves_of(path: Path, described: Iterable[dict[str, Any]]) -> dict[str, Leaf]:
    """The leaf columns of a description, with what only the file's schema knows about them."""
    schema = pq.read_metadata(path).schema
    columns = {schema.column(i).path: schema.column(i) for i in range(len(schema))}
    return {
        entry["column"]: Leaf(
            entry["column"],
            entry["physical_type"],
            entry["logical_type"],
            columns[entry["column"]].length,
            columns[entry["column"]].max_repetition_level > 0,
        )
        for entry in described
    }


def bitsets(path: Path) -> dict[tuple[int, str], bytes]:
    """Bitset of every filter, by row group and column, read where the footer points."""
    metadata = pq.read_metadata(path)
    data = path.read_bytes()
    found = {}
    for row_group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            chunk = metadata.row_group(row_group).column(i)
            if chunk.bloom_filter_offset is not None:
                end = chunk.bloom_filter_offset + chunk.bloom_filter_length
                module = data[chunk.bloom_filter_offset : end]
                found[row_group, chunk.path_in_schema] = module[-_num_bytes(module) :]
    return found


def _num_bytes(header: bytes) -> int:
    """BloomFilterHeader.numBytes: field 1, an i32 of Thrift's compact protocol."""
    assert header[0] == 0x15
    zigzag = shift = 0
    for byte in header[1:]:
        zigzag |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return zigzag >> 1


def leaf_array(array: pa.Array | pa.ChunkedArray, path: Sequence[str]) -> pa.Array:
    """The leaf at `path` below `array`, nulls dropped at every step."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    array = array.drop_null()
    kind = array.type
    if pa.types.is_map(kind):
        inner = array.keys if path[1] == "key" else array.items
        return leaf_array(inner, path[2:])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return leaf_array(array.flatten(), _path_below_list(kind.value_type, path))
    if pa.types.is_struct(kind):
        return leaf_array(array.field(path[0]).filter(array.is_valid()), path[1:])
    return array


def _path_below_list(element: pa.DataType, path: Sequence[str]) -> Sequence[str]:
    """In the schema up to two names lie between a list and its elements, in Arrow none."""
    names = [element.field(i).name for i in range(element.num_fields)]
    for skipped in (0, 1):
        if path[skipped : skipped + 1] and path[skipped] in names:
            return path[skipped:]
    return path[2:]


def pyarrow_rows(path: Path) -> list[str]:
    return comparable(pq.read_table(path))


def comparable(table: pa.Table) -> list[str]:
    """One text per row, in order. NaN equals NaN, and the zeros differ."""
    schema = pa.schema([pa.field(field.name, _without_clock(field.type)) for field in table.schema])
    return [repr(row) for row in table.cast(schema).to_pylist()]


def _without_clock(kind: pa.DataType) -> pa.DataType:
    """The type with every time as the integer that it is: Python's have no nanoseconds."""
    if isinstance(kind, pa.BaseExtensionType):
        return _without_clock(kind.storage_type)
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_map(kind):
        return pa.map_(_without_clock(kind.key_type), _without_clock(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_clock(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        made = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return made(kind.value_field.with_type(_without_clock(kind.value_type)))
    return kind
