"""What an engine does with the filters of a type, by its answers about the four files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engines.files import ABSENT, PRESENT

Answer = dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """`{"rows": […]}` or `{"error": "…"}` about each file, for each value; about the damaged one
    without filters for the first value only."""

    sound: list[Answer]
    damaged: list[Answer] = field(default_factory=list)
    sound_filtered: list[Answer] = field(default_factory=list)
    damaged_filtered: list[Answer] = field(default_factory=list)


RIGHT: list[Answer] = [*({"rows": [row]} for row in PRESENT), *({"rows": []} for _ in ABSENT)]


def outcome(answers: Answers, folder: str, expected: list[Answer] = RIGHT) -> tuple[str, str]:
    """A word, and if there is an error, what it says, without the name of the `folder`. `expected`:
    the right answers.

    refuses   an error even without filters
    fails     an error with filters
    loses     a row that is found without filters is not found with them
    wrong     other rows than the right ones even without filters
    uses      the damage is not found: the filters have excluded the row groups that have it
    ignores   the damage is found
    """
    for found, word in ((answers.sound, "refuses"), (answers.sound_filtered, "fails")):
        for answer in found:
            if "error" in answer:
                return word, answer["error"].replace(folder, "").splitlines()[0][:120]
    for right, without, with_filter in zip(
        expected, answers.sound, answers.sound_filtered, strict=True
    ):
        if without == right != with_filter:
            return "loses", ""
    if answers.sound != expected:
        return "wrong", ""
    assert answers.damaged != expected[:1], "the damage is not found even without filters"
    return ("uses" if answers.damaged_filtered == expected else "ignores"), ""
