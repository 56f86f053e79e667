"""How many groups a point look-up reads: with min/max statistics alone, and with filters.

For a value v, let S be the groups whose statistics do not rule it out, and H those that hold it.

    by statistics           |S|
    with filters            |H| + sum of the FPPs of the filters in S that are not in H
    v itself not stored     sum of the FPPs of all filters in S
    after dictionaries      where those with all values of a group are searched first: the groups of S whose
                            dictionary has v, and all of S that have none. |H|, or more where dictionaries
                            have values that no row there has, or groups have no such dictionary

Of a table of very many groups, a sample of them tells how many statistics leave (see groups), so S is
estimated, from the same share of the sample. Which groups hold a value is counted in all of them.

What counts is the mean of each over the values that are looked up. Unless the user gives real ones,
these are stored values, all equally likely; values that are not stored are assumed to be spread over
the ranges like the stored ones. FPPs are those of the filters that `build` would write, computed from
their bits: below the target where rounding up to a power of two leaves room. A group without a
filter has an FPP of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.order import Keys, OrderKey, array_of
from parquet_bloom.dataclass import dataclass

# FPPs are added as multiples of this: a sum of whole numbers is the same in any order. 64 bits hold the sum
# for 8 million groups without a filter, and a double that for as many groups as are sampled.
FPP_UNIT = 2.0**-40


def in_units(fpp: float) -> int:
    """The nearest multiple of FPP_UNIT."""
    return round(fpp / FPP_UNIT)


def from_units(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    return sums.astype(np.float64) * np.float64(FPP_UNIT)


@dataclass(frozen=True, slots=True)
class MinMax:
    """Every value of the group is between these; low <= high."""

    low: Any
    high: Any


def make_bounds(low: OrderKey | None, high: OrderKey | None) -> MinMax | None:
    """The bounds; None if one is missing or they are the wrong way round."""
    found = MinMax(low, high)
    return found if low is not None and high is not None and found.low <= found.high else None


def may_hold(bounds: MinMax | None, keys: Keys) -> NDArray[np.bool_]:
    """For each key, whether these bounds leave it; they leave all that have no place, and without any, all."""
    found = np.ones(len(keys), np.bool_)
    if bounds is not None:
        low, high = array_of([bounds.low]), array_of([bounds.high])
        found[keys.is_known] = (keys.known >= low) & (keys.known <= high)
    return found


@dataclass(frozen=True, slots=True)
class LookUps:
    """Values that are looked up; all fields have the same length.

    `keys`: each value's place in the column's order, if it has one; `times`: how often it is
    looked up, int64; `held`: how many groups hold it, int64; `held_fpp`: the sum of the FPPs of
    their filters, float64; `held_fpp_there`: the same of those that are there already.
    """

    keys: Keys
    times: NDArray[np.int64]
    held: NDArray[np.int64]
    held_fpp: NDArray[np.float64]
    held_fpp_there: NDArray[np.float64]

    def with_those_there(self) -> LookUps:
        """The same, with the filters that are there in the place of new ones."""
        return replace(self, held_fpp=self.held_fpp_there)


@dataclass(frozen=True, slots=True)
class ExpectedReads:
    """Groups that a look-up reads on average; `num_stored` of `num_values` are stored. `holding`: those of
    the groups read that hold the value, so that no filter can rule them out; `in_dictionaries`: what is left where
    dictionaries with all values of a group are searched, too, and any group has one; `with_those_there`: with the
    filters that are there, in the place of new ones."""

    num_values: int
    num_stored: int
    by_statistics: float
    with_filter: float
    with_filter_if_absent: float
    holding: float
    in_dictionaries: float
    with_those_there: float

    def after_dictionaries(self) -> ExpectedReads:
        """The same where dictionaries are searched, too, and filters are asked about what these leave."""
        left = min(self.by_statistics, self.in_dictionaries)
        others = self.by_statistics - self.holding
        share_of_others = (left - self.holding) / others if others else 0.0
        share = left / self.by_statistics if self.by_statistics else 0.0

        def of_those(read: float) -> float:
            return self.holding + (read - self.holding) * share_of_others

        return replace(
            self,
            by_statistics=left,
            with_filter=of_those(self.with_filter),
            with_filter_if_absent=self.with_filter_if_absent * share,
            with_those_there=of_those(self.with_those_there),
        )

    def at_mean_fpp(self, fpp: float) -> float:
        """How many groups are read with other filters, whose mean FPP is this: those that are read in vain, in
        proportion to those with the filters that were counted."""
        counted = self.with_filter_if_absent / self.by_statistics if self.by_statistics else 0.0
        in_vain = self.with_filter - self.holding
        others = self.by_statistics - self.holding
        return self.holding + min(others, in_vain * fpp / counted if counted else others * fpp)


def expected_reads(
    bounds: Sequence[MinMax | None], fpps: Sequence[float], values: LookUps, num_groups: int
) -> ExpectedReads | None:
    """The means over `values`, None if there are none, for `num_groups` groups. Those with these bounds and
    FPPs are all of them, or drawn from them at random. Without a filter that is there already."""
    num_values = int(values.times.sum())
    if num_values == 0:
        return None

    def mean(of_each: NDArray[np.int64] | NDArray[np.float64]) -> float:
        return float(of_each @ values.times) / num_values

    around, fpp = candidates(bounds, fpps, values.keys)
    if len(bounds) == num_groups:
        # Wrong statistics rule out groups that do hold the value.
        held = np.minimum(values.held, around)
        others = np.minimum(around - held, np.maximum(0, fpp - values.held_fpp))
        by_statistics, if_absent = mean(around), mean(fpp)
        holding, with_filter = mean(held), mean(held + others)
    else:
        # A value may be in more groups than all those drawn stand for; the mean over all values is not.
        scale = num_groups / len(bounds)
        by_statistics, if_absent = scale * mean(around), scale * mean(fpp)
        holding = min(mean(values.held), by_statistics)
        spurious = max(0.0, if_absent - mean(values.held_fpp))
        with_filter = holding + min(by_statistics - holding, spurious)
    return ExpectedReads(
        num_values=num_values,
        num_stored=int(values.times[values.held > 0].sum()),
        by_statistics=by_statistics,
        with_filter=with_filter,
        with_filter_if_absent=if_absent,
        holding=holding,
        in_dictionaries=holding,
        with_those_there=by_statistics,
    )


def read_in_vain(
    bounds: Sequence[MinMax | None],
    values: LookUps,
    in_dictionaries: NDArray[np.int64],
    share: float,
) -> float | None:
    """How many groups that do not hold the value are left by statistics and dictionaries; None if no value was
    counted. `bounds`: of groups without a dictionary of all values, the `share` of these that was drawn;
    `in_dictionaries`: for each of `values`, how many of the others are left, negative where that was not counted."""
    is_counted = in_dictionaries >= 0
    times = values.times * is_counted
    if not times.any():
        return None
    without = candidates(bounds, [0.0] * len(bounds), values.keys)[0] / share
    return max(0.0, float((in_dictionaries + without - values.held) @ times) / int(times.sum()))


def candidates(
    bounds: Sequence[MinMax | None], fpps: Sequence[float], keys: Keys
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each key, how many groups may hold it, and the sum of their FPPs; shape (len(keys),).

    A group without bounds may hold any value, and a value without a key may be in any group.
    """
    bounded = [(each, fpp) for each, fpp in zip(bounds, fpps, strict=True) if each]
    by_low = sorted((each.low, fpp) for each, fpp in bounded)
    by_high = sorted((each.high, fpp) for each, fpp in bounded)
    lows, highs = (Keys.of([end for end, _ in ends]).values for ends in (by_low, by_high))
    fpp_begun = np.array([0.0, *accumulate(fpp for _, fpp in by_low)])
    fpp_ended = np.array([0.0, *accumulate(fpp for _, fpp in by_high)])
    is_known, known = keys.is_known, keys.known
    # Ranges that have begun, less those that have ended: low <= high, so these have begun, too.
    begun = np.searchsorted(lows, known, side="right")
    ended = np.searchsorted(highs, known, side="left")
    count = np.full(len(keys), len(bounds), np.int64)
    fpp_sum = np.full(len(keys), sum(fpps), np.float64)
    count[is_known] = len(bounds) - len(bounded) + begun - ended
    fpp_unbounded = sum(fpps) - sum(fpp for _, fpp in bounded)
    fpp_sum[is_known] = fpp_unbounded + np.maximum(0, fpp_begun[begun] - fpp_ended[ended])
    return count, fpp_sum
