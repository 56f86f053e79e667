"""What is claimed about a writer whose filters lack values."""

from __future__ import annotations

import re
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


# Behind it, what was tried is listed in brackets.
TRIED_ON: Final = "; tried on "

_LIST = re.compile(TRIED_ON + r"([\d,]+ missing values?) \[[^]]*\]")


def without_list(undiagnosed: str) -> str:
    """What is said where nothing explains a filter, shorter by all that was tried."""
    return _LIST.sub(rf"{TRIED_ON}\1, in ways that --verbose lists", undiagnosed)


# What writers of either format do.
CLOSED_EARLY: Final = (
    "closed-early",
    "the writer closed the filter too early, before the values of the last rows",
)


OPENED_LATE: Final = (
    "opened-late",
    "the writer opened the filter too late, after the values of the first rows",
)

# Of few values that look like none that was ever inserted into a filter that is right otherwise.
PAGES_MAY_HAVE_CHANGED: Final = (
    ": with so few missing, bytes of a page without a checksum may have changed, and not the filter"
)

# Of pages that agree with all that is said of them, and have no checksums.
NOTHING_TELLS: Final = (
    "either the filter is wrong, or bytes became others that fit, which takes checksums to tell"
)

# Of pages that were read although a checksum says that they, or it, have changed.
CHECKSUM_IGNORED: Final = (
    "a checksum of its pages is wrong and was ignored: bytes of a page may have changed, and not"
    " the filter"
)

# The same of a format without any.
NO_CHECKSUMS: Final = (
    ": either the filter is wrong, or bytes of the values became others that fit, as ORC files have"
    " no checksums"
)

# Of bits that no stored value explains, few of all that are set, in such a format.
VALUES_MAY_HAVE_CHANGED: Final = (
    "or few values became others that fit, as ORC files have no checksums"
)

# What may help where the filter may be that of another file.
GIVEN_BOTH: Final = " (pbloom diff --diagnose finds out, given both)"

# What takes the other file to know.
FILTER_OF_ANOTHER_FILE: Final = "filter-of-another-file"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that a writer may do differently; without a name, what the format says. `clause`
    completes the sentence "the writer ...", or "the writer hashed each value ..."."""

    name: str = ""
    clause: str = ""
