"""Whether a column should get filters: the rules, in order, and nowhere else.

Of R groups (row groups, or index groups of ORC), let a look-up read S by min/max statistics alone
and F with filters (see `lookups`). Files that are searched together count together.

    skip      the column cannot have a filter, has no values, or no engine would use its filters
              the target FPP is out of reach at the largest size
              one group with few distinct values: other values are seldom looked up
              S < 1.5 and S - F < 0.5: the column is sorted, min/max leaves one group
              F > 0.9 S: most groups hold the value, or the statistics tell as much
    optional  one group: all that a filter can say is that the value is not in it
              F > 0.55 S, or fewer than two groups and less than 0.45 of R saved: clustered
              values of a kind that is seldom looked up by equality
              the filters are larger than the column
    build     everything else

With look-up values from the user, the rules about one group and about kinds of values do not apply:
S and F say enough, and these values are looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.container import number_of
from parquet_bloom.vocabulary import NO_VALUES, AdviceVerdict

FEW_VALUES = 100
NOTHING_SAVED = 0.1
SORTED = 1.5
SORTED_SAVED = 0.5
# Reading half of the groups takes a little more than half, because of the FPP.
WORTHWHILE = 0.55
MANY_SAVED = 2.0
LARGE = 0.2

# Engines that look a value up in the dictionary page before, or instead of, using the filter.
DICTIONARY_READERS = "Spark, Trino, Iceberg, ClickHouse and Impala"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers that decide.

    `files`: those that are searched together; `groups`: those with values, in all files. Sizes are
    in bytes: `filter_bytes` of the filters that `build` would write, `chunk_bytes` of the column as
    stored. `already`: groups that have a filter. `seldom_asked`: what the values are, if they are
    seldom looked up by equality, else empty. `limit`: what limits the size of a filter, in words.
    `is_measured`: the user gives look-up values. `reads`: None if nothing can be looked up. `unit`:
    what a group is called.
    """

    files: int
    groups: int
    ndv: int
    filters: int
    filter_bytes: int
    chunk_bytes: int
    only_dictionary: bool
    seldom_asked: str
    has_engine: bool
    already: int
    limit: str
    is_measured: bool
    reads: ExpectedReads | None
    unit: str = "row group"

    @property
    def saved(self) -> float:
        """How many groups fewer a look-up reads."""
        return self.reads.by_statistics - self.reads.with_filter if self.reads else 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and why."""

    verdict: AdviceVerdict
    reason: str


def judge(evidence: Evidence) -> Judgement:
    """The verdict on a column that can have filters."""
    skip = _reason_to_skip(evidence)
    if skip:
        return Judgement("skip", skip)
    doubt = _reason_to_doubt(evidence)
    verdict: AdviceVerdict = "optional" if doubt else "build"
    reasons = [doubt] if doubt else []
    if not _is_alone(evidence):
        reasons.append(_comparison(evidence))
    return Judgement(verdict, "; ".join([*reasons, *_notes(evidence)]))


def _reason_to_skip(evidence: Evidence) -> str:
    reads = evidence.reads
    if evidence.groups == 0:
        return NO_VALUES
    if not evidence.has_engine:
        return "no engine uses filters on such a column"
    if evidence.filters == 0:
        return f"the target FPP is out of reach {evidence.limit}"
    if reads is None:
        return "no values that a reader could look up"
    if _is_alone(evidence):
        few = evidence.ndv <= FEW_VALUES
        return (
            f"one {evidence.unit} with {number_of(evidence.ndv, 'distinct value')}" if few else ""
        )
    if reads.by_statistics < SORTED and evidence.saved < SORTED_SAVED:
        return (
            f"min/max already narrows a look-up to {_mean(reads.by_statistics)} of"
            f" {_groups(evidence)}, so a filter would save nothing"
        )
    if evidence.saved < NOTHING_SAVED * reads.by_statistics:
        return f"a filter rules out next to nothing: {_comparison(evidence)}"
    return ""


def _reason_to_doubt(evidence: Evidence) -> str:
    reads = evidence.reads
    assert reads is not None
    if _is_alone(evidence):
        return (
            f"one {evidence.unit}: a filter can only say that a value is not in it, which helps if"
            " the table has more; name all its files to have them judged together"
        )
    if reads.with_filter > WORTHWHILE * reads.by_statistics:
        return "a filter saves less than half of what min/max leaves to read"
    if evidence.saved < min(MANY_SAVED, (1 - WORTHWHILE) * evidence.groups):
        return f"min/max leaves few {evidence.unit}s to read, so a filter saves few"
    if evidence.seldom_asked and not evidence.is_measured:
        return f"{evidence.seldom_asked} are seldom looked up by equality"
    if evidence.filter_bytes > evidence.chunk_bytes:
        return "the filters are larger than the column"
    return ""


def _is_alone(evidence: Evidence) -> bool:
    """Whether only stored values are looked up, in the only group: they are always found."""
    return evidence.groups == 1 and not evidence.is_measured


def _comparison(evidence: Evidence) -> str:
    reads = evidence.reads
    assert reads is not None
    return (
        f"a look-up reads {_mean(reads.with_filter)} of {_groups(evidence)} with a filter,"
        f" {_mean(reads.by_statistics)} with min/max alone"
    )


def _notes(evidence: Evidence) -> Iterator[str]:
    share = evidence.filter_bytes / evidence.chunk_bytes if evidence.chunk_bytes else 0.0
    if share > LARGE:
        yield f"the filters are {share:.0%} of the column's size"
    if evidence.only_dictionary:
        yield f"all values are in dictionaries, which tell {DICTIONARY_READERS} as much"
    if evidence.filters < evidence.groups:
        without = number_of(evidence.groups - evidence.filters, evidence.unit)
        yield f"the target FPP is out of reach in {without}"
    if evidence.already >= evidence.groups:
        yield f"every {evidence.unit} already has a filter"
    elif evidence.already:
        has = "has" if evidence.already == 1 else "have"
        yield f"{evidence.already:,} of the {evidence.unit}s already {has} a filter"


def _groups(evidence: Evidence) -> str:
    files = f" in {number_of(evidence.files, 'file')}" if evidence.files > 1 else ""
    return number_of(evidence.groups, evidence.unit) + files


def _mean(groups: float) -> str:
    # 10.00 would look odd beside numbers without decimals.
    return f"{groups:,.2f}" if groups < 9.995 else f"{groups:,.0f}"
