"""SplitBlockBloomFilter: what holds for every filter, and the oracle's answer after every step."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from conftest import SHARED, missing
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from oracle import specification as spec

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.split_block import SplitBlockBloomFilter

hashes = st.lists(st.integers(0, 2**64 - 1), max_size=150)
block_counts = st.one_of(st.integers(1, 40), st.sampled_from([64, 96, 128]))


def array(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint64)


def random_hashes(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def filter_of(values: list[int] | np.ndarray, num_blocks: int) -> SplitBlockBloomFilter:
    filter = SplitBlockBloomFilter.empty(num_blocks)
    filter.insert_hashes(np.asarray(values, np.uint64))
    return filter


def divisors(number: int) -> list[int]:
    return [factor for factor in range(1, number + 1) if number % factor == 0]


# --- what holds for every filter ------------------------------------------------------------------


@given(hashes, hashes, block_counts)
def test_every_answer_is_the_specifications(
    inserted: list[int], asked: list[int], num_blocks: int
) -> None:
    filter = filter_of(inserted, num_blocks)
    expected = spec.filter_of(inserted, num_blocks)
    assert filter.to_bytes() == spec.bitset(expected)
    assert filter.check_hashes(array(asked)).tolist() == [
        spec.filter_check(expected, hash) for hash in asked
    ]


@given(hashes, block_counts)
def test_a_folded_filter_is_one_built_at_that_size(inserted: list[int], num_blocks: int) -> None:
    filter = filter_of(inserted, num_blocks)
    for factor in divisors(num_blocks):
        fresh = filter_of(inserted, num_blocks // factor)
        assert filter.fold(factor).to_bytes() == fresh.to_bytes()


@given(hashes, hashes, block_counts)
def test_bits_outside_are_those_of_one_filter_only(
    some: list[int], others: list[int], num_blocks: int
) -> None:
    left, right = filter_of(some, num_blocks), filter_of(others, num_blocks)
    expected = sum(
        (mine & ~theirs).bit_count()
        for mine, theirs in zip(left.words.tolist(), right.words.tolist(), strict=True)
    )
    assert left.bits_outside(right) == expected


@given(st.lists(st.binary(max_size=40), max_size=30), st.binary(max_size=40), block_counts)
def test_values_by_their_stored_bytes(inserted: list[bytes], asked: bytes, num_blocks: int) -> None:
    filter = SplitBlockBloomFilter.empty(num_blocks)
    for plain in inserted:
        filter.insert_value(plain)
    expected = spec.filter_of(map(xxhash.xxh64_intdigest, inserted), num_blocks)
    assert filter.to_bytes() == spec.bitset(expected)
    assert filter.check_value(asked) is spec.filter_check(expected, xxhash.xxh64_intdigest(asked))
    prefixed = b"".join(len(plain).to_bytes(4, "little") + plain for plain in inserted)
    other = SplitBlockBloomFilter.empty(num_blocks)
    assert other.insert_byte_array(memoryview(prefixed)) == len(inserted)
    assert other.to_bytes() == filter.to_bytes()


@given(st.integers(1, 20), st.integers(0, 100), block_counts)
def test_values_of_a_fixed_width(width: int, count: int, num_blocks: int) -> None:
    data = np.random.default_rng(width).bytes(width * count)
    filter = SplitBlockBloomFilter.empty(num_blocks)
    assert filter.insert_fixed(memoryview(data), width) == count
    values = [data[i * width : (i + 1) * width] for i in range(count)]
    expected = spec.filter_of(map(xxhash.xxh64_intdigest, values), num_blocks)
    assert filter.to_bytes() == spec.bitset(expected)


@given(hashes, block_counts)
def test_bytes_and_back(inserted: list[int], num_blocks: int) -> None:
    filter = filter_of(inserted, num_blocks)
    stored = filter.to_bytes()
    back = SplitBlockBloomFilter.from_bytes(stored)
    assert (back.words == filter.words).all()
    assert back.words.dtype == np.uint32
    assert (back.num_blocks, back.num_bytes) == (num_blocks, len(stored))
    assert len(stored) == 32 * num_blocks
    # A copy: what is inserted later does not reach the stored bytes, and there is room for it.
    back.insert_hashes(array([12345]))
    assert filter.to_bytes() == stored
    assert bytes(filter.bitset) == stored
    assert SplitBlockBloomFilter(filter.words).to_bytes() == stored


class AgainstTheOracle(RuleBasedStateMachine):
    """A filter and the oracle's go through the same operations and stay the same filter."""

    filter: SplitBlockBloomFilter
    oracle: spec.Filter

    @initialize(num_blocks=block_counts)
    def begin(self, num_blocks: int) -> None:
        self.filter = SplitBlockBloomFilter.empty(num_blocks)
        self.oracle = spec.new_filter(num_blocks)
        self.inserted: list[int] = []

    @rule(values=hashes)
    def insert(self, values: list[int]) -> None:
        self.filter.insert_hashes(array(values))
        for hash in values:
            spec.filter_insert(self.oracle, hash)
        self.inserted += values

    @rule(values=hashes)
    def check(self, values: list[int]) -> None:
        expected = [spec.filter_check(self.oracle, hash) for hash in values]
        assert self.filter.check_hashes(array(values)).tolist() == expected

    @rule(data=st.data())
    def fold(self, data: st.DataObject) -> None:
        factor = data.draw(st.sampled_from(divisors(self.filter.num_blocks)[:3]))
        self.filter = self.filter.fold(factor)
        self.oracle = spec.fold(self.oracle, factor)

    @rule(fpp=st.sampled_from([0.5, 0.1, 0.01]), min_blocks=st.integers(1, 3))
    def fold_to_fpp(self, fpp: float, min_blocks: int) -> None:
        self.filter = self.filter.fold_to_fpp(fpp, min_blocks)
        while len(self.oracle) % 2 == 0 and len(self.oracle) // 2 >= min_blocks:
            folded = spec.fold(self.oracle, 2)
            if spec.fpp(folded) > fpp:
                break
            self.oracle = folded

    @rule(values=hashes)
    def join(self, values: list[int]) -> None:
        other = spec.filter_of(values, len(self.oracle))
        words = self.filter.words
        words |= spec.words(other)
        self.oracle = spec.union(self.oracle, other)
        self.inserted += values

    @rule()
    def store_and_load(self) -> None:
        self.filter = SplitBlockBloomFilter.from_bytes(self.filter.to_bytes())

    @invariant()
    def the_same_filter(self) -> None:
        assert self.filter.to_bytes() == spec.bitset(self.oracle)
        assert self.filter.num_blocks == len(self.oracle)
        assert self.filter.bits_set == spec.popcount(self.oracle)
        assert self.filter.fill == spec.popcount(self.oracle) / (256 * len(self.oracle))
        assert self.filter.fpp == pytest.approx(float(spec.fpp(self.oracle)), rel=1e-12)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.filter.check_hashes(array(self.inserted)).all()


AgainstTheOracle.TestCase.settings = settings(max_examples=40, stateful_step_count=15)
TestAgainstTheOracle = AgainstTheOracle.TestCase


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4, 31, 33, 48, 1000])
@pytest.mark.parametrize("buffer", [bytes, bytearray, lambda size: memoryview(bytes(size))])
def test_a_ragged_or_empty_bitset_is_refused(size: int, buffer: Callable[[int], bytes]) -> None:
    message = f"^bitset: {size} bytes, expected a positive multiple of 32$"
    with pytest.raises(FilterError, match=message):
        SplitBlockBloomFilter.from_bytes(buffer(size))
    with pytest.raises(FilterError, match=message):
        SplitBlockBloomFilter.over(bytes(size))


def test_stored_bits_are_read_where_they_are() -> None:
    inserted = random_hashes(3, 300)
    made = SplitBlockBloomFilter.empty(37)
    made.insert_hashes(inserted)
    stored = made.to_bytes()
    read = SplitBlockBloomFilter.over(stored)
    assert read.bitset.obj is stored
    assert read.to_bytes() == stored
    assert (read.bits_set, read.fpp, read.num_blocks) == (made.bits_set, made.fpp, 37)
    asked = np.concatenate([inserted, random_hashes(4, 300)])
    assert read.check_hashes(asked).tolist() == made.check_hashes(asked).tolist()
    assert read.fold(37).to_bytes() == made.fold(37).to_bytes()
    with pytest.raises(BufferError, match="not writable"):
        read.insert_hashes(inserted)
    assert made.to_bytes() == stored


@pytest.mark.parametrize("size", [0, 1, 7, 12])
def test_ragged_or_empty_words_are_refused(size: int) -> None:
    message = f"^bitset: {4 * size} bytes, expected a positive multiple of 32$"
    with pytest.raises(FilterError, match=message):
        SplitBlockBloomFilter(np.zeros(size, np.uint32))


@pytest.mark.parametrize(
    "words",
    [
        np.zeros((1, 8), np.uint32),
        np.zeros((), np.uint32),
        np.zeros(16, np.uint32)[::2],
        np.zeros(8, np.uint32)[::-1],
        np.zeros(8, np.int32),
        np.zeros(8, np.uint64),
        np.zeros(8, np.float32),
        np.zeros(8, ">u4"),
        np.zeros(32, np.uint8),
        memoryview(bytes(32)),
    ],
)
def test_other_words_are_refused(words: np.ndarray | memoryview) -> None:
    message = r"^words: expected a contiguous, one-dimensional uint32 array$"
    with pytest.raises(FilterError, match=message):
        SplitBlockBloomFilter(words)


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview, pa.py_buffer, np.frombuffer])
def test_any_buffer_of_bytes_is_a_bitset(buffer: Callable[..., Any]) -> None:
    """That of pyarrow, which Spark's rows have, is one of signed bytes."""
    stored = bytes(range(64))
    given = buffer(stored, np.int8) if buffer is np.frombuffer else buffer(stored)
    assert SplitBlockBloomFilter.from_bytes(given).to_bytes() == stored


def test_words_are_wrapped_and_not_copied() -> None:
    words = np.zeros(16, np.uint32)
    filter = SplitBlockBloomFilter(words)
    filter.insert_hashes(array([0]))
    assert words.tolist() == [1] * 8 + [0] * 8
    filter.words[8] = 5
    assert words[8] == 5
    assert bytes(filter.bitset[32:33]) == b"\5"


@pytest.mark.parametrize("num_blocks", [-1, 0, 2**31, 2**64])
def test_impossible_numbers_of_blocks_are_refused(num_blocks: int) -> None:
    message = rf"^number of blocks: {num_blocks}, expected 1 to 2\^31 - 1$"
    with pytest.raises(FilterError, match=message):
        SplitBlockBloomFilter.empty(num_blocks)


@pytest.mark.parametrize("factor", [-2, 0, 5, 24])
def test_folding_by_no_divisor_is_refused(factor: int) -> None:
    message = f"^fold by {factor}: expected a divisor of 12 blocks$"
    with pytest.raises(FilterError, match=message):
        SplitBlockBloomFilter.empty(12).fold(factor)


# --- stored bytes ---------------------------------------------------------------------------------


def test_words_are_stored_little_endian_and_in_order() -> None:
    words = np.arange(1, 17, dtype=np.uint32)
    stored = SplitBlockBloomFilter(words).to_bytes()
    assert stored == b"".join(bytes([number, 0, 0, 0]) for number in range(1, 17))


def test_the_reference_filter() -> None:
    """parquet-testing's filter of four words of text, as parquet-mr wrote it."""
    path = SHARED / "data" / "parquet-testing" / "bloom_filter.xxhash.bin"
    if not path.exists():
        missing("../shared/data/parquet-testing/bloom_filter.xxhash.bin")
    stored = path.read_bytes()
    # num_bytes 1024; algorithm BLOCK, hash XXHASH, compression UNCOMPRESSED: unions of one struct.
    header = bytes.fromhex("15 8010 1c 1c0000 1c 1c0000 1c 1c0000 00")
    assert stored.startswith(header)
    filter = SplitBlockBloomFilter.from_bytes(stored[len(header) :])
    assert filter.num_blocks == 32

    present = [xxhash.xxh64_intdigest(text) for text in (b"hello", b"parquet", b"bloom", b"filter")]
    absent = [xxhash.xxh64_intdigest(text) for text in (b"", b"Hello", b"hello ", b"parque")]
    assert filter.check_hashes(array(present)).tolist() == [True] * 4
    assert filter.check_hashes(array(absent)).tolist() == [False] * 4
    assert filter_of(present, 32).to_bytes() == stored[len(header) :]


# --- statistics -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_blocks", "inserted"),
    [(1, 30), (7, 200), (37, 600), (1000, 52_428), (1024, 26_214), (1024, 200_000), (4096, 80_000)],
)
def test_fpp_is_the_rate_that_is_measured(num_blocks: int, inserted: int) -> None:
    filter = filter_of(random_hashes(num_blocks + inserted, inserted), num_blocks)
    asked = 1_000_000
    found = int(filter.check_hashes(random_hashes(inserted, asked)).sum())
    sigma = math.sqrt(asked * filter.fpp * (1 - filter.fpp))
    assert found > 100
    assert abs(found - asked * filter.fpp) <= 4 * sigma


@pytest.mark.parametrize(
    ("num_blocks", "ndv"),
    [(1024, 10_000), (1024, 26_214), (1024, 60_000), (37, 1000), (4096, 2000), (16_384, 1_000_000)],
)
def test_ndv_estimate(num_blocks: int, ndv: int) -> None:
    filter = filter_of(random_hashes(ndv, ndv), num_blocks)
    assert filter.ndv_estimate == pytest.approx(ndv, rel=0.02)


def test_the_estimate_at_both_ends() -> None:
    assert SplitBlockBloomFilter.empty(3).ndv_estimate == 0
    assert SplitBlockBloomFilter(np.full(8, 0xFFFFFFFF, np.uint32)).ndv_estimate == math.inf


# --- folding to a target --------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.3, 0.05, 0.01, 0.001])
@pytest.mark.parametrize("num_blocks", [1024, 96, 4096])
def test_folding_stops_at_the_target(num_blocks: int, target: float) -> None:
    inserted = random_hashes(num_blocks, 1000)
    folded = filter_of(inserted, num_blocks).fold_to_fpp(target, 1)
    assert folded.fpp <= target
    assert folded.num_blocks % 2 or folded.fold().fpp > target
    assert folded.to_bytes() == filter_of(inserted, folded.num_blocks).to_bytes()


@pytest.mark.parametrize(("num_blocks", "min_blocks", "end"), [(64, 2, 2), (64, 3, 4), (48, 1, 3)])
def test_folding_keeps_enough_blocks(num_blocks: int, min_blocks: int, end: int) -> None:
    assert SplitBlockBloomFilter.empty(num_blocks).fold_to_fpp(0.5, min_blocks).num_blocks == end


def test_a_filter_above_the_target_is_not_folded() -> None:
    filter = filter_of(random_hashes(3, 1000), 4)
    assert filter.fpp > 0.5
    assert filter.fold_to_fpp(0.01, 1) is filter


def test_it_says_how_full_it_is() -> None:
    filter = SplitBlockBloomFilter.empty(64)
    assert repr(filter) == "<SplitBlockBloomFilter: 2,048 bytes, 0 % full>"
    filter.insert_hashes(np.arange(1000, dtype=np.uint64) << np.uint64(40))
    assert repr(filter).startswith("<SplitBlockBloomFilter: 2,048 bytes, ")
