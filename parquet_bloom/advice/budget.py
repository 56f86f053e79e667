"""Which columns get filters, at which rates, if all of them may take no more than a budget.

Each column has a ladder: at a lower rate, its filters are larger and a look-up reads fewer groups. Nothing
on a column's ladder that takes more bytes than another rung saves less.

    groups saved                       x 0.001
      |                     x 0.01
      |          x 0.1
      +----------------------------------------- bytes

A step from one rung to a higher one costs bytes and saves groups. All columns are taken to be looked up equally
often. There are two choices, of which the one is taken that saves more; a last pass looks for steps that fit what
is left of the budget.

- Of all columns, the step next that saves most groups per byte, as long as it fits. At most one step is missing
  from the best choice, which is much of few columns, and little of many.
- The best choice of all, if bytes are counted in ten-thousandths of the budget, and what a column takes is rounded
  up: hardly anything is lost of few columns, and more the more there are.

What a policy requires comes first: the lowest rung of its columns, whatever it saves.

Filters that stay are spent before. Those that would be built again cost what they take more than the ones that are
there: a column whose lowest rung is smaller than these begins on it.

Source: Kellerer, Pferschy, Pisinger, "Knapsack Problems" (2004), 11.2, on the multiple-choice knapsack.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

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


# In which the bytes of a budget are counted where the best choice is looked for, fewer where there are many ladders:
# this takes a tenth of a second at the most, and two megabytes.
CELLS: Final = 10_000
_CELLS_OF_ALL: Final = 2_000_000

# Those of which is told what each costs and saves.
SHOWN_RATES: Final = (0.1, 0.01, 0.001, 0.0001)


def rates_of(options: AdviseOptions, column: str) -> tuple[float, ...]:
    """The rates of a column's ladder, descending: those that may be recommended, which a policy accepts, and those
    that are asked for."""
    wanted = {options.target_for(column)}
    if options.fpp is None:
        accepted = options.accepted_rate(column)
        may_be = LOWER_RATES if options.budget is None else RATES
        wanted.update(rate for rate in may_be if accepted is None or rate <= accepted)
        if options.budget is not None and accepted is not None and accepted < max(RATES):
            # What it takes at the least is at this one.
            wanted.add(accepted)
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
    above = allot(left, _above(firsts, claims))
    taken = [more or first for more, first in zip(above, firsts, strict=True)]
    return [
        next((each for each in claim.ladder if offer and each.rate == offer.rate), None)
        for claim, offer in zip(claims, taken, strict=True)
    ]


def _above(firsts: Sequence[Offer | None], claims: Sequence[Claim]) -> list[list[Offer]]:
    """What each claim may take above its first rung, if it has that."""
    return [
        [_step(first, each) for each in claim.costs if first is None or each.rate < first.rate]
        for claim, first in zip(claims, firsts, strict=True)
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


def enough_for_all(budget: int, claims: Sequence[Claim], highest: float = 1.0) -> int:
    """A budget of which each claim with a ladder gets an offer of a rate of at most `highest`, or the lowest that it
    has, hardly more than the least between `budget`, which is too small, and what the steps cost in whose order every
    ladder is climbed so far. It is tried, as what saves more may get its share before."""
    goals = [_goal(claim, highest) for claim in claims]
    too_small, enough = budget, _all_climbed(claims, goals)
    while enough - too_small > max(1, enough // 100):
        middle = (too_small + enough) // 2
        pairs = zip(goals, settle(middle, claims), strict=True)
        if all(offer and offer.rate <= goal for goal, offer in pairs if goal is not None):
            enough = middle
        else:
            too_small = middle
    return enough


def _goal(claim: Claim, highest: float) -> float | None:
    """The rate that a claim is to get at the most; None if it has no ladder."""
    rates = [offer.rate for offer in claim.ladder]
    return max((rate for rate in rates if rate <= highest), default=min(rates, default=None))


def _all_climbed(claims: Sequence[Claim], goals: Sequence[float | None]) -> int:
    """The bytes of the best steps, in order, until each ladder has one to its goal. Nothing of that size saves
    more."""
    firsts = _required(sys.maxsize, claims)
    ladders = _above(firsts, claims)
    num_bytes = sum(claim.least for claim in claims) + sum(
        each.num_bytes for each in firsts if each
    )
    waiting = {
        place: goal
        for place, (goal, first) in enumerate(zip(goals, firsts, strict=True))
        if goal is not None and not (first and first.rate <= goal)
    }
    for place, offer, step in _best_steps(ladders):
        if not waiting:
            break
        if offer.rate <= waiting.get(place, 0.0):
            del waiting[place]
        num_bytes += step.num_bytes
    return num_bytes


def allot(budget: int, ladders: Sequence[Sequence[Offer]]) -> list[Offer | None]:
    """The offer to take of each ladder, or None, so that they take at most `budget` bytes together."""
    fitting = [[offer for offer in ladder if offer.num_bytes <= budget] for ladder in ladders]
    climbed, best = (
        _filled(budget, fitting, taken)
        for taken in (_climbed(budget, fitting), _best_in_cells(budget, fitting))
    )
    return best if _saved(best) > _saved(climbed) + LEAST_SAVED else climbed


def _best_in_cells(budget: int, ladders: Sequence[Sequence[Offer]]) -> list[Offer | None]:
    """The offers that save most if each takes whole cells of the budget."""
    cells = max(1, min(CELLS, _CELLS_OF_ALL // max(1, len(ladders)), budget))
    # By cells that may be used: what the ladders up to here save at the most, and by ladder, the rung for that.
    most = np.zeros(cells + 1)
    chosen: list[NDArray[np.int8]] = []
    for ladder in ladders:
        before, rungs = most.copy(), np.full(cells + 1, -1, np.int8)
        for number, offer in enumerate(ladder):
            width = _cells_of(offer, budget, cells)
            saved = before[: cells + 1 - width] + offer.saved
            is_more = saved > most[width:]
            most[width:][is_more] = saved[is_more]
            rungs[width:][is_more] = number
        chosen.append(rungs)
    taken: list[Offer | None] = []
    left = cells
    for ladder, rungs in zip(reversed(ladders), reversed(chosen), strict=True):
        number = int(rungs[left])
        taken.append(ladder[number] if number >= 0 else None)
        left -= _cells_of(ladder[number], budget, cells) if number >= 0 else 0
    return taken[::-1]


def _cells_of(offer: Offer, budget: int, cells: int) -> int:
    """At most all, of an offer within the budget."""
    return -(-offer.num_bytes * cells // max(1, budget))


def _climbed(budget: int, ladders: Sequence[Sequence[Offer]]) -> list[Offer | None]:
    """The best steps that fit, in order; a ladder whose next step does not fit is climbed no further."""
    taken: list[Offer | None] = [None] * len(ladders)
    stopped: set[int] = set()
    for place, offer, step in _best_steps(ladders):
        if place in stopped or step.num_bytes > budget:
            stopped.add(place)
        else:
            taken[place] = offer
            budget -= step.num_bytes
    return taken


def _best_steps(ladders: Sequence[Sequence[Offer]]) -> Iterator[tuple[int, Offer, Offer]]:
    """Those of all ladders that are worth it, by what they save per byte: the place of the ladder, the rung, and what
    the step adds."""
    steps = [
        (-_per_byte(step), place, number, offer, step)
        for place, ladder in enumerate(ladders)
        for number, (offer, step) in enumerate(_steps(ladder))
    ]
    for _, place, _, offer, step in sorted(steps, key=lambda each: each[:3]):
        yield place, offer, step


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
    # What no longer fits never will again.
    steps = [step for place, ladder in enumerate(ladders) for step in _up(ladder, place, taken)]
    heapify(steps)
    while steps:
        (_, place, *_), start, offer, num_bytes = heappop(steps)
        if start is taken[place] and num_bytes <= left:
            taken[place] = offer
            left -= num_bytes
            for step in _up(ladders[place], place, taken):
                heappush(steps, step)
    return taken


def _up(
    ladder: Sequence[Offer], place: int, taken: Sequence[Offer | None]
) -> Iterator[tuple[tuple[float, int, int, int], Offer | None, Offer, int]]:
    """The steps from what is taken of a ladder to any higher rung, behind their order, in which no two are equal."""
    start = taken[place]
    begin = start.num_bytes if start else -1
    for number, offer in enumerate(ladder):
        if start is None or offer.saved > start.saved:
            step = _step(start, offer)
            yield (-_per_byte(step), place, number, begin), start, offer, step.num_bytes


def _saved(taken: Iterable[Offer | None]) -> float:
    return sum(offer.saved for offer in taken if offer)
