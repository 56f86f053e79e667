"""What is claimed about a writer whose filters lack values."""

from __future__ import annotations

from typing import Final

from parquet_bloom.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the writer seems to have done instead: of `tried` stored values looked up that way, `hits`
    are found; both are 0 where what was hashed is no longer in the file. `hypothesis` is a stable
    name, `explanation` a sentence."""

    hypothesis: str
    explanation: str
    hits: int
    tried: int


# What writers of either format do.
CLOSED_EARLY: Final = (
    "closed-early",
    "the writer closed the filter too early, before the values of the last rows",
)


OPENED_LATE: Final = (
    "opened-late",
    "the writer opened the filter too late, after the values of the first rows",
)

# What takes the other file to know.
FILTER_OF_ANOTHER_FILE: Final = "filter-of-another-file"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that a writer may do differently; without a name, what the format says. `clause`
    completes the sentence "the writer ...", or "the writer hashed each value ..."."""

    name: str = ""
    clause: str = ""
