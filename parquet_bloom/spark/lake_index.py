"""An index over a lake, made and asked by executors."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from parquet_bloom.arguments import (
    PATH_OR_URL,
    SomeNames,
    columns_given,
    columns_needed,
    files_given,
    flag_given,
    path_given,
    paths_given,
)
from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.errors import RewriteError
from parquet_bloom.index.asking import hash_key_given, key_of
from parquet_bloom.index.manifest import (
    IndexForm,
    Manifest,
    Places,
    TableSource,
    check_form,
    existing,
    newest_name,
)
from parquet_bloom.index.opened import existing_whole
from parquet_bloom.options import TableView
from parquet_bloom.parallel import Progress
from parquet_bloom.spark.asked_types import check_type
from parquet_bloom.spark.executors import Executors
from parquet_bloom.spark.failures import in_one_line
from parquet_bloom.spark.index_asking import IndexQuestion
from parquet_bloom.spark.index_request import (
    IndexedTable,
    IndexOptions,
    KnownIndex,
    check_reference,
)
from parquet_bloom.spark.job import audit_given, run_id_given, run_job
from parquet_bloom.spark.listing import Paths, names_for_executors
from parquet_bloom.spark.outcome import Report
from parquet_bloom.spark.plan import BOUNDS, LakeFile
from parquet_bloom.spark.planning import Search
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.schemas import ANSWER
from parquet_bloom.spark.tables import opened_everywhere
from parquet_bloom.spark.versions import session_given
from parquet_bloom.storage import open_folder
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.index_change import check_without_data
from parquet_bloom.verbs.index_probe import check_column
from parquet_bloom.verbs.listed_files import names_in_index, recorded_state, tables_given
from parquet_bloom.verbs.table_folders import warn_of_tables
from parquet_bloom.vocabulary import TableChoice, check_word

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def index(
    spark: SparkSession,
    paths: Paths = (),
    *,
    index: str | os.PathLike[str],
    columns: SomeNames | None = None,
    table: TableChoice | TableView | None = None,
    places: Places | None = None,
    form: IndexForm | None = None,
    include_encrypted: bool = False,
    hash_key: str | None = None,
    keys_file: str | None = None,
    keys: Mapping[str, object] | None = None,
    audit: str | None = None,
    run_id: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Make an index of `columns` over all files, or bring one up to date, as parquet_bloom.Index.build and its `add`
    do: executors read what is new or has changed and write segments, one manifest by this process names them.

    index: its folder, which all executors and this process can write to. paths: as for build, what the index is about
    from now on, besides what it is about. table: `paths` is one table of this kind, of whose live files it is, as
    parquet_bloom.Index.build takes tables; this process lists them. columns, places and form (`row-group` and `map`
    if there is no index yet): those of an existing index need not be given. hash_key: env:VAR or file:PATH, found
    here and by the executors, as for parquet_bloom.Index. The others as for build. `index` of the report is what
    became of it, its outcomes say which files could not be indexed, and why.

    Raises as build; RewriteError for other terms than those of an existing index, for data in its folder, for what is
    no table, and for an index that is not about this one alone, ColumnError for a column that the table lacks,
    EncryptionError unless `hash_key` is that of the index, FormatError for a damaged index, OSError.
    """
    if isinstance(spark, str | os.PathLike | Collection):
        # Files stand in the place of a session that was forgotten.
        session_given(spark)
    asked = IndexJob.of(
        paths, index=index, columns=columns, table=table, places=places, form=form,
        include_encrypted=include_encrypted, hash_key=hash_key,
    )  # fmt: skip
    return asked.run(
        spark, keys_file=keys_file, keys=keys, audit=audit, run_id=run_id, progress=progress
    )


@dataclass(frozen=True, slots=True)
class IndexJob:
    """What is to be done, which takes no Spark: `options`, over the files of a `search`."""

    options: IndexOptions
    search: Search

    @classmethod
    def of(
        cls,
        paths: Paths,
        *,
        index: str | os.PathLike[str],
        columns: SomeNames | None,
        table: TableChoice | TableView | None,
        places: Places | None,
        form: IndexForm | None,
        include_encrypted: bool,
        hash_key: str | None,
    ) -> Self:
        """Raises as index."""
        ((_, place),) = names_for_executors([path_given("index", index, PATH_OR_URL)])
        flag_given("include_encrypted", include_encrypted)
        if places is not None:
            check_word("places", places, Places)
        if form is not None:
            check_word("form", form, IndexForm)
        folder = open_folder(place)
        old = None if newest_name(folder) is None else existing_whole(folder)
        check_reference(hash_key)
        if old is None:
            check_without_data(folder)
            options = _new(folder.path, place, columns, places, form, include_encrypted, hash_key)
        else:
            key_of(folder.path, old, hash_key)
            _check_terms(folder.path, old, columns_given(columns), include_encrypted, places, form)
            options = IndexOptions(
                place,
                old.columns,
                old.places,
                old.include_encrypted,
                hash_key,
                old.key_check,
                old.form,
            )
        given = paths_given("paths", paths) if old else files_given("paths", paths)
        source = _table(folder.path, old, given, TableView.given(table))
        if source is None:
            warn_of_tables(given)
            names = [*(old.sources if old else ()), *given]
            known = None if old is None else _known(place, old, None)
            search = Search(
                names=tuple(names_for_executors(names)), index=known, besides=place, bounds=BOUNDS
            )
            return cls(options, search)
        about, files = _listed(source, options.columns)
        known = None if old is None else _known(place, old, about)
        search = Search(files=files, index=known, bounds=BOUNDS)
        return cls(replace(options, table=about), search)

    def run(
        self,
        spark: SparkSession,
        *,
        keys_file: str | None,
        keys: Mapping[str, object] | None,
        audit: str | None,
        run_id: str | None,
        progress: Progress | None,
    ) -> Report:
        """Do it, as index does."""
        audit = audit_given(audit)
        return run_job(
            spark,
            Request("index", self.options, KeyReferences.of(keys, keys_file)),
            self.search,
            audit=audit,
            run_id=run_id_given(run_id, audit),
            progress=progress,
        )


def _new(
    path: str,
    place: str,
    columns: SomeNames | None,
    places: Places | None,
    form: IndexForm | None,
    include_encrypted: bool,
    hash_key: str | None,
) -> IndexOptions:
    """The terms of an index that is not there yet."""
    key = hash_key_given(hash_key)
    check_form(form or "map", places or "row-group", is_keyed=key is not None)
    if columns is None:
        raise ValueError(
            f"{path}: no index yet, and a new one is of some columns: expected columns="
        )
    return IndexOptions(
        place,
        columns_needed(columns),
        places or "row-group",
        include_encrypted,
        hash_key,
        key.check if key else "",
        form or "map",
    )


def _known(place: str, old: Manifest, table: IndexedTable | None) -> KnownIndex:
    columns = {name: "" if table is None else table.names.stored_as(name) for name in old.columns}
    return KnownIndex(
        place,
        old.generation,
        len(old.segments),
        columns,
        table is not None,
        old.identity,
        old.sources,
    )


def _check_terms(
    path: str,
    old: Manifest,
    columns: tuple[str, ...] | None,
    include_encrypted: bool,
    places: Places | None,
    form: IndexForm | None,
) -> None:
    if columns is not None and columns != old.columns:
        raise RewriteError(
            f"{path}: is an index of {', '.join(old.columns)}, expected no columns, or these"
        )
    if include_encrypted and not old.include_encrypted:
        raise RewriteError(f"{path}: is an index without encrypted columns, expected a new folder")
    for name, given, found in (("places", places, old.places), ("form", form, old.form)):
        if given not in (None, found):
            raise RewriteError(
                f"{path}: is an index of {name} {found}, expected no {name}, or these"
            )


# ------------------------------------------------------------------------------------------------
# Over a table


def _table(
    path: str, old: Manifest | None, given: Sequence[str], view: TableView | None
) -> TableSource | None:
    """The table that an index is about from now on, None for files. Raises RewriteError if it is about others, too,
    of which a run does not know whose a file is."""
    tables: tuple[TableSource, ...] = ()
    if view is not None:
        names = [*given] if view.catalog else list(map(opened_everywhere, given))
        tables = tables_given(names_in_index(names, view), view)
    if old is not None:
        tables = tuple({table.key: table for table in (*old.tables, *tables)}.values())
    if not tables:
        return None
    is_mixed = bool(old and old.sources) or (view is None and bool(given))
    if len(tables) > 1 or is_mixed:
        raise RewriteError(
            f"{path}: an index on Spark is about files, or about one table: `pbloom index build` and `pbloom index "
            "add` take several, and both"
        )
    return tables[0]


def _listed(
    source: TableSource, columns: Sequence[str]
) -> tuple[IndexedTable, tuple[LakeFile, ...]]:
    """A table, and its live files, as it is now; behind URLs nobody is asked for their versions."""
    table = open_table(source.name, source.kind, catalog=source.catalog)
    for name in columns:
        table.physical(name)
    seen = replace(source, kind=table.kind, version=table.version)
    live = table.files()
    valued = {name for file in live for name in table.valued_without(file)}
    about = IndexedTable(
        source.name, seen, table.names, tuple(table.columns), tuple(sorted(valued))
    )
    states = map(recorded_state, live)
    files = tuple(LakeFile(found.path, found.size, found.version) for found in states)
    return about, files


@in_one_line("Spark")
def files_for(
    spark: SparkSession,
    index: str | os.PathLike[str],
    column: str,
    values: DataFrame,
    *,
    union_by_name: bool = False,
    hash_key: str | None = None,
) -> DataFrame:
    """Which files of an index may hold each of `values` of `column`: rows of the value, `path`, `row_group`,
    `verdict` and `reason`, found by executors that open the index.

    values: a DataFrame of one column, or that has one of the name `column`. A row says `maybe` for each row group, or
    for a file, if the index knows no row groups; `unknown` for a file of which nothing is known, with the `reason`,
    such as that it was damaged when it was indexed, or that it has changed since, or is gone; `unknown`, without a
    path, for null, which cannot be looked for; and `absent`, without a path, if no file holds the value. A value that
    the column can hold in no file, such as 5.5 of integers, fails the action that uses the frame. As for
    Index.probe, files that may hold a value are looked at again; union_by_name: as there. hash_key: as for index.
    Nothing is done until the frame is used.

    Raises FileNotFoundError if there is no index, ColumnError if it is not about this column, ValueTypeError if the
    column can hold no value of the type of `values`, naming the cast, ValueError for other `values`, EncryptionError
    unless `hash_key` is that of the index, FormatError, OSError.
    """
    ((_, place),) = names_for_executors([path_given("index", index, PATH_OR_URL)])
    folder = open_folder(place)
    about = existing(folder)
    check_reference(hash_key)
    key_of(folder.path, about, hash_key)
    check_column(folder.path, about, column)
    if not hasattr(values, "columns"):
        raise TypeError(f"values: a {type(values).__name__}, expected a DataFrame of Spark")
    name = f.col("`{}`".format(_column_of(values, column).replace("`", "``")))
    asked = values.select(name)
    given = asked.schema[0]
    check_type(folder.path, about, column, given)
    schema = StructType([given, *ANSWER])
    question = IndexQuestion(place, column, flag_given("union_by_name", union_by_name), hash_key)
    work = Executors(session_given(spark)).work(
        "parquet_bloom.spark.index_asking", "answer", question
    )
    return asked.mapInArrow(work, schema)


def _column_of(values: DataFrame, column: str) -> str:
    if column in values.columns:
        return column
    if len(values.columns) == 1:
        return values.columns[0]
    raise ValueError(
        f"values: columns {', '.join(values.columns)}, expected one of the name {column}, or one alone"
    )
