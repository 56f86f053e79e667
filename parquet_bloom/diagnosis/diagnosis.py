"""What is claimed of a writer whose filters lack values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the writer seems to have done instead: of `tried` stored values that are looked up that
    way, `hits` are found; none is tried where what was hashed is not in the file any more.
    `hypothesis` is a stable name, `explanation` a sentence."""

    hypothesis: str
    explanation: str
    hits: int
    tried: int
