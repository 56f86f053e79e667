"""spark.read.format("bloom"): one row for each column chunk, or column of an ORC file's stripe, with
its filter or why it has none.

Files are listed where Spark plans, in a Python process without a session, and inspected in tasks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from math import ceil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    In,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from parquet_bloom.container import Place, Units
from parquet_bloom.errors import ParquetBloomError, complaint, complaint_about
from parquet_bloom.files import open as open_file
from parquet_bloom.spark.filter_rows import Row, as_text, error_row, rows_of
from parquet_bloom.spark.listing import LakeFile, opened_by_executors
from parquet_bloom.spark.packing import FILE_COST, WAVES, pack
from parquet_bloom.spark.schemas import FILTER
from parquet_bloom.spark.source_options import SourceOptions
from parquet_bloom.spark.worker import keys_in
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.verbs.documents import place_fields
from parquet_bloom.verbs.inspect import inspect

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

# What is read of a file, footer and filters, is seldom more than this part of it.
PART_READ = 64
# What a task should have to do, in bytes as FILE_COST is: less is not worth its start.
TASK_COST = 8 * FILE_COST
# As many tasks as that keep most clusters busy; beyond, each gets more to do, up to so much.
MANY_TASKS = 96
MOST_COST = 64 * FILE_COST
# Rows of one record batch.
BATCH_ROWS = 4096

# When files have changed does not matter.
_SOME_TIME = datetime.fromtimestamp(0, UTC)

# Columns of FILTER by whose values less is read, as filters name them.
_NARROWED_BY = {("path",), ("row_group",), ("stripe",), ("column",)}


class Files(InputPartition):
    """What one task reads, and in `missing` the names without files and what is said of them."""

    def __init__(self, paths: Sequence[str], missing: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__((tuple(paths), tuple(missing)))


class BloomDataSource(DataSource):
    """Options: path, paths, mode, columns, pushdown, keysfile; see docs/filters_table.md."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._options = SourceOptions.parse(options)

    @classmethod
    def name(cls) -> str:
        return "bloom"

    def schema(self) -> StructType:
        return FILTER

    def reader(self, schema: StructType) -> DataSourceReader:
        """`schema`: FILTER, or some of its columns if the user says so."""
        _check_schema(schema)
        # Spark fails queries on readers that could take filters while it is told to push none.
        kind = NarrowingReader if self._options.pushdown else BloomReader
        return kind(self._options, schema)


class BloomReader(DataSourceReader):
    """Reads all files there are. Goes to the executors, as does what it has."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        # The values wanted of a column, if not all are.
        self._wanted: dict[str, frozenset[Any]] = {}

    def partitions(self) -> list[InputPartition]:
        """The files, packed. Raises OSError for a name without files if mode is failfast."""
        names = [opened_by_executors(name) for name in self._options.names]
        inputs, errors = expand(names)
        if errors and self._options.failfast:
            raise errors[0]
        paths = dict.fromkeys(_absolute(input.path) for input in inputs)
        files = [_lake_file(path) for path in paths if self._wants("path", as_text(path))]
        pieces, _ = pack(files, ceil(_num_tasks(files) / WAVES))
        pieces.sort(key=lambda piece: (piece.task, piece.file.path))
        tasks: list[InputPartition] = [
            Files([piece.file.path for piece in of_task])
            for _, of_task in groupby(pieces, lambda piece: piece.task)
        ]
        missing = [(str(error.filename or ""), complaint(error)) for error in errors]
        return [*tasks, Files((), missing)] if missing else tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Record batches of the schema. Raises what a file raises if mode is failfast; what is
        wrong with the keys file in any mode."""
        schema = to_arrow_schema(self._schema, timezone="UTC")
        # Where there are no files, Spark makes a partition of its own.
        rows = self._rows(*partition.value) if partition.value else iter(())
        while batch := list(islice(rows, BATCH_ROWS)):
            yield pa.RecordBatch.from_pylist(batch, schema=schema)

    def _rows(self, paths: Iterable[str], missing: Iterable[tuple[str, str]]) -> Iterator[Row]:
        """Those that are wanted."""
        keys = keys_in(self._options.keysfile)
        of_files = chain.from_iterable(self._rows_of(path, keys) for path in paths)
        of_missing = (error_row(name, said) for name, said in missing)
        for row in chain(of_files, of_missing):
            if all(row.get(name) in values for name, values in self._wanted.items()):
                yield row

    def _rows_of(self, path: str, keys: Keys | None) -> Iterable[Row]:
        """Those of one file: all or, if something is wrong with it, one that says so."""
        try:
            columns, row_groups = self._narrowed(path, keys)
            report = inspect(path, columns=columns, row_groups=row_groups, keys=keys)
        except (ParquetBloomError, OSError, ValueError, MemoryError) as error:
            if self._options.failfast:
                raise
            return [error_row(path, complaint_about(path, error))]
        return rows_of(report)

    def _narrowed(
        self, path: str, keys: Keys | None
    ) -> tuple[Sequence[str] | None, Sequence[int] | None]:
        """Columns, and row groups or stripes, to inspect, None for all of them: what is not wanted is
        not read. Raises what inspect does."""
        columns = self._options.columns
        if not self._wanted.keys() & {"row_group", "stripe", "column"}:
            return columns, None
        with open_file(path, keys) as file:
            names = [column.name for column in file.select(columns)]
            places = [Place(part) for part in file.parts(None)]
            units = file.units
        if len(set(names)) == len(names):
            columns = tuple(name for name in names if self._wants("column", as_text(name)))
        return columns, [each.part for each in places if self._wants_place(each, units)]

    def _wants_place(self, place: Place, units: Units) -> bool:
        """What the file has none of is NULL in all its rows."""
        fields = place_fields(place, units)
        return all(self._wants(name, fields.get(name)) for name in ("row_group", "stripe"))

    def _wants(self, name: str, value: Any) -> bool:
        return name not in self._wanted or value in self._wanted[name]


class NarrowingReader(BloomReader):
    """The same, reading only what filters on path, row_group and column leave."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Those that remain for Spark."""
        for filter in filters:
            if isinstance(filter, EqualTo | In) and filter.attribute in _NARROWED_BY:
                (name,) = filter.attribute
                values = frozenset(filter.value if isinstance(filter, In) else (filter.value,))
                # Nothing equals NULL.
                values -= {None}
                self._wanted[name] = self._wanted.get(name, values) & values
            else:
                yield filter


def _check_schema(schema: StructType) -> None:
    types = {field.name: field.dataType.simpleString() for field in FILTER}
    for field in schema:
        name, found = field.name, field.dataType.simpleString()
        if name not in types:
            raise ValueError(f"schema: {name} {found}: no such column")
        if found != types[name]:
            raise ValueError(f"schema: {name} {found}: expected {name} {types[name]}")


def _absolute(path: str) -> str:
    """Executors have other working folders."""
    return path if is_url(path) else os.path.abspath(local_path(path))


def _num_tasks(files: Sequence[LakeFile]) -> float:
    """Nobody tells, where Spark plans, how many can run at the same time."""
    cost = sum(file.size + FILE_COST for file in files)
    return max(1, min(cost / TASK_COST, MANY_TASKS), cost / MOST_COST)


def _lake_file(path: str) -> LakeFile:
    """With the bytes that are likely read. What cannot be looked at says so when it is opened."""
    try:
        size = 0 if is_url(path) else os.stat(path).st_size
    except OSError:
        size = 0
    return LakeFile(path, size // PART_READ, _SOME_TIME)
