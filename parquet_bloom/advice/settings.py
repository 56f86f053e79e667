"""Ready-made settings, so that other writers give a column the filter that is advised.

Sizes are per row group of the file that was measured: NDV is that of the row group with the most
distinct values. parquet-java and DuckDB write no larger filter than they are told to expect.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from parquet_bloom.filters.sizing import MIN_BYTES

# parquet-java's and Iceberg's limit unless told otherwise.
JAVA_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WantedFilter:
    """What the settings shall bring about in every row group.

    `ndv`: distinct values to expect, at most; `num_bytes`: of the largest bitset;
    `dictionary_bytes`: what a dictionary of all values may take; `only_dictionary`: whether the
    chunks have such dictionaries now.
    """

    path: str
    column: str
    fpp: float
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
    """The settings for each writer."""
    return (
        WriterSettings("pbloom", _pbloom(wanted)),
        WriterSettings("Spark", _spark(wanted)),
        WriterSettings("pyarrow", _pyarrow(wanted)),
        WriterSettings("DuckDB", _duckdb(wanted)),
        WriterSettings("DataFusion", _datafusion(wanted)),
        WriterSettings("Iceberg", _iceberg(wanted)),
    )


def _pbloom(wanted: WantedFilter) -> str:
    file, column = shlex.quote(wanted.path), shlex.quote(wanted.column)
    return f"pbloom build {file} -c {column} --fpp {wanted.fpp:g} -o out.parquet"


def _java_max_bytes(wanted: WantedFilter) -> int:
    return max(JAVA_MAX_BYTES, wanted.num_bytes)


def _spark(wanted: WantedFilter) -> str:
    """Options of a DataFrameWriter; the names are parquet-java's properties.

    parquet-java drops the filter of a chunk that has a dictionary for all its values.
    """
    options = {
        f"parquet.bloom.filter.enabled#{wanted.column}": "true",
        f"parquet.bloom.filter.expected.ndv#{wanted.column}": str(wanted.ndv),
        f"parquet.bloom.filter.fpp#{wanted.column}": f"{wanted.fpp:g}",
        "parquet.bloom.filter.max.bytes": str(_java_max_bytes(wanted)),
    }
    if wanted.only_dictionary:
        options[f"parquet.enable.dictionary#{wanted.column}"] = "false"
    return "\n".join(
        f".option({json.dumps(name)}, {json.dumps(value)})" for name, value in options.items()
    )


def _pyarrow(wanted: WantedFilter) -> str:
    return (
        'pq.write_table(table, "out.parquet", bloom_filter_options='
        f'{{{wanted.column!r}: {{"ndv": {wanted.ndv}, "fpp": {wanted.fpp:g}}}}})'
    )


def _duckdb(wanted: WantedFilter) -> str:
    """DuckDB gives a filter to each chunk that has a dictionary, whatever the column."""
    return (
        f"COPY (FROM {_sql(wanted.path)}) TO 'out.parquet' (FORMAT parquet,"
        f" DICTIONARY_SIZE_LIMIT {wanted.ndv},"
        f" STRING_DICTIONARY_PAGE_SIZE_LIMIT {max(wanted.dictionary_bytes, MIN_BYTES)},"
        f" BLOOM_FILTER_FALSE_POSITIVE_RATIO {wanted.fpp:g}) -- for all columns"
    )


def _datafusion(wanted: WantedFilter) -> str:
    options = {"enabled": "true", "fpp": f"{wanted.fpp:g}", "ndv": str(wanted.ndv)}
    pairs = ", ".join(
        f"{_sql(f'format.bloom_filter_{name}::{wanted.column}')} {_sql(value)}"
        for name, value in options.items()
    )
    return f"COPY t TO 'out.parquet' STORED AS PARQUET OPTIONS ({pairs})"


def _iceberg(wanted: WantedFilter) -> str:
    properties = {
        f"bloom-filter-enabled.column.{wanted.column}": "true",
        f"bloom-filter-fpp.column.{wanted.column}": f"{wanted.fpp:g}",
        f"bloom-filter-ndv.column.{wanted.column}": str(wanted.ndv),
        "bloom-filter-max-bytes": str(_java_max_bytes(wanted)),
    }
    pairs = ", ".join(
        f"{_sql(f'write.parquet.{name}')} = {_sql(value)}" for name, value in properties.items()
    )
    return f"ALTER TABLE t SET TBLPROPERTIES ({pairs})"


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
