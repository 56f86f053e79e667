"""Ready-made settings with which other writers give a column the recommended filter.

For Parquet, NDV is that of the measured file's row group with the most distinct values:
parquet-java and DuckDB size a filter for the number that they are told.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Final

from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

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

    @property
    def column(self) -> str:
        """The dotted path."""
        return ".".join(self.column_path)


@dataclass(frozen=True, slots=True)
class WriterSettings:
    """Text to paste for one writer."""

    writer: str
    text: str


def writer_settings(wanted: WantedFilter) -> tuple[WriterSettings, ...]:
    """The settings for each writer that can be told to write such a filter.

    parquet-java, and hence Iceberg, takes every dot for a step down in the schema.
    """
    has_dots = any("." in name for name in wanted.column_path)
    java = [] if has_dots else [WriterSettings("Spark", _spark(wanted))]
    iceberg = [] if has_dots else [WriterSettings("Iceberg", _iceberg(wanted))]
    return (
        WriterSettings("pbloom", _pbloom(wanted)),
        *java,
        WriterSettings("pyarrow", _pyarrow(wanted)),
        WriterSettings("DuckDB", _duckdb(wanted)),
        WriterSettings("DataFusion", _datafusion(wanted)),
        *iceberg,
    )


# What ORC C++ gets right; pyorc hashes a FLOAT as Python's float, a DOUBLE.
_SOUND_IN_PYARROW: Final = frozenset(
    {"SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "STRING", "VARCHAR", "DATE", "DECIMAL"}
)
_SOUND_IN_PYORC: Final = _SOUND_IN_PYARROW - {"FLOAT"}


def orc_writer_settings(
    path: str, *, id: int, name: str, kind: str, is_plain: bool, fpp: float
) -> tuple[WriterSettings, ...]:
    """The settings for each writer of ORC files that gets the filters of such a column right.

    `id`, `name` (dotted) and `kind` are those of the column; `is_plain`: no part of the name has a
    dot in it. The size of filters follows from the rows of an index group. ORC Java, and hence
    Spark, Hive and Iceberg, takes names separated by commas, and each dot for a step down.
    """
    java = (
        WriterSettings("Spark", _spark_orc(name, fpp)),
        WriterSettings("Hive", _table_properties(name, fpp, "orc.bloom.filter")),
        WriterSettings("Iceberg", _table_properties(name, fpp, "write.orc.bloom.filter")),
    )
    cpp = (
        (_SOUND_IN_PYARROW, "pyarrow", 'orc.write_table(table, "out.orc"'),
        (_SOUND_IN_PYORC, "pyorc", "pyorc.Writer(file, schema"),
    )
    options = f"bloom_filter_columns=[{id}], bloom_filter_fpp={fpp!r}"
    is_named = is_plain and re.fullmatch(r"[\w.]+", name, re.ASCII)
    return (
        WriterSettings("pbloom", _command(path, name, fpp, "", "out.orc")),
        *(java if is_named else ()),
        *(
            WriterSettings(writer, f"{call}, {options})")
            for kinds, writer, call in cpp
            if kind in kinds
        ),
    )


def _spark_orc(name: str, fpp: float) -> str:
    return (
        f'.option("orc.bloom.filter.columns", {_string(name)})\n'
        f'.option("orc.bloom.filter.fpp", {_string(repr(fpp))})'
    )


def _table_properties(name: str, fpp: float, prefix: str) -> str:
    return (
        f"ALTER TABLE t SET TBLPROPERTIES ({_sql(f'{prefix}.columns')} = {_sql(name)},"
        f" {_sql(f'{prefix}.fpp')} = {_sql(repr(fpp))})"
    )


def _pbloom(wanted: WantedFilter) -> str:
    limit = "" if wanted.max_bytes == MAX_BYTES else f" --max-bytes {wanted.max_bytes}"
    return _command(wanted.path, wanted.column, wanted.fpp, limit, "out.parquet")


def _command(path: str, column: str, fpp: float, limit: str, output: str) -> str:
    # A leading dash would make it an option.
    path = f"./{path}" if path.startswith("-") else path
    return (
        f"pbloom build {shlex.quote(path)} -c {shlex.quote(_csv(column))}"
        f" --fpp {fpp!r}{limit} -o {output}"
    )


def _csv(name: str) -> str:
    """A name as `-c` takes it: in quotes if it would be read as several names or none."""
    if not any(special in name for special in ',"\r\n'):
        return name
    return '"' + name.replace('"', '""') + '"'


def _java_max_bytes(wanted: WantedFilter) -> int:
    return max(JAVA_MAX_BYTES, wanted.num_bytes)


def _spark(wanted: WantedFilter) -> str:
    """Options of a DataFrameWriter; the names are parquet-java's properties.

    parquet-java drops the filter of a chunk whose values are all in a dictionary.
    """
    options = {
        f"parquet.bloom.filter.enabled#{wanted.column}": "true",
        f"parquet.bloom.filter.expected.ndv#{wanted.column}": str(wanted.ndv),
        f"parquet.bloom.filter.fpp#{wanted.column}": f"{wanted.fpp!r}",
        "parquet.bloom.filter.max.bytes": str(_java_max_bytes(wanted)),
    }
    if wanted.only_dictionary:
        options[f"parquet.enable.dictionary#{wanted.column}"] = "false"
    return "\n".join(
        f".option({_string(name)}, {_string(value)})" for name, value in options.items()
    )


def _pyarrow(wanted: WantedFilter) -> str:
    return (
        'pq.write_table(table, "out.parquet", bloom_filter_options='
        f'{{{wanted.column!r}: {{"ndv": {wanted.ndv}, "fpp": {wanted.fpp!r}}}}})'
    )


def _duckdb(wanted: WantedFilter) -> str:
    """DuckDB writes a filter for each chunk with a dictionary, whatever the column."""
    return (
        f"COPY (FROM read_parquet({_sql(wanted.path)})) TO 'out.parquet' (FORMAT parquet,"
        f" DICTIONARY_SIZE_LIMIT {wanted.ndv},"
        f" STRING_DICTIONARY_PAGE_SIZE_LIMIT {max(wanted.dictionary_bytes, MIN_BYTES)},"
        f" BLOOM_FILTER_FALSE_POSITIVE_RATIO {wanted.fpp!r}) -- for all columns"
    )


def _datafusion(wanted: WantedFilter) -> str:
    """DataFusion lowercases the keys of options and takes every dot for a step down."""
    names = wanted.column_path
    is_named = all(name == name.lower() and "." not in name for name in names)
    suffix = f"::{wanted.column}" if is_named else ""
    enabled = "bloom_filter_enabled" if is_named else "bloom_filter_on_write"
    options = {
        f"{enabled}{suffix}": "true",
        f"bloom_filter_fpp{suffix}": repr(wanted.fpp),
        f"bloom_filter_ndv{suffix}": str(wanted.ndv),
    }
    pairs = ", ".join(f"{_sql(f'format.{name}')} {_sql(value)}" for name, value in options.items())
    statement = f"COPY t TO 'out.parquet' STORED AS PARQUET OPTIONS ({pairs})"
    return statement if is_named else f"{statement} -- for all columns"


def _iceberg(wanted: WantedFilter) -> str:
    properties = {
        f"bloom-filter-enabled.column.{wanted.column}": "true",
        f"bloom-filter-fpp.column.{wanted.column}": f"{wanted.fpp!r}",
        f"bloom-filter-ndv.column.{wanted.column}": str(wanted.ndv),
        "bloom-filter-max-bytes": str(_java_max_bytes(wanted)),
    }
    pairs = ", ".join(
        f"{_sql(f'write.parquet.{name}')} = {_sql(value)}" for name, value in properties.items()
    )
    return f"ALTER TABLE t SET TBLPROPERTIES ({pairs})"


def _string(text: str) -> str:
    """A literal in Python, Scala and Java alike."""
    return json.dumps(text, ensure_ascii=False)


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
