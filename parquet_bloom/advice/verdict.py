"""Whether a column should get filters: the rules, in order, and nowhere else.

Let a look-up read S of R groups by min/max statistics alone and F with filters (see `lookups`); a
group is a row group, or an index group of ORC. Files that are looked up together count together.

    skip      the column cannot have a filter, has no values, or no engine would ask its filters
              the target FPP is out of reach within the largest size
              one group with few distinct values: look-ups of others are rare
              F > 0.9 S: most groups hold the value, or the statistics tell as much
              S < 1.5 and S - F < 0.5: the column is sorted, min/max leaves one group
    optional  one group: all that a filter can say is that the value is not in it
              F > 0.55 S, or fewer than two groups and less than 0.45 of R saved: clustered
              values of a kind that is seldom looked up by equality
              the filters are larger than the column that they spare
    build     everything else

With values that the user gives, the rules on one group and on the kind of values do not apply:
S and F tell, and somebody does look them up.
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
# A filter of half of the groups reads a little more than that, because of its FPP.
WORTHWHILE = 0.55
MANY_SAVED = 2.0
LARGE = 0.2

# Engines that look a value up in the dictionary page before, or instead of, asking the filter.
DICTIONARY_READERS = "Spark, Trino, Iceberg, ClickHouse and Impala"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers that decide. Sizes in bytes: `filter_bytes` of the filters that are advised,
    `chunk_bytes` of the column's chunks as stored. `groups` are those with values, of all
    `files` that are looked up together. `seldom_asked`: what the values are if nobody is expected
    to look them up by equality, else empty. `limit`: what a filter can be no larger than, in words.
    `reads` is None if nothing can be looked up. `unit`: what a group is called."""

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
        """Row groups that a look-up is spared."""
        return self.reads.by_statistics - self.reads.with_filter if self.reads else 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and why, in words."""

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
        return "no engine asks the filters of such a column"
    if evidence.filters == 0:
        return f"the FPP is out of reach {evidence.limit}"
    if reads is None:
        return "no value that a reader could look up"
    if _is_alone(evidence):
        few = evidence.ndv <= FEW_VALUES
        return f"one {evidence.unit} and {number_of(evidence.ndv, 'distinct value')}" if few else ""
    if reads.by_statistics < SORTED and evidence.saved < SORTED_SAVED:
        return (
            f"min/max leaves {_mean(reads.by_statistics)} of {_groups(evidence)} to a look-up:"
            f" a filter buys nothing"
        )
    if evidence.saved < NOTHING_SAVED * reads.by_statistics:
        return f"a filter excludes next to nothing: {_comparison(evidence)}"
    return ""


def _reason_to_doubt(evidence: Evidence) -> str:
    reads = evidence.reads
    assert reads is not None
    if _is_alone(evidence):
        return (
            f"one {evidence.unit}: a filter can only tell that a value is not in it, which counts"
            " if the table has more; files that are named together are judged together"
        )
    if reads.with_filter > WORTHWHILE * reads.by_statistics:
        return "a filter spares less than half of what min/max leaves"
    if evidence.saved < min(MANY_SAVED, (1 - WORTHWHILE) * evidence.groups):
        return f"min/max leaves few {evidence.unit}s, so that a filter spares few"
    if evidence.seldom_asked and not evidence.is_measured:
        return f"{evidence.seldom_asked} are seldom looked up by equality"
    if evidence.filter_bytes > evidence.chunk_bytes:
        return "the filters are larger than the column"
    return ""


def _is_alone(evidence: Evidence) -> bool:
    """Whether stored values are all that there is to look up in the only group: they are
    there."""
    return evidence.groups == 1 and not evidence.is_measured


def _comparison(evidence: Evidence) -> str:
    reads = evidence.reads
    assert reads is not None
    return (
        f"a look-up reads {_mean(reads.with_filter)} of {_groups(evidence)} with a filter,"
        f" {_mean(reads.by_statistics)} by min/max"
    )


def _notes(evidence: Evidence) -> Iterator[str]:
    share = evidence.filter_bytes / evidence.chunk_bytes if evidence.chunk_bytes else 0.0
    if share > LARGE:
        yield f"the filters take {share:.0%} of the column's bytes"
    if evidence.only_dictionary:
        yield f"all values are in dictionaries, where {DICTIONARY_READERS} find as much"
    if evidence.filters < evidence.groups:
        without = number_of(evidence.groups - evidence.filters, evidence.unit)
        yield f"in {without} the FPP is out of reach"
    if evidence.already >= evidence.groups:
        yield f"every {evidence.unit} has a filter already"
    elif evidence.already:
        has = "has" if evidence.already == 1 else "have"
        yield f"{evidence.already:,} of the {evidence.unit}s {has} a filter already"


def _groups(evidence: Evidence) -> str:
    files = f" in {number_of(evidence.files, 'file')}" if evidence.files > 1 else ""
    return number_of(evidence.groups, evidence.unit) + files


def _mean(groups: float) -> str:
    # What rounds to 10.00 looks odd beside numbers without decimals.
    return f"{groups:,.2f}" if groups < 9.995 else f"{groups:,.0f}"
