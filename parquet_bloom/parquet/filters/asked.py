"""Values to look up in the filters of a leaf column: what may be stored for each, and its hashes.

A few values are encoded one by one and looked up block by block. Many are encoded, hashed and looked
up all at once:

    stored    | bytes for value 0 | bytes for value 1 | … | bytes for value n - 1 | further bytes |
    owners    | 0                 | 1                 | … | n - 1                 | 0 … n - 1     |

NaN and nulls have no bytes, and their verdict is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, Final

from parquet_bloom.container.asked_once import AskedOnce
from parquet_bloom.container.doubts import Doubts
from parquet_bloom.dataclass import dataclass
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.footer.value_order import key_of, number_kind
from parquet_bloom.parquet.pages.runs import FixedRun, Run, run_of
from parquet_bloom.values.encode import NAN, Encodings, integer_range
from parquet_bloom.values.given import picked, python_values
from parquet_bloom.values.literals import encode_given
from parquet_bloom.values.types import LeafType, zeros
from parquet_bloom.vocabulary import NOT_HELD

# From here on, it pays to import numpy and to read filters whole.
MANY: Final = 256


class Asked:
    """Values to look up. Raises ValueTypeError if the column cannot hold one of them, even where
    there is no filter."""

    def __init__(self, leaf: LeafType, values: Sequence[Any] | Array) -> None:
        self._leaf = leaf
        self._values = values
        if self.is_many:
            self.unknown: Mapping[int, str] = self.stored.unknown
        else:
            self.unknown = _unknown(self.encodings)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def is_many(self) -> bool:
        return len(self) >= MANY

    @read_once
    def doubts(self) -> Doubts:
        return Doubts(len(self), self.unknown, self.is_many)

    @read_once
    def values(self) -> Sequence[Any]:
        """Those that are asked, as reports have them."""
        return python_values(self._values)

    @read_once
    def encodings(self) -> Sequence[Encodings]:
        return [encode_given(self._leaf, value) for value in self._values]

    @read_once
    def stored(self) -> Stored:
        return stored_of(self._leaf, self._values)

    @property
    def plain(self) -> Iterable[bytes]:
        """All that may be stored for any of them."""
        if self.is_many:
            return self.stored.run.values()
        return [each for encodings in self.encodings for each in encodings.plain]

    @read_once
    def keys(self) -> Sequence[Any] | None:
        """The places of all that in the order of the type, ascending; None if it has none. Of many numbers an array,
        which takes a fifth of the memory. NaN has no place."""
        key = key_of(self._leaf)
        if key is None:
            return None
        if self._numbers is not None:
            return self._in_order(self._numbers)
        found: list[Any] = [key(each) for each in self.plain]
        # No bytes at all, which are a zero of DECIMAL, have no place; others are the same zero.
        return sorted(each for each in found if each is not None)

    @read_once
    def in_order(self) -> tuple[Sequence[Any], Sequence[int]] | None:
        """`keys`, and for each the position of what has it among all that may be stored; None unless all have one."""
        if (numbers := self._numbers) is not None:
            order: Any = np.argsort(numbers, kind="stable")
            return numbers[order], order
        key = key_of(self._leaf)
        keys: list[Any] = [] if key is None else [key(each) for each in self.plain]
        if not keys or None in keys:
            return None
        positions = sorted(range(len(keys)), key=lambda at: keys[at])
        return [keys[at] for at in positions], positions

    def keys_at(self, positions: Sequence[int]) -> Sequence[Any] | None:
        """The same of some of the values, by their positions; None also if one is unknown."""
        doubted = {at for at, why in self.unknown.items() if why not in NOT_HELD}
        if not doubted.isdisjoint(positions):
            return None
        numbers = self._numbers
        if numbers is None:
            return Asked(self._leaf, picked(self._values, positions)).keys
        if (owners := self.stored.owners) is None:
            return self._in_order(numbers[positions])
        are_asked = np.zeros(len(self), np.bool_)
        are_asked[positions] = True
        return self._in_order(numbers[are_asked[owners]])

    @read_once
    def _numbers(self) -> Array | None:
        """All that may be stored for many numbers; None for others."""
        kind = number_kind(self._leaf)
        if not self.is_many or not kind or not isinstance(self.stored.run, FixedRun):
            return None
        return self.stored.run.numbers(kind)

    def _in_order(self, numbers: Array) -> Sequence[Any]:
        in_order: Any = np.sort(numbers)
        end = np.searchsorted(in_order, np.nan) if self._leaf.is_float else len(in_order)
        known: Sequence[Any] = in_order[:end]
        return known


asked_of: Final[AskedOnce[LeafType, Asked]] = AskedOnce(Asked)


@dataclass(frozen=True)
class Stored:
    """All bytes that may be stored for `num_values` values. `owners`: the value that each item of the
    run belongs to, None for one item each. `unknown`: why some values cannot be looked up."""

    num_values: int
    run: Run
    owners: NDArray[np.intp] | None = None
    unknown: Mapping[int, str] = field(default_factory=dict)

    @read_once
    def hashes(self) -> NDArray[np.uint64]:
        """The XXH64 of each item of the run, for all filters."""
        return self.run.hashes()

    def found(self, hits: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether anything that may be stored for a value was hit: shape (num_values,), of hits in
        the run. Those that are unknown count as found, unless the column does not hold them."""
        if self.owners is None:
            return hits
        found = np.zeros(self.num_values, np.bool_)
        found[self.owners[hits]] = True
        found[[at for at, why in self.unknown.items() if why not in NOT_HELD]] = True
        return found


def stored_of(leaf: LeafType, values: Sequence[Any] | Array) -> Stored:
    """Raises ValueTypeError for a value that the column cannot hold."""
    array = values if isinstance(values, np.ndarray) else _numbers(values)
    if array is not None and _are_integers(leaf, array):
        return Stored(array.size, _fixed(array.astype(f"<{_kind(leaf)}{leaf.width}")))
    if array is not None and leaf.wide is None and _are_floats(leaf, array):
        return _floats(array.astype(f"<f{leaf.width}"))
    if leaf.physical == "BYTE_ARRAY" and leaf.logical_name != "DECIMAL":
        texts = _texts(values)
        if texts is not None:
            return Stored(len(texts), run_of(texts, None))
    encodings = [encode_given(leaf, value) for value in values]
    plain = [each for encoding in encodings for each in encoding.plain]
    owners = np.repeat(np.arange(len(values)), [len(each.plain) for each in encodings])
    return Stored(len(values), run_of(plain, leaf.width), owners, _unknown(encodings))


def _unknown(encodings: Sequence[Encodings]) -> dict[int, str]:
    return {index: each.unknown for index, each in enumerate(encodings) if each.unknown}


def _numbers(values: Sequence[Any]) -> Array | None:
    """Integers or floats of Python, or short floats of numpy, as an array; None if there is anything else, or they do
    not fit."""
    kinds = set(map(type, values))
    if kinds in ({np.float32}, {np.float16}):
        return np.array(values)
    if kinds not in ({int}, {float}):
        return None
    # np.array takes four times as long, and makes rounded floats of integers of 64 bits and more.
    for dtype in (np.int64, np.uint64) if kinds == {int} else (np.float64,):
        with suppress(OverflowError):
            return np.fromiter(values, dtype, len(values))
    return None


def _kind(leaf: LeafType) -> str:
    return "i" if leaf.logical is None or leaf.logical.signed else "u"


def _are_integers(leaf: LeafType, values: Array) -> bool:
    if values.dtype.kind not in "iu" or leaf.logical_name not in ("", "INTEGER"):
        return False
    if leaf.physical not in ("INT32", "INT64"):
        return False
    low, high = integer_range(leaf)
    return values.size == 0 or low <= int(values.min()) <= int(values.max()) <= high


def _are_floats(leaf: LeafType, values: Array) -> bool:
    if values.dtype.kind != "f" or leaf.physical not in ("FLOAT", "DOUBLE"):
        return False
    if values.dtype.itemsize > 8:
        # One by one, they become floats first: all at once, some would be rounded otherwise.
        return False
    limit = np.finfo(f"f{leaf.width}").max
    return bool((np.abs(values[np.isfinite(values)]) <= limit).all())


def _fixed(values: Array) -> FixedRun:
    return FixedRun(memoryview(values.tobytes()), values.itemsize)


def _floats(values: Array) -> Stored:
    """Both zeros count as one value, and NaN may be any of its encodings."""
    (known,) = np.nonzero(~np.isnan(values))
    (zero,) = np.nonzero(values == 0)
    others = np.frombuffer(b"".join(zeros(values.itemsize)), values.dtype)
    items = np.concatenate([values[known], np.repeat(others, zero.size)])
    owners = np.concatenate([known, np.tile(zero, len(others))])
    unknown = np.flatnonzero(np.isnan(values)).tolist()
    return Stored(values.size, _fixed(items), owners, dict.fromkeys(unknown, NAN))


def _texts(values: Iterable[Any]) -> list[bytes] | None:
    """Text as UTF-8 and bytes as they are; None if there is anything else."""
    try:
        return [value if isinstance(value, bytes) else str.encode(value) for value in values]
    except (TypeError, UnicodeEncodeError):
        return None
