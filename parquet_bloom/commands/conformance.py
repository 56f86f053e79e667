"""pbloom conformance"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.parameters import FILE, FOLDER
from parquet_bloom.commands.sections import (
    Command,
    Decorator,
    checks_option,
    output_option,
    together,
)
from parquet_bloom.conformance.adapter import Session
from parquet_bloom.conformance.case import LEVELS, Level
from parquet_bloom.conformance.readers import read_results
from parquet_bloom.conformance.report import Report, known_failures, matching
from parquet_bloom.conformance.suite import VERSION, cases, opened
from parquet_bloom.conformance.suite import fetch as fetch_suite
from parquet_bloom.program import FINE, NO, Ordered
from parquet_bloom.render.conformance import write_report
from parquet_bloom.render.terminal import progress, write_json, write_text
from parquet_bloom.storage.new_version import output_target
from parquet_bloom.verbs import documents
from parquet_bloom.verbs.answer_file import answer_file


@click.group(cls=Ordered)
def conformance() -> None:
    """Judge how an engine uses Bloom filters, or writes them.

    An adapter is a program of about fifteen lines beside the engine: it reads questions and writes answers, a JSON
    line each. docs/conformance.md has everything for your CI.

    \b
    Example:
      pbloom conformance fetch -o suite
      pbloom conformance read suite --adapter target/release/bloom_adapter
    """


def _command(ctx: click.Context, param: click.Parameter, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.BadParameter(f"{text}: {error}") from None
    if not words:
        raise click.BadParameter("an empty command, expected a program")
    return words


_judging: Decorator = together(
    checks_option(
        "--adapter", "command", required=True, metavar="COMMAND", callback=_command,
        help="The program that asks the engine, with its arguments.",
    ),
    checks_option(
        "--case", "wanted", multiple=True, metavar="CASE",
        help="Only this case, or this group of cases; repeatable.",
    ),
    checks_option(
        "--level", type=click.Choice(LEVELS), default="must", show_default=True,
        help="What makes the exit code 1: what an engine must do, or also what it should, or may. Lost rows always do.",
    ),
    checks_option(
        "--expect", type=FILE, metavar="FILE",
        help="JSON file of failures that are known: only others, and known ones that are none any more, make the exit"
        " code 1.",
    ),
    checks_option(
        "--timeout", type=click.FloatRange(0, min_open=True), default=60, show_default=True, metavar="SECONDS",
        help="How long the adapter may take to start, and for each answer.",
    ),
    output_option("--json", "as_json", is_flag=True, help="The report as one JSON document."),
    output_option("--report", "report_file", type=FILE, help="Write the JSON document to this file, too."),
    output_option("--badge", "badge_file", type=FILE, help="Write a badge for shields.io to this file."),
    option.overwrite_answer,
)  # fmt: skip


@conformance.command(cls=Command)
@click.argument("suite", type=FOLDER, required=False)
@_judging
def read(suite: Path | None, **given: Any) -> None:
    """Judge a reader: whether it uses filters, and whether it loses rows by them.

    Asks each question of files with and without filters, sound and with the pages destroyed that a right filter
    excludes. SUITE is a folder that `fetch` has written; without it, the files are made for this run.

    \b
    Example:
      pbloom conformance read --adapter "python suite/adapters/duckdb_reads.py"
    """
    _judge("read", suite, **given)


@conformance.command(cls=Command)
@output_option("-o", "--output", type=FOLDER, required=True, help="A new folder, or an empty one.")
def fetch(output: Path) -> None:
    """Write the files of the suite, its adapters and schemas into a folder.

    \b
    Example:
      pbloom conformance fetch -o suite
    """
    count = fetch_suite(output)
    write_text(f"{output}: {count} files, suite {VERSION}")


def _judge(
    kind: str, suite: Path | None, command: list[str], wanted: tuple[str, ...], level: Level,
    expect: Path | None, timeout: float, as_json: bool, report_file: Path | None, badge_file: Path | None,
    overwrite: bool,
) -> None:  # fmt: skip
    for output in filter(None, (report_file, badge_file)):
        # What must not be written is not worth the wait.
        output_target(output, [], overwrite)
    with _suite(suite, wanted) as (folder, manifest):
        ids = [case["id"] for case in manifest["cases"]]
        chosen = set(matching(ids, wanted))
        known = {} if expect is None else known_failures(expect)
        with Session(command, timeout) as session, progress(command[0]) as show:
            asked = [case for case in manifest["cases"] if case["id"] in chosen]
            results = tuple(read_results(folder, asked, session, show))
            engine = session.greeting
        report = Report(
            manifest["version"], kind, engine.engine, engine.version, engine.inside, results
        )
    for path, document in ((report_file, report.document()), (badge_file, report.badge())):
        if path is not None:
            with answer_file(path, [], overwrite=overwrite) as written:
                written.append(documents.as_json(document) + b"\n")
    if as_json:
        write_json(report.document())
    else:
        write_report(report, level, known)
    click.get_current_context().exit(NO if report.news(known, level) else FINE)


@contextmanager
def _suite(folder: Path | None, wanted: Sequence[str]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The suite in a folder, or what is wanted of it in one of its own for as long as it is needed."""
    if folder is not None:
        yield folder, opened(folder)
        return
    of_ids = {case.id: case for case in cases()}
    with TemporaryDirectory(prefix="pbloom-conformance-") as made:
        fetch_suite(Path(made), [of_ids[id] for id in matching(list(of_ids), wanted)])
        yield Path(made), opened(Path(made))
