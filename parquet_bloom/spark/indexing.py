"""What runs on the executors for an index: the files of a task become segments in its folder.

    account    segments-000017      what the task has written; the first attempt at it counts
               merged-0-000001      a segment in the place of some of these
    index      ID.units.parquet     its files; those of other attempts, no manifest names

Nothing of this is in the index until the driver commits a manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.building import SegmentsBuilder
from parquet_bloom.index.collecting import KeyRoom
from parquet_bloom.index.compaction import merge
from parquet_bloom.index.keys import MOST_PLACES
from parquet_bloom.index.manifest import Segment, as_plain, segment_of
from parquet_bloom.index.slices import MOST_SLOTS
from parquet_bloom.spark.index_request import IndexedTable, IndexOptions
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Request, Tasks
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.spark.run import Account, LakeRun, as_document
from parquet_bloom.spark.schemas import CONTROL, Batches, giving, numbers_in
from parquet_bloom.spark.worker import attempt
from parquet_bloom.storage import open_folder
from parquet_bloom.storage.folder import Found
from parquet_bloom.tables.table import opened_as
from parquet_bloom.verbs.index_change import FileIndexer
from parquet_bloom.verbs.listed_files import ListedFiles

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys

# For the keys of a task, in bytes; others are in temporary files meanwhile. Each core has a task.
KEYS_MEMORY: Final = 96 << 20

# Of one column and type, so many stay: each look-up asks all of them.
FEW_SEGMENTS: Final = 8

# Segments that one task merges.
MERGED_AT_ONCE: Final = 16

# Tasks whose segments one task tells the driver.
TOLD_AT_ONCE: Final = 64


def index_files(
    request: Request, files: Sequence[LakeFile], keep: Callable[[bytes], object]
) -> Iterator[Outcome]:
    """The outcomes for the files of a task, whose segments are kept. Raises EncryptionError, OSError if none can be
    written."""
    options: IndexOptions = request.options
    folder, key = open_folder(options.place), options.key()
    with KeyRoom(KEYS_MEMORY) as room:
        builder = SegmentsBuilder(options.places, room, options.form)
        indexer, lacking = FileIndexer(builder, options.empty, key, 1), Counter[str]()
        for file in files:
            yield attempt(file, partial(_indexed, indexer, file, request, lacking))
            room.check()
        segments = builder.write(folder)
    written = {"segments": list(map(as_plain, segments)), "lacking": lacking}
    if not keep(as_document(written)):
        # Another attempt at this task was first.
        for name in (name for segment in segments for name in segment.files):
            folder.remove(name)


def _indexed(
    indexer: FileIndexer, file: LakeFile, request: Request, lacking: Counter[str]
) -> Outcome:
    """Counts the columns that files do not have. Raises what the file failed of, which the index knows by then."""
    found = Found(file.path, file.size or 0, file.version, None)
    table = request.options.table
    among = ListedFiles({}) if table is None else _FileOfTable(table, file)
    read = indexer.add(found, among, request.keys.read())
    lacking.update(read.lacking)
    if read.error is not None:
        raise read.error
    reasons = "; ".join(f"{column}: {reason}" for column, reason in read.reasons.items())
    is_indexed = len(read.reasons) < len(request.options.columns)
    outcome = Outcome(
        file.path,
        "read" if is_indexed else "skipped",
        size=file.size,
        version=read.version,
        message=reasons or None,
    )
    if not read.damage:
        return outcome
    # The others are indexed all the same.
    message = f"{file.path}: {reasons}"
    return replace(outcome, status="error", message=message, error_class=read.damage)


@dataclass(frozen=True, slots=True)
class _FileOfTable:
    """A file as a table records it, with its names of columns."""

    table: IndexedTable
    file: LakeFile

    def read_as(self, _: str, column: str) -> str:
        return self.table.names.stored_as(column)

    def open(self, path: str, keys: Keys | None) -> Container:
        table, size = self.table, self.file.size or 0
        return opened_as(table.names, table.columns, path, size, keys, valued=table.valued)


def name_of(number: int) -> str:
    """Of the segments of a task in the run's folder."""
    return f"segments-{number:06}"


@giving(CONTROL)
def new_segments(tasks: Tasks, batches: Batches) -> Iterator[RowFields]:
    """What tasks have written: a document for each of them."""
    account = Account(tasks.run)
    for number in numbers_in(batches):
        for task in range(tasks.plan.num_sheets)[number * TOLD_AT_ONCE :][:TOLD_AT_ONCE]:
            data = account.get(name_of(task))
            if data is None:
                raise FileNotFoundError(f"{name_of(task)}: the segments of the run are gone")
            yield {"document": data.decode()}


@dataclass(frozen=True, slots=True)
class MergingSegments:
    """Segments in the folder `place`, each group of which becomes one, in a `round`, from 0 on."""

    run: LakeRun
    place: str
    round: int
    groups: tuple[tuple[Segment, ...], ...]


@giving(CONTROL)
def merge_segments(merging: MergingSegments, batches: Batches) -> Iterator[RowFields]:
    """Numbers of groups to a document for each: the segment that it is by now, null if nothing in it is alive."""
    account, folder = Account(merging.run), open_folder(merging.place)
    for number in numbers_in(batches):
        name = f"merged-{merging.round}-{number:06}"
        if account.get(name) is None:
            with KeyRoom(KEYS_MEMORY) as room:
                made = merge(folder, merging.groups[number], room.most).made
            if not account.put(name, as_document(as_plain(made))):
                for file in () if made is None else made.files:
                    folder.remove(file)
        yield {"document": (account.get(name) or b"null").decode()}


def groups_to_merge(segments: Iterable[Segment]) -> tuple[tuple[Segment, ...], ...]:
    """Of segments that are alike, if there are many, those that become one, respectively."""
    alike: dict[tuple[object, ...], list[Segment]] = {}
    for each in segments:
        alike.setdefault((each.subject, each.map is None, each.slices is None), []).append(each)
    many = [those for those in alike.values() if len(those) > FEW_SEGMENTS]
    groups = [tuple(group) for those in many for group in _in_groups(those)]
    return tuple(group for group in groups if len(group) > 1)


def _in_groups(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    group: list[Segment] = []
    for segment in segments:
        most = MOST_PLACES if segment.slices is None else MOST_SLOTS
        num_places = sum(each.units.num_places for each in (*group, segment))
        if group and (len(group) == MERGED_AT_ONCE or num_places > most):
            yield group
            group = []
        group.append(segment)
    yield group


class Written:
    """What new_segments has told: all segments, and how many files lack a column."""

    def __init__(self, documents: Sequence[dict[str, Any]]) -> None:
        self.segments = tuple(segment_of(each) for of in documents for each in of["segments"])
        self.lacking = Counter[str]()
        for of in documents:
            self.lacking.update(of["lacking"])
