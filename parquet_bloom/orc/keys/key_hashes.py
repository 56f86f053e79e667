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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from parquet_bloom.values.given import encode_given

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter

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
TWO_CALENDARS = "dates before 1582-10-15 may be stored by either of two calendars"


@dataclass(frozen=True, slots=True)
class KeyHashes:
    """Every hash under which `num_values` values may be stored, shape (n,), dtype uint64, and in
    `owners` the value that each belongs to, shape (n,). `unknown`: why those of some values are."""

    num_values: int
    hashes: Hashes
    owners: NDArray[np.intp]
    unknown: Mapping[int, str]

    def of(self, index: int) -> Hashes:
        """The hashes of one value, each once: shape (n,)."""
        mine = self.hashes[self.owners == index].tolist()
        return np.array(list(dict.fromkeys(mine)), np.uint64)

    def found_in(self, filter: KHashFilter) -> NDArray[np.bool_]:
        """Whether a filter may have any hash of each value, shape (num_values,); of no meaning for
        the unknown."""
        found = np.zeros(self.num_values, np.bool_)
        found[self.owners[filter.check_hashes(self.hashes)]] = True
        return found


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


def key_hashes(column: OrcColumn, values: Sequence[Any], key_form: KeyForm) -> KeyHashes:
    """The hashes of values and literals. Raises ValueTypeError if the column cannot hold one."""
    unknown: dict[int, str] = {}
    by_type: dict[Any, list[tuple[int, Any]]] = {}
    if reason := never_absent(column):
        unknown = dict.fromkeys(range(len(values)), reason)
    else:
        leaf = leaf_type(column)
        for index, value in enumerate(values):
            encodings = encode_given(leaf, value)
            if encodings.unknown:
                unknown[index] = encodings.unknown
            for plain in encodings.plain:
                stored = stored_value(column, plain)
                by_type.setdefault(stored.type, []).append((index, stored))
    hashes, owners = [np.empty(0, np.uint64)], [np.empty(0, np.intp)]
    for items in by_type.values():
        indices = np.array([index for index, _ in items], np.intp)
        stored = pa.concat_arrays([each for _, each in items])
        early = np.unique(indices[_are_before_gregorian(column, stored)])
        unknown |= dict.fromkeys(early.tolist(), TWO_CALENDARS)
        try:
            found = _variants(column, stored, key_form)
        except UnsupportedError as error:
            unknown = dict.fromkeys(indices.tolist(), str(error)) | unknown
            continue
        hashes.append(found.ravel())
        owners.append(np.repeat(indices, found.shape[1]))
    return KeyHashes(len(values), np.concatenate(hashes), np.concatenate(owners), unknown)


def _variants(column: OrcColumn, stored: Any, key_form: KeyForm) -> Hashes:
    """The hashes of each value of an Arrow array: shape (n, variants)."""
    hashes = lookup_hashes(column, stored, key_form)
    if column.kind != "CHAR":
        return hashes
    # Engines that trim a CHAR, such as Trino, may hash it without its padding.
    return np.column_stack([hashes, text_hashes(stored)])


def _are_before_gregorian(column: OrcColumn, stored: Any) -> NDArray[np.bool_]:
    """For each value of an Arrow array: shape (n,)."""
    if column.kind == "DATE":
        return integers(stored) < GREGORIAN
    if column.kind in ("TIMESTAMP", "TIMESTAMP_INSTANT"):
        return millis_of(stored) < GREGORIAN * DAY
    return np.zeros(len(stored), np.bool_)


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
