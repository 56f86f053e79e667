"""The sampled values, and the row groups that a look-up of them is expected to read."""

import numpy as np
import pytest

from parquet_bloom.advice.lookups import ExpectedReads, LookUps, MinMax, expected_reads
from parquet_bloom.advice.order import Keys
from parquet_bloom.advice.parquet_survey import given_value, key_of
from parquet_bloom.advice.samples import GivenSample, StoredSample
from parquet_bloom.parquet.pages.runs import FixedRun
from parquet_bloom.values.encode import Encodings, encode
from parquet_bloom.values.types import LeafType

INT64 = LeafType("INT64")
KEY_OF = key_of(INT64)


def run_of(numbers, dtype="<i8"):
    return FixedRun(memoryview(np.ascontiguousarray(numbers, dtype)).cast("B"), 8)


def add_run(part, run, key_of=KEY_OF):
    hashes = run.hashes()
    part.add(
        hashes,
        np.unique(hashes),
        lambda positions: Keys.of(list(map(key_of, run.take(positions.data)))),
    )


def add(sample, numbers, fpp=0.5, pages=1, fpp_there=1.0):
    """A chunk of these values."""
    chunk = sample.begin()
    for page in np.array_split(numbers, pages):
        add_run(chunk, run_of(page))
    chunk.finish(sample, fpp, fpp_there)


def told(sample):
    """By key, how many row groups hold a value, and the FPPs of their filters."""
    found = sample.look_ups()
    return dict(
        zip(
            found.keys.tolist(),
            zip(found.held.tolist(), found.held_fpp.tolist(), strict=True),
            strict=True,
        )
    )


def test_a_stored_value_counts_the_row_groups_that_hold_it():
    sample = StoredSample(is_ordered=True)
    add(sample, [1, 2, 2, 3], 0.25)
    add(sample, [3, 4], 0.5)
    assert told(sample) == {1: (1, 0.25), 2: (1, 0.25), 3: (2, 0.75), 4: (1, 0.5)}


@pytest.mark.parametrize("packed", [[], [1, 3], range(6)])
@pytest.mark.parametrize("seed", range(5))
def test_of_many_values_the_same_are_drawn_in_every_row_group(seed, packed):
    """Against all values counted: those with the smallest hashes, and nothing lost of them."""
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, 3_000, size) for size in (5_000, 40, 300, 5_000, 2_000, 7)]
    sample = StoredSample(is_ordered=True, limit=50)
    for number, group in enumerate(groups):
        add(sample, group, fpp=2.0**-number, pages=4)
        if number in packed:
            sample.pack()
    distinct = np.unique(np.concatenate(groups))
    order = np.argsort(run_of(distinct).hashes())
    drawn = told(sample)
    assert set(drawn) == set(distinct[order][:50].tolist())
    for key, found in drawn.items():
        holders = [number for number, group in enumerate(groups) if key in group]
        assert found == (len(holders), sum(2.0**-number for number in holders))


def test_a_chunk_of_many_pages_keeps_few_values():
    chunk = StoredSample(is_ordered=True, limit=50).begin()
    for page in np.random.default_rng(6).permutation(20_000).reshape(400, 50):
        add_run(chunk, run_of(page))
        assert len(chunk._keys) <= 75


def test_keys_that_are_known_are_not_read_again():
    """Neither of the same group nor of those before, once these are packed."""
    sample, read = StoredSample(is_ordered=True, limit=50), []

    def keys_at(run):
        def keys(positions):
            found = [KEY_OF(stored) for stored in run.take(positions.data)]
            read.extend(found)
            return Keys.of(found)

        return keys

    for numbers in ([1, 2, 2], [2, 3, 1], [3, 9]):
        part = sample.begin()
        for page in (run_of(numbers), run_of(numbers[:1])):
            part.add(page.hashes(), np.unique(page.hashes()), keys_at(page))
        part.finish(sample, 0.5, 1.0)
        sample._shrink()
    assert sorted(read) == [1, 2, 3, 9]
    assert told(sample) == {1: (2, 1.0), 2: (2, 1.0), 3: (2, 1.0), 9: (1, 0.5)}


def test_hashes_that_are_too_great_are_not_drawn():
    """Nor given ones left out."""
    hashes = run_of(range(100)).hashes()
    middle = int(np.sort(hashes)[50])
    stored, given = (
        StoredSample(is_ordered=True),
        GivenSample([given_value(encode(INT64, 7), KEY_OF)], [1]),
    )
    for sample in (stored, given):
        chunk = sample.begin(below=middle if sample is stored else 0)
        add_run(chunk, run_of(range(100)))
        chunk.finish(sample, 0.5, 1.0)
    assert set(told(stored)) == set(np.flatnonzero(hashes < middle).tolist())
    assert told(given) == {7: (1, 0.5)}


def test_what_has_no_place_in_the_order_is_not_drawn():
    leaf = LeafType("DOUBLE")
    sample = StoredSample(is_ordered=True)
    chunk = sample.begin()
    add_run(chunk, run_of([1.5, np.nan], "<f8"), key_of(leaf))
    chunk.finish(sample, 0.5, 1.0)
    assert told(sample) == {1.5: (1, 0.5)}


def test_without_an_order_all_values_are_drawn_without_keys():
    sample = StoredSample(is_ordered=False)
    add(sample, [1, 2, 3])
    assert sample.look_ups().keys.tolist() == [None] * 3
    assert sample.look_ups().held.tolist() == [1] * 3


def test_given_values_are_counted_as_often_as_they_are_asked():
    given = [encode(INT64, 7), encode(INT64, 9), Encodings((), "NaN")]
    sample = GivenSample([given_value(each, KEY_OF) for each in given], [2, 1, 5])
    add(sample, [7, 8], 0.25, pages=2)
    add(sample, [6, 7], 0.5)
    assert told(sample) == {7: (2, 0.75), 9: (0, 0.0), None: (2, 0.75)}
    assert sample.look_ups().times.tolist() == [2, 1, 5]


def test_given_values_that_can_be_stored_in_several_ways():
    """Both zeros are looked for, whichever is stored."""
    leaf = LeafType("DOUBLE")
    for zero in (0.0, -0.0):
        sample = GivenSample([given_value(encode(leaf, 0.0), key_of(leaf))], [1])
        chunk = sample.begin()
        add_run(chunk, run_of([zero, 1.0], "<f8"), key_of(leaf))
        chunk.finish(sample, 0.5, 1.0)
        assert sample.look_ups().held.tolist() == [1]


def look_ups(*values, times=None):
    """Of values with key, row groups that hold it, FPPs of their filters."""
    keys, held, fpps = zip(*values, strict=True) if values else ((), (), ())
    return LookUps(
        Keys.of(keys),
        np.array(times or [1] * len(keys), np.int64),
        np.array(held, np.int64),
        np.array(fpps, np.float64),
        np.array(held, np.float64),
    )


GROUPS = [MinMax(0, 9), MinMax(5, 14), MinMax(5, 20)], [0.125, 0.25, 0.5]


@pytest.mark.parametrize(
    ("value", "by_statistics", "with_filter", "if_absent"),
    [
        ((7, 1, 0.125), 3, 1 + 0.25 + 0.5, 0.875),
        ((7, 2, 0.75), 3, 2 + 0.125, 0.875),
        ((7, 0, 0), 3, 0.875, 0.875),
        ((12, 1, 0.5), 2, 1 + 0.25, 0.75),
        ((20, 1, 0.5), 1, 1, 0.5),
        ((99, 0, 0), 0, 0, 0),
        ((None, 3, 0.875), 3, 3, 0.875),
        # Held where the statistics say that it cannot be: readers do not look there.
        ((20, 3, 0.875), 1, 1, 0.5),
    ],
)
def test_reads_of_one_value(value, by_statistics, with_filter, if_absent):
    holding = min(value[1], by_statistics)
    assert expected_reads(*GROUPS, look_ups(value), 3) == ExpectedReads(
        1, int(value[1] > 0), by_statistics, with_filter, if_absent, holding, holding, by_statistics
    )


def test_reads_are_means():
    reads = expected_reads(*GROUPS, look_ups((7, 1, 0.125), (99, 0, 0), (20, 1, 0.5)), 3)
    assert reads == ExpectedReads(3, 2, 4 / 3, 2.75 / 3, 1.375 / 3, 2 / 3, 2 / 3, 4 / 3)


def test_what_is_looked_up_more_often_weighs_more():
    reads = expected_reads(*GROUPS, look_ups((7, 1, 0.125), (99, 0, 0), times=[1, 3]), 3)
    assert reads == ExpectedReads(4, 1, 3 / 4, 1.75 / 4, 0.875 / 4, 1 / 4, 1 / 4, 3 / 4)


def test_no_values_are_no_reads():
    assert expected_reads(*GROUPS, look_ups(), 3) is None
