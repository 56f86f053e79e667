"""Columns whose values are not in files: in the names of folders, as Hive puts them there,
`country=DE/day=7/0.parquet`, or in the log of a table. They go before columns of files that have the same names,
as in all engines.

Of folders, types are those of such a column in the first file, in the order of paths, as polars has it: `01` is text
if the column holds text. Else they are those that pyarrow takes: int32 if all values of a column are such numbers,
or text.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.parallel import read_once
from parquet_bloom.reads.predicates import is_date
from parquet_bloom.reads.table_types import PRIMITIVE, arrow_type
from parquet_bloom.storage import address_of
from parquet_bloom.storage.source import is_object, is_url, local_name
from parquet_bloom.vocabulary import NULL_PARTITION

if TYPE_CHECKING:
    from parquet_bloom.reads.rows import RowSource

_NO_TYPES: Final[Mapping[str, str]] = {}


class Stored(NamedTuple):
    """Columns, as they are somewhere: in a file."""

    where: str
    schema: pa.Schema


class Partitions:
    """Of files. Values of a column are read when they are asked for: what cannot be read stands in nobody's way who
    does not want it. Methods raise UnsupportedError for other types of such columns,
    and for texts that are no values of theirs."""

    def __init__(
        self,
        texts: Mapping[str, Mapping[str, str | None]],
        types: Mapping[str, str] = _NO_TYPES,
        stored: Stored | None = None,
    ) -> None:
        """`texts`: by path, the text of each column's value, None for null; `types`: of the columns whose types are
        known, see LakeTable.partition_types; `stored`: has those of some of the others."""
        self._texts, self._types, self._stored = texts, types, stored
        self._scalars: dict[str, Mapping[str | None, pa.Scalar]] = {}
        self.names = tuple(dict.fromkeys(name for of_file in texts.values() for name in of_file))

    @read_once
    def schema(self) -> pa.Schema:
        return pa.schema([(name, self._type(name)) for name in self.names])

    @property
    def paths(self) -> Iterable[str]:
        """The files that have any."""
        return self._texts

    @property
    def of_folders(self) -> tuple[str, ...]:
        """The columns whose types nobody tells."""
        return tuple(name for name in self.names if name not in self._types)

    def are_dates(self, name: str) -> bool:
        """Whether a column is text in the names of folders, each a date."""
        if name not in self.of_folders:
            return False
        values = (value.as_py() for value in self._values(name).values())
        return all(value is None or (isinstance(value, str) and is_date(value)) for value in values)

    def as_stored(self, stored: Stored | None) -> Partitions:
        """The same with the types of a file."""
        return self if stored is None else Partitions(self._texts, self._types, stored)

    def as_in(self, schema: pa.Schema) -> Partitions:
        """The same with types of what is read, whose file they are from, if they are from one."""
        where = self._stored.where if self._stored else "schema"
        return self.as_stored(Stored(where, schema))

    def check(self, names: Iterable[str]) -> None:
        """Read the values of these columns."""
        for name in names:
            if name in self.names:
                self._values(name)

    def names_of(self, path: str) -> Collection[str]:
        """The columns that a file has."""
        return self._texts.get(path, {}).keys()

    def value(self, path: str, name: str) -> pa.Scalar:
        """Of a column in a file; null if only others have it."""
        of_file = self._texts.get(path, {})
        return self._values(name)[of_file[name]] if name in of_file else self._null(name)

    def repeated(self, path: str, name: str, num_rows: int) -> pa.Array:
        """The same for all rows of a file; of no rows, only the type is looked at."""
        return pa.repeat(self.value(path, name) if num_rows else self._null(name), num_rows)

    def expression(self, path: str, names: Collection[str]) -> pc.Expression | None:
        """What is so of these columns in all rows of a file; None if nothing is known of them."""
        parts = [
            pc.field(name).is_null() if text is None else pc.field(name) == self._values(name)[text]
            for name, text in self._texts.get(path, {}).items()
            if name in names
        ]
        return reduce(operator.and_, parts) if parts else None

    def _null(self, name: str) -> pa.Scalar:
        return pa.scalar(None, self._type(name))

    def _type(self, name: str) -> pa.DataType:
        if name in self._types:
            return _type_called(name, self._types[name])
        if self._stored is not None and name in self._stored.schema.names:
            return self._stored.schema.field(name).type
        return next(iter(self._values(name).values())).type

    def _values(self, name: str) -> Mapping[str | None, pa.Scalar]:
        """Those of all files, by their texts."""
        if name not in self._scalars:
            texts = [*{each[name]: None for each in self._texts.values() if name in each}]
            kind = self._types.get(name)
            values = (
                _typed(name, texts, self._stored) if kind is None else _as_type(name, texts, kind)
            )
            self._scalars[name] = dict(zip(texts, values, strict=True))
        return self._scalars[name]


def texts_in(path: str, base: str) -> dict[str, str | None]:
    """Those in the names of folders below `base`, however it is spelled."""
    if "=" not in path and "%3" not in path:
        return {}
    folders = _place(path).removeprefix(_place(base)).split("/")[:-1]
    pairs = [
        (name, value) for name, mark, value in (each.partition("=") for each in folders) if mark
    ]
    return {
        unquote(name): None if value == NULL_PARTITION else unquote(value) for name, value in pairs
    }


def _place(path: str) -> str:
    """The same for all spellings; of a URL, the key, which Hive may have escaped besides."""
    if is_object(path):
        address = address_of(path)
        return f"{address.host}/{address.key}"
    return path if is_url(path) else os.path.abspath(local_name(path))


def _as_type(name: str, texts: Sequence[str | None], kind: str) -> pa.Array:
    arrow = _type_called(name, kind)
    try:
        return pa.array(texts, pa.string()).cast(arrow)
    except pa.ArrowException as error:
        raise _not_readable(name, error) from None


def _type_called(name: str, kind: str) -> pa.DataType:
    try:
        arrow = arrow_type(kind)
    except ValueError as error:
        raise _not_readable(name, error) from None
    if arrow is None:
        raise UnsupportedError(
            f"partition column {name}: {kind}, expected {', '.join(PRIMITIVE)} or decimal"
        )
    return arrow


def _not_readable(name: str, error: Exception) -> UnsupportedError:
    # What follows are hints for code.
    reason, *_ = " ".join(str(error).split()).split(". If ")
    return UnsupportedError(f"partition column {name}: {reason}; columns besides it can be read")


def _typed(name: str, texts: Sequence[str | None], stored: Stored | None) -> pa.Array:
    values = pa.array(texts, pa.string())
    if stored is not None and name in stored.schema.names:
        kind = stored.schema.field(name).type
        try:
            return values.cast(kind)
        except (pa.ArrowException, ValueError) as error:
            reason = " ".join(str(error).split())
            raise UnsupportedError(
                f"{stored.where}: column {name}: {kind}, expected what names of folders have for it: {reason}"
            ) from None
    try:
        return values.cast(pa.int32())
    except pa.ArrowInvalid:
        return values


class PartitionedFile:
    """A file that has the columns of its partitions, too, and nulls in those that only other files have. `own`: a
    column that is read in the file, if it has it."""

    def __init__(self, file: RowSource, partitions: Partitions, own: str | None = None) -> None:
        self.path = file.path
        self._file, self._partitions = file, partitions
        stored = file.top_columns
        before_stored = {*partitions.names_of(file.path)} - {own}
        self._known = [
            each for each in partitions.names if each in before_stored or each not in stored
        ]
        self.top_columns = stored + tuple(each for each in self._known if each not in stored)

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        """As Askable.read_rows, and as Partitions."""
        known = self._known
        stored = [name for name in columns if name not in known]
        found = self._file.read_rows(stored, rows) if stored else pa.table({})
        num_rows = sum(map(len, rows.values()))
        arrays = [
            self._partitions.repeated(self.path, name, num_rows)
            if name in known
            else found.column(name)
            for name in columns
        ]
        fields = [
            pa.field(name, array.type) if name in known else found.schema.field(name)
            for name, array in zip(columns, arrays, strict=True)
        ]
        return pa.table(arrays, pa.schema(fields))
