"""Values that are expected to be looked up: drawn from the stored ones, or given by the user.

Stored values are drawn by their hashes: the smallest hashes are the same in every group and file,
so one pass tells which groups hold these values, and every distinct value has the same chance.

Groups are read by several threads, each into a part of its own (`begin`, `add`); `finish` merges a
part into a whole and is called by one thread. Each file has a sample of its own (`for_next_file`), which
is merged if the file can be read to its end. What is kept follows from the groups alone, in whatever
order and by way of whatever samples they were merged.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from io import StringIO
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice import ndv
from parquet_bloom.advice.lookups import LookUps, MinMax, from_units, in_units, may_hold
from parquet_bloom.advice.ndv import ALL_HASHES
from parquet_bloom.advice.order import Keys, OrderKey
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.values.given import DELIMITERS, is_like_header
from parquet_bloom.vocabulary import BEYOND_BITS, NOT_HELD

# The default number of distinct stored values to draw from each column.
LIMIT = 4096

# A place behind those of all integers that a column can hold.
BEYOND_ALL: Final = 1 << 64

# The places in the column's order of the values at some positions.
KeysAt = Callable[[NDArray[np.intp]], Keys]

# A number for each of some values, or one for all of them.
Counted = NDArray[np.int64] | int


@dataclass(frozen=True, slots=True)
class CountedValues:
    """What is known of the values of a sample, in fields of the same length: `ids`, uint64, their hashes or
    what they are in GivenSample; their keys; how many groups hold each, int64; and the sums of the FPPs of
    their filters in FPP_UNITs, int64: of those that `build` would write, and of those that are there."""

    ids: NDArray[np.uint64]
    keys: Keys
    held: NDArray[np.int64]
    held_fpp: NDArray[np.int64]
    held_fpp_there: NDArray[np.int64]


class StoredSample:
    """The values of a column with the smallest hashes, and which groups hold them."""

    def __init__(self, is_ordered: bool, limit: int = LIMIT) -> None:
        """`is_ordered`: the type has an order, and values without a place in it are left out."""
        self.is_ordered = is_ordered
        self.limit = limit
        # What was merged since the last `_shrink`: hashes, keys where they were read, how many groups hold each,
        # and the sums of the FPPs of their filters, in FPP_UNITs.
        self._new: list[tuple[NDArray[np.uint64], Keys, Counted, Counted, Counted]] = []
        self._num_new = 0
        # The rest: hashes in ascending order, and the same of each value.
        self._hashes = np.empty(0, np.uint64)
        self._keys = Keys.none(0)
        self._held = np.empty(0, np.int64)
        self._held_fpp = np.empty(0, np.int64)
        self._held_fpp_there = np.empty(0, np.int64)
        # Hashes from here on can no longer be among the smallest.
        self._threshold = ALL_HASHES
        # Hashes that the sample has that this one will be merged into, and their keys.
        self._known_elsewhere = np.empty(0, np.uint64)
        self._keys_elsewhere = Keys.none(0)

    def for_next_file(self) -> StoredSample:
        """A sample that is merged into this one, and leaves out what this one is known to drop or has."""
        found = StoredSample(self.is_ordered, self.limit)
        found._threshold = self._threshold
        found._known_elsewhere, found._keys_elsewhere = self._hashes, self._keys
        return found

    def searched(self, is_found: bool) -> StoredSample:
        """Another, of what a search of dictionaries finds in the groups so far: each value of theirs, or none."""
        counted = self.counted
        held, none = counted.held.copy(), np.zeros_like(counted.held)
        found = replace(
            counted,
            held=held if is_found else none,
            held_fpp=none.copy(),
            held_fpp_there=none.copy(),
        )
        return StoredSample.of(found, self.is_ordered, self.limit)

    def begin(self, below: int = ALL_HASHES) -> StoredPart:
        """`below`: hashes from here on are known not to be among the smallest of the column."""
        return StoredPart(self, min(below, self._threshold))

    def begin_entries(self, bounds: MinMax | None) -> StoredPart:
        """For the entries of a dictionary, some of which these bounds may rule out: those of the rows."""
        return StoredPart(self, self._threshold, bounds)

    def add_group(
        self,
        hashes: NDArray[np.uint64],
        keys: Keys,
        held: Counted,
        fpp: float = 0.0,
        fpp_there: float = 0.0,
    ) -> None:
        """Add the values of a group: at least the smallest of its hashes, distinct, up to the limit, with
        `keys` where they are not known already; `held`: 1 for each that counts."""
        self._add(hashes, keys, held, in_units(fpp), in_units(fpp_there))

    def merge(self, other: StoredSample) -> None:
        """Add what another sample of the same limit has seen."""
        other._shrink()
        self._add(other._hashes, other._keys, other._held, other._held_fpp, other._held_fpp_there)
        # The next file can leave out more. Not after each: that takes as long as so many values.
        if self._num_new > self.limit:
            self._shrink()

    def _add(
        self,
        hashes: NDArray[np.uint64],
        keys: Keys,
        held: Counted,
        held_fpp: Counted,
        held_fpp_there: Counted,
    ) -> None:
        self._new.append((hashes, keys, held, held_fpp, held_fpp_there))
        self._num_new += hashes.size
        if self._num_new > 4 * self.limit:
            self._shrink()

    def knows(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Of which hashes the keys need not be read again."""
        return _are_among(self._hashes, hashes) | _are_among(self._known_elsewhere, hashes)

    def with_known(self, hashes: NDArray[np.uint64], keys: Keys) -> Keys:
        """The keys of these hashes, with those that need not be read again."""
        for known, its_keys in (
            (self._known_elsewhere, self._keys_elsewhere),
            (self._hashes, self._keys),
        ):
            missing = np.flatnonzero(~keys.is_known & _are_among(known, hashes))
            places = np.arange(len(keys))
            places[missing] = len(keys) + np.arange(missing.size)
            its = its_keys.at(np.searchsorted(known, hashes[missing]))
            keys = Keys.joined([keys, its]).at(places)
        return keys

    def pack(self) -> None:
        """Save memory until the next group comes; a few values take little as they are."""
        if self._num_new > self.limit // 8:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the smallest. Groups that gave only their own smallest have given all of these."""
        if not self._new:
            return
        all_hashes, all_keys, *counted = zip(*self._new, strict=True)
        hashes = np.concatenate([self._hashes, *all_hashes])
        keys = Keys.joined([self._keys, *all_keys])
        sizes = [part.size for part in all_hashes]
        self._new, self._num_new = [], 0

        alike = _Alike.of(hashes, self.limit)
        self._hashes, self._keys = hashes[alike.first], alike.keys(keys)
        so_far = (self._held, self._held_fpp, self._held_fpp_there)
        self._held, self._held_fpp, self._held_fpp_there = (
            alike.sums(np.concatenate([before, *map(_each, new, sizes)]))
            for before, new in zip(so_far, counted, strict=True)
        )
        if self._hashes.size == self.limit:
            self._threshold = int(self._hashes[-1]) + 1

    def look_ups(self) -> LookUps:
        """Each value once."""
        self._shrink()
        is_asked = self._keys.is_known | (not self.is_ordered)
        keys = self._keys.at(is_asked)
        return LookUps(
            keys=keys,
            times=np.ones(len(keys), np.int64),
            held=self._held[is_asked],
            held_fpp=from_units(self._held_fpp[is_asked]),
            held_fpp_there=from_units(self._held_fpp_there[is_asked]),
        )

    def found_in(self, searched: StoredSample) -> NDArray[np.int64]:
        """What the other has counted of each value of look_ups, -1 where it has left it out for smaller ones."""
        self._shrink()
        is_asked = self._keys.is_known | (not self.is_ordered)
        hashes, others = self._hashes[is_asked], searched.counted
        found = np.full(hashes.size, -1, np.int64)
        is_there = _are_among(others.ids, hashes)
        found[is_there] = others.held[np.searchsorted(others.ids, hashes[is_there])]
        return found

    @property
    def counted(self) -> CountedValues:
        """All that it has seen."""
        self._shrink()
        return CountedValues(
            self._hashes, self._keys, self._held, self._held_fpp, self._held_fpp_there
        )

    @classmethod
    def of(cls, counted: CountedValues, is_ordered: bool, limit: int) -> StoredSample:
        """What has seen this."""
        found = cls(is_ordered, limit)
        found._hashes, found._keys = counted.ids, counted.keys
        found._held, found._held_fpp = counted.held, counted.held_fpp
        found._held_fpp_there = counted.held_fpp_there
        if counted.ids.size == limit:
            found._threshold = int(counted.ids[-1]) + 1
        return found


def _each(counted: Counted, size: int) -> NDArray[np.int64]:
    return np.full(size, counted, np.int64) if isinstance(counted, int) else counted


@dataclass(frozen=True, slots=True)
class _Alike:
    """The smallest of some hashes, each once: `order`, of all that are one of them, in which equal ones follow
    each other, and where each of them begins there."""

    order: NDArray[np.intp]
    begins: NDArray[np.intp]

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], limit: int) -> Self:
        """A stable sort merges parts that are ascending."""
        order = np.argsort(hashes, kind="stable")
        begins = np.flatnonzero(ndv.are_new(hashes[order]))
        if begins.size > limit:
            order = order[: begins[limit]]
        return cls(order, begins[:limit])

    @property
    def first(self) -> NDArray[np.intp]:
        """A place of each."""
        return self.order[self.begins]

    def sums(self, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        """What was counted of each, at all its places."""
        return np.add.reduceat(counted[self.order], self.begins)

    def keys(self, keys: Keys) -> Keys:
        """The key of each if one of its places has it: they would all be the same."""
        known = np.where(keys.is_known[self.order], self.order, -1)
        place = np.maximum.reduceat(known, self.begins)
        return Keys(keys.values[place], place >= 0)


class StoredPart:
    """The smallest hashes of one group, or of the entries of its dictionary."""

    def __init__(self, whole: StoredSample, threshold: int, bounds: MinMax | None = None) -> None:
        """`bounds`: of the rows, where the values are not all of these."""
        self._whole = whole
        self._threshold = threshold
        self._bounds = bounds
        # In ascending order, with the keys of those that the whole does not know.
        self._hashes = np.empty(0, np.uint64)
        self._keys = Keys.none(0)

    def add(
        self, hashes: NDArray[np.uint64], smallest: NDArray[np.uint64], keys_at: KeysAt
    ) -> None:
        """Add the hashes of the next values, of which the `smallest` are known: ascending, each once; `keys_at` gives
        keys by position."""
        limit, threshold = self._whole.limit, self._threshold
        if smallest.size > limit:
            # To sort few with their positions takes much less than to sort all.
            threshold = min(threshold, int(smallest[limit]))
        below = np.flatnonzero(hashes < np.uint64(threshold))
        # np.unique takes twice as long to tell the first position of each.
        order = below[np.argsort(hashes[below])]
        is_new = ndv.are_new(hashes[order])
        positions = order[is_new][:limit]
        smallest = hashes[positions]
        keys = self._keys_read(smallest, positions, keys_at)
        # Most groups have one page.
        if self._hashes.size:
            smallest = np.concatenate([self._hashes, smallest])
            alike = _Alike.of(smallest, limit)
            smallest = smallest[alike.first]
            keys = alike.keys(Keys.joined([self._keys, keys]))
        self._hashes, self._keys = smallest, keys
        if self._hashes.size == limit:
            self._threshold = int(self._hashes[-1]) + 1

    def _keys_read(
        self, hashes: NDArray[np.uint64], positions: NDArray[np.intp], keys_at: KeysAt
    ) -> Keys:
        """Groups often repeat each other's values; keys of texts take much longer than their hashes."""
        if not self._whole.is_ordered:
            return Keys.none(hashes.size)
        is_new = ~(self._whole.knows(hashes) | _are_among(self._hashes, hashes))
        if not is_new.any():
            return Keys.none(hashes.size)
        found = keys_at(positions[is_new])
        is_new[is_new] = found.is_known
        return Keys.spread(found.known, is_new)

    def finish(self, whole: StoredSample, fpp: float, fpp_there: float) -> None:
        """Merge the group into the whole that it began with; `fpp`: of its filter, `fpp_there`: of the one that is
        there already."""
        whole.add_group(self._hashes, self._keys, 1, fpp, fpp_there)

    def finish_search(self, searched: StoredSample, is_found: bool) -> None:
        """Merge the group into what a search of dictionaries finds; `is_found`: in that of this group."""
        held: Counted = int(is_found)
        if is_found and self._bounds is not None:
            keys = self._whole.with_known(self._hashes, self._keys)
            held = may_hold(self._bounds, keys).astype(np.int64)
        searched.add_group(self._hashes, self._keys, held)


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

    @classmethod
    def without_hashes(cls, reason: str) -> Self:
        """A value whose stored bytes cannot be listed, for this reason: one that no row can hold is held by no group,
        whatever the filters, and an integer of too many bits is beyond all ranges, too."""
        return cls((), BEYOND_ALL if reason == BEYOND_BITS else None, reason not in NOT_HELD)


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
        self._keys = Keys.of([each.key for each in values])
        self._times = np.array(times, np.int64)
        self._held = np.zeros(len(values), np.int64)
        self._held_fpp = np.zeros(len(values), np.int64)
        self._held_fpp_there = np.zeros(len(values), np.int64)

    def for_next_file(self) -> GivenSample:
        """The same values, of which nothing is counted yet."""
        found = copy(self)
        found._held, found._held_fpp = np.zeros_like(self._held), np.zeros_like(self._held_fpp)
        found._held_fpp_there = np.zeros_like(self._held_fpp)
        return found

    def searched(self, is_found: bool) -> GivenSample:
        """See StoredSample."""
        found = self.for_next_file()
        if is_found:
            found._held = self._held.copy()
        return found

    def begin(self, below: int = ALL_HASHES) -> GivenPart:
        """Given values are looked for whatever their hashes."""
        return GivenPart(self)

    def begin_entries(self, bounds: MinMax | None) -> GivenPart:
        """See StoredSample."""
        return GivenPart(self, bounds)

    def add_group(
        self,
        found: NDArray[np.bool_],
        fpp: float = 0.0,
        fpp_there: float = 0.0,
        bounds: MinMax | None = None,
    ) -> None:
        """Add a group in which these of the hashes were found, as far as its bounds leave them."""
        upto = np.concatenate([[0], np.cumsum(found[self._place])])
        is_held = (upto[self._ends] > upto[self._starts]) | self._is_unknown
        is_held &= may_hold(bounds, self._keys)
        self._held[is_held] += 1
        self._held_fpp[is_held] += in_units(fpp)
        self._held_fpp_there[is_held] += in_units(fpp_there)

    def merge(self, other: GivenSample) -> None:
        """Add what was counted of the same values elsewhere."""
        self._held = self._held + other._held
        self._held_fpp = self._held_fpp + other._held_fpp
        self._held_fpp_there = self._held_fpp_there + other._held_fpp_there

    def pack(self) -> None:
        """There is no memory to save."""

    def look_ups(self) -> LookUps:
        fpps = from_units(self._held_fpp), from_units(self._held_fpp_there)
        return LookUps(self._keys, self._times, self._held, *fpps)

    def found_in(self, searched: GivenSample) -> NDArray[np.int64]:
        """See StoredSample."""
        return searched._held

    @property
    def counted(self) -> CountedValues:
        """All that it has seen; in the place of hashes is how often each value is looked up."""
        times = self._times.astype(np.uint64)
        return CountedValues(times, self._keys, self._held, self._held_fpp, self._held_fpp_there)

    @classmethod
    def of(cls, counted: CountedValues) -> GivenSample:
        """What has seen this. It can be merged, but finds nothing more: it has no hashes."""
        values = [GivenValue((), key, False) for key in counted.keys.tolist()]
        found = cls(values, counted.ids.tolist())
        found._held, found._held_fpp = counted.held, counted.held_fpp
        found._held_fpp_there = counted.held_fpp_there
        return found


class GivenPart:
    """Which of the given hashes one group has."""

    def __init__(self, whole: GivenSample, bounds: MinMax | None = None) -> None:
        self._whole = whole
        self._bounds = bounds
        self._found = np.zeros(whole.hashes.size, np.bool_)

    def add(
        self, hashes: NDArray[np.uint64], smallest: NDArray[np.uint64], keys_at: KeysAt
    ) -> None:
        """See StoredPart."""
        given = self._whole.hashes
        if given.size:
            at = np.searchsorted(given, hashes)
            at[at == given.size] = 0
            self._found[at[given[at] == hashes]] = True

    def finish(self, whole: GivenSample, fpp: float, fpp_there: float) -> None:
        """See StoredPart."""
        whole.add_group(self._found, fpp, fpp_there)

    def finish_search(self, searched: GivenSample, is_found: bool) -> None:
        """See StoredPart."""
        if is_found:
            searched.add_group(self._found, bounds=self._bounds)


Sample = StoredSample | GivenSample
SamplePart = StoredPart | GivenPart


# ------------------------------------------------------------------------------------------------
# The file of given values


def read_value_sample(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """The literals for each column, as often as they occur in the file (UTF-8 text).

    If `columns` names one column, each line is one of its values. Otherwise the file is CSV and its first line names
    columns, as it does if it is called .csv or .tsv, or that line has the name of this one column. Empty lines and
    cells are left out. Raises ColumnError if that line is missing, names none of `columns` or a column twice, or if a
    line has too many cells; ValueTypeError if the file is not text, or a column has no values; OSError.
    """
    where = os.fspath(path)
    delimiter = DELIMITERS.get(os.path.splitext(where.lower())[1])
    try:
        # Spreadsheets put a byte order mark in front.
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
        # Unicode has more ends of lines than files do; a value may have one of those.
        lines = text.replace("\r\n", "\n").split("\n")
        if len(columns) == 1 and delimiter is None and not is_like_header(lines[0], columns):
            values = {columns[0]: [line for line in lines if line]}
        else:
            rows = csv.DictReader(
                StringIO(text, newline=""), delimiter=delimiter or ",", strict=True
            )
            values = _read_csv(where, rows, columns)
    except UnicodeDecodeError as error:
        raise ValueTypeError(f"{where}: byte {error.start}: expected UTF-8") from None
    except csv.Error as error:
        raise ValueTypeError(f"{where}: expected CSV: {error}") from None
    for column, literals in values.items():
        if not literals:
            raise ValueTypeError(f"{where}: no values for column {column}, expected at least one")
    return values


def _read_csv(path: str, rows: csv.DictReader[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Of one column, the values of this one alone."""
    names = [name for name in rows.fieldnames or () if name]
    if not names:
        raise ColumnError(f"{path}: line 1: expected the names of columns")
    if columns and not set(columns) & set(names):
        # Such as a list of values of one column.
        lines = "; if it is a value, do not call the file .csv" if len(columns) == 1 else ""
        raise ColumnError(
            f"{path}: line 1: {names[0]}: expected names of {', '.join(columns)}{lines}"
        )
    if len(set(names)) < len(names):
        raise ColumnError(f"{path}: line 1: a column is named twice")
    if len(columns) == 1:
        names = [*columns]
    values: dict[str, list[str]] = {name: [] for name in names}
    for row in rows:
        if None in row:
            raise ColumnError(f"{path}: line {rows.line_num}: more cells than columns in line 1")
        for name in names:
            if row[name]:
                values[name].append(row[name])
    return values
