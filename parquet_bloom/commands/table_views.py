"""The live files of tables as the input files of a command that reads."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from parquet_bloom.commands.inputs import Inputs
from parquet_bloom.commands.sections import table_option, together
from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.vocabulary import TableChoice, words

if TYPE_CHECKING:
    from parquet_bloom.container.in_commands import InCommands
    from parquet_bloom.storage.paths import Input
    from parquet_bloom.tables.table import Table, TableFile


class TableView(NamedTuple):
    """Which files of which version of tables."""

    kind: TableChoice
    catalog: str | None
    version: int | None
    as_of: datetime | None
    where: Mapping[str, tuple[str, ...]]


def partitions(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The values that are wanted of each column."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, is_given, value = text.partition("=")
        if not is_given or not name:
            raise click.BadParameter(f"{text!r}: expected COLUMN=VALUE")
        found[name] = (*found.get(name, ()), value)
    return found


def _moment(ctx: click.Context, param: click.Parameter, text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected a time, such as 2026-11-22T06:00Z") from None


kind = table_option(
    "--table",
    "table",
    type=click.Choice(words(TableChoice)),
    help="Each FILE is the folder of a table of this kind; auto looks. Its live files are meant.",
)
catalog = table_option(
    "--catalog",
    metavar="NAME",
    help="Each FILE is the identifier of an Iceberg table, as in lake.events, in this catalog of"
    " PyIceberg's configuration.",
)
where = table_option(
    "--where",
    multiple=True,
    callback=partitions,
    metavar="COLUMN=VALUE",
    help="Only files that can have rows of this partition, with the value as the table has it;"
    " repeatable. __HIVE_DEFAULT_PARTITION__ is null.",
)


def check_with_tables(table: TableChoice | None, of_tables: Iterable[str]) -> None:
    """Raise UsageError for options that say nothing without --table."""
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if table is None and is_given and parameter.name in of_tables:
            raise click.UsageError(f"{parameter.opts[0]}: expected with --table only")


def options_in_catalog(catalog: str | None) -> Mapping[str, str] | None:
    """Options of the store for a table of a catalog; a URL has its own."""
    return None if catalog is None else storage_options()


def table_views(command: Any) -> Any:
    """With --table, the input files are the live files of tables; the command gets a TableView as
    `view`, else None."""

    @together(
        kind,
        catalog,
        where,
        table_option(
            "--version",
            "version",
            type=click.IntRange(0),
            metavar="N",
            help="As it was in this version or snapshot.  [default: the newest]",
        ),
        table_option(
            "--as-of",
            callback=_moment,
            metavar="TIME",
            help="As it was then: 2026-11-20, 2026-11-20T06:00Z; UTC unless it says otherwise.",
        ),
    )
    @wraps(command)
    def with_view(
        table: TableChoice | None,
        version: int | None,
        as_of: datetime | None,
        **given: Any,
    ) -> Any:
        of_table = {name: given.pop(name) for name in ("catalog", "where")}
        check_with_tables(table, ("version", "as_of", *of_table))
        if version is not None and as_of is not None:
            raise click.UsageError("expected at most one of --version and --as-of")
        view = (
            None
            if table is None
            else TableView(kind=table, version=version, as_of=as_of, **of_table)
        )
        return command(view=view, **given)

    return with_view


class TableInputs(Inputs):
    """The live files of tables, each as long as its table says."""

    def __init__(self, names: tuple[str, ...], view: TableView) -> None:
        self._view = view
        self._tables: list[Table] = []
        self._recorded: dict[str, tuple[Table, TableFile]] = {}
        super().__init__(names, self._find)
        self._tell_deleted()

    def open(self, path: str, keys: Any) -> Any:
        table, recorded = self._recorded[path]
        return table.open(recorded, keys)

    def in_commands(self, path: str) -> InCommands:
        from parquet_bloom.tables.table import in_commands_of

        return in_commands_of(*self._recorded[path])

    def check_columns(self, columns: Iterable[str]) -> None:
        """Raise ColumnError for a column that a table does not have."""
        for table in self._tables:
            for name in columns:
                table.physical(name)

    def _find(self, names: tuple[str, ...]) -> tuple[list[Input], list[OSError]]:
        from pathlib import Path

        from parquet_bloom.errors import ParquetBloomError
        from parquet_bloom.storage.paths import Input, expand_tables

        found, errors = expand_tables(names, storage_options())
        inputs = []
        for name, _ in found:
            try:
                table, files = self._files_of(name)
            except OSError as error:
                errors.append(error)
            except ParquetBloomError as error:
                problem = str(error).removeprefix(f"{name}: ")
                errors.append(OSError(errno.EINVAL, problem, name))
            else:
                self._recorded |= {file.path: (table, file) for file in files}
                inputs += [Input(file.path, str(Path(file.name))) for file in files]
        return inputs, errors

    def _files_of(self, name: str) -> tuple[Table, tuple[TableFile, ...]]:
        from parquet_bloom.tables.open import open_table
        from parquet_bloom.tables.partitions import files_where

        view = self._view
        table = open_table(
            name,
            view.kind,
            catalog=view.catalog,
            version=view.version,
            as_of=view.as_of,
            storage_options=options_in_catalog(view.catalog),
        )
        self._tables.append(table)
        return table, files_where(table, view.where)

    def _tell_deleted(self) -> None:
        """Filters know rows that a table has deleted without rewriting their file."""
        from parquet_bloom.container import number_of
        from parquet_bloom.render.terminal import complain

        for table in self._tables:
            for note in table.notes:
                complain(f"{table.location}: {note}")
        files_read = [file for _, file in self._recorded.values()]
        deleted = [file.num_deleted for file in files_read if file.num_deleted]
        if deleted:
            rows, files = number_of(sum(deleted), "row"), number_of(len(deleted), "file")
            complain(
                f"{rows} of {files} are deleted by deletion vectors: filters know them all the same"
            )
