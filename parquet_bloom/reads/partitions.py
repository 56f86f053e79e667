"""Columns whose values are not in files: in the names of folders, as Hive puts them there, `country=DE/day=7/0.parquet`,
or in the log of a table. They go before columns of files that have the same names, as in all engines.

Of folders, types are those of such a column in the first file, in the order of paths, as polars has it: `01` is text if the
column holds text. Else they are those that pyarrow takes: int32 if all values of a column are such numbers, or text.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage import address_of
from parquet_bloom.storage.source import is_object, is_url, local_name

if TYPE_CHECKING:
    from parquet_bloom.reads.rows import RowSource

_NO_TYPES: Final[Mapping[str, str]] = {}
# Spec: Delta Lake, PROTOCOL.md, "Primitive Types".
_OF_DELTA: Final = {
    "string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "short": pa.int16(), "byte": pa.int8(),
    "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class Stored(NamedTuple):
    """Columns, as they are somewhere: in a file."""

    where: str
    schema: pa.Schema


class Partitions:
    """Of files. `texts`: by path, the text of each column's value, None for null."""

    def __init__(
        self,
        texts: Mapping[str, Mapping[str, str | None]],
        types: Mapping[str, str] = _NO_TYPES,
        stored: Stored | None = None,
    ) -> None:
        """`types`: of the columns whose types are known, see LakeTable.partition_types; `stored`: of some of the others.
        Raises UnsupportedError for other types, and for texts that are no values of theirs."""
        self._texts, self._types = texts, types
        by_column: dict[str, dict[str | None, None]] = {}
        for of_file in texts.values():
            for name, text in of_file.items():
                by_column.setdefault(name, {})[text] = None
        columns = {
            name: _as_type(name, list(each), types[name])
            if name in types
            else _typed(name, list(each), stored)
            for name, each in by_column.items()
        }
        self.schema = pa.schema([(name, values.type) for name, values in columns.items()])
        self._scalars = {
            name: dict(zip(by_column[name], values, strict=True))
            for name, values in columns.items()
        }

    @property
    def of_folders(self) -> tuple[str, ...]:
        """The columns whose types nobody tells."""
        return tuple(name for name in self.schema.names if name not in self._types)

    def as_stored(self, stored: Stored | None) -> Partitions:
        """The same with the types of a file. Raises UnsupportedError for texts that are no values of theirs."""
        return self if stored is None else Partitions(self._texts, self._types, stored)

    def of(self, path: str) -> dict[str, pa.Scalar]:
        """The values of a file; null for a column that only others have."""
        texts = self._texts.get(path, {})
        return {
            field.name: self._scalars[field.name][texts[field.name]]
            if field.name in texts
            else pa.scalar(None, field.type)
            for field in self.schema
        }

    def known(self, path: str) -> dict[str, object]:
        """The same as values of Python."""
        return {name: value.as_py() for name, value in self.of(path).items()}

    def expression(self, path: str) -> pc.Expression | None:
        """What is so in all rows of a file; None if nothing is known of them."""
        parts = [
            pc.field(name).is_null()
            if text is None
            else pc.field(name) == self._scalars[name][text]
            for name, text in self._texts.get(path, {}).items()
        ]
        return reduce(operator.and_, parts) if parts else None


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
    of_decimals = _DECIMAL.fullmatch(kind)
    if of_decimals is None and kind not in _OF_DELTA:
        raise UnsupportedError(
            f"partition column {name}: {kind}, expected {', '.join(_OF_DELTA)} or decimal"
        )
    try:
        arrow = pa.decimal128(*map(int, of_decimals.groups())) if of_decimals else _OF_DELTA[kind]
        return pa.array(texts, pa.string()).cast(arrow)
    except (pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UnsupportedError(f"partition column {name}: {reason}") from None


def widened(table: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Rows of a file, of the types that its table has given whole columns since; structs and lists stay as they are."""
    wider = [
        field.with_type(wide)
        if (wide := _arrow_type(kinds.get(field.name, ""))) and _is_wider(field.type, wide)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(wider, table.schema.metadata))


def _arrow_type(kind: str) -> pa.DataType | None:
    of_decimals = _DECIMAL.fullmatch(kind)
    return pa.decimal128(*map(int, of_decimals.groups())) if of_decimals else _OF_DELTA.get(kind)


def _is_wider(stored: pa.DataType, wide: pa.DataType) -> bool:
    if pa.types.is_integer(stored):
        is_longer = pa.types.is_integer(wide) and wide.bit_width > stored.bit_width
        return bool(is_longer or pa.types.is_float64(wide) or pa.types.is_decimal(wide))
    if pa.types.is_decimal(stored):
        return bool(
            pa.types.is_decimal(wide)
            and wide.scale >= stored.scale
            and wide.precision >= stored.precision
        )
    if pa.types.is_float32(stored):
        return bool(pa.types.is_float64(wide))
    return bool(pa.types.is_date32(stored) and wide == pa.timestamp("us"))


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
    """A file that has the columns of its partitions, too."""

    def __init__(self, file: RowSource, values: Mapping[str, pa.Scalar]) -> None:
        self.path = file.path
        self._file, self._values = file, values
        stored = file.top_columns
        self.top_columns = stored + tuple(name for name in values if name not in stored)

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        """As Askable.read_rows."""
        stored = [name for name in columns if name not in self._values]
        found = self._file.read_rows(stored, rows) if stored else pa.table({})
        num_rows = sum(map(len, rows.values()))
        arrays = [
            pa.repeat(self._values[name], num_rows) if name in self._values else found.column(name)
            for name in columns
        ]
        fields = [
            pa.field(name, self._values[name].type)
            if name in self._values
            else found.schema.field(name)
            for name in columns
        ]
        return pa.table(arrays, pa.schema(fields))
