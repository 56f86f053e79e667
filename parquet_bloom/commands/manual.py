"""Where the manual pages are: man does not look into every environment into which a package is installed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Final

# Beside lib/ and bin/, or in the root of the source.
_FOLDER: Final = os.path.join("share", "man")


def how_to_read(code: str) -> str:
    """What makes man show them. code: the path of a file of this package, below whose environment the pages are."""
    for above in _folders_above(code):
        folder = os.path.join(above, _FOLDER)
        if os.path.isfile(os.path.join(folder, "man1", "pbloom-build.1")):
            commands = os.path.join(above, "bin")
            by_itself = f"\nWithout -M, man finds the pages if {commands} is in PATH."
            return f"man -M {shlex.quote(folder)} pbloom-build{by_itself * os.path.isdir(commands)}"
    return "no manual pages here: `pbloom build --help-all` says the same"


def _folders_above(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above
