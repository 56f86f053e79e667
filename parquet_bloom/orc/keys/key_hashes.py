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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import Decimals, Held, Numbers, Texts, Times, Values, array_of
from parquet_bloom.orc.bloom import KeyForm
from parquet_bloom.orc.columns import MOST_SCALE, UNKNOWN, OrcColumn
from parquet_bloom.orc.keys.timestamps import (
    DAY,
    Keys,
    as_read_here,
    instant_keys,
    local_keys,
    wall_clock_keys,
)

if TYPE_CHECKING:
    from array import array

    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloom.filters.k_hash import KHashFilter, KHashFilters

Hashes: TypeAlias = "NDArray[np.uint64]"

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

_AS_NUMBERS: Final = ("BYTE", "SHORT", "INT", "LONG", "DATE", "LIST", "MAP", "UNION")

# Hive allows 255. Blanks are hashed, too, and a file may claim any number.
MOST_CHARACTERS: Final = 1 << 16

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
        import numpy as np

        mine = self.hashes[self.owners == index].tolist()
        return np.array(list(dict.fromkeys(mine)), np.uint64)

    def found_in(self, filter: KHashFilter) -> NDArray[np.bool_]:
        """Whether a filter may have any hash of each value, shape (num_values,); of no meaning for
        the unknown."""
        import numpy as np

        found = np.zeros(self.num_values, np.bool_)
        found[self.owners[filter.check_hashes(self.hashes)]] = True
        return found


def never_absent(column: OrcColumn) -> str | None:
    """Why no filter of this column can prove that a value is absent; None if it can."""
    if column.kind == "DECIMAL" and not 0 <= column.scale <= MOST_SCALE:
        return f"{column.type}: a scale of {column.scale}, expected at most {MOST_SCALE}"
    return WITHOUT_KEYS.get(column.kind)


def insert_values(
    filters: KHashFilters,
    groups: range,
    column: OrcColumn,
    values: Values,
    counts: array[int],
    key_form: KeyForm,
) -> float:
    """Insert what insertion_hashes returns, mostly without numpy and its arrays, into the filters of
    these index groups: `counts` are the values of each. Returns the most of keys_of_each. Raises as it."""
    first = groups.start
    if not key_form.logical_shifts:
        match values:
            case Numbers(memoryview(format="q") as numbers) if column.kind in _AS_NUMBERS:
                filters.insert_numbers(first, counts, numbers)
                return 1
            case Numbers(memoryview() as floats) if column.kind in ("FLOAT", "DOUBLE"):
                filters.insert_floats(first, counts, floats.cast("B"), floats.itemsize)
                return 1
            case Texts(data, starts) if column.kind != "CHAR":
                filters.insert_texts(first, counts, data, starts)
                return 1
            case Decimals(memoryview() as words, scale):
                filters.insert_decimals(first, counts, words.cast("B"), scale)
                return 1
            case Times():
                keys = _time_keys(column, values, key_form)
                if not keys.others:
                    filters.insert_numbers(first, counts, keys.numbers)
                    return 1
    start, most = 0, 1.0
    for group, count in zip(groups, counts, strict=True):
        part = values.part(start, start + count)
        hashes = insertion_hashes(column, part, key_form)
        filters.filters[group].insert_hashes(hashes)
        most = max(most, keys_of_each(part, hashes))
        start += count
    return most


def keys_of_each(values: Values, hashes: Hashes) -> float:
    """How many keys there are for each distinct value by the clocks of readers, 1 if there is one clock:
    `hashes` are those that insertion_hashes returns."""
    import numpy as np

    if not isinstance(values, Times) or len(hashes) == len(values):
        return 1
    return len(np.unique(hashes)) / len(np.unique(hashes[: len(values)]))


def insertion_hashes(column: OrcColumn, values: Values, key_form: KeyForm) -> Hashes:
    """All hashes to insert for `values`: shape (m,), the first hash of each, then further ones.

    More than writers insert where equal values differ in their bits (zeros, NaN), or where readers
    see another timestamp than was written. Raises UnsupportedError for values without keys: BOOLEAN,
    STRUCT, an unknown time zone.
    """
    import numpy as np

    hashes = _hashed(column, values, key_form)
    others = [np.unique(further) for _, further in hashes.others]
    return np.concatenate([hashes.numbers, *others])


def lookup_hashes(column: OrcColumn, values: Values, key_form: KeyForm) -> Hashes:
    """The hashes of each value: shape (n, variants), dtype uint64.

    A value may be present if any of its hashes is. Raises as insertion_hashes.
    """
    import numpy as np

    hashes = _hashed(column, values, key_form)
    variants = np.repeat(np.asarray(hashes.numbers)[:, np.newaxis], 1 + len(hashes.others), axis=1)
    for variant, (positions, further) in enumerate(hashes.others, 1):
        variants[positions, variant] = further
    return variants


@dataclass(frozen=True, slots=True)
class GivenValues:
    """Values to look up as the column stores them: those of `stored` belong to the values `owners`,
    shape (n,). `unknown`: why the hashes of some values are."""

    column: OrcColumn
    num_values: int
    stored: Values | None
    owners: NDArray[np.intp]
    unknown: Mapping[int, str]

    def hashes(self, key_form: KeyForm) -> KeyHashes:
        import numpy as np

        nothing = np.empty(0, np.uint64), np.empty(0, np.intp)
        if self.stored is None:
            return KeyHashes(self.num_values, *nothing, self.unknown)
        try:
            forms = list(self._forms(self.stored, key_form))
        except UnsupportedError as error:
            unknown = dict.fromkeys(self.owners.tolist(), str(error)) | dict(self.unknown)
            return KeyHashes(self.num_values, *nothing, unknown)
        hashes = [each.ravel() for each, _ in forms]
        owners = [np.repeat(of_each, each.shape[1]) for each, of_each in forms]
        return KeyHashes(
            self.num_values, np.concatenate(hashes), np.concatenate(owners), self.unknown
        )

    def _forms(
        self, stored: Values, key_form: KeyForm
    ) -> Iterator[tuple[Hashes, NDArray[np.intp]]]:
        """The hashes of each stored value, shape (n, variants), and whose they are, shape (n,)."""
        yield _variants(self.column, stored, key_form), self.owners
        if self.column.kind == "TIMESTAMP" and isinstance(stored, Times):
            # A literal may be what ORC Java shows.
            positions, read = as_read_here(stored, key_form.writer_timezone)
            if len(positions):
                yield _variants(self.column, read, key_form), self.owners[positions]


def given_values(column: OrcColumn, values: Sequence[Any]) -> GivenValues:
    """Values and literals. Raises ValueTypeError if the column cannot hold one."""
    import numpy as np

    from parquet_bloom.orc.given_values import leaf_type, stored_values
    from parquet_bloom.values.given import encode_given

    unknown: dict[int, str] = {}
    owners: list[int] = []
    plain: list[bytes] = []
    if reason := never_absent(column):
        unknown = dict.fromkeys(range(len(values)), reason)
    else:
        leaf = leaf_type(column)
        for index, value in enumerate(values):
            encodings = encode_given(leaf, value)
            if encodings.unknown:
                unknown[index] = encodings.unknown
            owners += [index] * len(encodings.plain)
            plain += encodings.plain
    stored, of_each = stored_values(column, plain) if plain else None, np.array(owners, np.intp)
    if stored is not None:
        early = np.unique(of_each[_are_before_gregorian(column, stored)])
        unknown |= dict.fromkeys(early.tolist(), TWO_CALENDARS)
    return GivenValues(column, len(values), stored, of_each, unknown)


def key_hashes(column: OrcColumn, values: Sequence[Any], key_form: KeyForm) -> KeyHashes:
    """The hashes of values and literals. Raises as given_values."""
    return given_values(column, values).hashes(key_form)


def _variants(column: OrcColumn, stored: Values, key_form: KeyForm) -> Hashes:
    """The hashes of each value: shape (n, variants)."""
    import numpy as np

    hashes = lookup_hashes(column, stored, key_form)
    if column.kind != "CHAR" or not isinstance(stored, Texts):
        return hashes
    # Engines that trim a CHAR, such as Trino, may hash it without its padding.
    return np.column_stack([hashes, text_hashes(stored)])


def _are_before_gregorian(column: OrcColumn, stored: Values) -> NDArray[np.bool_]:
    """For each value: shape (n,)."""
    import numpy as np

    if isinstance(stored, Times):
        return stored.millis < GREGORIAN * DAY
    if column.kind == "DATE" and isinstance(stored, Numbers):
        return np.asarray(stored.numbers < GREGORIAN)
    return np.zeros(len(stored), np.bool_)


def _hashed(column: OrcColumn, values: Values, key_form: KeyForm) -> Keys:
    match values:
        case Numbers() if column.kind in _AS_NUMBERS:
            return _wang(Keys(values.numbers), key_form)
        case Numbers() if column.kind in ("FLOAT", "DOUBLE"):
            import numpy as np

            # A signaling NaN becomes a quiet one.
            with np.errstate(invalid="ignore"):
                doubles = values.numbers.astype("f8")
            return _wang(_double_bits(doubles), key_form)
        case Texts() if column.kind == "CHAR":
            return Keys(_char_hashes(column, values))
        case Texts():
            return Keys(text_hashes(values))
        case Decimals():
            return Keys(_kernel.hive64_decimals(array_of(values.held).view("u1"), values.scale))
        case Times():
            return _wang(_time_keys(column, values, key_form), key_form)
    raise UnsupportedError(f"{column.kind}: values have no keys")


def _time_keys(column: OrcColumn, values: Times, key_form: KeyForm) -> Keys:
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


def _wang(keys: Keys, key_form: KeyForm) -> Keys:
    import numpy as np

    wang = _kernel.wang_logical if key_form.logical_shifts else _kernel.wang

    def hashed(numbers: Held) -> Hashes:
        return wang(np.ascontiguousarray(numbers, np.int64))

    others = [(positions, hashed(further)) for positions, further in keys.others]
    return Keys(hashed(keys.numbers), others)


def _double_bits(numbers: NDArray[np.float64]) -> Keys:
    """Java hashes every NaN as the canonical one, C++ the bits as they are."""
    import numpy as np

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


def text_hashes(values: Texts) -> Hashes:
    """The hash of each value."""
    return _kernel.hive64_slices(values.data, values.starts, 0)
