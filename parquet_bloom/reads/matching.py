"""The rows that match filters, of what is left of files: the columns of the filters first, as pyarrow compares them, and
then of all columns that are wanted only the pages with these rows.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.parallel import check_fits
from parquet_bloom.reads.arrow_conditions import (
    ArrowCondition,
    conditions_of,
    is_lacking,
    path_of,
    reason_of,
)
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
        """`columns`: of the rows."""
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
            group: self._matching(file.path, self._keys(source, group), self._any_of)
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
        keys = keys.append_column(_unlike(asked), pa.array([0]))
        return len(self._matching(path, keys, of_partitions)) > 0

    def _keys(self, source: PartitionedFile, group: Group) -> pa.Table:
        """The columns of the filters, nulls for one that the file lacks, also of a field, and the numbers of the rows."""
        names = source.top_columns
        conditions = [each for all_of in self._any_of for each in all_of]
        wanted = dict.fromkeys(path_of(each.column, names)[0] for each in conditions)
        there = [name for name in wanted if name in names]
        check_fits(f"{source.path}: {group.num_rows} rows take", _ROW_BYTES * group.num_rows)
        # Of a range, readers would make one number after the other.
        numbers: Any = np.arange(group.num_rows)
        found = source.read_rows(there, {group.number: numbers})
        columns = {name: found[name] for name in there}
        for column, value in {each.column: each.value for each in conditions}.items():
            if is_lacking(column, found.schema):
                kind = value.type if hasattr(value, "type") else pa.scalar(value).type
                columns[column] = pa.nulls(group.num_rows, kind)
        return pa.table([*columns.values(), pa.array(numbers)], [*columns, _unlike(columns)])

    def _matching(
        self, path: str, keys: pa.Table, any_of: Sequence[Sequence[ArrowCondition]]
    ) -> NDArray[np.int64]:
        """The numbers of the rows that match."""
        *_, number = keys.column_names
        try:
            each_of = [
                reduce(operator.and_, [each.of(keys.schema) for each in all_of])
                for all_of in any_of
            ]
            found = keys.filter(reduce(operator.or_, each_of))
        except (pa.ArrowException, OverflowError, TypeError, ValueTypeError) as error:
            raise ValueTypeError(f"{path}: filters: {reason_of(error)}") from None
        rows: NDArray[np.int64] = found[number].to_numpy()
        return rows

    def table(self) -> pa.Table:
        """All rows. Raises as RowTables.table."""
        return self._tables.table()


def _unlike(names: Collection[str]) -> str:
    """A name that none of these is."""
    return "#" * (1 + max(map(len, names), default=0))
