"""pbloom spark build --table"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.inputs import Answers, tables
from parquet_bloom.commands.sections import together
from parquet_bloom.commands.table_options import appending_in_tables, exit_code

if TYPE_CHECKING:
    from parquet_bloom.options import TableOptions
    from parquet_bloom.verbs.build_table import TableBuildReport

# What says nothing about the files of a table: which they are, formats that are not Parquet's own, and
# outcomes, which tables have none of.
_ONLY_FILES = {"since", "only_missing", "layout", "orc_streams", "report_to"}


def _needs_columns(command: Any) -> Any:
    """Files have no properties that say which columns get filters."""

    @wraps(command)
    def checked(of_table: TableOptions | None, columns: Any, **given: Any) -> Any:
        if of_table is None and columns is None:
            context = click.get_current_context()
            named = {parameter.name: parameter for parameter in context.command.params}
            raise click.MissingParameter(ctx=context, param=named["columns"])
        return command(of_table=of_table, columns=columns, **given)

    return checked


tables_or_files = together(
    appending_in_tables(refused=_ONLY_FILES),
    _needs_columns,
)


def build_in_tables(
    connected: Any,
    of_table: TableOptions,
    as_json: bool,
    *,
    paths: tuple[str, ...],
    keys: Any,
    keys_file: str | None,
    tasks: int | None,
    **given: Any,
) -> int:
    """The exit code. `given`: how filters are built, and files changed."""
    from dataclasses import replace

    from parquet_bloom.encryption.keys_file import KeyReferences
    from parquet_bloom.options import BuildOptions
    from parquet_bloom.render.tables import (
        summarize_table_build,
        total_built_in_tables,
        write_table_build,
    )
    from parquet_bloom.spark.tables import build_on_spark

    references = KeyReferences.of(keys, keys_file)
    safely = {name: given[name] for name in ("dry_run", "verify", "unconditional")}
    of_table = replace(of_table, **safely)
    options = BuildOptions.of(given, threads=1)
    reports: list[TableBuildReport] = []

    def work(path: str) -> TableBuildReport:
        report = build_on_spark(connected, path, options, of_table, keys=references, tasks=tasks)
        reports.append(report)
        return report

    summed = summarize_table_build, total_built_in_tables
    answers = Answers(tables(paths), write_table_build, summed, as_json=as_json, verbose=False)
    return exit_code(answers.each(work), reports)
