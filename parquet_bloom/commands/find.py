"""pbloom find"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.key_options import arguments_of, hash_key_arguments, index_add_again
from parquet_bloom.commands.key_options import hash_key as hash_key_option
from parquet_bloom.commands.parameters import PARQUET_FILE
from parquet_bloom.commands.sections import Command, files_option, output_option
from parquet_bloom.commands.store_options import storage_options, store_options_again
from parquet_bloom.commands.table_options import table_views
from parquet_bloom.commands.value_files import about_unknown, fault_of_file
from parquet_bloom.container import UNITS, number_of, some_of
from parquet_bloom.errors import (
    ColumnError,
    MissingKeyError,
    ValueTypeError,
    complaint,
    for_command,
    quoted_name,
)
from parquet_bloom.program import FINE, NO, TROUBLE, options_again
from parquet_bloom.render.hints import MOST_NAMES, OF_ONE_TYPE, command, not_listed
from parquet_bloom.render.reports import Complaints
from parquet_bloom.render.stopwatch import Stopwatch
from parquet_bloom.render.terminal import complain, progress, write_json, write_table, write_text
from parquet_bloom.render.value_lines import taken_whole
from parquet_bloom.render.wording import (
    MOST_SHOWN,
    as_indexed,
    files_named,
    part_in,
    parts_in,
    size,
)
from parquet_bloom.values.given import show_value, show_values
from parquet_bloom.values.types import CANNOT_BE
from parquet_bloom.verbs.find import find as find_rows
from parquet_bloom.verbs.found import FindReport
from parquet_bloom.verbs.index_probe import terms_of
from parquet_bloom.verbs.left_out_files import left_out
from parquet_bloom.vocabulary import is_unlisted

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView


# What says which files are meant, and is called the same where these are validated.
_WHICH_FILES: Final = frozenset(("--table", "--catalog", "--version", "--as-of", "--where"))

# As many rows become records on a narrow terminal: a name that is shortened may be that of any file of a table.
_FEW_ROWS = 4


@click.command(cls=Command)
@file_options.file_argument("files", nargs=-1, metavar="[FILE...]")
@table_views
@files_option(
    "--index",
    "index",
    metavar="DIR",
    help="Ask this index which row groups to read, and not the statistics and filters of each file; of a file that it"
    " does not know as it is, ask these.",
)
@option.columns(required=True)
@option.value_columns
@option.literals
@option.as_json("column")
@output_option(
    "-o",
    "--output",
    type=PARQUET_FILE,
    help="Of one --column, write the rows to this Parquet file, too: the value as text, those of --columns in their"
    " types.",
)
@output_option(
    "--report",
    type=PARQUET_FILE,
    help="Of one --column, write to this Parquet file what became of each value: where it was found, what proves it"
    " absent, or why it is unknown; and, without a value, each file that was asked, or could not be. A join by value"
    " lacks these: `value IS NULL` has them, and `state` tells which is which.",
)
@option.overwrite_answer
@file_options.union_by_name
@hash_key_option
@option.access
def find(
    files: tuple[str, ...], view: TableView | None, index: str | None, columns: tuple[str, ...],
    value_columns: tuple[str, ...] | None, as_json: bool, output: Path | None, overwrite: bool,
    keys: Keys | None, union_by_name: bool, **given: Any,
) -> None:  # fmt: skip
    """Find the rows that hold values.

    Min/max statistics and filters, or an index, say which row groups may hold a value; there, the column itself is
    read, and of --columns only the pages with the rows. With --index and without FILE, it looks into all files that
    the index knew when it was last brought up to date; with --table, into the live files of tables. Rows of a file,
    like its row groups, are counted from 0. What cannot be read is listed as `unknown`; if no file has the column,
    or a key for it, that is an error. What filters, bounds or an index rule out is not read: `validate --pages`, or
    `index check --deep`, proves these. Exit code 1: no row holds any of the values; 2: a file is `unknown`.

    \b
    Examples:
      pbloom find events.bloom.parquet -c user_id -v 123456 --columns country
      pbloom find lake/ -c user_id --values-from ids.csv -o found.parquet
      pbloom find lake/ -c user_id --ids ids.csv --report account.parquet
    """
    if not files and (index is None or view is not None):
        raise click.UsageError(
            "expected FILE or --index" if view is None else "--table: expected FILE, the tables"
        )
    if index is None and hash_key_arguments(given["hash_key"]):
        raise click.UsageError("--hash-key: expected with --index only")
    for name, path in (("--output", output), ("--report", given["report"])):
        if path is not None and len(set(columns)) > 1:
            raise click.UsageError(
                f"{name}: expected one --column; another one takes a call of its own"
            )
    outputs = [path for path in (output, given["report"]) if path is not None]
    if outputs:
        _check_free(outputs, files, index, overwrite)
    are_several = len(set(columns)) > 1
    code, report, unverified, is_any_not_held = NO, None, set[str](), False
    for column in dict.fromkeys(columns):
        stopwatch = Stopwatch()
        try:
            with progress("find") as show:
                report = find_rows(
                    files or None, column, given["values"], columns=value_columns, table=view, index=index,
                    hash_key=given["hash_key"], keys=keys, storage_options=storage_options(),
                    union_by_name=union_by_name, progress=show,
                )  # fmt: skip
        except (ColumnError, MissingKeyError, ValueTypeError) as error:
            told = complaint(error)
            told = fault_of_file(told, given["values"]) or told
            complain(told + _unwritten(output, given["report"]))
            code, is_any_not_held = TROUBLE, is_any_not_held or isinstance(error, ValueTypeError)
            continue
        report = _in_words_of_commands(report)
        is_any_not_held = is_any_not_held or any(
            CANNOT_BE in file.reason for file in report.unknown
        )
        _save(report, given["values"], output, given["report"], overwrite)
        for path in outputs if report.encrypted_in else ():
            where = files_named(report.encrypted_in, report.num_files)
            complain(f"{path}: has in plaintext what is encrypted in {where}")
        if as_json:
            write_json(report)
        else:
            of_column = f"{quoted_name(column)}: " * are_several
            # Of several columns, none can have it.
            lists_values = "" if are_several else str(given["report"] or "--report FILE")
            _write(report, given["values"], of_column, lists_values, stopwatch)
        with Complaints(report.num_files, told=unverified) as complaints:
            for file in report.unverified:
                complaints.add_unverified(file.path, file.reason)
        if report.unknown:
            code = TROUBLE
        elif report.rows and code != TROUBLE:
            code = FINE
    if are_several and is_any_not_held:
        complain(OF_ONE_TYPE)
    if code == NO and (hint := taken_whole(given["values"])):
        complain(hint)
    if report is None:
        sys.exit(code)
    # JSON says both itself.
    if report.left_out and not as_json:
        complain(left_out(report.left_out))
    if report.is_as_indexed and not as_json:
        assert index is not None
        complain(not_listed(index_add_again(index, given["hash_key"], keys)))
    if (
        given["report"] is not None
        and report.absent
        and (
            unproven := _unproven(report, files, _check_again(index, given["hash_key"], keys), keys)
        )
    ):
        complain(unproven)
    sys.exit(code)


def _check_free(
    outputs: Sequence[Path], files: Sequence[str], index: str | None, overwrite: bool
) -> None:
    """Raise RewriteError for an output that cannot be written, as one of the files that are looked into."""
    from parquet_bloom.verbs.answer_file import check_free

    if not files and index is not None:
        files = terms_of(index, storage_options()).sources
    check_free(outputs, files, overwrite)


def _check_again(index: str | None, hash_key: str | None, keys: Keys | None) -> str:
    """The command that proves the index, if one is asked."""
    if index is None:
        return ""
    again = (*hash_key_arguments(hash_key), *store_options_again(), *arguments_of(keys))
    return command("index", "check", "--index", index, "--deep", *again)


def _unproven(report: FindReport, files: Sequence[str], check_index: str, keys: Keys | None) -> str:
    """What the account takes for right, and what proves that; empty if it is the values and statistics alone."""
    named = files if len(files) <= MOST_NAMES else ["FILE"]
    which = options_again(click.get_current_context(), _WHICH_FILES)
    again = (*which, *store_options_again(), *arguments_of(keys))
    # Without pages, the values are all that there is to look at.
    has_pages = not all(UNITS[each].has_groups for each in report.formats)
    validate = command("validate", *["--pages"] * has_pages, *named, *again)
    bits = {
        f"filters (`{validate}` does that)": report.row_groups_by_filters,
        f"the index (`{check_index}` does that)": report.files_by_index,
    }
    told = " and ".join(what for what, count in bits.items() if count)
    return (
        told
        and f"`absent` rests on bits that were not checked against the values here, those of {told}"
    )


def _in_words_of_commands(report: FindReport) -> FindReport:
    unknown = tuple(replace(file, reason=for_command(file.reason)) for file in report.unknown)
    return replace(report, unknown=unknown)


def _unwritten(*paths: Path | None) -> str:
    """Of files for what was found: where no file could be asked, there is nothing to write."""
    return "".join(f"; {path} was not written" for path in paths if path is not None)


def _save(
    report: FindReport, values: Sequence[object], output: Path | None, account: Path | None,
    overwrite: bool,
) -> None:  # fmt: skip
    """What is to go to Parquet files."""
    if output is None and account is None:
        return
    from parquet_bloom.verbs.table_file import save_table

    sources = report.found_in
    if output is not None:
        save_table(report.to_arrow(), sources, output, overwrite=overwrite)
    if account is not None:
        save_table(report.account(values), sources, account, overwrite=overwrite)


# Whether a row is one of its table.
_IN_TABLE: Final = {False: "yes", True: "deleted", None: "unknown"}


def _write(
    report: FindReport,
    asked: Sequence[object],
    of_column: str,
    lists_values: str,
    stopwatch: Stopwatch,
) -> None:
    """The rows and the total; `of_column`: what the latter begins with; `lists_values`: what lists those that are in
    no file. It ends with how long it took until there was something to show: what reads it may take its time."""
    names, values = _shown_values(report)
    part, in_table = part_in(report.formats), ("in table",) * bool(report.tables)
    shown = [
        (
            show_value(row.value),
            row.path,
            str(row.row_group),
            str(row.row),
            *(_IN_TABLE[row.deleted] for _ in in_table),
            *cells,
        )
        for row, cells in zip(report.rows, values, strict=True)
    ]
    took = stopwatch.so_far(report.num_files)
    if shown:
        write_table(
            (report.column, "file", part, "row", *in_table, *names),
            shown,
            _gives(report.column, part, names, len({*show_values(asked)})),
            full=len(shown) <= _FEW_ROWS,
            more="--json, --output and a pipe show all",
        )
    if report.num_deleted:
        rows = some_of(report.num_deleted, report.num_rows, "row")
        complain(f"{rows} deleted in the table, but still in the files until they are rewritten")
    for file in report.undecided:
        complain(
            f"{file.path}: nobody can tell which of these rows the table has deleted: {file.reason}"
        )
    if report.unknown:
        _complain_of_unknown(report, asked)
    if not report.files_asked and report.num_files:
        return
    read = f"{parts_in(report.row_groups_read, report.formats)} of {number_of(report.files_read, 'file')} read"
    where = some_of(len(report.found_in), report.files_asked, "file")
    rest = f"{_not_found(report, asked, lists_values)}{_unknown(report)}{_without(report)}{took}"
    write_text(
        f"{of_column}{number_of(report.num_rows, 'row')} in {where}{_since(report)}: "
        f"{read}, {size(report.bytes_read)}{_excluded(report)}{rest}"
    )


def _without(report: FindReport) -> str:
    """Files in which the column is null because they have not got it."""
    return f"; {report.without_column}" if report.files_without_column else ""


def _excluded(report: FindReport) -> str:
    """How many row groups were not read, and because of what, where a file was asked itself; and how many files an
    index ruled out."""
    counts = {
        "statistics": report.row_groups_by_statistics,
        "filters": report.row_groups_by_filters,
    }
    told = [
        f"{parts_in(count, report.formats)} by {what}" for what, count in counts.items() if count
    ]
    if report.files_by_index:
        told.append(f"{number_of(report.files_by_index, 'file')} by the index")
    return f"; excluded: {', '.join(told)}" if told else ""


def _since(report: FindReport) -> str:
    if report.made is None or not report.is_as_indexed:
        return ""
    return f", {as_indexed(report.made)}"


def _gives(column: str, part: str, names: Sequence[str], num_values: int) -> list[str]:
    """What gives way on a narrow terminal: all texts are shortened before anything is left out. Of the place, the
    file and the row say where it is without the row group. The user knows the value, if it is one, but not which of
    several is in a row. What was asked for by --columns is not left out: without room for the file beside it, rows
    become records, as few rows do anyway."""
    shortened = [f"{each}…" for each in (column, "file", *names)]
    known = [column] if num_values == 1 else []
    return [*shortened, part, *known, "row", "file"]


def _complain_of_unknown(report: FindReport, asked: Sequence[object]) -> None:
    unknown = ((file.path, file.reason) for file in report.unknown)
    for line in about_unknown(unknown, report.num_files - _num_folders(report), asked):
        complain(line)


def _not_found(report: FindReport, asked: Sequence[object], lists_values: str) -> str:
    """Of several values, how many are in no file; where some files are unknown, how many were found, and that of
    those that all could be asked for. `lists_values`: what does, if they are many."""
    values = dict.fromkeys(show_values(asked))
    if len(values) < 2:
        return ""
    found = {show_value(row.value) for row in report.rows}
    left = [value for value in values if value not in found]
    if not report.unknown:
        which = _which(left, lists_values)
        return f"; {len(left):,} of {len(values):,} values in no file{which}"
    absent = ""
    if report.absent:
        which = _which(report.absent, lists_values)
        absent = f", {len(report.absent):,} in no file{which}"
    return f"; {len(values) - len(left):,} of {len(values):,} values found{absent}"


def _which(values: Sequence[object], lists_values: str) -> str:
    """`: 9, 10`, or ` (--report FILE lists them)`"""
    if not values:
        return ""
    if len(values) <= MOST_SHOWN:
        return f": {', '.join(show_values(values))}"
    return f" ({lists_values} lists them)" * bool(lists_values)


def _num_folders(report: FindReport) -> int:
    """How many of what is unknown are no files, but folders of whose files nobody knows."""
    return sum(is_unlisted(file.reason) for file in report.unknown)


def _unknown(report: FindReport) -> str:
    """How many files may hold any of the values, or some of them, which stderr says one by one."""
    of_some = report.files_unknown_of_some
    folders = _num_folders(report)
    of_any = len({file.path for file in report.unknown}) - of_some - folders
    counts = {"unknown": of_any, "unknown for some of the values": of_some}
    num_files = report.num_files - folders
    told = [
        f"{some_of(count, num_files, 'file')} {what}" for what, count in counts.items() if count
    ]
    if folders:
        told.append(f"{number_of(folders, 'folder')} not listed")
    return "".join(f"; {each}" for each in told)


def _shown_values(report: FindReport) -> tuple[Sequence[str], Iterable[Sequence[str]]]:
    """The names of --columns, and their values in each row, as JSON has them."""
    if report.values is None:
        return (), [()] * len(report.rows)
    from parquet_bloom.verbs.json_values import json_rows

    names = report.values.column_names
    return names, ([_cell(row[name]) for name in names] for row in json_rows(report.values))


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
