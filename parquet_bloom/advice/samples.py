"""Values that are expected to be looked up: drawn from the stored ones, or given by the user.

Stored values are drawn by their hashes: the smallest hashes are the same in every group and file,
so one pass tells which groups hold these values, and every distinct value has the same chance.

Groups are read by several threads, each into a part of its own (`begin`, `add`); `finish` merges a
part into the whole and is called by one thread. Each file has a sample of its own (`for_next_file`), which
is merged if the file can be read to its end. What is kept follows from the groups alone, in whatever
order and by way of whatever samples they were merged.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import LookUps, OrderKey, from_units, in_units
from parquet_bloom.advice.ndv import ALL_HASHES
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, ValueTypeError

# The default number of distinct stored values to draw from each column.
LIMIT = 4096

# The places in the column's order of the values at some positions, None for values without one.
KeysAt = Callable[[Iterable[int]], Iterable[OrderKey | None]]

# A number for each of some values, or one for all of them.
Counted = NDArray[np.int64] | int


@dataclass(frozen=True, slots=True)
class CountedValues:
    """What is known of the values of a sample, in fields of the same length: `ids`, uint64, their hashes or
    what they are in GivenSample; their keys; how many groups hold each, int64; and the sum of the FPPs of
    their filters in FPP_UNITs, int64."""

    ids: NDArray[np.uint64]
    keys: Sequence[OrderKey | None]
    held: NDArray[np.int64]
    held_fpp: NDArray[np.int64]


class StoredSample:
    """The values of a column with the smallest hashes, and which groups hold them."""

    def __init__(self, is_ordered: bool, limit: int = LIMIT) -> None:
        """`is_ordered`: the type has an order, and values without a place in it are left out."""
        self.is_ordered = is_ordered
        self.limit = limit
        # What was merged since the last `_shrink`: hashes, how many groups hold each, and the sum of the
        # FPPs of their filters, in FPP_UNITs; and keys by hash.
        self._new: list[tuple[NDArray[np.uint64], Counted, Counted]] = []
        self._new_keys: dict[int, OrderKey | None] = {}
        self._num_new = 0
        # The rest: hashes in ascending order, and the same of each value.
        self._hashes = np.empty(0, np.uint64)
        self._keys: list[OrderKey | None] = []
        self._held = np.empty(0, np.int64)
        self._held_fpp = np.empty(0, np.int64)
        # Hashes from here on can no longer be among the smallest.
        self._threshold = ALL_HASHES
        # Hashes whose keys the sample has that this one will be merged into.
        self._known_elsewhere = np.empty(0, np.uint64)

    def for_next_file(self) -> StoredSample:
        """A sample that is merged into this one, and leaves out what this one is known to drop or has."""
        found = StoredSample(self.is_ordered, self.limit)
        found._threshold, found._known_elsewhere = self._threshold, self._hashes
        return found

    def begin(self, below: int = ALL_HASHES) -> StoredPart:
        """`below`: hashes from here on are known not to be among the smallest of the column."""
        return StoredPart(self, min(below, self._threshold))

    def add_group(
        self, hashes: NDArray[np.uint64], keys: Mapping[int, OrderKey | None], fpp: float
    ) -> None:
        """Add the values of a group: at least the smallest of its hashes, distinct, up to the limit.
        `keys`: by hash, of those whose keys are not known."""
        self._add(hashes, 1, in_units(fpp), keys)

    def merge(self, other: StoredSample) -> None:
        """Add what another sample of the same limit has seen."""
        other._shrink()
        keys = zip(other._hashes.tolist(), other._keys, strict=True)
        known = {hash: key for hash, key in keys if key is not None}
        self._add(other._hashes, other._held, other._held_fpp, known)
        # The next file can leave out more. Not after each: that takes as long as so many values.
        if self._num_new > self.limit:
            self._shrink()

    def _add(
        self,
        hashes: NDArray[np.uint64],
        held: Counted,
        held_fpp: Counted,
        keys: Mapping[int, OrderKey | None],
    ) -> None:
        self._new.append((hashes, held, held_fpp))
        self._new_keys |= keys
        self._num_new += hashes.size
        if self._num_new > 16 * self.limit:
            self._shrink()

    def knows(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Of which hashes the keys need not be read again."""
        return _are_among(self._hashes, hashes) | _are_among(self._known_elsewhere, hashes)

    def pack(self) -> None:
        """Save memory until the next group comes; a few values take little as they are."""
        if self._num_new > self.limit // 8:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the smallest. Groups that gave only their own smallest have given all of these."""
        if not self._new:
            return
        hashes = np.concatenate([self._hashes, *(part for part, _, _ in self._new)])
        parts = [np.broadcast_to(held, part.size) for part, held, _ in self._new]
        held = np.concatenate([self._held, *parts])
        fpps = [np.broadcast_to(fpp, part.size) for part, _, fpp in self._new]
        held_fpp = np.concatenate([self._held_fpp, *fpps])
        keys = dict(zip(self._hashes.tolist(), self._keys, strict=True)) | self._new_keys
        self._new, self._new_keys, self._num_new = [], {}, 0

        distinct, place = np.unique(hashes, return_inverse=True)
        kept = slice(self.limit)
        self._keys = [keys.get(hash) for hash in distinct[kept].tolist()]
        self._held, self._held_fpp = _sums(place, held)[kept], _sums(place, held_fpp)[kept]
        self._hashes = distinct[kept].copy()
        if self._hashes.size == self.limit:
            self._threshold = int(self._hashes[-1]) + 1

    def look_ups(self) -> LookUps:
        """Each value once."""
        self._shrink()
        is_asked = [not self.is_ordered or key is not None for key in self._keys]
        return LookUps(
            keys=[key for key, asked in zip(self._keys, is_asked, strict=True) if asked],
            times=np.ones(sum(is_asked), np.int64),
            held=self._held[is_asked],
            held_fpp=from_units(self._held_fpp[is_asked]),
        )

    @property
    def counted(self) -> CountedValues:
        """All that it has seen."""
        self._shrink()
        return CountedValues(self._hashes, self._keys, self._held, self._held_fpp)

    @classmethod
    def of(cls, counted: CountedValues, is_ordered: bool, limit: int) -> StoredSample:
        """What has seen this."""
        found = cls(is_ordered, limit)
        found._hashes, found._keys = counted.ids, list(counted.keys)
        found._held, found._held_fpp = counted.held, counted.held_fpp
        if counted.ids.size == limit:
            found._threshold = int(counted.ids[-1]) + 1
        return found


def _sums(place: NDArray[np.intp], counted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum for each place from 0. np.bincount would add floating-point numbers, whose sum depends on
    the order."""
    sums = np.zeros(int(place.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, place, counted)
    return sums


class StoredPart:
    """The smallest hashes of one group."""

    def __init__(self, whole: StoredSample, threshold: int) -> None:
        self._whole = whole
        self._threshold = threshold
        # In ascending order.
        self._hashes = np.empty(0, np.uint64)
        # Of those that the whole does not know.
        self._keys: dict[int, OrderKey | None] = {}

    def add(self, hashes: NDArray[np.uint64], keys_at: KeysAt) -> None:
        """Add the hashes of the next values; `keys_at` gives their keys by position."""
        limit = self._whole.limit
        below = np.flatnonzero(hashes < np.uint64(self._threshold))
        # np.unique takes twice as long to tell the first position of each.
        order = below[np.argsort(hashes[below])]
        is_new = ndv.are_new(hashes[order])
        # There can be millions; no more than the limit can be among the smallest.
        positions = order[is_new][:limit]
        smallest = hashes[positions]
        if self._whole.is_ordered:
            self._read_keys(smallest, positions, keys_at)
        # Most groups have one page.
        if self._hashes.size:
            smallest = np.union1d(self._hashes, smallest)[:limit]
        self._hashes = smallest
        if self._hashes.size == limit:
            self._threshold = int(self._hashes[-1]) + 1
            self._keys = {hash: key for hash, key in self._keys.items() if hash < self._threshold}

    def _read_keys(
        self, hashes: NDArray[np.uint64], positions: NDArray[np.intp], keys_at: KeysAt
    ) -> None:
        """Groups often repeat each other's values; their keys take much longer than their hashes."""
        is_new = ~(self._whole.knows(hashes) | _are_among(self._hashes, hashes))
        new = hashes[is_new].tolist()
        if new:
            self._keys |= zip(new, keys_at(positions[is_new].tolist()), strict=True)

    def finish(self, fpp: float) -> None:
        """Merge the group into the whole; `fpp`: of its filter."""
        self._whole.add_group(self._hashes, self._keys, fpp)


def _are_among(known: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the hashes are known, those in ascending order."""
    if not known.size:
        return np.zeros(hashes.size, np.bool_)
    found: NDArray[np.bool_] = (
        known[np.minimum(np.searchsorted(known, hashes), known.size - 1)] == hashes
    )
    return found


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that is looked up: the hashes it may have where it is stored, and its place in the
    order. `is_unknown`: it may have other hashes, too, so no filter can rule it out."""

    hashes: Sequence[int]
    key: OrderKey | None
    is_unknown: bool


class GivenSample:
    """Values given by the user, and which groups hold them."""

    def __init__(self, values: Sequence[GivenValue], times: Sequence[int]) -> None:
        """`times`: how often each of the values is looked up."""
        hashes = [hash for each in values for hash in each.hashes]
        self.hashes, self._place = np.unique(np.array(hashes, np.uint64), return_inverse=True)
        # The hashes of value i are at the places starts[i] to ends[i].
        counts = np.array([len(each.hashes) for each in values], np.int64)
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts
        self._is_unknown = np.array([each.is_unknown for each in values], np.bool_)
        self._keys = [each.key for each in values]
        self._times = np.array(times, np.int64)
        self._held = np.zeros(len(values), np.int64)
        self._held_fpp = np.zeros(len(values), np.int64)

    def for_next_file(self) -> GivenSample:
        """The same values, of which nothing is counted yet."""
        found = copy(self)
        found._held, found._held_fpp = np.zeros_like(self._held), np.zeros_like(self._held_fpp)
        return found

    def begin(self, below: int = ALL_HASHES) -> GivenPart:
        """Given values are looked for whatever their hashes."""
        return GivenPart(self)

    def add_group(self, found: NDArray[np.bool_], fpp: float) -> None:
        """Add a group in which these of the hashes were found."""
        upto = np.concatenate([[0], np.cumsum(found[self._place])])
        is_held = (upto[self._ends] > upto[self._starts]) | self._is_unknown
        self._held[is_held] += 1
        self._held_fpp[is_held] += in_units(fpp)

    def merge(self, other: GivenSample) -> None:
        """Add what was counted of the same values elsewhere."""
        self._held = self._held + other._held
        self._held_fpp = self._held_fpp + other._held_fpp

    def pack(self) -> None:
        """There is no memory to save."""

    def look_ups(self) -> LookUps:
        return LookUps(self._keys, self._times, self._held, from_units(self._held_fpp))

    @property
    def counted(self) -> CountedValues:
        """All that it has seen; in the place of hashes is how often each value is looked up."""
        times = self._times.astype(np.uint64)
        return CountedValues(times, self._keys, self._held, self._held_fpp)

    @classmethod
    def of(cls, counted: CountedValues) -> GivenSample:
        """What has seen this. It can be merged, but finds nothing more: it has no hashes."""
        values = [GivenValue((), key, False) for key in counted.keys]
        found = cls(values, counted.ids.tolist())
        found._held, found._held_fpp = counted.held, counted.held_fpp
        return found


class GivenPart:
    """Which of the given hashes one group has."""

    def __init__(self, whole: GivenSample) -> None:
        self._whole = whole
        self._found = np.zeros(whole.hashes.size, np.bool_)

    def add(self, hashes: NDArray[np.uint64], keys_at: KeysAt) -> None:
        """See StoredPart."""
        given = self._whole.hashes
        if given.size:
            at = np.searchsorted(given, hashes)
            at[at == given.size] = 0
            self._found[at[given[at] == hashes]] = True

    def finish(self, fpp: float) -> None:
        self._whole.add_group(self._found, fpp)


Sample = StoredSample | GivenSample
SamplePart = StoredPart | GivenPart


# ------------------------------------------------------------------------------------------------
# The file of given values


def read_value_sample(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """The literals for each column, as often as they occur in the file (UTF-8 text).

    If `columns` names one column, each line is one of its values. Otherwise the file is CSV and its
    first line names columns. Empty lines and cells are left out. Raises ColumnError if that line is
    missing or names a column twice, or if a line has too many cells; ValueTypeError if the file is
    not text, or a column has no values; OSError.
    """
    where = os.fspath(path)
    try:
        # Spreadsheets put a byte order mark in front.
        with open(path, encoding="utf-8-sig", newline="") as file:
            if len(columns) == 1:
                # Unicode has more ends of lines than files do; a value may have one of those.
                lines = file.read().replace("\r\n", "\n").split("\n")
                values = {columns[0]: [line for line in lines if line]}
            else:
                values = _read_csv(where, csv.DictReader(file, strict=True))
    except UnicodeDecodeError as error:
        raise ValueTypeError(f"{where}: byte {error.start}: expected UTF-8") from None
    except csv.Error as error:
        raise ValueTypeError(f"{where}: expected CSV: {error}") from None
    for column, literals in values.items():
        if not literals:
            raise ValueTypeError(f"{where}: no values for column {column}, expected at least one")
    return values


def _read_csv(path: str, rows: csv.DictReader[str]) -> dict[str, list[str]]:
    names = [name for name in rows.fieldnames or () if name]
    if not names:
        raise ColumnError(f"{path}: line 1: expected the names of columns")
    if len(set(names)) < len(names):
        raise ColumnError(f"{path}: line 1: a column is named twice")
    values: dict[str, list[str]] = {name: [] for name in names}
    for row in rows:
        if None in row:
            raise ColumnError(f"{path}: line {rows.line_num}: more cells than columns in line 1")
        for name in names:
            if row[name]:
                values[name].append(row[name])
    return values
