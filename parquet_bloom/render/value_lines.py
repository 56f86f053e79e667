"""A value alone on a line, as files of values have them: written so that it is read as the same value again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from parquet_bloom.values.given import is_like_header, show_value
from parquet_bloom.values.literals import is_escaped, is_in_quotes, without_quotes
from parquet_bloom.values.types import LiteralInFile, literal

_WILDCARDS = "*%"


def line_of(given: object, value: object, column: str) -> str:
    """The line for a value of `column` that was `given`, which is this `value` of Python. A text that no line can
    have, or that would be read as something else, also one that was given with `--type string`, is the escape of
    its bytes, which columns of text read. What was given as any other type is read as the same value with that
    type again."""
    shown = show_value(value)
    if not isinstance(given, str | literal):
        return shown
    text = shown
    if isinstance(given, str) or given.read_as == "string":
        is_itself = not is_in_quotes(shown) and not is_escaped(shown)
    elif isinstance(given, LiteralInFile) and given.is_verbatim:
        is_itself = not is_in_quotes(shown)
    else:
        is_itself, text = True, without_quotes(shown)
    is_itself = is_itself and _fits(shown) and not is_like_header(shown, [column])
    return shown if is_itself else "\\x" + text.encode(errors="surrogateescape").hex()


def taken_whole(values: Iterable[object]) -> str:
    """Of values that are nowhere, how the first of the command line that looks like several, or like a pattern, was
    understood; empty if none does."""
    for text in (each.text for each in values if type(each) is literal):
        if is_in_quotes(text):
            continue
        parts = [each.strip() for each in text.split(",")]
        if len(parts) > 1 and all(parts):
            several = " ".join(f"-v {shlex.quote(each)}" for each in parts)
            return f"{text!r} was looked up as one value; if it is several: {several}"
        if text.strip(_WILDCARDS) and text != text.strip(_WILDCARDS):
            return f"{text!r} was looked up as is: filters hold whole values, so they cannot be asked for a pattern"
    return ""


def _fits(text: str) -> bool:
    return bool(text) and text.isprintable() and text == text.strip()
