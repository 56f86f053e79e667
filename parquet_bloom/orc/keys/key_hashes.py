"""Hash the values of an ORC column as its filters do.

| type                       | what is hashed                                                    |
|----------------------------|-------------------------------------------------------------------|
| BYTE SHORT INT LONG, DATE  | the number, as 64 bits                                            |
| FLOAT, DOUBLE              | the bits of the DOUBLE                                            |
| STRING, VARCHAR, BINARY    | the bytes                                                         |
| CHAR(n)                    | the text, padded with spaces to n characters                      |
| DECIMAL                    | its text: no exponent, no trailing zeros                          |
| TIMESTAMP*                 | milliseconds, rounded down, see timestamp_keys                    |
| LIST, MAP · UNION          | the number of elements · the tag                                  |

Numbers are hashed with Thomas Wang's hash, bytes with a single-lane Murmur3. A value may have several
hashes to look up: the two zeros are equal, and NaN has many bit patterns.

Spec: apache/orc-format, specification/ORCv1.md "Bloom Filter Index"; ORC Java's TreeWriters where
writers differ from it.
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

# What Double.doubleToLongBits returns for every NaN.
CANONICAL_NAN = 0x7FF8000000000000
SIGN_BIT = np.int64(-(1 << 63))

_NEVER_ABSENT = {
    "BOOLEAN": "BOOLEAN: filters of ORC Java are empty, those of ORC C++ wrong",
    "STRUCT": "STRUCT: its filters are empty",
    "LIST": "LIST: its filters hash only the number of elements",
    "MAP": "MAP: its filters hash only the number of entries",
    "UNION": "UNION: its filters hash only the tag of each value",
}

# 1582-10-15 in days since 1970. Earlier days may be stored by the Julian calendar.
GREGORIAN = -141_427


@dataclass(frozen=True, slots=True)
class KeyHashes:
    """Every hash that a value may be stored as, or why they cannot be listed."""

    hashes: tuple[int, ...]
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class _Hashed:
    """One hash per value, shape (n,), and in `others` further hashes of the values at positions."""

    hashes: Hashes
    others: tuple[tuple[NDArray[np.int64], Hashes], ...] = ()


def never_absent(column: OrcColumn) -> str | None:
    """Why no filter of this column can prove that a value is absent; None if it can."""
    if column.kind in _NEVER_ABSENT:
        return _NEVER_ABSENT[column.kind]
    return None if column.kind in _HASHED else f"{column.kind}: unknown type"


def insertion_hashes(column: OrcColumn, values: Any, key_form: KeyForm) -> Hashes:
    """All hashes to insert for `values`, an Arrow array: shape (m,), at least one per non-null
    value.

    More than writers insert where equal values differ in their bits (zeros, NaN), or where readers
    see another timestamp than was written. Raises UnsupportedError for values without keys: BOOLEAN,
    STRUCT, an unknown time zone.
    """
    hashed = _hashed(column, values, key_form)
    others = [np.unique(hashes) for _, hashes in hashed.others]
    return np.concatenate([hashed.hashes, *others]) if others else hashed.hashes


def lookup_hashes(column: OrcColumn, values: Any, key_form: KeyForm) -> Hashes:
    """The hashes of each value of an Arrow array without nulls: shape (n, variants), dtype uint64.

    A value may be present if any of its hashes is. Raises UnsupportedError as insertion_hashes does.
    """
    hashed = _hashed(column, values, key_form)
    variants = np.repeat(hashed.hashes[:, np.newaxis], 1 + len(hashed.others), axis=1)
    for variant, (positions, hashes) in enumerate(hashed.others, 1):
        variants[positions, variant] = hashes
    return variants


def encode(column: OrcColumn, value: Any, key_form: KeyForm) -> KeyHashes:
    """The hashes of a Python or numpy value that values.encode takes.

    Raises ValueTypeError for a value that the column cannot hold.
    """
    if reason := never_absent(column):
        return KeyHashes((), reason)
    return _key_hashes(column, encode_value(leaf_type(column), value), key_form)


def encode_literal(
    column: OrcColumn, text: str, key_form: KeyForm, read_as: str | None = None
) -> KeyHashes:
    """The hashes of a literal; `read_as` is one of literals.TYPES.

    Raises ValueTypeError for a malformed literal and for a value that the column cannot hold.
    """
    if reason := never_absent(column):
        return KeyHashes((), reason)
    encodings = read_literal(leaf_type(column), text, read_as)
    return _key_hashes(column, encodings, key_form)


def _key_hashes(column: OrcColumn, encodings: Encodings, key_form: KeyForm) -> KeyHashes:
    if encodings.unknown:
        return KeyHashes((), encodings.unknown)
    hashes: dict[int, None] = {}
    for plain in encodings.plain:
        stored = stored_value(column, plain)
        if _is_before_gregorian(column, stored):
            return KeyHashes((), "dates before 1582-10-15 may be stored by either of two calendars")
        try:
            hashes |= dict.fromkeys(lookup_hashes(column, stored, key_form).ravel().tolist())
        except UnsupportedError as error:
            return KeyHashes((), str(error))
        if column.kind == "CHAR":
            # Engines that trim a CHAR, such as Trino, may hash it without its padding.
            hashes |= dict.fromkeys(text_hashes(stored).tolist())
    return KeyHashes(tuple(hashes))


def _is_before_gregorian(column: OrcColumn, stored: Any) -> bool:
    if column.kind == "DATE":
        return bool(stored[0].as_py() < GREGORIAN)
    if column.kind in ("TIMESTAMP", "TIMESTAMP_INSTANT"):
        return bool(instant_moments(stored).millis[0] < GREGORIAN * DAY)
    return False


def _hashed(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    if column.kind not in _HASHED:
        raise UnsupportedError(f"{column.kind}: values have no keys")
    return _HASHED[column.kind](column, values.drop_null(), key_form)


def _wang(numbers: NDArray[np.int64], key_form: KeyForm) -> Hashes:
    contiguous = np.ascontiguousarray(numbers, np.int64)
    return (_kernel.wang_logical if key_form.logical_shifts else _kernel.wang)(contiguous)


def _integers(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _Hashed(_wang(integers(values), key_form))


def _floats(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    """Java hashes every NaN as the canonical one, C++ the bits as they are."""
    numbers = floats(values).astype(np.float64)
    bits = numbers.view(np.int64)
    others = []
    zeros = np.flatnonzero(numbers == 0)
    if zeros.size:
        others.append((zeros, _wang(bits[zeros] ^ SIGN_BIT, key_form)))
    nans = np.flatnonzero(np.isnan(numbers))
    if nans.size:
        others.append((nans, _wang(bits[nans], key_form)))
        bits = bits.copy()
        bits[nans] = CANONICAL_NAN
    return _Hashed(_wang(bits, key_form), tuple(others))


def _texts(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _Hashed(text_hashes(values))


def _blank_padded(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _Hashed(text_hashes(pc.utf8_rpad(values.cast(pa.string()), column.length, " ")))


def _decimals(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _Hashed(_kernel.hive64_decimals(decimals(values), values.type.scale))


def text_hashes(values: Any) -> Hashes:
    """The hash of each value of an Arrow array of strings or bytes."""
    is_large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    _, offsets, data = values.buffers()
    if offsets is None or not len(values):
        return np.empty(0, np.uint64)
    starts = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    wanted = starts[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return _kernel.hive64_slices(memoryview(data or b"").cast("B"), wanted, 0)


def _timestamps(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    moments = wall_clock_moments if key_form.utf8 else local_moments
    return _hash_moments(moments(values, key_form.writer_timezone), key_form)


def _instants(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _hash_moments(instant_moments(values), key_form)


def _hash_moments(moments: Moments, key_form: KeyForm) -> _Hashed:
    others = tuple((positions, _wang(millis, key_form)) for positions, millis in moments.others)
    return _Hashed(_wang(moments.millis, key_form), others)


def _lengths(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _Hashed(_wang(np.diff(integers(values.offsets)), key_form))


def _tags(column: OrcColumn, values: Any, key_form: KeyForm) -> _Hashed:
    return _Hashed(_wang(integers(values.type_codes), key_form))


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
