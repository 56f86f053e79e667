"""The end of a run that makes an index: one manifest, by the driver.

new segments    told by the tasks that have written them; many become few
dead units      of files that are gone or in another state: executors find them, where there was an index, and count
                the files that are new, changed and gone
manifest        made only if the index is still what they were found in; else they are looked for again
unknown files   counted by executors, where there may be any
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.errors import ColumnError, RewriteError
from parquet_bloom.index.manifest import Manifest, Segment, commit, newest, segment_of
from parquet_bloom.index.opened import as_ranges, numbers_in
from parquet_bloom.spark.executors import Executors
from parquet_bloom.spark.index_request import CommittedIndex, IndexOptions, NewSegments
from parquet_bloom.spark.index_units import ADDED, CHANGED, CHANGES, REMOVED
from parquet_bloom.spark.indexing import TOLD_AT_ONCE, MergingSegments, Written, groups_to_merge
from parquet_bloom.spark.listing import alternatives
from parquet_bloom.spark.outcome import LakeIndex
from parquet_bloom.spark.planning import COMPARED_AT_ONCE, Search
from parquet_bloom.spark.request import Tasks
from parquet_bloom.spark.schemas import CONTROL, NOT_INDEXED, UNIT
from parquet_bloom.storage import open_folder
from parquet_bloom.storage.source import SUFFIXES

if TYPE_CHECKING:
    from parquet_bloom.storage.folder import WritableFolder

INDEXING = "parquet_bloom.spark.indexing"
UNITS = "parquet_bloom.spark.index_units"

_NONE: Final = dict.fromkeys(CHANGES, 0)

# Of a run that has made its manifest before, or may have: what the index was like until then is not there any more.
_NOT_KNOWN: Final = dict.fromkeys(CHANGES)


def committed(
    executors: Executors, tasks: Tasks, search: Search, was_done: bool
) -> LakeIndex | None:
    """Make the manifest. `was_done`: the run had done all files before, and may have made it then. Raises
    RewriteError if somebody has made another index there meanwhile, FormatError, OSError."""
    options: IndexOptions = tasks.request.options
    folder = open_folder(options.place)
    if search.index is not None:
        _check_sources(newest(folder), tasks.plan.missing)
    told = ceil(tasks.plan.num_sheets / TOLD_AT_ONCE)
    documents = executors.documents(INDEXING, "new_segments", tasks, told) if told else []
    written = Written(documents)
    if search.index is None:
        for column, lacking in written.lacking.items():
            if lacking == tasks.plan.num_files:
                raise ColumnError(f"{folder.path}: no index: no file has the column {column}")
    new = _merged(executors, tasks, written.segments)
    return _Commit(executors, tasks, folder, options, search, was_done).done(new)


def _check_sources(index: Manifest | None, missing: Sequence[tuple[str, str]]) -> None:
    """Raise FileNotFoundError for a folder without files that the index is about: it may be mounted elsewhere, or not
    now, and would be forgotten."""
    sources = () if index is None else index.sources
    for name, problem in missing:
        if name in sources and not name.lower().endswith(SUFFIXES):
            forget = f"{problem}, and the index is about it: index remove forgets it"
            raise FileNotFoundError(errno.ENOENT, forget, name)


def _merged(
    executors: Executors, tasks: Tasks, segments: tuple[Segment, ...]
) -> tuple[Segment, ...]:
    """The same in few segments."""
    round = 0
    while groups := groups_to_merge(segments):
        merging = MergingSegments(tasks.run, tasks.request.options.place, round, groups)
        documents = executors.documents(INDEXING, "merge_segments", merging, len(groups))
        inputs = {segment.id for group in groups for segment in group}
        made = [segment_of(each) for each in documents if each is not None]
        segments = (*[each for each in segments if each.id not in inputs], *made)
        round += 1
    return segments


def _sources(search: Search) -> tuple[str, ...]:
    """The names as `pbloom index add` takes them."""
    return tuple(each for _, place in search.names for each in alternatives(place))


class _Commit:
    def __init__(
        self,
        executors: Executors,
        tasks: Tasks,
        folder: WritableFolder,
        options: IndexOptions,
        search: Search,
        was_done: bool,
    ) -> None:
        self._executors, self._tasks, self._folder = executors, tasks, folder
        self._was_done = was_done
        self._options, self._sources = options, _sources(search)
        self._known = search.index
        self._generation = 0 if search.index is None else search.index.generation

    def done(self, new: Sequence[Segment]) -> LakeIndex | None:
        while True:
            old = newest(self._folder)
            if old is None and not new:
                return None
            start = old or self._options.empty
            self._check_same(start)
            self._check_alone(old)
            # Of a run that has been here before.
            known = {segment.id for segment in start.segments}
            added = tuple(segment for segment in new if segment.id not in known)
            dead, changes = self._dead(start, added)
            wanted = self._with(start, added, dead)
            made = start if wanted == start else self._made(wanted)
            if made is not None:
                # Another process under the same id may have been here, too. What is still to be changed after all
                # files were done, none that died before has.
                is_first = len(added) == len(new) and (not self._was_done or any(changes.values()))
                return self._report(made, added, changes if is_first else _NOT_KNOWN)

    def _check_same(self, index: Manifest) -> None:
        """Raise RewriteError for another index than the one that was there."""
        is_same = None if self._known is None else index.has_identity(self._known.identity)
        if is_same is False or index.terms != self._options.empty.terms:
            raise RewriteError(f"{self._folder.path}: another index was made here meanwhile")

    def _check_alone(self, old: Manifest | None) -> None:
        """Raise RewriteError if the table was listed for an index that somebody else has changed since: of two
        versions of a table, nobody knows which is the later one. Or if a source was removed, whose files were
        listed."""
        is_alone = (old.generation if old else 0) == self._generation
        sources = () if self._known is None else self._known.sources
        is_less = not {*sources} <= {*(old.sources if old else ())}
        if is_less or (self._options.table is not None and not is_alone):
            raise RewriteError(
                f"{self._folder.path}: somebody else has changed the index meanwhile, expected to be alone: run it "
                "again"
            )

    def _dead(
        self, old: Manifest, new: tuple[Segment, ...]
    ) -> tuple[Mapping[str, dict[str, Any]], Mapping[str, int]]:
        """By the ids of segments, which of their units are dead from now on; and how many files changed how, see
        CHANGES."""
        if not old.segments:
            of_column = (each for each in new if each.column == old.columns[0])
            return {}, _NONE | {ADDED: sum(each.num_files for each in of_column)}
        executors, is_overtaken = self._executors, old.generation != self._generation
        which = "dead_units" if self._options.table is None else "dead_of_table"
        about = NewSegments(self._options.place, old.generation, old.segments, new)
        num_segments = len(old.segments) + len(new)
        num_units = sum(each.units.num_units for each in (*old.segments, *new))
        num_compared = 1 + (num_units + self._tasks.plan.num_files) // COMPARED_AT_ONCE
        rows = (
            executors.frame(
                UNITS,
                "listed_units",
                (self._tasks, about),
                UNIT,
                self._tasks.plan.num_sheets + num_segments,
            )
            .repartition(num_compared, "folder")
            .sortWithinPartitions("folder", "path")
            .mapInArrow(executors.work(UNITS, which, is_overtaken), UNIT)
            .repartition(min(num_segments, num_compared), "segment")
            .sortWithinPartitions("segment", "number")
            .mapInArrow(executors.work(UNITS, "dead_numbers", None), CONTROL)
            .collect()
        )
        found = {each["segment"]: each for each in (json.loads(row.document) for row in rows)}
        return found, _NONE | found.pop("", {"changes": {}})["changes"]

    def _with(
        self, old: Manifest, new: Sequence[Segment], dead: Mapping[str, dict[str, Any]]
    ) -> Manifest:
        segments = [_without(each, dead.get(each.id)) for each in (*old.segments, *new)]
        table = self._options.table
        return replace(
            old,
            sources=tuple(dict.fromkeys([*old.sources, *self._sources])),
            tables=old.tables if table is None else (table.source,),
            segments=tuple(segments),
        )

    def _made(self, wanted: Manifest) -> Manifest | None:
        """None if somebody else was first: what is dead in other segments, nobody has found out."""
        looked = self._tasks.run.started_at.timestamp()
        # What others have looked at before, if it is about more, was not looked at again.
        is_alone = wanted.generation == self._generation
        wanted = replace(wanted, made=looked if is_alone else min(looked, wanted.made))

        def change(old: Manifest | None) -> Manifest | None:
            return wanted if (old.generation if old else 0) == wanted.generation else None

        return commit(self._folder, change)

    def _num_unknown(self, made: Manifest) -> tuple[int, int]:
        """How many files are unknown in every answer, about any column, and how many of these cannot be read."""
        segments = tuple(filter(_may_be_unknown, made.segments))
        if not segments:
            return 0, 0
        executors, index = self._executors, CommittedIndex(self._options.place, segments)
        num_units = sum(each.units.num_units for each in segments)
        rows = (
            executors.frame(UNITS, "unknown_units", index, NOT_INDEXED, len(segments))
            .repartition(1 + num_units // COMPARED_AT_ONCE, "path")
            .mapInArrow(executors.work(UNITS, "unknown_files", None), CONTROL)
            .collect()
        )
        counted = [json.loads(row.document) for row in rows]
        return sum(unknown for unknown, _ in counted), sum(failed for _, failed in counted)

    def _report(
        self, made: Manifest, new: Sequence[Segment], changes: Mapping[str, int | None]
    ) -> LakeIndex:
        of_column = [each for each in made.segments if each.column == made.columns[0]]
        unknown, failed = self._num_unknown(made)
        return LakeIndex(
            index=self._folder.path,
            generation=made.generation,
            files=sum(segment.num_files for segment in of_column),
            unknown=unknown,
            failed=failed,
            added=changes[ADDED],
            changed=changes[CHANGED],
            removed=changes[REMOVED],
            segments=len(made.segments),
            new=len(new),
            keys=sum(segment.num_keys for segment in new),
            filters=sum(segment.num_filters for segment in new),
            bytes_written=sum(segment.num_bytes for segment in new),
        )


def _may_be_unknown(segment: Segment) -> bool:
    """Whether it has units of files of which the index knows nothing; of those of others,
    it may know that they have no value."""
    if segment.slices is not None:
        return bool(segment.slices.num_others)
    return segment.map is None and segment.is_alive


def _without(segment: Segment, dead: dict[str, Any] | None) -> Segment:
    if dead is None:
        return segment
    numbers = numbers_in(tuple((start, end) for start, end in dead["dead"]))
    return replace(
        segment,
        dead=as_ranges(numbers_in(segment.dead) | numbers),
        num_files=segment.num_files - dead["num_files"],
    )
