"""What can be said of a value: `absent` (certain), `maybe`, or `unknown`, for a reason."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["absent", "maybe", "unknown"]

NO_FILTER = "no filter"


def verdict_on_all(verdicts: set[Verdict]) -> Verdict:
    """The verdict on a file with these verdicts on its parts: `absent` only if all are."""
    if "maybe" in verdicts:
        return "maybe"
    return "unknown" if "unknown" in verdicts else "absent"
