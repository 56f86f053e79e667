"""What a read leaves out, and by what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.reads.pruning import MISSING_COLUMN, MOST_LEFT
from parquet_bloom.verbs.documents import VerbReport, html_table
from parquet_bloom.verbs.left_out_files import left_out
from parquet_bloom.verbs.reading import Reading
from parquet_bloom.vocabulary import ADVISED

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.reads.pruning import LeftByChance, Pruned, WithoutFilter
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.storage.folder import Found
    from parquet_bloom.verbs.reading import Sizes
    from parquet_bloom.vocabulary import TableChoice

_EXCLUDING: Final = ("partitions", "index", "statistics", "filters")

# Of fewer row groups by chance, a plan says nothing but in its fields.
_LEAST: Final = 0.5
# More row groups than this share of them, and few are spared.
_MUCH: Final = 0.5
_HELP: Final = "a lower fpp of filters, an index or fewer values leave fewer"
_WITHOUT: Final = "without a column of the conditions"
_UNDECIDED: Final = "nothing to ask files, as of !=, not in, null, NaN and values of another type"
_WITHOUT_ZONE: Final = (
    "in UTC, so that only pb.rows asks about moments without a zone,"
    " which it takes as UTC: give them one"
)
# Of fewer row groups, that all are left says little.
_SEVERAL: Final = 8
_IN_VAIN: Final = (
    "nearly all is left: nothing is gained over reading without asking, unless few rows match"
)


@dataclass(frozen=True, slots=True)
class PlannedRowGroups:
    """Row groups of a file, or stripes of an ORC file, that are all left, or all excluded by the same: `partitions`,
    `index`, `statistics`, `filters`, or `missing column`. They have `rows` rows, and `bytes` bytes of values in all
    columns, None if that is encrypted. Of a file that stayed closed, `row_groups` and `rows` are None, and `bytes`
    are those of the file, None if nobody knows."""

    path: str
    row_groups: tuple[int, ...] | None
    rows: int | None
    bytes: int | None
    excluded_by: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ReadPlan(VerbReport):
    """What is `left` to read of `num_files` files: `row_groups_left` in `files_left`, with `rows_left` rows in
    `bytes_left` bytes. Of the others, `files_by_partitions` are excluded by values of their partitions,
    `files_by_index` by an index, `files_by_statistics` by their statistics alone, min/max or only nulls, or as a
    condition has no values, and `files_by_filters` by their own filters, where statistics, whichever condition they
    are about, left any row groups. `files_without_column` lack a column of the conditions, and so have null there:
    those of tables are excluded, others are left, as some engines find `ID` for `id`. `files_not_asked` are left as a
    whole, without asking them; `why_not_asked` says why. Of the files that were asked, `row_groups_by_statistics` and
    `row_groups_by_filters` are excluded, and `row_groups_by_index` of those that an index leaves. `by_chance`: what
    filters leave though they hold none of the values, of each column that filters were asked about, as far as enough
    of them was read to tell. `without_filter`: of each column whose filters would have been asked, how many row
    groups are left that have none, but for those with a single value by their statistics. `undecided`: columns of
    which nothing is said that partitions or files can be asked about, such as `!=` of a column in files, null among
    the values, or floats for integers. `without_zone`: columns in UTC that are compared with moments without a zone,
    which are in UTC to pb.rows alone. `excluded`: what is not left; to_arrow() has both, and by what, in
    `excluded_by`. `left_out`: files in the folders that were given, which are not read because of their names, and
    not counted above."""

    _rows: ClassVar = ("row_groups",)
    _item: ClassVar = PlannedRowGroups

    num_files: int
    files_by_partitions: int
    files_by_index: int
    files_by_statistics: int
    files_by_filters: int
    files_without_column: int
    files_not_asked: int
    why_not_asked: tuple[str, ...]
    files_left: int
    row_groups_by_index: int
    row_groups_by_statistics: int
    row_groups_by_filters: int
    row_groups_left: int
    rows_left: int
    bytes_left: int | None
    by_chance: tuple[LeftByChance, ...]
    without_filter: tuple[WithoutFilter, ...]
    undecided: tuple[str, ...]
    without_zone: tuple[str, ...]
    left: tuple[PlannedRowGroups, ...]
    excluded: tuple[PlannedRowGroups, ...]
    left_out: tuple[str, ...] = ()

    @property
    def row_groups(self) -> tuple[PlannedRowGroups, ...]:
        """Those that are left, then the others."""
        return self.left + self.excluded

    def __repr__(self) -> str:
        of = number_of(self.num_files, "file")
        left = f"{number_of(self.row_groups_left, 'row group')} left in {self.files_left:,} of {of}"
        why = "".join(map(self._excluded_by, _EXCLUDING)) or "; nothing excluded"
        return f"<ReadPlan: {left}{why}{''.join(f'; {each}' for each in self._remarks())}>"

    def _remarks(self) -> Iterator[str]:
        """What else is to be known."""
        if self.left_out:
            yield left_out(self.left_out)
        if self.files_without_column:
            yield self._without_column
        if self.files_not_asked:
            yield f"{self.files_not_asked:,} not asked: {', '.join(self.why_not_asked)}"
        if others := [each for each in self.undecided if each not in self.without_zone]:
            yield f"{', '.join(others)}: {_UNDECIDED}"
        if self.without_zone:
            yield f"{', '.join(self.without_zone)}: {_WITHOUT_ZONE}"
        yield from (
            _left_by_chance(each) for each in self.by_chance if each.false_row_groups >= _LEAST
        )
        # Of a single one, a filter could only say that there is no such value.
        yield from map(_lacking, (each for each in self.without_filter if each.row_groups > 1))
        if self._is_in_vain:
            yield _IN_VAIN

    @property
    def _is_in_vain(self) -> bool:
        """Whether files were asked, and nearly nothing is excluded."""
        was_asked = not self.undecided and self.files_not_asked < self.files_left
        left, every = self.bytes_left, _sum(each.bytes for each in self.row_groups)
        if not was_asked or self.row_groups_left < _SEVERAL or left is None or every is None:
            return False
        return left > MOST_LEFT * every

    def _repr_html_(self) -> str:
        """By what how much is excluded, and how much is left, then what."""
        parts = [
            (f"excluded by {what}", self._files_by(what), what)
            for what in (*_EXCLUDING, MISSING_COLUMN)
        ]
        rows = [
            ("in all", self.num_files, self.row_groups),
            *((label, files, self._by(what)) for label, files, what in parts),
            ("left", self.files_left, self.left),
        ]
        head = ("", "files", "row groups", "rows", "bytes")
        shown = [
            _row(label, files, of) for label, files, of in rows if files or of or label == "left"
        ]
        return VerbReport._repr_html_(self).replace("</p>", f"</p>{html_table(head, shown)}", 1)

    @property
    def _without_column(self) -> str:
        """`2 files without a column of the conditions: null there`"""
        return f"{number_of(self.files_without_column, 'file')} {_WITHOUT}: null there"

    def _excluded_by(self, what: str) -> str:
        """`; excluded by filters: 3 files, 20 row groups`"""
        # Nothing but whole files by partitions.
        groups = getattr(self, f"row_groups_by_{what}", 0)
        counts = (self._files_by(what), "file"), (groups, "row group")
        told = ", ".join(number_of(count, noun) for count, noun in counts if count)
        return f"; excluded by {what}: {told}" if told else ""

    def _files_by(self, what: str) -> int:
        """How many whole files this excluded."""
        if what == MISSING_COLUMN:
            return len(self._by(what))
        count: int = getattr(self, f"files_by_{what}")
        return count

    def _by(self, what: str) -> Sequence[PlannedRowGroups]:
        return [each for each in self.excluded if each.excluded_by == what]


def _row(label: str, files: int, of: Sequence[PlannedRowGroups]) -> list[str]:
    """In the table of a plan; what nobody knows, as of files that stayed closed, is empty."""
    groups = _sum(None if each.row_groups is None else len(each.row_groups) for each in of)
    sums = groups, _sum(each.rows for each in of), _sum(each.bytes for each in of)
    return [label, f"{files:,}", *("" if each is None else f"{each:,}" for each in sums)]


def _sum(numbers: Iterable[int | None]) -> int | None:
    """None if one of them is not known."""
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


def _left_by_chance(told: LeftByChance) -> str:
    """`by chance alone, filters would leave 38 of 40 row groups without any of 300 values of id`,
    and what helps if that is much."""
    groups = number_of(told.row_groups_asked, "row group")
    values = "the value" if told.num_values == 1 else f"any of {told.num_values:,} values"
    text = (
        f"by chance alone, filters would leave {told.false_row_groups:.2g} of {groups} without {values}"
        f" of {told.column}"
    )
    is_much = told.false_row_groups > _MUCH * told.row_groups_asked
    return f"{text}: {_HELP}" if is_much else text


def _lacking(told: WithoutFilter) -> str:
    """`8 row groups in 2 files have no filter on id: pbloom advise says whether it deserves one`"""
    groups, files = number_of(told.row_groups, "row group"), number_of(told.files, "file")
    return f"{groups} in {files} have no filter on {told.column}: {ADVISED}"


def read_plan(
    files: Any,
    filters: Any,
    *,
    table: TableChoice | TableView | None = None,
    index: str | os.PathLike[str] | None = None,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> ReadPlan:
    """What pb.rows, pb.dataset, pb.polars_source and pb.row_groups leave out of `files` by these `filters`, and by
    what: partitions of tables and folders such as `country=DE/`, an `index`, min/max statistics or filters. All
    arguments, and what it raises, as for row_groups.

    Of partitions that are neither integers, text nor dates of tables, and of their texts such as `007`, pb.rows and
    engines leave out more; and so does pb.rows by timestamps without a zone of columns in UTC,
    as `without_zone` says.
    """
    reading = Reading(files, filters, table, index, hash_key, keys, storage_options, cache)
    pruned, sizes = reading.measured()
    left = tuple(
        _share(each.path, [group.number for group in each.groups or ()], sizes[each.path])
        for each in pruned.left
    )
    return ReadPlan(
        **pruned.excluded._asdict(),
        files_left=len(left),
        row_groups_left=sum(len(each.row_groups or ()) for each in left),
        rows_left=sum(each.rows or 0 for each in left),
        bytes_left=_sum(each.bytes for each in left),
        left=left,
        excluded=tuple(_excluded(reading.files.found, pruned, sizes)),
        left_out=reading.left_out,
    )


def _excluded(
    found: Mapping[str, Found], pruned: Pruned, sizes: Mapping[str, Sizes]
) -> Iterator[PlannedRowGroups]:
    """Row groups that are not left, file by file."""
    asked = {each.path: each for each in (*pruned.left, *pruned.not_left)}
    for path, file in found.items():
        each = asked.get(path)
        if each is None or each.groups is None:
            # Without a request that tells, a file behind a URL has no size.
            by = "partitions" if each is None else "index"
            yield PlannedRowGroups(path, None, None, file.size or None, by)
            continue
        for by, numbers in each.not_left(len(sizes[path].rows)).items():
            if numbers:
                yield _share(path, numbers, sizes[path], by)


def _share(
    path: str, numbers: Sequence[int], sizes: Sizes, by: str | None = None
) -> PlannedRowGroups:
    rows = sum(sizes.rows[number] for number in numbers)
    num_bytes = _sum(sizes.num_bytes[number] for number in numbers)
    return PlannedRowGroups(path, tuple(numbers), rows, num_bytes, by)
