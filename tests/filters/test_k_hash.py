"""The filter of Hive and ORC, and Guava's, against their definitions in plain Python."""

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.code_paths import choose
from oracle import hashing

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.hashers import HalfMurmur3, HiveBytes, HiveNumbers, WideMurmur3
from parquet_bloom.filters.k_hash import (
    MAX_BITS,
    MAX_HASHES,
    KHashFilter,
    KHashFilters,
    WideKHashFilter,
    guava_size,
    hive_size,
)
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.pages.runs import FixedRun, PrefixedRun, SlicedRun

HASHES = st.integers(0, 2**64 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture(params=_kernel.CODE_PATHS)
def path(request):
    """All paths of the kernel, on machines that have them."""
    before = _kernel.code_path()
    choose(request.param)
    yield
    _kernel.choose_code_path(before)


@pytest.mark.parametrize(
    ("value", "hash"),
    [
        (0, 0x0),
        (1, 0x5BCA7C69B794F8CE),
        (-1, 0x5BCA868437950D03),
        (123456789, 0xE61EF031A43FDAF8),
        (2**63 - 1, 0x81AD52718398E837),
        (-(2**63), 0x3BE7D0F7780DE548),
    ],
)
def test_wang_of_orc_java(value, hash):
    assert _kernel.wang(np.array([value])).tolist() == [hash]


@pytest.mark.parametrize(
    ("data", "hash"),
    [
        (b"", 0x74A18DC8F20ADB48),
        (b"a", 0xDDD9B0AF19F61187),
        (b"hello", 0x3928100018224141),
        (b"0123456789abcdef!", 0x206E0CF6BD9E3674),
    ],
)
def test_hive64_of_orc_java(data, hash):
    assert _kernel.hive64(data) == hash


@given(st.lists(LONGS, max_size=20))
def test_wang(values):
    array = np.array(values, np.int64)
    assert _kernel.wang(array).tolist() == [hashing.wang(value) for value in values]
    assert _kernel.wang_logical(array).tolist() == [hashing.wang_logical(value) for value in values]


@given(st.binary(max_size=50), st.integers(0, 2**64 - 1))
def test_hive64(data, seed):
    assert _kernel.hive64(data, seed) == hashing.hive64(data, seed)


@given(st.lists(st.binary(max_size=20), max_size=10), st.integers(0, 2**32 - 1))
def test_slices_hash_as_values_do_alone(values, seed):
    """With Parquet's lengths between them, and without."""
    data = memoryview(b"".join(values))
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    prefixed = memoryview(b"".join(len(value).to_bytes(4, "little") + value for value in values))
    for run in (SlicedRun(data, offsets), PrefixedRun(prefixed)):
        assert run.hashed_by(HiveBytes()).tolist() == [_kernel.hive64(value) for value in values]
        assert run.hashed_by(HalfMurmur3(seed)).tolist() == [
            _kernel.murmur3(value, seed) for value in values
        ]
        assert run.hashed_by(WideMurmur3(seed)).tolist() == [
            list(_kernel.murmur3_128(value, seed)) for value in values
        ]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("gap", [0, 4])
def test_hive64_of_many_texts(gap):
    """Of every length around those that are hashed eight at a time, to the end of their buffer."""
    lengths = [*range(80), *range(80, -1, -1), 33, *[8] * 9, *[63] * 9, *[0] * 9, 64, *[32] * 17]
    random = np.random.default_rng(7)
    for count in range(len(lengths) - 20, len(lengths) + 1):
        starts = np.cumsum([0, *(length + gap for length in lengths[:count])], dtype=np.int64)
        data = random.bytes(int(starts[-1]) - gap)
        found = _kernel.hive64_slices(data, starts, gap, 5)
        slices = zip(starts[:-1].tolist(), lengths[:count], strict=True)
        assert found.tolist() == [
            hashing.hive64(data[start : start + length], 5) for start, length in slices
        ]


@pytest.mark.usefixtures("path")
def test_wang_of_many_numbers():
    numbers = np.random.default_rng(7).integers(-(2**63), 2**63 - 1, 100)
    assert _kernel.wang(numbers).tolist() == [hashing.wang(each) for each in numbers.tolist()]


@pytest.mark.parametrize("counts", [[], [2], [4], [2, 2], [4, -1], [-1, 4], [2**63 - 1, 4]])
def test_counts_of_other_values_are_refused(counts):
    """Three values for filters of two words each."""
    filters = KHashFilters(2, 128, 3)
    given = array("q", counts)
    calls = (
        lambda: filters.insert(_kernel.k_hash_insert_numbers, 0, given, np.arange(3)),
        lambda: filters.insert(_kernel.k_hash_insert_floats, 0, given, memoryview(bytes(24)), 8),
        lambda: filters.insert(_kernel.k_hash_insert_texts, 0, given, b"abc", np.arange(4)),
        lambda: filters.insert(_kernel.k_hash_insert_decimals, 0, given, memoryview(bytes(48)), 2),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"^(counts|words): .*expected"):
            call()


def test_values_of_more_filters_than_there_are_are_refused():
    filters = KHashFilters(2, 128, 3)
    with pytest.raises(ValueError, match=r"^words: 2, expected as many for each of 3 filters$"):
        filters.insert(_kernel.k_hash_insert_numbers, 1, array("q", [1, 1, 1]), np.arange(3))
    with pytest.raises(ValueError, match=r"^num_bits: 128, expected 1 to 64$"):
        filters.insert(_kernel.k_hash_insert_numbers, 1, array("q", [1, 2]), np.arange(3))


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=10), st.integers(0, 2**32 - 1))
def test_fixed_values_hash_as_they_do_alone(values, seed):
    stored = [value.to_bytes(4, "little", signed=True) for value in values]
    run = FixedRun(memoryview(b"".join(stored)), 4)
    assert run.hashed_by(HiveNumbers()).tolist() == [hashing.wang(value) for value in values]
    assert run.hashed_by(HiveBytes()).tolist() == [_kernel.hive64(value) for value in stored]
    assert run.hashed_by(HalfMurmur3(seed)).tolist() == [
        _kernel.murmur3(value, seed) for value in stored
    ]
    assert run.hashed_by(WideMurmur3(seed)).tolist() == [
        list(_kernel.murmur3_128(value, seed)) for value in stored
    ]


@pytest.mark.parametrize("starts", [[], [-1, 3], [0, 4], [2, 1, 3], [0, 3, 2]])
def test_slices_outside_of_the_data_are_refused(starts):
    with pytest.raises(ValueError, match="offsets: "):
        _kernel.hive64_slices(b"abc", np.array(starts, np.int64), 0)


def test_a_gap_counts():
    assert _kernel.hive64_slices(b"abc", np.array([0, 4], np.int64), 1).size == 1
    with pytest.raises(ValueError, match="not ascending"):
        _kernel.hive64_slices(b"abc", np.array([0, 0, 4], np.int64), 1)


@pytest.mark.parametrize(
    ("entries", "fpp", "size"),
    [
        (10_000, 0.05, (62_400, 4)),
        (10_000, 0.01, (95_872, 7)),
        (1_000, 0.01, (9_600, 7)),
        (64, 0.05, (448, 5)),
        (1, 0.05, (64, 44)),
    ],
)
def test_sizes_of_orc(entries, fpp, size):
    assert hive_size(entries, fpp) == size


def test_sizes_of_guava():
    """A multiple of 64 stays one; Guava 33 takes k from the target alone."""
    assert guava_size(10_000, 0.01) == (95_872, 7)
    assert guava_size(64, 0.05) == (448, 4)
    assert guava_size(1, 0.5) == (64, 1)


@pytest.mark.parametrize(
    ("entries", "fpp", "complaint"),
    [
        (0, 0.5, "entries: 0, expected 1 or more"),
        (1, 0.0, "fpp: 0.0, expected more than 0 and less than 1"),
        (1, 1.0, "fpp: 1.0, expected more than 0 and less than 1"),
        (
            2**31,
            0.01,
            "2147483648 entries at FPP 1 %: 20583756160 bits, expected at most 2147483647",
        ),
    ],
)
def test_sizes_that_cannot_be(entries, fpp, complaint):
    with pytest.raises(ValueError, match=complaint):
        hive_size(entries, fpp)


# The edges of the exact division, and any.
NUM_BITS = st.sampled_from(
    [1, 2, 3, 63, 64, 65, 2**14, 95_872, 2**20 - 1, 2**20 + 1]
) | st.integers(1, 10**6)


@pytest.mark.usefixtures("path")
class TestBits:
    @given(st.lists(HASHES, max_size=150), NUM_BITS, st.integers(1, 50))
    def test_32_bit_positions(self, hashes, num_bits, num_hashes):
        filter = KHashFilter.empty(num_bits, num_hashes)
        filter.insert_hashes(np.array(hashes, np.uint64))
        bits = {bit for hash in hashes for bit in hashing.k_hash_bits(hash, num_bits, num_hashes)}
        assert filter.words.tolist() == hashing.long_words(bits, -(-num_bits // 64))
        assert filter.bits_set == len(bits)
        assert filter.check_hashes(np.array(hashes, np.uint64)).all()

    @given(st.lists(HASHES, max_size=100), st.lists(HASHES, max_size=100), NUM_BITS)
    def test_what_is_found(self, inserted, asked, num_bits):
        filter = KHashFilter.empty(num_bits, 3)
        filter.insert_hashes(np.array(inserted, np.uint64))
        bits = {bit for hash in inserted for bit in hashing.k_hash_bits(hash, num_bits, 3)}
        assert filter.check_hashes(np.array(asked, np.uint64)).tolist() == [
            bits.issuperset(hashing.k_hash_bits(hash, num_bits, 3)) for hash in asked
        ]

    def test_the_largest_divisors(self):
        """Too large for a filter of each: the division alone, at the largest positions."""
        words = np.zeros(MAX_BITS // 64 + 1, np.uint64)
        for num_bits in (MAX_BITS, 2**30, 2**30 + 1, 2**30 - 1):
            for hash in (0, 2**31 - 1, 2**31 - 2, 2**31, 2**32 - 1, num_bits, num_bits - 1):
                _kernel.k_hash_insert(words, num_bits, 1, np.array([hash], np.uint64))
                (bit,) = hashing.k_hash_bits(hash, num_bits, 1)
                assert words[bit >> 6] == 1 << (bit & 63), (num_bits, hash)
                words[bit >> 6] = 0


@given(st.lists(st.tuples(HASHES, HASHES), max_size=50), NUM_BITS, st.integers(1, 50))
def test_64_bit_positions(hashes, num_bits, num_hashes):
    filter = WideKHashFilter.empty(num_bits, num_hashes)
    pairs = np.array(hashes, np.uint64).reshape(-1, 2)
    filter.insert_hashes(pairs)
    bits = {
        bit for low, high in hashes for bit in hashing.wide_bits(low, high, num_bits, num_hashes)
    }
    assert filter.words.tolist() == hashing.long_words(bits, -(-num_bits // 64))
    assert filter.check_hashes(pairs).all()
    others = pairs ^ np.uint64(1 << 40)
    assert filter.check_hashes(others).tolist() == [
        bits.issuperset(hashing.wide_bits(int(low), int(high), num_bits, num_hashes))
        for low, high in others
    ]


def test_a_filter_of_stored_words():
    filter = KHashFilter.from_bytes(bytes(range(16)), 3)
    assert (filter.num_bits, filter.num_hashes, filter.num_bytes) == (128, 3, 16)
    assert filter.words.tolist() == [0x0706050403020100, 0x0F0E0D0C0B0A0908]
    assert bytes(filter.bitset) == bytes(range(16))
    assert KHashFilter.from_bytes(bytes(16), 3, 100).num_bits == 100


@pytest.mark.parametrize(
    ("bitset", "num_hashes", "num_bits", "complaint"),
    [
        (b"", 1, None, "bitset: 0 bytes, expected a positive multiple of 8"),
        (bytes(7), 1, None, "bitset: 7 bytes, expected a positive multiple of 8"),
        (bytes(8), 0, None, f"filter: 0 hashes, expected 1 to {MAX_HASHES}"),
        (bytes(8), 10_000, None, f"filter: 10000 hashes, expected 1 to {MAX_HASHES}"),
        (bytes(8), 1, 0, "filter: 0 bits, expected 1 to 64"),
        (bytes(8), 1, 65, "filter: 65 bits, expected 1 to 64"),
    ],
)
def test_what_is_no_filter(bitset, num_hashes, num_bits, complaint):
    with pytest.raises(FilterError, match=complaint):
        KHashFilter.from_bytes(bitset, num_hashes, num_bits)


def test_a_filter_beyond_all_positions_takes_no_memory():
    with pytest.raises(FilterError, match=f"expected 1 to {MAX_BITS}"):
        KHashFilter.empty(1 << 60, 1)


def test_the_kernel_checks_what_it_is_given():
    hashes = np.zeros(1, np.uint64)
    for call in (_kernel.k_hash_insert, _kernel.k_hash_check):
        with pytest.raises(ValueError, match="num_bits: 65, expected 1 to 64"):
            call(np.zeros(1, np.uint64), 65, 1, hashes)
        with pytest.raises(ValueError, match="num_hashes: 0"):
            call(np.zeros(1, np.uint64), 64, 0, hashes)
    with pytest.raises(ValueError, match="hashes: 3 to a value, expected 2"):
        _kernel.k_hash_insert_wide(np.zeros(1, np.uint64), 64, 1, np.zeros((1, 3), np.uint64))


def test_fill_fpp_and_ndv():
    filter = KHashFilter.from_bytes(b"\xff" * 4 + bytes(4), 2)
    assert (filter.fill, filter.fpp) == (0.5, 0.25)
    assert filter.ndv_estimate == pytest.approx(32 * np.log(2))
    assert KHashFilter.from_bytes(b"\xff" * 8, 2).ndv_estimate == np.inf


@pytest.mark.parametrize("fpp", [0.05, 0.01])
def test_the_target_is_met(fpp):
    """Within four standard errors of what a million others find."""
    filter = KHashFilter.empty(*hive_size(10_000, fpp))
    filter.insert_hashes(_kernel.wang(np.arange(10_000) * 7919))
    asked = 1_000_000
    found = filter.check_hashes(_kernel.wang(np.arange(asked) * 7919 + 10**12)).mean()
    assert abs(found - filter.fpp) < 4 * np.sqrt(fpp / asked) + 0.0005
    assert filter.fpp == pytest.approx(fpp, rel=0.02)
    assert filter.ndv_estimate == pytest.approx(10_000, rel=0.01)


def test_bits_outside():
    one = KHashFilter.from_bytes(b"\x0f" + bytes(7), 1)
    other = KHashFilter.from_bytes(b"\xfa" + bytes(7), 1)
    assert one.bits_outside(other) == 2
    assert other.bits_outside(one) == 4
