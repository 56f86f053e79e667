"""pbloom report: one page about a Parquet file, or about many files."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.check_options import findings_on_page
from parquet_bloom.commands.file_options import FilesAsked
from parquet_bloom.commands.inputs import Inputs
from parquet_bloom.commands.key_options import arguments_of
from parquet_bloom.commands.parameters import PAGE_FILE
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.commands.store_options import store_options_again
from parquet_bloom.commands.table_options import table_views
from parquet_bloom.container.in_commands import ALL_SIZES
from parquet_bloom.errors import needing
from parquet_bloom.options import (
    AdviseOptions,
    InspectOptions,
    TableView,
    ValidateOptions,
)
from parquet_bloom.program import FINE, TROUBLE, options_again
from parquet_bloom.render.terminal import complain, progress, write_bytes, write_text
from parquet_bloom.render.wording import size
from parquet_bloom.storage import without_options
from parquet_bloom.storage.paths import stands_for_several
from parquet_bloom.verbs.advised_builds import choosing
from parquet_bloom.verbs.answer_file import answer_file
from parquet_bloom.verbs.lake_report import FileLookedAt, LakeReporter
from parquet_bloom.verbs.report import report_file
from parquet_bloom.verbs.table_folders import tables_among

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.rules.policy import Policy


@click.command(cls=Command)
@file_options.files_together
@table_views
@output_option(
    "-o", "--output", type=PAGE_FILE, required=True, help="The page; '-' is standard output."
)
@option.overwrite_answer
@option.columns()
@option.row_groups
@file_options.union_by_name
@findings_on_page
@option.fpp_to_report
@option.filter_budget
@option.ignore_checksums
@option.threads
@option.access
def report(
    files: FilesAsked, view: TableView | None, output: Path, overwrite: bool, deep: bool,
    fpp: float | None, budget: int | str | None, policy: Policy, require: tuple[str, ...], union_by_name: bool,
    keys: Keys | None, **given: Any,
) -> None:  # fmt: skip
    """Write one HTML page about the filters of files.

    Of one Parquet file, it shows which columns have filters, their sizes beside the data, their false
    positive probabilities (computed and measured), and maps of their blocks. Of a lake, a table or an ORC
    file, it shows sizes and rates by column and by partition, and the worst files. Either has the findings
    of `pbloom validate` and, unless --no-deep, the advice of `pbloom advise`, by the pbloom.toml, or pyproject.toml,
    in the working folder or the nearest above, unless --no-config is given. The page needs no network and
    no script. Exit code 2: a file could not be read, or not all of its values, which the page says, too; findings
    do not change the exit code, as they do that of `pbloom validate`.

    \b
    Examples:
      pbloom report events.bloom.parquet -o report.html
      pbloom report lake/ -o lake.html --require user_id
      pbloom report lake/ --no-deep -c user_id -o user_id.html
    """
    # Nobody waits for a page that cannot be made.
    with needing("report", "jinja2", "report"):
        import_module("parquet_bloom.render.report")
    inputs = option.inputs_of(files, view)
    inputs.take_once()
    options = ValidateOptions(
        deep=deep,
        diagnose=deep,
        policy=policy,
        require=require,
        union_by_name=union_by_name,
        **given,
    )
    if union_by_name:
        inputs.check_some_have((*(options.columns or ()), *options.required), keys)
    advised = AdviseOptions(fpp=fpp, budget=budget, **policy.for_advice(), **given)

    def page() -> _Page:
        found = None
        if view is None and _is_one(files, inputs):
            found = _of_one_file(inputs, options, advised, keys)
        return found or _of_many(inputs, files, view, options, advised, keys)

    if str(output) == "-":
        made, _, code = page()
        write_bytes(made)
    else:
        # A page that must not be written is not worth the wait.
        paths = [each.path for each in inputs.files]
        with answer_file(output, paths, overwrite=overwrite) as written:
            made, said, code = page()
            written.append(made)
        write_text(f"{output}: {size(len(made))}; {said}")
    sys.exit(code)


# A page, what is on it in a line, and the exit code.
_Page = tuple[bytes, str, int]


def _is_one(files: FilesAsked, inputs: Inputs) -> bool:
    return len(files.names) == len(inputs.files) == 1 and not stands_for_several(files.names[0])


def _of_one_file(
    inputs: Inputs,
    options: ValidateOptions,
    advised: AdviseOptions,
    keys: Keys | None,
) -> _Page | None:
    """None for a format whose filters have no blocks to draw."""
    (path,) = (each.path for each in inputs.files)
    with inputs.open(path, keys) as file, progress(path) as show:
        if file.units.has_groups:
            return None
        looked_at = InspectOptions(
            columns=options.columns, parts=options.parts, threads=options.threads
        )
        found = report_file(
            file,
            options,
            looked_at,
            advised,
            show,
        )
        missing_keys = file.missing_key_arguments
    from parquet_bloom.render.report import file_summary, render_report

    of_keys = (*arguments_of(keys), *missing_keys)
    build, why_not = _build_options(inputs, None, options.parts, of_keys)
    if found.unread is not None:
        complain(f"{path}: {found.unread}")
    page = render_report(found, build, why_not).encode()
    return page, file_summary(found), TROUBLE if found.unread is not None else FINE


def _of_many(
    inputs: Inputs,
    files: FilesAsked,
    view: TableView | None,
    options: ValidateOptions,
    advised: AdviseOptions,
    keys: Keys | None,
) -> _Page:
    inputs.check_columns(options.columns or ())
    names = files.shown_names or (without_options(str(files.manifest)),)
    reporter = LakeReporter(names, options, advised, keys)
    at_a_time, of_each = inputs.threads_for(options.threads)
    # The options that `build` needs besides.
    missing_keys: dict[tuple[str, ...], None] = {}
    # By column, those with which it reads it in files that lack its key: others have it, so that it may be advised.
    column_keys: dict[str, dict[tuple[str, ...], None]] = {}

    def work(path: str) -> FileLookedAt:
        with inputs.open(path, keys) as file:
            missing_keys[file.missing_key_arguments] = None
            for name, arguments in file.missing_column_keys(options.columns).items():
                column_keys.setdefault(name, {})[arguments] = None
            return reporter.look_at(file, of_each)

    complaints = inputs.complaints()

    def take(path: str, looked_at: FileLookedAt) -> None:
        reporter.add(path, looked_at)
        if looked_at.no_advice is not None:
            complaints.add(path, looked_at.no_advice)

    code = inputs.each(work, reporter.add_failed, complaints, take=take, threads=at_a_time)
    inputs.tell_lacking(options.union_by_name)
    inputs.tell_left_out()
    found = reporter.report()
    if found.num_not_advised:
        code = TROUBLE
    if not found.summary.files:
        # Nothing to write about, and it was said why.
        output = click.get_current_context().params["output"]
        if not inputs.files and not inputs.errors and str(output) != "-":
            complain(f"{output}: not written")
        raise click.exceptions.Exit(code)
    from parquet_bloom.render.lake_report import Choice, lake_summary, render_lake_report

    for each in chain.from_iterable(table.columns for table in found.advice):
        if each.verdict not in ("skip", "left out"):
            missing_keys |= column_keys.get(each.column, {})
    of_keys = (*arguments_of(keys), *chain.from_iterable(missing_keys))
    build, why_not = _build_options(inputs, view, options.parts, of_keys)
    said = [*tables_among(files.names, "--table {}")] if view is None else []
    if inputs.are_lacking:
        # What names all files means those, too, that were not looked at for want of a column.
        found = replace(found, lacking=found.lacking.union(options.columns or ()))
    choice = Choice(
        asked=options.columns or (),
        judging=(*choosing(advised), *options.policy.arguments),
        required=options.require,
    )
    page = render_lake_report(
        found, inputs.names, inputs.narrowed_names, build, why_not, said, choice
    )
    return page.encode(), lake_summary(found), code


# The verb alone says which options a table needs.
_BUILD: Final = ("pbloom", "build", "FILE")
# With these, `build` changes what was looked at, and no more.
_WHICH_FILES: Final = frozenset(("--since", "--where"))
_PARTS: Final = "Only some row groups were looked at: a page about all of them has the command."
_OF_TABLES: Final = (
    "Ask for the page with --table: commands that change the files of a table name it as one."
)
_READ_ONLY: Final = "No command changes what was looked at: web servers are read-only."
_FIXED: Final = (
    "No command changes what was looked at: of a table that is the newest version alone, of Iceberg through its"
    " catalog."
)


def _build_options(
    inputs: Inputs,
    view: TableView | None,
    parts: Sequence[int] | None,
    of_keys: Iterable[str],
) -> tuple[tuple[str, ...], str]:
    """What `build` needs besides names and columns to change all that was looked at, and no more; or why nothing
    does. `of_keys`: the options that files are opened and changed with."""
    if parts:
        return (), _PARTS
    which = options_again(click.get_current_context(), _WHICH_FILES)
    again = (*which, *store_options_again(), *of_keys)
    if view is None:
        if inputs.are_of_tables:
            return (), _OF_TABLES
        return ((), _READ_ONLY) if inputs.are_read_only else (("--in-place", *again), "")
    named = [inputs.in_commands(path).options(_BUILD) for path in inputs.read_paths]
    changing = {each: None for each in named if each is not None}
    if None in named or not changing:
        return (), _FIXED
    kinds = {tuple(word for word in each if word != ALL_SIZES) for each in changing}
    of_table = kinds.pop() if len(kinds) == 1 else ("--table", view.kind)
    of_sizes = (ALL_SIZES,) if any(ALL_SIZES in each for each in changing) else ()
    return (*of_table, *of_sizes, *again), ""
