"""Help in sections: every option says what it is about, and a command shows the sections in order.

--help leaves the options that few people need to --help-all. Each `…_option` here is click.option for one
section.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands.outputs import check_outputs
from parquet_bloom.commands.parameters import is_written
from parquet_bloom.filters.sizing import SIZES
from parquet_bloom.program import (
    color,
    debug,
    help_all,
    is_all_wanted,
    parsing,
    strict,
)
from parquet_bloom.render.wording import either

if TYPE_CHECKING:
    from click.types import OptionHelpExtra

# What click calls a function, or a command that is made of one.
Callback = Callable[..., object]
Decorator = Callable[[Callback], Callback]

# The metavar of every option that takes a size.
SIZE: Final = "SIZE"

GENERAL: Final = "General"
OUTPUT: Final = "Output"

SECTIONS: Final = (
    "Columns and row groups",
    "Values",
    "Filters",
    "Checks",
    "Files",
    "Tables",
    OUTPUT,
    "Spark",
    GENERAL,
    "ORC",
    "Legacy dialects",
    "Encrypted files",
)

# What --help leaves to --help-all: whole sections, and options of others.
_RARE_SECTIONS: Final = {"ORC", "Legacy dialects", "Encrypted files"}
_RARE: Final = {
    *("--type", "--values-column", "--value-sample"),
    *("--ndv", "--max-bytes", "--exact-blocks", "--force", "--layout"),
    *("--config", "--no-config"),
    *("--manifest", "--shard", "--ignore-checksums", "--no-verify", "--unconditional"),
    *("--append-in-place", "--drop-foreign-fields", "--max-files", "--max-input"),
    *("--catalog", "--version", "--as-of"),
    *("--files-per-commit", "--no-commit", "--sole-writer", "--min-file-size"),
    *("--stats", "--run-id", "--totals", "--conf", "--ship", "--color", "--debug"),
}
# Of a rare section, but what everybody with such files needs.
_COMMON: Final = {"--keys"}

# Options that are named where they are left out.
_FEW: Final = 3

# The least that says of which long option it is the beginning: -out, not -v1 or -va.
_LEAST_BEGINNING: Final = len("-out")

# The widest name of an option that its help stands beside.
_BESIDE: Final = 26


class Option(click.Option):
    """An option of one section. Its help says in words what numbers it takes."""

    def __init__(self, names: Sequence[str], *, section: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.section = section

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def section_of(option: click.Option) -> str:
    """The section of an option in the help; --help and the like come before all others."""
    return getattr(option, "section", GENERAL if option.is_eager else OUTPUT)


def is_rare(option: click.Option) -> bool:
    """Whether only --help-all shows an option."""
    if option.required or option.opts[-1] in _COMMON:
        return False
    return section_of(option) in _RARE_SECTIONS or option.opts[-1] in _RARE


class Command(click.Command):
    """A command whose help is in sections; it has --help-all, --color and --debug."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += [color(), help_all(), debug()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with parsing(ctx, args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if any(map(is_written, self.params)):
            check_outputs(ctx)
        return super().invoke(ctx)

    def make_parser(self, ctx: click.Context) -> Any:
        # click looks for `-v42` among the long options first, and compares it with each of them, to suggest one: a
        # hundred of those take longer than what they ask for. What is not `--…` is none of them.
        def check(name: str, value: str | None) -> None:
            if not name.startswith("--"):
                # To click, the value of `-o=a` is `=a`: a file of this name would be written.
                if value is not None and any(
                    name in each.opts and _takes_value(each) for each in self.params
                ):
                    meant = f"{name} {shlex.quote(value)}"
                    raise click.UsageError(
                        f"{name}={value}: expected {meant}; = is between a long option and its value only"
                    )
                self._check_glued(name, value)
                raise click.NoSuchOption(name, ctx=ctx)

        return strict(super().make_parser(ctx), check)

    def _check_glued(self, name: str, value: str | None) -> None:
        """Raise UsageError for the beginning of an option's long name after one dash: to click, `-out` is `-o ut`."""
        called = [each.opts for each in self.params if name[:2] in each.opts and _takes_value(each)]
        long = [each for names in called for each in names if each.startswith(f"-{name}")]
        if long and len(name) >= _LEAST_BEGINNING:
            rest = name[2:] if value is None else f"{name[2:]}={value}"
            meant = either([*long, f"{name[:2]} {shlex.quote(rest)}"])
            raise click.UsageError(f"{name}: no such option; did you mean {meant}?")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        rare = [] if is_all_wanted(ctx) else [each for each in options if is_rare(each)]
        shown = [each for each in options if each not in rare]
        for section in SECTIONS:
            rows = [
                row
                for each in shown
                if section_of(each) == section and (row := each.get_help_record(ctx)) is not None
            ]
            if rows:
                with formatter.section(section):
                    # One column for all sections: click looks at the widest name in each.
                    (name, text), *others = rows
                    formatter.write_dl([(name.ljust(_BESIDE), text), *others], col_max=_BESIDE)
        if any(each.metavar == SIZE for each in shown):
            formatter.write_paragraph()
            formatter.write_text(f"{SIZE}: {SIZES}.")
        if rare:
            formatter.write_paragraph()
            formatter.write_text(_more(rare))
            with formatter.indentation():
                formatter.write_text(f"{ctx.command_path} --help-all")


def _takes_value(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not (param.is_flag or param.count)


def _more(rare: Sequence[click.Option]) -> str:
    """How many options are left out, and what they are about, or which they are."""
    if len(rare) <= _FEW:
        return f"Not shown: {', '.join(each.opts[-1] for each in rare)}:"
    found = {section_of(each) for each in rare} - {GENERAL}
    about = ", ".join(section for section in SECTIONS if section in found)
    return f"{len(rare)} more options{f' ({about})' * bool(about)}:"


def together(*options: Decorator) -> Decorator:
    """One decorator for several options."""

    def add(command: Callback) -> Callback:
        for option in reversed(options):
            command = option(command)
        return command

    return add


columns_option = partial(click.option, cls=Option, section="Columns and row groups")
values_option = partial(click.option, cls=Option, section="Values")
filters_option = partial(click.option, cls=Option, section="Filters")
checks_option = partial(click.option, cls=Option, section="Checks")
files_option = partial(click.option, cls=Option, section="Files")
table_option = partial(click.option, cls=Option, section="Tables")
output_option = partial(click.option, cls=Option, section=OUTPUT)
spark_option = partial(click.option, cls=Option, section="Spark")
orc_option = partial(click.option, cls=Option, section="ORC")
legacy_option = partial(click.option, cls=Option, section="Legacy dialects")
encryption_option = partial(click.option, cls=Option, section="Encrypted files")
general_option = partial(click.option, cls=Option, section=GENERAL)
