"""The rows that match filters, of what is left of files: the columns of the filters first, as pyarrow compares them,
and then of the other columns that are wanted only the pages with these rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.parallel import check_fits
from parquet_bloom.reads.arrow_conditions import (
    AnyOf,
    check_no_lists,
    conditions_of,
    path_of,
    rows_that_match,
)
from parquet_bloom.reads.columns import check_by_name, is_in_list, whole_column
from parquet_bloom.reads.partitions import PartitionedFile, Partitions
from parquet_bloom.reads.rows import RowSource, RowTables, WithKnown

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable, Container, Overview
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.reads.pruning import Group, Left
    from parquet_bloom.reads.table_types import Kind

# The number of a row.
_ROW_BYTES: Final = 8
# Row groups are compared together whose columns of the filters take at most so much.
_AT_ONCE: Final = 8 << 20


class ListedFiles(Protocol):
    """Files, and what their tables say about them."""

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The whole columns of all tables; none if not all files are of tables."""

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The types of the whole columns of all tables."""

    def as_listed(self, file: Askable, wanted: Collection[str]) -> RowSource:
        """A file with the columns that its table has, if it is one's. Raises UnsupportedError if the table says
        otherwise about `wanted` columns."""

    def is_called_alike(self, file: Overview) -> bool:
        """Whether a file of a table calls its columns as that does, and has no others."""

    def may_hide_rows(self, path: str) -> bool:
        """Whether a table may have deleted rows of a file that are still in it."""

    def deleted_rows(self, path: str) -> Array | None:
        """The rows of a file that its table has deleted, ascending; None if there are none. Raises UnsupportedError,
        FormatError, OSError."""


class _Hit(NamedTuple):
    """The rows of a row group that match, ascending, and what is known of them."""

    group: Group
    rows: Array
    known: pa.Table

    def without(self, deleted: Array) -> _Hit:
        live = np.flatnonzero(np.isin(self.rows, deleted - self.group.first_row, invert=True))
        return self._replace(rows=self.rows[live], known=self.known.take(live))


class Found(NamedTuple):
    """The rows of a file that match, and what was read for them."""

    rows: pa.Table
    num_groups: int
    pages_read: int
    bytes_read: int


class Matching:
    """Collects the rows of files that match."""

    def __init__(
        self,
        filters: Any,
        columns: Sequence[str],
        partitions: Partitions,
        files: ListedFiles,
    ) -> None:
        """`columns`: of the rows. Raises ValueTypeError for null and NaN in filters,
        ValueError for an operator that only engines have."""
        self._any_of = [
            [
                each.with_text_of_dates() if partitions.are_dates(each.column) else each
                for each in all_of
            ]
            for all_of in conditions_of(filters)
        ]
        self._keys_of = {
            each.column.partition(".")[0] for all_of in self._any_of for each in all_of
        }
        self._partitions, self._files = partitions, files
        of_tables = files.table_columns
        self._tables = RowTables(columns, (*of_tables, *partitions.names) if of_tables else ())
        # How many row groups like the last ones take _AT_ONCE.
        self._at_once = 1
        self.num_files = self.num_groups = self.pages_read = self.bytes_read = 0

    def found_in(self, file: Container, left: Left) -> Found:
        """The rows of a file, in what is left of it; of several files at a time, if need be. Raises ValueTypeError
        for what cannot be compared with the values of a column, UnsupportedError, FormatError,
        EncryptionError, OSError."""
        of_table = self._files.as_listed(file, {*self._keys_of, *self._tables.columns})
        source = PartitionedFile(of_table, self._partitions)
        # Rows of a row group that is missing would be missing, too.
        file.check_row_counts()
        groups = (left.groups or ()) if self._may_match(source.path, source.top_columns) else ()
        wanted = [*self._keys_of, *self._tables.columns]
        file.will_read_rows(wanted, [group.number for group in groups])
        if not groups:
            # No key is made, which would refuse a list: the answer must not depend on which values are there.
            self.check(file)
        hits = self._live(file.path, [*self._hits(source, groups)])
        rows: dict[int, Any] = {hit.group.number: hit.rows for hit in hits}
        known = _known_of(hits)
        num_rows = sum(map(len, rows.values()))
        table = self._tables.read(WithKnown(source, known), rows, range(num_rows))
        file.source.check_one_version()
        return Found(table, len(groups), file.pages_read, file.source.bytes_read)

    def add(self, found: Found) -> None:
        """The rows of the next file."""
        self._tables.add(found.rows)
        self.num_files += bool(found.num_groups)
        self.num_groups += found.num_groups
        self.pages_read += found.pages_read
        self.bytes_read += found.bytes_read

    @property
    def lacking(self) -> tuple[str, ...]:
        """See RowTables; of the filters, too, as a list is refused whichever files an index leaves."""
        known = self._tables.known
        filtered = {each.column for all_of in self._any_of for each in all_of}
        others = (column for column in filtered if whole_column(column, known) not in known)
        return *self._tables.lacking, *others

    def _hits(self, source: PartitionedFile, groups: Sequence[Group]) -> Iterator[_Hit]:
        """Of row groups that have any."""
        for some, keys in self._keys(source, groups):
            rows = _matching(source.path, self._any_of, keys, sum(each.num_rows for each in some))
            known = _taken(keys, self._tables.columns, rows)
            first = start = 0
            for group in some:
                end = int(np.searchsorted(rows, first + group.num_rows))
                if end > start:
                    yield _Hit(group, rows[start:end] - first, known.slice(start, end - start))
                first, start = first + group.num_rows, end

    def _live(self, path: str, hits: Sequence[_Hit]) -> Sequence[_Hit]:
        """Of these rows, those that no table has deleted. Raises as ListedFiles.deleted_rows."""
        deleted = self._files.deleted_rows(path) if hits else None
        if deleted is None:
            return hits
        return [live for hit in hits if len((live := hit.without(deleted)).rows)]

    def _may_match(self, path: str, names: Sequence[str]) -> bool:
        """Whether rows with null in the columns that a file lacks may match."""
        of_lacking = [
            [each for each in all_of if path_of(each.column, names)[0] not in names]
            for all_of in self._any_of
        ]
        return not all(of_lacking) or len(_matching(path, of_lacking, pa.table({}), 1)) > 0

    def may_match(self, path: str) -> bool:
        """Whether the values of its partitions do not exclude all rows of a file. Raises ValueTypeError, and as
        Partitions."""
        known = self._partitions
        there = known.names_of(path)
        of_partitions = [
            [each for each in all_of if each.column in there] for all_of in self._any_of
        ]
        if not all(of_partitions):
            return True
        asked = {each.column for all_of in of_partitions for each in all_of}
        keys = pa.table({name: known.repeated(path, name, 1) for name in asked})
        return len(_matching(path, of_partitions, keys, 1)) > 0

    def check(self, file: Container) -> None:
        """Raise UnsupportedError for a filter on a column that no name means, ValueTypeError for one on a list, or on
        what is in one."""
        check_by_name(file, {each.column for all_of in self._any_of for each in all_of})
        self._check_no_lists(file)

    def _check_no_lists(self, file: Container) -> None:
        names = {each.column for all_of in self._any_of for each in all_of}
        if not any(is_in_list(file, name) for name in names):
            return
        source = PartitionedFile(self._files.as_listed(file, self._keys_of), self._partitions)
        there = [name for name in source.top_columns if name in self._keys_of]
        with _naming(source.path):
            check_no_lists(self._any_of, source.read_rows(there, {}))

    def _keys(
        self, source: PartitionedFile, groups: Sequence[Group]
    ) -> Iterator[tuple[Sequence[Group], pa.Table]]:
        """The whole columns of the filters that a file has, of row groups: of several at once that are small."""
        names = source.top_columns
        columns = dict.fromkeys(each.column for all_of in self._any_of for each in all_of)
        wanted = dict.fromkeys(path_of(column, names)[0] for column in columns)
        there = [name for name in wanted if name in names]
        start = 0
        while start < len(groups):
            some = groups[start : start + self._at_once]
            for group in some:
                check_fits(
                    f"{source.path}: {group.num_rows} rows take", _ROW_BYTES * group.num_rows
                )
            # Of ranges, readers would make one number after the other.
            rows: Any = {group.number: np.arange(group.num_rows) for group in some}
            found: pa.Table = source.read_rows(there, rows)
            yield some, found
            start += len(some)
            num_bytes = found.nbytes + _ROW_BYTES * sum(group.num_rows for group in some)
            self._at_once = max(1, _AT_ONCE * len(some) // max(1, num_bytes))

    def table(self) -> pa.Table:
        """All rows. Raises as RowTables.table."""
        return self._tables.table()


def _matching(path: str, any_of: AnyOf, keys: pa.Table, num_rows: int) -> Array:
    """The numbers of the rows of a file that match."""
    with _naming(path):
        return rows_that_match(any_of, keys, num_rows)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file, and what was given, in what is wrong with a filter."""
    try:
        yield
    except ValueTypeError as error:
        raise ValueTypeError(f"{path}: filters: {error}") from None


def _taken(keys: pa.Table, wanted: Collection[str], rows: Array) -> pa.Table:
    """Rows of those columns that are wanted, too; of none if pyarrow takes no rows of such columns, be it for their
    type or for their size."""
    there = [name for name in keys.column_names if name in wanted]
    try:
        return keys.select(there).take(rows)
    except pa.ArrowException:
        return pa.table({})


def _known_of(hits: Sequence[_Hit]) -> pa.Table:
    """What is known of all rows; nothing if that is not the same of all."""
    tables = [hit.known for hit in hits]
    is_alike = len({tuple(each.column_names) for each in tables}) == 1
    return pa.concat_tables(tables) if is_alike else pa.table({})
