"""Which files of a table are wanted, by the values of partition columns as the table has them.

A table of Iceberg can have files of several partition specs. One whose spec lacks a column can have rows
of any partition: it is wanted, too, or what is in the partition would seem to be absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from parquet_bloom.errors import ColumnError, RewriteError, similar
from parquet_bloom.options import where_given
from parquet_bloom.tables.table import LakeTable, Moment, TableFile
from parquet_bloom.vocabulary import NULL_PARTITION

_SHOWN: Final = 5


def files_where(
    table: LakeTable,
    where: Mapping[str, str | Sequence[str | None] | None],
    since: datetime | int | str | None = None,
) -> tuple[TableFile, ...]:
    """The live files that can have rows with one of the values for each column of `where`: those of
    such partitions, and those that are not partitioned by the column; only those added after the version
    or time `since`, or after what a branch or tag of that name is at. Raises ColumnError for another column,
    RewriteError if no partition has any of the values, and as LakeTable.added_since."""
    files = table.files()
    for column, wanted in where_given(where).items():
        if column not in table.partition_columns:
            raise ColumnError(f"{table.location}: {_no_partition(column, table.partition_columns)}")
        there = {file.partition[column] for file in files if column in file.partition}
        # A table can have it as a text, too.
        values = {*wanted, *(None for value in wanted if value == NULL_PARTITION)}
        if values.isdisjoint(there):
            asked = ", ".join(_shown(values))
            raise RewriteError(
                f"{table.location}: {column}={asked}: no live file{_instead(table, there)}"
            )
        files = [
            file
            for file in files
            if column not in file.partition or file.partition[column] in values
        ]
    if since is None:
        return tuple(files)
    added = table.added_since(_moment(since))
    return tuple(file for file in files if file.name in added)


def _moment(since: datetime | int | str) -> Moment:
    if isinstance(since, int):
        return Moment(since)
    return Moment(name=since) if isinstance(since, str) else Moment(as_of=since)


def _instead(table: LakeTable, there: Collection[str | None]) -> str:
    """Which values of a partition column are `there`."""
    if not there:
        is_empty = not table.files()
        return (
            f": the table is empty at version {table.version}"
            if is_empty
            else " with a partition of this column"
        )
    known = _shown(there)
    return f", expected {', '.join(known[:_SHOWN])}" + ", …" * (len(known) > _SHOWN)


def _shown(values: Iterable[str | None]) -> list[str]:
    return sorted({NULL_PARTITION if value is None else value for value in values})


def _no_partition(column: str, columns: Sequence[str]) -> str:
    if not columns:
        return f"no partition column {column}; the table is not partitioned"
    close = similar(column, columns)
    hint = f"did you mean {', '.join(close)}?" if close else f"the table has {', '.join(columns)}"
    return f"no partition column {column}; {hint}"
