"""The command `pbloom`: its name, its help, its commands.

The library is imported when a command runs, so that `pbloom --help` answers at once.
"""

from __future__ import annotations

from functools import partial

import click

from parquet_bloom.commands.advise import advise
from parquet_bloom.commands.build import build
from parquet_bloom.commands.diff import diff
from parquet_bloom.commands.dump import dump
from parquet_bloom.commands.inspect import inspect
from parquet_bloom.commands.probe import probe
from parquet_bloom.commands.repair import repair
from parquet_bloom.commands.report import report
from parquet_bloom.commands.rule import rule
from parquet_bloom.commands.spark import spark
from parquet_bloom.commands.strip import strip
from parquet_bloom.commands.validate import validate
from parquet_bloom.program import Program, run


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="parquet-bloom", prog_name="pbloom")
def cli() -> None:
    """Bloom filters in Parquet and ORC files that already exist.

    Add them without rewriting a data page, inspect and probe them, prove them right, repair them.

    FILE is a path, a glob, a folder or a URL; several at a time.

    \b
    Example:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
      pbloom inspect events.bloom.parquet
      pbloom probe events.bloom.parquet -c user_id -v 123456
      pbloom validate events.bloom.parquet --require user_id
    """


for command in (
    advise, build, diff, dump, inspect, probe, repair, report, rule, spark, strip, validate,
):  # fmt: skip
    cli.add_command(command)

main = partial(run, cli)
