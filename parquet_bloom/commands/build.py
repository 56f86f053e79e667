"""pbloom build"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.build_options import (
    append_in_place,
    dialect_options,
    drop_foreign_fields,
    expose_filter_location,
    filters,
    orc_streams,
    take_dialect,
)
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.sections import Command
from parquet_bloom.commands.store_options import store_options_again
from parquet_bloom.commands.table_options import building_in_tables
from parquet_bloom.container import UNITS
from parquet_bloom.dataclass import dataclass
from parquet_bloom.options import AdviseOptions, BuildOptions, TableOptions
from parquet_bloom.program import options_again
from parquet_bloom.render.budget import budget_lines
from parquet_bloom.render.changes import BUILD, TABLE_BUILD
from parquet_bloom.render.engine_use import limits, notes
from parquet_bloom.render.hints import command, for_all
from parquet_bloom.render.reports import Remark, lines_of_alike
from parquet_bloom.render.terminal import MOST_ROWS, complain, no_progress, progress

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.parallel import Progress
    from parquet_bloom.rules.policy import Policy
    from parquet_bloom.tables.table import LakeTable
    from parquet_bloom.verbs.advise import AdviceReport, TableAdvisor
    from parquet_bloom.verbs.build import BuildReport
    from parquet_bloom.verbs.build_table import TableBuildReport

# What to build in a file, or why nothing can be.
Choice: TypeAlias = BuildOptions | Exception

# What says nothing about the files of a table: their places, and formats that are not Parquet's own.
_ONLY_FILES = {
    *("output", "output_dir", "in_place", "overwrite", "resume", "append_in_place", "layout"),
    *(
        "drop_foreign_fields",
        "parts",
        "orc_streams",
        "dialect",
    ),
}


@click.command(cls=Command)
@file_options.files
@option.columns()
@option.auto
@option.engines
@option.row_groups
@file_options.union_by_name
@building_in_tables(refused=_ONLY_FILES)
@option.destinations
@append_in_place
@drop_foreign_fields
@filters
@option.filter_budget
@option.which_policy
@option.ignore_checksums
@option.threads
@orc_streams
@dialect_options
@option.access
@expose_filter_location
def build(
    answers: Answers, columns: tuple[str, ...] | None, auto: bool, engines: tuple[str, ...],
    budget: int | str | None, config: Path | None, no_config: bool, destination_of: option.DestinationOf,
    keys: Keys | None, of_table: TableOptions | None,
    **given: Any,
) -> None:  # fmt: skip
    """Add Bloom filters to files (alias: inject).

    No page is rewritten: filters and a new footer follow the existing data. Each filter is as small
    as the target rate allows; you need not know the number of distinct values. What gets no filter is
    reported with the reason, and is no error: a filter that is there already, or a column that can have
    none. In an ORC file, filters have room for as many values as a full index group has rows, mostly 10,000,
    or for --ndv.

    With --table, they are appended to the files of tables, and a commit to each table records the new
    sizes; one with many files gets several. Without --column and --auto, the table's properties say for which
    columns.

    \b
    Examples:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
      pbloom build lake/ -c user_id --fpp 0.001 --in-place
      pbloom build lake/ --auto --budget 2GiB --in-place
      pbloom build lake/ --auto --engine spark --in-place
    """
    dialect, columns = take_dialect(given, columns)
    if of_table is None:
        option.check_chosen(columns, auto)
    if auto and click.get_current_context().params["shard"] is not None:
        # Its advice would be about its own files, and not that of one run.
        raise click.UsageError(
            "--shard: not with --auto, which judges all files: name each --column"
        )
    option.check_advised(auto, engines, budget, config, no_config)
    if budget is not None:
        _check_budgeted(dialect, given)
    options = BuildOptions(columns=columns, dialect=dialect, **given)
    judge: Judge | None = None
    if auto:
        from parquet_bloom.commands.check_options import policy_of

        policy = policy_of(config, no_config)
        wanted = AdviseOptions(
            columns=columns,
            parts=options.parts,
            fpp=options.fpp,
            max_bytes=options.max_bytes,
            budget=budget,
            existing=options.existing,
            engines=engines,
            union_by_name=options.union_by_name,
            ignore_checksums=options.ignore_checksums,
            threads=options.threads,
            **policy.for_advice(),
        )
        judge = partial(_judged, answers, keys, wanted, policy)
    if of_table is not None:
        sys.exit(_build_in_tables(answers, options, of_table, judge, keys))
    from parquet_bloom.verbs.build import build_file, without_filters

    inputs = answers.inputs
    if options.union_by_name:
        inputs.check_some_have(columns or (), keys)
    if dialect is None:
        wanted_of = partial(without_filters, columns=columns or ())
        inputs.tell_of_others(wanted_of, "without a filter", keys)
    chosen: Mapping[str, Choice] = {}
    if judge is not None:
        judged = judge(inputs)
        chosen = {**judged.failed, **dict(judged.advisor.to_build(judged.tables, options))}
    at_a_time, of_each = inputs.threads_to_change(options.threads)
    bar = progress if at_a_time == 1 else no_progress

    def work(path: str) -> BuildReport:
        choice = chosen.get(path, options)
        if isinstance(choice, Exception):
            raise choice
        wanted = replace(choice, threads=of_each)
        with bar(path) as show:
            return build_file(path, wanted, destination_of(path), keys=keys, progress=show)

    code = answers.each(work, BUILD, threads=at_a_time)
    inputs.tell_lacking(options.union_by_name)
    sys.exit(code)


def _build_in_tables(
    answers: Answers,
    options: BuildOptions,
    of_table: TableOptions,
    judge: Judge | None,
    keys: Keys | None,
) -> int:
    """The exit code. `judge`: how columns are chosen, None for those of `options` or of the tables' properties."""
    from parquet_bloom.commands.table_inputs import change_tables, files_to_change
    from parquet_bloom.verbs.build_table import advised_of, build_in_table

    advised: Sequence[AdviceReport] | None = None
    if judge is not None:
        advised = judge(files_to_change(answers.inputs, of_table)).tables

    def change(table: LakeTable, show: Progress) -> TableBuildReport:
        of_this = None if advised is None else advised_of(table, advised)
        return build_in_table(table, options, of_table, keys=keys, progress=show, advised=of_this)

    code, _ = change_tables(answers, of_table, TABLE_BUILD, change)
    return code


# What decides which columns of which files are recommended, and is called the same in `pbloom advise`.
_JUDGED_BY: Final = frozenset(
    (
        *("-c", "--column", "-g", "--row-group", "--engine", "--fpp", "--max-bytes", "--budget"),
        *("--config", "--no-config", "--since", "--table", "--catalog", "--where"),
        "--union-by-name",
    )
)


def _check_budgeted(dialect: object, given: Mapping[str, Any]) -> None:
    """A budget chooses columns and rates; nothing else may decide on sizes."""
    if dialect is not None or given["ndv"] is not None or given["exact_blocks"]:
        raise click.UsageError("--budget: expected without --ndv, --exact-blocks and --dialect")


@dataclass(frozen=True, slots=True)
class _Judged:
    """The advice on tables, and what went wrong with files, by their paths."""

    advisor: TableAdvisor
    tables: Sequence[AdviceReport]
    failed: Mapping[str, Exception]


Judge: TypeAlias = Callable[[Inputs], _Judged]


def _judged(
    answers: Answers, keys: Keys | None, wanted: AdviseOptions, policy: Policy, inputs: Inputs
) -> _Judged:
    """What `pbloom advise` would recommend for these files, and what it would note. `inputs`: those of `answers`, or
    the files of its tables."""
    from parquet_bloom.commands.check_options import notes_on_policy
    from parquet_bloom.engines.reading import engines_named
    from parquet_bloom.verbs.advise import TableAdvisor

    advisor = TableAdvisor(wanted, keys)
    failed: dict[str, Exception] = {}

    def work(path: str) -> None:
        try:
            with progress(path) as show, inputs.open(path, keys) as file:
                advisor.add_file(file, show)
        except Exception as error:
            failed[path] = error
            raise

    inputs.each(work, complaints=answers.inputs.complaints(answers.at_once))
    tables = list(advisor.tables())
    for line in notes_on_policy(
        policy, (each.column for table in tables for each in table.columns)
    ):
        complain(line)
    alike = (
        *options_again(click.get_current_context(), _JUDGED_BY),
        *store_options_again(),
        *arguments_of(keys),
    )
    why = for_all(command("advise", "FILE", *alike), "FILE", answers.inputs.narrowed_read_names)
    asked = engines_named(wanted.engines)
    said = (
        (table.path, remark)
        for table in tables
        for remark in _remarks_on(table, why, asked, in_full=answers.verbose)
    )
    for line in lines_of_alike(said, len(tables), "schema"):
        complain(line)
    return _Judged(advisor, tables, failed)


def _remarks_on(
    table: AdviceReport, why: str, asked: Sequence[str], *, in_full: bool
) -> Iterator[Remark]:
    """What to know of a table before it is built: `why` is the command that says why nothing is; `asked`: the engines
    that the advice is for."""
    # A table that has none of the columns which were asked about needs no reason.
    if table.columns and not table.recommended:
        none = f"no column that advise would build; `{why}` says why"
        yield Remark("", none, none)
    if table.budget is not None and table.budget.concerns_some:
        in_full = in_full or len(table.columns) <= MOST_ROWS
        for line in budget_lines(table.budget, UNITS[table.format].group, in_full):
            yield Remark("note", line, f"note: {line}")
    to_build = [each for each in table.columns if each.to_do in ("build", "rebuild")]
    for line in notes((note, each) for each in to_build for note in limits(each, asked)):
        yield Remark("", line, line)
