"""pbloom repair"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import (
    Destinations,
    Inputs,
    columns_option,
    destination_options,
    files_argument,
    filter_size,
    json_option,
    key_options,
    row_groups_option,
    threads_option,
)
from parquet_bloom.program import FINE, NO

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.repair import LeftFilter


@click.command()
@files_argument
@columns_option()
@row_groups_option
@click.option(
    "--drop-bad", is_flag=True, help="Look up every stored value, and drop filters that lack some."
)
@click.option(
    "--rebuild", is_flag=True, help="The same, and build what was dropped again from the data."
)
@click.option(
    "--fpp",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Target false positive rate of --rebuild.  [default: 0.01]",
)
@click.option(
    "--max-bytes",
    callback=filter_size,
    metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.  [default: 128MiB]",
)
@destination_options
@threads_option
@key_options
@json_option
def repair(
    files: tuple[str, ...],
    columns: tuple[str, ...],
    row_groups: tuple[int, ...],
    drop_bad: bool,
    rebuild: bool,
    fpp: float | None,
    max_bytes: int | None,
    destinations: Destinations,
    threads: int | None,
    keys: Keys | None,
    as_json: bool,
) -> None:
    """Repair the filters of files.

    Only the footer changes: a missing or wrong bloom_filter_length is set, and pointers to nothing,
    or to a filter that no reader can trust, are dropped. What only the values can tell is dropped,
    too, unless --drop-bad or --rebuild lets them be read. Without --rebuild, only pbloom build
    brings back what was dropped. In ORC files nothing points to a filter, so --drop-bad or
    --rebuild is needed to repair anything. Exit code 1: something is still wrong, and the answer
    says what would repair it.

    \b
    Example:
      pbloom repair events.bloom.parquet --rebuild --in-place
    """
    from parquet_bloom.options import RepairOptions
    from parquet_bloom.render.changes import write_repair
    from parquet_bloom.render.terminal import progress, write_json
    from parquet_bloom.verbs.documents import document_of
    from parquet_bloom.verbs.repair import repair_file

    inputs = Inputs(files)
    destination_of = destinations(inputs)
    options = RepairOptions(
        columns=columns or None,
        parts=row_groups or None,
        drop_bad=drop_bad,
        rebuild=rebuild,
        fpp=fpp,
        max_bytes=max_bytes,
        threads=threads,
    )
    left: list[LeftFilter] = []

    def work(path: str) -> None:
        with progress(path) as show:
            report = repair_file(path, options, destination_of(path), keys, show)
        left.extend(report.left)
        if as_json:
            write_json(document_of(report))
        else:
            write_repair(report)

    sys.exit(inputs.each(work) or (NO if left else FINE))
