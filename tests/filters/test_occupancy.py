"""Occupancy: bits per block, histogram, map, and the shape to expect, against plain counting."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.filters.occupancy import (
    bits_per_block,
    expected_histogram,
    histogram,
    measured_fpp,
    occupancy_map,
    spread,
)
from parquet_bloom.options import InspectOptions
from parquet_bloom.verbs.occupancy import MAP_CELLS, inspect_occupancy


def made(num_blocks, num_values, seed=0):
    """A sound filter."""
    filter = pb.SplitBlockBloomFilter.empty(num_blocks)
    hashes = np.random.default_rng(seed).integers(0, 2**64, num_values, dtype=np.uint64)
    filter.insert_hashes(hashes)
    return filter


def shape_of(filter):
    """Its histogram, and the one to expect."""
    counts = histogram(bits_per_block(filter))
    return counts, expected_histogram(counts)


def plain_bits(filter):
    data = filter.to_bytes()
    return [
        int.from_bytes(data[at : at + 32], "little").bit_count() for at in range(0, len(data), 32)
    ]


def test_bits_per_block():
    filter = made(37, 500)
    bits = bits_per_block(filter)
    assert (bits.shape, bits.dtype) == ((37,), np.uint16)
    assert bits.tolist() == plain_bits(filter)


def test_a_full_block_has_256_bits():
    filter = pb.SplitBlockBloomFilter.from_bytes(b"\xff" * 32 + bytes(32))
    assert bits_per_block(filter).tolist() == [256, 0]


def test_histogram():
    counts = histogram(np.array([0, 256, 8, 8], np.uint16))
    assert (counts.shape, counts.dtype) == ((257,), np.int64)
    assert {place: count for place, count in enumerate(counts.tolist()) if count} == {
        0: 1,
        8: 2,
        256: 1,
    }


@pytest.mark.parametrize(("num_blocks", "cells"), [(1, 4), (7, 7), (7, 3), (1000, 512), (64, 1)])
def test_map_is_the_mean_of_neighbours(num_blocks, cells):
    bits = bits_per_block(made(num_blocks, 5 * num_blocks))
    cells_there = min(cells, num_blocks)
    edges = [i * num_blocks // cells_there for i in range(cells_there + 1)]
    fills = [bits[edges[i] : edges[i + 1]].mean() / 256 for i in range(cells_there)]
    found = occupancy_map(bits, cells)
    assert found.shape == (cells_there,)
    assert found.tolist() == pytest.approx(fills, abs=1e-15)


def test_expected_of_few_values():
    """One value sets 8 bits, two set 16 unless they meet in a word, none sets none."""
    counts, expected = shape_of(made(1 << 12, 400))
    bits = int(counts @ np.arange(257))
    load = -32 * math.log1p(-bits / (256 << 12))
    assert expected[0] == pytest.approx(4096 * math.exp(-load), rel=1e-12)
    one = load * math.exp(-load)
    two = load**2 / 2 * math.exp(-load)
    assert expected[8] == pytest.approx(4096 * (one + two / 32**8), rel=1e-6)
    assert expected[15] == pytest.approx(4096 * two * 8 * (31 / 32) ** 7 / 32, rel=load)
    assert (expected >= 0).all()


@pytest.mark.parametrize(("num_blocks", "num_values"), [(64, 1000), (4096, 20_000), (16, 6000)])
def test_expected_has_the_same_blocks_and_bits(num_blocks, num_values):
    counts, expected = shape_of(made(num_blocks, num_values))
    assert expected.shape == (257,)
    assert expected.sum() == pytest.approx(num_blocks)
    assert expected @ np.arange(257) == pytest.approx(counts @ np.arange(257))


def test_a_sound_filter_follows_the_curve():
    """Pearson's chi-squared over the places where it applies: its mean is their number."""
    counts, expected = shape_of(made(1 << 15, 1 << 18))
    usual = expected >= 5
    statistic = ((counts - expected)[usual] ** 2 / expected[usual]).sum()
    places = usual.sum()
    assert abs(statistic - places) < 4 * math.sqrt(2 * places)
    assert counts[~usual].sum() == pytest.approx(expected[~usual].sum(), abs=60)


def test_nothing_is_expected_where_nothing_can_be():
    empty = pb.SplitBlockBloomFilter.empty(8)
    assert shape_of(empty)[1].tolist() == pytest.approx([8.0] + [0.0] * 256)
    full = pb.SplitBlockBloomFilter.from_bytes(b"\xff" * 256)
    assert shape_of(full)[1].tolist() == [0.0] * 256 + [8.0]


def test_spread_of_sound_filters_is_even():
    rng = np.random.default_rng(5)
    for seed in range(300):
        num_blocks = 1 << rng.integers(1, 12)
        num_values = max(1, int(num_blocks * 10 ** rng.uniform(-2, 2.3)))
        found = spread(*shape_of(made(num_blocks, num_values, seed)))
        assert found is None or found.is_even, (num_blocks, num_values)


def test_spread_is_one_on_average():
    ratios = [spread(*shape_of(made(512, 4000, seed))).ratio for seed in range(50)]
    error = spread(*shape_of(made(512, 4000))).error
    assert np.mean(ratios) == pytest.approx(1, abs=4 * error / math.sqrt(50))
    assert np.std(ratios) == pytest.approx(error, rel=0.4)


def half_empty(filter):
    data = bytearray(filter.to_bytes())
    data[len(data) // 2 :] = bytes(len(data) // 2)
    return pb.SplitBlockBloomFilter.from_bytes(data)


def all_alike(filter):
    return pb.SplitBlockBloomFilter.from_bytes(filter.to_bytes()[:32] * filter.num_blocks)


@pytest.mark.parametrize("broken", [half_empty, all_alike])
def test_spread_of_other_shapes_is_uneven(broken):
    found = spread(*shape_of(broken(made(128, 1000))))
    assert not found.is_even
    assert (found.ratio > 1) == (broken is half_empty)


@pytest.mark.parametrize("bitset", [bytes(320), b"\xff" * 320, b"\x0f" * 32])
def test_no_spread_where_none_is_expected(bitset):
    assert spread(*shape_of(pb.SplitBlockBloomFilter.from_bytes(bitset))) is None


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("occupancy")
    ids = np.random.default_rng(1).integers(0, 1 << 40, 9000)
    pq.write_table(pa.table({"a": ids, "b": ids, "c": ids}), folder / "in", row_group_size=4500)
    pb.build(folder / "in", folder / "out", columns=["a", "c"])
    return folder / "out"


def occupancies(path, **selection):
    found = []
    with open_file(path) as file:
        inspection = inspect_occupancy(
            file,
            InspectOptions(columns=selection.get("columns"), parts=selection.get("row_groups")),
            lambda one, _: found.append(one),
        )
    assert inspection == pb.inspect(path, **selection)
    return found


def test_occupancies_of_a_file(file):
    found = occupancies(file)
    assert [(one.row_group, one.column) for one in found] == [
        (0, "a"), (0, "c"), (1, "a"), (1, "c"),
    ]  # fmt: skip
    with pb.open(file) as opened:
        for one in found:
            filter = opened.bloom_filter(one.row_group, one.column).bits
            counts, expected = shape_of(filter)
            assert one.num_blocks == filter.num_blocks == 256
            assert one.histogram == tuple(counts.tolist())
            assert one.expected == tuple(expected.tolist())
            assert one.measured_fpp == measured_fpp(filter)
            assert one.spread == spread(counts, expected).ratio
            assert one.is_even
            assert one.map == tuple(bits / 256 for bits in plain_bits(filter))


def test_occupancies_of_some_of_a_file(file):
    found = occupancies(file, columns=["b", "c"], row_groups=[1])
    assert [(one.row_group, one.column) for one in found] == [(1, "c")]


def test_a_large_filter_has_a_small_map(tmp_path, file):
    pb.build(file, tmp_path / "large", columns=["b"], ndv=100_000)
    (_, one) = occupancies(tmp_path / "large", columns=["b"])
    assert (one.num_blocks, len(one.map)) == (1 << 13, MAP_CELLS)
    assert sum(one.map) / MAP_CELLS == pytest.approx(
        np.dot(one.histogram, range(257)) / one.num_blocks / 256
    )
