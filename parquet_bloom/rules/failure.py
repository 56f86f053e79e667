"""A file that could not be checked at all, which is neither right nor wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """`message` is one line that names the file."""

    path: str
    message: str
