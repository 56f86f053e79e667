"""pbloom conformance"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.parameters import FILE, FOLDER, JSON_FILE, OUTPUT_FOLDER
from parquet_bloom.commands.sections import (
    Command,
    Decorator,
    checks_option,
    files_option,
    output_option,
    together,
)
from parquet_bloom.conformance.adapter import Greeting, Session
from parquet_bloom.conformance.case import LEVELS, Level
from parquet_bloom.conformance.readers import read_results
from parquet_bloom.conformance.report import (
    Failures,
    Report,
    check_known,
    is_any,
    known_failures,
    matching,
)
from parquet_bloom.conformance.suite import VERSION, cases, check_new, opened
from parquet_bloom.conformance.suite import fetch as fetch_suite
from parquet_bloom.conformance.writers import (
    check_written,
    created_by,
    output_of,
    result_ids,
    write_results,
)
from parquet_bloom.conformance.written_columns import columns
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import AdapterError, ConfigError
from parquet_bloom.program import FINE, NO, Ordered
from parquet_bloom.render.conformance import reason_of, write_report
from parquet_bloom.render.hints import MOST_NAMES, next_line
from parquet_bloom.render.terminal import (
    progress,
    write_bytes,
    write_json,
    write_line,
    write_table,
    write_text,
)
from parquet_bloom.storage.new_version import output_target
from parquet_bloom.verbs import documents
from parquet_bloom.verbs.answer_file import answer_file
from parquet_bloom.vocabulary import ConformanceFormat, words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@click.group(cls=Ordered)
def conformance() -> None:
    """Judge how an engine uses Bloom filters, or writes them.

    An adapter is a program of about fifteen lines beside the engine: it reads questions and writes answers, a JSON
    line each. `fetch` writes those for DuckDB, Spark and others, from which to make yours.

    \b
    Examples:
      pbloom conformance fetch -o suite
      pbloom conformance read suite --adapter bloom_adapter
      pbloom conformance write suite --adapter bloom_adapter
    """


def _command(ctx: click.Context, param: click.Parameter, text: str | None) -> list[str] | None:
    if text is None:
        return None
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.BadParameter(f"{text}: {error}") from None
    if not words:
        raise click.BadParameter("an empty command, expected a program")
    return words


def _adapter(required: bool) -> Decorator:
    return checks_option(
        "--adapter", "command", required=required, metavar="COMMAND", callback=_command,
        help="The program beside the engine, with its arguments.",
    )  # fmt: skip


def _told(command: str | None) -> dict[str, tuple[str, str]]:
    """What the command can ask, by its id: who answers, a reader or a writer, and what it is about."""
    asked: dict[str, tuple[str, str]] = {}
    if command != "write":
        asked |= {case.id: ("read", case.about) for case in cases()}
    if command != "read":
        asked |= {column.name: ("write", column.about) for column in columns()}
    return asked


def _names(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Groups, and cases or columns, whose names begin so."""
    from click.shell_completion import CompletionItem

    told = {id: about for id, (_, about) in _told(ctx.command.name).items()}
    groups = dict.fromkeys(id.partition("/")[0] for id in told)
    return [
        CompletionItem(name, help=told.get(name, "a group of cases"))
        for name in (groups | told)
        if name.startswith(word)
    ]


_judging: Decorator = together(
    checks_option(
        "--case", "wanted", multiple=True, metavar="CASE", shell_complete=_names,
        help="Only this case, or group of cases, or column of a writer, as `pbloom conformance list` names them;"
        " repeatable.",
    ),
    checks_option(
        "--level", type=click.Choice(LEVELS), default="must", show_default=True,
        help="What makes the exit code 1: what an engine must do, or also what it should do, or what writers may do. "
        "Wrong rows always do, unless the engine gives them without filters, too: such cases are not judged.",
    ),
    checks_option(
        "--expect", type=FILE, metavar="FILE",
        help="JSON file of failures that are known: only others, known ones that are none any more, and cases that "
        "are not judged any more, make the exit code 1.",
    ),
    checks_option(
        "--timeout", type=click.FloatRange(0, min_open=True), default=60, show_default=True, metavar="SECONDS",
        help="How long the adapter may take to start, and for each answer.",
    ),
    output_option(
        "--format", "report_format", type=click.Choice(words(ConformanceFormat)), default="text", show_default=True,
        help="junit is a test for each case: what makes the exit code 1 fails; what is not judged, or known, is"
        " skipped.",
    ),
    output_option("--json", "as_json", is_flag=True, help="The report as one JSON document, as with --format json."),
    output_option("--report", "report_file", type=JSON_FILE, help="Write the JSON document to this file, too."),
    output_option("--badge", "badge_file", type=JSON_FILE, help="Write a badge for shields.io to this file."),
    output_option(
        "--write-expect", "failures_file", type=JSON_FILE,
        help="Write the failures to this file, for --expect; with the links that a file given there has.",
    ),
    option.overwrite_answer,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Given:
    """What both verbs are given."""

    wanted: tuple[str, ...]
    level: Level
    expect: Path | None
    timeout: float
    report_format: ConformanceFormat
    as_json: bool
    report_file: Path | None
    badge_file: Path | None
    failures_file: Path | None
    overwrite: bool

    def check(self) -> Failures | None:
        """What is known, None without a file of it, after a look at whether the answers can be written: no engine is
        asked in vain."""
        if self.as_json and self.report_format not in ("text", "json"):
            raise click.UsageError("expected at most one of --json and --format")
        for output in filter(None, (self.report_file, self.badge_file, self.failures_file)):
            output_target(output, [], self.overwrite)
        return None if self.expect is None else known_failures(self.expect)

    def chosen(self, what: str, ids: Sequence[str], known: Failures | None) -> list[str]:
        """Which cases, or columns, are asked, of all. Raises ConfigError."""
        self._check_wanted(ids, "write" if what == "cases" else "read")
        chosen = [*matching(ids, self.wanted)]
        if self.expect is not None and known is not None:
            results_of = result_ids if what == "columns" else list[str]
            check_known(known, results_of(ids), results_of(chosen), self.expect)
        return chosen

    def _check_wanted(self, ids: Sequence[str], other: str) -> None:
        """Raise ConfigError for a case, or a column, that only the `other` command asks."""
        for each in self.wanted:
            if not is_any(each, ids) and is_any(each, [*_told(other)]):
                who = {"read": "readers", "write": "writers"}[other]
                raise ConfigError(
                    f"{each}: is for {who}, expected `pbloom conformance {other} --case {each}`"
                )

    def tell(self, report: Report, known: Failures | None, helps: Sequence[str] = ()) -> None:
        """Write what there is to write, `helps` for people, and end the command."""
        documents_of = (
            (self.report_file, report.document()),
            (self.badge_file, report.badge()),
            (self.failures_file, report.failures(known, self.level)),
        )
        for path, document in documents_of:
            if path is not None:
                with answer_file(path, [], overwrite=self.overwrite) as written:
                    written.append(documents.as_json(document) + b"\n")
        why = _not_judged(report, is_known=known is not None)
        self._show(report, known, helps, why)
        if why:
            raise AdapterError(why)
        click.get_current_context().exit(NO if report.news(known, self.level) else FINE)

    @contextmanager
    def telling(self, kind: str) -> Iterator[None]:
        """An AdapterError is told to CI servers, too, which take an empty file for no failure."""
        try:
            yield
        except AdapterError as error:
            if self.report_format == "junit":
                from parquet_bloom.render.conformance_for_ci import error_xml

                write_bytes(error_xml(kind, str(error)))
            raise

    def _show(self, report: Report, known: Failures | None, helps: Sequence[str], why: str) -> None:
        if self.as_json or self.report_format == "json":
            write_json(report.document())
        elif self.report_format == "junit":
            from parquet_bloom.render.conformance_for_ci import junit_xml

            write_bytes(junit_xml(report, self.level, known, why))
        else:
            write_report(report, self.level, known)
            for line in helps:
                write_line(line)


def _not_judged(report: Report, *, is_known: bool) -> str:
    """Why it is no report: nothing was judged, or, unless it `is_known` what is not, less than what was not. Empty if
    it is one."""
    judged, aside = report.num_judged, report.num_not_judged
    if judged and (is_known or aside <= judged):
        return ""
    first = next(map(reason_of, report.not_judged), report.results[0].found)
    what = f"{aside:,} of {aside + judged:,} were not judged" if judged else "nothing was judged"
    return f"{what}: {first}"


@conformance.command(cls=Command)
@click.argument("suite", type=FOLDER, required=False)
@_adapter(required=True)
@_judging
def read(suite: Path | None, command: list[str], **given: Any) -> None:
    """Judge a reader: whether it uses filters, and whether it loses rows by them.

    Asks each question of files with and without filters, sound and with the pages destroyed that a right filter
    excludes. SUITE is a folder that `fetch` has written; without it, the files are made for this run.

    \b
    Examples:
      pbloom conformance read --adapter "python suite/adapters/duckdb_reads.py"
      pbloom conformance read suite --adapter bloom_adapter --case unknown
      pbloom conformance read suite --adapter bloom_adapter --expect known.json
    """
    asked = _Given(**given)
    known = asked.check()
    with (
        _suite(suite, "cases", asked, known) as (folder, version, cases),
        asked.telling("read"),
        Session(command, asked.timeout) as session,
        progress(command[0]) as show,
    ):
        shown = "suite" if suite is None else str(suite)
        results = tuple(read_results(folder, cases, session, show, shown))
        engine = session.greeting
    report = Report(version, "read", engine.engine, engine.version, engine.inside, results)
    asked.tell(report, known, _looking(report, asked.level, known, suite, cases))


def _looking(
    report: Report,
    level: Level,
    known: Failures | None,
    suite: Path | None,
    cases: Sequence[Mapping[str, Any]],
) -> list[str]:
    """What shows which bits a reader should find for the values of a case that is not right: the first that has some,
    and needs no key."""
    failed = {each.id: each for each in report.broken(level) if each.id not in (known or {})}
    for case in cases:
        ask = case["ask"]
        if case["id"] in failed and ask["literal"] and not case["key"]:
            if suite is None:
                return [_FETCHING]
            path = suite / case["files"][failed[case["id"]].form]
            values = [word for literal in ask["literal"] for word in ("-v", literal)]
            return [next_line("probe", str(path), "-c", ask["column"], *values, "--explain")]
    return []


_FETCHING: Final = (
    "next: pbloom conformance fetch -o suite, whose files pbloom probe --explain looks into"
)


@conformance.command(cls=Command)
@click.argument("suite", type=FOLDER, required=False)
@_adapter(required=False)
@files_option(
    "--written",
    type=FOLDER,
    help="Folder with a file COLUMN.parquet for each column, or each --case; instead of --adapter.",
)
@output_option(
    "--keep",
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="Keep what the adapter writes in this new folder, for `pbloom validate --diagnose`.",
)
@_judging
def write(
    suite: Path | None,
    command: list[str] | None,
    written: Path | None,
    keep: Path | None,
    **given: Any,
) -> None:
    """Judge a writer: whether its filters know every value that it has written, bit by bit.

    The adapter writes a file for each column; the stored values are read, hashed and looked up. SUITE is a folder
    that `fetch` has written; without it, the columns are made for this run.

    \b
    Examples:
      pbloom conformance write --adapter "python bloom_adapter.py"
      pbloom conformance write suite --written out/
      pbloom conformance write suite --adapter bloom_adapter --level should
    """
    if (command is None) == (written is None):
        raise click.UsageError(
            "expected --adapter COMMAND, which writes, or --written FOLDER, which was written: one of them"
        )
    if written is not None and keep is not None:
        raise click.UsageError("expected --keep with --adapter: what --written names stays there")
    asked = _Given(**given)
    known = asked.check()
    with (
        _suite(suite, "columns", asked, known) as (folder, version, columns),
        asked.telling("write"),
        nullcontext() if command is None else Session(command, asked.timeout) as session,
        _outputs(written, keep) as output,
        progress("write") as show,
    ):
        if written is not None:
            check_written(written, columns)
        results = tuple(write_results(folder, columns, session, Path(output), show))
        engine = Greeting(created_by(Path(output)), "") if session is None else session.greeting
    report = Report(version, "write", engine.engine, engine.version, engine.inside, results)
    num_rows = {column["id"]: column["rows"] for column in columns}
    asked.tell(report, known, _diagnosing(report, asked.level, known, written or keep, num_rows))


def _outputs(written: Path | None, keep: Path | None) -> AbstractContextManager[str]:
    """The folder with the files of the columns. Raises ConfigError for one to keep them that has anything in it."""
    if written is not None:
        return nullcontext(str(written))
    if keep is None:
        return TemporaryDirectory(prefix="pbloom-written-")
    check_new(keep)
    keep.mkdir(parents=True, exist_ok=True)
    return nullcontext(str(keep))


_KEEPING: Final = (
    "next: the same with --keep FOLDER, which keeps the files for pbloom validate --diagnose"
)


def _diagnosing(
    report: Report,
    level: Level,
    known: Failures | None,
    folder: Path | None,
    num_rows: Mapping[str, int],
) -> list[str]:
    """What says what the writer did to the files that are not right, which `folder` has; of many, to the one that
    tells most: many that nothing explains take long."""
    broken = [each.id for each in report.broken(level) if each.id not in (known or {})]
    failed = dict.fromkeys(each.partition("/")[2] for each in broken)
    verdicts = {each.id: each.verdict for each in report.results}
    if folder is None:
        return [_KEEPING] if failed else []
    there = [each for each in failed if output_of(folder, each).exists()]
    if not there:
        return []

    def tells(column: str) -> tuple[bool, bool, int]:
        """Missing values alone are explained, unless the filter finds most of all; more of them prove more."""
        is_full = verdicts[f"rate/{column}"] == "fails"
        return f"values/{column}" in broken, not is_full, num_rows[column]

    named = there if len(there) <= MOST_NAMES else [max(there, key=tells)]
    return [next_line("validate", *(str(output_of(folder, each)) for each in named), "--diagnose")]


@conformance.command("list", cls=Command)
@click.argument("wanted", nargs=-1, metavar="[CASE]...", shell_complete=_names)
@output_option("--json", "as_json", is_flag=True, help="One JSON document per case or column.")
def list_cases(wanted: tuple[str, ...], as_json: bool) -> None:
    """List the cases of readers, and the columns of writers, as --case takes them, and what each is about.

    CASE is one of them, or a group of cases; without one, all are listed.

    \b
    Examples:
      pbloom conformance list
      pbloom conformance list semantics
      pbloom conformance list legal unknown --json
    """
    told = _told("list")
    rows = [(told[id][0], id, told[id][1]) for id in matching([*told], wanted)]
    if as_json:
        for kind, id, about in rows:
            write_json({"kind": kind, "id": id, "about": about})
    else:
        write_table(("kind", "case", "about"), rows, ("about…",))


@conformance.command(cls=Command)
@output_option(
    "-o", "--output", type=OUTPUT_FOLDER, required=True, help="A new folder, or an empty one."
)
def fetch(output: Path) -> None:
    """Write the files of the suite, its adapters and schemas into a folder.

    \b
    Examples:
      pbloom conformance fetch -o suite
      pbloom conformance fetch -o tests/suite
      pbloom conformance fetch -o /tmp/suite
    """
    count = fetch_suite(output)
    write_text(f"{output}: {count} files, suite {VERSION}")


@contextmanager
def _suite(
    folder: Path | None, what: Literal["cases", "columns"], asked: _Given, known: Failures | None
) -> Iterator[tuple[Path, str, list[Mapping[str, Any]]]]:
    """The suite in a folder, or what is wanted of it in one of its own for as long as it is needed: its version, and
    the wanted ones of its cases or columns."""
    if folder is not None:
        manifest = opened(folder, what)
        ids = {each["id"]: each for each in manifest[what]}
        chosen = asked.chosen(what, [*ids], known)
        yield folder, manifest["version"], [ids[id] for id in chosen]
        return
    with TemporaryDirectory(prefix="pbloom-conformance-") as made:
        of_ids = {case.id: case for case in cases()} if what == "cases" else {}
        named = {column.name: column for column in columns()} if what == "columns" else {}
        chosen = asked.chosen(what, [*of_ids, *named], known)
        fetch_suite(
            Path(made),
            [of_ids[id] for id in chosen if of_ids],
            [named[id] for id in chosen if named],
        )
        manifest = opened(Path(made), what)
        yield Path(made), manifest["version"], manifest[what]
