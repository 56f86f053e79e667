"""Prove an index against the files that it is about."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

from parquet_bloom.arguments import files_given, flag_given, threads_given
from parquet_bloom.container import IN_PYTHON, number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, ParquetBloomError, complaint_about, quoted_name
from parquet_bloom.files import FORMATS
from parquet_bloom.index.asking import key_of
from parquet_bloom.index.manifest import Manifest, Places, existing
from parquet_bloom.index.names import GivenNames
from parquet_bloom.index.opened import OpenSegment
from parquet_bloom.index.unnamed import unneeded
from parquet_bloom.index.unseen import unseen
from parquet_bloom.options import TableView
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.index_change import FileIndexer, NotIndexed, places_gone
from parquet_bloom.verbs.listed_files import (
    ListedFiles,
    for_index,
    list_files,
    names_in_index,
    tables_given,
)
from parquet_bloom.verbs.table_folders import warn_of_tables

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.index.collecting import KeyRoom
    from parquet_bloom.index.hash_key import HashKey
    from parquet_bloom.index.map_proof import FileKeys, MapProof
    from parquet_bloom.index.proof import SegmentProof
    from parquet_bloom.index.slices_proof import FilterProblem
    from parquet_bloom.index.units import Unit
    from parquet_bloom.index.values_reader import AnyValuesReader
    from parquet_bloom.parallel import Progress
    from parquet_bloom.vocabulary import TableChoice

IndexProblem = Literal[
    "damaged", "new", "changed", "gone", "unlisted", "unread", "readable", "lost", "unexplained"
]
# What `add` sees by itself, and what it never sees: that takes a new index. Anything else takes files that can be
# looked at.
_MENDED_BY_ADD: Final = frozenset[IndexProblem](("new", "changed", "gone"))
_MENDED_ANEW: Final = frozenset[IndexProblem](("damaged", "lost", "unexplained"))

_OF_FILTER: Final[Mapping[IndexProblem, str]] = {
    "lost": "bits of its filter are not in the slices",
    "unexplained": "bits in the slices that its filter has not",
}


@dataclass(frozen=True, slots=True)
class IndexFinding:
    """What is wrong, and where: in the index (`damaged`); a file that it does not know in this state (`new`,
    `changed`), or that is `gone`; files that cannot be looked at (`unlisted`, `unread`); one that could not be read
    when it was indexed, and can be by now, in the same state (`readable`); values, or bits of filters, that are not
    found where they are (`lost`); keys or bits in the index that nothing there explains (`unexplained`)."""

    problem: IndexProblem
    message: str


@dataclass(frozen=True, slots=True, repr=False)
class IndexCheck(VerbReport):
    """What check_index found. `files`, `keys`, `filters`: how many the index knows, pairs of value and place, those
    in slices; `keys_gone`, `filters_gone`: of these, those of files that are gone, have changed, are damaged, or were
    indexed twice at a time, which no answer is from, and which compact_index drops with `everything` (0 in an index
    that is damaged); `size`: of its segments, in bytes; `made`: when its files were looked at last, in seconds since
    1970.
    `files_checked`: of the files, those that it was to look at; `failed`: how many of these, as they are now, could
    not be read, or not all of them; `not_indexed`: what is unknown in every answer;
    `values`: how many were read and looked up; `unneeded`: files in its folder, of `bytes_unneeded`, that
    compact_index will remove. `places_gone`: what the index is about and means no file any more; `is_about_nothing`:
    as in IndexChange; `closed`: how many findings are about places where nobody may look, without which `add` goes
    on; `readable`: the files of findings of this name, which `add` reads once the index has forgotten them."""

    _rows: ClassVar = ("findings",)

    index: str
    generation: int
    made: float
    columns: tuple[str, ...]
    places: Places
    size: int
    deep: bool
    files: int
    files_checked: int
    failed: int
    keys: int
    filters: int
    keys_gone: int
    filters_gone: int
    values: int
    unneeded: int
    bytes_unneeded: int
    not_indexed: tuple[NotIndexed, ...]
    findings: tuple[IndexFinding, ...]
    places_gone: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    closed: int = field(default=0, metadata=IN_PYTHON)
    is_about_nothing: bool = field(default=False, metadata=IN_PYTHON)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, neither with the index, which `findings` say, nor with a file that it is about,
        as one of those `not_indexed` that cannot be read."""
        return not self.findings and not self.failed

    def __repr__(self) -> str:
        failed = f"; {self.failed:,} failed" if self.failed else ""
        return f"<IndexCheck {self.index}: {number_of(len(self.findings), 'finding')}{failed}>"

    @property
    def is_mended_by_add(self) -> bool:
        """Whether something is new, changed or gone, and nothing else is wrong but that files cannot be looked at."""
        found = [finding.problem for finding in self.findings]
        left = {*found} - {"unlisted", "unread"}
        are_closed = found.count("unlisted") <= self.closed
        return bool(left) and left <= _MENDED_BY_ADD and are_closed

    @property
    def is_mended_by_remove(self) -> bool:
        """Whether nothing is wrong but that places are gone, and what `add` mends once it is not about them."""
        found = [finding.problem for finding in self.findings]
        are_gone = 0 < found.count("unlisted") <= len(self.places_gone)
        return are_gone and {*found} - {"unlisted"} <= _MENDED_BY_ADD

    @property
    def is_mended_by_forgetting(self) -> bool:
        """Whether nothing is wrong but what `add` mends once the index has forgotten what is `readable`."""
        found = {finding.problem for finding in self.findings}
        return "readable" in found and found - {"readable"} <= _MENDED_BY_ADD

    @property
    def is_mended_anew(self) -> bool:
        """Whether something is wrong that nothing but a new index mends."""
        return any(finding.problem in _MENDED_ANEW for finding in self.findings)


def check_index(
    index: str | os.PathLike[str],
    *,
    files: Any = None,
    table: TableChoice | TableView | None = None,
    deep: bool = False,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> IndexCheck:
    """Prove an index, as Index.check; without `deep`, no `hash_key` is needed."""
    flag_given("deep", deep)
    folder = open_folder(with_options(os.fspath(index), storage_options))
    manifest = existing(folder)
    among = _named(files, table, folder.path, storage_options)
    key = key_of(folder.path, manifest, hash_key) if deep else None
    work = _Check(manifest, folder.path, key, keys, storage_options, threads_given(threads))
    with ExitStack() as stack:
        work.open([stack.enter_context(closing(OpenSegment(folder, s))) for s in manifest.segments])
        work.check_files(among, deep, progress)
    left = unneeded(folder)
    return IndexCheck(
        index=folder.path,
        generation=manifest.generation,
        made=manifest.made,
        columns=manifest.columns,
        places=manifest.places,
        size=sum(segment.num_bytes for segment in manifest.segments),
        deep=deep,
        files=work.num_files,
        files_checked=work.num_checked,
        failed=work.num_failed,
        keys=sum(segment.num_keys for segment in manifest.segments),
        filters=sum(segment.num_filters for segment in manifest.segments),
        keys_gone=work.keys_gone,
        filters_gone=work.filters_gone,
        values=work.num_values,
        unneeded=len(left),
        bytes_unneeded=sum(entry.size for entry in left),
        not_indexed=tuple(work.not_indexed()),
        findings=tuple(work.findings),
        places_gone=work.places_gone,
        readable=tuple(work.readable),
        closed=work.num_closed,
        is_about_nothing=not (manifest.sources or manifest.tables),
    )


class _Among(NamedTuple):
    """Files that a check is about: those that are there, and the places in which others were."""

    listed: ListedFiles
    places: Sequence[str]


def _named(
    files: Any,
    table: TableChoice | TableView | None,
    index: str,
    storage_options: Mapping[str, str] | None,
) -> _Among | None:
    """None for all that the index is about. Raises as Index.check."""
    view = TableView.given(table)
    if files is None:
        if view is not None:
            raise TypeError("files: None, expected the tables")
        return None
    names = files_given("files", files)
    if view is None:
        warn_of_tables(names)
        listed = list_files(names, (), storage_options, index)
    else:
        listed = list_files((), tables_given(names, view), storage_options)
    for error in listed.errors:
        if isinstance(error, FileNotFoundError):
            raise error
    return _Among(for_index(listed), names_in_index(names, view))


class _Check:
    """One check. Methods raise OSError."""

    # While values are looked up.
    _room: KeyRoom

    def __init__(
        self,
        index: Manifest,
        path: str,
        hash_key: HashKey | None,
        keys: Keys | None,
        storage_options: Mapping[str, str] | None,
        threads: int | None,
    ) -> None:
        self._index, self._path, self._hash_key = index, path, hash_key
        self._keys, self._options, self._threads = keys, storage_options, threads
        self.findings: list[IndexFinding] = []
        self.num_values = self.keys_gone = self.filters_gone = 0
        self.num_failed = self.num_closed = 0
        self.places_gone: tuple[str, ...] = ()
        self.readable: list[str] = []
        # Files that are in no listing, and may be there all the same.
        self._unseen: Collection[str] = ()
        self._is_damaged = False
        # Of each segment with a map: the values of files, once they are read.
        self._maps: dict[SegmentProof, MapProof] = {}
        # Of each file, its units in each segment.
        self._known: dict[str, list[tuple[SegmentProof, list[Unit]]]] = {}
        self.num_files = 0

    @property
    def num_checked(self) -> int:
        return len(self._known)

    def not_indexed(self) -> Iterator[NotIndexed]:
        """Each file of which, or of parts of which, nothing is known about a column, and the first reason."""
        for path, known in sorted(self._known.items()):
            reasons: dict[str, str] = {}
            for proof, units in known:
                for unit in units:
                    if unit.reason:
                        reasons.setdefault(proof.about.column, unit.reason)
            for column, reason in sorted(reasons.items()):
                yield NotIndexed(path, column, reason)

    def _found(self, problem: IndexProblem, message: str) -> None:
        self.findings.append(IndexFinding(problem, message))

    def open(self, segments: Sequence[OpenSegment]) -> None:
        """Prove segments, and take note of their files."""
        from parquet_bloom.index.proof import SegmentProof

        proofs = [SegmentProof(segment) for segment in segments]
        for proof in proofs:
            for problem in proof.problems():
                self._found("damaged", problem)
            for unit in proof.units:
                known = self._known.setdefault(unit.path, [])
                if not known or known[-1][0] is not proof:
                    known.append((proof, []))
                known[-1][1].append(unit)
        self.num_files = len(self._known)
        # What else is missing then, is missing for that.
        self._is_damaged = bool(self.findings)
        if not self._is_damaged:
            self.keys_gone = sum(each.about.num_keys - each.live_keys for each in proofs)
            self.filters_gone = sum(each.about.num_filters - each.live_filters for each in proofs)

    def check_files(self, among: _Among | None, deep: bool, progress: Progress | None) -> None:
        files = self._listed() if among is None else self._only(among)
        with ExitStack() as stack:
            if deep:
                from parquet_bloom.index.collecting import KeyRoom

                self._room = stack.enter_context(KeyRoom.within_budget())
            self._check_each(files, deep, progress)

    def _check_each(self, files: ListedFiles, deep: bool, progress: Progress | None) -> None:
        if not self._is_damaged:
            for path in sorted(files.found.keys() - self._known.keys()):
                self._found("new", f"{path}: not in the index")
        for done, (path, known) in enumerate(sorted(self._known.items())):
            if progress:
                progress(done, len(self._known))
            if self._is_current(path, known, files) and deep:
                self._read(path, known, files)
                self._try_again(path, known, files)
        for proof in dict.fromkeys(proof for known in self._known.values() for proof, _ in known):
            if deep and proof.about.slices is not None:
                self._filters_found(proof, proof.filters.rest())
        for proof, of_map in self._maps.items():
            self._keys_found(proof, of_map)
        if progress:
            progress(len(self._known), len(self._known))

    def _only(self, among: _Among) -> ListedFiles:
        """Take note of these files alone, by the names that were given."""
        files = among.listed
        given = {path: files.given(path) for path in self._known}
        places = GivenNames(among.places)
        self._known = {
            given[path]: [
                (proof, [unit._replace(path=given[path]) for unit in units])
                for proof, units in known
            ]
            for path, known in self._known.items()
            if given[path] in files.found or places.naming(path)
        }
        self._look_for_others(files, among.places)
        return files

    def _listed(self) -> ListedFiles:
        """The files that the index is about, as far as they can be looked at."""
        index = self._index
        try:
            files = list_files(index.sources, index.tables, self._options, self._path)
        except (ParquetBloomError, OSError) as error:
            self._found("unlisted", complaint_about(self._path, error))
            files = list_files(index.sources, (), self._options, self._path)
            self._unseen = self._known.keys() - files.found.keys()
            return files
        for each in files.errors:
            if isinstance(each, FileNotFoundError):
                self._found("unlisted", complaint_about(self._path, each))
        self._look_for_others(files, index.sources)
        self.places_gone = (*places_gone(index.sources, files.errors, self._unseen),)
        return files

    def _look_for_others(self, files: ListedFiles, places: Sequence[str]) -> None:
        """Those that are not listed in these places: nobody may call one gone where nobody could look."""
        missing = sorted(self._known.keys() - files.found.keys())
        self._unseen, problems = unseen(missing, places, files.errors)
        self.num_closed += len(problems)
        for problem in problems:
            self._found("unlisted", problem)

    def _is_current(
        self,
        path: str,
        known: Sequence[tuple[SegmentProof, list[Unit]]],
        files: ListedFiles,
    ) -> bool:
        columns = sorted(proof.about.column for proof, _ in known)
        if columns != sorted(self._index.columns) and not self._is_damaged:
            self._found("damaged", f"{path}: indexed for {', '.join(map(quoted_name, columns))}")
        if path in self._unseen:
            return False
        if path not in files.found:
            self._found(
                "gone", f"{path}: is not there any more, or in no place that the index is about"
            )
            return False
        unread = [unit.reason for _, units in known for unit in units if unit.is_unread]
        if not unread and not all(
            files.is_known(unit, proof.about.column, proof.about.read_as)
            for proof, units in known
            for unit in units
        ):
            self._found("changed", f"{path}: not in the index as it is now")
            return False
        self.num_failed += any(unit.has_failed for _, units in known for unit in units)
        if unread:
            self._found("unread", f"{path}: {unread[0]}; index add tries again")
        return not unread

    def _read(
        self, path: str, known: Sequence[tuple[SegmentProof, list[Unit]]], files: ListedFiles
    ) -> None:
        """Look up the values of a file."""
        from parquet_bloom.index.chosen_values import chosen

        read: list[tuple[MapProof, FileKeys]] = []
        try:
            with files.open(path, self._keys) as file:
                reader = chosen(
                    FORMATS[file.format].values_reader(file),
                    self._index.include_encrypted,
                    self._hash_key,
                )
                for proof, units in known:
                    if proof.segment.map is not None:
                        of_file = self._collected(path, reader, proof, units)
                        if of_file is not None:
                            read.append(of_file)
                    elif proof.about.slices is not None:
                        filters = reader.filters(file.column(proof.about.column))
                        for unit in units:
                            if unit.num_places:
                                self._filters_found(proof, proof.filters.add(unit, filters))
                    elif not all(unit.reason for unit in units):
                        told = file.answer_to_all(proof.about.column)
                        if told is None or told.verdict != "absent":
                            message = "indexed as null in all rows, which it may not be"
                            self._found("lost", f"{path}: {proof.about.column}: {message}")
                file.source.check_unchanged()
            for of_map, values in read:
                of_map.add(values)
        except (ParquetBloomError, OSError) as error:
            # Then it is not about this file.
            self._room.check()
            # Of what was not read when it was indexed, nothing is known that could be wrong: see not_indexed.
            if not all(unit.reason for _, units in known for unit in units):
                self._found("unread", complaint_about(path, error))

    def _try_again(
        self, path: str, known: Sequence[tuple[SegmentProof, list[Unit]]], files: ListedFiles
    ) -> None:
        """Read a file that failed before, as `add` would if it did not take it for what it was: who restores one may
        set its time back, too."""
        from parquet_bloom.index.building import SegmentsBuilder
        from parquet_bloom.index.collecting import KeyRoom

        failed = {proof.about.column for proof, units in known for unit in units if unit.has_failed}
        if not failed:
            return
        # Of what is kept of it, nothing is written.
        with KeyRoom.within_budget() as room:
            builder = SegmentsBuilder(self._index.places, room, self._index.form)
            indexer = FileIndexer(builder, self._index, self._hash_key, self._threads)
            read = indexer.add(files.found[path], files, self._keys)
        columns = sorted(failed - read.reasons.keys())
        if columns:
            named = ", ".join(map(quoted_name, columns))
            message = "can be read by now: index remove, then index add, reads it again"
            self._found("readable", f"{path}: {named}: {message}")
            self.readable.append(path)

    def _collected(
        self, path: str, reader: AnyValuesReader, proof: SegmentProof, units: Sequence[Unit]
    ) -> tuple[MapProof, FileKeys] | None:
        """The values of a column; None if it is none of those that the segment is about, which is told."""
        from parquet_bloom.index.map_proof import FileKeys, MapProof
        from parquet_bloom.index.values_reader import hashes_of_parts

        column, part_name = reader.file.column(proof.about.column), reader.file.units.part
        if reader.kind(column) != proof.about.kind:
            message = f"indexed as {proof.about.kind}, but it is {reader.kind(column)}"
            self._found("lost", f"{path}: {proof.about.column}: {message}")
            return None
        assert proof.segment.map is not None
        if proof not in self._maps:
            self._maps[proof] = MapProof(proof.segment.map, self._room)
        of_map = self._maps[proof]
        values = FileKeys(path, part_name, units, self._index.places)
        with closing(hashes_of_parts(reader, column, self._index.places, self._threads)) as found:
            for part, pages in found:
                self.num_values += sum(hashes.size for hashes in pages)
                values.add(of_map.keys, part, pages)
        return of_map, values

    def _keys_found(self, proof: SegmentProof, of_map: MapProof) -> None:
        """What is wrong with a map, by the files of which it is."""
        try:
            for file, part, num_lost, num_unexplained in of_map.problems():
                where = f"{file.path}: {proof.about.column}: "
                if num_unexplained:
                    problem = f"{where}{number_of(num_unexplained, 'key')} of no value"
                    self._found("unexplained", problem)
                    continue
                of_part = "" if part is None else f"{file.part_name} {part}: "
                self._found("lost", f"{where}{of_part}{number_of(num_lost, 'value')} not found")
        except FormatError as error:
            # Else it is known.
            if not self._is_damaged:
                self._found("damaged", str(error))

    def _filters_found(self, proof: SegmentProof, problems: Iterable[FilterProblem]) -> None:
        """What is wrong with slices, by the filters of which they are."""
        for path, part, bits in problems:
            message = f"{path}: {proof.about.column}: row group {part}: {_OF_FILTER[bits]}"
            self._found(bits, message)
