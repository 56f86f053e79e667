"""A source of polars that leaves out what cannot match, by the predicate of each query."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parquet_bloom.errors import needing
from parquet_bloom.verbs.reading import Reading

if TYPE_CHECKING:
    import polars as pl

    from parquet_bloom.options import TableView
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.vocabulary import TableChoice


def polars_source(
    files: Any,
    filters: Any = None,
    *,
    table: TableChoice | TableView | None = None,
    index: str | os.PathLike[str] | None = None,
    hash_key: bytes | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> pl.LazyFrame:
    """A LazyFrame over `files` that polars reads, but for what cannot match: by comparisons with `==` of integers and
    text in the predicate of the query, and what `&` and `|` make of them; and by `filters`, which whoever asks
    filters by, too, such as `is_in` with the same values, into which nobody can look. Its rows are those of
    `scan_parquet` of all files, if the query filters by at least the same `filters`, before anything in it that
    counts rows, such as `slice`, `tail` and `with_row_index`. Its columns are those of the first file, in the order
    of paths, and those of `filters` that other files have, fields of structs among them; a file that lacks one has
    nulls in it. What it leaves out, read_plan says, with what the query filters by as `filters`.

    Rows and columns of a `table` are the table's. Where files are left that do not hold all that it says about them,
    such as deleted rows, names, values of partitions or columns that it got later, row groups are read here as
    pb.rows reads them, and given to polars.

    All others as for dataset. storage_options: polars is given the same, and its own names of them are the same.

    Raises UnsupportedError if polars is not installed; as dataset, some of it not before rows are asked for.
    """
    with needing("polars_source", "polars", "polars"):
        from polars.io.plugins import register_io_source
    from parquet_bloom.reads.polars_rows import Rows, RowsOfTables

    given = {} if filters is None else filters
    reading = Reading(files, given, table, index, hash_key, None, storage_options, cache)

    reading.check_first()
    paths = list(reading.files.found)
    rows: Rows | RowsOfTables = Rows(
        paths, reading.filtered, reading.slices, reading.has_partitions
    )
    if reading.is_of_tables:
        rows = RowsOfTables(paths, reading.groups, reading.whole_groups())
    # polars itself takes none from paths that a URL escapes.
    return register_io_source(rows, schema=rows.schema).drop(reading.columns_above(), strict=False)
