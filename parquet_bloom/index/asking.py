"""What the segments of an index know of values: which files, row groups and pages may hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from parquet_bloom.container.asked_once import those_not_held
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import HASH_KEY, EncryptionError, MissingKeyError, ValueTypeError
from parquet_bloom.index.keys import MOST_PLACES, WIDE_PLACE_BITS
from parquet_bloom.index.kinds import AskedHashes, ManyHashes, asked_hashes, asked_hashes_among
from parquet_bloom.index.manifest import Manifest, Places, existing_and_lost
from parquet_bloom.index.opened import OpenLasting, OpenSegment
from parquet_bloom.index.units import Unit
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.storage import open_source
from parquet_bloom.storage.folder import Folder
from parquet_bloom.values.not_held import in_one_line
from parquet_bloom.vocabulary import NOT_HELD

if TYPE_CHECKING:
    from parquet_bloom.index.hash_key import HashKey

Numbers: TypeAlias = "list[int] | NDArray[np.int64]"

# Segments in a store that are asked at a time.
_AT_ONCE: Final = 16


class Hits:
    """Where values may be, as a segment that is still open has it. The i-th hit is of the value at position
    `values[i]`: in the unit `units[i]`, at its place `places[i]`, counted from 0. Ascending by values, lists of a
    few and arrays of many. `kind`: of the column in the segment."""

    def __init__(
        self, segment: OpenSegment, values: Numbers, units: Numbers, places: Numbers
    ) -> None:
        self.values, self.units, self.places = values, units, places
        self.kind = segment.about.kind
        # Those that have any, by their numbers. If there are none, the file of the units need not be opened.
        numbers = (
            {*units} if isinstance(units, list) else np.flatnonzero(np.bincount(units)).tolist()
        )
        self.distinct_units = segment.units.units(numbers) if numbers else {}

    @property
    def distinct_places(self) -> Iterator[tuple[Unit, int]]:
        """Unit and place of all hits, whatever the value, each once."""
        for number, place in {
            *zip(listed_numbers(self.units), listed_numbers(self.places), strict=True)
        }:
            yield self.distinct_units[number], place

    def named(self, name_of: Callable[[str], str]) -> Hits:
        """The same, as FoundValues.named."""
        hits = copy(self)
        hits.distinct_units = {
            number: _named(unit, name_of) for number, unit in self.distinct_units.items()
        }
        return hits


class NotHeld(NamedTuple):
    """Units whose column cannot hold some of the values, or where these cannot be looked up: why, by the positions of
    these."""

    units: list[Unit]
    problems: Mapping[int, str]


class FoundValues(NamedTuple):
    """`hits`: of each segment that was asked; `unknown`: units of which nothing is known; `unknown_parts`: the same
    of single row groups; `not_held`: units of which nothing is known about some of the values; `not_asked`: those of
    the values that cannot be looked up, as NaN, and why."""

    hits: list[Hits]
    unknown: list[Unit]
    unknown_parts: list[Unit]
    not_held: list[NotHeld]
    not_asked: dict[int, str]

    @property
    def unknown_of_some(self) -> Iterator[Unit]:
        """Units of which nothing is known about some of the values, or about all."""
        yield from self.unknown
        for each in self.not_held:
            yield from each.units

    @property
    def units(self) -> Iterator[Unit]:
        """Those that may have any of the values, and those of which that is unknown."""
        for hits in self.hits:
            yield from hits.distinct_units.values()
        yield from self.unknown_of_some
        yield from self.unknown_parts

    def named(self, name_of: Callable[[str], str]) -> FoundValues:
        """The same, with other names of the files."""
        return FoundValues(
            [each.named(name_of) for each in self.hits],
            [_named(unit, name_of) for unit in self.unknown],
            [_named(unit, name_of) for unit in self.unknown_parts],
            [
                NotHeld([_named(unit, name_of) for unit in each.units], each.problems)
                for each in self.not_held
            ],
            self.not_asked,
        )


class AskedIndex:
    """An index as it is now, whose segments stay open. Methods raise FormatError for damage, OSError."""

    def __init__(
        self,
        folder: Folder,
        hash_key: bytes | str | None = None,
        opener: OpenLasting = open_source,
    ) -> None:
        """`hash_key`: of the index, the key itself or a KEYSPEC. Raises EncryptionError unless it is the right one,
        FileNotFoundError if there is no index."""
        self._folder = folder
        self.manifest, self._lost = existing_and_lost(folder)
        self._key = key_of(folder.path, self.manifest, hash_key)
        self._segments = [
            OpenSegment(folder, each, opener) for each in self.manifest.segments if each.is_alive
        ]

    @property
    def places(self) -> Places:
        return self.manifest.places

    @property
    def bytes_read(self) -> int:
        return sum(segment.bytes_read for segment in self._segments)

    def close(self) -> None:
        for segment in self._segments:
            segment.close()

    def of_column(self, column: str) -> Iterator[OpenSegment]:
        """Those of which every file is there: an answer that needs them all is not to hang on which it reads."""
        for segment in self._segments:
            if segment.about.column == column:
                segment.check_there(self._lost)
                yield segment

    def look_up(self, column: str, values: Sequence[Any] | Array) -> FoundValues:
        """Raises ValueTypeError if there is a value that the column can hold in no file."""
        asked = ValuesByKind(values, self._key, self._kinds(column))
        found = self._look_up(column, asked)
        asked.check()
        return found

    def look_up_some(self, column: str, values: Sequence[Any] | Array) -> FoundValues:
        """The same, but raises ValueTypeError if the column can hold none of the values in any file."""
        asked = ValuesByKind(values, self._key, self._kinds(column))
        found = self._look_up(column, asked)
        asked.check_some()
        return found

    def _kinds(self, column: str) -> Sequence[str]:
        """Of a column of tables, which may have widened its type; none of loose files, where nobody has."""
        if not self.manifest.tables:
            return ()
        known = (each.about.kind for each in self.of_column(column) if each.places is not None)
        return [*dict.fromkeys(known)]

    def _look_up(self, column: str, asked: ValuesByKind) -> FoundValues:
        to_ask: list[tuple[OpenSegment, Any]] = []
        unknown: list[Unit] = []
        unknown_parts: list[Unit] = []
        not_held: list[NotHeld] = []
        not_asked: dict[int, str] = {}
        for segment in self.of_column(column):
            if segment.places is None:
                # The others have no value.
                unknown += [unit for _, unit in segment.live_units() if unit.reason]
                continue
            unknown_parts += segment.unknown_units()
            found = asked.of(segment.about.kind)
            if found.problems:
                not_held.append(NotHeld([unit for _, unit in segment.live_units()], found.problems))
            if found.hashes is None:
                continue
            # What no value of its type in a file is, is not there.
            reasons = found.hashes.unknown.items()
            if unasked := {at: why for at, why in reasons if why not in NOT_HELD}:
                not_held.append(NotHeld([unit for _, unit in segment.live_units()], unasked))
                not_asked.update(unasked)
            to_ask.append((segment, found.hashes))
        hits = self._hits_of_each(to_ask)
        return FoundValues(hits, unknown, unknown_parts, not_held, not_asked)

    def _hits_of_each(self, to_ask: Sequence[tuple[OpenSegment, Any]]) -> list[Hits]:
        """Of segments in a store, which answer one read after the other, several at a time; if there is one, what
        names its files comes with its keys. Of several, most know nothing of a value, and no file is to be named."""
        if self._folder.requests is None:
            return [_hits(*each) for each in to_ask]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE, "pbloom-segment") as pool:
            if len(to_ask) == 1:
                to_ask[0][0].will_name_units(pool)
            return list(pool.map(lambda each: _hits(*each), to_ask))

    def num_files(self, column: str) -> int:
        """How many files the index knows, of which nothing else may be known."""
        return sum(segment.about.num_files for segment in self.of_column(column))

    def has_column(self, column: str) -> bool:
        """Whether any of its files has a column, as far as it is indexed."""
        return any(segment.places is not None for segment in self.of_column(column))

    def units(self, column: str) -> Iterator[tuple[Unit, str]]:
        """All units that are indexed for a column, or are not for a reason, each with what its column was read as."""
        for segment in self.of_column(column):
            for _, unit in segment.live_units():
                yield unit, segment.about.read_as


def hash_key_given(hash_key: bytes | str | None) -> HashKey | None:
    """A key that users gave: itself or a KEYSPEC. Raises EncryptionError."""
    if hash_key is None:
        return None
    from parquet_bloom.index.hash_key import HashKey

    return HashKey(hash_key)


def key_of(index: str, manifest: Manifest, hash_key: bytes | str | None) -> HashKey | None:
    """The key of an index, if it has one. Raises EncryptionError unless `hash_key` is it."""
    key = hash_key_given(hash_key)
    found = key.check if key else ""
    if found == manifest.key_check:
        return key
    if key is None:
        raise MissingKeyError(f"{index}: its hashes are made with a key, expected {HASH_KEY}")
    made = "with another one" if manifest.key_check else "without one"
    raise EncryptionError(f"{index}: hash key: the index was made {made}")


@dataclass(frozen=True, slots=True)
class HashedValues:
    """Values as a column of one kind has them: `hashes` of those that it can hold, None if these are none;
    `problems`: why it cannot hold the others, by their positions."""

    hashes: AskedHashes | ManyHashes | None
    problems: Mapping[int, str]


class ValuesByKind:
    """Values, hashed for each kind that a column has."""

    def __init__(
        self, values: Sequence[Any] | Array, key: HashKey | None, kinds: Sequence[str] = ()
    ) -> None:
        """`kinds`: of the column in files of tables, which may have widened its type."""
        self._values, self._key, self._kinds = values, key, kinds
        self._known: dict[str, HashedValues] = {}

    def of(self, kind: str) -> HashedValues:
        """The values for columns of this kind, each whatever the others are."""
        if kind not in self._known:
            self._known[kind] = self._hashed(kind)
        return self._known[kind]

    def _hashed(self, kind: str) -> HashedValues:
        problems: dict[int, str] = {}
        try:
            found: AskedHashes | ManyHashes | None = self._hashes(kind, self._values)
        except ValueTypeError:
            problems = those_not_held(partial(self._hashes, kind), self._values)
            held = [at for at in range(len(self._values)) if at not in problems]
            found = self._hashes_at(kind, held) if held else None
        if found is not None and self._key is not None:
            found = found.keyed(self._key)
        return HashedValues(found, problems)

    def _hashes(self, kind: str, values: Sequence[Any] | Array) -> AskedHashes | ManyHashes:
        try:
            return asked_hashes(kind, values)
        except ValueTypeError:
            if not self._kinds:
                raise
            return asked_hashes_among(kind, self._kinds, values)

    def _hashes_at(self, kind: str, positions: list[int]) -> AskedHashes | ManyHashes:
        """Those of the values at these positions alone."""
        values: Any = self._values
        are_few = isinstance(values, list | tuple)
        held = [values[at] for at in positions] if are_few else values[positions]
        return self._hashes(kind, held).owned_by(positions)

    def check(self) -> None:
        """Raise ValueTypeError if there are columns, and none can hold one of the values."""
        if problems := self._held_nowhere:
            raise ValueTypeError(in_one_line(problems, self._values))

    def check_some(self) -> None:
        """Raise ValueTypeError if there are columns, and none can hold even one of the values."""
        if len(self._held_nowhere) == len(self._values):
            self.check()

    @property
    def _held_nowhere(self) -> dict[int, str]:
        """Why not, of each of these values, by their positions."""
        if not self._known:
            return {}
        *others, last = [each.problems for each in self._known.values()]
        return {
            at: problem
            for at, problem in last.items()
            if all(at in problems for problems in others)
        }


def _named(unit: Unit, name_of: Callable[[str], str]) -> Unit:
    return unit._replace(path=name_of(unit.path))


def listed_numbers(numbers: Numbers) -> list[int]:
    """As Python has them."""
    return numbers if isinstance(numbers, list) else numbers.tolist()


def _hits(segment: OpenSegment, asked: AskedHashes | ManyHashes) -> Hits:
    if isinstance(asked, ManyHashes):
        return _hits_of_many(segment, asked)
    assert segment.places is not None
    find = segment.places.places
    hashed = zip(asked.hashes, asked.owners, strict=True)
    values, units, places = [], [], []
    for value, place in sorted({(owner, place) for hash, owner in hashed for place in find(hash)}):
        unit, in_unit = segment.units.place(place)
        if not segment.about.is_dead(unit):
            values.append(value)
            units.append(unit)
            places.append(in_unit)
    return Hits(segment, values, units, places)


def _hits_of_many(segment: OpenSegment, asked: ManyHashes) -> Hits:
    assert segment.places is not None
    found, places = segment.places.places_of_many(asked.hashes)
    if not found.size:
        return Hits(segment, [], [], [])
    # Numbers of both are sorted much sooner than pairs. Of several hashes of a value,
    # more than one may be at a place.
    both = asked.owners[found] << WIDE_PLACE_BITS | places
    both.sort()
    wanted = np.ones(len(both), np.bool_)
    wanted[1:] = np.diff(both) != 0
    values, places = both >> WIDE_PLACE_BITS, both & (MOST_PLACES - 1)
    units, in_units = segment.units.places(places)
    if segment.about.dead:
        starts, ends = np.array(segment.about.dead, np.int64).T
        # A unit is in a range if it is behind more starts than ends.
        wanted &= np.searchsorted(starts, units, "right") == np.searchsorted(ends, units, "right")
    return Hits(segment, values[wanted], units[wanted], in_units[wanted])
