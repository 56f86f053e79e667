"""What click finds wrong with a command line, in one line: *where: what: expected, found*."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from parquet_bloom.errors import similar
from parquet_bloom.render.hints import command
from parquet_bloom.render.wording import either
from parquet_bloom.storage.source import has_data_suffix, is_url

# How alike a name must be to be suggested: --colum is near --column, --foo near nothing.
_NEAR: Final = 0.65

# So few commands are all named.
_FEW: Final = 8

# What commands call their FILE... and PATH...
_FILES: Final = ("files", "paths")

# So many words of a command line are looked at as one name.
_MOST_WORDS: Final = 8

# What others call what commands do, or an option of one: strip takes filters out again, recover what a kill left half
# done.
_CALLED_ELSEWHERE: Final = {
    "undo": ("strip", "recover"),
    **dict.fromkeys(("remove", "delete", "drop"), ("strip",)),
    **dict.fromkeys(("add", "create", "write"), ("build",)),
    **dict.fromkeys(("check", "verify"), ("validate", "check")),
    **dict.fromkeys(("diagnose", "diagnosis"), ("validate --diagnose",)),
    **dict.fromkeys(("query", "search", "lookup", "look-up"), ("probe", "find")),
    **dict.fromkeys(("show", "stats", "info", "describe"), ("inspect",)),
    "footer": ("dump --footer",),
    "fix": ("repair",),
    "compare": ("diff",),
    "explain": ("rule",),
}

# Of these click has no exception of its own.
_TOO_MANY: Final = re.compile(r"Got unexpected extra arguments? \((.*)\)")


def in_one_line(error: click.UsageError) -> str:
    """`--fpp: '2': expected a rate between 0 and 1`; `--colum: no such option; did you mean --column?`"""
    match error:
        case click.NoSuchOption():
            return f"{error.option_name}: no such option; {_option_meant(error)}"
        case click.exceptions.NoSuchCommand():
            return f"{error.command_name}: no such command; {_command_meant(error)}"
        case click.MissingParameter(ctx=click.Context() as ctx) if column := column_meant(
            ctx.params.get("files") or ()
        ):
            return column
        case click.MissingParameter():
            return f"expected {_missing(error)}; {_see_help(error)}"
        case click.BadOptionUsage():
            return f"{error.option_name}: expected {_expected_after(error)}"
        case click.BadParameter():
            # An argument shows itself in what is wrong with it.
            where = f"{_name(error.param)}: " if isinstance(error.param, click.Option) else ""
            return where + _without_alternatives(error)
    if extra := _TOO_MANY.fullmatch(error.message):
        return f"{extra[1]}: more arguments than expected; {_see_help(error)}"
    return error.message


def column_meant(files: Sequence[str]) -> str | None:
    """What to say of names of FILE... where no column is named: after the first, a word that is no file may be one."""
    for name in files[1:]:
        is_word = all(part.isidentifier() for part in name.split("."))
        if is_word and not has_data_suffix(name) and not os.path.lexists(name):
            return f"{name}: no such file; did you mean -c {name}?"
    return None


def value_meant(files: Sequence[str]) -> str | None:
    """What to say of FILE... where values are given: after one that is there, what is no file and no place for files may
    be one."""
    if not os.path.lexists(files[0]):
        return None
    for name in files[1:]:
        is_plain = not (is_url(name) or has_data_suffix(name) or set(name) & set("/\\*?["))
        if name and is_plain and not os.path.lexists(name):
            return f"{name}: no such file; did you mean -v {shlex.quote(name)}?"
    return None


def name_meant(files: Sequence[str]) -> str | None:
    """What to say of FILE... where the shell has made several words of a name with spaces."""
    for start, name in enumerate(files[:-1]):
        if is_url(name) or os.path.lexists(name):
            continue
        for end in range(start + 2, min(start + _MOST_WORDS, len(files)) + 1):
            if os.path.lexists(whole := " ".join(files[start:end])):
                return f"{name}: no such file; did you mean {shlex.quote(whole)}?"
    return None


def _see_help(error: click.UsageError) -> str:
    """The page that says what there is."""
    path = "pbloom" if error.ctx is None else error.ctx.command_path
    return f"see {path} --help"


def _option_meant(error: click.NoSuchOption) -> str:
    """Options that begin with what was typed, or else are near it; or where all are. Of a letter, such as -V, that is
    the only one that begins so."""
    typed = error.option_name
    options = [] if error.ctx is None else error.ctx.command.get_params(error.ctx)
    names = [name for each in options for name in each.opts if name.startswith("--")]
    near = [each for each in names if each.startswith(typed) and len(each) <= 2 * len(typed)]
    if len(typed) == len("-V"):
        of_letter = [each for each in names if each.startswith(f"-{typed.lower()}")]
        near = of_letter if len(of_letter) == 1 else []
    elif not near:
        # Every name begins with dashes, which make none of them alike.
        bare = [name.removeprefix("--") for name in names]
        near = [f"--{each}" for each in similar(typed.lstrip("-"), bare, _NEAR)]
    if near:
        return f"did you mean {either(near)}?"
    if having := _commands_with(typed, error.ctx):
        return f"expected after a command, such as {having[0]} {typed}"
    return _see_help(error)


def _commands_with(name: str, ctx: click.Context | None) -> list[str]:
    """The commands of a group that have an option of this name: `pbloom index build`."""
    if ctx is None or not isinstance(ctx.command, click.Group):
        return []
    return [
        f"{ctx.command_path} {verb}"
        for verb, each in _commands_of(ctx.command, ctx, ctx.command.list_commands(ctx))
        if any(name in param.opts for param in each.params)
    ]


def _commands_of(
    group: click.Group, ctx: click.Context, names: Iterable[str]
) -> Iterator[tuple[str, click.Command]]:
    """Those of a group with these names that its help lists; each is loaded only when it is looked at."""
    for name in names:
        found = group.get_command(ctx, name)
        if found is not None and not found.hidden:
            yield name, found


def _command_meant(error: click.exceptions.NoSuchCommand) -> str:
    """The option of this name; a command that is near; one before a file; else all, if they are few."""
    group, ctx, name = error.cmd, error.ctx, error.command_name
    names = group.list_commands(ctx) if isinstance(group, click.Group) and ctx is not None else []
    if ctx is not None and any(f"--{name}" in each.opts for each in ctx.command.params):
        return f"did you mean --{name}?"
    called = [each for each in _CALLED_ELSEWHERE.get(name, ()) if each.split()[0] in names]
    if near := called or similar(name, names, _NEAR):
        return f"did you mean {either(near)}?"
    if has_data_suffix(name) or os.path.lexists(name):
        return _before_file(error, names)
    return f"expected {either(names)}" if 0 < len(names) <= _FEW else _see_help(error)


def _before_file(error: click.exceptions.NoSuchCommand, names: Sequence[str]) -> str:
    """The command of the same group that shows a file, or the first that takes any; of none, what else judges one."""
    group, ctx, name = error.cmd, error.ctx, error.command_name
    if ctx is None or not isinstance(group, click.Group):
        return _see_help(error)
    by_rank = sorted(names, key=lambda each: each != "inspect")
    for chosen, found in _commands_of(group, ctx, by_rank):
        if _takes_files(found):
            _, *groups = ctx.command_path.split()
            return f"expected one before the file, such as {command(*groups, chosen, name)}"
    judging = command("validate", name, "--diagnose")
    return f"expected {either(names)}, of which none takes a file; {judging} judges one"


def _takes_files(found: click.Command) -> bool:
    return any(isinstance(each, click.Argument) and each.name in _FILES for each in found.params)


def _missing(error: click.MissingParameter) -> str:
    """`--column COLUMN`; `A B`, if it is one of the arguments."""
    param, ctx = error.param, error.ctx
    if param is None or ctx is None:
        return error.message
    if isinstance(param, click.Option):
        return f"{_name(param)} {_taken(param, ctx)}"
    arguments = [each for each in ctx.command.params if isinstance(each, click.Argument)]
    return " ".join(_taken(each, ctx) for each in arguments)


def _expected_after(error: click.BadOptionUsage) -> str:
    """What an option takes."""
    ctx = error.ctx
    options = [] if ctx is None else ctx.command.get_params(ctx)
    for each in options:
        if isinstance(each, click.Option) and error.option_name in each.opts and ctx is not None:
            return "no value" if each.is_flag else f"{_taken(each, ctx)} after it"
    return "a value after it"


def _taken(param: click.Parameter, ctx: click.Context) -> str:
    """`COLUMN`; `bash, zsh or fish`"""
    if isinstance(param.type, click.Choice):
        return either([str(each) for each in param.type.choices])
    return param.make_metavar(ctx).removesuffix("...")


def _name(option: click.Option) -> str:
    """Its long names, of which any may have been typed."""
    return either([each for each in option.opts if each.startswith("--")] or option.opts)


def _without_alternatives(error: click.BadParameter) -> str:
    """What is wrong with a value; click would quote each of those that it could be."""
    message = error.message.removesuffix(".")
    found, one_of, _ = message.partition(" is not one of ")
    if one_of and error.param is not None and error.ctx is not None:
        return f"{found}: expected {_taken(error.param, error.ctx)}"
    return message
