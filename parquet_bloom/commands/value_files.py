"""Files of values to look up: text with one on each line, CSV, or Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, BinaryIO

from parquet_bloom.container import number_of
from parquet_bloom.errors import ColumnError, FormatError, ValueTypeError, no_column
from parquet_bloom.values.types import LiteralInFile

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import LiteralType

_MAGIC = b"PAR1"


def values_in(
    file: BinaryIO, wanted: str | None, columns: Sequence[str], read_as: LiteralType | None
) -> list[object]:
    """The values in a file, each once, which are literals if it is text. Of columns, those in the one that is `wanted`;
    if none is, in the one that is called as the one in `columns`, or of a Parquet file in the only one.

    Raises FormatError for what is neither Parquet nor UTF-8, ColumnError if it is not clear which column is meant,
    there is no such, or the first line of CSV may be a value, ValueTypeError for a null.
    """
    data, name = file.read(), getattr(file, "name", "standard input")
    if data[:4] == _MAGIC:
        return _in_parquet(data, name, wanted, columns)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: byte {error.start}: not UTF-8, expected values") from None
    texts: Iterable[tuple[int, str]]
    if name.lower().endswith(".csv"):
        texts = _in_csv(text, name, wanted, columns)
    elif wanted is None:
        texts = enumerate(_lines(text), 1)
    else:
        raise ColumnError(f"{name}: no column {wanted}: expected CSV or Parquet, found text")
    lines: dict[str, int] = {}
    for line, each in texts:
        lines.setdefault(each, line)
    return [LiteralInFile(each, read_as, name, line) for each, line in lines.items()]


def fault_of_file(reason: str, values: Iterable[object]) -> str:
    """Of the reason why a file could not be asked for `values`, what a line of their own file is to blame for; empty
    if none is."""
    name = next((each.file for each in values if isinstance(each, LiteralInFile)), None)
    _, found, fault = reason.partition(f"{name}: line ")
    return found + fault


def fault_in_all(reasons: Sequence[str], num_files: int, values: Iterable[object]) -> str:
    """The fault that is why none of so many files could be asked, as fault_of_file; empty if another reason kept any of
    them from it."""
    faults = [fault_of_file(reason, values) for reason in reasons]
    return faults[0] if faults and len(faults) == num_files and all(faults) else ""


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _in_csv(
    text: str, name: str, wanted: str | None, columns: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """Each value after the line in which it ends."""
    import csv

    rows = csv.reader(StringIO(text, newline=""))
    try:
        header = next(filter(None, rows), [])
        if wanted is None and len(header) == 1 and header[0] not in columns:
            raise ColumnError(
                f"{name}: line {rows.line_num}: {header[0]}: expected the name of the column, {' or '.join(columns)};"
                " if it is another name, use --values-column; if it is a value, do not call the file .csv"
            )
        at = header.index(_column(header, name, wanted, columns))
        for row in filter(None, rows):
            if len(row) != len(header):
                found = f"{number_of(len(row), 'field')}, expected {len(header)}"
                raise FormatError(f"{name}: line {rows.line_num}: {found}")
            yield rows.line_num, row[at]
    except csv.Error as error:
        raise FormatError(f"{name}: line {rows.line_num}: no CSV: {error}") from None


def _in_parquet(data: bytes, name: str, wanted: str | None, columns: Sequence[str]) -> list[object]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloom.values.given import list_values

    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            names = file.schema_arrow.names
            is_alone = wanted is None and len(names) == 1
            column = names[0] if is_alone else _column(names, name, wanted, columns)
            found = file.read([column])[column]
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{name}: cannot be read: {reason}") from None
    if found.null_count:
        raise ValueTypeError(
            f"{name}: column {column}: {number_of(found.null_count, 'null')}, expected values"
        )
    return list(list_values(found if pa.types.is_nested(found.type) else found.unique()))


def _column(names: Sequence[str], file: str, wanted: str | None, columns: Sequence[str]) -> str:
    """The one that is wanted; else the one that is called as what is asked."""
    if wanted is not None:
        if wanted not in names:
            raise ColumnError(f"{file}: {no_column(wanted, names, 'file')}")
        return wanted
    among = [name for name in names if name in columns]
    if len(among) == 1:
        return among[0]
    called = f" called {columns[0]}" if len(columns) == 1 else ""
    raise ColumnError(
        f"{file}: {number_of(len(names), 'column')}, expected one{called}, or --values-column"
    )
