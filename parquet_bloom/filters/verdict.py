"""The verdict on a value: `absent` (certain), `maybe`, or `unknown` for a stated reason."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["absent", "maybe", "unknown"]

NO_FILTER = "no filter"


def verdict_on_all(verdicts: set[Verdict]) -> Verdict:
    """The verdict on a file from those on its parts: `absent` only if all are."""
    if "maybe" in verdicts:
        return "maybe"
    return "unknown" if "unknown" in verdicts else "absent"
