"""Hash the values of an ORC column as its filters do.

| type                       | what is hashed                                                    |
|----------------------------|-------------------------------------------------------------------|
| BYTE SHORT INT LONG, DATE  | the number, as 64 bits                                            |
| FLOAT, DOUBLE              | the bits of the DOUBLE                                            |
| STRING, VARCHAR, BINARY    | the bytes                                                         |
| CHAR(n)                    | the text, padded with spaces to n characters                      |
| DECIMAL                    | its text: no exponent, no trailing zeros                          |
| TIMESTAMP*                 | milliseconds, rounded down, see timestamps                        |
| LIST, MAP · UNION          | the number of elements · the tag                                  |

Numbers are hashed with Thomas Wang's hash, bytes with a single-lane Murmur3. A value may have several
hashes: the two zeros are equal, and NaN has many bit patterns.

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
from parquet_bloom.orc.arrow_values import decimals, floats, integers, leaf_type, stored_value
from parquet_bloom.orc.bloom import KeyForm
from parquet_bloom.orc.columns import UNKNOWN, OrcColumn
from parquet_bloom.orc.keys.timestamps import (
    DAY,
    Keys,
    instant_keys,
    local_keys,
    millis_of,
    wall_clock_keys,
)
from parquet_bloom.values.encode import Encodings
from parquet_bloom.values.encode import encode as encode_value
from parquet_bloom.values.literals import encode_literal as read_literal
from parquet_bloom.values.types import LeafType

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
    UNKNOWN: f"{UNKNOWN}: unknown type",
}

# 1582-10-15 in days since 1970. Earlier days may be stored by the Julian calendar.
GREGORIAN = -141_427


@dataclass(frozen=True, slots=True)
class KeyHashes:
    """Every hash under which a value may be stored, or why these are unknown."""

    hashes: tuple[int, ...]
    unknown: str = ""


def never_absent(column: OrcColumn) -> str | None:
    """Why no filter of this column can prove that a value is absent; None if it can."""
    return _NEVER_ABSENT.get(column.kind)


def insertion_hashes(column: OrcColumn, values: Any, key_form: KeyForm) -> Hashes:
    """All hashes to insert for `values`, an Arrow array: shape (m,), at least one per non-null
    value.

    More than writers insert where equal values differ in their bits (zeros, NaN), or where readers
    see another timestamp than was written. Raises UnsupportedError for values without keys: BOOLEAN,
    STRUCT, an unknown time zone.
    """
    hashes = _hashed(column, values, key_form)
    others = [np.unique(further) for _, further in hashes.others]
    return np.concatenate([hashes.numbers, *others]) if others else hashes.numbers


def lookup_hashes(column: OrcColumn, values: Any, key_form: KeyForm) -> Hashes:
    """The hashes of each value of an Arrow array without nulls: shape (n, variants), dtype uint64.

    A value may be present if any of its hashes is. Raises as insertion_hashes.
    """
    hashes = _hashed(column, values, key_form)
    variants = np.repeat(hashes.numbers[:, np.newaxis], 1 + len(hashes.others), axis=1)
    for variant, (positions, further) in enumerate(hashes.others, 1):
        variants[positions, variant] = further
    return variants


def encode(column: OrcColumn, value: Any, key_form: KeyForm) -> KeyHashes:
    """The hashes of a Python or numpy value. Raises ValueTypeError if the column cannot hold it."""
    return _key_hashes(column, key_form, lambda leaf: encode_value(leaf, value))


def encode_literal(
    column: OrcColumn, text: str, key_form: KeyForm, read_as: str | None = None
) -> KeyHashes:
    """The hashes of a literal; `read_as` is one of literals.TYPES. Raises ValueTypeError if it is
    malformed or the column cannot hold it."""
    return _key_hashes(column, key_form, lambda leaf: read_literal(leaf, text, read_as))


def _key_hashes(
    column: OrcColumn, key_form: KeyForm, encode: Callable[[LeafType], Encodings]
) -> KeyHashes:
    if reason := never_absent(column):
        return KeyHashes((), reason)
    encodings = encode(leaf_type(column))
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
        return bool(millis_of(stored)[0] < GREGORIAN * DAY)
    return False


def _hashed(column: OrcColumn, values: Any, key_form: KeyForm) -> Keys:
    values = values.drop_null()
    match column.kind:
        case "BYTE" | "SHORT" | "INT" | "LONG" | "DATE":
            return _wang(Keys(integers(values)), key_form)
        case "FLOAT" | "DOUBLE":
            return _wang(_double_bits(floats(values).astype(np.float64)), key_form)
        case "STRING" | "VARCHAR" | "BINARY":
            return Keys(text_hashes(values))
        case "CHAR":
            return Keys(text_hashes(pc.utf8_rpad(values.cast(pa.string()), column.length, " ")))
        case "DECIMAL":
            return Keys(_kernel.hive64_decimals(decimals(values), values.type.scale))
        case "TIMESTAMP":
            keys_of = wall_clock_keys if key_form.utf8 else local_keys
            return _wang(keys_of(values, key_form.writer_timezone), key_form)
        case "TIMESTAMP_INSTANT":
            return _wang(instant_keys(values), key_form)
        case "LIST" | "MAP":
            return _wang(Keys(np.diff(integers(values.offsets))), key_form)
        case "UNION":
            return _wang(Keys(integers(values.type_codes)), key_form)
        case _:
            raise UnsupportedError(f"{column.kind}: values have no keys")


def _wang(keys: Keys, key_form: KeyForm) -> Keys:
    wang = _kernel.wang_logical if key_form.logical_shifts else _kernel.wang

    def hashed(numbers: NDArray[Any]) -> Hashes:
        return wang(np.ascontiguousarray(numbers, np.int64))

    others = [(positions, hashed(further)) for positions, further in keys.others]
    return Keys(hashed(keys.numbers), others)


def _double_bits(numbers: NDArray[np.float64]) -> Keys:
    """Java hashes every NaN as the canonical one, C++ the bits as they are."""
    bits = numbers.view(np.int64)
    others = []
    zeros = np.flatnonzero(numbers == 0)
    if zeros.size:
        others.append((zeros, bits[zeros] ^ SIGN_BIT))
    nans = np.flatnonzero(np.isnan(numbers))
    if nans.size:
        others.append((nans, bits[nans]))
        bits = bits.copy()
        bits[nans] = CANONICAL_NAN
    return Keys(bits, others)


def text_hashes(values: Any) -> Hashes:
    """The hash of each value of an Arrow array of strings or bytes."""
    is_large = pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type)
    _, offsets, data = values.buffers()
    if offsets is None or not len(values):
        return np.empty(0, np.uint64)
    starts = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    wanted = starts[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return _kernel.hive64_slices(memoryview(data or b"").cast("B"), wanted, 0)
