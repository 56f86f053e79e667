"""How many row groups a point look-up reads: by min/max statistics alone, and with filters.

For a value v, let S be the row groups whose statistics do not exclude it and H those that hold it.

    by statistics           |S|
    with filters            |H| + sum of the FPPs of the filters in S that are not in H
    v itself not stored     sum of the FPPs of all filters in S

and the mean of each over the values that are looked up. Unless the user gives real values, these
are stored ones, each distinct value as often as any other; a value that is not stored is taken to
fall among the ranges as the stored ones do. FPPs are those of the filters that `build` would write,
computed from their bits: less than the target where the next power of two leaves room. A row group
that gets no filter has 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parquet_bloom.advice.samples import LookUp
from parquet_bloom.advice.statistics import RowGroupRanges


@dataclass(frozen=True, slots=True)
class ExpectedReads:
    """Row groups that a look-up reads on average; `num_stored` of `num_values` are in the file."""

    num_values: int
    num_stored: int
    by_statistics: float
    with_filter: float
    with_filter_if_absent: float


def expected_reads(ranges: RowGroupRanges, values: Sequence[LookUp]) -> ExpectedReads | None:
    """The means over `values`; None if there are none."""
    if not values:
        return None
    statistics = filters = absent = 0.0
    for value in values:
        around, fpp = ranges.around(value.key)
        # Statistics that lie exclude row groups that do hold the value.
        held = min(value.held, around)
        statistics += around
        filters += held + min(around - held, max(0.0, fpp - value.held_fpp))
        absent += fpp
    return ExpectedReads(
        num_values=len(values),
        num_stored=sum(value.held > 0 for value in values),
        by_statistics=statistics / len(values),
        with_filter=filters / len(values),
        with_filter_if_absent=absent / len(values),
    )
