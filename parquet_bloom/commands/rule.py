"""pbloom rule"""

from __future__ import annotations

import click

from parquet_bloom.commands.completers import rule_names
from parquet_bloom.commands.sections import Command, output_option


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[RULE]...", shell_complete=rule_names)
@output_option(
    "--markdown", is_flag=True, help="Write Markdown; without a RULE, all of docs/rules.md."
)
@output_option("--json", "as_json", is_flag=True, help="One JSON document per rule.")
def rule(names: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """Explain the rules of validate.

    RULE is an id or a name; without one, all rules are listed.

    \b
    Example:
      pbloom rule PB305 false-negatives
    """
    from parquet_bloom.errors import ConfigError
    from parquet_bloom.render import rule as render
    from parquet_bloom.rules.rule import find_rule, rules

    if markdown and as_json:
        raise click.UsageError("expected at most one of --json and --markdown")
    try:
        wanted = [find_rule(name) for name in names]
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None
    if as_json:
        render.write_json_rules(wanted or rules().values())
    elif markdown:
        render.write_markdown(wanted)
    elif wanted:
        render.write_rules(wanted)
    else:
        render.write_list()
