"""Rows as record batches and as Parquet files, made without pandas.

pyarrow imports pandas as soon as it converts a value of Python itself. Each worker would spend more CPU on
that than on a hundred small files. So the buffers of columns are made here, as Arrow lays them out.

Spec: https://arrow.apache.org/docs/format/Columnar.html
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RowFields = dict[str, Any]

# What a batch may take, in bytes of text: a row group before it is written, or what goes through a pipe.
_HELD: Final = 16 << 20

# What a row takes besides, about.
_ROW: Final = 200

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_TICK: Final = timedelta(microseconds=1)

# What Python calls numbers of these types; its arrays refuse what does not fit, of any version of numpy.
_NUMBERS: Final = {
    pa.int32().id: "i",
    pa.int64().id: "q",
    pa.timestamp("us").id: "q",
    pa.float64().id: "d",
}

# Where a value of a column ends is told in 32 bits.
_MOST_TEXT: Final = (1 << 31) - 1

# What takes the place of a null, but for numbers.
_NOTHING: Final = {pa.string().id: "", pa.binary().id: b"", pa.timestamp("us").id: _EPOCH}


def record_batch(rows: Sequence[RowFields], schema: pa.Schema) -> pa.RecordBatch:
    """Rows of strings, bytes, booleans, numbers and times in microseconds; a field that a row lacks is
    null. Raises OverflowError for integers, or text of a column, that do not fit its type."""
    columns = [_array([row.get(each.name) for row in rows], each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    if None not in values:
        return pa.Array.from_buffers(type, len(values), [None, *_buffers(values, type)])
    if values.count(None) == len(values):
        zeros = pa.py_buffer(bytes(8 * len(values) + 8))
        return pa.Array.from_buffers(type, len(values), [zeros] * type.num_buffers)
    known = [value is not None for value in values]
    nothing = _NOTHING.get(type.id, 0)
    filled = [nothing if value is None else value for value in values]
    return pa.Array.from_buffers(type, len(values), [_bits(known), *_buffers(filled, type)])


def _buffers(values: Sequence[Any], type: pa.DataType) -> list[pa.Buffer]:
    """What is in an array besides the validity."""
    if pa.types.is_string(type):
        text = "".join(values)
        if text.isascii():
            # As most paths are: encoded all at once, not one by one.
            return [_offsets(values), pa.py_buffer(text.encode())]
        return _of_bytes([value.encode() for value in values])
    if pa.types.is_binary(type):
        return _of_bytes(values)
    if pa.types.is_boolean(type):
        return [_bits(values)]
    if pa.types.is_timestamp(type):
        values = [(value - _EPOCH) // _TICK for value in values]
    return [pa.py_buffer(array(_NUMBERS[type.id], values))]


def _of_bytes(values: Sequence[bytes]) -> list[pa.Buffer]:
    return [_offsets(values), pa.py_buffer(b"".join(values))]


def _offsets(values: Sequence[str | bytes]) -> pa.Buffer:
    ends = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
    if len(ends) and ends[-1] > _MOST_TEXT:
        raise OverflowError(f"{ends[-1]:,} bytes in a column: expected at most {_MOST_TEXT:,}")
    return pa.py_buffer(np.concatenate(([0], ends), dtype=np.int32, casting="same_kind"))


def _bits(flags: Sequence[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(flags, bool), bitorder="little"))


def packed(rows: Iterable[RowFields], schema: pa.Schema) -> bytes:
    """Rows as a Parquet file."""
    sink = BytesIO()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for some in held_at_once(rows):
            writer.write_batch(record_batch(some, schema))
    return sink.getvalue()


def held_at_once(rows: Iterable[RowFields], most: int = _HELD // _ROW) -> Iterator[list[RowFields]]:
    """Up to `most` at a time, and fewer of those with long documents, which are not held all at once."""
    some: list[RowFields] = []
    held = 0
    for row in rows:
        some.append(row)
        held += len(row.get("document") or "") + len(row.get("bits") or b"") + _ROW
        if held >= _HELD or len(some) >= most:
            yield some
            some, held = [], 0
    if some:
        yield some


def unpacked(data: bytes, columns: Sequence[str] | None = None) -> list[RowFields]:
    """The rows of a Parquet file."""
    # Not read_table, which imports what it needs for folders of files. A thread of pyarrow may let go of the bytes
    # when Python is about to end already, which aborts the process.
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        found: list[RowFields] = file.read(columns, use_threads=False).to_pylist()
        return found
