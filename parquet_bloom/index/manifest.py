"""The manifest of an index: what it is about, and its segments.

    manifest-0000000007.json    {"crc32": "89abcdef", "index": {…}}

The highest number is the index. Manifests are made only if there is none of that number, and never changed: of two
writers, one is first, and the other looks again at what it has to add to. The checksum is of the bytes of the
object behind "index".
"""

from __future__ import annotations

import errno
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, cast
from uuid import uuid4
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.index.keys import MOST_PLACES, KeyBits
from parquet_bloom.index.slices import MOST_SLOTS, SlicesFile, SlicesFiles
from parquet_bloom.index.sorted_map import KeyGroup, MapFile
from parquet_bloom.index.units import UnitGroup, UnitsFile
from parquet_bloom.storage.folder import Folder
from parquet_bloom.vocabulary import NO_INDEX, TableChoice, words

# Readers refuse greater ones. What has nothing that an older version did not know yet is of that version.
VERSION: Final = 3
_WITHOUT_FOLDED: Final = 2
_WITHOUT_SLICES: Final = 1

# What it has of files, or of which; see building.
IndexForm = Literal["map", "slices", "auto"]
Places = Literal["file", "row-group", "page"]
# Ascending numbers [from, end).
Ranges = tuple[tuple[int, int], ...]

_NAME: Final = re.compile(r"manifest-(\d{10})\.json")
_HEAD: Final = '{"crc32": "%08x", "index": '
_HEAD_SIZE: Final = len(_HEAD % 0)
_FILE: Final = re.compile(r"\w[\w.-]*")
_LARGEST: Final = (1 << 63) - 1
# Of a filter, as its format has it.
_MOST_BLOCKS: Final = (1 << 31) - 1
# Of a page that is written by us.
_LONGEST_HEADER: Final = 256


class IndexedColumn(NamedTuple):
    """What a segment is about: a column of one type, see Segment."""

    column: str
    kind: str
    read_as: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """Files that were indexed together, for one column of one type. `kind`: of the type, see kinds. It has a `map` or
    `slices`; neither if the files are not indexed, for the reasons that their units give; those without a reason have
    no value. `num_files`: those that are not dead. `dead`: units that are no more, or of files in a state that is
    none any more. `read_as`: what its files call the column, or its field id, if a table says so; empty if they call
    it as the index does."""

    id: str
    column: str
    kind: str
    units: UnitsFile
    num_files: int
    map: MapFile | None = None
    dead: Ranges = ()
    read_as: str = ""
    slices: SlicesFiles | None = None

    @property
    def subject(self) -> IndexedColumn:
        return IndexedColumn(self.column, self.kind, self.read_as)

    @property
    def _files(self) -> tuple[UnitsFile | MapFile | SlicesFile, ...]:
        slices = () if self.slices is None else self.slices.files
        return (self.units, *([self.map] if self.map else []), *slices)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files in the folder of the index."""
        return tuple([file.name for file in self._files])

    @property
    def num_bytes(self) -> int:
        return sum(file.size for file in self._files)

    @property
    def num_keys(self) -> int:
        """Pairs of value and place in its map."""
        return self.map.num_keys if self.map else 0

    @property
    def num_filters(self) -> int:
        """In its slices."""
        return self.slices.num_filters if self.slices else 0

    @property
    def is_alive(self) -> bool:
        """Whether any of its files is not dead. If none is,
        the types of values that it knows are none of the lake's."""
        return self.num_files > 0

    @property
    def num_dead(self) -> int:
        return sum(end - start for start, end in self.dead)

    def is_dead(self, number: int) -> bool:
        at = bisect_right(self.dead, number, key=_start) - 1
        return at >= 0 and number < self.dead[at][1]


def _start(numbers: tuple[int, int]) -> int:
    return numbers[0]


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table whose live files an index is about. `name`: its folder, or its identifier in the `catalog`;
    `version`: at which it was looked at; None before, and if writers at the same time looked at different ones."""

    name: str
    kind: TableChoice
    catalog: str | None = None
    version: int | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """What tells it from others."""
        return self.name, self.catalog


@dataclass(frozen=True, slots=True)
class Manifest:
    """An index in one state. `sources`: the files, folders and globs that are looked at by `add`, `tables`: the
    tables that are. `made`: when they were looked at last, before anything was read, in seconds since 1970: what came
    or changed since then may be missing. `key_check`: of the key that hashes are made with; empty if there
    is none. `include_encrypted`: whether it may have hashes of values that are encrypted in the files. `identity`:
    given to an index when it is made, also in the place of another one, and kept by all that changes it; empty
    before, and in those that earlier versions have made or changed."""

    columns: tuple[str, ...]
    places: Places = "row-group"
    sources: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    generation: int = 0
    made: float = 0.0
    key_check: str = ""
    include_encrypted: bool = False
    tables: tuple[TableSource, ...] = ()
    form: IndexForm = "map"
    identity: str = ""

    @property
    def terms(self) -> tuple[object, ...]:
        """What never changes in an index."""
        return self.columns, self.places, self.key_check, self.include_encrypted, self.form

    @property
    def files(self) -> list[str]:
        """The names of the files of all segments."""
        return [name for segment in self.segments for name in segment.files]

    def has_identity(self, identity: str) -> bool | None:
        """Whether it is the index of this identity; None if nobody can tell, because there is none."""
        return identity == self.identity if identity and self.identity else None


def check_form(form: IndexForm, places: Places, *, is_keyed: bool) -> None:
    """Raise ValueError for what only a map can have."""
    of_filters = "the filters of files, which the forms slices and auto take, are of"
    if form != "map" and places == "page":
        raise ValueError(f"places: page, expected row-group or file: {of_filters} row groups")
    if form != "map" and is_keyed:
        raise ValueError(f"hash_key: expected none: {of_filters} hashes without a key")


def newest(folder: Folder) -> Manifest | None:
    """The index in a folder as it is now; None if there is none. Raises FormatError, UnsupportedError, OSError."""
    return _newest_among(folder, folder.file_names(""))


def newest_name(folder: Folder) -> str | None:
    """Of the manifest of an index, which may be damaged."""
    return next(_manifests(folder.file_names("")), None)


def newest_readable(folder: Folder) -> Manifest | None:
    """The newest manifest of an index that can be read: later ones are damaged. Raises OSError."""
    for name in _manifests(folder.file_names("")):
        with suppress(FormatError, UnsupportedError):
            return read_manifest(folder, name)
    return None


def _newest_among(folder: Folder, names: Sequence[str]) -> Manifest | None:
    """The same, by the names of all files in the folder."""
    name = next(_manifests(names), None)
    return None if name is None else read_manifest(folder, name)


def _manifests(names: Sequence[str]) -> Iterator[str]:
    """The names of all manifests of an index, the newest first."""
    return filter(is_manifest, reversed(names))


def existing(folder: Folder) -> Manifest:
    """The same of a folder that is one of an index. Raises FileNotFoundError, too."""
    return _existing_among(folder, folder.file_names(""))


def existing_and_lost(folder: Folder) -> tuple[Manifest, frozenset[str]]:
    """The same, and which files it names that are not there: the listing that finds it tells, and nobody has to be
    asked for those that are."""
    there = folder.file_names("")
    manifest = _existing_among(folder, there)
    # What came while the listing was made may not be in it.
    unseen = sorted({*manifest.files} - {*there})
    sizes = zip(unseen, folder.sizes_of(unseen), strict=True)
    return manifest, frozenset(name for name, size in sizes if size is None)


def _existing_among(folder: Folder, names: Sequence[str]) -> Manifest:
    found = _newest_among(folder, names)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, NO_INDEX, folder.path)
    return found


def read_manifest(folder: Folder, name: str) -> Manifest:
    """Raises as newest."""
    data = folder.read(name)
    where = folder.path_of(name)
    body = data[_HEAD_SIZE:-1]
    if data[:_HEAD_SIZE] != (_HEAD % crc32(body)).encode():
        raise FormatError(f"{where}: damaged: its CRC-32 is wrong")
    try:
        found = json.loads(body)
        if found["version"] > VERSION:
            raise UnsupportedError(
                f"{where}: an index of version {found['version']}, expected {VERSION}: a newer pbloom made it"
            )
        return _manifest(found)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{where}: not a manifest of an index: {error!r}") from None


def is_manifest(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def manifest_name(generation: int) -> str:
    return f"manifest-{generation:010}.json"


def generation_of(name: str) -> int:
    """Of the manifest of this name."""
    return int(name.removeprefix("manifest-").removesuffix(".json"))


def commit(
    folder: Folder,
    change: Callable[[Manifest | None], Manifest | None],
    *,
    anew: bool = False,
) -> Manifest | None:
    """Make the manifest that `change` makes of the newest one: again whenever somebody else was first; None if it
    makes none. `anew`: it is made of none, which may be damaged. Raises FileNotFoundError if a new file was taken for
    one that nobody needs, what `change` raises, and as newest."""
    while True:
        name = newest_name(folder)
        old = None if name is None or anew else read_manifest(folder, name)
        new = change(old)
        if new is None:
            return None
        _check_there(folder, {*new.files} - {*(old.files if old else ())})
        generation = 1 if name is None else generation_of(name) + 1
        identity = uuid4().hex if old is None else old.identity
        new = replace(new, generation=generation, identity=identity)
        if folder.put_if_absent(manifest_name(generation), _encoded(new)):
            return new


def _check_there(folder: Folder, names: Iterable[str]) -> None:
    wanted = sorted(names)
    for name, size in zip(wanted, folder.sizes_of(wanted), strict=True):
        if size is None:
            raise FileNotFoundError(
                errno.ENOENT,
                "was removed before the index named it; compact with a longer --older-than",
                folder.path_of(name),
            )


def _encoded(manifest: Manifest) -> bytes:
    version = _version_of(manifest)
    body = json.dumps({"version": version, **as_plain(manifest)}, indent=None).encode()
    return (_HEAD % crc32(body)).encode() + body + b"}"


def _version_of(manifest: Manifest) -> int:
    if any(each.map and each.map.is_folded for each in manifest.segments):
        return VERSION
    has_slices = manifest.form != "map" or any(each.slices for each in manifest.segments)
    return _WITHOUT_FOLDED if has_slices else _WITHOUT_SLICES


def as_plain(item: Any) -> Any:
    """A manifest or a part of it, as JSON has it."""
    if hasattr(item, "_asdict"):
        return list(item)
    if hasattr(item, "__dataclass_fields__"):
        return {name: as_plain(getattr(item, name)) for name in item.__dataclass_fields__}
    if isinstance(item, tuple):
        return [as_plain(each) for each in item]
    return item


# ------------------------------------------------------------------------------------------------
# What is read, of which a checksum only says that it is what somebody wrote


def _manifest(found: dict[str, Any]) -> Manifest:
    """Raises KeyError, TypeError, ValueError for what is no manifest."""
    manifest = Manifest(
        columns=tuple(map(_text, found["columns"])),
        places=cast("Places", _word("places", found["places"], words(Places))),
        sources=tuple(map(_text, found["sources"])),
        segments=tuple(map(segment_of, found["segments"])),
        generation=_number(found["generation"]),
        made=float(found["made"]),
        key_check=_text(found["key_check"]),
        include_encrypted=found["include_encrypted"] is True,
        # There were none at first.
        tables=tuple(map(_table, found.get("tables", ()))),
        form=cast("IndexForm", _word("form", found.get("form", "map"), words(IndexForm))),
        identity=_text(found.get("identity", "")),
    )
    has_slices = any(segment.slices for segment in manifest.segments)
    form = manifest.form if manifest.form != "map" or not has_slices else "slices"
    check_form(form, manifest.places, is_keyed=bool(manifest.key_check))
    return manifest


def _table(found: dict[str, Any]) -> TableSource:
    kind, catalog, version = found["kind"], found["catalog"], found["version"]
    if kind not in words(TableChoice):
        raise ValueError(f"tables: {kind!r}")
    return TableSource(
        _text(found["name"]),
        cast("TableChoice", kind),
        None if catalog is None else _text(catalog),
        None if version is None else _number(version),
    )


def segment_of(found: dict[str, Any]) -> Segment:
    """A segment, of what JSON has of it. Raises KeyError, TypeError, ValueError for what is none."""
    units = _units_file(found["units"])
    dead = tuple([(_number(start), _number(end)) for start, end in found["dead"]])
    _check_ascending([number for each in dead for number in each])
    if dead and dead[-1][1] > units.num_units:
        raise ValueError(f"dead: up to {dead[-1][1]} of {units.num_units} units")
    return Segment(
        id=_text(found["id"]),
        column=_text(found["column"]),
        kind=_text(found["kind"]),
        num_files=_number(found["num_files"], units.num_units),
        units=units,
        map=None if found["map"] is None else _map_file(found["map"], units),
        dead=dead,
        read_as=_text(found.get("read_as", "")),
        slices=None if found.get("slices") is None else _slices(found["slices"], units),
    )


def _units_file(found: dict[str, Any]) -> UnitsFile:
    size, num_units = _number(found["size"]), _number(found["num_units"])
    groups = tuple([UnitGroup(*map(_number, group)) for group in found["groups"]])
    firsts = [group.first_place for group in groups]
    if firsts[:1] not in ([], [0]) or firsts != sorted(firsts):
        raise ValueError(f"units: first places {firsts}")
    if sum(group.num_units for group in groups) != num_units:
        raise ValueError(f"units: {num_units}, and others in their groups")
    for group in groups:
        _check_within(group.start, group.size, size)
    return UnitsFile(
        _name(found["name"]), size, num_units, _number(found["num_places"], MOST_PLACES), groups
    )


def _map_file(found: dict[str, Any], units: UnitsFile) -> MapFile:
    size, num_keys = _number(found["size"]), _number(found["num_keys"])
    bits = KeyBits(_number(found["bits"]["hash"]), _number(found["bits"]["place"]))
    if not bits.are_possible or (num_keys and not units.num_units):
        raise ValueError(f"map: {bits}, {num_keys} keys, {units.num_units} units")
    groups = tuple([KeyGroup(*map(_number, group)) for group in found["groups"]])
    _check_ascending([group.first_key for group in groups])
    is_folded = found.get("is_folded", False) is True
    file = MapFile(_name(found["name"]), size, num_keys, bits, groups, is_folded)
    for group in groups:
        _check_within(group.start, 0, size)
        _check_within(group.directory, file.directory_bytes * group.num_pages, size)
    return file


def _slices(found: dict[str, Any], units: UnitsFile) -> SlicesFiles:
    files, place = tuple(map(_slices_file, found["files"])), 0
    for file in files:
        if file.first_place != place:
            raise ValueError(f"slices: first place {file.first_place}, expected {place}")
        place += file.num_slots
    if place != units.num_places:
        raise ValueError(f"slices: {place} filters, {units.num_places} places")
    return SlicesFiles(files, _number(found["num_others"], units.num_units))


def _slices_file(found: dict[str, Any]) -> SlicesFile:
    file = SlicesFile(
        name=_name(found["name"]),
        size=_number(found["size"]),
        num_blocks=_number(found["num_blocks"], _MOST_BLOCKS),
        first_place=_number(found["first_place"], MOST_PLACES),
        num_slots=_number(found["num_slots"], MOST_SLOTS),
        header=_number(found["header"], _LONGEST_HEADER),
        per_group=_number(found["per_group"]),
        starts=tuple(map(_number, found["starts"])),
    )
    if not (file.num_blocks and file.num_slots and file.per_group):
        raise ValueError(f"slices: {file.num_slots} filters of {file.num_blocks} blocks")
    num_groups = -(-file.num_blocks // file.per_group)
    if len(file.starts) != num_groups:
        raise ValueError(f"slices: {len(file.starts)} row groups, expected {num_groups}")
    for block in range(0, file.num_blocks, file.per_group):
        last = min(block + file.per_group, file.num_blocks) - 1
        _check_within(file.sums(last), file.sums_bytes, file.size)
    return file


def _number(found: object, most: int = _LARGEST) -> int:
    if type(found) is not int or not 0 <= found <= most:
        raise ValueError(f"{found!r}: expected a number of 0 to {most}")
    return found


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(f"{found!r}: expected text")
    return found


def _name(found: object) -> str:
    """The name of a file in the folder, and no other."""
    if not _FILE.fullmatch(_text(found)):
        raise ValueError(f"{found!r}: expected a name")
    return str(found)


def _word(what: str, found: object, known: tuple[str, ...]) -> str:
    for word in known:
        if word == found:
            return word
    raise ValueError(f"{what}: {found!r}")


def _check_within(start: int, length: int, size: int) -> None:
    if start + length > size:
        raise ValueError(f"{length} bytes from {start}, of {size}")


def _check_ascending(numbers: list[int]) -> None:
    if any(number >= after for number, after in pairwise(numbers)):
        raise ValueError(f"not ascending: {numbers}")


def changes_in_words(added: int, changed: int, removed: int) -> str:
    """`1 added, 0 changed, 2 removed`"""
    return f"{added:,} added, {changed:,} changed, {removed:,} removed"


def unknown_in_words(num_unknown: int, num_failed: int) -> str:
    """`, 3 of them not fully indexed (2 cannot be read in full)`"""
    if not num_unknown:
        return ""
    cannot_be_read = "cannot be read in full"
    if num_failed == num_unknown:
        return f", {num_unknown:,} of which {cannot_be_read}"
    failed = f" ({num_failed:,} {cannot_be_read})" * bool(num_failed)
    return f", {num_unknown:,} of them not fully indexed{failed}"
