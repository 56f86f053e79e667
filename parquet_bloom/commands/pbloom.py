"""The command `pbloom`: its name, its help, its commands.

The library is imported when a command runs, so that `pbloom --help` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from parquet_bloom.program import Program


class _Commands(dict[str, Any]):
    """The commands by name. A module is imported when its command is asked for: all of them would
    take 6 ms."""

    def __getitem__(self, name: str) -> click.Command:
        module = name.replace("-", "_")
        command: click.Command = getattr(import_module(f"parquet_bloom.commands.{module}"), module)
        return command

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]


# In the order of work.
COMMANDS = [
    "advise",
    "build",
    "inspect",
    "probe",
    "validate",
    "repair",
    "recover",
    "clean-temp",
    "strip",
    "diff",
    "dump",
    "report",
    "rule",
    "spark",
    "completion",
]


@click.group(
    cls=Program,
    commands=_Commands.fromkeys(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
