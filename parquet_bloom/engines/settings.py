"""Settings that make each engine write a filter: the text of the catalogue, filled in.

    {column} {column_id} {path}     the dotted name, the number of an ORC column, the file
    {fpp} {ndv}                     NDV is that of the measured file's row group with the most distinct
                                    values: parquet-java and DuckDB size a filter for what they are told
    {rows}                          of the measured file's largest row group: with more, a filter for NDV
                                    values would be too small
    {max_bytes}                     the writer's own limit, or more if the filter takes more
    {dictionary_bytes}              the most that a dictionary of all values may take

`{column:sql}` is quoted for a text of SQL, `:string` for one of Python, Scala and Java alike, `:python` is
a literal of Python. A writer with `rows_multiple` gets rows rounded up to it, and as many more values.

For a file of a table, only the settings of those are left that write into such a table and take them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.catalogue import engines
from parquet_bloom.engines.engine import NamesTaken, SettingsText
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloom.storage import file_in_commands, store_arguments
from parquet_bloom.vocabulary import Format, TableKind


@dataclass(frozen=True, slots=True)
class InTable:
    """The table that a file is of, for which it stands. `build`: the options with which `pbloom build` takes it, None
    if it takes none."""

    kind: TableKind
    build: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class WantedFilter:
    """The filter to get in every part of a file at `path`, or of the files of a table there.

    `column_path`: the names from the root of the schema to the leaf, as the table calls it, if there is one; `index`:
    of one that shares these with others, which only pbloom can tell apart. `ndv`: the most distinct
    values to expect, in up to `rows`; `num_bytes`: of the largest bitset; `dictionary_bytes`: the most that a
    dictionary of all values may take; `only_dictionary`: whether the chunks have such dictionaries now; `digits`: of
    a DECIMAL of Parquet; `column_id` and `type`: of an ORC column; `table`: that the file is one of, if any;
    `is_encrypted`: whether the file is, which then takes the options `keys`.
    """

    path: str
    column_path: tuple[str, ...]
    fpp: float
    ndv: int = 0
    rows: int = 0
    num_bytes: int = 0
    dictionary_bytes: int = 0
    only_dictionary: bool = False
    index: int | None = None
    digits: int = 0
    column_id: int = 0
    type: str = ""
    table: InTable | None = None
    is_encrypted: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """Text to paste for one writer."""

    writer: str
    text: str


def all_settings(
    format: Format, wanted: WantedFilter, max_bytes: int = MAX_BYTES
) -> tuple[WriterSettings, ...]:
    """Those of `pbloom`, then of each engine that can be told to write such a filter. `max_bytes`: the
    limit that the filter was made for."""
    having = ((each.name, each.settings[format]) for each in engines() if format in each.settings)
    texts = ((name, _text(settings, wanted)) for name, settings in having)
    found = (WriterSettings(name, text) for name, text in texts if text)
    if wanted.table is None:
        written: tuple[str, ...] | None = ("-o", f"out.{format}")
    else:
        written = wanted.table.build
    if written is None:
        return tuple(found)
    limit = () if max_bytes == MAX_BYTES else ("--max-bytes", str(max_bytes))
    more = shlex.join((*limit, *written, *store_arguments(wanted.path), *wanted.keys))
    return WriterSettings("pbloom", f"{_command(wanted)} {more}".rstrip()), *found


def _command(wanted: WantedFilter) -> str:
    # A leading dash would make it an option.
    path = file_in_commands(wanted.path)
    name = ".".join(wanted.column_path)
    column = shlex.quote(quoted_name(name if wanted.index is None else f"{name}#{wanted.index}"))
    return f"pbloom build {shlex.quote(path)} -c {column} --fpp {wanted.fpp!r}"


def _text(settings: SettingsText, wanted: WantedFilter) -> str:
    """Empty if it cannot be told, or would get the filter wrong, or write in plaintext what is encrypted."""
    if wanted.table is not None and settings.table != wanted.table.kind:
        return ""
    if wanted.is_encrypted and not settings.encrypts:
        return ""
    if settings.types and wanted.type not in settings.types:
        return ""
    if settings.most_digits is not None and wanted.digits > settings.most_digits:
        return ""
    is_named = all(map(_IS_NAMED[settings.names], wanted.column_path))
    # A path that several columns share would give all of them filters.
    is_shared = wanted.index is not None and "{column" in settings.text
    text = settings.text if is_named and not is_shared else settings.for_all_columns
    if text and wanted.only_dictionary and settings.if_only_dictionary:
        text += f"\n{settings.if_only_dictionary}"
    rows = ceil(wanted.rows / settings.rows_multiple) * settings.rows_multiple
    growth = Fraction(rows, wanted.rows) if rows else Fraction(1)
    return text.format(
        column=_Quotable(".".join(wanted.column_path)),
        column_id=wanted.column_id,
        path=_Quotable(wanted.path),
        fpp=wanted.fpp,
        rows=rows,
        ndv=ceil(wanted.ndv * growth),
        max_bytes=max(settings.max_bytes, wanted.num_bytes),
        dictionary_bytes=max(ceil(wanted.dictionary_bytes * growth), MIN_BYTES),
    )


_IS_NAMED: Final[Mapping[NamesTaken, Callable[[str], bool]]] = {
    "any": lambda name: True,
    "no dots": lambda name: "." not in name,
    "no dots, no capitals": lambda name: "." not in name and name == name.lower(),
    "word characters": lambda name: re.fullmatch(r"\w+", name, re.ASCII) is not None,
}


class _Quotable(str):
    __slots__ = ()

    def __format__(self, language: str) -> str:
        return _QUOTED[language](str(self))


_QUOTED: Final[Mapping[str, Callable[[str], str]]] = {
    "": str,
    "python": repr,
    "sql": lambda text: text.replace("'", "''"),
    "string": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
}
