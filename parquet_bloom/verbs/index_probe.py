"""Ask an index which files may hold values, and where in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import paths_given
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, no_column
from parquet_bloom.index.asking import AskedIndex, FoundValues
from parquet_bloom.index.manifest import Places, existing
from parquet_bloom.index.states import lasting, listed, states_of
from parquet_bloom.native.lazy import Array
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.values.given import list_values, show_values
from parquet_bloom.verbs.documents import VerbReport

if TYPE_CHECKING:
    from parquet_bloom.index.units import Unit
    from parquet_bloom.vocabulary import Verdict


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What an index says of one file about a value: `maybe` in `parts`, row groups or stripes, and there in `pages`, data pages of the
    column; `unknown` with the `reason`. Empty where places are files: anywhere in it."""

    path: str
    verdict: Verdict
    parts: tuple[int, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedValue:
    """The verdict on a value: `absent` only if it is absent in every file. `files`: the others."""

    value: str
    verdict: Verdict
    files: tuple[IndexedFile, ...]


@dataclass(frozen=True, slots=True, repr=False)
class IndexReport(VerbReport):
    """What an index says about values of a column in `num_files` files, in which they were when it was brought up to
    date (`made`, in seconds since 1970), or in which they are now, if they were listed."""

    _rows: ClassVar = ("results", "files")

    index: str
    generation: int
    made: float
    column: str
    num_files: int
    results: tuple[IndexedValue, ...]
    bytes_read: int

    def __repr__(self) -> str:
        return f"<IndexReport {self.index}: {self.column} in {number_of(self.num_files, 'file')}>"

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in any file."""
        return all(each.verdict == "absent" for each in self.results)


def probe_index(
    index: str | os.PathLike[str],
    column: str,
    values: Any,
    *,
    files: Any = None,
    hash_key: bytes | str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> IndexReport:
    """Which files of an index may hold values of `column`.

    values: as for probe. files: paths, URLs, globs and folders: the answer is about these as they are now, and
    `unknown` for those that the index does not know, or not in this state. Without them, it is about all files as
    they were when the index was made or added to; only those that may hold a value are looked at again. hash_key: as
    for build_index.

    Raises FileNotFoundError if there is no index, ColumnError if it is not about this column, ValueTypeError for
    what cannot be a value of it, EncryptionError unless `hash_key` is that of the index, FormatError for damage,
    OSError.
    """
    folder = open_folder(with_options(os.fspath(index), storage_options))
    with closing(AskedIndex(folder, existing(folder), hash_key)) as asked:
        return probe_asked(asked, folder.path, column, list_values(values), files, storage_options)


def probe_asked(
    asked: AskedIndex,
    path: str,
    column: str,
    values: Sequence[Any] | Array,
    files: Any,
    storage_options: Mapping[str, str] | None,
) -> IndexReport:
    """The same of an open index."""
    manifest = asked.manifest
    if column not in manifest.columns:
        raise ColumnError(f"{path}: {no_column(column, manifest.columns, 'index')}")
    found = asked.look_up(column, values)
    others: list[IndexedFile] = []
    if files is None:
        now = states_of(sorted(_paths(found)), storage_options)
        current = {path: version for path, version in now.items() if version is not None}
        num_files = asked.num_files(column)
    else:
        names, errors = listed(lasting(paths_given("files", files)), storage_options)
        if errors:
            raise errors[0]
        current = {file.path: file.version or "" for file in names}
        known = {(unit.path, unit.version) for unit in asked.units(column)}
        others = [_stale(path) for path, now in current.items() if (path, now) not in known]
        num_files = len(current)
    answers = _Answers(found, manifest.places, current, others)
    return IndexReport(
        index=path,
        generation=manifest.generation,
        made=manifest.made,
        column=column,
        num_files=num_files,
        results=tuple([answers.of(at, text) for at, text in enumerate(show_values(values))]),
        bytes_read=asked.bytes_read,
    )


def _paths(found: FoundValues) -> set[str]:
    """The files that an answer is about."""
    return {unit.path for unit in found.unknown} | {hit.unit.path for hit in found.hits}


def _stale(path: str) -> IndexedFile:
    return IndexedFile(path, "unknown", reason="not in the index as it is now")


class _Answers:
    """Verdicts on values, of what was found in segments. `current`: the states of files that count; `others`: files of
    which nothing is known about any value."""

    def __init__(
        self,
        found: FoundValues,
        kind: Places,
        current: Mapping[str, str],
        others: Iterable[IndexedFile],
    ) -> None:
        self._current, self._not_asked = current, found.not_asked
        self._unknown = {file.path: file for file in others}
        for unit in found.unknown:
            if unit.path in current and unit.path not in self._unknown:
                reason = unit.reason if self._is_current(unit) else _stale(unit.path).reason
                self._unknown[unit.path] = IndexedFile(unit.path, "unknown", reason=reason)
        self._places: dict[int, dict[str, _Where]] = {}
        for value, unit, place in found.hits:
            if unit.path in self._unknown or unit.path not in current:
                continue
            if not self._is_current(unit):
                self._unknown[unit.path] = _stale(unit.path)
                continue
            places = self._places.setdefault(value, {})
            places.setdefault(unit.path, _Where(kind)).add(unit, place)

    def _is_current(self, unit: Unit) -> bool:
        return self._current[unit.path] == unit.version

    def of(self, value: int, text: str) -> IndexedValue:
        if value in self._not_asked:
            return IndexedValue(text, "unknown", ())
        maybe = {
            path: places.as_file(path)
            for path, places in self._places.get(value, {}).items()
            if path not in self._unknown
        }
        files = {**self._unknown, **maybe}
        verdict: Verdict = "maybe" if maybe else "unknown" if files else "absent"
        return IndexedValue(text, verdict, tuple([files[path] for path in sorted(files)]))


class _Where:
    """Where in a file a value may be."""

    def __init__(self, kind: Places) -> None:
        self._kind = kind
        self._parts: set[int] = set()
        self._pages: set[tuple[int, int]] = set()

    def add(self, unit: Unit, place: int) -> None:
        match self._kind:
            case "row-group":
                self._parts.add(place)
            case "page":
                self._parts.add(unit.row_group)
                self._pages.add((unit.row_group, place))

    def as_file(self, path: str) -> IndexedFile:
        parts, pages = tuple(sorted(self._parts)), tuple(sorted(self._pages))
        return IndexedFile(path, "maybe", parts, pages)
