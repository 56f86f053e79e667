"""pbloom probe"""

from __future__ import annotations

import sys
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
    from parquet_bloom.vocabulary import Dialect, LiteralType


@click.command()
@files_argument
@column_option
@click.option("-v", "--value", "values", multiple=True, help="Literal, typed by the column.")
@click.option("--values-from", type=click.File(encoding="utf-8"), help="Literals, one per line.")
@read_as_option
@click.option("--explain", is_flag=True, help="Show hash and bits of each value.")
@click.option(
    "--groups-to-read",
    "only_groups",
    is_flag=True,
    help="Print only the row groups to read, of an ORC file the index groups.",
)
@asked_dialect_options
@key_options
@json_option
def probe(
    files: tuple[str, ...], column: str, values: tuple[str, ...], values_from: Any,
    read_as: LiteralType | None, explain: bool, only_groups: bool, dialect: Dialect | None,
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
    from parquet_bloom.render.probe import write_explanations, write_groups_to_read, write_probe
    from parquet_bloom.render.terminal import complain_if_unverified, write_json
    from parquet_bloom.verbs.documents import document_of
    from parquet_bloom.verbs.probe import probe as probe_file

    literals = [*values, *(line.rstrip("\r\n") for line in values_from or ())]
    if not literals:
        raise click.UsageError("expected at least one --value or --values-from")
    if only_groups and (explain or as_json):
        raise click.UsageError("expected --groups-to-read without --explain and --json")
    absent = []

    def work(path: str) -> None:
        report = probe_file(
            path, column, literals, read_as=read_as, dialect=dialect, seed=seed, keys=keys,
            explain=explain,
        )  # fmt: skip
        complain_if_unverified(path, report.unverified)
        absent.append(report.is_absent)
        if as_json:
            write_json(document_of(report))
        elif explain:
            write_explanations(report)
        elif only_groups:
            write_groups_to_read(report)
        else:
            write_probe(report)

    sys.exit(Inputs(files).each(work) or (NO if all(absent) else FINE))
