"""Whether a column should get filters: the rules, in order, and nowhere else.

Of R groups (row groups, or index groups of ORC), let a look-up read S with min/max statistics alone, or with
dictionaries where all engines that are asked about search these first, and F with filters (see `lookups`). Files
that are searched together count together.

    skip      the column cannot have a filter, has no values, or no engine would use its filters
              all values are in dictionaries, and to all engines that are asked about a search of these tells as much
              the target FPP is out of reach at the largest size
              one group with few distinct values: other values are seldom looked up
              S < 1.5 and S - F < 0.5: the column is sorted, min/max leaves one group
              F > 0.9 S: most groups hold the value, or the statistics tell as much
    optional  one group: all that a filter can say is that the value is not in it
              F > 0.55 S, or fewer than two groups and less than 0.45 of R saved: clustered
              values of a kind that is seldom looked up by equality
              the filters are larger than the column
    build     everything else

A column that a policy wants filters of gets them if it can have any, whatever they save. With look-up values from the
user, the rules about one group and about kinds of values do not apply: S and F say enough,
and these values are looked up.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field
from math import ceil
from typing import NamedTuple

from parquet_bloom.advice.budget import LEAST_SAVED, RATES, Offer
from parquet_bloom.advice.lookups import FPP_UNIT, ExpectedReads
from parquet_bloom.advice.sketch import ColumnCounts, UnreadFiles
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import EngineUse, always_so, engine_note
from parquet_bloom.filters.rates import exact_percent, percent
from parquet_bloom.filters.sizing import (
    HIGH_FPP,
    LARGE_SHARE_OF_COLUMN,
    MUCH_LESS_ROOM,
    bytes_with_room,
    room_for_fewer,
)
from parquet_bloom.options import DEFAULT_FPP
from parquet_bloom.values.types import LeafType
from parquet_bloom.vocabulary import NAME_ALL_FILES, NEEDLESS, NO_VALUES, AdviceVerdict

FEW_VALUES = 100
# Rows of a row group in which several, each with many values, could be.
LARGE_GROUP = 500_000
NOTHING_SAVED = 0.1
SORTED = 1.5
SORTED_SAVED = 0.5
# Reading half of the groups takes a little more than half, because of the FPP.
WORTHWHILE = 0.55
MANY_SAVED = 2.0

MIN_MAX = "min/max"
DICTIONARY = "the dictionary"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the verdict follows from: `counts` and `ndv` of the column in files that are searched together; `unread`:
    those that are searched with them, of which nothing is known.

    `limit`: what limits the size of a filter, in words; `users`: the engines that use filters of the column;
    `seldom_asked`: what the values are, if they are rarely looked up by equality, else empty; `is_measured`: the user
    gives look-up values;
    `engines`: for which alone to judge, none for all; `ignoring`: those of them that use no filter of any column,
    with what to do about it; `not_by`: all of them that do not use filters of the column, with why; `not_for`: what
    it is about the column that others do not use its filters for; `reads`: None if nothing can be looked up;
    `before`: what alone tells what is read without filters; `unit`: what a group is called; `are_packed`: new
    filters may be smaller than was counted, as they are compressed; `target`: the usual rate; `reachable`: the
    lowest of the rates that were tried which filters keep, None for none; `built`: what the column has once its
    filters are built, at another rate or beside filters that stay, None for new ones of the target alone;
    `is_budgeted`: a budget has chosen it; `highest_rate`: what filters that more absent values pass are too small
    for; `accepted_rate`: the highest that a policy accepts, None without one; `is_required`: it wants filters of
    the column; `asked_rate`: that which the user asks for, None if for none; `worse_there`: by the rate of new
    filters, how many groups have one that lets more pass, as far as that is known; `are_kept`: every group with
    values has a filter, and `build` keeps all of them.
    """

    counts: ColumnCounts
    ndv: int
    limit: str
    users: tuple[str, ...]
    seldom_asked: str
    is_measured: bool
    reads: ExpectedReads | None
    before: str = MIN_MAX
    unit: str = "row group"
    are_packed: bool = False
    target: float = DEFAULT_FPP
    reachable: float | None = None
    built: Offer | None = None
    is_budgeted: bool = False
    engines: tuple[str, ...] = ()
    ignoring: tuple[str, ...] = ()
    not_by: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    highest_rate: float = HIGH_FPP
    accepted_rate: float | None = None
    is_required: bool = False
    asked_rate: float | None = None
    worse_there: Mapping[float, int] = field(default_factory=dict)
    unread: UnreadFiles = field(default_factory=UnreadFiles)
    are_kept: bool = False

    @property
    def saved(self) -> float:
        """How many groups fewer a look-up reads."""
        return self.reads.by_statistics - self.reads.with_filter if self.reads else 0.0

    @property
    def filter_bytes(self) -> int:
        """Of the filters that the column has once they are built."""
        return self.built.num_bytes if self.built else self.counts.filter_bytes

    @property
    def least_bytes(self) -> int:
        """Of new filters of the target, or of those that are there if they are kept and smaller."""
        new = self.counts.filter_bytes
        return min(new, self.counts.bytes_there) if self.are_kept else new

    @property
    def other_rate(self) -> Offer | None:
        """What is built in place of the target, None for the target."""
        is_other = self.built and (self.is_budgeted or self.built.rate != self.target)
        return self.built if is_other else None

    @property
    def groups_read(self) -> float | None:
        """How many groups a look-up reads where there are filters, in the engines that are asked about; None if
        nothing can be looked up."""
        if self.reads is None:
            return None
        if (whatever := self._read_in_any_case) is not None:
            return whatever
        return self._read_with_new

    @property
    def has_all(self) -> bool:
        """Whether every group with values has a filter already."""
        return self.counts.with_filter == self.counts.groups > 0

    @property
    def mean_fpp_there(self) -> float:
        """Of the filters that are there, as far as it is known, and where there are none, 1."""
        return self.counts.fpp_there * FPP_UNIT / self.counts.groups

    @property
    def are_as_good(self) -> bool:
        """Whether every group with values has a filter already, and none lets more pass than a new one would."""
        rate = self.built.rate if self.built else self.target
        return self.has_all and self.worse_there.get(rate) == 0

    @property
    def groups_there(self) -> float | None:
        """The same with the filters that are there; None if there are none."""
        if self.reads is None or not self.counts.with_filter:
            return None
        if (whatever := self._read_in_any_case) is not None:
            return whatever
        read = self.reads.with_those_there
        # New ones are told by the mean of their FPPs.
        return min(read, self._read_with_new) if self.are_as_good else read

    @property
    def _read_with_new(self) -> float:
        assert self.reads is not None
        return self.built.groups_read if self.built else self.reads.with_filter

    @property
    def _read_in_any_case(self) -> float | None:
        """What a look-up reads whatever filters there are: in engines that use none, what min/max leaves, and in
        those that search dictionaries, what has it there; None where it depends on them."""
        assert self.reads is not None
        if not self.users:
            return self.reads.by_statistics
        return self.reads.in_dictionaries if self.all_search_dictionaries else None

    @property
    def in_dictionaries(self) -> tuple[str, ...]:
        """The engines to which filters tell no more than dictionaries."""
        return searching_instead(self.counts, self.reads, self.users)

    @property
    def all_search_dictionaries(self) -> bool:
        """Whether all that are asked about, and would use filters of the column, do,
        so that none is any use to them."""
        return bool(self.engines) and {*self.in_dictionaries} == {*self.users}

    @property
    def is_alone(self) -> bool:
        """Whether only stored values are looked up, in the only group: they are always found."""
        return self.counts.groups == 1 and not self.is_measured

    @property
    def groups(self) -> str:
        """`20 row groups in 2 files`"""
        among = self.counts.files
        files = f" in {number_of(among, 'file')}" if among > 1 else ""
        return number_of(self.counts.groups, self.unit) + files


def searching_instead(
    counts: ColumnCounts, reads: ExpectedReads | None, among: Container[str]
) -> tuple[str, ...]:
    """The engines to which filters tell no more than dictionaries, as these have all values: those that do not ask
    filters then, and those that ask both, unless dictionaries have values that no row there has."""
    if not counts.only_dictionary:
        return ()
    if has_unused(reads):
        return always_so("only dictionaries, with unused entries", among)
    return always_so("only dictionaries", among)


def has_unused(reads: ExpectedReads | None) -> bool:
    """Whether dictionaries have so many values that no row there has that a search of them reads more."""
    return reads is not None and reads.in_dictionaries - reads.holding >= LEAST_SAVED


def asks_after_dictionaries(
    counts: ColumnCounts, reads: ExpectedReads | None, users: tuple[str, ...]
) -> bool:
    """Whether all of these search dictionaries, in some groups at least, and filters tell some of them more."""
    searching = always_so("only dictionaries", users) if counts.with_dictionary else ()
    return {*searching} == {*users} != {*searching_instead(counts, reads, users)}


def seldom_asked(type: LeafType) -> str:
    """What the values are, if they are rarely looked up by equality; else empty.

    Amounts and points in time are looked up by range. Decimals without a fraction can be keys.
    """
    if type.is_unknown:
        return "values of an unknown type"
    if type.is_float:
        return "floating-point numbers"
    if type.logical_name == "DECIMAL" and type.logical and type.logical.scale > 0:
        return "decimals with a fraction"
    if type.logical_name in ("TIME", "TIMESTAMP"):
        return "points in time"
    return ""


def judge(evidence: Evidence) -> tuple[AdviceVerdict, str]:
    """The verdict on a column that can have filters, and the reason."""
    skip = _reason_to_skip(evidence)
    is_required = evidence.is_required and evidence.counts.filters > 0
    if skip and not is_required:
        there = _those_for_nothing(evidence)
        reasons = [skip, _searched_in_some(evidence), _not_judged(evidence), there]
        return "skip", "; ".join(filter(None, reasons))
    doubt = skip or _reason_to_doubt(evidence)
    is_wanted = is_required or not doubt
    saves = ""
    if not skip:
        saves = _not_needed_for(evidence) if evidence.is_alone else _saved_for_others(evidence)
    reasons = [
        "the policy wants filters" if is_required and doubt else "",
        *_those_there(evidence),
        doubt,
        saves,
        _not_judged(evidence),
        *_notes(evidence),
    ]
    return "build" if is_wanted else "optional", "; ".join(filter(None, reasons))


def _saved_for_others(evidence: Evidence) -> str:
    """What filters save, and right behind it for whom they do not: a clause of its own,
    the same for all such columns."""
    names = evidence.in_dictionaries
    if not names:
        return _comparison(evidence)
    do = "searches" if len(names) == 1 else "search"
    return (
        f"{_comparison(evidence)}; {_listed(names)} {do} the dictionaries instead, which have"
        " all values"
    )


def _not_needed_for(evidence: Evidence) -> str:
    names = evidence.in_dictionaries
    return f"not needed for {_listed(names)}: all values are in dictionaries" if names else ""


def _reason_to_skip(evidence: Evidence) -> str:
    counts, reads = evidence.counts, evidence.reads
    if counts.groups == 0:
        return NO_VALUES
    if not evidence.users:
        return _who_uses_none(evidence)
    if evidence.all_search_dictionaries:
        return "; ".join(
            filter(None, (_searched_instead(evidence), _repeated(evidence), _not_used(evidence)))
        )
    if counts.filters == 0:
        rate = evidence.reachable
        instead = "" if rate is None else f"; {exact_percent(rate)} would fit"
        return f"{_out_of_reach(evidence)} {evidence.limit}{instead}"
    if reads is None:
        return "no values that a reader could look up"
    if evidence.is_alone:
        if evidence.ndv > FEW_VALUES:
            return ""
        return f"one {evidence.unit} with {number_of(evidence.ndv, 'distinct value')}"
    if reads.by_statistics < SORTED and evidence.saved < SORTED_SAVED:
        return (
            f"{evidence.before} alone leaves {_mean(reads.by_statistics)} of {evidence.groups} to read,"
            " so a filter would save nothing"
        )
    if evidence.saved < NOTHING_SAVED * reads.by_statistics:
        why = "; ".join(filter(None, [_comparison(evidence), _ignored(evidence)]))
        return f"a filter rules out next to nothing: {why}"
    return ""


def _out_of_reach(evidence: Evidence) -> str:
    return f"the target FPP of {exact_percent(evidence.target)} is out of reach"


def _searched_instead(evidence: Evidence) -> str:
    """What a look-up reads where dictionaries are searched, with filters and without them."""
    instead = f"{_not_needed_for(evidence)}, which are searched instead of the filters"
    if evidence.reads is None:
        return instead
    read = _mean(evidence.reads.in_dictionaries)
    return f"{instead}, so a look-up reads {read} of {evidence.groups}"


def _repeated(evidence: Evidence) -> str:
    """That a search of dictionaries reads more than it would if these had the values of rows alone."""
    count, reads = evidence.counts.with_unused, evidence.reads
    if reads is None or not has_unused(reads):
        return ""
    return (
        f"in {number_of(count, evidence.unit)}, the dictionary has values that no row there has, as of a categorical "
        f"column: by dictionaries alone, a look-up reads {_mean(reads.in_dictionaries)}, and"
        f" {_mean(reads.holding)} if the column is written as text"
    )


def _ignored(evidence: Evidence) -> str:
    """`7 index groups have a NaN, where engines do not ask the filter`"""
    count = evidence.counts.ignored
    has = "has" if count == 1 else "have"
    groups = number_of(count, evidence.unit)
    return f"{groups} {has} a NaN, where engines do not ask the filter" if count else ""


def _searched_in_some(evidence: Evidence) -> str:
    """In how many groups dictionaries tell what is left without filters, where some have none with all values."""
    counts = evidence.counts
    if evidence.before != DICTIONARY or counts.only_dictionary:
        return ""
    groups = f"{counts.with_dictionary:,} of {number_of(counts.groups, evidence.unit)}"
    note = engine_note("only dictionaries", evidence.users)
    return f"in {groups}, all values are in the dictionary: {note}"


def _who_uses_none(evidence: Evidence) -> str:
    if evidence.engines and len(evidence.ignoring) == len(evidence.engines):
        use = "uses" if len(evidence.engines) == 1 else "use"
        return f"{_listed(evidence.ignoring)} {use} no filters in such files"
    what = f"such a column{': ' * bool(evidence.not_for)}{' or '.join(evidence.not_for)}"
    if not evidence.engines:
        return f"no engine uses filters on {what}"
    do = "does" if len(evidence.engines) == 1 else "do"
    return f"{_listed(evidence.engines)} {do} not use filters on {what}"


def _not_used(evidence: Evidence) -> str:
    """By which of the engines that are asked about, where others use filters of the column."""
    is_some = bool(evidence.users and evidence.not_by)
    return f"not used by {_listed(evidence.not_by)}" if is_some else ""


def _reason_to_doubt(evidence: Evidence) -> str:
    reads = evidence.reads
    assert reads is not None
    if evidence.is_alone:
        return (
            f"one {evidence.unit}: a filter can only say that a value is not in it, which helps if"
            f" the table has more; {NAME_ALL_FILES}{_or_smaller(evidence)}"
        )
    if reads.with_filter > WORTHWHILE * reads.by_statistics:
        return f"a filter saves less than half of what {evidence.before} leaves to read"
    if evidence.saved < min(MANY_SAVED, (1 - WORTHWHILE) * evidence.counts.groups):
        return f"{evidence.before} leaves few {evidence.unit}s to read, so a filter saves few"
    if evidence.seldom_asked and not evidence.is_measured:
        return f"{evidence.seldom_asked} are rarely looked up by equality"
    if evidence.least_bytes > evidence.counts.chunk_bytes:
        return f"the filters{_before_compression(evidence)} are larger than the column"
    return ""


def _or_smaller(evidence: Evidence) -> str:
    is_large = evidence.counts.group_rows >= LARGE_GROUP
    return f", or write smaller {evidence.unit}s, so that filters exclude some of them" * is_large


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _comparison(evidence: Evidence) -> str:
    reads = evidence.reads
    assert reads is not None
    other = evidence.other_rate
    for_rate = f" for {exact_percent(other.rate)} (FPP {percent(other.fpp)})" if other else ""
    read = evidence.built.groups_read if evidence.built else reads.with_filter
    there = evidence.groups_there
    if evidence.has_all and there is not None and there - read < LEAST_SAVED:
        # It was said what is read with filters: new ones would save no more.
        return f"{evidence.before} alone leaves {_mean(reads.by_statistics)} to read"
    a_filter = "a new filter (--existing replace)" if evidence.has_all else "a filter"
    return (
        f"a look-up reads {_mean(read)} of {evidence.groups} with {a_filter}{for_rate},"
        f" {_mean(reads.by_statistics)} with {evidence.before} alone"
    )


def _those_there(evidence: Evidence) -> Iterator[str]:
    """What has to be built again, or that nothing has to be built."""
    yield _unreadable(evidence)
    yield _to_build_again(evidence)
    if evidence.has_all:
        yield f"every {evidence.unit} already has a filter{_with_those_there(evidence)}"
    yield _missing_the_rate(evidence)


def _missing_the_rate(evidence: Evidence) -> str:
    """That filters are good enough to be kept, and not as good as those that were asked for."""
    asked = evidence.asked_rate
    # Where engines do not ask a filter, no other is better.
    if asked is None or not evidence.are_kept or evidence.counts.ignored:
        return ""
    found = evidence.mean_fpp_there
    if found <= asked or not evidence.worse_there.get(asked):
        return ""
    return (
        f"about {percent(found)} of absent values pass these, and {exact_percent(asked)} was asked for:"
        " --existing replace builds new ones"
    )


def _with_those_there(evidence: Evidence) -> str:
    """What filters save that are there already. The FPP of Parquet's is what their lengths tell."""
    read = evidence.groups_there
    if read is None or evidence.is_alone:
        return ""
    return f", and today a look-up reads about {_mean(read)} of {evidence.groups}, with filters of that size"


def _unreadable(evidence: Evidence) -> str:
    """Which filters nobody can use, so that a look-up reads the groups all the same, or misses rows in them."""
    if unreadable := evidence.counts.unreadable:
        have = "has a filter" if unreadable == 1 else "have filters"
        return (
            f"{number_of(unreadable, evidence.unit)} {have} that cannot be used: pbloom validate says"
            " why, pbloom repair --rebuild builds new ones"
        )
    return ""


def _to_build_again(evidence: Evidence) -> str:
    """Which filters are too small, by their lengths: nobody has looked at the bits."""
    if too_small := evidence.counts.too_small:
        have = "has a filter that is" if too_small == 1 else "have filters that are"
        return (
            f"{number_of(too_small, evidence.unit)} {have} too small for the values (more than"
            f" {percent(evidence.highest_rate)} of absent ones pass{_accepted(evidence)}){_unless_chosen(evidence)}:"
            " --existing replace builds new ones"
        )
    return ""


def _accepted(evidence: Evidence) -> str:
    return ", the most that the policy accepts" * (evidence.accepted_rate == evidence.highest_rate)


def _unless_chosen(evidence: Evidence) -> str:
    """A file does not say why its filters are small. A policy accepts no more, whoever chose them."""
    may_be_chosen = evidence.accepted_rate is None and evidence.highest_rate < max(RATES)
    return ", unless a budget chose them" if may_be_chosen else ""


def _not_judged(evidence: Evidence) -> str:
    """In how many files nothing is known of the column, and why, where it was judged by others."""
    unread = evidence.unread
    if not unread.groups:
        return ""
    were, them = ("was", "it") if unread.groups == 1 else ("were", "each of them")
    where = f"{number_of(unread.groups, evidence.unit)} in {number_of(unread.files, 'more file')}"
    return f"{where} {were} not judged ({unread.reason}), and a look-up may read {them}"


def _those_for_nothing(evidence: Evidence) -> str:
    """That there are filters, of a column that needs none,
    or whose filters only the engines that are asked about do not use."""
    is_for_others = bool(evidence.engines) and not evidence.users
    is_for_others = is_for_others or evidence.all_search_dictionaries
    what = "which other readers may use" if is_for_others else NEEDLESS
    return _already(evidence.counts.already, evidence.unit, what)


def _already(count: int, unit: str, what: str) -> str:
    """`7 index groups have filters, which pbloom strip removes`; empty for none."""
    have = "has a filter" if count == 1 else "have filters"
    return f"{number_of(count, unit)} {have}, {what}" if count else ""


def why_none(reason: str, uses: Iterable[EngineUse], already: int, unit: str) -> str:
    """Why a column is not judged; with the filters that it has `already`, if no engine uses them."""
    is_used = any(use.uses for use in uses)
    there = "" if is_used else _already(already, unit, NEEDLESS)
    return "; ".join(filter(None, [reason, there]))


def _notes(evidence: Evidence) -> Iterator[str]:
    counts, unit = evidence.counts, evidence.unit
    yield _searched_in_some(evidence)
    yield _not_used(evidence)
    if evidence.other_rate and not evidence.is_budgeted:
        yield f"so many {unit}s deserve a lower rate than usual"
    elif evidence.accepted_rate is not None and evidence.accepted_rate < DEFAULT_FPP:
        yield f"the policy accepts an FPP of at most {exact_percent(evidence.accepted_rate)}"
    yield _large(evidence)
    told = evidence.in_dictionaries
    others = {*evidence.users} - {*told}
    if counts.only_dictionary and (note := engine_note("only dictionaries", others)):
        yield f"dictionaries: {note}" if told else f"all values are in dictionaries: {note}"
    if counts.only_dictionary and engine_note("only dictionaries", evidence.users):
        yield _repeated(evidence)
    if counts.not_shredded:
        has = "has" if counts.not_shredded == 1 else "have"
        yield (
            f"{number_of(counts.not_shredded, unit)} {has} values of the field that are not shredded,"
            " where engines do not ask its filter"
        )
    yield _ignored(evidence)
    if counts.in_alp and (note := engine_note("in ALP", evidence.engines or None)):
        yield f"few engines read ALP: {note}"
    if counts.filters < counts.groups:
        without = number_of(counts.groups - counts.filters, unit)
        yield f"{_out_of_reach(evidence)} in {without}"
    if 0 < counts.with_filter < counts.groups:
        has = "has" if counts.with_filter == 1 else "have"
        yield f"{counts.with_filter:,} of the {unit}s already {has} a filter{_with_those_there(evidence)}"


def _before_compression(evidence: Evidence) -> str:
    return ", before any compression," * evidence.are_packed


def _large(evidence: Evidence) -> str:
    """How large the filters are that are there to stay, or else those that `build` would write; and what `--ndv`
    makes of them if they have room for many more values than there are."""
    counts, unit = evidence.counts, evidence.unit
    num_bytes = counts.bytes_there if evidence.are_kept else evidence.filter_bytes
    share = num_bytes / counts.chunk_bytes if counts.chunk_bytes else 0.0
    if share <= LARGE_SHARE_OF_COLUMN:
        return ""
    which = f"the filters{_before_compression(evidence)}"
    if evidence.are_kept:
        which = "the filters that are there"
    large = f"{which} are {percent(share)} of the column's size"
    lighter = lighter_filters(counts, evidence.filter_bytes, num_bytes)
    if lighter is None:
        return large
    smaller, most = percent(lighter.num_bytes / counts.chunk_bytes), counts.group_ndv
    return (
        f"{large}, and {smaller} with --ndv {lighter.ndv}: no {unit} has more than"
        f" {number_of(most, 'distinct value')}"
    )


class Lighter(NamedTuple):
    """Filters with room for fewer values, `ndv`, and their size."""

    ndv: int
    num_bytes: int


def lighter_filters(counts: ColumnCounts, new: int, instead_of: int) -> Lighter | None:
    """Those of ORC that `--ndv` makes much smaller than what they are `instead_of`, if filters have room for many
    more values than there are; None if none are. `new`: the bytes of those that `build` would write without it."""
    needed = room_for_fewer(counts.group_ndv, counts.mean_room)
    if needed is None:
        return None
    # What is around the bits stays as it is: of filters of a few bytes, it is the larger part.
    mean = new / counts.filters
    bits = min(mean, counts.largest_filter * new / counts.filter_bytes)
    num_bytes = counts.filters * bytes_with_room(bits, needed, counts.mean_room)
    num_bytes += ceil((mean - bits) * counts.filters)
    return Lighter(needed, num_bytes) if num_bytes <= MUCH_LESS_ROOM * instead_of else None


def _mean(groups: float) -> str:
    # 10.00 would look odd beside numbers without decimals.
    return f"{groups:,.2f}" if groups < 9.995 else f"{groups:,.0f}"
