"""Row groups of files as their tables have them, for readers that cannot be told what tables say about their files:
without deleted rows, under the names of the table, with the columns of partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.reads.partitions import PartitionedFile, Partitions
from parquet_bloom.reads.table_types import schema_of

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.reads.matching import ListedFiles
    from parquet_bloom.reads.pruning import Group, Left

_NOTHING: Final[Mapping[int, Sequence[int]]] = {}


class WholeGroups:
    """Reads them. Methods raise as ListedFiles and Askable.read_rows do."""

    def __init__(
        self, files: ListedFiles, partitions: Partitions, opener: Callable[[str], Container]
    ) -> None:
        self._files, self._partitions, self._open = files, partitions, opener

    def schema(self, paths: Sequence[str]) -> pa.Schema:
        """Of all columns of the tables, of the types that they have in the first of these files which has them, as
        far as the tables do not say otherwise."""
        names = dict.fromkeys((*self._files.table_columns, *self._partitions.names))
        found: dict[str, pa.Field] = {}
        for path in paths:
            if found.keys() >= names.keys():
                break
            with self._open(path) as file:
                source = self._source(file, self._files.table_columns)
                schema = source.read_rows(source.top_columns, _NOTHING).schema
            found = {field.name: field for field in schema} | found
        return schema_of(names, found, self._files.kinds)

    def are_plain(self, left: Sequence[Left], schema: pa.Schema) -> bool:
        """Whether any reader of these files reads all of what the tables have, whose schema this is."""
        return all(self._is_plain(each.path, schema) for each in left)

    def _is_plain(self, path: str, schema: pa.Schema) -> bool:
        if self._partitions.names or self._files.may_hide_rows(path):
            return False
        with self._open(path) as file:
            if not self._files.is_called_alike(file):
                return False
            stored = file.read_rows(file.top_columns, _NOTHING).schema
        return {field.name: field.type for field in stored} == {
            field.name: field.type for field in schema
        }

    def read(self, left: Sequence[Left], schema: pa.Schema) -> Iterator[pa.Table]:
        """Each row group that is left and has rows, with columns of this schema."""
        for each in left:
            with self._open(each.path) as file:
                source = self._source(file, schema.names)
                deleted = self._files.deleted_rows(each.path)
                for group in each.groups or ():
                    rows = _live(group, deleted)
                    if len(rows):
                        yield _as(each.path, schema, _read(source, group, rows, schema), len(rows))
                file.source.check_one_version()

    def _source(self, file: Container, columns: Sequence[str]) -> PartitionedFile:
        of_table = self._files.as_listed(file, columns)
        return PartitionedFile(of_table, self._partitions)


def _live(group: Group, deleted: Array | None) -> Array:
    rows = np.arange(group.num_rows)
    if deleted is None:
        return rows
    return np.setdiff1d(rows, deleted - group.first_row, assume_unique=True)


def _read(source: PartitionedFile, group: Group, rows: Any, schema: pa.Schema) -> pa.Table:
    there = [name for name in schema.names if name in source.top_columns]
    found: pa.Table = source.read_rows(there, {group.number: rows})
    return found


def _as(path: str, schema: pa.Schema, found: pa.Table, num_rows: int) -> pa.Table:
    """With nulls in columns that a file lacks, and of the types of this schema."""
    columns = [
        found.column(field.name)
        if field.name in found.column_names
        else pa.nulls(num_rows, field.type)
        for field in schema
    ]
    try:
        return pa.table(columns, schema.names).cast(schema)
    except (pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UnsupportedError(
            f"{path}: columns have other types than in other files: {reason}"
        ) from None
