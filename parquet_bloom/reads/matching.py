"""The rows that match filters, of what is left of files: the columns of the filters first, as pyarrow compares them, and
then of all columns that are wanted only the pages with these rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.parallel import check_fits
from parquet_bloom.reads.arrow_conditions import AnyOf, conditions_of, path_of, rows_that_match
from parquet_bloom.reads.partitions import PartitionedFile, Partitions
from parquet_bloom.reads.rows import RowSource, RowTables

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable, Container, Overview
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.reads.pruning import Group, Left
    from parquet_bloom.reads.table_types import Kind

# The number of a row.
_ROW_BYTES: Final = 8


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


class Matching:
    """Collects the rows of files that match."""

    def __init__(
        self,
        filters: Any,
        columns: Sequence[str],
        partitions: Partitions,
        files: ListedFiles,
    ) -> None:
        """`columns`: of the rows. Raises ValueTypeError for null and NaN in filters, ValueError for an operator that only
        engines have."""
        self._any_of = conditions_of(filters)
        self._keys_of = {
            each.column.partition(".")[0] for all_of in self._any_of for each in all_of
        }
        self._partitions, self._files = partitions, files
        of_tables = files.table_columns
        self._tables = RowTables(columns, (*of_tables, *partitions.names) if of_tables else ())
        self.num_files = self.num_groups = self.pages_read = self.bytes_read = 0

    def add(self, file: Container, left: Left) -> None:
        """The rows of a file, in what is left of it. Raises ValueTypeError for what cannot be compared with the values
        of a column, UnsupportedError, FormatError, EncryptionError, OSError."""
        of_table = self._files.as_listed(file, {*self._keys_of, *self._tables.columns})
        source = PartitionedFile(of_table, self._partitions)
        groups = left.groups or ()
        wanted = [*self._keys_of, *self._tables.columns]
        file.will_read_rows(wanted, [group.number for group in groups])
        found = {
            group: _matching(file.path, self._any_of, self._keys(source, group), group.num_rows)
            for group in groups
        }
        rows = self._live(file.path, {group: each for group, each in found.items() if len(each)})
        table = self._tables.read(source, rows, range(sum(map(len, rows.values()))))
        file.source.check_one_version()
        self._tables.add(table)
        self.num_files += bool(groups)
        self.num_groups += len(groups)
        self.pages_read += file.pages_read
        self.bytes_read += file.source.bytes_read

    @property
    def lacking(self) -> tuple[str, ...]:
        """See RowTables."""
        return self._tables.lacking

    def _live(self, path: str, rows: Mapping[Group, Array]) -> dict[int, Any]:
        """By row group, those of these rows that no table has deleted. Raises as ListedFiles.deleted_rows."""
        deleted = self._files.deleted_rows(path) if rows else None
        if deleted is None:
            return {group.number: found for group, found in rows.items()}
        return {
            group.number: live
            for group, found in rows.items()
            if len(live := np.setdiff1d(found, deleted - group.first_row, assume_unique=True))
        }

    def may_match(self, path: str) -> bool:
        """Whether the values of its partitions do not exclude all rows of a file. Raises ValueTypeError, and as
        Partitions."""
        known = self._partitions
        of_partitions = [
            [each for each in all_of if each.column in known.names] for all_of in self._any_of
        ]
        if not all(of_partitions):
            return True
        asked = {each.column for all_of in of_partitions for each in all_of}
        keys = pa.table({name: known.repeated(path, name, 1) for name in asked})
        return len(_matching(path, of_partitions, keys, 1)) > 0

    def _keys(self, source: PartitionedFile, group: Group) -> pa.Table:
        """The whole columns of the filters that a file has."""
        names = source.top_columns
        columns = dict.fromkeys(each.column for all_of in self._any_of for each in all_of)
        wanted = dict.fromkeys(path_of(column, names)[0] for column in columns)
        check_fits(f"{source.path}: {group.num_rows} rows take", _ROW_BYTES * group.num_rows)
        # Of a range, readers would make one number after the other.
        rows: Any = np.arange(group.num_rows)
        found: pa.Table = source.read_rows(
            [name for name in wanted if name in names], {group.number: rows}
        )
        return found

    def table(self) -> pa.Table:
        """All rows. Raises as RowTables.table."""
        return self._tables.table()


def _matching(path: str, any_of: AnyOf, keys: pa.Table, num_rows: int) -> Array:
    """The numbers of the rows of a file that match."""
    try:
        return rows_that_match(any_of, keys, num_rows)
    except ValueTypeError as error:
        raise ValueTypeError(f"{path}: filters: {error}") from None
