"""Options of commands that change tables of a lake instead of files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from parquet_bloom.commands import options as option
from parquet_bloom.commands.sections import Decorator, table_option, together
from parquet_bloom.commands.table_views import (
    catalog,
    check_with_tables,
    kind,
    options_in_catalog,
    where,
)
from parquet_bloom.vocabulary import TableChoice

if TYPE_CHECKING:
    from parquet_bloom.commands.inputs import Answers
    from parquet_bloom.options import TableOptions

Changed = TypeVar("Changed")

sole_writer = table_option(
    "--sole-writer",
    is_flag=True,
    help="Nobody else writes to the table meanwhile; needed on S3.",
)
_no_commit = table_option(
    "--no-commit",
    "commit",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not record the new sizes yet; the next run does.",
)
_min_file_size = table_option(
    "--min-file-size",
    callback=option.any_size,
    metavar="SIZE",
    help="Leave smaller files as they are; see docs/tables.md.  [default: 4MiB]",
)
_all_sizes = table_option("--all-sizes", is_flag=True, help="Take files of any size.")


def in_tables(*options: Decorator, refused: Collection[str]) -> Decorator:
    """With --table, the command gets the TableOptions as `of_table`, else None. `refused`: the
    parameters that are only about files."""

    def add(command: Any) -> Any:
        @together(kind, catalog, where, *options)
        @wraps(command)
        def with_tables(table: TableChoice | None, **given: Any) -> Any:
            names = {name for each in options for name in _names(each)}
            of_tables = {name: given.pop(name) for name in ("catalog", "where", *names)}
            _check(table, set(of_tables), refused)
            return command(of_table=_options(table, of_tables), **given)

        return with_tables

    return add


def appending_in_tables(refused: Collection[str]) -> Decorator:
    """The same, for a command that appends to files."""
    return in_tables(_no_commit, sole_writer, _min_file_size, _all_sizes, refused=refused)


def _names(decorator: Decorator) -> list[str]:
    def probe() -> None: ...

    return [parameter.name for parameter in decorator(probe).__click_params__]


def _check(table: TableChoice | None, of_tables: Collection[str], refused: Collection[str]) -> None:
    """Raise UsageError for options that say nothing about a table, or about files."""
    check_with_tables(table, of_tables)
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if table is not None and is_given and parameter.name in refused:
            raise click.UsageError(f"{parameter.opts[0]}: not with --table")


def _options(table: TableChoice | None, given: dict[str, Any]) -> Any:
    if table is None:
        return None
    from parquet_bloom.options import TableOptions
    from parquet_bloom.tables.table import MIN_FILE_SIZE

    all_sizes, least = given.pop("all_sizes", False), given.pop("min_file_size", None)
    if all_sizes and least is not None:
        raise click.UsageError("expected at most one of --min-file-size and --all-sizes")
    size = 0 if all_sizes else MIN_FILE_SIZE if least is None else least
    return TableOptions(kind=table, min_file_size=size, **given)


def change_tables(
    answers: Answers, options: TableOptions, change: Callable[..., Changed]
) -> tuple[int, list[Changed]]:
    """The exit code, and what `change` reported of each table; it gets the table, and as `progress` what
    shows it."""
    from parquet_bloom.render.terminal import progress
    from parquet_bloom.tables.open import open_table

    reports: list[Changed] = []

    def work(path: str) -> Changed:
        with progress(path) as show:
            of_store = options_in_catalog(options.catalog)
            table = open_table(
                path, options.kind, catalog=options.catalog, storage_options=of_store
            )
            reports.append(change(table, progress=show))
        return reports[-1]

    return exit_code(answers.each(work), reports), reports


def exit_code(code: int, reports: Collection[Any]) -> int:
    """TROUBLE if the change of any file failed."""
    from parquet_bloom.program import TROUBLE

    failed = any(file.action == "failed" for report in reports for file in report.files)
    return TROUBLE if failed else code
