"""Find the rows that hold values: through an index, or min/max statistics and filters, to row groups,
and there in the column itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from parquet_bloom.arguments import (
    PATH_OR_URL,
    columns_given,
    files_given,
    flag_given,
    name_given,
    path_given,
)
from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.index.states import state_of, state_unless_asked_for
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.options import TableView
from parquet_bloom.storage import open_folder, open_source, with_options
from parquet_bloom.values.given import check_none_missing, each_once, list_values
from parquet_bloom.verbs.candidates import Candidates, in_files, in_index
from parquet_bloom.verbs.index_probe import check_column, check_has_files
from parquet_bloom.verbs.listed_files import ListedFiles, files_found, for_index, list_files
from parquet_bloom.verbs.row_search import RowSearch

if TYPE_CHECKING:
    from parquet_bloom.arguments import SomeNames
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.parallel import Progress
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.verbs.found import FindReport
    from parquet_bloom.vocabulary import TableChoice


def find(
    files: Any,
    column: str,
    values: Any,
    *,
    columns: SomeNames | None = None,
    table: TableChoice | TableView | None = None,
    index: str | os.PathLike[str] | None = None,
    hash_key: bytes | str | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    union_by_name: bool = False,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> FindReport:
    """The rows of `files` that hold `values` of `column`, file by file.

    files: paths, URLs, globs and folders; None for all that the `index` knows, and the live files of the tables that
    it is about. table: `files` are tables of this kind, in whose place are their live files; a TableView says of
    which version. A row that a table has deleted without writing its file anew is still there, and found, as
    `deleted`. values: as for probe, but NaN and null cannot be looked for; one that is given twice
    counts once. columns: those whose values are wanted of each row, by the names of whole columns, with all that is
    nested in them: the report has them in its table `values`, a row for each of `rows`, and in to_arrow(), as
    `values.NAME`. A file that lacks one has nulls in it. Those of Hive partitions (`country=DE/`) are columns, too,
    as for rows; `column` itself is shown as the file has it.

    Only row groups are read that min/max statistics and filters, or an `index`, do not exclude, and only pages that
    the index or the file's page indexes name. Of a file that is named, and that the index does not know in its state,
    its own statistics and filters are asked; None are files as they were indexed, and the index may exclude one that
    has changed since. union_by_name: the files are those of one schema, and one that has no such column, in upper or
    lower case, has null there, if any of them has it; without that, it is unknown. hash_key: of the index, as for
    Index. cache: a pb.Cache, for those who look more than once. progress: called with (files done, files in all). All
    others as for inspect.

    Files that cannot be read or are not there are `unknown` in the report, and those whose column cannot hold one of
    the values, while the others are looked for. Raises ValueTypeError if one cannot be looked for, or none can be a
    value in any of the files, with an index in any that it has indexed, unless one of `files` is new to it; without
    an index, or with one that knows none of the files as they are, ColumnError if no file has the column,
    MissingKeyError if there is a key for none of them; ColumnError if the index is not about the column, or no file
    has one of `columns`, UnsupportedError if the types of these in several files do not go together,
    FileNotFoundError if none of the names means any files, RewriteError for what is no table, EncryptionError unless
    `hash_key` is that of the index, FormatError for a damaged index, OSError.
    """
    given = list_values(values)
    check_none_missing(given)
    sought = each_once(given)
    TableView.check_none(table, flag_given("union_by_name", union_by_name))
    search = RowSearch(
        name_given("column", column), sought, columns_given(columns), keys, cache, union_by_name
    )
    with _to_look_into(search, files, table, index, hash_key, storage_options) as (found, among):
        return search.report(found, among, progress)


def are_held(
    asked: AskedIndex,
    path: str,
    column: str,
    values: Any,
    among: ListedFiles | None,
    *,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    union_by_name: bool = False,
) -> NDArray[np.bool_] | None:
    """Of each of `values`, whether any row holds it: of the files as they were listed, without them of all that an
    open index has, as it read them. Shape (n,); None if one cannot be read in that state. Raises as find."""
    search = RowSearch(column, list_values(values), None, keys, union_by_name=union_by_name)
    found = in_index(asked, path, column, search.values, among)
    if among is None:
        among = ListedFiles({}, options=storage_options)
    return search.are_held(found, among)


def files_of_tables(
    asked: AskedIndex, storage_options: Mapping[str, str] | None
) -> ListedFiles | None:
    """All that an index is about, as it is now, if there are tables among that; else None. Raises as find."""
    about = asked.manifest
    if not about.tables:
        return None
    return list_files(about.sources, about.tables, storage_options)


@contextmanager
def _to_look_into(
    search: RowSearch,
    files: Any,
    table: TableChoice | TableView | None,
    index: str | os.PathLike[str] | None,
    hash_key: bytes | str | None,
    storage_options: Mapping[str, str] | None,
) -> Iterator[tuple[Candidates, ListedFiles]]:
    """What may hold the values, and the files that it is among."""
    if files is None and (index is None or table is not None):
        raise TypeError(
            f"files: None, expected {'files or an index' if table is None else 'tables'}"
        )
    among, view = None, TableView.given(table)
    names = None if files is None else files_given("files", files)
    # Without what must not be shown.
    search.inputs = tuple(str(with_options(name, {})) for name in names or ())
    if names is not None and index is None:
        look = state_unless_asked_for if search.cache is None else state_of
        among = files_found(names, view, storage_options, look, search.left_out)
    elif names is not None:
        among = for_index(files_found(names, view, storage_options, left_out=search.left_out))
    if among is not None:
        search.add_not_found(among.errors)
    if index is None:
        assert among is not None
        yield in_files(among), among
        return
    folder = open_folder(with_options(path_given("index", index, PATH_OR_URL), storage_options))
    opener = open_source if search.cache is None else search.cache.open_lasting
    with closing(AskedIndex(folder, hash_key, opener)) as asked:
        check_column(folder.path, asked.manifest, search.column)
        if among is None:
            # What tables have put in the place of files, the index does not know.
            among = files_of_tables(asked, storage_options)
            search.add_gone(() if among is None else among.errors)
        if among is None:
            check_has_files(folder.path, search.column, asked.num_files(search.column))
        found = in_index(asked, folder.path, search.column, search.values, among)
        if among is None and search.cache is not None:
            among = list_files([each.path for each in found.found], (), storage_options)
        yield found, ListedFiles({}, options=storage_options) if among is None else among
