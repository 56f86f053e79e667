"""What the segments of an index know of values: which files, row groups and pages may hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloom.errors import EncryptionError, MissingKeyError, ValueTypeError
from parquet_bloom.index.kinds import AskedHashes, asked_hashes
from parquet_bloom.index.manifest import Manifest, Places
from parquet_bloom.index.opened import OpenSegment
from parquet_bloom.index.units import Unit
from parquet_bloom.native.lazy import Array
from parquet_bloom.storage.folder import Folder

if TYPE_CHECKING:
    from parquet_bloom.index.hash_key import HashKey


class Hit(NamedTuple):
    """A value, by its position, may be in a unit: at a place of it, counted from 0."""

    value: int
    unit: Unit
    place: int


class FoundValues(NamedTuple):
    """`hits`: where values may be; `unknown`: units of which nothing is known; `not_asked`: why some values cannot be
    looked up in any file."""

    hits: list[Hit]
    unknown: list[Unit]
    not_asked: dict[int, str]


class AskedIndex:
    """An index in one state, whose segments stay open. Methods raise FormatError for damage, OSError."""

    def __init__(
        self, folder: Folder, manifest: Manifest, hash_key: bytes | str | None = None
    ) -> None:
        """`hash_key`: of the index, the key itself or a KEYSPEC. Raises EncryptionError unless it is the right one."""
        self.manifest = manifest
        self._key = key_of(folder.path, manifest, hash_key)
        self._segments = [OpenSegment(folder, segment) for segment in manifest.segments]

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
        return (segment for segment in self._segments if segment.about.column == column)

    def look_up(self, column: str, values: Sequence[Any] | Array) -> FoundValues:
        """Raises ValueTypeError for a value that the column can hold in no file."""
        hits: list[Hit] = []
        unknown: list[Unit] = []
        not_asked: dict[int, str] = {}
        asked = _Asked(values, self._key)
        for segment in self.of_column(column):
            if segment.map is None:
                unknown += [unit for _, unit in segment.live_units()]
                continue
            found = asked.of(segment.about.kind)
            if found is None:
                unknown += [
                    unit._replace(reason=f"{asked.problem}") for _, unit in segment.live_units()
                ]
                continue
            not_asked.update(found.unknown)
            hits += _hits(segment, found)
        asked.check()
        return FoundValues(hits, unknown, not_asked)

    def num_files(self, column: str) -> int:
        """How many files the index knows, of which nothing else may be known."""
        return sum(segment.about.num_files for segment in self.of_column(column))

    def units(self, column: str) -> Iterator[Unit]:
        """All units that are indexed for a column, or are not for a reason."""
        for segment in self.of_column(column):
            for _, unit in segment.live_units():
                yield unit


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
        raise MissingKeyError(f"{index}: its hashes are made with a key, expected --hash-key")
    made = "with another one" if manifest.key_check else "without one"
    raise EncryptionError(f"{index}: hash key: the index was made {made}")


class _Asked:
    """Values, hashed for each kind that a column has."""

    def __init__(self, values: Sequence[Any] | Array, key: HashKey | None) -> None:
        self._values, self._key = values, key
        self._known: dict[str, Any] = {}
        self.problem: ValueTypeError | None = None

    def of(self, kind: str) -> Any:
        """The hashes; None if a column of this kind cannot hold the values."""
        if kind not in self._known:
            self._known[kind] = None
            try:
                found = asked_hashes(kind, self._values)
                self._known[kind] = found.keyed(self._key) if self._key else found
            except ValueTypeError as error:
                self.problem = error
        return self._known[kind]

    def check(self) -> None:
        """Raise ValueTypeError if there are columns, and none can hold the values."""
        if self.problem is not None and not any(self._known.values()):
            raise self.problem


def _hits(segment: OpenSegment, asked: Any) -> Iterator[Hit]:
    assert segment.map is not None
    if isinstance(asked, AskedHashes):
        pairs: Iterable[tuple[int, int]] = (
            (owner, place)
            for hash, owner in zip(asked.hashes, asked.owners, strict=True)
            for place in segment.map.places(hash)
        )
    else:
        found, places = segment.map.places_of_many(asked.hashes)
        pairs = zip(asked.owners[found].tolist(), places.tolist(), strict=True)
    has_dead = bool(segment.about.dead)
    for owner, place in dict.fromkeys(pairs):
        number, unit = segment.units.at(place)
        if not (has_dead and segment.about.is_dead(number)):
            yield Hit(owner, unit, place - unit.first_place)
