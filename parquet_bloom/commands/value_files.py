"""Files of values to look up: text with one on each line, CSV, or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, BinaryIO

from parquet_bloom.errors import ColumnError, FormatError, ValueTypeError
from parquet_bloom.values.types import literal

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import LiteralType

_MAGIC = b"PAR1"


def values_in(file: BinaryIO, columns: Sequence[str], read_as: LiteralType | None) -> list[object]:
    """The values in a file, which are literals if it is text. Of several columns, those in the one that is called as
    the one in `columns`.

    Raises FormatError for what is neither Parquet nor UTF-8, ColumnError if it is not clear which column is meant,
    ValueTypeError for a null.
    """
    data, name = file.read(), getattr(file, "name", "standard input")
    if data[:4] == _MAGIC:
        return _in_parquet(data, name, columns)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: byte {error.start}: not UTF-8, expected values") from None
    texts = _in_csv(text, name, columns) if name.lower().endswith(".csv") else _lines(text)
    return [literal(each, read_as) for each in texts]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _in_csv(text: str, name: str, columns: Sequence[str]) -> list[str]:
    import csv

    header, *rows = [row for row in csv.reader(StringIO(text, newline="")) if row] or [[]]
    at = header.index(_column(header, name, columns))
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise FormatError(f"{name}: row {number}: {len(row)} fields, expected {len(header)}")
    return [row[at] for row in rows]


def _in_parquet(data: bytes, name: str, columns: Sequence[str]) -> list[object]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloom.values.given import list_values

    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            column = _column(file.schema_arrow.names, name, columns)
            found = file.read([column])[column]
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{name}: cannot be read: {reason}") from None
    if found.null_count:
        raise ValueTypeError(
            f"{name}: column {column}: {found.null_count:,} nulls, expected values"
        )
    return list(list_values(found))


def _column(names: Sequence[str], file: str, columns: Sequence[str]) -> str:
    """The only one, or the one that is called as what is asked."""
    if len(names) == 1:
        return names[0]
    among = [name for name in names if name in columns]
    if len(among) == 1:
        return among[0]
    wanted = f" or one called {columns[0]}" if len(columns) == 1 else ""
    raise ColumnError(f"{file}: {len(names)} columns, expected one{wanted}")
