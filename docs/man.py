"""Write share/: a manual page for each command, and the scripts with which shells complete; `make docs` runs it.

They are installed with the package, where `man` and shells look for them.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap

import click
from click.testing import CliRunner

from parquet_bloom import __version__
from parquet_bloom.commands.pbloom import COMMANDS, cli
from parquet_bloom.commands.sections import SECTIONS, section_of
from parquet_bloom.filters.sizing import SIZES

# Of the version.
DATE = "2026-11-26"

# Of a line of a page, which is filled anew by whatever shows it.
WIDTH = 78

PAGES = "man/man1"
SCRIPTS = {
    "bash": "bash-completion/completions/pbloom",
    "zsh": "zsh/site-functions/_pbloom",
    "fish": "fish/vendor_completions.d/pbloom.fish",
}

EXIT_STATUS = {
    "0": "Success, or yes.",
    "1": "No, where this page says so.",
    "2": "An error, unless the description says otherwise.",
    "128 and above": "Ended by a signal, whose number is the rest.",
}
# Of those that stand for an option, a page has what its command takes.
ENVIRONMENT = {
    "PBLOOM_DEBUG": "Show the traceback of an error, as --debug does.",
    "PBLOOM_KEYS": "A JSON file of keys, as --keys.",
    "PBLOOM_HASH_KEY": "A KEYSPEC, as --hash-key of an index.",
    "NO_COLOR": "If it is not empty, nothing is in colour.",
    "FORCE_COLOR": "If it is not empty, verdicts and severities are in colour, on a terminal or not; 0 turns colour off.",
    "TERM": "If it is dumb, no progress is drawn.",
}


def files() -> dict[str, str]:
    """What share/ has, by path."""
    context = click.Context(cli, info_name="pbloom", **cli.context_settings)
    found = {f"{PAGES}/{name}.1": page for name, page in _pages(context)}
    for shell, path in SCRIPTS.items():
        found[path] = CliRunner().invoke(cli, ["completion", shell]).stdout
    return found


def _pages(context: click.Context) -> Iterator[tuple[str, str]]:
    """Of a command, and of those in it."""
    command = context.command
    name = context.command_path.replace(" ", "-")
    yield name, "".join(f"{line}\n" for line in _page(name, context))
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from _pages(click.Context(inner, parent=context, info_name=each))


def _page(name: str, context: click.Context) -> Iterator[str]:
    command = context.command
    about, *paragraphs = _help_of(command)
    yield '.\\" Written by `make docs` from the commands themselves.'
    yield f'.TH {_text(name.upper())} 1 {DATE} "parquet\\-bloom {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(about.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(context.command_path)}"
    yield _text(" ".join(command.collect_usage_pieces(context)))
    examples: list[str] = []
    body = []
    for paragraph in paragraphs:
        lines = paragraph.split("\n")
        if lines[0] == "\b" and lines[1] in ("Example:", "Examples:"):
            examples = lines[2:]
        else:
            body.append(lines)
    for place, lines in enumerate(body):
        yield ".PP" if place else ".SH DESCRIPTION"
        yield from _verbatim(lines[1:]) if lines[0] == "\b" else _filled(" ".join(lines))
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for each in command.list_commands(context):
            yield from _item(
                f"\\fB{_text(f'{name}-{each}')}\\fR(1)", _about(command, context, each)
            )
    yield ".SH OPTIONS"
    yield from _options(context)
    if examples:
        yield ".SH EXAMPLES"
        yield from _verbatim(map(str.strip, examples))
    yield from _items("EXIT STATUS", _exit_status(command))
    yield from _items("ENVIRONMENT", _environment(command))
    yield from _see_also(name, context)


def _exit_status(command: click.Command) -> dict[str, str]:
    """The codes with which a command may end."""
    texts = (getattr(each, "help", None) for each in (command, *command.params))
    says_no = any(
        re.search(r"xit code 1\b|\b1 is no\b", cleandoc(text or "").replace("\n", " "))
        for text in texts
    )
    return {code: about for code, about in EXIT_STATUS.items() if says_no or code != "1"}


def _environment(command: click.Command) -> dict[str, str]:
    """What the environment says to a command, or to any of a group."""
    own = {each.envvar for of in _with_inner(command) for each in of.params}
    others = {each.envvar for of in _with_inner(cli) for each in of.params} - own
    return {name: about for name, about in ENVIRONMENT.items() if name not in others}


def _with_inner(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for name in command.commands:
            yield from _with_inner(command.commands[name])


def _about(group: click.Group, context: click.Context, name: str) -> str:
    if group is cli:
        return COMMANDS[name]
    command = group.get_command(context, name)
    assert command is not None
    return _help_of(command)[0]


def _help_of(command: click.Command) -> list[str]:
    """Its paragraphs."""
    return cleandoc(command.help or "").split("\n\n")


def _options(context: click.Context) -> Iterator[str]:
    """All, in the sections and the order of --help-all."""
    options = [
        each for each in context.command.get_params(context) if isinstance(each, click.Option)
    ]
    for section in SECTIONS:
        rows = [
            row
            for each in options
            if section_of(each) == section and (row := each.get_help_record(context)) is not None
        ]
        if rows and not isinstance(context.command, click.Group):
            yield f".SS {_text(section)}"
        for names, help in rows:
            yield from _item(_spelled(names), help)
    if any(each.metavar == "SIZE" for each in options):
        yield ".PP"
        yield from _filled(f"SIZE: {SIZES}.")


def _spelled(names: str) -> str:
    """`-c, --column COLUMN`: the names bold, what follows them in italics."""
    return re.sub(
        r"(?<![\w-])(--?[\w-]+)|([^,/\s]\S*)",
        lambda found: f"\\fB{_text(found[1])}\\fR" if found[1] else f"\\fI{_text(found[2])}\\fR",
        names,
    )


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    yield ".nf"
    yield from map(_text, lines)
    yield ".fi"


def _filled(text: str) -> Iterator[str]:
    for line in wrap(_escaped(text), WIDTH, break_long_words=False, break_on_hyphens=False):
        yield _guarded(line)


def _items(title: str, items: dict[str, str]) -> Iterator[str]:
    yield f".SH {title if ' ' not in title else chr(34) + title + chr(34)}"
    for name, help in items.items():
        yield from _item(f"\\fB{_text(name)}\\fR", help)


def _item(name: str, help: str) -> Iterator[str]:
    yield ".TP"
    yield name
    yield from _filled(help)


def _see_also(name: str, context: click.Context) -> Iterator[str]:
    related = [] if context.parent is None else [context.parent.command_path.replace(" ", "-")]
    if context.parent is not None and isinstance(context.parent.command, click.Group):
        names = context.parent.command.list_commands(context.parent)
        related += [f"{related[0]}-{each}" for each in names if f"{related[0]}-{each}" != name]
    if related:
        yield '.SH "SEE ALSO"'
        yield ",\n".join(f".BR {_text(each)} (1)" for each in related).replace("(1),", "(1) ,")


def _text(text: str) -> str:
    """As roff reads it."""
    return _guarded(_escaped(text))


def _escaped(text: str) -> str:
    for character, escape in (
        ("\\", "\\e"),
        ("-", "\\-"),
        ("'", "\\(aq"),
        ("`", "\\(ga"),
        ("…", "..."),
    ):
        text = text.replace(character, escape)
    return text


def _guarded(line: str) -> str:
    """A line of text that no macro is taken for."""
    return f"\\&{line}" if line.startswith(".") else line


def main(folder: Path) -> None:
    found = files()
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in found:
            path.unlink()
    for name, text in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
