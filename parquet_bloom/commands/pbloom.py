"""The command `pbloom`: its name, its help, its commands.

A command's module is imported when the command is asked for, and has its imports at the top. What not
each of its runs needs is imported where it is needed: what changes files, which --help does not; tables
with --table, keys with --keys, values with --value, outputs with --output, Spark, HTML, and what only a
terminal shows. The list below says what each command does, so that `pbloom --help` imports none of them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from parquet_bloom.commands.manual import how_to_read
from parquet_bloom.program import Program

# In the order of work; a test holds that their own help begins so.
COMMANDS: Final = {
    "advise": "Say which columns deserve a filter, and what it would save.",
    "build": "Add Bloom filters to files (alias: inject).",
    "inspect": "Show which column chunks have filters, and how good they are.",
    "probe": "Ask the filters whether values can be in files.",
    "find": "Find the rows that hold values.",
    "validate": "Prove filters right, or say what is wrong with them.",
    "repair": "Repair the filters of files.",
    "recover": "Undo what killed builds have appended to files.",
    "clean-temp": "Remove temporary files that killed runs have left.",
    "strip": "Remove Bloom filters from files.",
    "diff": "Compare the filters of two files.",
    "dump": "Write one filter's header and bitset, or the footer of a Parquet file.",
    "report": "Write one HTML page about the filters of files.",
    "rule": "Explain the rules of validate.",
    "index": "Which of many files hold a value, without opening them.",
    "conformance": "Judge how an engine uses Bloom filters, or writes them.",
    "spark": "The same verbs over a lake, on Spark.",
    "completion": "Print the script with which a shell completes pbloom.",
}


# Behind help, as if it were a command, too.
_BRIEFLY: Final = frozenset(("help", "-h", "--help"))
_IN_FULL: Final = frozenset(("--all", "--help-all"))


class _Commands(dict[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        module = name.replace("-", "_")
        command: click.Command = getattr(import_module(f"parquet_bloom.commands.{module}"), module)
        return command

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]


class _Pbloom(Program):
    """Lists its commands without importing them."""

    def main(self, *args: Any, **settings: Any) -> Any:
        if "_PBLOOM_COMPLETE" in os.environ:
            # It says what shells are answered, where click would not quote it.
            import_module("parquet_bloom.commands.completion")
        return super().main(*args, **settings)

    def _abouts(self, ctx: click.Context) -> list[tuple[str, str]]:
        return [(name, about.rstrip(".")) for name, about in COMMANDS.items()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`pbloom help build` is `pbloom build --help`, and `pbloom help build --all` its --help-all; `pbloom help
        PB401`, or `help rule PB401`, is `pbloom rule PB401`; `help help` is `help`; `help man` says where the manual
        pages are."""
        if args and args[0] == "help":
            names = [each for each in args[1:] if each not in _BRIEFLY | _IN_FULL]
            how = "--help" if _IN_FULL.isdisjoint(args) else "--help-all"
            if names[:1] == ["man"]:
                click.echo(how_to_read(__file__))
                ctx.exit()
            if names and self._is_rule(ctx, names[0]):
                args = ["rule", *names]
            elif names[:1] == ["rule"] and len(names) == 2 and not names[1].startswith("-"):
                args = names
            else:
                self._check_topic(ctx, names)
                args = [*names, how]
        return super().parse_args(ctx, args)

    def _check_topic(self, ctx: click.Context, names: Sequence[str]) -> None:
        """Raise UsageError for a word behind a command, which help would not look at.
        That a group has no such command is said as of any command line."""
        found: click.Command | None = self
        for at, name in enumerate(names):
            if found is None:
                return
            if not isinstance(found, click.Group):
                topic = shlex.join(["pbloom", "help", *names[:at]])
                in_full = f", or {topic} --all with every option" * name.startswith("-")
                raise click.UsageError(f"{name}: expected one command, as in {topic}{in_full}", ctx)
            found = found.get_command(ctx, name)

    def _is_rule(self, ctx: click.Context, name: str) -> bool:
        """Whether a name is of a rule, and of no command. Only what is of none has the rules read."""
        if self.get_command(ctx, name) is not None:
            return False
        from parquet_bloom.rules.rule import is_rule

        return is_rule(name)


@click.group(
    "pbloom",
    cls=_Pbloom,
    commands=_Commands.fromkeys(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"]},
)
def cli() -> None:
    """Bloom filters in Parquet and ORC files that already exist.

    Add them without rewriting a data page, inspect and probe them, prove them right, repair them.

    FILE is a path, a glob, a folder or a URL; several at a time. Exit code 0 is success, or yes; 1 is no; 2 is an
    error.

    Each command has --help, --help-all with every option, and a manual page, as `man pbloom-build`: where man does
    not find them, `pbloom help man` says where they are. `pbloom help PB401` explains a rule that validate names.

    \b
    Examples:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
      pbloom inspect events.bloom.parquet
      pbloom probe events.bloom.parquet -c user_id -v 123456
      pbloom validate events.bloom.parquet --require user_id
    """
