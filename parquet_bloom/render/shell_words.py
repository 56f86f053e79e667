"""Names in commands that are shown: those with control characters as shells take them, without what moves cursors;
and the first of very many, where people read them."""

from __future__ import annotations

import re
from typing import Final

from parquet_bloom.errors import quoted_name
from parquet_bloom.render.wording import MOST_SHOWN

# What may be pasted into a shell, to the end of the text.
_MEANT: Final = re.compile(r"(?:\Apbloom |next: |did you mean ).*", re.DOTALL)
# An apostrophe as shlex.quote writes it, which begins no quotes; and quotes.
_QUOTES: Final = re.compile(r"\"'\"|'([^']*)'")
_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


# Longer commands fill a screen, and bury what they help against.
MOST_CHARACTERS: Final = 1_000
# The columns of a command, as shlex.quote writes them.
_COLUMNS: Final = re.compile(r"(?<= -c )(?:'[^']*'|\"'\"|[^\s'\";])+")


def in_short(text: str, whole: str) -> str:
    """`text` with the first columns of a command that is longer than what people read, and how many there are;
    `whole`: what shows all."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return _MEANT.sub(
        lambda meant: _COLUMNS.sub(lambda columns: _first_of(columns[0], whole), meant[0]), text
    )


def _first_of(columns: str, whole: str) -> str:
    import shlex

    from parquet_bloom.options import names_in

    names = names_in(shlex.split(columns)[0])
    if len(names) <= MOST_SHOWN:
        return columns
    shown = ",".join(map(quoted_name, names[:MOST_SHOWN]))
    return f"{shown},… ({len(names):,} columns: {whole})"


def for_shells(text: str) -> str:
    """`text` with quotes as `$'a\\tb'`, which bash, zsh and ksh read, around what cannot be shown as it is, in the
    commands and names that the text says are meant."""
    return _MEANT.sub(lambda meant: _QUOTES.sub(_quoted, meant[0]), text)


def _quoted(quotes: re.Match[str]) -> str:
    inside = quotes[1] or ""
    return quotes[0] if inside.isprintable() else "$'{}'".format("".join(map(_escaped, inside)))


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    # As bytes where it is one, of a name that is not UTF-8, too; in octal,
    # which ends after three digits in all shells.
    if code < 0x80 or "\udc80" <= character <= "\udcff":
        return f"\\{code & 0xFF:03o}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
