"""How large a filter must be: the specification's tables, and the formula behind them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import specification as spec

from parquet_bloom.filters import sizing
from parquet_bloom.filters.split_block import SplitBlockBloomFilter

TARGETS = [0.1, 0.05, 0.01, 0.001, 1e-4, 1e-5]
targets = st.floats(1e-6, 0.9)
value_counts = st.integers(0, 10**9)


# --- the specification's own numbers --------------------------------------------------------------


@pytest.mark.parametrize(
    ("ndv", "percent", "half_a_digit"),
    [(26_214, 1.26, 0.005), (52_428, 18, 0.5), (13_107, 0.04, 0.005)],
)
def test_a_filter_of_1024_blocks(ndv: int, percent: float, half_a_digit: float) -> None:
    assert 100 * sizing.expected_fpp(ndv, 1024) == pytest.approx(percent, abs=half_a_digit)

    # A filter that was really filled agrees.
    hashes = np.random.default_rng(ndv).integers(0, 2**64, ndv, np.uint64)
    filter = SplitBlockBloomFilter.empty(1024)
    filter.insert_hashes(hashes)
    assert filter.fpp == pytest.approx(sizing.expected_fpp(ndv, 1024), rel=0.1)


@pytest.mark.parametrize(
    ("percent", "bits"), [(10, 6.0), (1, 10.5), (0.1, 16.9), (0.01, 26.4), (0.001, 41)]
)
def test_bits_per_value_as_printed(percent: float, bits: float) -> None:
    assert sizing.bits_per_value(percent / 100) == pytest.approx(bits, abs=0.1)


@pytest.mark.parametrize(
    ("fpp", "bits"),
    [(0.1, 5.99), (0.05, 7.23), (0.01, 10.53), (0.001, 16.89), (1e-4, 26.34), (1e-5, 40.99)],
)
def test_bits_per_value_to_two_digits(fpp: float, bits: float) -> None:
    assert sizing.bits_per_value(fpp) == pytest.approx(bits, abs=0.005)


@pytest.mark.parametrize(
    ("fpp", "actual"), [(0.1, 0.113), (0.05, 0.061), (0.01, 0.0146), (0.001, 0.0021)]
)
def test_the_closed_formula_undersizes(fpp: float, actual: float) -> None:
    closed = spec.closed_formula_bits(fpp)
    assert closed < sizing.bits_per_value(fpp)
    assert sizing.expected_fpp(256 / closed, 1) == pytest.approx(actual, rel=0.02)


# --- the Poisson sum ------------------------------------------------------------------------------


@pytest.mark.parametrize("num_blocks", [1, 3, 64, 1000])
@pytest.mark.parametrize("load", [1, 5, 25, 51, 200, 600])
def test_expected_fpp_is_the_poisson_sum(num_blocks: int, load: int) -> None:
    expected = spec.expected_fpp(load * num_blocks, num_blocks)
    assert sizing.expected_fpp(load * num_blocks, num_blocks) == pytest.approx(expected, rel=1e-9)


def test_expected_fpp_at_both_ends() -> None:
    assert sizing.expected_fpp(0, 1) == 0
    assert sizing.expected_fpp(1, 2**30) == pytest.approx(2.0**-40 / 2**30, rel=1e-6)
    assert 1 - 1e-9 < sizing.expected_fpp(10_000, 1) <= 1


@given(st.integers(1, 2**22), st.floats(1e-3, 1000), st.integers(1, 1000))
def test_more_values_mean_more_false_positives(num_blocks: int, load: float, more: int) -> None:
    ndv = math.ceil(load * num_blocks)
    fpp = sizing.expected_fpp(ndv, num_blocks)
    assert sizing.expected_fpp(ndv + more, num_blocks) >= fpp * (1 - 1e-9)
    assert sizing.expected_fpp(ndv, num_blocks + more) <= fpp * (1 + 1e-9)


@pytest.mark.parametrize("fpp", TARGETS)
def test_bits_per_value_meets_its_target(fpp: float) -> None:
    bits = sizing.bits_per_value(fpp)
    assert sizing.expected_fpp(256 / bits, 1) <= fpp
    assert sizing.expected_fpp(256 / (bits * (1 - 1e-6)), 1) > fpp


@given(targets, targets)
def test_a_lower_target_takes_more_bits(first: float, second: float) -> None:
    low, high = sorted([first, second])
    assert sizing.bits_per_value(low) >= sizing.bits_per_value(high)


@pytest.mark.parametrize("fpp", [-0.1, 0.0, 1.0, 1.5, math.nan, math.inf])
def test_an_impossible_target_is_refused(fpp: float) -> None:
    with pytest.raises(ValueError, match=f"^fpp: {fpp}, expected a number between 0 and 1$"):
        sizing.bits_per_value(fpp)


# --- numbers of blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize("fpp", TARGETS)
@pytest.mark.parametrize("ndv", [100, 1000, 26_214, 1_000_000])
def test_min_blocks_is_enough_and_not_one_more(ndv: int, fpp: float) -> None:
    num_blocks = sizing.min_blocks(ndv, fpp)
    assert sizing.expected_fpp(ndv, num_blocks) <= fpp
    assert sizing.expected_fpp(ndv, num_blocks - 1) > fpp


def test_min_blocks_by_hand() -> None:
    assert sizing.min_blocks(0, 0.01) == 1
    assert sizing.min_blocks(1, 0.01) == 1
    assert sizing.min_blocks(24, 0.01) == 1
    assert sizing.min_blocks(25, 0.01) == 2
    assert sizing.min_blocks(1_000_000, 0.01) == 41_130


@given(value_counts, targets)
def test_a_power_of_two_that_is_enough(ndv: int, fpp: float) -> None:
    blocks = sizing.Size(fpp).blocks_for(ndv)
    needed = sizing.min_blocks(ndv, fpp)
    assert blocks.bit_count() == 1
    assert 64 <= 32 * blocks <= 128 << 20
    assert blocks >= needed or 32 * blocks == 128 << 20
    assert blocks // 2 < needed or 32 * blocks == 64


@given(value_counts, st.integers(0, 10**8), targets, st.integers(64, 128 << 20))
def test_more_values_never_take_fewer_blocks(
    ndv: int, more: int, fpp: float, max_bytes: int
) -> None:
    blocks = sizing.Size(fpp, max_bytes).blocks_for(ndv)
    assert blocks <= sizing.Size(fpp, max_bytes).blocks_for(ndv + more)
    assert blocks <= sizing.Size(fpp).blocks_for(ndv)
    assert 64 <= 32 * blocks <= max_bytes


@pytest.mark.parametrize(
    ("ndv", "fpp", "max_bytes", "num_bytes"),
    [
        (0, 0.01, 128 << 20, 64),
        (1, 0.01, 128 << 20, 64),
        (48, 0.01, 128 << 20, 64),
        (49, 0.01, 128 << 20, 128),
        (100_000, 0.01, 128 << 20, 256 << 10),
        (1_000_000, 0.01, 128 << 20, 2 << 20),
        (1_000_000, 0.001, 128 << 20, 4 << 20),
        (1_000_000, 0.01, 1 << 20, 1 << 20),
        (1_000_000, 0.01, (1 << 20) + 500_000, 1 << 20),
        (1_000_000, 0.01, (1 << 20) - 1, 512 << 10),
        (10**9, 0.01, 128 << 20, 128 << 20),
        (10**12, 1e-6, 128 << 20, 128 << 20),
        (1_000_000, 0.01, 64, 64),
    ],
)
def test_power_of_two_blocks(ndv: int, fpp: float, max_bytes: int, num_bytes: int) -> None:
    assert 32 * sizing.Size(fpp, max_bytes).blocks_for(ndv) == num_bytes


def test_the_limits() -> None:
    assert (sizing.MIN_BYTES, sizing.MAX_BYTES) == (64, 134_217_728)
    assert (sizing.BLOCK_BYTES, sizing.BLOCK_BITS, sizing.WORDS_PER_BLOCK) == (32, 256, 8)


@pytest.mark.parametrize(
    ("limit", "most"),
    [(sizing.MAX_BYTES, "possible"), (sizing.MAX_BYTES - 1, "allowed"), (1 << 20, "allowed")],
)
def test_a_filter_that_misses_its_rate_at_the_largest_size_there_is(limit: int, most: str) -> None:
    """No option can make it larger."""
    size = sizing.Size(fpp=0.01, max_bytes=limit)
    filter = SimpleNamespace(fpp=0.25, num_bytes=size.max_blocks * sizing.BLOCK_BYTES)
    assert size.reason_against(filter) == (
        f"FPP 25 % at {filter.num_bytes} bytes, the most {most}: misses the target of 1 %"
    )


def test_a_filter_of_a_given_size_may_have_up_to_twice_its_rate() -> None:
    """Bad luck with hashes is no reason against the number that somebody gave, nor is it folded away."""
    size = sizing.Size(fpp=0.01, ndv=100_000, max_bytes=1 << 20)
    assert not size.reason_against(SimpleNamespace(fpp=0.02, num_bytes=1 << 18))
    assert size.reason_against(SimpleNamespace(fpp=0.021, num_bytes=1 << 18)) == (
        "FPP 2.1 % at 262144 bytes, sized for an NDV of 100000: misses the target of 1 %"
    )
    assert size.reason_against(SimpleNamespace(fpp=0.021, num_bytes=1 << 20)) == (
        "FPP 2.1 % at 1048576 bytes, the most allowed: misses the target of 1 %"
    )


@pytest.mark.parametrize(
    ("limit", "power"), [(1, 1), (2, 2), (3, 2), (4, 4), (1023, 512), (1024, 1024), (2**40, 2**40)]
)
def test_largest_power_of_two(limit: int, power: int) -> None:
    assert sizing.largest_power_of_two(limit) == power


# --- the number of distinct values ----------------------------------------------------------------


@pytest.mark.parametrize("num_blocks", [1, 37, 1024])
@pytest.mark.parametrize("load", [0.1, 1, 25, 100])
def test_estimate_ndv_inverts_the_expected_fill(num_blocks: int, load: float) -> None:
    clear = math.exp(-load / 32)
    bits_set = num_blocks * 256 * (1 - clear)
    assert sizing.estimate_ndv(bits_set, num_blocks) == pytest.approx(load * num_blocks, rel=1e-9)


def test_estimate_ndv_at_both_ends() -> None:
    assert sizing.estimate_ndv(0, 4) == 0
    assert sizing.estimate_ndv(8, 1) == pytest.approx(1, rel=0.02)
    assert sizing.estimate_ndv(255, 1) < math.inf
    assert sizing.estimate_ndv(256, 1) == math.inf
