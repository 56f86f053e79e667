"""Ready-made settings with which other writers give a column the recommended filter.

For Parquet, NDV is that of the measured file's row group with the most distinct values:
parquet-java and DuckDB size a filter for the number that they are told.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn

# The default limit of parquet-java and Iceberg.
JAVA_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WantedFilter:
    """The filter to get in every row group.

    `column_path`: the names from the root of the schema to the leaf. `ndv`: the most distinct
    values to expect; `num_bytes`: of the largest bitset, up to `max_bytes`; `dictionary_bytes`: the
    most that a dictionary of all values may take; `only_dictionary`: whether the chunks have such
    dictionaries now.
    """

    path: str
    column_path: tuple[str, ...]
    fpp: float
    max_bytes: int
    ndv: int
    num_bytes: int
    dictionary_bytes: int
    only_dictionary: bool


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """Text to paste for one writer."""

    writer: str
    text: str


def writer_settings(wanted: WantedFilter) -> tuple[WriterSettings, ...]:
    """The settings for each writer that can be told to write such a filter."""
    column = ".".join(wanted.column_path)
    limit = "" if wanted.max_bytes == MAX_BYTES else f" --max-bytes {wanted.max_bytes}"
    texts = {
        "pbloom": _command(wanted.path, column, wanted.fpp, limit, "out.parquet"),
        "Spark": _spark(wanted, column),
        "pyarrow": 'pq.write_table(table, "out.parquet", bloom_filter_options='
        f'{{{column!r}: {{"ndv": {wanted.ndv}, "fpp": {wanted.fpp!r}}}}})',
        "DuckDB": _duckdb(wanted),
        "DataFusion": _datafusion(wanted, column),
        "Iceberg": _iceberg(wanted, column),
    }
    if any("." in name for name in wanted.column_path):
        # parquet-java, and hence Iceberg, takes every dot for a step down in the schema.
        del texts["Spark"], texts["Iceberg"]
    return tuple(WriterSettings(writer, text) for writer, text in texts.items())


# The kinds that ORC C++ gets right; pyorc hashes a FLOAT as Python's float, a DOUBLE.
_SOUND_IN_PYARROW: Final = frozenset(
    {"SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "STRING", "VARCHAR", "DATE", "DECIMAL"}
)
_SOUND_IN_PYORC: Final = _SOUND_IN_PYARROW - {"FLOAT"}


def orc_writer_settings(
    path: str, column: OrcColumn, is_plain: bool, fpp: float
) -> tuple[WriterSettings, ...]:
    """The settings for each writer of ORC files that gets the filters of such a column right.

    `is_plain`: no part of the column's dotted name has a dot in it. The size of filters follows from
    the rows of an index group.
    """
    texts = {"pbloom": _command(path, column.name, fpp, "", "out.orc")}
    # ORC Java, and hence all three, takes names separated by commas, and each dot for a step down.
    if is_plain and re.fullmatch(r"[\w.]+", column.name, re.ASCII):
        options = {"columns": column.name, "fpp": repr(fpp)}
        texts["Spark"] = _data_frame_options(options, "orc.bloom.filter.")
        texts["Hive"] = _table_properties(options, "orc.bloom.filter.")
        texts["Iceberg"] = _table_properties(options, "write.orc.bloom.filter.")
    options_of_cpp = f"bloom_filter_columns=[{column.id}], bloom_filter_fpp={fpp!r}"
    if column.kind in _SOUND_IN_PYARROW:
        texts["pyarrow"] = f'orc.write_table(table, "out.orc", {options_of_cpp})'
    if column.kind in _SOUND_IN_PYORC:
        texts["pyorc"] = f"pyorc.Writer(file, schema, {options_of_cpp})"
    return tuple(WriterSettings(writer, text) for writer, text in texts.items())


def _command(path: str, column: str, fpp: float, limit: str, output: str) -> str:
    # A leading dash would make it an option.
    path = f"./{path}" if path.startswith("-") else path
    if any(special in column for special in ',"\r\n'):
        # As in CSV, or `-c` would take it for several names or none.
        column = '"' + column.replace('"', '""') + '"'
    return f"pbloom build {shlex.quote(path)} -c {shlex.quote(column)} --fpp {fpp!r}{limit} -o {output}"


def _spark(wanted: WantedFilter, column: str) -> str:
    """parquet-java's properties. It drops the filter of a chunk whose values are all in a
    dictionary."""
    options = {
        f"bloom.filter.enabled#{column}": "true",
        f"bloom.filter.expected.ndv#{column}": str(wanted.ndv),
        f"bloom.filter.fpp#{column}": repr(wanted.fpp),
        "bloom.filter.max.bytes": str(max(JAVA_MAX_BYTES, wanted.num_bytes)),
    }
    if wanted.only_dictionary:
        options[f"enable.dictionary#{column}"] = "false"
    return _data_frame_options(options, "parquet.")


def _duckdb(wanted: WantedFilter) -> str:
    """DuckDB writes a filter for each chunk with a dictionary, whatever the column."""
    return (
        f"COPY (FROM read_parquet({_sql(wanted.path)})) TO 'out.parquet' (FORMAT parquet,"
        f" DICTIONARY_SIZE_LIMIT {wanted.ndv},"
        f" STRING_DICTIONARY_PAGE_SIZE_LIMIT {max(wanted.dictionary_bytes, MIN_BYTES)},"
        f" BLOOM_FILTER_FALSE_POSITIVE_RATIO {wanted.fpp!r}) -- for all columns"
    )


def _datafusion(wanted: WantedFilter, column: str) -> str:
    """DataFusion lowercases the keys of options and takes every dot for a step down."""
    is_named = all(name == name.lower() and "." not in name for name in wanted.column_path)
    suffix = f"::{column}" if is_named else ""
    options = {
        f"enabled{suffix}" if is_named else "on_write": "true",
        f"fpp{suffix}": repr(wanted.fpp),
        f"ndv{suffix}": str(wanted.ndv),
    }
    pairs = _pairs(options, "format.bloom_filter_", " ")
    statement = f"COPY t TO 'out.parquet' STORED AS PARQUET OPTIONS ({pairs})"
    return statement if is_named else f"{statement} -- for all columns"


def _iceberg(wanted: WantedFilter, column: str) -> str:
    properties = {
        f"enabled.column.{column}": "true",
        f"fpp.column.{column}": repr(wanted.fpp),
        f"ndv.column.{column}": str(wanted.ndv),
        "max-bytes": str(max(JAVA_MAX_BYTES, wanted.num_bytes)),
    }
    return _table_properties(properties, "write.parquet.bloom-filter-")


def _data_frame_options(options: Mapping[str, str], prefix: str) -> str:
    """Options of a DataFrameWriter; the literals are those of Python, Scala and Java alike."""
    return "\n".join(
        f".option({_string(prefix + name)}, {_string(value)})" for name, value in options.items()
    )


def _table_properties(properties: Mapping[str, str], prefix: str) -> str:
    return f"ALTER TABLE t SET TBLPROPERTIES ({_pairs(properties, prefix, ' = ')})"


def _pairs(options: Mapping[str, str], prefix: str, between: str) -> str:
    return ", ".join(f"{_sql(prefix + name)}{between}{_sql(options[name])}" for name in options)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
