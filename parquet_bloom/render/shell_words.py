"""Names with control characters in commands that are shown: as shells take them, without what moves cursors."""

from __future__ import annotations

import re
from typing import Final

# What may be pasted into a shell, to the end of the text.
_MEANT: Final = re.compile(r"(?:\Apbloom |next: |did you mean ).*", re.DOTALL)
# An apostrophe as shlex.quote writes it, which begins no quotes; and quotes.
_QUOTES: Final = re.compile(r"\"'\"|'([^']*)'")
_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


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
    # As bytes where it is one, of a name that is not UTF-8, too; in octal, which ends after three digits in all shells.
    if code < 0x80 or "\udc80" <= character <= "\udcff":
        return f"\\{code & 0xFF:03o}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
