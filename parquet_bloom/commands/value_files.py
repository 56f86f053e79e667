"""Files of values to look up: text with one on each line, CSV, the same with tabs, or Parquet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, BinaryIO

from parquet_bloom.commands.parameters import TABLES
from parquet_bloom.container import number_of
from parquet_bloom.errors import (
    ColumnError,
    FormatError,
    ParquetBloomError,
    ValueTypeError,
    complaint,
    no_column,
    quoted_name,
)
from parquet_bloom.files import open_file
from parquet_bloom.render.wording import files_of
from parquet_bloom.values.given import DELIMITERS, is_like_header, list_values
from parquet_bloom.values.types import CANNOT_BE, LiteralInFile, TextInFile

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_bloom.vocabulary import LiteralType

_MAGIC = b"PAR1"
# As Python calls it.
_STDIN = "<stdin>"

# What stands between fields, or could.
_CALLED = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
# What the first bytes say of what is no UTF-8 and is often given instead, as by `>` in PowerShell.
_OTHERS = {
    b"\x1f\x8b": "compressed by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard",
    b"PK\x03\x04": "a ZIP archive, as .xlsx is",
    b"ORC": "an ORC file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
# Of what would be taken for values, one on each line.
_NOT_READ = (".orc", ".json", ".jsonl", ".ndjson", ".xlsx")


def values_in(
    file: BinaryIO, wanted: str | None, columns: Sequence[str], read_as: LiteralType | None
) -> list[object]:
    """The values in a file, each once, which are literals if it is text. Of columns, those in the one that is
    `wanted`; if none is, in the one that is called as the one in `columns`, or of a Parquet file in the only one.

    Raises FormatError for what is neither Parquet nor UTF-8, and for lines that may be more or less than a value,
    ColumnError if it is not clear which column is meant, there is no such, or the first line of CSV may be a value,
    ValueTypeError for a null.
    """
    data, name = file.read(), getattr(file, "name", "standard input")
    suffix = os.path.splitext(name.lower())[1]
    # What is called so and is something else, such as the page of an error, has no values in its lines.
    if data[:4] == _MAGIC or suffix in TABLES:
        return _in_parquet(data, name, wanted, columns, read_as)
    if suffix in _NOT_READ:
        raise FormatError(
            f"{name}: expected Parquet, .csv, .tsv, or text with a value on each line"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if kind := next((kind for magic, kind in _OTHERS.items() if data.startswith(magic)), None):
            told = f"{kind}, expected Parquet, or text in UTF-8 that is not compressed"
        else:
            told = f"byte {error.start}: not UTF-8, expected values"
        raise FormatError(f"{name}: {told}") from None
    texts: Iterable[tuple[int, str]]
    is_csv = suffix in DELIMITERS
    if delimiter := DELIMITERS.get(suffix):
        texts = _in_csv(text, delimiter, name, wanted, columns)
    elif wanted is None:
        found = _lines(text)
        _check_lines(found, name, columns)
        texts = enumerate(found, 1)
    else:
        raise ColumnError(f"{name}: no column {wanted}: expected CSV or Parquet, found text")
    lines: dict[str, int] = {}
    for line, each in texts:
        lines.setdefault(each, line)
    return [
        LiteralInFile(each, read_as, name, line, is_verbatim=is_csv) for each, line in lines.items()
    ]


def fault_of_file(reason: str, values: Iterable[object]) -> str:
    """Of the reason why a file could not be asked for `values`, what a line or row of their own file is to blame for;
    empty if none is."""
    in_file = LiteralInFile | TextInFile
    name = next((each.file for each in values if isinstance(each, in_file)), "")
    found = re.search(rf"{re.escape(name)}: (?:line|row) \d", reason) if name else None
    return reason[found.start() :] if found else ""


def about_unknown(
    files: Iterable[tuple[str, str]], num_files: int, values: Iterable[object]
) -> Iterator[str]:
    """A line for each reason why some of so many files, by their paths and reasons, are unknown: it begins with the
    line or row of the file of `values` that is to blame, or else with the files."""
    paths_by_reason: dict[str, list[str]] = {}
    for path, reason in files:
        paths_by_reason.setdefault(reason, []).append(path)
    for reason, paths in paths_by_reason.items():
        named, fault = files_of(paths, num_files), fault_of_file(reason, values)
        yield f"{fault}; unknown: {named}" if fault else f"{named}: unknown: {reason}"


def are_at_fault(values: Iterable[object], reasons: Sequence[str], num_files: int) -> bool:
    """Whether the values are why none of so many files could be asked, and nothing else kept any of them from it."""
    return 0 < num_files == len(reasons) and all(
        CANNOT_BE in reason or fault_of_file(reason, values) for reason in reasons
    )


def _lines(text: str) -> list[str]:
    """Without empty ones at the end, which no text editor shows."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _check_lines(lines: Sequence[str], name: str, columns: Sequence[str]) -> None:
    """Raise FormatError for what would be a value that nobody means, and so be found nowhere."""
    if lines and is_like_header(lines[0], columns):
        what = "is" if lines[0] in columns else "has"
        way = "leave it out" if name == _STDIN else "call the file .csv"
        raise FormatError(
            f"{name}: line 1: {lines[0]}: {what} the name of the column: if it is a header, {way};"
            " if it is a value, give it with --value"
        )
    for number, line in enumerate(lines, 1):
        if not line:
            raise FormatError(
                f'{name}: line {number}: blank, expected a value alone on each line; "" is an empty text'
            )
        if "\t" in line or line != line.strip():
            what = "a tab" if "\t" in line.strip() else "blanks around the value"
            raise FormatError(
                f"{name}: line {number}: {what}, expected a value alone on each line; .csv and Parquet can hold "
                "others"
            )


def _in_csv(
    text: str, delimiter: str, name: str, wanted: str | None, columns: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """Each value after the line in which it ends."""
    rows = _rows(text, delimiter, name)
    line, header = next(rows, (1, []))
    _check_delimiter(header, delimiter, name, columns if wanted is None else [wanted])
    if wanted is None and len(header) == 1 and header[0] not in columns:
        raise ColumnError(
            f"{name}: line {line}: {header[0]}: expected the name of the column, {' or '.join(columns)};"
            " if it is another name, use --values-column; if it is a value, do not call the file .csv"
        )
    at = header.index(_column(header, name, wanted, columns))
    for line, row in rows:
        if len(row) != len(header):
            found = f"{number_of(len(row), 'field')}, expected {len(header)}"
            raise FormatError(f"{name}: line {line}: {found}")
        if not row[at]:
            # Others read null there, which is in many rows that nobody means.
            raise FormatError(
                f"{name}: line {line}: nothing in {header[at]}, expected a value; -v '' asks for an empty text"
            )
        yield line, row[at]


def _rows(text: str, delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each after the line in which it ends. Raises FormatError for a quote that is not
    closed, which would take the rows after it for text."""
    import csv

    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
            begins = rows.line_num + 1
    except csv.Error as error:
        fault = f"no CSV: {error}"
        if str(error) == "unexpected end of data":
            fault = 'no CSV: a quote is opened and never closed, expected another " after the text'
        elif rows.line_num > begins:
            fault = f'a quoted text goes on to line {rows.line_num}, where it is {fault}; expected a closing " before'
        raise FormatError(f"{name}: line {begins}: {fault}") from None


def _check_delimiter(
    header: Sequence[str], delimiter: str, name: str, columns: Sequence[str]
) -> None:
    """Raise FormatError where a column is among the names if something else stands between them."""
    for other in _CALLED.keys() - {delimiter}:
        if any(other in each and {*columns} & {*each.split(other)} for each in header):
            found, expected = _CALLED[other], _CALLED[delimiter]
            raise FormatError(f"{name}: line 1: {found} between the names, expected {expected}")


def _in_parquet(
    data: bytes,
    name: str,
    wanted: str | None,
    columns: Sequence[str],
    read_as: LiteralType | None,
) -> list[object]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            names = file.schema_arrow.names
            is_alone = wanted is None and len(names) == 1
            column = names[0] if is_alone else _column(names, name, wanted, columns)
            found = file.read([column])[column]
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise FormatError(_why_unreadable(name)) from None
    if found.null_count:
        raise ValueTypeError(
            f"{name}: column {column}: {number_of(found.null_count, 'null')}, expected values: leave out such rows"
        )
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    if _is_text(found.type) or (read_as == "string" and pa.types.is_integer(found.type)):
        return _in_rows(found, name, read_as)
    return list(list_values(found if pa.types.is_nested(found.type) else found.unique()))


def _why_unreadable(name: str) -> str:
    """In the words that are used of any other file, of one that can be opened again."""
    try:
        if os.path.isfile(name):
            with open_file(name):
                pass
    except (ParquetBloomError, OSError) as error:
        return complaint(error)
    return f"{name}: damaged or encrypted Parquet, expected values: take another copy, or write them as text"


def _is_text(kind: pa.DataType) -> bool:
    # The names of all that pyarrow has for it.
    return str(kind) in ("string", "large_string", "string_view")


def _in_rows(found: pa.ChunkedArray, name: str, read_as: LiteralType | None) -> list[object]:
    """Text, or what is to be text, each with the first row that it stands in."""
    rows: dict[object, int] = {}
    for row, each in enumerate(found.to_pylist()):
        rows.setdefault(each, row)
    if read_as is None:
        return [TextInFile(str(each), name, row) for each, row in rows.items()]
    return [LiteralInFile(str(each), read_as, name, row=row) for each, row in rows.items()]


def _column(names: Sequence[str], file: str, wanted: str | None, columns: Sequence[str]) -> str:
    """The one that is wanted; else the one that is called as what is asked."""
    if wanted is not None:
        if wanted not in names:
            raise ColumnError(f"{file}: {no_column(wanted, names, 'file')}")
        return wanted
    among = [name for name in names if name in columns]
    if len(among) == 1:
        return among[0]
    if repeated := [name for name in among if among.count(name) > 1]:
        found = f"{repeated.count(repeated[0])} columns called {quoted_name(repeated[0])}"
        raise ColumnError(f"{file}: {found}, expected one")
    called = f" called {columns[0]}" if len(columns) == 1 else ""
    raise ColumnError(
        f"{file}: {number_of(len(names), 'column')}, expected one{called}, or --values-column"
    )
