"""pbloom rule: one rule, all of them, or the page of them in docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill, wrap
from typing import Final

import click

from parquet_bloom.commands.completers import rule_names
from parquet_bloom.commands.sections import Command, output_option
from parquet_bloom.errors import ConfigError
from parquet_bloom.render.terminal import (
    write_bytes,
    write_json,
    write_line,
    write_table,
    write_text,
)
from parquet_bloom.rules.rule import PAGE_WIDTH, Rule, find_rule, kinds, rules
from parquet_bloom.vocabulary import FORMAT_TITLES, Remedy

WIDTH: Final = 80


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[RULE]...", shell_complete=rule_names)
@output_option(
    "--markdown", is_flag=True, help="Write Markdown; without a RULE, the page about all rules."
)
@output_option("--json", "as_json", is_flag=True, help="One JSON document per rule.")
def rule(names: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """Explain the rules of validate.

    RULE is an id or a name; without one, all rules are listed.

    \b
    Examples:
      pbloom rule
      pbloom rule PB305 false-negatives
      pbloom rule PB305 --markdown
    """
    if markdown and as_json:
        raise click.UsageError("expected at most one of --json and --markdown")
    try:
        wanted = [find_rule(name) for name in names]
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None
    if as_json:
        _write_json(wanted or rules().values())
    elif markdown:
        _write_markdown(wanted)
    elif wanted:
        _write_rules(wanted)
    else:
        _write_list()


_REMEDIES: Final[dict[Remedy, str]] = {
    "set length": "`repair` sets the length",
    "remove length": "`repair` removes the length",
    "drop": "`repair` drops the filter, `--rebuild` builds another",
    "rebuild": "`repair --rebuild` builds another filter",
    "nothing": "",
}
_DROP_BAD: Final = "`repair --drop-bad` drops the filter, `--rebuild` builds another"

_INTRODUCTION: Final = """\
# The rules of `pbloom validate`

<!-- `make docs` writes this page from parquet_bloom/rules/catalogue. -->

Each rule has an id that is never reused. The hundreds stand for kinds: structure, portability,
quality, truth, security, ORC files, and legacy filters. An **error** means that readers lose rows,
fail or leak, or that a filter misses your requirements; a **warning**, that some readers stumble or
that the filter is not worth its bytes; a **note** is good to know. Rules that need the stored
values are left out with `--no-deep`:

{values}

{pages} take `--pages`, which decodes every page.

To switch a rule off, put `ignore = ["PB309"]` into the table `[tool.pbloom.validate]` of
`pyproject.toml`, or for one column into `[tool.pbloom.validate.columns."user.id"]`.
`pbloom rule PB309` prints a rule.

To fix a file, [`pbloom repair`](validating.md#repair) changes nothing before the footer. It
corrects lengths and drops pointers to filters that no reader can use; readers then do without. With
`--drop-bad` it also looks up every stored value and drops filters that lose rows; with `--rebuild`
it rebuilds each filter that it drops or that trips readers. `pbloom build --existing replace`
rebuilds all filters of a column."""


def _write_list() -> None:
    """A line for each rule."""
    rows = [(each.id, each.name, str(each.severity), each.title) for each in rules().values()]
    # At 80 columns there is room for whole titles, and for nothing else.
    gives = ("severity", "name", "what is wrong…")
    write_table(("rule", "name", "severity", "what is wrong"), rows, gives)


def _write_rules(wanted: Sequence[Rule]) -> None:
    """Rules for people."""
    for rule in wanted:
        if rule is not wanted[0]:
            write_line()
        write_text(f"{rule.heading} ({rule.severity}): {rule.title}")
        helps = ", then ".join(rule.steps) or rule.by_hand
        write_text(_facts(rule).replace("`", "") + (f" · next: {helps}" if helps else ""))
        text = rule.plain_text.replace("`", "")
        for line in wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False):
            write_line(line)


def _write_markdown(wanted: Sequence[Rule]) -> None:
    """The same in Markdown; without any, the whole page."""
    text = "\n\n".join(section(rule) for rule in wanted) + "\n" if wanted else page()
    write_bytes(text.encode())


def _write_json(wanted: Iterable[Rule]) -> None:
    """One document per rule."""
    for rule in wanted:
        write_json(
            {
                "rule": rule.id,
                "name": rule.name,
                "kind": rule.kind,
                "severity": str(rule.severity),
                "title": rule.title,
                "formats": list(rule.formats),
                "needs_values": rule.needs_values,
                "needs_pages": rule.needs_pages,
                "repair": rule.repair,
                "instead": rule.instead,
                "first": rule.first_command,
                "next": rule.command,
                "by_hand": rule.by_hand,
                "text": rule.text,
            }
        )


def page() -> str:
    """All of docs/rules.md."""
    everything = rules().values()
    shared = _ids(each for each in everything if len(each.formats) > 1)
    values = _ids(each for each in everything if each.needs_values)
    pages = _ids(each for each in everything if each.needs_pages)
    texts = [_INTRODUCTION.format(values=values, pages=pages)]
    for kind in kinds():
        texts += [f"## {kind.title}", kind.prose.strip().format(shared=shared)]
        texts += map(section, kind.rules)
    return "\n\n".join(filter(None, texts)) + "\n"


def section(rule: Rule) -> str:
    """One rule in Markdown."""
    helps = ",\nthen ".join(f"`{each}`" for each in rule.steps) or rule.by_hand
    command = f"\n\nNext: {helps}" if helps else ""
    heading = f"### {rule.heading} ({rule.severity})"
    return f"{heading}\n\n*{_facts(rule)}*{command}\n\n{rule.text}"


def _facts(rule: Rule) -> str:
    """`Parquet, ORC · needs the values · repair --drop-bad drops the filter, …`"""
    remedy = _REMEDIES[rule.repair]
    if rule.is_dropped_on_request:
        remedy = _DROP_BAD
    facts = (
        ", ".join(FORMAT_TITLES[format] for format in rule.formats),
        "needs the values" if rule.needs_values else "",
        "needs `--pages`" if rule.needs_pages else "",
        remedy,
    )
    return " · ".join(fact for fact in facts if fact)


def _ids(found: Iterable[Rule]) -> str:
    """`PB116, PB209, PB210`, wrapped."""
    return fill(", ".join(rule.id for rule in found), PAGE_WIDTH)
