"""Columns whose values are not in files: in the names of folders, as Hive puts them there, `country=DE/day=7/0.parquet`,
or in the log of a table. They go before columns of files that have the same names.

Of folders, types are those that pyarrow takes: int32 if all values of a column are such numbers, else text.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.parallel import read_once
from parquet_bloom.reads.table_types import PRIMITIVE, arrow_type
from parquet_bloom.storage import address_of
from parquet_bloom.storage.source import is_object, is_url, local_name

if TYPE_CHECKING:
    from parquet_bloom.reads.rows import RowSource

_NO_TYPES: Final[Mapping[str, str]] = {}
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class Partitions:
    """Of files. Values of a column are read when they are asked for: what cannot be read stands in nobody's way who does
    not want it. Methods raise UnsupportedError for other types of such columns, and for texts that are no values of
    theirs."""

    def __init__(
        self,
        texts: Mapping[str, Mapping[str, str | None]],
        types: Mapping[str, str] = _NO_TYPES,
    ) -> None:
        """`texts`: by path, the text of each column's value, None for null; `types`: of the columns whose types are
        known, see LakeTable.partition_types."""
        self._texts, self._types = texts, types
        self._scalars: dict[str, Mapping[str | None, pa.Scalar]] = {}
        self.names = tuple(dict.fromkeys(name for of_file in texts.values() for name in of_file))

    @read_once
    def schema(self) -> pa.Schema:
        return pa.schema([(name, self._type(name)) for name in self.names])

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
        return next(iter(self._values(name).values())).type

    def _values(self, name: str) -> Mapping[str | None, pa.Scalar]:
        """Those of all files, by their texts."""
        if name not in self._scalars:
            texts = [*{each[name]: None for each in self._texts.values() if name in each}]
            kind = self._types.get(name)
            values = _typed(texts) if kind is None else _as_type(name, texts, kind)
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
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}


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


def _typed(texts: Sequence[str | None]) -> pa.Array:
    values = pa.array(texts, pa.string())
    try:
        return values.cast(pa.int32())
    except pa.ArrowInvalid:
        return values


class PartitionedFile:
    """A file that has the columns of its partitions, too."""

    def __init__(self, file: RowSource, partitions: Partitions) -> None:
        self.path = file.path
        self._file, self._partitions = file, partitions
        stored = file.top_columns
        self.top_columns = stored + tuple(name for name in partitions.names if name not in stored)

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        """As Askable.read_rows, and as Partitions."""
        known = self._partitions.names
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
