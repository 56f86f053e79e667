"""What click finds wrong with a command line, in one line: *where: what: expected, found*."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import click

from parquet_bloom.errors import similar
from parquet_bloom.render.hints import command
from parquet_bloom.render.stray_words import Typed, column_meant, option_meant, value_meant
from parquet_bloom.render.wording import either
from parquet_bloom.rules.rule import is_rule
from parquet_bloom.storage.paths import is_index
from parquet_bloom.storage.source import has_data_suffix, is_url

# How alike a name must be to be suggested: --colum is near --column, --foo near nothing.
_NEAR: Final = 0.65

# What is looked for.
_VALUE: Final = "--value"

# How the commands about an index name it.
_INDEX: Final = "--index"

# So few commands are all named.
_FEW: Final = 8

# What commands call their FILE... and PATH...
_FILES: Final = ("files", "paths")

# Of options in whose values people put spaces, which are no secrets.
_WITH_SPACES: Final = frozenset(("SIZE", "PERCENT", "RATE", "TIME", "AGE"))

# What others call what commands do, or an option of one: strip takes filters out again, recover what a kill left half
# done.
_CALLED_ELSEWHERE: Final = {
    **dict.fromkeys(("undo", "revert", "rollback"), ("strip", "recover")),
    **dict.fromkeys(("remove", "delete", "drop"), ("strip",)),
    **dict.fromkeys(("add", "create", "write"), ("build",)),
    **dict.fromkeys(("check", "verify", "prove"), ("validate", "check")),
    **dict.fromkeys(("diagnose", "diagnosis"), ("validate --diagnose",)),
    **dict.fromkeys(
        ("query", "search", "lookup", "look-up", "grep", "contains", "count"), ("probe", "find")
    ),
    **dict.fromkeys(
        ("show", "stats", "info", "describe", "inspect", "list", "ls"), ("inspect", "check")
    ),
    "size": ("inspect --summary", "check"),
    "footer": ("dump --footer",),
    "fix": ("repair",),
    "compare": ("diff",),
    "explain": ("rule",),
}

# What is only for a new file that is there already, and the options that name one.
_OVERWRITE: Final = "--overwrite"
_OUTPUTS: Final = ("-o", "--output", "--output-dir", "--report")

# What others call options, and what they are called here, of which a command has some.
_OPTIONS_ELSEWHERE: Final = {
    **dict.fromkeys(
        ("--fpp", "--fpr", "--fp-rate", "--false-positive-rate", "--error-rate", "--rate"),
        ("--fpp", "--max-fpp"),
    ),
    **dict.fromkeys(("-j", "-t", "--jobs", "--workers", "--parallel"), ("--threads",)),
    **dict.fromkeys(("-n", "--simulate"), ("--dry-run",)),
    **dict.fromkeys(("-i", "--replace"), ("--in-place",)),
    # As grep takes a file of patterns.
    "-f": ("--ids", _OVERWRITE),
    **dict.fromkeys(("-y", "--yes", "--force"), (_OVERWRITE,)),
    **dict.fromkeys(("-d", "--out-dir", "--outdir"), ("--output-dir",)),
    **dict.fromkeys(("-o", "--output"), (_INDEX,)),
    **dict.fromkeys(("--cols", "--field", "--fields", "--select"), ("--columns", "--column")),
    **dict.fromkeys(("--rg", "--group", "--groups", "--stripe"), ("--row-group",)),
    **dict.fromkeys(("--id", "--literal", "--equals", "--where"), ("--value",)),
    **dict.fromkeys(("--file", "--values-file"), ("--values-from",)),
    **dict.fromkeys(("--format", "--output-format", "--fmt"), ("--json",)),
    **dict.fromkeys(("--all", "--all-columns"), ("--auto",)),
    **dict.fromkeys(("--skip", "--exclude", "--disable"), ("--ignore",)),
    **dict.fromkeys(("--size", "--filter-size"), ("--max-bytes",)),
    **dict.fromkeys(("--silent", "-s"), ("--quiet",)),
    "--policy": ("--config",),
    **dict.fromkeys(("--key", "--encryption-key"), ("--footer-key",)),
    **dict.fromkeys(
        ("--region", "--endpoint", "--endpoint-url", "--profile"), ("--storage-option",)
    ),
}

# What needs no option.
_NO_ANSWER: Final = (
    "TERM=dumb leaves out the progress, > /dev/null the answer, and the exit code stays"
)
_UNNEEDED: Final = {
    **dict.fromkeys(
        ("-r", "-R", "--recursive"), "folders are searched with all that is below them"
    ),
    **dict.fromkeys(("-q", "--quiet", "-s", "--silent"), _NO_ANSWER),
    **dict.fromkeys(("-f", "--force", "-y", "--yes"), "no command asks before it works"),
    **dict.fromkeys(("--all", "--all-columns"), "where -c may be left out, all columns are meant"),
    **dict.fromkeys(
        ("--limit", "--head", "--top", "--max-rows"),
        "a terminal shows the first of many rows, `| head` those of a pipe",
    ),
    **dict.fromkeys(("--csv", "--tsv"), "a pipe gets lines with tabs, and --json is for programs"),
}

# So few commands are named that have an option.
_FEW_COMMANDS: Final = 3

# So many words are typed again.
_MOST_WORDS: Final = 12

# Of these click has no exception of its own.
_TOO_MANY: Final = re.compile(r"Got unexpected extra arguments? \((.*)\)")


# What a command does without an option of another one.
_DONE_ANYWAY: Final = {
    ("pbloom index probe", "--by-value"): "index probe answers by value anyway",
    (
        "pbloom find",
        "--only",
    ): "--report FILE has what became of each value, also of those that are in no file",
    **dict.fromkeys(
        (
            ("pbloom build", "--version"),
            ("pbloom strip", "--version"),
            ("pbloom repair", "--version"),
        ),
        "the newest version of a table is changed; pbloom --version tells that of pbloom",
    ),
    **dict.fromkeys(
        (("pbloom index add", "-c"), ("pbloom index add", "--column")),
        "an index is of the columns that it was built of; pbloom index build makes another",
    ),
    (
        "pbloom index build",
        "--since",
    ): "pbloom index add brings an index up to date with what is new",
}


def in_one_line(error: click.UsageError, words: Sequence[str] = ()) -> str:
    """`--fpp: '2': expected a rate between 0 and 1`; `--colum: no such option; did you mean --column?` `words`: what
    was typed behind the command or group that the error is about."""
    match error:
        case click.NoSuchOption():
            return f"{error.option_name}: {_option_meant(error, words)}"
        case click.exceptions.NoSuchCommand():
            return f"{error.command_name}: no such command; {_command_meant(error)}"
        case click.MissingParameter(ctx=click.Context() as ctx) if meant := _word_meant(ctx):
            return meant
        case click.MissingParameter():
            return f"expected {_missing(error)}; {_index_meant(error, words) or _see_help(error)}"
        case click.BadOptionUsage():
            return f"{error.option_name}: expected {_expected_after(error)}"
        case click.BadParameter():
            # An argument shows itself in what is wrong with it.
            where = f"{_name(error.param)}: " if isinstance(error.param, click.Option) else ""
            return where + _without_alternatives(error)
    if extra := _TOO_MANY.fullmatch(error.message):
        return _extra_meant(extra[1], error, words)
    return error.message


def _word_meant(ctx: click.Context) -> str | None:
    """What to say of a word among FILE... of a command that names neither column nor value: `id`, `id=42`."""
    if isinstance(ctx.params.get("catalog"), str):
        # Names of tables in a catalog are no files.
        return None
    files = ctx.params.get("files") or ()
    if column := column_meant(files):
        return column
    has_values = any(_VALUE in each.opts for each in ctx.command.params)
    conditions = [each for each in files if "=" in each]
    return value_meant(files, False, True) if has_values and conditions else None


def _extra_meant(extra: str, error: click.UsageError, words: Sequence[str]) -> str:
    """What one more word is, of those that no argument takes, or else the page that says what there is."""
    if error.ctx is not None:
        files = [*filter(os.path.lexists, words), *extra.split(" ")]
        if meant := option_meant(files, typed_for(error.ctx, words)):
            return meant
    return f"{extra}: more arguments than expected; {_see_help(error)}"


def typed_for(ctx: click.Context, words: Sequence[str]) -> Typed:
    """A command line of a command."""
    options = [each for each in ctx.command.params if isinstance(each, click.Option)]
    return Typed(
        words,
        repeatable={name for each in options if each.multiple for name in each.opts},
        single={
            name: partial(_is_value, each, ctx)
            for each in options
            if not (each.multiple or each.is_flag)
            for name in each.opts
        },
    )


def _is_value(option: click.Option, ctx: click.Context, text: str) -> bool:
    """Whether an option for amounts or times takes this text: `--since '2026-11-20 06:00'`, `--budget '2 GiB'`."""
    if _WITH_SPACES.isdisjoint((option.metavar or "").split("|")):
        return False
    with suppress(click.UsageError):
        # A name is any text, as that of a tag for --since.
        return bool(option.process_value(ctx, text) != text)
    return False


def _see_help(error: click.UsageError) -> str:
    """The page that says what there is."""
    path = "pbloom" if error.ctx is None else error.ctx.command_path
    return f"see {path} --help"


def _option_meant(error: click.NoSuchOption, words: Sequence[str]) -> str:
    """Where an option of a command belongs that was typed before it; or else that there is none of this name, and
    which may have been meant, or why none is needed, or where all are."""
    typed, ctx = error.option_name, error.ctx
    if ctx is not None and (having := _commands_with(typed, ctx)):
        if taken := _value_left_out(typed, having, words, ctx):
            other = "; did you mean pbloom --version, or --verbose of a command?" * (typed == "-v")
            return f"expected after a command, with a value, as in {taken}{other}"
        return f"expected after a command, as in {_behind_command(typed, having, words)}"
    options = [] if ctx is None else ctx.command.get_params(ctx)
    names = [name for each in options for name in each.opts if name.startswith("-")]
    called: list[str] = [name for name in _OPTIONS_ELSEWHERE.get(typed, ()) if name in names]
    if called == [_OVERWRITE] and not _writes_anew(names, words):
        called = []
    if called == [_INDEX] and _INDEX in words:
        called = []
    if called and called[0] in words and "--existing" in names:
        called = ["--existing replace"]
    if typed == "-v" and "--verbose" in names and _is_bare(typed, words):
        called = ["--verbose"]
    if ctx is not None and (ctx.command_path, typed) in _DONE_ANYWAY:
        return f"no such option; {_DONE_ANYWAY[ctx.command_path, typed]}"
    if file := next(
        (each for each in words if each.startswith(typed) and os.path.lexists(each)), ""
    ):
        return f"no such option; did you mean {shlex.quote(f'./{file}')}?"
    if typed in _UNNEEDED and not called:
        return f"no such option; {_UNNEEDED[typed]}"
    if near := called[:1] or _spelled_alike(typed, names):
        return f"no such option; did you mean {near[0]}?"
    if other := _command_for(typed, ctx):
        return f"no such option; {other}"
    similar_ones = _near_options(typed, names)
    near_ones = f"did you mean {either(similar_ones)}?" if similar_ones else ""
    return f"no such option; {near_ones or _all_with(typed, ctx) or _see_help(error)}"


def _is_bare(typed: str, words: Sequence[str]) -> bool:
    """Whether no value follows an option: what does is a file or another option."""
    following = words[words.index(typed) + 1 :][:1] if typed in words else []
    return all(word.startswith("-") or os.path.lexists(word) for word in following)


def _writes_anew(names: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the command of these options writes a new file: it always does, or one is named."""
    is_asked = any(word.startswith(_OUTPUTS) for word in words)
    return is_asked or not {*names}.intersection(_OUTPUTS)


def _spelled_alike(typed: str, names: Sequence[str]) -> list[str]:
    """Options that are spelled with other dashes or capitals, or in the singular."""
    return [name for name in names if _bare(name) == _bare(typed)]


def _near_options(typed: str, names: Sequence[str]) -> Sequence[str]:
    """Options that begin with what was typed, or else are near it. Of a letter, such as -V,
    that is the only one that begins so."""
    long = [name for name in names if name.startswith("--")]
    if len(typed) == len("-V"):
        of_letter = [each for each in long if each.startswith(f"-{typed.lower()}")]
        return of_letter if len(of_letter) == 1 else []
    if near := [each for each in long if each.startswith(typed) and len(each) <= 2 * len(typed)]:
        return near
    # Every name begins with dashes, which make none of them alike; help is offered anyway.
    bare = [name.removeprefix("--") for name in long if not name.startswith("--help")]
    return [f"--{each}" for each in similar(typed.lstrip("-"), bare, _NEAR)]


def _bare(name: str) -> str:
    """The same for --dry-run, --dryrun and --dry_run, for --column and --columns, and for -C and -c,
    but not for -v and --v."""
    if not name.startswith("--"):
        return name.lower()
    return "--" + name.lower().replace("-", "").replace("_", "").removesuffix("s")


def _command_for(typed: str, ctx: click.Context | None) -> str:
    """Which other command was meant by an option of one: it is called so, as in `validate --fix`, or has the option,
    or both, as of `find --explain`."""
    group = None if ctx is None else ctx.parent
    if ctx is None or group is None or not isinstance(group.command, click.Group):
        return ""
    if typed in (name for each in group.command.params for name in each.opts):
        return f"did you mean {group.command_path} {typed}?"
    name, verbs = typed.lstrip("-"), group.command.list_commands(group)
    called = [each for each in (name, *_CALLED_ELSEWHERE.get(name, ())) if each.split()[0] in verbs]
    # `pbloom build` for `pbloom spark build`.
    same = f"{ctx.find_root().command_path} {ctx.info_name}"
    having = [each for each in _commands_with(typed, group.parent) if each == same]
    having = having or _commands_with(typed, group)
    having = having if len(having) <= _FEW_COMMANDS else []
    if called and ctx.info_name not in called:
        ways = [f"{group.command_path} {each}" for each in called]
        others = [each for each in having if f"{each} {typed}" not in ways]
        ways = [
            *(f"the command {each}" for each in ways),
            *(f"{typed} of {each}" for each in others),
        ]
        return f"did you mean {either(ways)}?"
    if not having:
        return ""
    return _have_it(having)


def _all_with(typed: str, ctx: click.Context | None) -> str:
    """Which commands beside this one have an option, by their own names; empty for none, or where they are many."""
    having = [] if ctx is None else [each.split()[-1] for each in _commands_with(typed, ctx.parent)]
    return _have_it(having) if 0 < len(having) <= _FEW else ""


def _have_it(commands: Sequence[str]) -> str:
    *most, last = commands
    return f"{', '.join(most)} and {last} have it" if most else f"{last} has it"


def _value_left_out(
    typed: str, having: Sequence[str], words: Sequence[str], ctx: click.Context
) -> str:
    """`pbloom probe -v LITERAL`, if a command, or nothing, follows an option that takes a value; empty for others."""
    following = words[words.index(typed) + 1 :] if typed in words else ["="]
    if not isinstance(ctx.command, click.Group) or (
        following and following[0] not in _names_in(ctx)
    ):
        return ""
    path = next((each for each in having if each.split()[-1] in following[:1]), having[0])
    ((_, found),) = _commands_of(ctx.command, ctx, [path.split()[-1]])
    option = next(each for each in found.params if typed in each.opts)
    if not isinstance(option, click.Option) or option.is_flag:
        return ""
    return f"{path} {typed} {_taken(option, ctx)}"


def _behind_command(typed: str, having: Sequence[str], words: Sequence[str]) -> str:
    """The line with the option behind its command, if one was typed, else a command that has it. No long options and
    no URLs: some have secrets."""
    for path in having:
        _, verb = path.rsplit(" ", 1)
        if verb not in words:
            continue
        if len(words) > _MOST_WORDS or any(word.startswith("--") or is_url(word) for word in words):
            return f"{path} {typed}"
        at = words.index(verb)
        return shlex.join([*path.split(), *words[:at], *words[at + 1 :]])
    return f"{having[0]} {typed}"


def _commands_with(name: str, ctx: click.Context | None) -> list[str]:
    """The commands of a group that have an option of this name: `pbloom index build`."""
    if ctx is None or not isinstance(ctx.command, click.Group):
        return []
    return [
        f"{ctx.command_path} {verb}"
        for verb, each in _commands_of(ctx.command, ctx, ctx.command.list_commands(ctx))
        if any(name in param.opts for param in each.params)
    ]


def _anywhere_with(name: str, ctx: click.Context) -> list[str]:
    """The same of a group and of the groups in it, each as it is typed behind the group's own name."""
    if not isinstance(ctx.command, click.Group):
        return []
    found = [each.partition(" ")[2] for each in _commands_with(name, ctx)]
    for verb, each in _commands_of(ctx.command, ctx, ctx.command.list_commands(ctx)):
        inner = click.Context(each, ctx, info_name=verb)
        found += [having.partition(" ")[2] for having in _commands_with(name, inner)]
    return found


def _commands_of(
    group: click.Group, ctx: click.Context, names: Iterable[str]
) -> Iterator[tuple[str, click.Command]]:
    """Those of a group with these names that its help lists; each is loaded only when it is looked at."""
    for name in names:
        found = group.get_command(ctx, name)
        if found is not None and not found.hidden:
            yield name, found


# So many commands are named that have an option.
_MOST_HAVING: Final = 10


def _command_meant(error: click.exceptions.NoSuchCommand) -> str:
    """The option of this name; that command, if only pbloom itself has it; the one that explains a rule; one that is
    near; one before a file; else all, if they are few."""
    ctx, name = error.ctx, error.command_name
    names = [] if ctx is None else _names_in(ctx)
    if ctx is not None and any(f"--{name}" in each.opts for each in ctx.command.params):
        return f"did you mean --{name}?"
    called = [each for each in _CALLED_ELSEWHERE.get(name, ()) if ctx and _is_call(each, ctx)]
    if not called and ctx is not None and name in _names_in(root := ctx.find_root()):
        return f"did you mean {root.command_path} {name}?"
    if ctx is not None and ctx.parent is None and is_rule(name):
        return f"did you mean {ctx.command_path} rule {name}?"
    if ctx is not None and (subcommand := _in_one_word(name, names, ctx)):
        return f"did you mean {subcommand}?"
    if called:
        return f"did you mean {either(called)}?"
    if ctx is not None and ctx.parent is None and (having := _anywhere_with(f"--{name}", ctx)):
        more = [f"{len(having) - _MOST_HAVING} more"] if len(having) > _MOST_HAVING + 1 else []
        few = having[:_MOST_HAVING] if more else having
        return f"--{name} is an option: {_have_it([*few, *more])}"
    if near := similar(name, names, _NEAR):
        return f"did you mean {either(near)}?"
    if has_data_suffix(name) or os.path.lexists(name):
        return _before_file(error, names)
    return f"expected {either(names)}" if 0 < len(names) <= _FEW else _see_help(error)


def _in_one_word(name: str, names: Sequence[str], ctx: click.Context) -> str:
    """`index add` for `index-add`, as its manual page is called; empty for any other name."""
    outer, _, verb = name.partition("-")
    if outer not in names or not isinstance(ctx.command, click.Group):
        return ""
    group = ctx.command.get_command(ctx, outer)
    has_it = isinstance(group, click.Group) and verb in group.list_commands(ctx)
    return f"{outer} {verb}" if has_it else ""


def _is_call(meant: str, ctx: click.Context) -> bool:
    """Whether a group has this command, with the option that it is named with."""
    verb, *options = meant.split()
    if verb not in _names_in(ctx):
        return False
    return all(f"{ctx.command_path} {verb}" in _commands_with(each, ctx) for each in options)


def _names_in(ctx: click.Context) -> list[str]:
    """Of the commands of a group."""
    return ctx.command.list_commands(ctx) if isinstance(ctx.command, click.Group) else []


def _before_file(error: click.exceptions.NoSuchCommand, names: Sequence[str]) -> str:
    """The command of the same group that shows a file, or the first that takes any; of none, what else judges one."""
    group, ctx, name = error.cmd, error.ctx, error.command_name
    if ctx is not None and ctx.info_name == "index" and is_index(name):
        return f"did you mean {command('index', 'check', _INDEX, name)}?"
    if ctx is None or not isinstance(group, click.Group):
        return _see_help(error)
    by_rank = sorted(names, key=lambda each: each != "inspect")
    for chosen, found in _commands_of(group, ctx, by_rank):
        if _takes_files(found):
            _, *groups = ctx.command_path.split()
            options = [
                word
                for each in found.params
                if isinstance(each, click.Option) and each.required
                for word in (max(each.opts, key=len), _taken(each, ctx))
            ]
            shown = command(*groups, chosen, *options, name)
            return f"expected one before the file, such as {shown}"
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


def _index_meant(error: click.MissingParameter, words: Sequence[str]) -> str:
    """How to name the index that was typed without its option; empty if none was."""
    if error.param is None or _INDEX not in error.param.opts:
        return ""
    named = next(filter(is_index, words), None)
    return f"did you mean {_INDEX} {shlex.quote(named)}?" if named else ""


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


def _file_behind(found: str, param: click.Parameter) -> str:
    """How to say a choice before the file that was taken for one."""
    name = found.strip("'")
    if not isinstance(param.type, click.Choice) or not os.path.lexists(name):
        return ""
    return f"; did you mean {max(param.opts, key=len)} {param.type.choices[0]} {shlex.quote(name)}?"


def _name(option: click.Option) -> str:
    """Its long names, of which any may have been typed."""
    return either([each for each in option.opts if each.startswith("--")] or option.opts)


def _without_alternatives(error: click.BadParameter) -> str:
    """What is wrong with a value; click would quote each of those that it could be."""
    message = error.message.removesuffix(".")
    message = message.replace(" is not a valid float range", ": expected a number")
    found, one_of, _ = message.partition(" is not one of ")
    if one_of and error.param is not None and error.ctx is not None:
        return (
            f"{found}: expected {_taken(error.param, error.ctx)}{_file_behind(found, error.param)}"
        )
    return message
