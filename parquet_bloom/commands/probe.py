"""pbloom probe"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.options import (
    Inputs,
    asked_dialect_options,
    column_option,
    files_argument,
    json_option,
    key_options,
    read_as_option,
)
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.legacy.of_chunk import Dialect


@click.command()
@files_argument
@column_option
@click.option("-v", "--value", "values", multiple=True, help="Literal, typed by the column.")
@click.option("--values-from", type=click.File(encoding="utf-8"), help="Literals, one per line.")
@read_as_option
@click.option("--explain", "explained", is_flag=True, help="Show hash, block and bits.")
@click.option(
    "--rows",
    "only_rows",
    is_flag=True,
    help="Print only the row groups to read, of an ORC file the index groups.",
)
@asked_dialect_options
@key_options
@json_option
def probe(
    files: tuple[str, ...], column: str, values: tuple[str, ...], values_from: Any,
    read_as: str | None, explained: bool, only_rows: bool, dialect: Dialect | None,
    seed: int | None, keys: Keys | None, as_json: bool,
) -> None:  # fmt: skip
    """Ask the filters whether values can be in files.

    Reads the footer and 32 bytes of each filter, or all of an encrypted one; of an ORC file the
    column's filter streams, and verdicts are about index groups. The verdict is `absent` (certain),
    `maybe`, or `unknown` with the reason. Exit code 1: every value is absent from every file.

    \b
    Example:
      pbloom probe events.bloom.parquet -c user_id -v 123456
    """
    from parquet_bloom.render.orc.probe import (
        write_orc_explanations,
        write_orc_probe,
        write_orc_rows_to_read,
    )
    from parquet_bloom.render.probe import write_explanations, write_probe, write_rows_to_read
    from parquet_bloom.render.terminal import write_json
    from parquet_bloom.render.unverified import complain_if_unverified
    from parquet_bloom.verbs.probe import explain, probe as probe_file  # isort: skip

    literals = [*values, *(line.rstrip("\r\n") for line in values_from or ())]
    if not literals:
        raise click.UsageError("expected at least one --value or --values-from")
    if explained + only_rows + as_json > 1:
        raise click.UsageError("expected at most one of --explain, --rows and --json")
    if explained and dialect == "statistics":
        raise click.UsageError(
            "--explain: expected without --dialect statistics, which has no blocks"
        )
    write: dict[str, Callable[[Any], None]] = {"parquet": write_probe, "orc": write_orc_probe}
    if only_rows:
        write = {"parquet": write_rows_to_read, "orc": write_orc_rows_to_read}
    if as_json:
        write = {"parquet": write_json, "orc": write_json}
    write_explained: dict[str, Callable[[str, Any], None]] = {
        "parquet": write_explanations,
        "orc": write_orc_explanations,
    }
    absent = []

    def work(path: str) -> None:
        report = probe_file(
            path, column, literals, read_as=read_as, dialect=dialect, seed=seed, keys=keys
        )
        if report.format == "parquet":
            complain_if_unverified(path, report.unverified)
        absent.append(report.is_absent)
        if explained:
            explanations = explain(
                path, column, literals, read_as=read_as, dialect=dialect, seed=seed, keys=keys
            )
            write_explained[report.format](path, explanations)
        else:
            write[report.format](report)

    sys.exit(Inputs(files).each(work) or (NO if all(absent) else FINE))
