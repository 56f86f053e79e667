"""The sampled values, and the row groups that a look-up of them is expected to read."""

import numpy as np
import pytest

from parquet_bloom.advice.lookups import ExpectedReads, expected_reads
from parquet_bloom.advice.samples import GivenSample, LookUp, StoredSample
from parquet_bloom.advice.statistics import Bounds, RowGroupRanges, key_of
from parquet_bloom.leaf_type import LeafType
from parquet_bloom.parquet.runs import FixedRun
from parquet_bloom.values import Encodings, encode

INT64 = LeafType("INT64")
KEY_OF = key_of(INT64)


def run_of(numbers):
    return FixedRun(memoryview(np.ascontiguousarray(numbers, "<i8")).cast("B"), 8)


def add(sample, numbers, fpp=0.5, pages=1):
    """A chunk of these values."""
    chunk = sample.begin()
    for page in np.array_split(numbers, pages):
        run = run_of(page)
        chunk.add(run, run.hashes())
    chunk.finish(fpp)


def test_a_stored_value_counts_the_row_groups_that_hold_it():
    sample = StoredSample(KEY_OF)
    add(sample, [1, 2, 2, 3], 0.25)
    add(sample, [3, 4], 0.5)
    found = {value.key: (value.held, value.held_fpp) for value in sample.look_ups()}
    assert found == {1: (1, 0.25), 2: (1, 0.25), 3: (2, 0.75), 4: (1, 0.5)}


@pytest.mark.parametrize("seed", range(5))
def test_of_many_values_the_same_are_drawn_in_every_row_group(seed):
    """Against all values counted: those with the smallest hashes, and nothing lost of them."""
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, 3_000, size) for size in (5_000, 40, 300, 5_000, 2_000, 7)]
    sample = StoredSample(KEY_OF, limit=50)
    for number, group in enumerate(groups):
        add(sample, group, fpp=2.0**-number, pages=4)
    distinct = np.unique(np.concatenate(groups))
    order = np.argsort(run_of(distinct).hashes())
    drawn = {value.key: (value.held, value.held_fpp) for value in sample.look_ups()}
    assert set(drawn) == set(distinct[order][:50].tolist())
    for key, told in drawn.items():
        holders = [number for number, group in enumerate(groups) if key in group]
        assert told == (len(holders), sum(2.0**-number for number in holders))


def test_what_has_no_place_in_the_order_is_not_drawn():
    leaf = LeafType("DOUBLE")
    sample = StoredSample(key_of(leaf))
    chunk = sample.begin()
    stored = np.array([1.5, np.nan], "<f8")
    run = FixedRun(memoryview(stored).cast("B"), 8)
    chunk.add(run, run.hashes())
    chunk.finish(0.5)
    assert [value.key for value in sample.look_ups()] == [1.5]


def test_without_an_order_all_values_are_drawn_without_keys():
    sample = StoredSample(None)
    add(sample, [1, 2, 3])
    assert [value.key for value in sample.look_ups()] == [None] * 3


def test_given_values_are_kept_with_their_repetitions():
    given = [encode(INT64, 7), encode(INT64, 7), encode(INT64, 9), Encodings((), "NaN")]
    sample = GivenSample(given, KEY_OF)
    add(sample, [7, 8], 0.25, pages=2)
    add(sample, [6, 7], 0.5)
    told = [(value.key, value.held, value.held_fpp) for value in sample.look_ups()]
    assert told == [(7, 2, 0.75), (7, 2, 0.75), (9, 0, 0.0), (None, 2, 0.75)]


def test_given_values_that_can_be_stored_in_several_ways():
    """Both zeros are looked for, whichever is stored."""
    leaf = LeafType("DOUBLE")
    for zero in (0.0, -0.0):
        sample = GivenSample([encode(leaf, 0.0)], key_of(leaf))
        chunk = sample.begin()
        run = FixedRun(memoryview(np.array([zero, 1.0])).cast("B"), 8)
        chunk.add(run, run.hashes())
        chunk.finish(0.5)
        assert [value.held for value in sample.look_ups()] == [1]


RANGES = RowGroupRanges([Bounds(0, 9), Bounds(5, 14), Bounds(5, 20)], [0.125, 0.25, 0.5])


@pytest.mark.parametrize(
    ("value", "by_statistics", "with_filter", "if_absent"),
    [
        (LookUp(7, 1, 0.125), 3, 1 + 0.25 + 0.5, 0.875),
        (LookUp(7, 2, 0.75), 3, 2 + 0.125, 0.875),
        (LookUp(7), 3, 0.875, 0.875),
        (LookUp(12, 1, 0.5), 2, 1 + 0.25, 0.75),
        (LookUp(20, 1, 0.5), 1, 1, 0.5),
        (LookUp(99), 0, 0, 0),
        (LookUp(None, 3, 0.875), 3, 3, 0.875),
        # Held where the statistics say that it cannot be: readers do not look there.
        (LookUp(20, 3, 0.875), 1, 1, 0.5),
    ],
)
def test_reads_of_one_value(value, by_statistics, with_filter, if_absent):
    assert expected_reads(RANGES, [value]) == ExpectedReads(
        1, int(value.held > 0), by_statistics, with_filter, if_absent
    )


def test_reads_are_means():
    reads = expected_reads(RANGES, [LookUp(7, 1, 0.125), LookUp(99), LookUp(20, 1, 0.5)])
    assert reads == ExpectedReads(3, 2, 4 / 3, 2.75 / 3, 1.375 / 3)


def test_no_values_are_no_reads():
    assert expected_reads(RANGES, []) is None
