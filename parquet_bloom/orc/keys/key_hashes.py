"""From a value of an ORC column to the hashes that its filters hold.

| type                       | what is hashed                                                    |
|----------------------------|-------------------------------------------------------------------|
| BYTE SHORT INT LONG, DATE  | the number, as 64 bits                                            |
| FLOAT, DOUBLE              | the bits of the DOUBLE                                            |
| STRING, VARCHAR, BINARY    | the bytes                                                         |
| CHAR(n)                    | the text with blanks behind it, n characters                      |
| DECIMAL                    | its text: no exponent, no zeros behind the last digit             |
| TIMESTAMP*                 | milliseconds, rounded down, see timestamp_keys                    |
| LIST, MAP · UNION          | the number of elements · the tag                                  |

Numbers are hashed as Thomas Wang did, bytes by a Murmur3 of one lane. A value may be looked up in
more forms than it was stored in: both zeros are equal, and NaN has many bits.

Spec: apache/orc-format, specification/ORCv1.md "Bloom Filter Index"; where it and the writers
differ, ORC Java's TreeWriters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrow_numbers import decimals, floats, integers
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.timestamps import (
    DAY,
    Moments,
    instant_moments,
    local_moments,
    wall_clock_moments,
)
from parquet_bloom.orc.stored_values import leaf_type, stored_value
from parquet_bloom.values.encode import Encodings
from parquet_bloom.values.encode import encode as encode_value
from parquet_bloom.values.literals import encode_literal as read_literal

Hashes = NDArray[np.uint64]

# What Double.doubleToLongBits makes of every NaN.
CANONICAL_NAN = 0x7FF8000000000000
SIGN_BIT = np.int64(-(1 << 63))

_NEVER_ABSENT = {
    "BOOLEAN": "BOOLEAN: filters of ORC Java are empty, those of ORC C++ wrong",
    "STRUCT": "STRUCT: filters of it are empty",
    "LIST": "LIST: its filters hold only how many elements there are",
    "MAP": "MAP: its filters hold only how many entries there are",
    "UNION": "UNION: its filters hold only which of the types a value has",
}


# 1582-10-15, in days since 1970. Files may count the days before it by the Julian calendar.
GREGORIAN = -141_427


@dataclass(frozen=True, slots=True)
class KeyHashes:
    """Every hash that a value may be stored as, or the reason why they cannot be listed."""

    hashes: tuple[int, ...]
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class _Hashed:
    """One hash for each value, shape (n,), and others that the values at `positions` have, too."""

    hashes: Hashes
    others: tuple[tuple[NDArray[np.int64], Hashes], ...] = ()


def never_absent(column: OrcColumn) -> str | None:
    """Why no filter of this column can say that a value is absent; None if it can."""
    if column.kind in _NEVER_ABSENT:
        return _NEVER_ABSENT[column.kind]
    return None if column.kind in _HASHED else f"{column.kind}: a type that nobody knows"


def insertion_hashes(column: OrcColumn, values: Any, form: KeyForm) -> Hashes:
    """Every hash that a filter of `values` (an Arrow array) must hold: shape (m,), m >= n non-null
    values.

    More than writers insert where equal values have other bits (zeros, NaN), or where readers read
    another timestamp than was written. Raises UnsupportedError if there are no keys: BOOLEAN,
    STRUCT, a time zone that nobody knows.
    """
    hashed = _hashed(column, values, form)
    others = [np.unique(hashes) for _, hashes in hashed.others]
    return np.concatenate([hashed.hashes, *others]) if others else hashed.hashes


def lookup_hashes(column: OrcColumn, values: Any, form: KeyForm) -> Hashes:
    """The hashes of each value of an Arrow array without nulls: shape (n, forms), dtype uint64.

    A filter holds the value if it has any of them. Raises UnsupportedError as insertion_hashes.
    """
    hashed = _hashed(column, values, form)
    forms = np.repeat(hashed.hashes[:, np.newaxis], 1 + len(hashed.others), axis=1)
    for place, (positions, hashes) in enumerate(hashed.others, 1):
        forms[positions, place] = hashes
    return forms


def encode(column: OrcColumn, value: Any, form: KeyForm) -> KeyHashes:
    """The hashes of a Python or numpy value.

    Takes what values.encode takes. Raises ValueTypeError for what cannot be a value of the column.
    """
    if reason := never_absent(column):
        return KeyHashes((), reason)
    return _key_hashes(column, encode_value(leaf_type(column), value), form)


def encode_literal(
    column: OrcColumn, text: str, form: KeyForm, read_as: str | None = None
) -> KeyHashes:
    """The hashes of a literal; `read_as` is one of literals.TYPES.

    Raises ValueTypeError if the text is no such literal, or the column cannot hold the value.
    """
    if reason := never_absent(column):
        return KeyHashes((), reason)
    encodings = read_literal(leaf_type(column), text, read_as)
    return _key_hashes(column, encodings, form)


def _key_hashes(column: OrcColumn, encodings: Encodings, form: KeyForm) -> KeyHashes:
    if encodings.unknown:
        return KeyHashes((), encodings.unknown)
    hashes: dict[int, None] = {}
    for plain in encodings.plain:
        stored = stored_value(column, plain)
        if _is_before_gregorian(column, stored):
            return KeyHashes((), "dates before 1582-10-15 are stored by one of two calendars")
        try:
            hashes |= dict.fromkeys(lookup_hashes(column, stored, form).ravel().tolist())
        except UnsupportedError as error:
            return KeyHashes((), str(error))
        if column.kind == "CHAR":
            # Engines that keep a CHAR without its blanks, as Trino does, may hash it so.
            hashes |= dict.fromkeys(text_hashes(stored).tolist())
    return KeyHashes(tuple(hashes))


def _is_before_gregorian(column: OrcColumn, stored: Any) -> bool:
    if column.kind == "DATE":
        return bool(stored[0].as_py() < GREGORIAN)
    if column.kind in ("TIMESTAMP", "TIMESTAMP_INSTANT"):
        return bool(instant_moments(stored).millis[0] < GREGORIAN * DAY)
    return False


def _hashed(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    if column.kind not in _HASHED:
        raise UnsupportedError(f"{column.kind}: values have no keys")
    return _HASHED[column.kind](column, values.drop_null(), form)


def _wang(numbers: NDArray[np.int64], form: KeyForm) -> Hashes:
    contiguous = np.ascontiguousarray(numbers, np.int64)
    return (_kernel.wang_logical if form.logical_shifts else _kernel.wang)(contiguous)


def _integers(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _Hashed(_wang(integers(values), form))


def _floats(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    """Java hashes one NaN for all, C++ the bits as they are."""
    numbers = floats(values).astype(np.float64)
    bits = numbers.view(np.int64)
    others = []
    zeros = np.flatnonzero(numbers == 0)
    if zeros.size:
        others.append((zeros, _wang(bits[zeros] ^ SIGN_BIT, form)))
    nans = np.flatnonzero(np.isnan(numbers))
    if nans.size:
        others.append((nans, _wang(bits[nans], form)))
        bits = bits.copy()
        bits[nans] = CANONICAL_NAN
    return _Hashed(_wang(bits, form), tuple(others))


def _texts(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _Hashed(text_hashes(values))


def _blank_padded(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _Hashed(text_hashes(pc.utf8_rpad(values.cast(pa.string()), column.length, " ")))


def _decimals(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _Hashed(_kernel.hive64_decimals(decimals(values), values.type.scale))


def text_hashes(values: Any) -> Hashes:
    """Of each value of an Arrow array of strings or bytes."""
    is_large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    _, offsets, data = values.buffers()
    if offsets is None or not len(values):
        return np.empty(0, np.uint64)
    starts = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    wanted = starts[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return _kernel.hive64_slices(memoryview(data or b"").cast("B"), wanted, 0)


def _timestamps(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    moments = wall_clock_moments if form.utf8 else local_moments
    return _of_moments(moments(values, form.writer_timezone), form)


def _instants(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _of_moments(instant_moments(values), form)


def _of_moments(moments: Moments, form: KeyForm) -> _Hashed:
    others = tuple((positions, _wang(millis, form)) for positions, millis in moments.others)
    return _Hashed(_wang(moments.millis, form), others)


def _lengths(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _Hashed(_wang(np.diff(integers(values.offsets)), form))


def _tags(column: OrcColumn, values: Any, form: KeyForm) -> _Hashed:
    return _Hashed(_wang(integers(values.type_codes), form))


_HASHED: dict[str, Callable[[OrcColumn, Any, KeyForm], _Hashed]] = {
    "BYTE": _integers,
    "SHORT": _integers,
    "INT": _integers,
    "LONG": _integers,
    "DATE": _integers,
    "FLOAT": _floats,
    "DOUBLE": _floats,
    "STRING": _texts,
    "VARCHAR": _texts,
    "BINARY": _texts,
    "CHAR": _blank_padded,
    "DECIMAL": _decimals,
    "TIMESTAMP": _timestamps,
    "TIMESTAMP_INSTANT": _instants,
    "LIST": _lengths,
    "MAP": _lengths,
    "UNION": _tags,
}
