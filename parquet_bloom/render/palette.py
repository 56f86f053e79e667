"""The colours of verdicts and severities on a terminal.

A word is marked where a text is made, and gets its colour where the text is written: what is between knows
the text's width without them. Marks are halves of surrogate pairs, which no name and no value has.

Source: https://no-color.org, https://force-color.org; what 0 means is from
https://nodejs.org/api/cli.html#force_color1-2-3
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from parquet_bloom.vocabulary import ColorChoice

_GREEN, _YELLOW, _RED, _MAGENTA, _CYAN, _DIM = "32", "33", "1;31", "35", "36", "2"

_COLORS: Final = {
    # of values, and of columns
    "absent": _GREEN, "maybe": _YELLOW, "unknown": _MAGENTA,
    "build": _GREEN, "rebuild": _YELLOW, "keep": _GREEN, "left out": _YELLOW, "optional": _YELLOW, "skip": _DIM,
    # of findings, and of files with them
    "error": _RED, "warning": _YELLOW, "note": _CYAN,
    "ok": _GREEN, "ok without filters": _GREEN, "ok where readable": _YELLOW, "not ok": _RED,
    # what became of files and filters
    "built": _GREEN, "stripped": _GREEN, "repaired": _GREEN, "committed": _GREEN, "added": _GREEN,
    "skipped": _YELLOW, "left": _YELLOW, "to read": _YELLOW, "not committed": _YELLOW,
    "would change": _GREEN,
    "still wrong": _RED, "failed": _RED, "not reached": _RED, "not listed": _RED,
    "unchanged": _DIM,
}  # fmt: skip

# The columns of tables that have such words.
HEADINGS: Final = {"verdict", "severity", "status"}

_END: Final = "\ud800"
_MARKS: Final = {color: chr(0xD801 + at) for at, color in enumerate(sorted({*_COLORS.values()}))}
_ESCAPES: Final = {
    ord(_END): "\x1b[0m",
    **{ord(mark): f"\x1b[{color}m" for color, mark in _MARKS.items()},
}
_REMOVED: Final = dict.fromkeys(_ESCAPES)

# What was asked for; None while the answer goes to a file.
_choice: ColorChoice | None = "auto"


def choose(choice: ColorChoice | None) -> ColorChoice | None:
    """Set when colours are used. Returns what was chosen before."""
    global _choice
    before, _choice = _choice, choice
    return before


@contextmanager
def without_colors() -> Iterator[None]:
    before = choose(None)
    try:
        yield
    finally:
        choose(before)


def _is_used() -> bool:
    """Whether standard output gets colours."""
    if _choice != "auto":
        return _choice == "always"
    if are_refused():
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return is_terminal and not is_dumb()


def are_refused() -> bool:
    """Whether nothing may have colours, progress bars on standard error included."""
    if _choice in ("never", "always"):
        return _choice == "never"
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("FORCE_COLOR") == "0"


def is_dumb() -> bool:
    """Whether terminals here take no escape sequences, as rich has it."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def painted(word: str) -> str:
    """A word of the palette, marked; any other as it is. If it is several, each of them is marked, as a
    text is folded between words."""
    color = _COLORS.get(word)
    if color is None or not _is_used():
        return word
    return " ".join(f"{_MARKS[color]}{each}{_END}" for each in word.split(" "))


def unmarked(text: str) -> str:
    return text if text.isascii() else text.translate(_REMOVED)


def in_color(text: str) -> str:
    """With escape sequences for marks."""
    return text if text.isascii() else text.translate(_ESCAPES)
