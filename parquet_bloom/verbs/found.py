"""What came of a search for values: the rows that hold them, and what was looked into for that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.container import AS_TEXT, IN_PYTHON, UNITS, WHERE_KNOWN, number_of, some_of
from parquet_bloom.container.shown_names import units_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.values.given import list_values, python_values, show_value, show_values
from parquet_bloom.verbs.asked_files import AskedFile
from parquet_bloom.verbs.documents import MOST_ROWS, VerbReport, plain
from parquet_bloom.verbs.lazy_items import LazyItems
from parquet_bloom.verbs.left_out_files import left_out
from parquet_bloom.vocabulary import BY_NAME

if TYPE_CHECKING:
    from parquet_bloom.index.manifest import TableSource
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.vocabulary import Format


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that holds a value: `row_in_row_group` counts from 0 in the row group, which is a stripe of an ORC file,
    and `row` in the file. `value`: as Python has it, the text of a literal. `deleted`: whether its table has deleted
    it, by a deletion vector or a delete file: it is still in the file, until that is written anew;
    None if nobody could tell."""

    value: Any = field(metadata=AS_TEXT)
    path: str
    row_group: int
    row_in_row_group: int
    row: int
    deleted: bool | None = False


@dataclass(frozen=True, slots=True)
class UnknownFile:
    """A file that may hold any of the values, and why nobody could look; or only for some of them, which its column
    cannot hold: `rows` has those with the others."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnverifiedFile:
    """An encrypted file whose footer may have been replaced, and why nobody could tell."""

    path: str
    reason: str


def _told(file: UnknownFile | UnverifiedFile) -> str:
    return f"{file.path}: {file.reason}"


class AbsentValues(LazyItems[Any]):
    """Those that are in none of the rows, each once, but for those at `unsure` positions; none if not `known`."""

    noun = "value"

    def __init__(
        self,
        values: Sequence[Any] | Array,
        rows: Sequence[FoundRow],
        unsure: Collection[int],
        *,
        known: bool,
    ) -> None:
        self._values, self._rows = values, rows
        self._unsure, self._known = unsure, known

    @cached_property
    def _items(self) -> tuple[Any, ...]:
        if not self._known:
            return ()
        values = python_values(self._values)
        held = {row.value for row in self._rows}
        absent = [each for each in dict.fromkeys(values) if each not in held]
        if not self._unsure:
            return tuple(absent)
        # Some values have one text, by which an account has them.
        unsure = {show_value(values[at]) for at in self._unsure}
        return tuple(each for each in absent if show_value(each) not in unsure)

    def check_sought(self, texts: Iterable[str]) -> None:
        """Raise ValueTypeError if one of these is the text of no value that was looked for."""
        sought = {*show_values(self._values)}
        for text in texts:
            if text not in sought:
                raise ValueTypeError(
                    f"values: {text}: not looked for, expected what find was given"
                )


@dataclass(frozen=True, slots=True, repr=False)
class FindReport(VerbReport):
    """The `rows` that hold values of a column; `absent`: the values that no file holds: none while a file is
    `unknown` that may hold any, and of those that are so for some of the values, only the others. Of `num_files`,
    `files_by_index` hold none of the values that they can hold by an `index` in its `generation`,
    `files_by_statistics` none by their statistics alone, min/max or only nulls, or by their type, and
    `files_by_filters` none by their own filters, where statistics left any row groups; `files_without_column` lack a
    column that is null there, as their table says, or `union_by_name`; of `files_read`, values were read in
    `row_groups_read` row groups or stripes, there in `pages_read` data pages. Of those of files that were asked
    themselves, `row_groups_by_statistics` and `row_groups_by_filters` were not read. What could not be asked is
    `unknown`, or not for all values, as `files_unknown_of_some` are, which cannot hold some of them, and answered for
    the others; of those that are `unverified`, the footer may not be the one that was written. `deleted_in`: files of
    rows of which their table may have deleted some: each row says whether it has; `undecided`: those of which nobody
    can tell, and why. `encrypted_in`: files of rows that are encrypted there, or of which some of the columns that
    were asked for are. `left_out`: files in the folders that were given, which nobody asked because of their names.
    `asked`: the files that were asked, each in its state;
    of those that no one has named, without what an index alone ruled out. `inputs`: the names that were given, none
    for all files of an index; `tables`: those that were asked, at their versions; `formats`: those of the files that
    were opened; `started`: when, and `made`: when files were looked at last for the index, in seconds since 1970.
    `values`: a pyarrow.Table with the columns that were asked for, a row for each of `rows`."""

    _rows: ClassVar = ("rows",)

    column: str
    index: str | None
    generation: int | None
    num_files: int
    files_by_index: int
    files_by_statistics: int
    files_by_filters: int
    files_read: int
    row_groups_by_statistics: int
    row_groups_by_filters: int
    row_groups_read: int
    pages_read: int
    bytes_read: int
    rows: tuple[FoundRow, ...]
    unknown: tuple[UnknownFile, ...]
    absent: Sequence[Any] = field(default=(), compare=False, metadata=AS_TEXT)
    unverified: tuple[UnverifiedFile, ...] = ()
    asked: Sequence[AskedFile] = field(default=(), compare=False, metadata=IN_PYTHON)
    deleted_in: tuple[str, ...] = ()
    undecided: tuple[UnknownFile, ...] = field(default=(), metadata=IN_PYTHON)
    left_out: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    tables: tuple[TableSource, ...] = ()
    formats: tuple[Format, ...] = ()
    started: float = field(default=0.0, compare=False)
    made: float | None = field(default=None, compare=False)
    files_without_column: int = 0
    files_unknown_of_some: int = 0
    union_by_name: bool = False
    encrypted_in: tuple[str, ...] = field(default=(), metadata=IN_PYTHON)
    values: Any = field(default=None, compare=False, metadata=WHERE_KNOWN)

    def __repr__(self) -> str:
        found = number_of(self.num_rows, "row")
        doubt = f"; {len(self.unknown):,} unknown: {_told(self.unknown[0])}" if self.unknown else ""
        where = some_of(len(self.found_in), self.files_asked, "file")
        where += " as indexed" * self.is_as_indexed
        besides = f"; {left_out(self.left_out)}" if self.left_out else ""
        return (
            f"<FindReport {self.column}: {found} in {where}; {self._looked_into}{doubt}{besides}>"
        )

    @property
    def _looked_into(self) -> str:
        """`2 row groups read, 998 excluded, 40 files excluded by the index`"""
        units = UNITS[self.formats[0]] if len(self.formats) == 1 else UNITS["parquet"]
        excluded = self.row_groups_by_statistics + self.row_groups_by_filters
        without = f"; {self.without_column}" if self.files_without_column else ""
        told = [f"{number_of(self.row_groups_read, units.part)} read"]
        # An index rules out row groups that nobody counts.
        if excluded or self.index is None:
            told.append(f"{excluded:,} excluded")
        if self.files_by_index:
            told.append(f"{number_of(self.files_by_index, 'file')} excluded by the index")
        return ", ".join(told) + without

    @property
    def num_rows(self) -> int:
        """How many rows hold any of the values: one with several of them, in a list, is in `rows` for each."""
        return sum(1 for _ in groupby(self.rows, lambda found: (found.path, found.row)))

    @property
    def num_deleted(self) -> int:
        """How many of these their table has deleted."""
        return len({(found.path, found.row) for found in self.rows if found.deleted})

    @property
    def files_asked(self) -> int:
        """How many files answered, be it for some of the values alone: all but those of which nothing is known."""
        unknown = {file.path for file in self.unknown}
        return self.num_files - len(unknown) + self.files_unknown_of_some

    @property
    def without_column(self) -> str:
        """`2 files without the column: null there by union-by-name`"""
        why = BY_NAME if self.union_by_name else "the table reads null there"
        return f"{number_of(self.files_without_column, 'file')} without the column: {why}"

    @property
    def found_in(self) -> tuple[str, ...]:
        """The files of the `rows`."""
        return tuple(dict.fromkeys(row.path for row in self.rows))

    @property
    def is_absent(self) -> bool:
        """Whether no file holds any of the values."""
        return not self.rows and not self.unknown

    @property
    def is_as_indexed(self) -> bool:
        """Whether nobody listed the files, so that those may be left out that were added or changed since the index
        was `made`."""
        return self.index is not None and not self.inputs and not self.tables

    @property
    def files_left_out(self) -> int:
        """How many files are in `left_out`."""
        return len(self.left_out)

    def to_arrow(self) -> Any:
        """The rows as a pyarrow.Table; a column `values.NAME` for each that was asked for."""
        table = VerbReport.to_arrow(self)
        for name in self.values.column_names if self.values is not None else ():
            kind = self.values.schema.field(name).with_name(f"values.{name}")
            table = table.append_column(kind, self.values.column(name))
        return table

    def _page_notes(self) -> Sequence[str]:
        return [*map(_told, self.unknown), *map(_told, self.unverified)]

    def _page_rows(self) -> Iterator[dict[str, Any]]:
        if self.values is None:
            yield from self._items()
            return
        from parquet_bloom.verbs.json_values import json_rows

        # Nobody sees more of them.
        asked_for = json_rows(self.values.slice(0, MOST_ROWS))
        for row, values in zip(self._items(), asked_for, strict=False):
            yield row | {f"values.{name}": value for name, value in values.items()}

    def account(self, values: Any) -> Any:
        """What became of each of `values`, which were looked for, as a pyarrow.Table: a row for each row that holds
        a value (its `state` is `found`), for each other value (`absent`, `unknown`), and, without a value, for each
        file that was asked (`asked`) or could not be (`unknown`). Raises ValueTypeError for others, of which it would
        say `absent`; also for one of another type, as 1.0 for 1."""
        from parquet_bloom.verbs.account import account_of

        texts = dict.fromkeys(show_values(list_values(values)))
        if isinstance(self.absent, AbsentValues):
            self.absent.check_sought(texts)
        return account_of(self, [*texts])

    def _in_full(self) -> object:
        if self.values is None:
            return self
        from parquet_bloom.verbs.json_values import json_rows

        units = units_of(self)
        rows: Any = [
            plain(row, units) | {"values": values}
            for row, values in zip(self.rows, json_rows(self.values), strict=True)
        ]
        return replace(self, rows=rows, values=None)
