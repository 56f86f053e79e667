"""Write docs/options.md from the commands; `make docs` runs it."""

import sys

import click

from parquet_bloom.commands.pbloom import cli
from parquet_bloom.commands.sections import SECTIONS, section_of
from parquet_bloom.commands.spark import spark

# What these take has tables of its own, or none.
OTHERS = {"rule", "completion", "conformance", "index", "spark"}

INTRODUCTION = """# Which command takes which option

Written by `make docs` from the commands themselves. `pbloom COMMAND --help-all` says what each option
does, in the sections of these tables, and `--help` what those do that most people need. All commands also
have `-h, --help`, `--color` and `--debug`.
"""

LOCAL_NOTES = """An option that is missing would do nothing, or nothing of use:

- `--threads`: `dump` writes one filter. The threads of `inspect` and `probe` read several files at a
  time, or several filters of one file; those of `diff`, several filters; those of `strip` work on
  several files. All others read values, of several column chunks at a time.
- `--output` is the path of the new file if there is one, and otherwise of the answer, which then appears
  there once it is complete.
- `recover` only cuts files back to what they were: it reads no values, and needs no keys.
- `clean-temp` reads nothing in files, either: it goes by their names and ages.
- `--json`: `report` writes a page; `inspect`, `validate` and `advise` say the same in JSON.
- `--dialect`: `inspect` and `validate` find filters of every dialect by themselves, and `strip` removes
  them all; `diff` compares those that `bloom_filter_offset` leads to.
- `--max-bytes` is the largest bitset to build, or that would be built; for `validate`, the largest that
  is allowed.
"""

SPARK = """## On Spark

`pbloom spark VERB` takes these. ✗ stands for an option that is refused, with the way out.
"""

SPARK_NOTES = """- **Keys** never become part of a job, which others can see: a KEYSPEC is `env:VAR` or `file:PATH`, read
  by the executors. `hex:…`, `base64:…`, `ascii:…` and `fd:N` are refused, and so are `--kms-conf`, whose
  values may be secrets, and a password in `--kms-instance-url`. A keys file that the executors can read
  (`--keys`) may have all of them. `MODULE:CLASS` and `MODULE:FUNCTION` are imported by the executors.
- `--audit` takes the place of `--output`: the account of the run is kept there. Spark decides how many tasks run at
  the same time, so there is no `--threads`.
- `--row-group`: the ordinals of row groups mean nothing for a whole lake.
"""

REFUSED_ON_SPARK = {"--kms-conf"}


def spelled(option: click.Option) -> str:
    """`-c, --column`, `--deep/--no-deep`"""
    names = ", ".join(option.opts)
    return "/".join([names, *option.secondary_opts])


def table(
    commands: dict[str, click.Command], refused: frozenset[str] | set[str] = frozenset()
) -> str:
    """One row for each option, with a mark for each command that takes it."""
    rows: dict[str, dict[str, set[str]]] = {section: {} for section in SECTIONS}
    for name, command in commands.items():
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_eager:
                of_section = rows[section_of(option)]
                of_section.setdefault(spelled(option), set()).add(name)
    lines = [f"| | {' | '.join(commands)} |", "|---|" + ":-:|" * len(commands)]
    for section, options in rows.items():
        if options:
            lines.append(f"| **{section}** |" + " |" * len(commands))
        for option, takers in options.items():
            mark = "✗" if option in refused else "✓"
            cells = (mark if name in takers else "" for name in commands)
            lines.append(f"| `{option}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """docs/options.md"""
    local = {name: cli.commands[name] for name in cli.commands if name not in OTHERS}
    return (
        "\n".join(
            [
                INTRODUCTION,
                "## For files at hand\n",
                table(local),
                LOCAL_NOTES,
                SPARK,
                table(dict(spark.commands), REFUSED_ON_SPARK),
                SPARK_NOTES,
            ]
        ).rstrip("\n")
        + "\n"
    )


if __name__ == "__main__":
    sys.stdout.write(page())
