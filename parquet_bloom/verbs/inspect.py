"""Which filters a file has: what is stored for each column in each part, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from parquet_bloom.arguments import SomeNames, SomeNumbers
from parquet_bloom.container import WHERE_KNOWN, Place, number_of
from parquet_bloom.container.room import TO_INSPECT, check_room
from parquet_bloom.container.shown_names import key_of, units_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.options import InspectOptions
from parquet_bloom.parallel import work_in_order
from parquet_bloom.threads import threads_to_read
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.several import read_each, reads_several
from parquet_bloom.vocabulary import Format, is_out_of_sight

if TYPE_CHECKING:
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        GetBits,
        PartDescription,
    )
    from parquet_bloom.container.protocols import Describable
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import TableChoice

# Called with a filter while its bits are in memory: its place, the position of its column among those
# inspected, its description, and what returns its bits.
Visit = Callable[[Place, int, "ChunkDescription", "GetBits"], None]

# Some columns in one part.
_Item: TypeAlias = "tuple[int, Sequence[Any]]"

# One thread reads as much of a part at once.
TOGETHER = 8 << 20


@dataclass(frozen=True, slots=True, repr=False)
class FileInspection(VerbReport):
    """One file. `filter_bytes`: of the filters inspected; `filter_share`: of `size`, 0 to 1.

    `unverified`: why the footer of an encrypted file may have been replaced, None if it cannot have
    been. `earlier_ends`: the sizes at which the file can be cut and is as it was before filters were
    appended, None if there are none. `obstacles`: what `build` would refuse the file for, or some of its
    columns, None for nothing. `requests`: sent to the object store that has the file, None for
    other files, here and in other reports. In an ORC file: `compression`, and `row_index_stride`, the
    rows per index group, 0 without an index.
    """

    _rows: ClassVar = ("parts", "columns")
    _shown_first: ClassVar = (
        *("part", "column", "reason", "filter.stored_bytes", "filter.fill", "filter.fpp"),
        "filter.ndv_estimate",
    )

    path: str
    format: Format
    size: int
    created_by: str
    encrypted: bool
    num_rows: int
    num_parts: int
    parts: tuple[PartDescription, ...]
    filter_bytes: int
    filter_share: float
    unverified: str | None = None
    compression: str | None = field(default=None, metadata=WHERE_KNOWN)
    row_index_stride: int | None = field(default=None, metadata=WHERE_KNOWN)
    earlier_ends: tuple[int, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    obstacles: tuple[str, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def row_groups(self) -> tuple[PartDescription, ...]:
        """The parts of a Parquet file."""
        return tuple(part for part in self.parts if part.row_group is not None)

    @property
    def stripes(self) -> tuple[PartDescription, ...]:
        """The parts of an ORC file."""
        return tuple(part for part in self.parts if part.stripe is not None)

    @property
    def num_filters(self) -> int:
        """How many can be used, of any dialect."""
        return sum(column.num_filters for part in self.parts for column in part.columns)

    @property
    def state(self) -> str:
        """`with filters`; `without`; or if none can be used, `unknown`, if some are out of sight, else
        `without usable ones`."""
        if self.num_filters:
            return "with filters"
        reasons = [why for part in self.parts for each in part.columns for why in each.why_unusable]
        if any(map(is_out_of_sight, reasons)):
            return "unknown"
        return "without usable ones" if reasons else "without"

    def _as_row(self) -> dict[str, Any]:
        """Without the number of parts that are described, if these are all."""
        row = {"path": self.path, "num_filters": self.num_filters} | VerbReport._as_row(self)
        described = key_of("parts", units_of(self))
        if row[described] == self.num_parts:
            del row[described]
        return row

    @staticmethod
    def _in_total(reports: Sequence[FileInspection]) -> str:
        """`40 filters`"""
        return number_of(sum(report.num_filters for report in reports), "filter")


@reads_several
def inspect(
    path: Any,
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    index_groups: bool = False,
    threads: int | None = None,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> FileInspection:
    """Describe the filters of `columns` (dotted paths; default: all) in `row_groups`, which are the
    stripes of an ORC file.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed.

    index_groups: also describe each index group of an ORC file. threads: how many filters to read at a
    time; by default, as many as pay off, up to one per processor, or 16 behind URLs. table: `path` is that of a
    table of this kind, or several, and stands for its live files; a TableView says of which version. keys: for
    encrypted files. storage_options: for the object store behind a URL, such as {"region": "eu-west-1"}.

    Raises ColumnError, FormatError, UnsupportedError, OSError, and EncryptionError if a key is wrong.
    A filter that cannot be used, or has no key, is not an error: its chunk has a `reason`.
    """
    options = InspectOptions.of(locals())
    report: FileInspection = read_each(
        path, options, inspect_file, table=table, keys=keys, storage_options=storage_options
    )
    return report


def inspect_file(
    file: Describable, options: InspectOptions, visit: Visit | None = None
) -> FileInspection:
    """The same for an open file. `visit` is called for every filter that bloom_filter_offset leads to,
    with what returns its bits, so that nobody has to read them again."""
    if options.index_groups:
        file.check_has_groups()
    columns = file.select(options.columns)
    check_room(file, columns, options.parts, TO_INSPECT)
    file.will_read_filters(options.parts, columns)
    parts = [
        file.describe_part(part).with_columns(tuple(described))
        for part, described in _described(file, options, columns, visit)
    ]
    filter_bytes = sum(column.filter_bytes for part in parts for column in part.columns)
    return FileInspection(
        path=file.path,
        format=file.format,
        size=file.source.size,
        created_by=file.created_by,
        encrypted=file.is_encrypted,
        num_rows=file.num_rows,
        num_parts=file.num_parts,
        parts=tuple(parts),
        filter_bytes=filter_bytes,
        filter_share=filter_bytes / file.source.size,
        unverified=file.unverified,
        compression=file.compression,
        row_index_stride=file.row_index_stride,
        earlier_ends=file.earlier_ends or None,
        obstacles=file.obstacles or None,
        requests=file.source.requests,
    )


def _described(
    file: Describable, options: InspectOptions, columns: Sequence[Any], visit: Visit | None
) -> Iterable[tuple[int, Iterable[ChunkDescription]]]:
    """Each part with its chunks, to be taken in this order."""
    groups = options.index_groups
    parts = [(part, columns) for part in file.select_parts(options.parts)]

    def room(item: _Item) -> int:
        part, some = item
        return sum(file.room_for_filters(part, column) for column in some)

    threads = threads_to_read(options.threads, [file.source], parts, room)
    if threads == 1:
        return ((part, _one_by_one(file, part, columns, groups, visit)) for part, _ in parts)

    def describe(item: _Item) -> tuple[Sequence[ChunkDescription], Sequence[GetBits]]:
        seen: list[GetBits] = []
        on_bits = None if visit is None else seen.append
        return tuple(file.describe_chunks(*item, groups, on_bits)), seen

    # Small filters are read together. Bits that are kept are those of one chunk at a time.
    together = TOGETHER if visit is None else 0
    items = [
        item
        for part, _ in parts
        for item in (
            [(part, columns)]
            if room((part, columns)) <= together
            else [(part, (column,)) for column in columns]
        )
    ]
    by_part: dict[int, list[ChunkDescription]] = {part: [] for part, _ in parts}
    with closing(work_in_order(items, describe, room, threads)) as done:
        for (part, _), (found, seen) in done:
            for bits in seen:
                assert visit is not None
                visit(Place(part, units=file.units), len(by_part[part]), found[0], bits)
            by_part[part] += found
    return by_part.items()


def _one_by_one(
    file: Describable, part: int, columns: Sequence[Any], groups: bool, visit: Visit | None
) -> Iterator[ChunkDescription]:
    if visit is None:
        yield from file.describe_chunks(part, columns, groups)
        return
    place = Place(part, units=file.units)
    seen: list[GetBits] = []
    found = file.describe_chunks(part, columns, groups, seen.append)
    for position, description in enumerate(found):
        for bits in seen:
            visit(place, position, description, bits)
        seen.clear()
        yield description
