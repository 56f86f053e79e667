"""Hash the values of an ORC column as its filters do.

| type                       | what is hashed                                                    |
|----------------------------|-------------------------------------------------------------------|
| BYTE SHORT INT LONG, DATE  | the number, as 64 bits                                            |
| FLOAT, DOUBLE              | the bits of the DOUBLE                                            |
| STRING, VARCHAR, BINARY    | the bytes                                                         |
| CHAR(n)                    | the text, padded with spaces to n characters                      |
| DECIMAL                    | its text: no exponent, no trailing zeros                          |
| TIMESTAMP*                 | milliseconds, rounded down, see clocks                            |
| LIST, MAP · UNION          | the number of elements · the tag                                  |

Numbers are hashed with Thomas Wang's hash, bytes with a single-lane Murmur3. A value may have several
hashes: the two zeros are equal, and NaN has many bit patterns.

Spec: apache/orc-format, specification/ORCv1.md "Bloom Filter Index"; ORC Java's TreeWriters where
writers differ from it.

What users look up is first encoded as the Parquet type that holds the same values, whose literals
parquet_bloom.values reads. A LONG that Spark marks as TIMESTAMP_NTZ holds microseconds.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.container.asked_once import AskedOnce
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.orc.arrays import Decimals, Held, Numbers, Texts, Times, Values, as_array
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.clocks import (
    DAY,
    KeyNumbers,
    as_read_here,
    instant_keys,
    local_keys,
    wall_clock_keys,
)
from parquet_bloom.orc.columns import MOST_SCALE, UNKNOWN, OrcColumn
from parquet_bloom.values.encode import (
    FOUND_BY_READING,
    NAN,
    OF_ORC_BOOLEAN,
    not_looked_for,
)
from parquet_bloom.values.given import picked, plain_value, python_values
from parquet_bloom.values.types import (
    NANOS_PER_DAY,
    UNIX_EPOCH_JULIAN_DAY,
    LeafType,
    LogicalType,
    literal,
    not_a_value,
)
from parquet_bloom.vocabulary import BEYOND_DIGITS, NOT_HELD

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter, KHashFilters

# What Double.doubleToLongBits returns for every NaN.
CANONICAL_NAN = 0x7FF8000000000000
SIGN_BIT = -(1 << 63)

# Kinds of columns whose filters do not have the values.
WITHOUT_KEYS: Final = {
    "BOOLEAN": "BOOLEAN: filters of ORC Java are empty, those of ORC C++ wrong",
    "STRUCT": "STRUCT: its filters are empty",
    "LIST": "LIST: its filters hash only the number of elements",
    "MAP": "MAP: its filters hash only the number of entries",
    "UNION": "UNION: its filters hash only the tag of each value",
    UNKNOWN: f"{UNKNOWN}: unknown type",
}

# Where the values are instead, named as in `columns`.
_INSTEAD: Final = {
    "LIST": "the elements are column {name}._elem",
    "MAP": "the keys are column {name}._key, the values {name}._value",
}

_AS_NUMBERS: Final = ("BYTE", "SHORT", "INT", "LONG", "DATE", "LIST", "MAP", "UNION")

# Why none is looked for in rows, or by an index, which needs no filter.
_NOT_LOOKED_UP: Final = {
    "BOOLEAN": OF_ORC_BOOLEAN,
    "STRUCT": "STRUCT: its fields are columns of their own",
    "LIST": f"LIST: {_INSTEAD['LIST']}",
    "MAP": f"MAP: {_INSTEAD['MAP']}",
    "UNION": "UNION: its variants are columns of their own",
}

# Hive allows 255. Blanks are hashed, too, and a file may claim any number.
MOST_CHARACTERS: Final = 1 << 16

# 1582-10-15 in days since 1970. Earlier days may be stored by the Julian calendar.
GREGORIAN = -141_427
TWO_CALENDARS = "dates before 1582-10-15 may be stored by either of two calendars"

# The steps of MurmurHash3's finalizer.
_SHIFT: Final = 33
_FACTORS: Final = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)

# The highest precision of a DECIMAL.
MOST_DIGITS: Final = 38

# What ORC Java takes a DECIMAL for that has none (Hive 0.11): TypeDescription.
_WITHOUT_PRECISION: Final = LogicalType("DECIMAL", precision=MOST_DIGITS, scale=10)

_OWN_SCALES: Final = "DECIMAL without a precision: each number has a scale of its own"

# The attribute in which Spark records a type that ORC does not have.
SPARK_TYPE: Final = "spark.sql.catalyst.type"

_LEAF_TYPES = {
    "BYTE": ("INT32", LogicalType("INTEGER", 8)),
    "SHORT": ("INT32", LogicalType("INTEGER", 16)),
    "INT": ("INT32", LogicalType("INTEGER", 32)),
    "LONG": ("INT64", LogicalType("INTEGER", 64)),
    "FLOAT": ("FLOAT", None),
    "DOUBLE": ("DOUBLE", None),
    "DATE": ("INT32", LogicalType("DATE")),
    "STRING": ("BYTE_ARRAY", LogicalType("STRING")),
    "CHAR": ("BYTE_ARRAY", LogicalType("STRING")),
    "VARCHAR": ("BYTE_ARRAY", LogicalType("STRING")),
    "BINARY": ("BYTE_ARRAY", None),
    "TIMESTAMP": ("INT96", LogicalType("TIMESTAMP")),
    "TIMESTAMP_INSTANT": ("INT96", LogicalType("TIMESTAMP", utc=True)),
}


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
    if column.kind == "DECIMAL" and not 0 <= column.scale <= MOST_SCALE:
        return f"{column.type}: a scale of {column.scale}, expected at most {MOST_SCALE}"
    reason, instead = WITHOUT_KEYS.get(column.kind), _INSTEAD.get(column.kind)
    return f"{reason}; {instead.format(name=column.name)}" if instead else reason


def not_looked_up(column: OrcColumn) -> str | None:
    """Why no value of this column can be looked for, whether or not it has filters; None if one can."""
    reason = _NOT_LOOKED_UP.get(column.kind)
    return reason.format(name=column.name) if reason else never_absent(column)


def most_hashes(column: OrcColumn, num_values: int) -> int | None:
    """How many hashes so many values lead to at the most; None where it depends on the values."""
    match column.kind:
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            return None
        case "FLOAT" | "DOUBLE":
            # Zeros of both signs, and NaNs as they are and as Java has them.
            return 2 * num_values
    return num_values


def insert_values(
    filters: KHashFilters,
    groups: range,
    column: OrcColumn,
    values: Values,
    counts: array[int],
    key_form: OrcKeyForm,
) -> float:
    """Insert what insertion_hashes returns, mostly without numpy and its arrays, into the filters of
    these index groups: `counts` are the values of each. Returns the most of keys_per_value. Raises as it."""
    if (found := _one_hash_each(column, values, key_form)) is not None:
        insert, arguments = found
        filters.insert(insert, groups.start, counts, *arguments)
        return 1
    start, most = 0, 1.0
    for group, count in zip(groups, counts, strict=True):
        part = values.part(start, start + count)
        hashes = insertion_hashes(column, part, key_form)
        filters.filters[group].insert_hashes(hashes)
        most = max(most, keys_per_value(part, hashes))
        start += count
    return most


def _one_hash_each(
    column: OrcColumn, values: Values, key_form: OrcKeyForm
) -> tuple[Callable[..., None], tuple[object, ...]] | None:
    """The kernel's function that inserts values without an array of hashes, and what it takes; None if
    there is none, or values have several hashes. It knows of zeros and NaN."""
    if key_form.logical_shifts:
        return None
    match values:
        case Numbers(memoryview(format="q") as numbers) if column.kind in _AS_NUMBERS:
            return _kernel.k_hash_insert_numbers, (numbers,)
        case Numbers(memoryview() as floats) if column.kind in ("FLOAT", "DOUBLE"):
            return _kernel.k_hash_insert_floats, (floats.cast("B"), floats.itemsize)
        case Texts(data, starts) if column.kind != "CHAR":
            return _kernel.k_hash_insert_texts, (data, starts)
        case Decimals(memoryview() as words, scale):
            return _kernel.k_hash_insert_decimals, (words.cast("B"), scale)
        case Times() if not (keys := _time_keys(column, values, key_form)).others:
            return _kernel.k_hash_insert_numbers, (keys.numbers,)
    return None


def keys_per_value(values: Values, hashes: Hashes) -> float:
    """How many keys there are for each distinct value by the clocks of readers, 1 if there is one clock:
    `hashes` are those that insertion_hashes returns."""
    if not isinstance(values, Times) or len(hashes) == len(values):
        return 1
    return len(np.unique(hashes)) / len(np.unique(hashes[: len(values)]))


def insertion_hashes(column: OrcColumn, values: Values, key_form: OrcKeyForm) -> Hashes:
    """All hashes to insert for `values`: shape (m,), the first hash of each, then further ones.

    More than writers insert where equal values differ in their bits (zeros, NaN), or where readers
    see another timestamp than was written. Raises UnsupportedError for values without keys: BOOLEAN,
    STRUCT, an unknown time zone.
    """
    hashes = _hashed(column, values, key_form)
    others = [np.unique(further) for _, further in hashes.others]
    return np.concatenate([hashes.numbers, *others])


def lookup_hashes(column: OrcColumn, values: Values, key_form: OrcKeyForm) -> Hashes:
    """The hashes of each value: shape (n, variants), dtype uint64.

    A value may be present if any of its hashes is. Raises as insertion_hashes.
    """
    hashes = _hashed(column, values, key_form)
    variants = np.repeat(np.asarray(hashes.numbers)[:, np.newaxis], 1 + len(hashes.others), axis=1)
    for variant, (positions, further) in enumerate(hashes.others, 1):
        variants[positions, variant] = further
    return variants


def spread(hashes: Hashes) -> Hashes:
    """The hashes spread evenly over 64 bits, distinct ones staying distinct: ORC's hashes of small numbers are
    not even, which matters to whoever goes by a few of their bits."""
    shift = np.uint64(_SHIFT)
    for factor in _FACTORS:
        hashes = (hashes ^ (hashes >> shift)) * np.uint64(factor)
    return hashes ^ (hashes >> shift)


class AskedValues:
    """Values and literals to look up in a column: all that it may store for them, the `_owners` of each
    stored value, shape (n,), and in `_unknown` why the hashes of some are; `never_absent`: why those of
    all are. Raises ValueTypeError if the column cannot hold one, even where there is no filter."""

    def __init__(self, column: OrcColumn, values: Sequence[object]) -> None:
        # Not for build, which is asked for none.
        from parquet_bloom.values.literals import encode_given

        self._column, self._values = column, values
        self._unknown: dict[int, str] = {}
        self._hashes: dict[OrcKeyForm, KeyHashes] = {}
        # What bounds must reach for them, kept for the next file by who knows.
        self.tests: dict[str, Any] = {}
        owners: list[int] = []
        plain: list[bytes] = []
        self.never_absent: Final = never_absent(column)
        if self.never_absent:
            self._unknown = dict.fromkeys(range(len(values)), self.never_absent)
        else:
            leaf = leaf_type(column)
            for index, value in enumerate(values):
                encodings = encode_given(leaf, value)
                if encodings.unknown == BEYOND_DIGITS and not column.precision:
                    self._unknown[index] = _OWN_SCALES
                elif encodings.unknown:
                    self._unknown[index] = encodings.unknown
                owners += [index] * len(encodings.plain)
                plain += encodings.plain
        self._owners = np.array(owners, np.intp)
        self._stored = stored_values(column, plain) if plain else None
        if self._stored is not None:
            early = np.unique(self._owners[_are_before_gregorian(column, self._stored)])
            self._unknown |= dict.fromkeys(early.tolist(), TWO_CALENDARS)

    def __len__(self) -> int:
        return len(self._values)

    def at(self, positions: Sequence[int]) -> AskedValues:
        """Some of the values, by their positions."""
        return AskedValues(self._column, picked(self._values, positions))

    @cached_property
    def values(self) -> Sequence[Any]:
        """Those that are asked, as reports have them."""
        return python_values(self._values)

    @cached_property
    def not_ascii(self) -> Sequence[int]:
        """The values that are not the same in every charset."""
        return [index for index, value in enumerate(self._values) if not _is_ascii(value)]

    @cached_property
    def not_held(self) -> Mapping[int, str]:
        """The values that no row of the column holds, and why."""
        return {index: why for index, why in self._unknown.items() if why in NOT_HELD}

    @cached_property
    def not_comparable(self) -> Mapping[int, str]:
        """The values that may be stored as something else, too, so that nobody can tell their rows, and why."""
        found = {}
        for index, reason in self._unknown.items():
            if reason not in NOT_HELD:
                why = (not_looked_up(self._column) if self.never_absent else None) or reason
                by_reading = reason == TWO_CALENDARS or self._column.kind == "BOOLEAN"
                found[index] = f"{why}; {FOUND_BY_READING}" if by_reading else why
        return found

    @property
    def not_sought(self) -> Mapping[int, str]:
        """Those of them that are not at fault in every file, as NaN is."""
        return {index: why for index, why in self.not_comparable.items() if why != NAN}

    def to_compare(self) -> tuple[Values, NDArray[np.intp]]:
        """All that is stored for them, and whose each is. Raises UnsupportedError for a value that may be stored as
        something else, too, ValueTypeError for NaN."""
        for index, why in self.not_comparable.items():
            raise not_looked_for(self.values[index], why)
        stored = stored_values(self._column, []) if self._stored is None else self._stored
        return stored, self._owners

    def hashes(self, key_form: OrcKeyForm) -> KeyHashes:
        if key_form not in self._hashes:
            self._hashes[key_form] = self._hash(key_form)
        return self._hashes[key_form]

    def _hash(self, key_form: OrcKeyForm) -> KeyHashes:
        nothing = np.empty(0, np.uint64), np.empty(0, np.intp)
        if self._stored is None:
            return KeyHashes(len(self), *nothing, self._unknown)
        try:
            forms = list(self._forms(self._stored, key_form))
        except UnsupportedError as error:
            unknown = dict.fromkeys(self._owners.tolist(), str(error)) | self._unknown
            return KeyHashes(len(self), *nothing, unknown)
        hashes = [each.ravel() for each, _ in forms]
        owners = [np.repeat(of_each, each.shape[1]) for each, of_each in forms]
        return KeyHashes(len(self), np.concatenate(hashes), np.concatenate(owners), self._unknown)

    def _forms(
        self, stored: Values, key_form: OrcKeyForm
    ) -> Iterator[tuple[Hashes, NDArray[np.intp]]]:
        """The hashes of each stored value, shape (n, variants), and whose they are, shape (n,)."""
        yield _variants(self._column, stored, key_form), self._owners
        if self._column.kind == "TIMESTAMP" and isinstance(stored, Times):
            # A literal may be what ORC Java shows.
            positions, read = as_read_here(stored, key_form.writer_timezone)
            if len(positions):
                yield _variants(self._column, read, key_form), self._owners[positions]


asked_of: Final[AskedOnce[OrcColumn, AskedValues]] = AskedOnce(AskedValues)


def _is_ascii(value: object) -> bool:
    if isinstance(value, literal):
        # Hexadecimal bytes can be any text.
        is_hex = value.text[:2].lower() in ("0x", "\\x") or value.read_as == "bytes"
        return value.text.isascii() and not is_hex
    value = plain_value(value)
    return not isinstance(value, str | bytes | bytearray) or value.isascii()


def _variants(column: OrcColumn, stored: Values, key_form: OrcKeyForm) -> Hashes:
    """The hashes of each value: shape (n, variants)."""
    hashes = lookup_hashes(column, stored, key_form)
    if column.kind != "CHAR" or not isinstance(stored, Texts):
        return hashes
    # Engines that trim a CHAR, such as Trino, may hash it without its padding.
    return np.column_stack([hashes, text_hashes(stored)])


def _are_before_gregorian(column: OrcColumn, stored: Values) -> NDArray[np.bool_]:
    """For each value: shape (n,)."""
    if isinstance(stored, Times):
        return stored.millis < GREGORIAN * DAY
    if column.kind == "DATE" and isinstance(stored, Numbers):
        return np.asarray(stored.numbers < GREGORIAN)
    return np.zeros(len(stored), np.bool_)


def _hashed(column: OrcColumn, values: Values, key_form: OrcKeyForm) -> KeyNumbers:
    match values:
        case Numbers() if column.kind in _AS_NUMBERS:
            return _wang(KeyNumbers(values.numbers), key_form)
        case Numbers() if column.kind in ("FLOAT", "DOUBLE"):
            # A signaling NaN becomes a quiet one.
            with np.errstate(invalid="ignore"):
                doubles = values.numbers.astype("f8")
            return _wang(_double_bits(doubles), key_form)
        case Texts() if column.kind == "CHAR":
            return KeyNumbers(_char_hashes(column, values))
        case Texts():
            return KeyNumbers(text_hashes(values))
        case Decimals():
            return KeyNumbers(
                _kernel.hive64_decimals(as_array(values.held).view("u1"), values.scale)
            )
        case Times():
            return _wang(_time_keys(column, values, key_form), key_form)
    raise UnsupportedError(f"{column.kind}: values have no keys")


def _time_keys(column: OrcColumn, values: Times, key_form: OrcKeyForm) -> KeyNumbers:
    if column.kind == "TIMESTAMP_INSTANT":
        return instant_keys(values)
    keys_of = wall_clock_keys if key_form.utf8 else local_keys
    return keys_of(values, key_form.writer_timezone)


def _char_hashes(column: OrcColumn, values: Texts) -> Hashes:
    if column.length > MOST_CHARACTERS:
        raise UnsupportedError(
            f"{column.type}: {column.length} characters, expected at most {MOST_CHARACTERS}"
        )
    return _kernel.hive64_padded(values.data, values.starts, column.length)


def _wang(keys: KeyNumbers, key_form: OrcKeyForm) -> KeyNumbers:
    wang = _kernel.wang_logical if key_form.logical_shifts else _kernel.wang

    def hashed(numbers: Held) -> Hashes:
        return wang(np.ascontiguousarray(numbers, np.int64))

    others = [(positions, hashed(further)) for positions, further in keys.others]
    return KeyNumbers(hashed(keys.numbers), others)


def _double_bits(numbers: NDArray[np.float64]) -> KeyNumbers:
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
    return KeyNumbers(bits, others)


def text_hashes(values: Texts) -> Hashes:
    """The hash of each value."""
    return _kernel.hive64_slices(values.data, values.starts, 0)


# ------------------------------------------------------------------------------------------------
# From what users give, and shown again


@dataclass(frozen=True, slots=True)
class OrcLeafType(LeafType):
    """The Parquet type for an ORC column; error messages name the ORC type."""

    orc_type: str = ""

    def __str__(self) -> str:
        return self.orc_type


def leaf_type(column: OrcColumn) -> OrcLeafType:
    """The Parquet type for a column. Raises KeyError if its values have no keys."""
    if column.kind == "LONG" and column.attributes.get(SPARK_TYPE) == "timestamp_ntz":
        micros = LogicalType("TIMESTAMP", unit="MICROS")
        return OrcLeafType("INT64", logical=micros, orc_type="LONG (TIMESTAMP_NTZ)")
    if column.kind == "DECIMAL" and not column.precision:
        return OrcLeafType("BYTE_ARRAY", logical=_WITHOUT_PRECISION, orc_type=column.type)
    if column.kind == "DECIMAL":
        precision = min(column.precision, MOST_DIGITS)
        decimal = LogicalType("DECIMAL", precision=precision, scale=column.scale)
        return OrcLeafType("BYTE_ARRAY", logical=decimal, orc_type=column.type)
    physical, logical = _LEAF_TYPES[column.kind]
    return OrcLeafType(physical, logical=logical, orc_type=column.type)


def stored_values(column: OrcColumn, plain: Sequence[bytes]) -> Values:
    """Values that are `plain` in the column's Parquet type. Raises ValueTypeError for text that is too
    long and for a DECIMAL of too many digits."""
    match column.kind:
        case "FLOAT" | "DOUBLE":
            return Numbers(memoryview(b"".join(plain)).cast("f" if column.kind == "FLOAT" else "d"))
        case "STRING" | "BINARY":
            return Texts.of(list(plain))
        case "CHAR" | "VARCHAR":
            return Texts.of([_text(column, each) for each in plain])
        case "DECIMAL":
            numbers = [int.from_bytes(each, "big", signed=True) for each in plain]
            logical = leaf_type(column).logical
            assert logical is not None
            return Decimals.of([_decimal(column, each) for each in numbers], logical.scale)
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            return Times.of([_nanos(each) for each in plain])
        case _:
            numbers = [int.from_bytes(each, "little", signed=True) for each in plain]
            return Numbers(memoryview(array("q", numbers)))


def _text(column: OrcColumn, plain: bytes) -> bytes:
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        found = f"0x{plain.hex()}"
        raise not_a_value(leaf_type(column), found, "text that is valid Unicode") from None
    kept = text.rstrip(" ") if column.kind == "CHAR" else text
    if len(kept) > column.length:
        raise not_a_value(leaf_type(column), text, f"at most {column.length} characters")
    return kept.encode()


def _decimal(column: OrcColumn, unscaled: int) -> int:
    if abs(unscaled) >= 10**MOST_DIGITS:
        raise not_a_value(leaf_type(column), unscaled, f"at most {MOST_DIGITS} digits")
    return unscaled


def _nanos(plain: bytes) -> int:
    nanos_of_day, julian_day = struct.unpack("<qi", plain)
    nanos: int = (julian_day - UNIX_EPOCH_JULIAN_DAY) * NANOS_PER_DAY + nanos_of_day
    return nanos


def literals(column: OrcColumn, values: Values) -> tuple[str, ...]:
    """The values as for `pbloom probe -v`."""
    from parquet_bloom.values.literals import format_literal

    match values:
        case Texts():
            leaf, is_char = leaf_type(column), column.kind == "CHAR"
            texts = values.tolist()
            return tuple(
                format_literal(leaf, each.rstrip(b" ") if is_char else each) for each in texts
            )
        case Times():
            zone = "Z" if column.kind == "TIMESTAMP_INSTANT" else ""
            return tuple(
                f"{_clock(seconds)}.{nanos:09}{zone}" for seconds, nanos in values.tolist()
            )
        case Numbers() if column.kind == "DATE":
            return tuple(np.datetime_as_string(values.numbers.astype("datetime64[D]")).tolist())
        case Numbers() if column.kind in ("FLOAT", "DOUBLE"):
            # Of a FLOAT, the digits that tell it from other FLOATs.
            return tuple(str(number).removesuffix(".0") for number in values.numbers)
    return tuple(map(str, values.tolist()))


def _clock(seconds: int) -> str:
    return str(np.datetime64(seconds, "s")).replace("T", " ")
