"""What an index knows of files, on the executors, where they meet what a run has found.

known_files     its files, to be left alone if they are as it knows them
listed_units    its units, those of new segments, and what a run has found
dead_units      of these, path by path: units of another state than the one that counts, and CHANGES
dead_of_table   the same where the files are those of a table
dead_numbers    by segment, and the sums
unknown_units   files of units of which the index knows nothing
unknown_files   the number of them
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final, Self

from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.manifest import Segment, manifest_name, read_manifest
from parquet_bloom.index.opened import OpenSegment, as_ranges
from parquet_bloom.index.states import is_as_read, state_of
from parquet_bloom.index.units import Unit
from parquet_bloom.spark.index_request import CommittedIndex, KnownIndex, NewSegments
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Tasks
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.spark.run import Account
from parquet_bloom.spark.schemas import CONTROL, NOT_INDEXED, UNIT, Batches, giving, numbers_in
from parquet_bloom.storage import open_folder
from parquet_bloom.storage.folder import Folder, Found

AS_KNOWN: Final = "in the index as it is"

# What a run has done with files of an index, as fields of LakeIndex are called.
ADDED: Final = "added"
CHANGED: Final = "changed"
REMOVED: Final = "removed"
CHANGES: Final = (ADDED, CHANGED, REMOVED)


def known_files(index: KnownIndex, number: int) -> Iterator[RowFields]:
    """Rows of SEEN, of a segment by its number; the status is the column.
    Those of a column that is another one by now do not count."""
    folder = open_folder(index.place)
    segment = read_manifest(folder, manifest_name(index.generation)).segments[number]
    if segment.read_as != index.columns.get(segment.column):
        return
    for unit in _live(folder, segment):
        yield {
            "folder": os.path.dirname(unit.path),
            "path": unit.path,
            "is_earlier": 1,
            "size": unit.size,
            "version": unit.version,
            "status": segment.column,
            "message": None,
        }


def known_version(index: KnownIndex, known: Sequence[RowFields], file: LakeFile) -> str | None:
    """The version of a file that an index knows for every column, if it is in it. `known`: its rows."""
    if file.version is None and not index.is_of_table:
        return None
    now = Found(file.path, file.size or 0, file.version, None)
    columns: dict[str, set[str]] = {}
    for row in known:
        if row["version"] and is_as_read(now, row["size"], row["version"]):
            columns.setdefault(row["version"], set()).add(row["status"])
    return next((version for version, of in columns.items() if of >= {*index.columns}), None)


def _live(folder: Folder, segment: Segment) -> Iterator[Unit]:
    for _, unit in _numbered(folder, segment):
        yield unit


def _numbered(folder: Folder, segment: Segment) -> Iterator[tuple[int, Unit]]:
    with closing(OpenSegment(folder, segment)) as opened:
        yield from opened.live_units()


@giving(UNIT)
def listed_units(sent: tuple[Tasks, NewSegments], batches: Batches) -> Iterator[RowFields]:
    """Rows of UNIT: of the files of each sheet, of old segments, of new ones."""
    tasks, about = sent
    account, folder = Account(tasks.run), open_folder(about.place)
    num_sheets = tasks.plan.num_sheets
    for number in numbers_in(batches):
        if number < num_sheets:
            columns = ["path", "version"]
            for row in account.outcomes(f"task-{number:06}", columns) or ():
                yield _row(row["path"], row["version"] or "")
            continue
        number -= num_sheets
        is_new = number >= len(about.old)
        segment = (*about.old, *about.new)[number]
        for at, unit in _numbered(folder, segment):
            yield _row(unit.path, unit.version) | {
                "segment": segment.id,
                "number": at,
                "column": segment.column,
                "is_new": is_new,
            }


def _row(path: str, version: str) -> RowFields:
    return {
        "folder": os.path.dirname(path),
        "path": path,
        "version": version,
        "segment": "",
        "number": 0,
        "column": "",
        "is_new": False,
    }


@giving(UNIT)
def dead_units(is_overtaken: bool, batches: Batches) -> Iterator[RowFields]:
    """Of rows of UNIT by path, those that are to be dead, and a count of each of CHANGES. `is_overtaken`: somebody
    else has changed the index since the files were listed."""
    return _dead_by_path(partial(_dead, is_overtaken=is_overtaken), batches)


@dataclass(frozen=True, slots=True)
class _FileUnits:
    """What is known of one file: as it was `listed`, and its units in `old` segments and in `new` ones."""

    path: str
    listed: Sequence[RowFields]
    old: Sequence[RowFields]
    new: Sequence[RowFields]

    @classmethod
    def of(cls, path: str, rows: Iterable[RowFields]) -> Self:
        of_file = list(rows)
        listed = [row for row in of_file if not row["segment"]]
        old = [row for row in of_file if row["segment"] and not row["is_new"]]
        return cls(path, listed, old, [row for row in of_file if row["is_new"]])

    def change(self, dead: Sequence[RowFields]) -> str | None:
        """What the index has of it, one of CHANGES, or None if that is as before."""
        num_new_dead = sum(row["is_new"] for row in dead)
        num_old_dead = len(dead) - num_new_dead
        if num_new_dead < len(self.new):
            return CHANGED if self.old else ADDED
        return REMOVED if self.old and num_old_dead == len(self.old) else None


def _dead_by_path(
    dead_of: Callable[[_FileUnits], Iterator[RowFields]], batches: Batches
) -> Iterator[RowFields]:
    rows: Iterator[RowFields] = (row for batch in batches for row in batch.to_pylist())
    changes = Counter[str]()
    for path, of_path in groupby(rows, itemgetter("path")):
        file = _FileUnits.of(path, of_path)
        dead = list(dead_of(file))
        yield from dead
        if (change := file.change(dead)) is not None:
            changes[change] += 1
    for change, num_files in changes.items():
        yield _row("", "") | {"column": change, "number": num_files}


def _dead(file: _FileUnits, is_overtaken: bool) -> Iterator[RowFields]:
    """The units of one file that are to be dead, so that those of one state are left: of the one in which this run
    has seen it, unless somebody else has seen it later, or put it there."""
    listed, old, new = file.listed, file.old, file.new
    seen = next((row["version"] for row in (*new, *listed)), None)
    if any(row["version"] != seen for row in old) or (new and is_overtaken):
        now = state_of(file.path)
        if now is None:
            seen = None
        elif now.version in {row["version"] for row in old if row["version"]}:
            seen = now.version
    columns = {row["column"] for row in old if row["version"] == seen}
    yield from (row for row in old if row["version"] != seen)
    yield from (row for row in new if row["version"] != seen or row["column"] in columns)


@giving(UNIT)
def dead_of_table(_: object, batches: Batches) -> Iterator[RowFields]:
    """The same of rows by path, where a table says which files there are: who has read one has read all that counts
    of it, and what is not listed is dead, whether or not it is still there."""
    return _dead_by_path(_not_live, batches)


def _not_live(file: _FileUnits) -> Iterator[RowFields]:
    seen = set() if file.new else {row["version"] for row in file.listed}
    return (row for row in file.old if row["version"] not in seen)


@giving(CONTROL)
def dead_numbers(_: object, batches: Batches) -> Iterator[RowFields]:
    """Of such rows by segment and number, a document for each segment: its dead units, and how many files they were;
    and one without a segment: how many files each of CHANGES is of."""
    rows: Iterator[RowFields] = (row for batch in batches for row in batch.to_pylist())
    for segment, of_segment in groupby(rows, itemgetter("segment")):
        if not segment:
            changes = Counter[str]()
            for row in of_segment:
                changes[row["column"]] += row["number"]
            yield {"document": json.dumps({"segment": "", "changes": changes})}
            continue
        numbers: set[int] = set()
        paths: set[str] = set()
        for row in of_segment:
            numbers.add(row["number"])
            paths.add(row["path"])
        found = {"segment": segment, "dead": as_ranges(numbers), "num_files": len(paths)}
        yield {"document": json.dumps(found)}


@giving(NOT_INDEXED)
def unknown_units(index: CommittedIndex, batches: Batches) -> Iterator[RowFields]:
    """Rows of NOT_INDEXED, of segments by their numbers."""
    folder = open_folder(index.place)
    for number in numbers_in(batches):
        for unit in _live(folder, index.segments[number]):
            if unit.reason:
                yield {"path": unit.path, "has_failed": unit.has_failed}


@giving(CONTROL)
def unknown_files(_: object, batches: Batches) -> Iterator[RowFields]:
    """Of such rows, all of each path, a document: how many files they are of, and how many of these have failed."""
    unknown: set[str] = set()
    failed: set[str] = set()
    for row in (row for batch in batches for row in batch.to_pylist()):
        unknown.add(row["path"])
        if row["has_failed"]:
            failed.add(row["path"])
    yield {"document": json.dumps([len(unknown), len(failed)])}
