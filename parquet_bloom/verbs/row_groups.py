"""The row groups that are left to read, as a table that engines join with or read by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parquet_bloom.options import TableView
from parquet_bloom.verbs.reading import Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.vocabulary import TableChoice


def row_groups(
    files: Any,
    filters: Any,
    *,
    table: TableChoice | TableView | None = None,
    index: str | os.PathLike[str] | None = None,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> pa.Table:
    """What is left to read of `files`: every row group that may have rows which match, by min/max statistics, Bloom
    filters, an `index` and the partitions of a `table`; read_plan says how much each of them excludes. A pyarrow
    Table, file by file: `path` (string), `row_group` (int32, from 0; a stripe of an ORC file), `rows` (int64, how
    many it has).

    files: paths, URLs, globs and folders; None for all that the `index` knows. filters: `{column: value or values}`,
    all of which must hold; or `[(column, operator, value), …]`, or a list of such lists, one of which must hold, as
    pandas and pyarrow take them. Values are Python's, or a numpy or pyarrow array, a pandas or polars Series. Columns
    are dotted paths. What cannot be asked excludes nothing: `!=` and `not in` but of partitions, null, NaN, values
    that the column cannot hold or that engines compare in different ways. table, hash_key: as for find; rows that a
    table has deleted may still be in the files. cache: a pb.Cache, for those who ask more than once.
    All others as for inspect.

    Raises TypeError and ValueError for other filters, ColumnError for a column that no file has, ValueTypeError for
    text where the column holds numbers or dates in all files, or a number where it holds text, FileNotFoundError if
    there are no files, or if one that only the index names is gone and may have had such rows, FormatError,
    UnsupportedError, EncryptionError and OSError for a file that cannot be read.
    """
    import pyarrow as pa

    reading = Reading(files, filters, table, index, hash_key, keys, storage_options, cache)
    rows = [
        (left.path, group.number, group.num_rows)
        for left in reading.row_groups().left
        for group in left.groups or ()
    ]
    paths, numbers, counts = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "path": pa.array(paths, pa.string()),
            "row_group": pa.array(numbers, pa.int32()),
            "rows": pa.array(counts, pa.int64()),
        }
    )
