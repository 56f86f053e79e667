"""Columns whose values are in the names of folders, as Hive puts them there: `country=DE/day=7/0.parquet`. They go before
columns of files that have the same names.

Types are those that pyarrow takes: int32 if all values of a column are such numbers, else text.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from parquet_bloom.reads.rows import RowSource

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class Partitions:
    """Of all files at `paths`. `base`: the folder below which they begin."""

    def __init__(self, paths: Sequence[str], base: str) -> None:
        self._texts = {path: texts for path in paths if (texts := _texts_in(path, base))}
        by_column: dict[str, dict[str | None, None]] = {}
        for texts in self._texts.values():
            for name, text in texts.items():
                by_column.setdefault(name, {})[text] = None
        columns = {name: _typed(list(texts)) for name, texts in by_column.items()}
        self.schema = pa.schema([(name, values.type) for name, values in columns.items()])
        self._scalars = {
            name: dict(zip(by_column[name], values, strict=True))
            for name, values in columns.items()
        }

    def of(self, path: str) -> dict[str, pa.Scalar]:
        """The values of a file; null for a column that only others have."""
        texts = self._texts.get(path, {})
        return {
            field.name: self._scalars[field.name][texts[field.name]]
            if field.name in texts
            else pa.scalar(None, field.type)
            for field in self.schema
        }

    def expression(self, path: str) -> pc.Expression | None:
        """What is so in all rows of a file; None if nothing is known of them."""
        parts = [
            pc.field(name).is_null()
            if text is None
            else pc.field(name) == self._scalars[name][text]
            for name, text in self._texts.get(path, {}).items()
        ]
        return reduce(operator.and_, parts) if parts else None


def _texts_in(path: str, base: str) -> dict[str, str | None]:
    folders = path.removeprefix(base).split("/")[:-1]
    pairs = [
        (name, value) for name, mark, value in (each.partition("=") for each in folders) if mark
    ]
    return {unquote(name): None if value == _NULL else unquote(value) for name, value in pairs}


def _typed(texts: Sequence[str | None]) -> pa.Array:
    values = pa.array(texts, pa.string())
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
