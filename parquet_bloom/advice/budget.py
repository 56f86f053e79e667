"""Which columns get filters, at which rates, if all of them may take no more than a budget.

Each column has a ladder: at a lower rate, its filters are larger and a look-up reads fewer groups. Nothing
on a column's ladder that takes more bytes than another rung saves less.

    groups saved                       x 0.001
      |                     x 0.01
      |          x 0.1
      +----------------------------------------- bytes

A step from one rung to a higher one costs bytes and saves groups. Of all columns, the step is taken next
that saves most groups per byte, as long as it fits; a last pass looks for steps that fit what is left. All
columns are taken to be looked up equally often. The best choice saves at most twice as many groups: if the
steps taken saved less than a single rung that fits could, that one is taken first.

What a policy requires comes first: the lowest rung of its columns, whatever it saves.

Filters that stay are spent before. Those that would be built again cost what they take more than the ones that are
there: a column whose lowest rung is smaller than these begins on it.

Source: Kellerer, Pferschy, Pisinger, "Knapsack Problems" (2004), 11.2, on the multiple-choice knapsack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from parquet_bloom.advice.lookups import FPP_UNIT, ExpectedReads
from parquet_bloom.advice.sketch import ColumnCounts, ColumnSketch
from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.sizing import HIGH_FPP
from parquet_bloom.options import DEFAULT_FPP, AdviseOptions

# Filters have sizes of powers of two, and half the size is a rate some 3 to 50 times as high.
RATES: Final = (0.5, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)

# Those that may be recommended in place of the usual one, where there are many groups.
LOWER_RATES: Final = (0.001, 0.0001)

# Saving less than this many groups per look-up is not worth a byte, and below the usual rate, what is left of a
# budget is no reason to take it for less than that many more.
LEAST_SAVED: Final = 0.01
LEAST_SAVED_BELOW_USUAL: Final = 0.1


# Those of which is told what each costs and saves.
SHOWN_RATES: Final = (0.1, 0.01, 0.001, 0.0001)


def rates_of(options: AdviseOptions, column: str) -> tuple[float, ...]:
    """The rates of a column's ladder, descending: those that may be recommended, which a policy accepts, and those
    that are asked for."""
    wanted = {options.target_for(column)}
    if options.fpp is None:
        accepted = options.accepted_rate(column)
        if accepted is None and column in options.required:
            # A policy that wants filters wants none that `validate` warns of.
            accepted = HIGH_FPP
        may_be = LOWER_RATES if options.budget is None else RATES
        wanted.update(rate for rate in may_be if accepted is None or rate <= accepted)
    if options.rates:
        wanted.update(SHOWN_RATES)
    return tuple(sorted(wanted)[::-1])


def highest_rate(options: AdviseOptions, column: str) -> float:
    """What more absent values pass than this is too small a filter of the column: a policy does not accept it; or
    without one, it excludes little, and is not what may be chosen. One of the rate that is asked for never is."""
    accepted = options.accepted_rate(column)
    if accepted is not None:
        return max(accepted, options.fpp or 0.0)
    return max(HIGH_FPP, *rates_of(options, column))


@dataclass(frozen=True, slots=True)
class Offer:
    """All filters of a column at one rate: their size in bytes, with headers, how many groups a look-up reads, and
    fewer than with min/max statistics alone; `fpp`: the mean of what they have, at most the rate."""

    rate: float
    num_bytes: int
    groups_read: float
    saved: float
    fpp: float


def offers_of(
    column: ColumnSketch,
    reads: ExpectedReads,
    fpp: float | None = None,
    *,
    stay: bool = False,
    is_required: bool = False,
) -> tuple[Offer, ...]:
    """The ladder of a column, each rung larger than the one before and saving more. Filters larger than the column
    are left out, and above the first rung, rates at which most are no smaller than dictionaries, where readers can
    look instead. `fpp`: the only rate that is wanted, None for all. `stay`: filters that are there do, and others are
    built beside them. `is_required`: the first rung is there whatever it saves, and however large it is."""
    ladder: list[Offer] = []
    for offer in each_offer(column, reads, stay=stay):
        if fpp is not None and offer.rate != fpp:
            continue
        if ladder and column.rungs[offer.rate].is_past_dictionary:
            continue
        least = LEAST_SAVED_BELOW_USUAL if ladder and offer.rate < DEFAULT_FPP else LEAST_SAVED
        if ladder and offer.num_bytes == ladder[-1].num_bytes:
            # The same filters, which keep a lower rate, too.
            ladder.pop()
            least = LEAST_SAVED
        before = ladder[-1].saved if ladder else 0.0
        is_worthwhile = (
            offer.num_bytes <= column.counts.chunk_bytes and offer.saved >= before + least
        )
        if offer.num_bytes > 0 and (is_worthwhile or (is_required and not ladder)):
            ladder.append(offer)
    return tuple(ladder)


def may_stay(options: AdviseOptions, counts: ColumnCounts) -> bool:
    """Whether `build` keeps the filters of a column that are there: unless it is told to replace them, or some of
    them are too small, so that new ones are recommended."""
    return options.existing != "replace" and not counts.too_small


def each_offer(
    column: ColumnSketch, reads: ExpectedReads, *, stay: bool = False
) -> Iterator[Offer]:
    """What filters at each rate would cost and save, from the highest rate on. `stay` as for offers_of.

    Bytes are exact. The groups that a look-up reads in vain are those at the target rate, times the ratio of
    the mean FPPs of all filters.
    """
    for rung in sorted(column.rungs.values(), key=lambda rung: -rung.rate):
        num_bytes, fpp_sum = rung.filter_bytes, rung.fpp
        if stay:
            num_bytes, fpp_sum = column.counts.bytes_there + rung.missing_bytes, rung.fpp_beside
        fpp = fpp_sum * FPP_UNIT / max(1, column.counts.groups)
        read = reads.at_mean_fpp(fpp)
        yield Offer(rung.rate, num_bytes, read, reads.by_statistics - read, fpp)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a column may take of a budget: an offer of its `ladder`, or else the `there` bytes of the filters that it
    has; `beside`: of filters that stay in any case; `is_required`: it comes first."""

    ladder: tuple[Offer, ...]
    there: int = 0
    beside: int = 0
    is_required: bool = False

    @property
    def least(self) -> int:
        """What it takes at the least."""
        return self.beside + min([self.there, *(each.num_bytes for each in self.ladder[:1])])

    @property
    def costs(self) -> tuple[Offer, ...]:
        """The ladder, by what each rung takes more than the least."""
        spent = self.least - self.beside
        return tuple(replace(each, num_bytes=each.num_bytes - spent) for each in self.ladder)


def settle(budget: int, claims: Sequence[Claim]) -> list[Offer | None]:
    """The offer that each claim gets, or None. What is there may take more than the budget already."""
    left = max(0, budget - sum(claim.least for claim in claims))
    firsts = _required(left, claims)
    left -= sum(first.num_bytes for first in firsts if first)
    ladders = [
        [_step(first, each) for each in claim.costs if first is None or each.rate < first.rate]
        for claim, first in zip(claims, firsts, strict=True)
    ]
    taken = [more or first for more, first in zip(allot(left, ladders), firsts, strict=True)]
    return [
        next((each for each in claim.ladder if offer and each.rate == offer.rate), None)
        for claim, offer in zip(claims, taken, strict=True)
    ]


def _required(left: int, claims: Sequence[Claim]) -> list[Offer | None]:
    """The lowest rung of each claim that is required, as far as they fit in, those that cost least first."""
    firsts: list[Offer | None] = [None] * len(claims)
    required = [place for place, claim in enumerate(claims) if claim.is_required and claim.ladder]
    for place in sorted(required, key=lambda place: claims[place].costs[0].num_bytes):
        first = claims[place].costs[0]
        if first.num_bytes <= left:
            firsts[place] = first
            left -= first.num_bytes
    return firsts


def enough_for_all(budget: int, claims: Sequence[Claim]) -> int:
    """A budget from so many bytes on, of which each claim with a ladder gets an offer. It is tried, as what saves
    more may get its share before."""
    while True:
        pairs = zip(claims, settle(budget, claims), strict=True)
        needed = sum(
            claim.costs[0].num_bytes for claim, offer in pairs if claim.ladder and not offer
        )
        if not needed:
            return budget
        # In few steps, however many columns there are.
        budget += max(needed, budget // 16)


def allot(budget: int, ladders: Sequence[Sequence[Offer]]) -> list[Offer | None]:
    """The offer to take of each ladder, or None, so that they take at most `budget` bytes together."""
    fitting = [[offer for offer in ladder if offer.num_bytes <= budget] for ladder in ladders]
    taken = _filled(budget, fitting, _climbed(budget, fitting))
    singles = [
        (offer.saved, -place, offer) for place, ladder in enumerate(fitting) for offer in ladder
    ]
    if singles:
        saved, place, best = max(singles, key=lambda single: single[:2])
        if saved > _saved(taken):
            alone: list[Offer | None] = [None] * len(ladders)
            alone[-place] = best
            taken = _filled(budget, fitting, alone)
    return taken


def _climbed(budget: int, ladders: Sequence[Sequence[Offer]]) -> list[Offer | None]:
    """The best steps that fit, in order; a ladder whose next step does not fit is climbed no further."""
    steps = [
        (-_per_byte(step), place, number, offer, step.num_bytes)
        for place, ladder in enumerate(ladders)
        for number, (offer, step) in enumerate(_steps(ladder))
    ]
    taken: list[Offer | None] = [None] * len(ladders)
    stopped: set[int] = set()
    for _, place, _, offer, num_bytes in sorted(steps, key=lambda step: step[:3]):
        if place in stopped or num_bytes > budget:
            stopped.add(place)
        else:
            taken[place] = offer
            budget -= num_bytes
    return taken


def _steps(ladder: Sequence[Offer]) -> Iterable[tuple[Offer, Offer]]:
    """The rungs that are worth stepping on, and what is added by each: groups saved per byte fall from step
    to step."""
    kept: list[tuple[Offer, Offer]] = []
    for offer in ladder:
        while True:
            step = _step(kept[-1][0] if kept else None, offer)
            # The same as above without dividing by bytes.
            if not kept or _is_steeper(kept[-1][1], step):
                break
            kept.pop()
        kept.append((offer, step))
    return kept


def _step(start: Offer | None, end: Offer) -> Offer:
    if start is None:
        return end
    return replace(end, num_bytes=end.num_bytes - start.num_bytes, saved=end.saved - start.saved)


def _per_byte(step: Offer) -> float:
    """Filters that take the place of larger ones cost nothing."""
    return step.saved / step.num_bytes if step.num_bytes else inf


def _is_steeper(one: Offer, other: Offer) -> bool:
    return one.saved * other.num_bytes > other.saved * one.num_bytes


def _filled(
    budget: int, ladders: Sequence[Sequence[Offer]], taken: Sequence[Offer | None]
) -> list[Offer | None]:
    """Take the best step to any higher rung that fits, until none does."""
    taken = list(taken)
    left = budget - sum(offer.num_bytes for offer in taken if offer)
    while True:
        steps = [
            (_per_byte(step), -place, offer, step.num_bytes)
            for place, ladder in enumerate(ladders)
            for offer in ladder
            if offer.saved > _saved([taken[place]])
            and (step := _step(taken[place], offer)).num_bytes <= left
        ]
        if not steps:
            return taken
        _, place, offer, num_bytes = max(steps, key=lambda step: step[:2])
        taken[-place] = offer
        left -= num_bytes


def _saved(taken: Iterable[Offer | None]) -> float:
    return sum(offer.saved for offer in taken if offer)
