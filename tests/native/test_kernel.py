"""The compiled kernel against the oracle: the same hashes, the same bits, and no wrong buffer."""

import struct
import sys
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from make.code_paths import choose
from make.memory_end import MemoryEnd
from make.pages import byte_arrays
from oracle import specification as spec

from parquet_bloom.native import _kernel

BLOCK_COUNTS = [1, 2, 3, 4, 7, 8, 37, 64, 256, 1000, 1024]
BATCH_SIZES = [0, 1, 7, 8, 9, 63, 64, 65, 71, 72, 73, 128, 1023, 1024, 1025]


@pytest.fixture(params=_kernel.CODE_PATHS)
def code_path(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _kernel.code_path()
    choose(request.param)
    assert _kernel.code_path() == request.param
    yield
    _kernel.choose_code_path(before)


def test_a_code_path_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        _kernel.choose_code_path("AVX-1024")


def random_hashes(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def random_words(seed: int, num_blocks: int) -> np.ndarray:
    """About two thirds of the bits set."""
    generator = np.random.default_rng(seed)
    return np.bitwise_or(
        *(generator.integers(0, 2**32, num_blocks * 8, np.uint32) for _ in range(2))
    )


def fold(words: np.ndarray, factor: int) -> np.ndarray:
    """Into words that are not clear, as memory never is."""
    folded = np.full(words.size // factor, 0xA5A5A5A5, np.uint32)
    _kernel.fold(words, factor, folded)
    return folded


def as_filter(words: np.ndarray) -> spec.Filter:
    return words.reshape(-1, 8).tolist()


# --- XXH64 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
    ],
)
def test_xxh64_known_vectors(data: bytes, expected: int) -> None:
    assert _kernel.xxh64(data) == expected


def test_xxh64_of_every_short_length() -> None:
    for length in range(301):
        data = np.random.default_rng(length).bytes(length)
        assert _kernel.xxh64(data) == xxhash.xxh64_intdigest(data), length
        # No byte outside the buffer has a part in it, wherever the buffer lies.
        padded = np.frombuffer(b"\xff" * 3 + data + b"\xff" * 40, np.uint8)[3 : 3 + length]
        assert _kernel.xxh64(padded) == xxhash.xxh64_intdigest(data), length


@pytest.mark.parametrize("length", [1023, 4096, 65_537, 1_000_003])
def test_xxh64_of_long_data(length: int) -> None:
    data = np.random.default_rng(length).bytes(length)
    assert _kernel.xxh64(data) == xxhash.xxh64_intdigest(data)


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview, lambda d: np.frombuffer(d, "u1")])
def test_xxh64_takes_every_buffer_of_bytes(buffer: Callable[[bytes], Any]) -> None:
    assert _kernel.xxh64(buffer(b"parquet")) == xxhash.xxh64_intdigest(b"parquet")


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("width", [*range(1, 66), 100, 1000])
def test_xxh64_fixed(width: int, memory_end: MemoryEnd) -> None:
    """However many there are, no byte behind them is read."""
    data = np.random.default_rng(width).bytes(width * 67)
    expected = [xxhash.xxh64_intdigest(data[at : at + width]) for at in range(0, len(data), width)]
    for count in (1, 7, 8, 9, 16, 67):
        hashes = _kernel.xxh64_fixed(memory_end.place(data[: count * width]), width)
        assert hashes.dtype == np.uint64
        assert hashes.tolist() == expected[:count]


@pytest.mark.parametrize("count", [0, 1, 7, 40, 3000])
@pytest.mark.parametrize("common", [0, 60])
def test_hashes_that_are_asked_for(memory_end: MemoryEnd, count: int, common: int) -> None:
    """Some of them twice, and where they have the same first bits, many in one place."""
    some = random_hashes(1, count) >> np.uint64(common)
    asked = np.sort(np.append(some, np.array([0, 2**64 - 1, 2**64 - 1], np.uint64)))
    others = np.concatenate([random_hashes(2, 40), asked[::3], asked[-2:], random_hashes(3, 20)])
    search = _kernel.HashSearch(asked)
    found = search.find(memory_end.place(others.tobytes()).view(np.uint64))
    assert found.tolist() == [
        [position, at]
        for position, hash in enumerate(others.tolist())
        for at in np.flatnonzero(asked == hash).tolist()
    ]


def test_hashes_of_which_none_is_asked_for() -> None:
    nothing = np.empty(0, np.uint64)
    for asked, others in ((nothing, random_hashes(1, 5)), (random_hashes(1, 5), nothing)):
        assert _kernel.HashSearch(asked).find(others).shape == (0, 2)


def test_hashes_that_do_not_ascend(memory_end: MemoryEnd) -> None:
    """Some are not found, and nothing else is read."""
    asked = memory_end.place(random_hashes(1, 512).tobytes()).view(np.uint64)
    found = _kernel.HashSearch(asked).find(random_hashes(1, 512))
    assert (asked[found[:, 1]] == random_hashes(1, 512)[found[:, 0]]).all()


def strings(lengths: Iterable[int]) -> list[bytes]:
    """Values of these lengths, no two alike."""
    generator = np.random.default_rng(7)
    return [generator.bytes(length) for length in lengths]


# Eight of one length, of neighbouring ones, of any, with long ones here and there or only long ones; and
# one more than eight, where the length changes after eight.
LENGTHS = {
    **{f"all of {length}": [length] * 17 for length in (*range(70), 200, 255, 256)},
    "every one": range(200),
    "backwards": range(199, -1, -1),
    "mixed": np.random.default_rng(1).integers(0, 64, 3000).tolist(),
    "mixed, up to 255": np.random.default_rng(4).integers(0, 256, 3000).tolist(),
    "mixed, some long": np.random.default_rng(2).integers(0, 260, 3000).tolist(),
    "mostly long": np.random.default_rng(3).integers(200, 600, 1000).tolist(),
    "short after long": [500, *[5] * 8, 256, *[6] * 20, 255, *[7] * 9],
    "eights of each": [length for length in (*range(66), *range(250, 260)) for _ in range(8)],
    "nines of each": [length for length in (*range(66), *range(250, 260)) for _ in range(9)],
}


# So many bytes behind the last one, values are hashed together.
ROOM = 3000


@pytest.mark.every(3)
@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("behind", [[], [ROOM]], ids=["at the end", "with room"])
@pytest.mark.parametrize("kind", LENGTHS)
def test_strings_of_all_lengths(kind: str, behind: list[int], memory_end: MemoryEnd) -> None:
    """The same hashes, bits and answers, whatever lies next to what; no byte behind the last one is
    read."""
    values = strings([*LENGTHS[kind], *behind])
    expected = [xxhash.xxh64_intdigest(value) for value in values]
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    found = _kernel.xxh64_slices(memory_end.place(b"".join(values)), offsets)
    assert found.tolist() == expected

    prefixed = byte_arrays(*values)
    assert _kernel.hash_byte_array(memory_end.place(prefixed)).tolist() == expected
    words = np.zeros(37 * 8, np.uint32)
    assert _kernel.insert_byte_array(words, memory_end.place(prefixed)) == len(values)
    assert as_filter(words) == spec.filter_of(expected, 37)

    half = spec.filter_of(expected[::2][:60], 37)
    answers = [spec.filter_check(half, hash) for hash in expected]
    data = memory_end.place(b"".join(values))
    assert _kernel.check_slices(spec.words(half), data, offsets).tolist() == answers
    data = memory_end.place(prefixed)
    found = _kernel.check_byte_array(spec.words(half), data)
    assert found.dtype == np.bool_
    assert found.tolist() == answers


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("length", [5, 40, 100])
def test_a_string_that_runs_past_the_end_is_refused(length: int, memory_end: MemoryEnd) -> None:
    """Wherever it is among the eight, and however its length is cut."""
    words = np.zeros(8, np.uint32)
    for count in (*range(18), 1024):
        before = byte_arrays(*[b"x" * length] * count)
        message = f"^BYTE_ARRAY: the value at byte {len(before)} runs past the end$"
        for rest in (b"\1", b"\1\0\0", b"\2\0\0\0x", b"\xff" * 4 + b"x" * 300):
            with pytest.raises(ValueError, match=message):
                _kernel.insert_byte_array(words, memory_end.place(before + rest))


def test_xxh64_fixed_of_nothing() -> None:
    assert _kernel.xxh64_fixed(b"", 4).tolist() == []


@pytest.mark.parametrize("width", [0, 3, 8, 2**63])
def test_xxh64_fixed_refuses_a_width_that_does_not_divide(width: int) -> None:
    with pytest.raises(ValueError, match=f"^values: 4 bytes, expected a multiple of {width}$"):
        _kernel.xxh64_fixed(b"1234", width)


@pytest.mark.usefixtures("code_path")
@given(st.lists(st.binary(max_size=70), max_size=100), st.integers(0, 9), st.integers(0, 9))
def test_xxh64_slices(values: list[bytes], before: int, behind: int) -> None:
    data = b"<" * before + b"".join(values) + b">" * behind
    offsets = np.cumsum([before, *map(len, values)], dtype=np.int64)
    hashes = _kernel.xxh64_slices(data, offsets)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == [xxhash.xxh64_intdigest(value) for value in values]


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([], "offsets: none, expected one more than values"),
        ([0, 5], "offsets: outside the 4 bytes of data"),
        ([-1, 2], "offsets: outside the 4 bytes of data"),
        ([5, 5], "offsets: outside the 4 bytes of data"),
        ([0, 3, 2, 4], "offsets: not ascending"),
        ([0, 2**62, 4], "offsets: not ascending"),
        ([2, -(2**63), 4], "offsets: not ascending"),
        ([2, -(2**63)], "offsets: not ascending"),
    ],
)
def test_xxh64_slices_refuses_offsets_outside(offsets: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        _kernel.xxh64_slices(b"1234", np.array(offsets, np.int64))
    with pytest.raises(ValueError, match=f"^{message}$"):
        _kernel.check_slices(GOOD_WORDS, b"1234", np.array(offsets, np.int64))


@pytest.mark.parametrize("gap", [1, 2**63 - 1])
def test_slices_with_gaps_refuse_offsets_below_all(gap: int) -> None:
    """Less the gap, it would be a large number."""
    starts = np.array([2, -(2**63), 4], np.int64)
    with pytest.raises(ValueError, match=r"^offsets: not ascending$"):
        _kernel.murmur3_slices(b"1234", starts, gap, 0)
    with pytest.raises(ValueError, match=r"^offsets: not ascending$"):
        _kernel.hive64_slices(b"1234", starts, gap)


# --- insert and check -----------------------------------------------------------------------------


@pytest.mark.usefixtures("code_path")
def test_hash_zero_sets_the_low_bit_of_every_word_of_the_first_block() -> None:
    words = np.zeros(16, np.uint32)
    _kernel.insert(words, np.array([0], np.uint64))
    assert words.tolist() == [1] * 8 + [0] * 8


@pytest.mark.usefixtures("code_path")
def test_low_half_one_sets_the_top_five_bits_of_the_salt() -> None:
    words = np.zeros(16, np.uint32)
    _kernel.insert(words, np.array([0xFFFFFFFF_00000001], np.uint64))
    assert words.tolist() == [0] * 8 + [1 << bit for bit in (8, 8, 17, 20, 14, 5, 19, 11)]


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("num_blocks", BLOCK_COUNTS)
def test_insert_and_check_are_the_specification(num_blocks: int) -> None:
    hashes = random_hashes(num_blocks, 300)
    words = np.zeros(num_blocks * 8, np.uint32)
    _kernel.insert(words, hashes)
    expected = spec.filter_of(hashes.tolist(), num_blocks)
    assert as_filter(words) == expected

    others = random_hashes(num_blocks + 10_000, 300)
    assert _kernel.check(words, hashes).all()
    found = _kernel.check(words, others)
    assert found.dtype == np.bool_
    assert found.tolist() == [spec.filter_check(expected, hash) for hash in others.tolist()]


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("clear", range(8))
def test_check_needs_every_word(clear: int) -> None:
    hashes = random_hashes(clear, 1)
    words = np.full(8, 0xFFFFFFFF, np.uint32)
    assert _kernel.check(words, hashes).tolist() == [True]
    words[clear] ^= spec.mask(int(hashes[0]) % 2**32)[clear]
    assert _kernel.check(words, hashes).tolist() == [False]


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("size", BATCH_SIZES)
def test_batches_of_every_size(size: int) -> None:
    hashes = random_hashes(size, size)
    words = np.zeros(37 * 8, np.uint32)
    _kernel.insert(words, hashes)
    assert as_filter(words) == spec.filter_of(hashes.tolist(), 37)

    # Half of what is asked was inserted, in an order that no batch knows.
    half = spec.filter_of(hashes[::2].tolist(), 37)
    expected = [spec.filter_check(half, hash) for hash in hashes.tolist()]
    assert _kernel.check(spec.words(half), hashes).tolist() == expected


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("num_blocks", [1, 2, 3, 37, 1024])
def test_the_first_and_last_hash_of_every_block(num_blocks: int) -> None:
    """The multiply-shift at its edges: the high halves where the block index changes."""
    firsts = [-(-(i << 32) // num_blocks) for i in range(num_blocks)]
    highs = firsts + [first - 1 for first in firsts[1:]] + [2**32 - 1]
    hashes = [high << 32 | 0xDEADBEEF for high in highs]
    for hash in hashes[:: max(1, len(hashes) // 100)]:
        words = np.zeros(num_blocks * 8, np.uint32)
        _kernel.insert(words, np.array([hash], np.uint64))
        assert as_filter(words) == spec.filter_of([hash], num_blocks)


def test_all_code_paths_give_the_same_bits(code_paths: Sequence[str]) -> None:
    hashes, others = random_hashes(1, 20_000), random_hashes(2, 20_000)
    for num_blocks in (1, 3, 1000, 4096, 1 << 16, (1 << 16) + 1):
        results = set()
        for path in code_paths:
            _kernel.choose_code_path(path)
            words = np.zeros(num_blocks * 8, np.uint32)
            _kernel.insert(words, hashes)
            results.add((words.tobytes(), _kernel.check(words, others).tobytes()))
        assert len(results) == 1


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("num_blocks", [1, 2, 37])
def test_insert_and_check_of_one_value(num_blocks: int) -> None:
    values = [np.random.default_rng(length).bytes(length) for length in range(50)]
    words = np.zeros(num_blocks * 8, np.uint32)
    inserted: list[int] = []
    for value in values[::2]:
        _kernel.insert_value(words, value)
        inserted.append(xxhash.xxh64_intdigest(value))
        assert as_filter(words) == spec.filter_of(inserted, num_blocks)
    expected = spec.filter_of(inserted, num_blocks)
    for value in values:
        found = spec.filter_check(expected, xxhash.xxh64_intdigest(value))
        assert _kernel.check_value(words, value) is found


# --- fold, popcount, fpp --------------------------------------------------------------------------


@pytest.mark.parametrize("num_blocks", BLOCK_COUNTS)
def test_fold_by_every_divisor(num_blocks: int) -> None:
    words = random_words(num_blocks, num_blocks)
    before = words.copy()
    for factor in (factor for factor in range(1, num_blocks + 1) if num_blocks % factor == 0):
        assert as_filter(fold(words, factor)) == spec.fold(as_filter(words), factor)
    assert (words == before).all()


@pytest.mark.parametrize("factor", [0, 5, 24, 2**63])
def test_fold_refuses_what_does_not_divide(factor: int) -> None:
    with pytest.raises(ValueError, match=f"^factor: {factor}, expected a divisor of 12 blocks$"):
        _kernel.fold(np.zeros(96, np.uint32), factor, np.zeros(96, np.uint32))


@pytest.mark.parametrize("size", [0, 8, 15, 17, 32])
def test_fold_refuses_another_size(size: int) -> None:
    folded = np.zeros(size, np.uint32)
    with pytest.raises(ValueError, match=f"^folded: {size}, expected 16 words$"):
        _kernel.fold(np.full(32, 1, np.uint32), 2, folded)
    assert not folded.any()


@pytest.mark.parametrize("num_blocks", BLOCK_COUNTS)
def test_popcount_and_fpp(num_blocks: int) -> None:
    words = random_words(num_blocks, num_blocks)
    filter = as_filter(words)
    assert _kernel.popcount(words) == spec.popcount(filter)
    assert _kernel.fpp(words) == pytest.approx(float(spec.fpp(filter)), rel=1e-12)


@pytest.mark.parametrize("num_blocks", [*BLOCK_COUNTS, 63, 64, 65])
def test_outside(num_blocks: int) -> None:
    words, others = random_words(num_blocks, num_blocks), random_words(num_blocks + 1, num_blocks)
    expected = sum(
        (mine & ~theirs).bit_count()
        for mine, theirs in zip(words.tolist(), others.tolist(), strict=True)
    )
    assert _kernel.outside(words, others) == expected
    assert _kernel.outside(words, words) == 0


def test_outside_of_another_size() -> None:
    with pytest.raises(ValueError, match=r"^others: 8, expected 16 words$"):
        _kernel.outside(np.zeros(16, np.uint32), np.zeros(8, np.uint32))


@pytest.mark.parametrize(
    ("filter", "bits", "expected"),
    [
        ([[0] * 8], 0, 0.0),
        ([[0xFFFFFFFF] * 8], 256, 1.0),
        ([[0xFFFFFFFF] * 8, [0] * 8], 256, 0.5),
        ([[0x80000000] * 8], 8, 2.0**-40),
        ([[0xFFFF0000] * 8], 128, 2.0**-8),
        ([[0xFFFFFFFF] * 7 + [0]], 224, 0.0),
        ([[0xFFFFFFFF] * 7 + [1]], 225, 1 / 32),
    ],
)
def test_popcount_and_fpp_by_hand(filter: spec.Filter, bits: int, expected: float) -> None:
    assert _kernel.popcount(spec.words(filter)) == bits
    assert _kernel.fpp(spec.words(filter)) == expected


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("num_blocks", [2, 4, 64, 1024, 4096])
def test_halved_fpp(num_blocks: int) -> None:
    words = random_words(num_blocks, num_blocks)
    expected = _kernel.fpp(fold(words, 2))
    assert _kernel.halved_fpp(words, 1.0) == expected
    assert _kernel.halved_fpp(words, expected) == expected
    for most in (0.0, expected / 2, np.nextafter(expected, 0)):
        assert _kernel.halved_fpp(words, most) > most


def test_halved_fpp_does_not_look_at_more_than_it_needs() -> None:
    full = np.full(8 * 4096, 0xFFFFFFFF, np.uint32)
    assert _kernel.halved_fpp(full, 1.0) == 1
    assert 0.5 < _kernel.halved_fpp(full, 0.5) < 0.8


@pytest.mark.parametrize("num_blocks", [1, 3])
def test_halved_fpp_refuses_what_cannot_be_halved(num_blocks: int) -> None:
    message = f"^words: {num_blocks} blocks, expected an even number$"
    with pytest.raises(ValueError, match=message):
        _kernel.halved_fpp(np.zeros(8 * num_blocks, np.uint32), 1.0)


@pytest.mark.parametrize("num_bytes", [32, 96, 1 << 20, (4 << 20) - 32, 4 << 20, (6 << 20) + 32])
def test_clear_words(num_bytes: int) -> None:
    """Writable, and no block in two lines of the cache; large ones begin with a huge page."""
    words = np.frombuffer(_kernel.clear_words(num_bytes // 32), np.uint32)
    assert words.nbytes == num_bytes
    assert words.ctypes.data % (64 if num_bytes < 4 << 20 else 2 << 20) == 0
    assert not words.any()
    words[[0, -1]] = 1
    assert words.sum() == 2


# --- PLAIN values ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("size", BATCH_SIZES)
@pytest.mark.parametrize("width", [1, 4, 5, 8, 12, 16, 33])
def test_insert_and_check_fixed(width: int, size: int) -> None:
    data = np.random.default_rng(width).bytes(width * size)
    words = np.zeros(37 * 8, np.uint32)
    assert _kernel.insert_fixed(words, data, width) == size
    expected = [xxhash.xxh64_intdigest(data[i * width : (i + 1) * width]) for i in range(size)]
    assert as_filter(words) == spec.filter_of(expected, 37)

    half = spec.filter_of(expected[::2][:60], 37)
    found = _kernel.check_fixed(spec.words(half), data, width)
    assert found.dtype == np.bool_
    assert found.tolist() == [spec.filter_check(half, hash) for hash in expected]


@pytest.mark.parametrize("width", [0, 3, 8])
def test_insert_fixed_refuses_a_width_that_does_not_divide(width: int) -> None:
    words = np.zeros(8, np.uint32)
    with pytest.raises(ValueError, match=f"^values: 4 bytes, expected a multiple of {width}$"):
        _kernel.insert_fixed(words, b"1234", width)
    assert not words.any()
    with pytest.raises(ValueError, match=f"^values: 4 bytes, expected a multiple of {width}$"):
        _kernel.check_fixed(words, b"1234", width)


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("size", BATCH_SIZES)
def test_byte_array_values(size: int) -> None:
    generator = np.random.default_rng(size)
    values = [generator.bytes(int(length)) for length in generator.integers(0, 50, size)]
    data = byte_arrays(*values)
    expected = [xxhash.xxh64_intdigest(value) for value in values]
    words = np.zeros(37 * 8, np.uint32)
    assert _kernel.insert_byte_array(words, data) == size
    assert as_filter(words) == spec.filter_of(expected, 37)
    assert _kernel.count_byte_array(data) == size
    hashes = _kernel.hash_byte_array(data)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == expected


@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("behind", [b"", b"\1", bytes(14), byte_arrays(b"more") * 700])
@pytest.mark.parametrize("most", [0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1024, 1025])
def test_no_more_byte_arrays_than_are_wanted(
    most: int, behind: bytes, memory_end: MemoryEnd
) -> None:
    values = strings([n % 70 for n in range(most)])
    expected = [xxhash.xxh64_intdigest(value) for value in values]
    data = memory_end.place(byte_arrays(*values) + behind)
    words = np.zeros(37 * 8, np.uint32)
    assert _kernel.insert_byte_array(words, data, most) == most
    assert as_filter(words) == spec.filter_of(expected, 37)
    assert _kernel.check_byte_array(words, data, most).tolist() == [True] * most
    assert _kernel.count_byte_array(data, most) == most
    assert _kernel.hash_byte_array(data, most).tolist() == expected
    starts = _kernel.byte_array_starts(data, most).tolist()
    assert starts == np.cumsum([4, *(4 + len(value) for value in values)]).tolist()


def test_fewer_than_no_byte_arrays() -> None:
    data, words = byte_arrays(b"a"), np.zeros(8, np.uint32)
    assert _kernel.insert_byte_array(words, data, -1) == 0
    assert _kernel.check_byte_array(words, data, -1).tolist() == []
    assert _kernel.count_byte_array(data, -1) == 0
    assert _kernel.hash_byte_array(data, -1).tolist() == []
    assert not words.any()


BYTE_ARRAY_READERS = [
    pytest.param(lambda data: _kernel.insert_byte_array(np.zeros(8, np.uint32), data), id="insert"),
    pytest.param(lambda data: _kernel.check_byte_array(np.zeros(8, np.uint32), data), id="check"),
    pytest.param(_kernel.count_byte_array, id="count"),
    pytest.param(_kernel.hash_byte_array, id="hash"),
]
read_byte_array = pytest.mark.parametrize("read", BYTE_ARRAY_READERS)
Read = Callable[[Any], Any]


@read_byte_array
@pytest.mark.parametrize("last", [b"\x01", b"\x01\0", b"\x01\0\0", b"\x05\0\0\0four"])
@pytest.mark.parametrize("sound", [0, 1, 63, 64, 65, 200])
def test_a_byte_array_that_ends_too_early(
    read: Read, sound: int, last: bytes, memory_end: MemoryEnd
) -> None:
    data = byte_arrays(*[b"value"] * sound)
    with pytest.raises(
        ValueError, match=f"^BYTE_ARRAY: the value at byte {len(data)} runs past the end$"
    ):
        read(memory_end.place(data + last))


@read_byte_array
@pytest.mark.parametrize("length", [1, 2**16, 2**31 - 1, 2**31, 2**32 - 5, 2**32 - 4, 2**32 - 1])
@pytest.mark.parametrize("sound", [0, 1, 64])
def test_a_byte_array_length_past_the_end(
    read: Read, sound: int, length: int, memory_end: MemoryEnd
) -> None:
    data = byte_arrays(*[b"value"] * sound)
    with pytest.raises(
        ValueError, match=f"^BYTE_ARRAY: the value at byte {len(data)} runs past the end$"
    ):
        read(memory_end.place(data + struct.pack("<I", length)))


def sound_byte_arrays(data: bytes) -> list[bytes] | None:
    values = []
    while data:
        length = int.from_bytes(data[:4], "little")
        if len(data) < 4 + length or len(data) < 4:
            return None
        values.append(data[4 : 4 + length])
        data = data[4 + length :]
    return values


@given(
    st.lists(st.one_of(st.binary(max_size=9).map(byte_arrays), st.binary(max_size=6))).map(b"".join)
)
def test_random_byte_arrays(memory_end: MemoryEnd, data: bytes) -> None:
    values = sound_byte_arrays(data)
    for parameters in BYTE_ARRAY_READERS:
        read = parameters.values[0]
        if values is None:
            with pytest.raises(ValueError, match=r"^BYTE_ARRAY: the value at byte"):
                read(memory_end.place(data))
        else:
            read(memory_end.place(data))
    if values is not None:
        assert _kernel.count_byte_array(data) == len(values)
        assert _kernel.hash_byte_array(data).tolist() == [
            xxhash.xxh64_intdigest(value) for value in values
        ]


@pytest.mark.parametrize("length", range(100))
def test_hashing_stays_inside_its_buffer(memory_end: MemoryEnd, length: int) -> None:
    data = bytes(range(length))
    assert _kernel.xxh64(memory_end.place(data)) == xxhash.xxh64_intdigest(data)
    if length:
        assert _kernel.xxh64_fixed(memory_end.place(data), length).size == 1
    offsets = np.array([0, length], np.int64)
    assert _kernel.xxh64_slices(memory_end.place(data), offsets).size == 1


# --- DELTA_BINARY_PACKED --------------------------------------------------------------------------


def delta_packed(values: list[int], block: int = 128, miniblocks: int = 4) -> bytes:
    return spec.delta_binary_packed(values, block, miniblocks)


def delta_decoded(data: Any) -> list[int]:
    return [value for run in _kernel.DeltaDecoder(data) for value in run.tolist()]


SIGNED = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))


@given(
    st.lists(SIGNED, max_size=300),
    st.sampled_from([(8, 1), (32, 4), (64, 2), (128, 4), (128, 1), (256, 8)]),
)
def test_deltas(memory_end: MemoryEnd, values: list[int], blocks: tuple[int, int]) -> None:
    data = delta_packed(values, *blocks)
    assert _kernel.DeltaDecoder(data).count == len(values)
    assert delta_decoded(memory_end.place(data)) == [value % 2**64 for value in values]


@pytest.mark.parametrize("width", range(65))
def test_deltas_of_a_width(memory_end: MemoryEnd, code_paths: Sequence[str], width: int) -> None:
    """In numbers of which some are taken eight at a time, and others one by one."""
    rng = np.random.default_rng(width)
    for count in (2, 8, 9, 10, 25, 33, 34, 150):
        steps = [int(step) >> (64 - width) for step in rng.integers(0, 2**64, count, np.uint64)]
        steps[-2:] = [0, (1 << width) - 1]
        values = [(sum(steps[:i]) + 2**63) % 2**64 - 2**63 for i in range(count + 1)]
        data = memory_end.place(delta_packed(values))
        for path in code_paths:
            choose(path)
            assert delta_decoded(data) == [value % 2**64 for value in values], path


@pytest.mark.parametrize("count", [0, 1, 2, 128, 129, 130, 131_072, 131_073, 200_000, 400_001])
def test_many_deltas(count: int) -> None:
    steps = np.random.default_rng(count).integers(-1000, 1000, count)
    values = np.cumsum(steps).tolist()
    assert delta_decoded(delta_packed(values)) == [value % 2**64 for value in values]


def test_deltas_that_end_too_early(memory_end: MemoryEnd) -> None:
    values = [number**5 for number in range(1, 200)]
    data = delta_packed(values)
    for length in range(len(data)):
        try:
            decoded = delta_decoded(memory_end.place(data[:length]))
        except ValueError as error:
            assert str(error).startswith("DELTA_BINARY_PACKED: ")  # noqa: PT017
        else:
            # Only the padding of the last miniblock may be missing.
            assert decoded == values
            assert length > len(data) - 32 * 8


@given(st.binary(max_size=100))
def test_random_deltas(memory_end: MemoryEnd, data: bytes) -> None:
    """From a sound header on: whatever the bytes are, they are decoded or refused."""
    for header in (b"", b"\x80\x01\x04\x40\x02", b"\x08\x01\x07\x02"):
        with suppress(ValueError):
            delta_decoded(memory_end.place(header + data))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x80\x01\x04\x05",  # no first value
        b"\x80\x01\x00\x05\x02",  # no miniblocks
        b"\x00\x04\x05\x02",  # blocks of nothing
        b"\x80\x01\x03\x05\x02",  # three do not divide 128
        b"\x80\x01\x20\x05\x02",  # miniblocks of four
        b"\x80\x01\x04\xff\xff\xff\xff\x0f\x02",  # 2^32 - 1 values
        b"\x80\x80\x80\x80\x08\x04\x05\x02",  # blocks of 2^31
        b"\xff" * 20,
    ],
)
def test_impossible_delta_headers(memory_end: MemoryEnd, header: bytes) -> None:
    with pytest.raises(ValueError, match=r"^DELTA_BINARY_PACKED: impossible header$"):
        _kernel.DeltaDecoder(memory_end.place(header))


def test_a_delta_of_more_than_64_bits() -> None:
    data = b"\x08\x01\x02\x02" + b"\0" + b"\x41" + bytes(65)
    with pytest.raises(ValueError, match=r"^DELTA_BINARY_PACKED: the bytes end too early$"):
        delta_decoded(data)


# --- floats that are special ----------------------------------------------------------------------

ZERO, NAN = _kernel.HAS_ZERO, _kernel.HAS_NAN


def test_the_flags_are_two_different_bits() -> None:
    assert (ZERO, NAN) == (1, 2)


FLOATS = {
    # name: (width 2, width 4, width 8, what is special)
    "zero": (0x0000, 0x00000000, 0x0000000000000000, ZERO),
    "minus zero": (0x8000, 0x80000000, 0x8000000000000000, ZERO),
    "least subnormal": (0x0001, 0x00000001, 0x0000000000000001, 0),
    "minus least subnormal": (0x8001, 0x80000001, 0x8000000000000001, 0),
    "greatest subnormal": (0x03FF, 0x007FFFFF, 0x000FFFFFFFFFFFFF, 0),
    "least normal": (0x0400, 0x00800000, 0x0010000000000000, 0),
    "one": (0x3C00, 0x3F800000, 0x3FF0000000000000, 0),
    "greatest": (0x7BFF, 0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF, 0),
    "infinity": (0x7C00, 0x7F800000, 0x7FF0000000000000, 0),
    "minus infinity": (0xFC00, 0xFF800000, 0xFFF0000000000000, 0),
    "canonical NaN": (0x7E00, 0x7FC00000, 0x7FF8000000000000, NAN),
    "minus NaN": (0xFE00, 0xFFC00000, 0xFFF8000000000000, NAN),
    "signaling NaN": (0x7C01, 0x7F800001, 0x7FF0000000000001, NAN),
    "minus signaling NaN": (0xFC01, 0xFF800001, 0xFFF0000000000001, NAN),
    "NaN with payload": (0x7DA5, 0x7FA5A5A5, 0x7FF5A5A5A5A5A5A5, NAN),
    "all bits": (0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, NAN),
}


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("place", [0, 5, 63, 99])
def test_float_specials(name: str, width: int, place: int) -> None:
    *patterns, expected = FLOATS[name]
    values = [FLOATS["one"][(2, 4, 8).index(width)]] * 100
    values[place] = patterns[(2, 4, 8).index(width)]
    data = b"".join(value.to_bytes(width, "little") for value in values)
    assert _kernel.float_specials(data, width) == expected


@pytest.mark.parametrize("width", [2, 4, 8])
def test_float_specials_together(width: int) -> None:
    zero, nan = (FLOATS[name][(2, 4, 8).index(width)] for name in ("minus zero", "signaling NaN"))
    data = zero.to_bytes(width, "little") + nan.to_bytes(width, "little")
    assert _kernel.float_specials(data, width) == ZERO | NAN
    assert _kernel.float_specials(b"", width) == 0


@pytest.mark.parametrize(("size", "width"), [(4, 0), (4, 1), (6, 3), (16, 16), (3, 2), (12, 8)])
def test_float_specials_refuses_other_widths(size: int, width: int) -> None:
    with pytest.raises(ValueError, match=f"^values: {size} bytes of width {width}$"):
        _kernel.float_specials(bytes(size), width)


# --- buffers that are none ------------------------------------------------------------------------

GOOD_WORDS = np.zeros(16, np.uint32)
GOOD_HASHES = np.zeros(4, np.uint64)
READ_ONLY_WORDS = np.zeros(16, np.uint32)
READ_ONLY_WORDS.flags.writeable = False

NOT_WORDS = {
    "int32": np.zeros(16, np.int32),
    "uint64": np.zeros(16, np.uint64),
    "float32": np.zeros(16, np.float32),
    "big-endian": np.zeros(16, ">u4"),
    "strided": np.zeros(32, np.uint32)[::2],
    "reversed": np.zeros(16, np.uint32)[::-1],
    "two dimensions": np.zeros((2, 8), np.uint32),
    "no blocks": np.zeros(0, np.uint32),
    "half a block": np.zeros(12, np.uint32),
    "bytes": bytes(64),
    "list": [0] * 16,
    "None": None,
}
NOT_HASHES = {
    "int64": np.zeros(4, np.int64),
    "uint32": np.zeros(4, np.uint32),
    "float64": np.zeros(4, np.float64),
    "datetime64": np.zeros(4, "datetime64[ns]"),
    "object": np.zeros(4, object),
    "big-endian": np.zeros(4, ">u8"),
    "strided": np.zeros(8, np.uint64)[::2],
    "reversed": np.zeros(4, np.uint64)[::-1],
    "two dimensions": np.zeros((2, 2), np.uint64),
    "no dimensions": np.zeros((), np.uint64),
    "bytes": bytes(32),
    "list": [0] * 4,
    "None": None,
}
NOT_BYTES = {
    "int8": np.zeros(32, np.int8),
    "uint16": np.zeros(16, np.uint16),
    "uint32": np.zeros(8, np.uint32),
    "float64": np.zeros(4, np.float64),
    "strided": np.zeros(64, np.uint8)[::2],
    "reversed": np.zeros(32, np.uint8)[::-1],
    "two dimensions": np.zeros((4, 8), np.uint8),
    "no dimensions": np.zeros((), np.uint8),
    "str": "0" * 32,
    "list": [0] * 32,
    "None": None,
}
OF_WORDS = {
    "insert": lambda words: _kernel.insert(words, GOOD_HASHES),
    "check": lambda words: _kernel.check(words, GOOD_HASHES),
    "check_value": lambda words: _kernel.check_value(words, b"value"),
    "fold": lambda words: _kernel.fold(words, 1, GOOD_WORDS.copy()),
    "fold into": lambda folded: _kernel.fold(GOOD_WORDS, 1, folded),
    "popcount": _kernel.popcount,
    "outside": lambda words: _kernel.outside(words, GOOD_WORDS),
    "outside others": lambda others: _kernel.outside(GOOD_WORDS, others),
    "fpp": _kernel.fpp,
    "insert_value": lambda words: _kernel.insert_value(words, b"value"),
    "insert_fixed": lambda words: _kernel.insert_fixed(words, bytes(8), 4),
    "insert_byte_array": lambda words: _kernel.insert_byte_array(words, bytes(8)),
    "check_fixed": lambda words: _kernel.check_fixed(words, bytes(8), 4),
    "check_slices": lambda words: _kernel.check_slices(words, b"", np.array([0], np.int64)),
    "check_byte_array": lambda words: _kernel.check_byte_array(words, bytes(8)),
}
OF_HASHES = {
    "insert": lambda hashes: _kernel.insert(GOOD_WORDS.copy(), hashes),
    "check": lambda hashes: _kernel.check(GOOD_WORDS, hashes),
}
OF_BYTES = {
    "xxh64": _kernel.xxh64,
    "xxh64_fixed": lambda data: _kernel.xxh64_fixed(data, 4),
    "xxh64_slices": lambda data: _kernel.xxh64_slices(data, np.array([0, 0], np.int64)),
    "insert_value": lambda data: _kernel.insert_value(GOOD_WORDS.copy(), data),
    "check_value": lambda data: _kernel.check_value(GOOD_WORDS, data),
    "DeltaDecoder": lambda data: _kernel.DeltaDecoder(data),
    "AlpDecoder": lambda data: _kernel.AlpDecoder(data, 8),
    "insert_fixed": lambda data: _kernel.insert_fixed(GOOD_WORDS.copy(), data, 4),
    "insert_byte_array": lambda data: _kernel.insert_byte_array(GOOD_WORDS.copy(), data),
    "check_fixed": lambda data: _kernel.check_fixed(GOOD_WORDS, data, 4),
    "check_slices": lambda data: _kernel.check_slices(GOOD_WORDS, data, np.array([0], np.int64)),
    "check_byte_array": lambda data: _kernel.check_byte_array(GOOD_WORDS, data),
    "count_byte_array": _kernel.count_byte_array,
    "hash_byte_array": _kernel.hash_byte_array,
    "float_specials": lambda data: _kernel.float_specials(data, 4),
    "count_levels": lambda data: _kernel.count_levels(data, 1, 0, 1),
    "count_bit_packed_levels": lambda data: _kernel.count_bit_packed_levels(data, 1, 0, 1),
    "struct_end": _kernel.struct_end,
    "fields": _kernel.fields,
    "elements": lambda data: _kernel.elements(data, 0),
    "row_groups": lambda data: _kernel.row_groups(data, array("q")),
    "chunks": lambda data: _kernel.chunks(data, array("q", [0]), 0),
}
OF_OFFSETS = {"xxh64_slices": lambda offsets: _kernel.xxh64_slices(bytes(32), offsets)}
NOT_OFFSETS = {
    "uint64": np.zeros(2, np.uint64),
    "int32": np.zeros(2, np.int32),
    "strided": np.zeros(4, np.int64)[::2],
    "list": [0, 0],
    "None": None,
}
REFUSED = (ValueError, BufferError, TypeError)
WRONG = [
    pytest.param(call, buffer, id=f"{name}-{what}-{kind}")
    for what, calls, buffers in (
        ("words", OF_WORDS, NOT_WORDS),
        ("hashes", OF_HASHES, NOT_HASHES),
        ("bytes", OF_BYTES, NOT_BYTES),
        ("offsets", OF_OFFSETS, NOT_OFFSETS),
    )
    for name, call in calls.items()
    for kind, buffer in buffers.items()
]


@pytest.mark.parametrize(("call", "buffer"), WRONG)
def test_a_wrong_buffer_is_refused(call: Callable[[Any], object], buffer: object) -> None:
    with pytest.raises(REFUSED) as refused:
        call(buffer)
    # Refused for what it is, and not because its bytes happen to be no Thrift.
    assert not isinstance(refused.value, _kernel.ScanError)


@pytest.mark.parametrize("name", [*OF_WORDS, *OF_HASHES, *OF_OFFSETS])
def test_the_good_buffers_are_taken(name: str) -> None:
    if name in OF_WORDS:
        OF_WORDS[name](GOOD_WORDS.copy())
    if name in OF_HASHES:
        OF_HASHES[name](GOOD_HASHES)
    if name in OF_OFFSETS:
        OF_OFFSETS[name](np.zeros(2, np.int64))


@pytest.mark.parametrize("name", OF_BYTES)
def test_good_bytes_are_taken(name: str) -> None:
    headers = {"DeltaDecoder": delta_packed([7]), "AlpDecoder": spec.alp([], 3, 0, 0)}
    OF_BYTES[name](headers.get(name, bytes(32)))


WRITERS = ["insert", "insert_value", "insert_fixed", "insert_byte_array", "fold into"]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("words", [READ_ONLY_WORDS, READ_ONLY_WORDS.data], ids=["array", "view"])
def test_what_writes_refuses_read_only_words(name: str, words: Any) -> None:
    with pytest.raises(REFUSED):
        OF_WORDS[name](words)
    assert not READ_ONLY_WORDS.any()


@pytest.mark.parametrize("name", ["check", "check_value", "fold", "popcount", "outside", "fpp"])
def test_what_reads_takes_read_only_words(name: str) -> None:
    OF_WORDS[name](READ_ONLY_WORDS)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _kernel.fold(GOOD_WORDS, -1, GOOD_WORDS.copy()),
        lambda: _kernel.xxh64_fixed(bytes(8), -4),
        lambda: _kernel.insert_fixed(GOOD_WORDS.copy(), bytes(8), -4),
        lambda: _kernel.float_specials(bytes(8), -4),
        lambda: _kernel.fold(GOOD_WORDS, "2", GOOD_WORDS.copy()),
        lambda: _kernel.xxh64_fixed(bytes(8), None),
    ],
)
def test_wrong_numbers_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises((OverflowError, TypeError)):
        call()


# --- the global lock ------------------------------------------------------------------------------

INCREMENTS = 1000


def overlaps(call: Callable[[], object], patience_seconds: float = 120) -> bool:
    """Whether the main thread gets to count while `call` runs in another one, again and again: on
    a busy machine one call may be over before the main thread has awoken.

    Nobody is made to give up the global lock: the switch interval is hours. So between the two
    readings of the counter the main thread can only have run if `call` itself let go of the lock.
    """
    counter = [0]
    started = threading.Event()
    readings: list[tuple[int, int]] = []

    def worker() -> None:
        end = time.monotonic() + patience_seconds
        started.set()
        while not counter[0] and time.monotonic() < end:
            before = counter[0]
            call()
            readings.append((before, counter[0]))

    thread = threading.Thread(target=worker)
    before = sys.getswitchinterval()
    sys.setswitchinterval(10_000)
    try:
        thread.start()
        started.wait()
        for _ in range(INCREMENTS):
            counter[0] += 1
        thread.join()
    finally:
        sys.setswitchinterval(before)
    return (0, INCREMENTS) in readings


MANY_BYTES = bytes(range(1, 256)) * 4000
MANY_WORDS = np.frombuffer(MANY_BYTES[:960_000], np.uint32)
MANY_HASHES = random_hashes(0, 100_000)
MANY_BYTE_ARRAYS = byte_arrays(*[b"value"] * 100_000)
MANY_LEVELS = b"\x03\x55" * 100_000
NESTED = spec.list_of(spec.STRUCT, [spec.struct_of((1, spec.i32(7)))] * 100_000).encoded
CALLS_WITHOUT_LOCK = {
    "xxh64_fixed": lambda: _kernel.xxh64_fixed(MANY_BYTES, 4),
    "xxh64_slices": lambda: _kernel.xxh64_slices(
        MANY_BYTES, np.array([0, len(MANY_BYTES)], np.int64)
    ),
    "insert": lambda: _kernel.insert(np.zeros(8000, np.uint32), MANY_HASHES),
    "check": lambda: _kernel.check(MANY_WORDS, MANY_HASHES),
    "fold": lambda: fold(MANY_WORDS, 2),
    "popcount": lambda: _kernel.popcount(MANY_WORDS),
    "outside": lambda: _kernel.outside(MANY_WORDS, MANY_WORDS),
    "fpp": lambda: _kernel.fpp(MANY_WORDS),
    "halved_fpp": lambda: _kernel.halved_fpp(MANY_WORDS, 1.0),
    "insert_fixed": lambda: _kernel.insert_fixed(np.zeros(8000, np.uint32), MANY_BYTES, 4),
    "insert_byte_array": lambda: _kernel.insert_byte_array(
        np.zeros(8000, np.uint32), MANY_BYTE_ARRAYS
    ),
    "check_fixed": lambda: _kernel.check_fixed(MANY_WORDS, MANY_BYTES, 4),
    "check_slices": lambda: _kernel.check_slices(
        MANY_WORDS, MANY_BYTES, np.array([0, len(MANY_BYTES)], np.int64)
    ),
    "check_byte_array": lambda: _kernel.check_byte_array(MANY_WORDS, MANY_BYTE_ARRAYS),
    "count_byte_array": lambda: _kernel.count_byte_array(MANY_BYTE_ARRAYS),
    "hash_byte_array": lambda: _kernel.hash_byte_array(MANY_BYTE_ARRAYS),
    "float_specials": lambda: _kernel.float_specials(MANY_BYTES, 4),
    "count_levels": lambda: _kernel.count_levels(MANY_LEVELS, 1, 800_000, 1),
    "count_bit_packed_levels": lambda: _kernel.count_bit_packed_levels(MANY_BYTES, 1, 800_000, 1),
    "elements": lambda: _kernel.elements(NESTED, 0),
    "struct_end": lambda: _kernel.struct_end(b"\x19" + NESTED + b"\0"),
}


@pytest.mark.parametrize("name", CALLS_WITHOUT_LOCK)
def test_another_thread_runs_meanwhile(name: str) -> None:
    assert overlaps(CALLS_WITHOUT_LOCK[name])


def test_this_would_notice_a_call_that_keeps_the_lock() -> None:
    assert not overlaps(lambda: MANY_BYTES.count(b"\xff\x01\x02"), patience_seconds=0.5)


@pytest.mark.usefixtures("code_path")
def test_checksums(memory_end: MemoryEnd) -> None:
    """Of every size up to several of the largest steps; no byte behind them is read."""
    data = np.random.default_rng(5).bytes(5000)
    for size in range(400):
        assert _kernel.crc32(memory_end.place(data[:size])) == zlib.crc32(data[:size])
    assert _kernel.crc32(data) == zlib.crc32(data)
    assert _kernel.crc32(b"123456789") == 0xCBF43926
