"""The rate that a column is to get filters at.

A look-up reads row groups in vain where a filter is wrong, and more of them the more row groups there are:

    row groups    read in vain at 1 %    at 0.1 %    at 0.01 %
           10                     0.1        0.01        0.001
        1,000                    10          1           0.1
      100,000                 1,000        100          10

So the usual rate is right for a hundred row groups, and a table of many takes a lower one: the highest at which at
most one is read in vain, by the filters that `build` would write, which are often better than asked, as their sizes
are powers of two. Ten times lower costs some four bits per value more: half as much again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from parquet_bloom.advice.budget import LOWER_RATES, Offer
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.sketch import ColumnCounts
from parquet_bloom.filters.sizing import growth_of_size

# By what readers skip. An index group of ORC is read within a stripe, and has a hundredth of the rows of a usual row
# group.
MOST_IN_VAIN: Final = {"row group": 1.0, "index group": 100.0}


def recommended_rate(
    offers: Sequence[Offer],
    counts: ColumnCounts,
    reads: ExpectedReads,
    usual: float,
    largest: int,
    unit: str,
) -> float:
    """The `usual` rate or a lower one, at which the filters are not larger than the column, and the largest of them
    not larger than `largest` bytes. `offers`: those of all these rates, at least."""
    by_rate = {offer.rate: offer for offer in offers}
    rates = (usual, *(rate for rate in LOWER_RATES if rate < usual))
    for rate, lower in pairwise(rates):
        in_vain = by_rate[rate].groups_read - reads.holding
        if (
            in_vain <= MOST_IN_VAIN[unit]
            or by_rate[lower].num_bytes > counts.chunk_bytes
            or counts.largest_filter * growth_of_size(usual, lower) > largest
        ):
            return rate
    return rates[-1]
