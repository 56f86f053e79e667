"""How many groups a point look-up reads: by min/max statistics alone, and with filters.

For a value v, let S be the groups whose statistics do not rule it out, and H those that hold it.

    by statistics           |S|
    with filters            |H| + sum of the FPPs of the filters in S that are not in H
    v itself not stored     sum of the FPPs of all filters in S

What counts is the mean of each over the values that are looked up. Unless the user gives real ones,
these are stored values, each as likely as any other; values that are not stored are assumed to
spread over the ranges as the stored ones do. FPPs are those of the filters that `build` would
write, computed from their bits: below the target where rounding up to a power of two leaves room. A
group without a filter has an FPP of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.ranges import OrderKey, Ranges


@dataclass(frozen=True, slots=True)
class LookUps:
    """Values that are looked up; all four fields have the same length.

    `keys`: where each value lies in the column's order, None if nowhere; `times`: how often it is
    looked up, int64; `held`: how many groups hold it, int64; `held_fpp`: the sum of the
    FPPs of their filters, float64.
    """

    keys: Sequence[OrderKey | None]
    times: NDArray[np.int64]
    held: NDArray[np.int64]
    held_fpp: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ExpectedReads:
    """Groups that a look-up reads on average; `num_stored` of `num_values` are stored."""

    num_values: int
    num_stored: int
    by_statistics: float
    with_filter: float
    with_filter_if_absent: float


def expected_reads(ranges: Ranges, values: LookUps) -> ExpectedReads | None:
    """The means over `values`; None if there are none."""
    num_values = int(values.times.sum())
    if num_values == 0:
        return None
    around, fpp = ranges.around(values.keys)
    # Wrong statistics rule out groups that do hold the value.
    held = np.minimum(values.held, around)
    others = np.minimum(around - held, np.maximum(0, fpp - values.held_fpp))
    return ExpectedReads(
        num_values=num_values,
        num_stored=int(values.times[values.held > 0].sum()),
        by_statistics=float(around @ values.times) / num_values,
        with_filter=float((held + others) @ values.times) / num_values,
        with_filter_if_absent=float(fpp @ values.times) / num_values,
    )
