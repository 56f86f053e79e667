"""A dataset of pyarrow without what cannot match, for all that reads such datasets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parquet_bloom.verbs.reading import Reading

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.vocabulary import TableChoice


def dataset(
    files: Any,
    filters: Any,
    *,
    schema: pa.Schema | None = None,
    table: TableChoice | TableView | None = None,
    index: str | os.PathLike[str] | None = None,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> pads.FileSystemDataset:
    """A pyarrow Dataset of what `files` have that may match: the same rows as the dataset of all files has, if
    whoever reads it filters by at least the same `filters`. pyarrow, pandas, polars, DuckDB, Daft, Ray and Dask read
    it. It is pyarrow's own, and does not tell what it leaves out: read_plan does,
    with the same arguments.

    Where little is excluded, most files are not asked, and are in it as a whole. Columns of Hive partitions
    (`country=DE/`) are columns. schema: of the dataset; by default that of the first file, in the order of
    paths, whatever is left, with those columns and fields of structs of the filters that only other files have. Where
    others have wider types, such as INT64 for INT32, pyarrow reads what fits, and refuses the rest: then give a wider
    one. Of a `table`, it has all columns of the table; files with deleted rows are refused, as pyarrow cannot be told
    of these. keys: one key, or only a KMS client and master keys, as pyarrow takes no others. All others as for
    row_groups.

    Raises as row_groups, and UnsupportedError for ORC files and for what pyarrow cannot be told.
    """
    import pyarrow as pa

    if schema is not None and not isinstance(schema, pa.Schema):
        raise TypeError(f"schema: {schema!r}, expected a pyarrow.Schema")
    reading = Reading(files, filters, table, index, hash_key, keys, storage_options, cache)
    return reading.dataset(schema)
