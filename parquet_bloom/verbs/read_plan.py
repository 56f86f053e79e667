"""What a read leaves out, and by what."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.verbs.documents import VerbReport, html_table
from parquet_bloom.verbs.reading import Reading

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.reads.pruning import LeftByChance
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.vocabulary import TableChoice

_EXCLUDING: Final = ("partitions", "index", "statistics", "filters")

# Of fewer row groups by chance, a plan says nothing but in its fields.
_LEAST: Final = 0.5
# More row groups than this share of them, and few are spared.
_MUCH: Final = 0.5
_HELP: Final = "a lower fpp of filters, an index or fewer values leave fewer"
_WITHOUT: Final = "without a column of the filters"
_UNDECIDED: Final = "nothing to ask files, as of !=, not in, null and NaN"


@dataclass(frozen=True, slots=True)
class LeftFile:
    """A file that is read: these row groups, or stripes of an ORC file, which have `rows` rows."""

    path: str
    row_groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True, slots=True, repr=False)
class ReadPlan(VerbReport):
    """What is `left` to read of `num_files` files: `row_groups_left` in `files_left`, with `rows_left` rows. Of the
    others, `files_by_partitions` are excluded by values of their partitions, `files_by_index` by an index,
    `files_by_statistics` by min/max statistics alone, and `files_by_filters` by their own filters, where statistics left
    any row groups, or as they have only nulls. `files_without_column` lack a column of the filters, and so have null there:
    those of tables are excluded, others are left, as some engines find `ID` for `id`. `files_not_asked` are left as a
    whole, without asking them. Of the files that were asked, `row_groups_by_statistics` and `row_groups_by_filters` are
    excluded, and `row_groups_by_index` of those that an index leaves. `by_chance`: what filters leave though they hold none of the values, of each column that
    filters were asked about, as far as enough of them was read to tell. `undecided`: columns of which nothing is said that
    files can be asked about, such as `!=`, or null among the values."""

    _rows: ClassVar = ("left",)

    num_files: int
    files_by_partitions: int
    files_by_index: int
    files_by_statistics: int
    files_by_filters: int
    files_without_column: int
    files_not_asked: int
    files_left: int
    row_groups_by_index: int
    row_groups_by_statistics: int
    row_groups_by_filters: int
    row_groups_left: int
    rows_left: int
    by_chance: tuple[LeftByChance, ...]
    undecided: tuple[str, ...]
    left: tuple[LeftFile, ...]

    def __repr__(self) -> str:
        of = number_of(self.num_files, "file")
        left = f"{number_of(self.row_groups_left, 'row group')} left in {self.files_left:,} of {of}"
        why = "".join(map(self._excluded_by, _EXCLUDING))
        lacking = f"; {self._without_column}" if self.files_without_column else ""
        asked = f"; {self.files_not_asked:,} not asked" if self.files_not_asked else ""
        several = [each for each in self.by_chance if each.false_row_groups >= _LEAST]
        chances = "".join(f"; {_left_by_chance(each)}" for each in several)
        undecided = f"; {', '.join(self.undecided)}: {_UNDECIDED}" if self.undecided else ""
        return (
            f"<ReadPlan: {left}{why or '; nothing excluded'}{lacking}{asked}{undecided}{chances}>"
        )

    def _repr_html_(self) -> str:
        """By what how many are excluded, and how many are left, then the files that are."""
        rows = [
            *((f"excluded by {what}", *self._counts(what)) for what in _EXCLUDING),
            (_WITHOUT, self.files_without_column, 0),
            ("not asked", self.files_not_asked, 0),
            ("left", self.files_left, self.row_groups_left),
        ]
        shown = [
            (what, f"{files:,}", f"{groups:,}")
            for what, files, groups in rows
            if files or groups or what == "left"
        ]
        table = html_table(("", "files", "row groups"), shown)
        return VerbReport._repr_html_(self).replace("</p>", f"</p>{table}", 1)

    @property
    def _without_column(self) -> str:
        """`2 files without a column of the filters: null there`"""
        return f"{number_of(self.files_without_column, 'file')} {_WITHOUT}: null there"

    def _excluded_by(self, what: str) -> str:
        """`; excluded by filters: 3 files, 20 row groups`"""
        counts = zip(self._counts(what), ("file", "row group"), strict=True)
        told = ", ".join(number_of(count, noun) for count, noun in counts if count)
        return f"; excluded by {what}: {told}" if told else ""

    def _counts(self, what: str) -> tuple[int, int]:
        """The files and the row groups that this excluded; nothing but whole files by partitions."""
        return getattr(self, f"files_by_{what}"), getattr(self, f"row_groups_by_{what}", 0)


def _left_by_chance(told: LeftByChance) -> str:
    """`by chance alone, filters would leave 38 of 40 row groups without any of 300 values of id`, and what helps if that is
    much."""
    groups = number_of(told.row_groups_asked, "row group")
    values = "the value" if told.num_values == 1 else f"any of {told.num_values:,} values"
    text = (
        f"by chance alone, filters would leave {told.false_row_groups:.2g} of {groups} without {values}"
        f" of {told.column}"
    )
    is_much = told.false_row_groups > _MUCH * told.row_groups_asked
    return f"{text}: {_HELP}" if is_much else text


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
    """What pb.rows, pb.dataset, pb.polars_source and pb.row_groups leave out of `files` by these `filters`, and by what:
    partitions of tables and folders such as `country=DE/`, an `index`, min/max statistics or filters. All arguments, and
    what it raises, as for row_groups.

    Of partitions that are neither integers nor text, and of their texts such as `007`, pb.rows and engines leave out more.
    """
    reading = Reading(files, filters, table, index, hash_key, keys, storage_options, cache)
    found, excluded = reading.row_groups()
    left = tuple(
        LeftFile(
            each.path,
            tuple(group.number for group in each.groups or ()),
            sum(group.num_rows for group in each.groups or ()),
        )
        for each in found
    )
    return ReadPlan(
        **excluded._asdict(),
        files_left=len(left),
        row_groups_left=sum(len(each.row_groups) for each in left),
        rows_left=sum(each.rows for each in left),
        undecided=reading.undecided,
        left=left,
    )
