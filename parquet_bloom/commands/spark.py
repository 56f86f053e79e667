"""pbloom spark"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial, wraps
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.build_options import expose_filter_location, filters, orc_streams
from parquet_bloom.commands.check_options import checks, configured, policy_of, tell_unchecked
from parquet_bloom.commands.clean_temp import younger_in_words
from parquet_bloom.commands.inputs import Answers, is_of_others
from parquet_bloom.commands.key_options import executor_key_options, hash_key_for_executors
from parquet_bloom.commands.parameters import OUTPUT_PLACE, Number, any_size, settings
from parquet_bloom.commands.sections import (
    SIZE,
    Callback,
    Command,
    Decorator,
    encryption_option,
    files_option,
    filters_option,
    output_option,
    spark_option,
    together,
)
from parquet_bloom.commands.table_options import building_in_tables, newest_tables, tell_tables
from parquet_bloom.container import number_of, without_numbers
from parquet_bloom.errors import SparkError, complaint, for_command, install
from parquet_bloom.index.manifest import IndexForm, Places
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.program import FINE, NO, TROUBLE, Ordered
from parquet_bloom.render.changes import NO_MATTER_WHOSE, TABLE_BUILD
from parquet_bloom.render.findings import findings_in, numbers_in
from parquet_bloom.render.hints import BY_NAME
from parquet_bloom.render.hints import command as next_command
from parquet_bloom.render.inspect import write_inspection_summary
from parquet_bloom.render.palette import painted
from parquet_bloom.render.reports import Complaints
from parquet_bloom.render.terminal import (
    Cells,
    complain,
    progress_in_words,
    write_json,
    write_line,
    write_table,
    write_text,
)
from parquet_bloom.render.wording import files_of, in_the_first, shortened, size
from parquet_bloom.rules.finding import OF_ANOTHER_NAME, OF_NO_COLUMN, statement_of
from parquet_bloom.rules.rule import Severity
from parquet_bloom.verbs.inspect_summary import InspectionSummarizer
from parquet_bloom.verbs.table_folders import tables_among
from parquet_bloom.verbs.validate import Checked
from parquet_bloom.vocabulary import NO_FILTER, words

if TYPE_CHECKING:
    from parquet_bloom.parallel import Progress
    from parquet_bloom.rules.policy import Policy
    from parquet_bloom.spark.outcome import LakeIndex, Outcome, Report, Status
    from parquet_bloom.verbs.build_table import TableBuildReport

# Whose classes and methods the package uses.
LEAST_PYSPARK = (3, 5)

audit = output_option(
    "--audit",
    "--report",
    "audit",
    type=OUTPUT_PLACE,
    metavar="DIR",
    help="Keep the account of the run here, as Parquet; later runs add theirs.",
)

run_id = output_option(
    "--run-id",
    metavar="ID",
    help="Of this run in the audit; one that died goes on under its id.",
)


def _inputs_since(since: Decorator) -> Decorator:
    """Which files, and the keys to them."""
    return together(
        file_options.manifest_for_executors,
        since,
        files_option(
            "--max-files", type=Number(1), metavar="N", help="Only the first N files: a trial."
        ),
        files_option(
            "--max-input",
            callback=any_size,
            metavar=SIZE,
            help="Only the first files, up to so many bytes.",
        ),
        audit,
        run_id,
        executor_key_options,
    )


_inputs = _inputs_since(file_options.since_time)
_inputs_or_tables = _inputs_since(file_options.since)
_job = together(
    spark_option(
        "--master", metavar="URL", help="Cluster: spark://host:7077, yarn.  [default: local[*]]"
    ),
    spark_option("--remote", metavar="URL", help="Spark Connect server: sc://host:15002."),
    spark_option(
        "--conf",
        multiple=True,
        callback=settings,
        metavar="NAME=VALUE",
        help="Spark configuration; repeatable.",
    ),
    output_option("--totals", is_flag=True, help="Print one JSON document about the whole run."),
    spark_option(
        "--ship", is_flag=True, help="Send this package to executors that do not have it."
    ),
    option.as_json("file; of advise, per schema"),
)


# What says nothing about the files of a table: which they are, formats that are not Parquet's own, and
# outcomes, which tables have none of.
_ONLY_FILES = {
    "auto", "engines", "budget", "config", "no_config", "manifest", "max_files", "max_input", "only_missing",
    "layout", "orc_streams", "audit", "run_id", "totals",
}  # fmt: skip


# What an index is to be, which takes no Spark to say.
_INDEX_TERMS = ("index", "columns", "places", "form", "include_encrypted", "hash_key")


def _needs_columns(command: Callback) -> Callback:
    """Files have no properties that say which columns get filters."""

    @wraps(command)
    def checked(
        of_table: TableOptions | None, columns: tuple[str, ...] | None, auto: bool,
        engines: tuple[str, ...], budget: int | str | None, config: Path | None, no_config: bool,
        **given: object,
    ) -> object:  # fmt: skip
        if of_table is None or auto:
            option.check_chosen(columns, auto)
        option.check_advised(auto, engines, budget, config, no_config)
        if auto and given.get("union_by_name"):
            raise click.UsageError("--union-by-name: expected --column, not --auto")
        if auto:
            policy = policy_of(config, no_config)
            given |= {"auto": auto, "engines": engines, "budget": budget, "policy": policy}
        return command(of_table=of_table, columns=columns, **given)

    return checked


def _check_pyspark() -> None:
    """Raise SparkError if PySpark is missing, or too old."""
    expected = f"expected PySpark 3.5 or later: {install('spark')}"
    if find_spec("pyspark") is None:
        raise SparkError(f"No module named 'pyspark': {expected}")
    found = version("pyspark")
    if tuple(map(int, found.split(".")[:2])) < LEAST_PYSPARK:
        raise SparkError(f"PySpark {found}: {expected}")


@click.group(cls=Ordered)
def spark() -> None:
    """The same verbs over a lake, on Spark.

    PATH is a file, a folder or a glob; several at a time. Spark's executors list the Parquet and ORC
    files with credentials of their own, and work on each of them once, in place.

    \b
    Examples:
      pbloom spark build /lake/events -c user_id
      pbloom spark validate /lake/events --master spark://host:7077
      pbloom spark advise /lake/events --budget 2GiB
    """


def _verb(*options: Decorator) -> Decorator:
    """A command that takes these options, besides the ones of every job, and runs the verb of the same
    name; the function itself only describes it."""

    def command_of(described: Callback) -> Callback:
        @spark.command(cls=Command)
        @file_options.file_argument("paths", nargs=-1, metavar="PATH...")
        @together(*options, _job)
        @wraps(described)
        def run(
            master: str | None, remote: str | None, conf: dict[str, str], totals: bool,
            ship: bool, as_json: bool, of_table: TableOptions | None = None, **given: Any,
        ) -> None:  # fmt: skip
            _check_pyspark()
            from parquet_bloom.spark import cleaning, description, lake_index, verbs
            from parquet_bloom.spark.checks import check_executors
            from parquet_bloom.spark.failures import naming_variables
            from parquet_bloom.spark.session import session, will_be_here
            from parquet_bloom.spark.shipping import ship as ship_package

            if master is not None and remote is not None:
                raise click.UsageError("expected at most one of --master and --remote")
            if totals and as_json:
                raise click.UsageError("expected at most one of --json and --totals")
            named = _named(given)
            if of_table is None and "since" in given:
                given["since"] = file_options.time_of_files(given["since"])
            table = of_table or given.get("view")
            is_in_catalog = table is not None and table.catalog is not None
            if not is_in_catalog and will_be_here(master, remote, conf):
                _check_names(given["paths"] or ())
            name = described.__name__
            if table is None:
                _tell_tables(name, given)
            helps_by_name = not given.get("union_by_name", True) and not given.get("auto")
            verb: Any
            if name == "index":
                # What is refused is refused before Java has started.
                terms = {each: given.pop(each) for each in _INDEX_TERMS}
                verb = lake_index.IndexJob.of(
                    given.pop("paths"), table=given.pop("view"), **terms
                ).run
            else:
                verb = cleaning.clean_temp if name == "clean_temp" else getattr(verbs, name)
            with naming_variables(), session(master, remote, conf) as connected:
                if ship:
                    ship_package(connected)
                check_executors(connected)
                label = click.get_current_context().info_name or ""
                what = f"pbloom {label}: {named}"
                with description.described(connected, what):
                    if given.pop("auto", False):
                        report = _built_by_advice(connected, **given)
                    else:
                        with _bar(label) as given["progress"]:
                            if of_table is not None:
                                sys.exit(_build_in_tables(connected, of_table, as_json, **given))
                            report = verb(connected, **given)
                _answer(report, as_json, totals, helps_by_name)
                if name == "validate" and given["columns"] is not None:
                    asked = (*given["columns"], *given["require"])
                    tell_unchecked(_required_besides(given["policy"], asked))
                code = _code(report)
                # While there is a session that can remove its account.
                del report
            sys.exit(code)

        return run

    return command_of


def _required_besides(policy: Policy, asked: Collection[str]) -> list[str]:
    """Columns that a policy requires, and whose filters nobody has checked. What is inside of others may be called
    otherwise in files, which only executors see."""
    groups = {name.partition(".")[0] for name in asked if "." in name}
    return [
        name
        for name in policy.required_columns()
        if name not in asked and name.partition(".")[0] not in groups
    ]


def _named(given: dict[str, Any]) -> str:
    """The paths, or the manifest, of which exactly one is expected."""
    manifest = given.get("manifest")
    if manifest is not None and given["paths"]:
        raise click.UsageError("expected PATH or --manifest, not both")
    if manifest is not None:
        given["paths"] = None
        return str(manifest)
    if not given["paths"] and "index" in given:
        # All that the index is about.
        return str(given["index"])
    if not given["paths"]:
        context = click.get_current_context()
        (argument,) = (each for each in context.command.params if each.name == "paths")
        raise click.MissingParameter(ctx=context, param=argument)
    return " ".join(given["paths"])


def _check_names(names: Sequence[str]) -> None:
    """Complain and end if none of the files and folders is there, before Java has started."""
    from parquet_bloom.spark.listing import errors_here

    errors = errors_here(names)
    for each in errors:
        complain(complaint(each))
    if errors:
        sys.exit(TROUBLE)


def _tell_tables(name: str, given: dict[str, Any]) -> None:
    """Say of the folders of tables that all of their files are read; where these would be changed, they are refused,
    which says it."""
    paths = given["paths"] or ()
    if name == "index" or given.get("auto"):
        tell_tables(tables_among(paths, "--table {}"))
    elif name in ("advise", "inspect", "probe", "validate"):
        option = f"`pbloom {name} --table {{}}`, or here a --manifest of them,"
        tell_tables(tables_among(paths, option, besides=""))


def _how_far(label: str, done: int, total: int) -> str:
    """`build: 1.2 GiB of 3.1 GiB`"""
    if label == "clean-temp":
        return label
    return f"{label}: {size(done)} of {size(total)}" if total else f"{label}: listing files"


def _bar(label: str) -> AbstractContextManager[Progress]:
    """What shows how far a verb is."""
    return progress_in_words(partial(_how_far, label))


def _built_by_advice(connected: Any, **given: Any) -> Report:
    """What build does by what advise says of the same files; the seconds are those of both."""
    from parquet_bloom.spark.verbs import build

    with _bar("advise") as given["progress"]:
        advice = _advised(connected, given)
    with _bar("build") as given["progress"]:
        report = build(connected, **given | {"advice": advice, "columns": None})
    return replace(report, seconds=advice.seconds + report.seconds)


def _advised(connected: Any, given: dict[str, Any]) -> Report:
    """What a build takes its columns from. What only this needs goes out of `given`."""
    from parquet_bloom.spark.verbs import advise

    shared = (
        "paths",
        "columns",
        "fpp",
        "max_bytes",
        "existing",
        "ignore_checksums",
        "manifest",
        "since",
        "keys",
        "keys_file",
    )
    of_job = ("max_files", "max_input", "progress")
    asked = {name: given[name] for name in (*shared, *of_job)}
    alone = {name: given.pop(name) for name in ("engines", "budget", "policy")}
    if (run_id := given["run_id"]) is not None:
        # A build goes on by the advice that it began with, although some files have filters by now.
        asked |= {"audit": given["audit"], "run_id": f"{run_id}-advise"}
    return advise(connected, **asked, **alone)


def _answer(report: Report, as_json: bool, totals: bool, helps_by_name: bool) -> None:
    """`helps_by_name`: whether --union-by-name is to be named where files lack a column that others have."""
    with Complaints(report.files) as complaints:
        for outcome in report.troubles:
            complaints.add(outcome.path, for_command(outcome.message or outcome.path))
    if report.index is not None and report.index.failed > report.counts.get("error", 0):
        _tell_failed(report.index)
    if helps_by_name and _are_lacking(report):
        complain(BY_NAME)
        helps_by_name = False
    if totals:
        write_line(json.dumps(report.to_dict()))
    elif as_json and report.index is not None:
        write_json(report.index)
    elif as_json:
        for line in report.lines():
            write_line(line)
    else:
        _write(report, helps_by_name)


def _are_lacking(report: Report) -> bool:
    """Whether some failed as they lack a column, and others did not."""
    is_told = any(is_of_others(outcome.message or "") for outcome in report.troubles)
    return is_told and len(report.troubles) < report.files


def _tell_failed(index: LakeIndex) -> None:
    """Of files that were not read again, nobody has said what is wrong with them."""
    check_it = next_command("index", "check", "--index", index.index)
    failed = number_of(index.failed, "file")
    complain(f"{index.index}: {failed} that cannot be read in full: `{check_it}` names all")


def _code(report: Report) -> int:
    """The exit code, as of the local verb."""
    from parquet_bloom.spark.outcome import TROUBLE as TROUBLES

    has_failed = report.index is not None and report.index.failed
    if has_failed or not TROUBLES.isdisjoint(report.counts):
        return TROUBLE
    is_no = {"validate": not report.ok, "probe": report.is_absent}
    return NO if is_no.get(report.verb) else FINE


def _build_in_tables(
    connected: Any,
    of_table: TableOptions,
    as_json: bool,
    *,
    paths: tuple[str, ...],
    keys: dict[str, Any],
    keys_file: str | None,
    progress: Progress,
    **given: Any,
) -> int:
    """The exit code. `given`: how filters are built, and files changed."""
    from parquet_bloom.commands.table_inputs import exit_code, tables
    from parquet_bloom.encryption.keys_file import KeyReferences
    from parquet_bloom.spark.failures import naming_variables
    from parquet_bloom.spark.tables import build_on_spark

    references = KeyReferences.of(keys, keys_file)
    safely = {name: given[name] for name in ("since", "dry_run", "verify", "unconditional")}
    of_table = replace(of_table, **safely)
    options = BuildOptions.of(given, threads=1)
    reports: list[TableBuildReport] = []

    def work(path: str) -> TableBuildReport:
        with naming_variables():
            report = build_on_spark(
                connected, path, options, of_table, keys=references, progress=progress
            )
        reports.append(report)
        return report

    answers = Answers(tables(paths), as_json=as_json, verbose=False)
    return exit_code(answers.each(work, TABLE_BUILD), reports)


@_verb(
    option.columns(),
    option.engines,
    option.fpp_to_advise,
    option.max_bytes,
    option.filter_budget,
    configured,
    option.ignore_checksums,
    _inputs,
)
def advise() -> None:
    """Say which columns deserve a filter, and what it would save.

    All files with the same columns are judged together, as one table. A pbloom.toml, or pyproject.toml, in the
    working folder or the nearest above, is heeded as by `pbloom validate`: columns that it requires are among those
    to build, and rates are not above its max-fpp; --no-config leaves it out.

    \b
    Examples:
      pbloom spark advise /lake/events
      pbloom spark advise /lake/events --max-files 100
      pbloom spark advise /lake/events --budget 2GiB --json
      pbloom spark advise /lake/events --engine spark,trino
    """


@_verb(
    option.columns(),
    option.auto,
    option.engines,
    option.filter_budget,
    option.which_policy,
    building_in_tables(refused=_ONLY_FILES),
    _needs_columns,
    filters,
    filters_option(
        "--only-missing", is_flag=True,
        help="Skip files where each column has a filter in some row group or stripe.",
    ),
    orc_streams,
    expose_filter_location,
    file_options.union_by_name,
    option.ignore_checksums,
    _inputs_or_tables,
    option.dry_run,
    option.no_verify,
    option.unconditional,
)  # fmt: skip
def build() -> None:
    """Add Bloom filters to files, in place.

    Existing filters are left as they are, unless --existing says otherwise, so this can run again at any time.

    With --table, executors append them to the files of tables, and a commit by this process to each
    table records the new sizes; one with many files gets several. Without --column and --auto, the table's
    properties say for which columns.

    \b
    Examples:
      pbloom spark build /lake/events -c id --since 2d --audit /lake/_pbloom
      pbloom spark build /lake/events --auto --engine spark --budget 2GiB
      pbloom spark build --table auto /lake/events -c user_id
    """


@_verb(option.columns(), _inputs)
def inspect() -> None:
    """Show which columns have filters, and how good they are; --json has the details.

    \b
    Examples:
      pbloom spark inspect /lake/events
      pbloom spark inspect /lake/events -c user_id --json
      pbloom spark inspect /lake/events --audit /lake/_pbloom --totals
    """


@_verb(
    option.columns(required=True),
    option.literals,
    option.stored_dialect,
    file_options.union_by_name,
    _inputs,
)
def probe() -> None:
    """Ask the filters whether values can be in files.

    Exit code 1: every value is absent from every file.

    \b
    Examples:
      pbloom spark probe /lake/events -c user_id -v 123456
      pbloom spark probe /lake/events -c user_id --values-from ids.csv --json
      pbloom spark probe '/lake/events/day=2026-11-*' -c user_id -v 123456
    """


@_verb(option.columns(), checks, file_options.union_by_name, option.ignore_checksums, _inputs)
def validate() -> None:
    """Prove filters right, or say what is wrong with them.

    Exit code 1: a finding is at or above --fail-on.

    \b
    Examples:
      pbloom spark validate /lake/events
      pbloom spark validate /lake/events --no-deep --require user_id
      pbloom spark validate /lake/events --since 1d --audit /lake/_pbloom
    """


@_verb(
    option.columns(),
    file_options.union_by_name,
    _inputs,
    option.dry_run,
    option.no_verify,
    option.unconditional,
)
def strip() -> None:
    """Remove Bloom filters from files, in place.

    \b
    Examples:
      pbloom spark strip /lake/events --dry-run
      pbloom spark strip /lake/events -c user_id
      pbloom spark strip /lake/events --audit /lake/_pbloom
    """


@_verb(
    newest_tables,
    files_option(
        "--index",
        "index",
        type=OUTPUT_PLACE,
        required=True,
        metavar="DIR",
        help="Folder of the index; can be a URL.",
    ),
    option.columns(),
    files_option(
        "--places",
        type=click.Choice(words(Places)),
        help="What an answer leads to; a page is a data page of the column.  [default: row-group]",
    ),
    files_option(
        "--form",
        type=click.Choice(words(IndexForm)),
        help="map: of all values; slices: of the filters that Parquet files have; auto: slices of those with a "
        "filter in every row group, a map of others.  [default: map]",
    ),
    encryption_option(
        "--include-encrypted",
        is_flag=True,
        help="Index encrypted columns, too, with their keys.",
    ),
    hash_key_for_executors,
    audit,
    run_id,
    executor_key_options,
)
def index() -> None:
    """Make an index over files, or bring one up to date: which of them hold a value.

    Executors read what is new or has changed, and write segments; one manifest by this process names them. Of an
    index that is there, --column is not needed, and PATH is what it is about from now on, too. With --table, it is
    about the live files of one table, which this process lists.

    \b
    Examples:
      pbloom spark index /lake/events --index /lake/_users.index -c user_id
      pbloom spark index --index /lake/_users.index
      pbloom spark index --table auto /lake/t --index /lake/_t.index -c user_id
      pbloom index probe --index /lake/_users.index -c user_id -v 42
    """


@_verb(option.older_than, option.only_show_removed, audit)
def clean_temp() -> None:
    """Remove temporary files that killed attempts have left.

    \b
    Examples:
      pbloom spark clean-temp /lake/events --dry-run
      pbloom spark clean-temp /lake/events --older-than 1d
      pbloom spark clean-temp /lake/events --json
    """


# ------------------------------------------------------------------------------------------------
# What is printed

# By verb, the statuses of files that it has changed.
_NOTED: dict[str, tuple[Status, ...]] = {"build": ("added", "removed"), "strip": ("removed",)}

# What helps where a probe has asked no filter.
_WITHOUT_FILTERS = (
    "there are no filters to ask: `pbloom find` reads the column, `pbloom spark index` makes an index of its values,"
    " `pbloom spark advise` tells whether filters pay off"
)

# What gives way on a narrow terminal where rows count files. Nothing does where they name them: which they are, and
# what is wrong there, is what was asked.
_GIVES = ("reason…", "column…")


def _write(report: Report, helps_by_name: bool = False) -> None:
    """One line about all files, and a table that depends on the verb. `helps_by_name`: as for _answer."""
    write_text(f"{report.verb}: {_counts(report)}{report.run_in_words}; {report.seconds:.1f} s")
    if report.verb == "inspect":
        summarizer = InspectionSummarizer()
        for document in report.documents():
            summarizer.add(document)
        write_inspection_summary(summarizer.summary())
        return
    if report.verb == "probe":
        _write_probe(report)
        return
    if report.verb == "advise":
        _write_advice(report)
        return
    if report.verb == "validate":
        _write_findings(report, helps_by_name)
        return
    header, rows = _OF_FILES.get(report.verb, _by_status)(report)
    if rows:
        write_table(header, rows, _GIVES, full=report.verb in _OF_FILES)
    for note in _notes(report):
        write_text(note)
    if report.index is not None:
        write_text(_of_index(report.index))


def _notes(report: Report) -> Iterator[str]:
    """What to know about files that were changed, as the local verbs say it: of those that differ only in numbers
    once, of however many files."""
    found: dict[str, _Alike] = {}
    for outcome in report.each(_NOTED.get(report.verb, ())):
        for note in _noted(outcome):
            alike = found.setdefault(without_numbers(note), _Alike(outcome.path, note))
            alike.add(outcome.path, note)
    for alike in found.values():
        yield f"{alike.files}: {painted('note')}: {alike.statement}"
    if report.verb == "strip" and "removed" in report.counts:
        yield f"{painted('note')}: {NO_MATTER_WHOSE}"


def _noted(outcome: Outcome) -> Sequence[str]:
    """Of a file that was changed and has no document, nobody knows more than its message."""
    if outcome.document is not None:
        found: list[str] = json.loads(outcome.document)["notes"]
        return found
    return [] if outcome.message is None else [outcome.message]


def _of_index(index: LakeIndex) -> str:
    """`users.index: 3 files: 1 added, 0 changed, 0 removed; 2 of 5 segments new: 1,234 keys, 4.2 KiB`"""
    new = f"{index.new:,} of {number_of(index.segments, 'segment')} new"
    content = f"{number_of(index.filters, 'filter')}, " if index.filters else ""
    content += f"{number_of(index.keys, 'key')}, {size(index.bytes_written)}"
    files = f"{number_of(index.files, 'file')}{index.unknown_in_words}: {index.changes_in_words}"
    return f"{index.index}: {files}; {new}: {content}"


def _unread(report: Report) -> tuple[Cells, Sequence[Cells]]:
    """What the index knows nothing of, and why."""
    found = [each for each in report.each(["read", "skipped"]) if each.message]
    return ("file", "reason"), [(each.path, each.message) for each in found]


def _counts(report: Report) -> str:
    if report.verb != "clean-temp":
        return report.counts_in_words or "no files"
    younger = younger_in_words(report.counts.get("unchanged", 0))
    return f"{report.counts_in_words or 'nothing to remove'}{younger}"


def _by_status(report: Report) -> tuple[Cells, Sequence[Cells]]:
    """What was done to how many files, and why nothing was done to others."""
    from parquet_bloom.spark.outcome import TROUBLE as TROUBLES

    rows = [
        (
            each.state,
            f"{each.files:,}",
            f"{each.filters:,}" if each.is_counted else "not known",
            size(each.bytes),
            each.reason,
        )
        for each in report.totals
        if each.status not in TROUBLES
    ]
    return ("status", "files", "filters", "bytes", "reason"), rows


def _removed(report: Report) -> tuple[Cells, Sequence[Cells]]:
    removed = report.each(["removed"])
    return ("file", "bytes"), [(each.path, size(-each.bytes)) for each in removed]


def _write_findings(report: Report, helps_by_name: bool) -> None:
    """How many there are in what, and the findings, the most severe first; those that differ only in numbers in one
    line, of however many files. `helps_by_name`: as for _answer."""
    found: dict[tuple[str, ...], _Alike] = {}
    numbers: Counter[str] = Counter()
    # Of columns that are required: those that some files certainly lack, and in how many files each is not.
    lacking: set[str] = set()
    without: Counter[str] = Counter()
    for document in report.documents():
        severities = (each["severity"] for each in document["findings"])
        numbers += numbers_in(severities, Checked(**document["checked"]))
        for each in document["findings"]:
            rule, severity, column = each["rule"], each["severity"], each["column"] or ""
            likeness = (rule, severity, column, without_numbers(each["message"]))
            statement = statement_of(each["message"], each["expected"], each["found"])
            alike = found.setdefault(likeness, _Alike(document["path"], statement))
            alike.add(document["path"], statement)
            without[column] += each["message"].startswith((OF_NO_COLUMN, OF_ANOTHER_NAME))
            if each["message"].startswith(OF_NO_COLUMN):
                lacking.add(column)
    if "read" in report.counts:
        write_text(findings_in(numbers))
    rows = sorted(found.items(), key=lambda each: -Severity(each[0][1]).rank)
    if not rows:
        return
    write_table(
        ("files", "rule", "severity", "column", "finding", "times"),
        [
            (alike.files, *likeness[:3], alike.statement, f"{alike.times:,}")
            for likeness, alike in rows
        ],
        full=True,
    )
    if any(alike.num_files > 1 for alike in found.values()):
        account = (
            "an account (--audit)" if report.audit is None else f"the account in {report.audit}"
        )
        write_text(f"--json has the findings of each file, and so has {account}")
    if helps_by_name and any(without[each] < report.counts["read"] for each in lacking):
        complain(BY_NAME)


class _Alike:
    """What is said alike of files that come one after the other, of which there may be millions."""

    def __init__(self, path: str, statement: str) -> None:
        self._first, self._statement, self._are_equal = path, statement, True
        self._last, self.num_files, self.times = "", 0, 0

    def add(self, path: str, statement: str) -> None:
        self.num_files += path != self._last
        self._last = path
        self.times += 1
        self._are_equal &= statement == self._statement

    @property
    def files(self) -> str:
        if self.num_files == 1:
            return self._first
        return f"{number_of(self.num_files, 'file')}, such as {self._first}"

    @property
    def statement(self) -> str:
        return self._statement if self._are_equal else in_the_first(self._statement)


def _write_probe(report: Report) -> None:
    """The values that no file has, and the files that may have the others; those of which the same is not known in
    one line."""
    found: dict[tuple[str, ...], _Left] = {}
    # Of each column: its files, and values that are in none of them so far.
    files: Counter[str] = Counter()
    absent: dict[str, dict[str, None]] = {}
    for document in report.documents():
        column = document["column"]
        files[column] += 1
        left = absent.setdefault(column, dict.fromkeys(report.asked))
        absent[column] = _still_absent(left, document)
        for value, verdict, rows_to_read, reason in _left_in(document):
            path = document["path"]
            alike = (column, value, verdict, reason or "", path * (verdict == "maybe"))
            found.setdefault(alike, _Left()).add(path, rows_to_read)
    has_several = len(files) > 1
    for column, values in absent.items():
        if values:
            which = f"column {column}: " if has_several else ""
            in_all = number_of(files[column], "file")
            write_text(f"{which}{shortened([*values])}: absent in {in_all}")
    rows = [
        (
            files_of(left.paths, files[column]),
            column if has_several else None,
            value,
            verdict,
            f"{left.rows_to_read:,}",
            reason or None,
        )
        for (column, value, verdict, reason, _), left in found.items()
    ]
    if rows:
        header = ("file", "column", "value", "verdict", "rows to read", "reason")
        write_table(header, rows, full=True)
    unknown = {(verdict, reason) for _, _, verdict, reason, _ in found}
    if report.ok and not report.filters and unknown == {("unknown", NO_FILTER)}:
        complain(_WITHOUT_FILTERS)


class _Left:
    """Files of which the same is not known, and how many rows that leaves to be read."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.rows_to_read = 0

    def add(self, path: str, rows_to_read: int) -> None:
        self.paths.append(path)
        self.rows_to_read += rows_to_read


def _still_absent(values: dict[str, None], document: dict[str, Any]) -> dict[str, None]:
    """Those of the values that are absent in one more file, too."""
    results = document["results"]
    if document.get("others") is None:
        for each in results:
            if each["verdict"] != "absent":
                values.pop(each["value"], None)
        return values
    # All that the document does not name are unknown.
    absent = {each["value"] for each in results if each["verdict"] == "absent"}
    return {value: None for value in values if value in absent}


def _left_in(document: dict[str, Any]) -> Iterator[tuple[str, str, int, str | None]]:
    """The values that a file may have, each with a verdict, the rows to read, and why if no filter says so; like
    unknown ones in one line."""
    results, others = document["results"], document.get("others")
    unknown: dict[tuple[int, str | None], list[str]] = {}
    for each in results:
        value, verdict, rows = (each[name] for name in ("value", "verdict", "rows_to_read"))
        reason = _first_reason(each)
        if verdict == "maybe":
            yield value, verdict, rows, reason
        elif verdict == "unknown":
            unknown.setdefault((rows, reason), []).append(value)
    for (rows, reason), values in unknown.items():
        yield shortened(values), "unknown", rows, reason
    if others is not None:
        number = number_of(others["num_values"], "other value" if results else "value")
        yield number, others["verdict"], others["rows_to_read"], _first_reason(others)


def _first_reason(answers: dict[str, Any]) -> str | None:
    """Of the groups that are to be read, as the local command has it."""
    groups = answers.get("row_groups") or answers.get("index_groups") or ()
    return next(
        (each["reason"] for each in groups if each["verdict"] != "absent" and each["reason"]), None
    )


def _write_advice(report: Report) -> None:
    """By column; of files that are judged apart, under which they are."""
    has_several = len(report.advice) > 1
    for table in report.documents():
        if has_several:
            write_text(f"{table['path']}:")
        rows = [_advice_on(column, f"{table['files']:,}") for column in table["columns"]]
        if rows:
            write_table(("column", "verdict", "files", "filters take", "reason"), rows, _GIVES)


def _advice_on(column: dict[str, Any], files: str) -> Cells:
    """What is to be done, as `pbloom advise` has it; filters that are kept take what they take."""
    verdict = column["to_do"]
    taken = column["filter_bytes_there" if verdict == "keep" else "filter_bytes"]
    return column["column"], verdict, files, size(taken), column["reason"]


# By verb, the table that names files.
_OF_FILES = {
    "clean-temp": _removed,
    "index": _unread,
}
