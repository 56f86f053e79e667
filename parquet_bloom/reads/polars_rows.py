"""What is left of files, read by polars: whole files by one scan, single row groups by slices of scans."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl
import pyarrow as pa

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.parallel import read_once
from parquet_bloom.reads.columns import Structs, telling, with_filtered
from parquet_bloom.reads.polars_predicates import Pushed, pushed_by_polars
from parquet_bloom.reads.predicates import ANYTHING, Predicate
from parquet_bloom.reads.pruning import Left
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.source import is_url, local_name
from parquet_bloom.storage.store_environment import find_endpoint

if TYPE_CHECKING:
    from parquet_bloom.reads.whole_groups import WholeGroups

# So many scans are one query: enough that polars reads them at once, few enough that the rows fit.
_AT_ONCE: Final = 32

# The most that slices may be of the row groups of their files.
_MOST_SLICES: Final = 0.25

# Nulls in columns and fields that a file lacks, and nothing of those that only it has.
_OF_ONE_SCHEMA: Final[Mapping[str, Any]] = {
    "missing_columns": "insert",
    "extra_columns": "ignore",
    "cast_options": pl.ScanCastOptions(
        integer_cast="upcast",
        float_cast="upcast",
        missing_struct_fields="insert",
        extra_struct_fields="ignore",
    ),
}

_STRUCTS: Final[Structs[Any]] = Structs(
    lambda kind: dict(kind) if isinstance(kind, pl.Struct) else None,
    lambda _, fields: pl.Struct(fields),
)

_NOTHING: Final = Pushed(ANYTHING, True)

# All that it raises for a file, of which the latter is no Exception.
_ERRORS: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)

# What is left of the files by a predicate and the filters of the source, or for None, all of them; of each file that
# is not left as a whole, with its rows.
LeftBy = Callable[["Predicate | None"], Sequence[Left]]


class Rows:
    """A source of polars. It can be asked any number of times."""

    def __init__(
        self,
        paths: Sequence[str],
        filtered: Sequence[str],
        left_by: LeftBy,
        has_partitions: bool,
        of_table: pl.Schema | None = None,
    ) -> None:
        """`filtered`: columns that it has, too, if any of the files does; `has_partitions`: whether names of folders
        make columns; `of_table`: the columns of the table whose files these are."""
        self._paths, self._filtered, self._left_by = paths, filtered, left_by
        self._has_partitions, self._of_table = has_partitions, of_table

    @read_once
    def schema(self) -> pl.Schema:
        """That of the first file, with partitions of the types that those of all files have; see reads.columns."""
        if self._of_table is not None:
            return self._of_table
        first, *others = telling(self._paths)
        with_partitions = self._with_partitions(self._stored(first))
        of_others = map(self._stored, others)
        return pl.Schema(with_filtered(with_partitions, self._filtered, of_others, _STRUCTS))

    def _with_partitions(self, stored: pl.Schema) -> Mapping[str, pl.DataType]:
        """With the columns in the names of folders: text, unless they have one type wherever files lie."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for path in self._paths:
            alike.setdefault(_columns_in_folders(path), []).append(path)
        found: dict[str, pl.DataType] = {}
        for paths in alike.values():
            # Without a schema, polars opens all files for it.
            for name, kind in self._scanned(paths, schema=stored).collect_schema().items():
                found[name] = kind if found.setdefault(name, kind) == kind else pl.String()
        return found

    def _stored(self, path: str) -> pl.Schema:
        """That of a file by itself."""
        with _reading(path):
            return self._scanned([path], hive_partitioning=False).collect_schema()

    def __call__(
        self,
        columns: list[str] | None,
        predicate: pl.Expr | None,
        num_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Frames with these columns of the rows that match, of the first `num_rows` of all. Raises FormatError for a
        file that polars cannot read, UnsupportedError for one whose columns have other types."""
        query = _PushedQuery(columns, predicate, num_rows)
        scans = self._scans(self._left_by(query.excluding))
        is_empty = True
        for is_whole, several in groupby(scans, lambda scan: scan.is_whole):
            while batch := [*islice(several, query.at_once)]:
                is_empty = False
                yield self._answer(query, batch, is_whole)
        if is_empty:
            yield query.of(self.schema.to_frame().lazy(), True)

    def _answer(self, query: _PushedQuery, scans: Sequence[_Scan], are_whole: bool) -> pl.DataFrame:
        try:
            return query.of(pl.concat([scan.rows for scan in scans]), are_whole)
        except _ERRORS:
            # It does not tell of which file, if it is about any.
            self._read_each(query, dict.fromkeys(path for scan in scans for path in scan.paths))
            raise

    def _read_each(self, query: _PushedQuery, paths: Iterable[str]) -> None:
        """Raise as __call__ for the first file that cannot be read, of those with the rows that are asked for."""
        num_left = query.num_rows
        for path in paths:
            rows = query.asked_of(self._scan([path]))
            with _reading(path):
                found = (rows if num_left is None else rows.head(num_left)).collect()
            if num_left is not None and (num_left := num_left - found.height) <= 0:
                return

    def _scans(self, left: Sequence[Left]) -> Iterator[_Scan]:
        """In the order of the files."""
        are_whole = not _are_few_slices(left)
        for is_whole, several in groupby(left, lambda each: are_whole or each.numbers is None):
            if is_whole:
                for _, alike in groupby((each.path for each in several), _read_alike):
                    paths = list(alike)
                    yield _Scan(paths, self._scan(paths), True)
                continue
            for each in several:
                rows = self._scan([each.path])
                for first, length in _runs(each):
                    yield _Scan([each.path], rows.slice(first, length), False)

    def _scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Of files that are read alike: of this schema, whatever else they have."""
        return self._scanned(paths, schema=self.schema, **_OF_ONE_SCHEMA)

    def _scanned(self, paths: Sequence[str], **options: Any) -> pl.LazyFrame:
        names = [_name_of(path) for path in paths]
        has_values = self._has_partitions and any("=" in str(path) for path in paths)
        options.setdefault("hive_partitioning", has_values)
        return pl.scan_parquet(names, glob=False, storage_options=_options_of(paths[0]), **options)


def _name_of(path: str) -> str:
    """A path as polars takes it."""
    if isinstance(path, Address):
        return path.undecoded
    return path if is_url(path) else local_name(path)


def _read_alike(path: str) -> tuple[dict[str, str] | None, tuple[str, ...]]:
    """What files have in common that one scan reads: polars takes the columns of partitions from the first."""
    return _options_of(path), _columns_in_folders(path)


def _columns_in_folders(path: str) -> tuple[str, ...]:
    *folders, _ = str(path).split("/")
    return tuple(name for name, mark, _ in (each.partition("=") for each in folders) if mark)


def _options_of(path: str) -> dict[str, str] | None:
    """Those of the store of a file: polars has the same names for them. With the place that the environment says,
    which polars reads only once for the same options."""
    if not isinstance(path, Address):
        return None
    store = path.store
    accounts = {name: os.environ[name] for name in store.account_variables if name in os.environ}
    # The last of several names for the same goes before the others.
    options = {name.lower(): value for name, value in accounts.items()} | dict(path.options)
    if (endpoint := find_endpoint(store, path.options)) is not None:
        options |= {f"{store.prefix}{name}": endpoint for name in store.endpoint_options}
    return options or None


class RowsOfTables:
    """The same of tables. Files that hold all that a table says about them are read by polars; if others are left,
    row group by row group here."""

    def __init__(
        self,
        paths: Sequence[str],
        left_by: LeftBy,
        groups: WholeGroups,
    ) -> None:
        """Raises as WholeGroups.schema."""
        self._left_by, self._groups = left_by, groups
        self._schema = groups.schema(paths)
        self.schema = _frame(self._schema.empty_table()).schema

    def __call__(
        self,
        columns: list[str] | None,
        predicate: pl.Expr | None,
        num_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """See Rows."""
        columns = self._schema.names if columns is None else columns
        query = _PushedQuery(columns, predicate, num_rows)
        left = self._left_by(query.excluding)
        if left and self._groups.are_plain(left, self._schema):
            plain = Rows([each.path for each in left], (), lambda _: left, False, self.schema)
            yield from plain(columns, predicate, num_rows, batch_size)
            return
        asked = [] if predicate is None else predicate.meta.root_names()
        schema = pa.schema([self._schema.field(name) for name in dict.fromkeys([*columns, *asked])])
        for table in _first(self._groups.read(left, schema), num_rows):
            yield query.of(_frame(table).lazy(), True)
        yield query.of(_frame(schema.empty_table()).lazy(), True)


def _first(tables: Iterator[pa.Table], num_rows: int | None) -> Iterator[pa.Table]:
    """So many rows of them, all for None."""
    while num_rows is None or num_rows > 0:
        table = next(tables, None)
        if table is None:
            return
        yield table.slice(length=num_rows)
        if num_rows is not None:
            num_rows -= len(table)


def _frame(table: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


class _Scan(NamedTuple):
    """Rows of whole files, or of a slice of one."""

    paths: Sequence[str]
    rows: pl.LazyFrame
    is_whole: bool


class _PushedQuery:
    """What is asked for. polars pushes a limit only where it comes before each predicate, as in `head(10).filter(…)`:
    a limit after a predicate stays in its plan. So rows are counted before any is left out, be it by `filters`."""

    def __init__(
        self, columns: list[str] | None, predicate: pl.Expr | None, num_rows: int | None
    ) -> None:
        self._columns, self._predicate, self.num_rows = columns, predicate, num_rows
        self.pushed = _NOTHING if predicate is None else pushed_by_polars(predicate)

    @property
    def excluding(self) -> Predicate | None:
        """By what it may leave out rows that it was not asked for; None: it may not."""
        return self.pushed.tree if self.num_rows is None else None

    @property
    def at_once(self) -> int | None:
        """How many scans are one query: all, if rows are counted over them."""
        return _AT_ONCE if self.num_rows is None else None

    def of(self, rows: pl.LazyFrame, are_whole: bool) -> pl.DataFrame:
        """The answer about some rows. To push a predicate such as is_in to one scan takes longer than to read a row
        group."""
        predicate, columns = self._predicate, self._columns
        rows = rows if self.num_rows is None else rows.head(self.num_rows)
        if predicate is not None and not (are_whole or self.pushed.is_all):
            rows = self.asked_of(rows).collect().lazy()
        rows = rows if predicate is None else rows.filter(predicate)
        return (rows if columns is None else rows.select(columns)).collect()

    def asked_of(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """All rows, with the columns that the answer takes."""
        if self._columns is None:
            return rows
        filtered = [] if self._predicate is None else self._predicate.meta.root_names()
        return rows.select(list(dict.fromkeys([*self._columns, *filtered])))


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Name a file in what polars says of it."""
    try:
        yield
    except pl.exceptions.SchemaError as error:
        # The hint is an option of scan_parquet, which nobody can give here.
        reason, *_ = _in_one_line(error).split(", hint:")
        what = f"{path}: polars: {reason}; select other columns, or try pb.rows"
        raise UnsupportedError(what) from None
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"{path}: polars: {_in_one_line(error)}") from None
    except pl.exceptions.PanicException as error:
        what = f"{path}: polars gave up: {_in_one_line(error)}; try pb.rows"
        raise UnsupportedError(what) from None


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _are_few_slices(left: Sequence[Left]) -> bool:
    """Whether to read slices: they take longer than as many row groups of whole files."""
    partial = [each for each in left if each.numbers is not None]
    num_groups = sum(each.num_groups or 0 for each in partial)
    return sum(len(each.numbers or ()) for each in partial) <= _MOST_SLICES * num_groups


def _runs(left: Left) -> Iterator[tuple[int, int]]:
    """Rows side by side: the first, and how many."""
    start = end = 0
    for group in left.groups or ():
        if group.first_row != end and end > start:
            yield start, end - start
        if group.first_row != end or end == start:
            start = group.first_row
        end = group.first_row + group.num_rows
    if end > start:
        yield start, end - start
