"""spark.read.format("bloom"): one row for each column chunk, with its filter or why it has none; of an
ORC file, one for each column of a stripe, whose index groups have a filter each.

Files are listed where Spark plans, in a Python process without a session, and inspected in tasks.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, islice
from math import ceil
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
from pyspark.sql.types import StructType

from parquet_bloom.container import FilterDescription, Place
from parquet_bloom.container.descriptions import ChunkDescription
from parquet_bloom.container.shown_names import place_fields
from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.errors import UnsupportedError, complaint, complaint_about
from parquet_bloom.files import open_file
from parquet_bloom.options import InspectOptions, names_in
from parquet_bloom.spark.listing import is_text, not_text, opened_by_executors
from parquet_bloom.spark.packing import FILE_COST, pack
from parquet_bloom.spark.rows import RowFields, record_batch
from parquet_bloom.spark.schemas import FILTER
from parquet_bloom.spark.versions import arrow_schema, check_pushdown, without_data_sources
from parquet_bloom.spark.worker import FAILURES
from parquet_bloom.storage.paths import expand, is_empty
from parquet_bloom.storage.source import has_wildcard, is_url, local_path
from parquet_bloom.verbs.inspect import FileInspection, inspect_file

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError:
    raise without_data_sources() from None

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys

# Footer and filters, which are read, are seldom more than 1/64 of a file.
PART_READ = 64
# The least work for a task, in bytes like FILE_COST: less is not worth starting it,
# which takes 0.2 s of a core or more.
TASK_COST = 16 * FILE_COST
# Tasks come in so many, so that the last one does not keep the others waiting for long.
WAVES = 3
# So many tasks keep most clusters busy; with more work, tasks get larger, up to MOST_COST.
MANY_TASKS = 96
MOST_COST = 64 * FILE_COST
# Rows of one record batch.
BATCH_ROWS = 4096

# Columns of FILTER; a query for some of their values reads less. As filters name them.
_NARROWED_BY = {("path",), ("row_group",), ("stripe",), ("column",)}

# Columns of FILTER, by what of a report has them.
_OF_FILE = ("path", "format")
_OF_PART = ("row_group", "stripe", "num_rows")
_OF_CHUNK = sorted(set(FILTER.names) & set(ChunkDescription.__dataclass_fields__) - {"notes"})
_OF_FILTER = sorted(set(FILTER.names) & set(FilterDescription.__dataclass_fields__))

_DBFS: Final = "/dbfs/"


class Files(InputPartition):
    """The files that one task reads; `missing`: names without files, and the error of each."""

    def __init__(self, paths: Sequence[str], missing: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__((tuple(paths), tuple(missing)))


class BloomDataSource(DataSource):
    """Options: path, paths, mode, columns, pushdown, keysfile; see SourceOptions."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._options = SourceOptions.parse(options)

    @classmethod
    def name(cls) -> str:
        return "bloom"

    def schema(self) -> StructType:
        return FILTER

    def reader(self, schema: StructType) -> DataSourceReader:
        """`schema`: FILTER, or some of its columns if the user wants those."""
        _check_schema(schema)
        # If Spark may not push filters, it fails queries on readers that could take some.
        kind = NarrowingReader if self._options.pushdown else BloomReader
        return kind(self._options, schema)


class BloomReader(DataSourceReader):
    """Reads all files. Spark pickles it for the executors."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        # By column, the values that are wanted, if not all are.
        self._wanted: dict[str, frozenset[object]] = {}

    def partitions(self) -> list[InputPartition]:
        """The files, packed. Raises OSError for a local file or folder that is not there, as Spark's own
        sources do, and for a name without files if mode is failfast, then also UnsupportedError for one that Spark
        cannot pass on."""
        names = [opened_by_executors(name) for name in self._options.names]
        # A driver need not have the mount that executors have.
        elsewhere = [name for name in names if name.startswith(_DBFS)] * (not os.path.isdir(_DBFS))
        names = [name for name in names if name not in elsewhere]
        inputs, errors = expand(names)
        if fatal := errors if self._options.failfast else [*_not_there(names, errors)]:
            raise _located(fatal[0])
        # Executors have other working folders.
        paths = dict.fromkeys(
            path if is_url(path) else os.path.abspath(local_path(path))
            for path in (*elsewhere, *(path for path, _ in inputs))
        )
        missing = [(str(error.filename or ""), complaint(_located(error))) for error in errors]
        missing += self._not_passed_on(paths)
        wanted = sorted(path for path in paths if is_text(path) and self._wants("path", path))
        sizes = [_bytes_read(path) for path in wanted]
        tasks: list[InputPartition] = [
            Files([wanted[place] for place in places])
            for places in pack(sizes, WAVES * ceil(_num_tasks(sizes) / WAVES))
        ]
        return [*tasks, Files((), missing)] if missing else tasks

    def _not_passed_on(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The wanted files that no row can name, and what to say of each. Raises UnsupportedError if mode is
        failfast."""
        for name, said in (not_text(path) for path in paths if not is_text(path)):
            if not self._wants("path", name):
                continue
            if self._options.failfast:
                raise UnsupportedError(f"{name}: {said}")
            yield name, f"{name}: {said}"

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Record batches of the schema. Raises the error of a file if mode is failfast, and that of
        the keys file in any mode."""
        schema = arrow_schema(self._schema)
        # Where there are no files, Spark makes a partition of its own.
        rows = self._rows(*partition.value) if partition.value else iter(())
        while batch := list(islice(rows, BATCH_ROWS)):
            yield record_batch(batch, schema)

    def _rows(
        self, paths: Iterable[str], missing: Iterable[tuple[str, str]]
    ) -> Iterator[RowFields]:
        """The wanted rows of these files."""
        keys = KeyReferences(self._options.keysfile).read()
        of_files = chain.from_iterable(self._rows_of(path, keys) for path in paths)
        of_missing = (_error_row(name, said) for name, said in missing)
        for row in chain(of_files, of_missing):
            if all(self._wants(name, row.get(name)) for name in self._wanted):
                yield row

    def _rows_of(self, path: str, keys: Keys | None) -> Iterable[RowFields]:
        """The rows of one file or, if something is wrong with it, one that says so."""
        try:
            with open_file(path, keys) as file:
                return _filter_rows(inspect_file(file, self._narrowed(file)))
        except FAILURES as error:
            if self._options.failfast:
                raise
            return [_error_row(path, complaint_about(path, error))]

    def _narrowed(self, file: Container) -> InspectOptions:
        """What to inspect, which may be nothing: nothing else is read. Raises as inspect_file."""
        columns = self._options.columns
        if not self._wanted.keys() & {"row_group", "stripe", "column"}:
            return InspectOptions(columns=columns)
        names = [column.name for column in file.select(columns)]
        if len(set(names)) == len(names):
            columns = tuple(name for name in names if self._wants("column", as_text(name)))
        fields = {part: place_fields(Place(part), file.units) for part in file.select_parts(None)}
        # What a format does not have is NULL in all rows.
        parts = tuple(
            part
            for part, place in fields.items()
            if all(self._wants(name, place.get(name)) for name in ("row_group", "stripe"))
        )
        return InspectOptions(columns=columns, parts=parts)

    def _wants(self, name: str, value: object) -> bool:
        return name not in self._wanted or value in self._wanted[name]


class NarrowingReader(BloomReader):
    """The same, reading only what is left by filters on path, row_group, stripe and column."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """The filters that are left to Spark."""
        from pyspark.sql.datasource import EqualTo, In

        for filter in filters:
            if isinstance(filter, EqualTo | In) and filter.attribute in _NARROWED_BY:
                (name,) = filter.attribute
                values = frozenset(filter.value if isinstance(filter, In) else (filter.value,))
                # Nothing equals NULL.
                values -= {None}
                self._wanted[name] = self._wanted.get(name, values) & values
            else:
                yield filter


def _filter_rows(report: FileInspection) -> Iterator[RowFields]:
    """The rows of FILTER for one file."""
    for part in report.parts:
        of_part = _fields(report, _OF_FILE) | _fields(part, _OF_PART)
        for column in part.columns:
            row = of_part | _fields(column, _OF_CHUNK)
            if column.filter is not None:
                row |= _fields(column.filter, _OF_FILTER)
                row["notes"] = "; ".join(column.notes) or None
            yield {
                name: as_text(value) if isinstance(value, str) else value
                for name, value in row.items()
            }


def _fields(owner: object, names: Iterable[str]) -> RowFields:
    return {name: getattr(owner, name) for name in names}


def _error_row(path: str, message: str) -> RowFields:
    """The only row of a file that cannot be read."""
    return {"path": as_text(path), "error": as_text(message)}


def as_text(text: str) -> str:
    """`text` with question marks for what is no Unicode, as there may be in names of files."""
    return text.encode(errors="replace").decode()


def _check_schema(schema: StructType) -> None:
    types = {field.name: field.dataType.simpleString() for field in FILTER}
    for field in schema:
        name, found = field.name, field.dataType.simpleString()
        if name not in types:
            raise ValueError(
                f"schema: {name} {found}: no such column, expected some of {', '.join(types)}"
            )
        if found != types[name]:
            raise ValueError(f"schema: {name} {found}: expected {name} {types[name]}")


def _num_tasks(sizes: Sequence[int]) -> float:
    """A guess: where Spark plans, nothing tells how many can run at the same time."""
    cost = sum(size + FILE_COST for size in sizes)
    return max(1, min(cost / TASK_COST, MANY_TASKS), cost / MOST_COST)


def _not_there(names: Iterable[str], errors: Iterable[OSError]) -> Iterator[OSError]:
    """Of `errors`, those about local files and folders that do not exist, and one for each name of such a
    file, which would otherwise fail when it is opened."""
    for error in errors:
        is_local = not is_url(str(error.filename or ""))
        if is_local and error.errno == errno.ENOENT and not is_empty(error):
            yield error
    for name in names:
        if not (is_url(name) or has_wildcard(name) or os.path.lexists(local_path(name))):
            yield FileNotFoundError(errno.ENOENT, "no such file or folder", name)


def _located(error: OSError) -> OSError:
    """The error with the folder in which a relative name was looked up: over Connect, the process that plans has
    one of its own, and nobody tells it that of the client."""
    name = str(error.filename or "")
    if not name or is_url(name) or name.startswith("/"):
        return error
    where = f"relative to {os.getcwd()}, where Spark plans: expected an absolute path"
    return type(error)(error.errno, f"{error.strerror}; {where}", name)


def _bytes_read(path: str) -> int:
    """How much of a file is likely read; one without access fails when it is opened."""
    try:
        size = 0 if is_url(path) else os.stat(path).st_size
    except OSError:
        size = 0
    return size // PART_READ


# ------------------------------------------------------------------------------------------------
# What a query asks for

_OPTIONS = ("path", "paths", "mode", "columns", "pushdown", "keysfile")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """`names` of files, folders and globs; `columns`: leaves, None for all; `failfast`: a query fails
    with the first bad file; `pushdown`: Spark may push filters; `keysfile`: for the executors."""

    names: tuple[str, ...]
    columns: tuple[str, ...] | None
    failfast: bool
    pushdown: bool
    keysfile: str | None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Parse options, whose names may be in any case. Raises ValueError for invalid values and
        misspelt names, and for pushdown where Spark has none; other names pass, as catalogs add
        options of their own."""
        given = {name.lower(): value for name, value in options.items()}
        for name in given:
            if name not in _OPTIONS and (close := get_close_matches(name, _OPTIONS, 1, 0.75)):
                raise ValueError(f"option {name}: no such option, did you mean {close[0]}")
        return cls(
            names=_names(given),
            columns=_columns(given["columns"]) if "columns" in given else None,
            failfast=_choice(given, "mode", ("permissive", "failfast")) == "failfast",
            pushdown=_pushdown(given),
            keysfile=given.get("keysfile"),
        )


def _choice(given: Mapping[str, str], name: str, choices: tuple[str, str]) -> str:
    """One of the two, the first if the option is not given."""
    value = given.get(name, choices[0])
    if value.lower() not in choices:
        raise ValueError(f"option {name}: expected {' or '.join(choices)}, found {value!r}")
    return value.lower()


def _pushdown(given: Mapping[str, str]) -> bool:
    is_wanted = _choice(given, "pushdown", ("false", "true")) == "true"
    if is_wanted:
        check_pushdown()
    return is_wanted


def _columns(text: str) -> tuple[str, ...]:
    try:
        names = names_in(text)
    except ValueError as error:
        raise ValueError(f"option columns: {error}") from None
    if not all(names):
        raise ValueError("option columns: an empty name, expected a leaf column")
    return tuple(names)


def _names(given: Mapping[str, str]) -> tuple[str, ...]:
    """`load` sets `path` for one name, and `paths`, a list in JSON, for several."""
    text = given.get("paths", "[]")
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"option paths: expected names as a list in JSON, found {text!r}")
    if "path" in given:
        names.insert(0, given["path"])
    if not names:
        raise ValueError("option path: missing, expected a file, a folder or a glob")
    return tuple(names)
