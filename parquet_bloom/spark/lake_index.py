"""An index over a lake, made and asked by executors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

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
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.errors import RewriteError
from parquet_bloom.index.asking import hash_key_given, key_of
from parquet_bloom.index.manifest import IndexForm, Manifest, Places, check_form, existing, newest
from parquet_bloom.parallel import Progress
from parquet_bloom.spark.executors import Executors
from parquet_bloom.spark.index_asking import IndexQuestion
from parquet_bloom.spark.index_request import IndexOptions, KnownIndex, check_reference
from parquet_bloom.spark.job import audit_given, run_id_given, run_job
from parquet_bloom.spark.listing import Paths, names_for_executors
from parquet_bloom.spark.outcome import Report
from parquet_bloom.spark.plan import BOUNDS
from parquet_bloom.spark.planning import Search
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.schemas import ANSWER
from parquet_bloom.storage import open_folder
from parquet_bloom.verbs.index_probe import check_column
from parquet_bloom.vocabulary import check_word

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def index(
    spark: SparkSession,
    paths: Paths = (),
    *,
    index: str | os.PathLike[str],
    columns: SomeNames | None = None,
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
    from now on, besides what it is about. columns, places and form (`row-group` and `map` if there is no index yet): those
    of an existing index need not be given. hash_key: env:VAR or file:PATH, found here and by the executors, as for
    parquet_bloom.Index. The others as for build. `index` of the report is what became of it, its outcomes say which
    files could not be indexed, and why.

    Raises as build; RewriteError for other terms than those of an existing index, and for one that is about tables,
    EncryptionError unless `hash_key` is that of the index, FormatError for a damaged index, OSError.
    """
    ((_, place),) = names_for_executors([path_given("index", index, PATH_OR_URL)])
    flag_given("include_encrypted", include_encrypted)
    if places is not None:
        check_word("places", places, Places)
    if form is not None:
        check_word("form", form, IndexForm)
    folder = open_folder(place)
    old = newest(folder)
    check_reference(hash_key)
    if old is None:
        key = hash_key_given(hash_key)
        check_form(form or "map", places or "row-group", is_keyed=key is not None)
        options = IndexOptions(
            place,
            columns_needed(columns),
            places or "row-group",
            include_encrypted,
            hash_key,
            key.check if key else "",
            form or "map",
        )
    else:
        key_of(folder.path, old, hash_key)
        _check_terms(folder.path, old, columns_given(columns), include_encrypted)
        for name, given, found in (("places", places, old.places), ("form", form, old.form)):
            if given not in (None, found):
                raise RewriteError(
                    f"{folder.path}: is an index of {name} {found}, expected no {name}, or these"
                )
        options = IndexOptions(
            place, old.columns, old.places, old.include_encrypted, hash_key, old.key_check, old.form
        )
    names = [*old.sources, *paths_given("paths", paths)] if old else files_given("paths", paths)
    audit = audit_given(audit)
    search = Search(
        names=tuple(names_for_executors(names)),
        index=None if old is None else _known(place, old),
        bounds=BOUNDS,
    )
    return run_job(
        spark,
        Request("index", options, KeyReferences.of(keys, keys_file)),
        search,
        audit=audit,
        run_id=run_id_given(run_id, audit),
        progress=progress,
    )


def _known(place: str, old: Manifest) -> KnownIndex:
    return KnownIndex(place, old.generation, len(old.segments), old.columns)


def _check_terms(
    path: str,
    old: Manifest,
    columns: tuple[str, ...] | None,
    include_encrypted: bool,
) -> None:
    if columns is not None and columns != old.columns:
        raise RewriteError(
            f"{path}: is an index of {', '.join(old.columns)}, expected no columns, or these"
        )
    if include_encrypted and not old.include_encrypted:
        raise RewriteError(f"{path}: is an index without encrypted columns, expected a new folder")
    if old.tables:
        raise RewriteError(
            f"{path}: is about tables, expected files: `pbloom index add` brings it up to date"
        )


def files_for(
    spark: SparkSession,
    index: str | os.PathLike[str],
    column: str,
    values: DataFrame,
    *,
    hash_key: str | None = None,
) -> DataFrame:
    """Which files of an index may hold each of `values` of `column`: rows of the value, `path`, `row_group` and
    `verdict`, found by executors that open the index.

    values: a DataFrame of one column, or that has one of the name `column`; null is not asked for. A row says `maybe`
    for each row group, or for a file, if the index knows no row groups; `unknown` for a file of which nothing is known;
    and `absent`, without a path, if no file holds the value. As for Index.probe, files that may hold a value are
    looked at again. hash_key: as for index. Nothing is done until the frame is used.

    Raises FileNotFoundError if there is no index, ColumnError if it is not about this column, ValueError for other
    `values`, EncryptionError unless `hash_key` is that of the index, FormatError, OSError.
    """
    ((_, place),) = names_for_executors([path_given("index", index, PATH_OR_URL)])
    folder = open_folder(place)
    about = existing(folder)
    check_reference(hash_key)
    key_of(folder.path, about, hash_key)
    check_column(folder.path, about, column)
    name = _column_of(values, column)
    asked = values.select(f.col(f"`{name}`")).where(f.col(f"`{name}`").isNotNull())
    schema = StructType([asked.schema[0], *ANSWER])
    question = IndexQuestion(place, column, hash_key)
    work = Executors(spark).work("parquet_bloom.spark.index_asking", "answer", question)
    return asked.mapInArrow(work, schema)


def _column_of(values: DataFrame, column: str) -> str:
    if column in values.columns:
        return column
    if len(values.columns) == 1:
        return values.columns[0]
    raise ValueError(
        f"values: columns {', '.join(values.columns)}, expected one of the name {column}, or one alone"
    )
