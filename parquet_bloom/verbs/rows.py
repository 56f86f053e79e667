"""The rows that match filters, for the price of the pages that hold them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parquet_bloom.arguments import columns_given
from parquet_bloom.verbs.reading import Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_bloom.arguments import SomeNames
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.vocabulary import TableChoice


def rows(
    files: Any,
    filters: Any,
    columns: SomeNames | None = None,
    *,
    table: TableChoice | TableView | None = None,
    index: str | os.PathLike[str] | None = None,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> pa.Table:
    """The rows of `files` that match `filters`, as a pyarrow Table, file by file: those that pyarrow's
    `Table.filter` leaves of all, where a value is what it is to `find`: a number is compared exactly, but is equal to
    the nearest of a column of floats, and a timestamp without a zone is in UTC for a column that has one.

    Of the row groups that are left by statistics, filters and an `index`, the columns of the filters are read, and of
    other `columns` only the pages with rows that match; where many row groups are left, by several threads. For a few
    rows; where many match, pb.dataset takes less. What was read is in the schema's metadata: JSON under
    `parquet_bloom`, with `files_read`, `row_groups_read`, `pages_read` and `bytes_read`, and what was not, as in a
    ReadPlan: `files_without_column` have null in a column of the conditions, and are read only if that may match.

    Of ORC files, the columns of a stripe are decoded up to the last index group with such rows,
    which is called a page.

    filters: as for row_groups, and `!=` and `not in` are obeyed, too; columns are whole ones, or fields of structs.
    `{}`: all rows. NaN and null cannot be looked for, as by find; null rows match nothing but `not in`.
    columns: whole ones; a file that lacks one has nulls in it. None: all of the first file, in the order of paths,
    whatever is left, and those of the filters that other files have. Those of Hive partitions (`country=DE/`) are
    columns of the types that the first file has them in, else of those that pyarrow takes, those of a table's
    partitions of its own types; files of other partitions stay closed, but for the first. table: rows and columns are
    the table's, without rows that it has deleted. All others as for row_groups.

    Raises as row_groups; ValueTypeError for NaN, null, and what cannot be compared with the values of a column, such
    as a float with a DECIMAL; UnsupportedError for a UNION of ORC, for what nobody reads here of a table, such as
    equality delete files, and if the types of a column in several files do not go together.
    """
    reading = Reading(files, filters, table, index, hash_key, keys, storage_options, cache)
    return reading.rows(columns_given(columns))
