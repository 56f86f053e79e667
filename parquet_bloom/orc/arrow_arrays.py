"""Whole columns of a stripe as arrays of Arrow, with all that is nested in them,
as pyarrow reads them from intact files.

Of a damaged file pyarrow's own reader can end the process, so what is decoded here is what `values` decodes. The
values of a column without nulls come first, and are spread over those that are null:

    STRUCT      a value of each child for each struct that is not null
    LIST, MAP   as many as the LENGTH of each says
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, Values
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import MOST_DIGITS
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.streams import MOST_VALUES, PRESENT, ChunkStreams
from parquet_bloom.orc.stripe import Stripe
from parquet_bloom.orc.values import decoder
from parquet_bloom.parallel import check_fits

# Makes what was decoded an array.
Made: TypeAlias = Callable[[], pa.Array]

_SIMPLE: Final = {
    "BOOLEAN": pa.bool_(),
    "BYTE": pa.int8(),
    "SHORT": pa.int16(),
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("ns"),
    "TIMESTAMP_INSTANT": pa.timestamp("ns", "UTC"),
}
# What Python and Arrow take for one without fields, about.
_STRUCT_BYTES: Final = 16
_NANOS: Final = 1_000_000_000
# Of seconds, so that nanoseconds have 63 bits.
_MOST_SECONDS: Final = (1 << 63) // _NANOS - 1
# Deeper ones Python cannot follow.
_MOST_DEEP: Final = 64


def type_of(columns: Sequence[OrcColumn], column: OrcColumn, depth: int = 0) -> pa.DataType:
    """The type of a column. Raises UnsupportedError for one that is not read."""
    if column.kind in _SIMPLE:
        return _SIMPLE[column.kind]
    if depth == _MOST_DEEP:
        raise UnsupportedError(
            f"column {column.name}: nested too deep, expected {_MOST_DEEP} or less"
        )
    children = [columns[child] for child in column.children]
    match column.kind:
        case "DECIMAL" if 0 < column.precision <= MOST_DIGITS and 0 <= column.scale <= MOST_DIGITS:
            return pa.decimal128(column.precision, column.scale)
        case "LIST":
            return pa.list_(type_of(columns, children[0], depth + 1))
        case "MAP":
            return pa.map_(*(type_of(columns, child, depth + 1) for child in children))
        case "STRUCT":
            # Their names are dotted paths.
            start = len(column.name) + 1
            return pa.struct(
                [(each.name[start:], type_of(columns, each, depth + 1)) for each in children]
            )
    raise UnsupportedError(f"column {column.name}: {column.type}: rows are not read")


class ArrowColumn:
    """Reads a column of a stripe from its start to its end."""

    def __init__(self, file: OrcReader, stripe: Stripe, column: OrcColumn) -> None:
        """Raises UnsupportedError for types that are not read, FormatError for damage."""
        columns = file.tail.columns
        self._type = type_of(columns, column)
        self._kind = column.kind
        streams = ChunkStreams(file, stripe, column, f"{stripe.where}, column {column.name}")
        self._where = streams.where
        self._present = streams.booleans(PRESENT) if streams.has(PRESENT) else None
        self._children = [ArrowColumn(file, stripe, columns[child]) for child in column.children]
        if self._kind in ("LIST", "MAP"):
            self._lengths = streams.lengths()
        elif self._kind != "STRUCT":
            self._decode = decoder(streams)

    def take(self, count: int) -> Made:
        """The next `count` values, nulls included. Raises FormatError, UnsupportedError."""
        if self._present is None:
            return self._taken(count)
        bits, num_set = self._present.take(count)
        made = self._taken(num_set)
        return lambda: _spread(made(), np.asarray(bits, np.bool_))

    def _taken(self, count: int) -> Made:
        """The same of those that are not null."""
        if self._kind == "STRUCT":
            if not self._children:
                check_fits(f"{self._where}: {count} values take", _STRUCT_BYTES * count)
            of_each = [child.take(count) for child in self._children]
            return lambda: _structs(self._type, [made() for made in of_each], count)
        if self._kind in ("LIST", "MAP"):
            starts = self._lengths.take_starts(count, MOST_VALUES)
            below = [child.take(starts[-1]) for child in self._children]
            return lambda: _lists(self._type, starts, [made() for made in below])
        decoded = self._decode(count)
        return lambda: self._array(decoded.values())

    def _array(self, values: Values) -> pa.Array:
        match values:
            case Texts(data, starts):
                buffers = [np.asarray(starts).astype(np.int32), data]
            case Decimals(held):
                buffers = [held]
            case Times():
                if len(values) and np.abs(values.seconds).max() > _MOST_SECONDS:
                    what = "a time beyond 64 bits of nanoseconds: rows are not read"
                    raise UnsupportedError(f"{self._where}: {what}")
                buffers = [values.seconds * _NANOS + values.nanos]
            case Numbers() if self._kind == "BOOLEAN":
                return pa.array(values.numbers.astype(np.bool_))
            case Numbers():
                width = self._type.bit_width // 8
                is_float = pa.types.is_floating(self._type)
                buffers = [values.numbers.astype(f"{'f' if is_float else 'i'}{width}")]
        return pa.Array.from_buffers(
            self._type, len(values), [None, *(pa.py_buffer(each) for each in buffers)]
        )


def _spread(values: pa.Array, is_there: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Array:
    """Values, and nulls between them."""
    if is_there.all():
        return values
    return values.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))


def _structs(kind: pa.DataType, children: Sequence[pa.Array], count: int) -> pa.Array:
    if not children:
        return pa.array([{}] * count, kind)
    return pa.StructArray.from_arrays(children, fields=list(kind))


def _lists(kind: pa.DataType, starts: memoryview, children: Sequence[pa.Array]) -> pa.Array:
    offsets = pa.array(np.asarray(starts).astype(np.int32))
    of_lists = pa.MapArray if pa.types.is_map(kind) else pa.ListArray
    return of_lists.from_arrays(offsets, *children)
