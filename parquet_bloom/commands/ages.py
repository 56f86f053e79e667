"""Options that take an age."""

from __future__ import annotations

import re
from datetime import timedelta

import click

from parquet_bloom.commands.sections import files_option

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def age(text: str) -> timedelta:
    """`90s`, `30m`, `12h`, `2d`, `1w`."""
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text)
    if matched is None:
        raise click.BadParameter(f"{text}: expected a number and s, m, h, d or w, such as 2d")
    try:
        return timedelta(**{_UNITS[matched[2]]: float(matched[1])})
    except OverflowError:
        raise click.BadParameter(f"{text}: too long ago") from None


def in_seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    return None if text is None else age(text).total_seconds()


older_than = files_option(
    "--older-than",
    callback=in_seconds,
    default="1h",
    show_default=True,
    metavar="AGE",
    help="Only files that nobody has written to for this long.",
)
