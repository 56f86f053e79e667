"""Counting distinct values by their hashes: exact while they are few, within the stated error beyond."""

import numpy as np
import pytest

from parquet_bloom.advice.ndv import LIMIT, DistinctHashes, distinct
from parquet_bloom.native import _kernel


def hashes_of(numbers):
    stored = np.ascontiguousarray(numbers, "<i8")
    return _kernel.xxh64_fixed(stored.view(np.uint8), 8)


def test_distinct_hashes_are_ascending_and_there_once():
    hashes = np.array([7, 3, 7, 2**64 - 1, 3, 0], np.uint64)
    assert distinct(hashes).tolist() == [0, 3, 7, 2**64 - 1]
    assert distinct(np.empty(0, np.uint64)).tolist() == []


@pytest.mark.parametrize("count", [0, 1, 999, LIMIT])
def test_up_to_the_limit_the_count_is_exact(count):
    counted = DistinctHashes()
    for _ in range(3):
        counted.add(hashes_of(np.arange(count)))
    assert (counted.count, counted.is_exact, counted.relative_error) == (count, True, None)


def test_one_more_than_the_limit_is_an_estimate_and_says_so():
    counted = DistinctHashes()
    counted.add(hashes_of(np.arange(LIMIT + 1)))
    assert not counted.is_exact
    assert counted.relative_error == pytest.approx((LIMIT - 2) ** -0.5)


@pytest.mark.parametrize("seed", range(8))
def test_an_estimate_is_within_five_standard_errors(seed):
    rng = np.random.default_rng(seed)
    ndv = int(rng.integers(2 * LIMIT, 60 * LIMIT))
    start = int(rng.integers(1 << 40))
    counted = DistinctHashes()
    for page in np.array_split(rng.permutation(np.arange(start, start + ndv)), 50):
        counted.add(hashes_of(page))
        counted.add(hashes_of(page[::2]))
    assert abs(counted.count / ndv - 1) < 5 * counted.relative_error


def test_the_stated_error_is_the_one_that_is_seen():
    """Over many sets: neither optimistic nor pessimistic by more than chance allows."""
    limit, ndv, runs = 258, 5_000, 400
    errors = []
    for run in range(runs):
        counted = DistinctHashes(limit)
        counted.add(hashes_of(np.arange(run * ndv, (run + 1) * ndv)))
        errors.append(counted.count / ndv - 1)
    seen = float(np.sqrt(np.mean(np.square(errors))))
    assert seen == pytest.approx(counted.relative_error, rel=0.15)
    assert abs(np.mean(errors)) < 4 * counted.relative_error / runs**0.5


def test_merging_gives_what_adding_everything_gives():
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 80_000, 30_000) for _ in range(5)]
    whole, merged = DistinctHashes(), DistinctHashes()
    for part in parts:
        whole.add(hashes_of(part))
        of_part = DistinctHashes()
        of_part.add(hashes_of(part))
        merged.merge(of_part)
    assert merged.count == whole.count
    assert merged.relative_error == whole.relative_error is not None


def test_a_part_that_is_no_longer_exact_makes_the_whole_inexact():
    many, few = DistinctHashes(limit=100), DistinctHashes(limit=100)
    many.add(hashes_of(np.arange(101)))
    few.add(hashes_of(np.arange(5)))
    few.merge(many)
    assert not few.is_exact


def test_merging_few_values_stays_exact():
    one, other = DistinctHashes(), DistinctHashes()
    one.add(hashes_of([1, 2, 3]))
    other.add(hashes_of([3, 4]))
    one.merge(other)
    assert (one.count, one.is_exact) == (4, True)


def test_only_the_smallest_hashes_are_kept():
    counted = DistinctHashes(limit=1000)
    for start in range(0, 1_000_000, 10_000):
        counted.add(hashes_of(np.arange(start, start + 10_000)))
        assert sum(part.size for part in counted._parts) <= 4 * 1000
