"""The kernel on aarch64, emulated, and as clang compiles it: the same answers as on every code path of this
machine and as the specifications', for each function that has vectors on any machine."""

import zlib
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xxhash
from make.foreign_kernel import ForeignKernel
from make.pages import byte_arrays
from oracle import hashing
from oracle import specification as spec

from parquet_bloom.native import _kernel

# Around what vectors and batches hold.
COUNTS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 71, 72, 73, 128, 1023, 1024, 1025]
BLOCK_COUNTS = [1, 2, 3, 7, 8, 37, 1000, 1024]

Paths = Callable[[], Iterator[str]]


@pytest.fixture
def paths() -> Iterator[Paths]:
    """Each code path of this machine, chosen in turn. The last one has been in use."""
    before = _kernel.code_path()

    def each() -> Iterator[str]:
        for path in _kernel.CODE_PATHS[: 1 + _kernel.CODE_PATHS.index(before)]:
            _kernel.choose_code_path(path)
            yield path

    yield each
    _kernel.choose_code_path(before)


def random_numbers(seed: int, count: int, dtype: Any = np.uint64) -> np.ndarray:
    bounds = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(bounds.min, bounds.max, count, dtype, endpoint=True)


def changed(words: np.ndarray, change: Callable[[np.ndarray], Any]) -> np.ndarray:
    """A copy that was changed."""
    copy = words.copy()
    change(copy)
    return copy


# --- split blocks ---------------------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("num_blocks", BLOCK_COUNTS)
def test_split_blocks(foreign: ForeignKernel, paths: Paths, num_blocks: int) -> None:
    clear = np.zeros(8 * num_blocks, np.uint32)
    for count in COUNTS:
        hashes = random_numbers(count, count)
        words = foreign.array(np.uint32, "split_block_insert", clear, hashes)
        assert words.reshape(-1, 8).tolist() == spec.filter_of(hashes.tolist(), num_blocks)

        # Half of what is asked was inserted, in an order that no group knows.
        half = spec.filter_of(hashes[::2].tolist(), num_blocks)
        found = foreign.array(np.uint8, "split_block_check", spec.words(half), hashes)
        assert found.tolist() == [spec.filter_check(half, hash) for hash in hashes.tolist()]
        for _ in paths():
            here = changed(clear, lambda here, new=hashes: _kernel.insert(here, new))
            assert (here == words).all()
            assert (_kernel.check(spec.words(half), hashes) == found).all()


def test_the_first_and_last_hash_of_every_block(foreign: ForeignKernel) -> None:
    """The multiply-shift at its edges, with as many blocks as fill its vectors."""
    for num_blocks in (1, 2, 3, 37, 1024):
        firsts = [-(-(i << 32) // num_blocks) for i in range(num_blocks)]
        highs = firsts + [first - 1 for first in firsts[1:]] + [2**32 - 1]
        hashes = [high << 32 | 0xDEADBEEF for high in highs]
        clear = np.zeros(8 * num_blocks, np.uint32)
        words = foreign.array(np.uint32, "split_block_insert", clear, np.array(hashes, np.uint64))
        assert words.reshape(-1, 8).tolist() == spec.filter_of(hashes, num_blocks)
        for hash in (hashes[0], hashes[-1]):
            eight = np.array([hash] * 8, np.uint64)
            words = foreign.array(np.uint32, "split_block_insert", clear, eight)
            assert words.reshape(-1, 8).tolist() == spec.filter_of([hash], num_blocks)


@pytest.mark.parametrize("place", range(9))
def test_check_needs_every_word(foreign: ForeignKernel, place: int) -> None:
    """Of each of the eight that are checked together, and of the one after them."""
    hashes = random_numbers(place, 9)
    words = np.full(9 * 8, 0xFFFFFFFF, np.uint32)
    # One to a block.
    hashes = hashes % 2**32 | (np.arange(9, dtype=np.uint64) * 2**32 // 9 + 1) << 32
    for word in range(8):
        mask = spec.mask(int(hashes[place]) % 2**32)[word]
        cleared = words.copy()
        cleared[8 * place + word] ^= mask
        found = foreign.array(np.uint8, "split_block_check", cleared, hashes)
        assert found.tolist() == [i != place for i in range(9)]


@pytest.mark.parametrize("num_blocks", BLOCK_COUNTS)
def test_bits_of_split_blocks(foreign: ForeignKernel, paths: Paths, num_blocks: int) -> None:
    """Blocks of any fill, among them an empty and a full one."""
    words = random_numbers(num_blocks, 8 * num_blocks, np.uint32)
    words |= random_numbers(num_blocks + 1, 8 * num_blocks, np.uint32)
    words[:8] = 0xFFFFFFFF
    words[-8 * (num_blocks > 1) :][: 8 * (num_blocks > 2)] = 0
    blocks = words.reshape(-1, 8).tolist()
    others = random_numbers(num_blocks + 2, 8 * num_blocks, np.uint32)
    popcount, _ = foreign.call("split_block_popcount", words)
    outside, _ = foreign.call("split_block_outside", words, others)
    (fpp,) = foreign.array(np.float64, "split_block_fpp", words)
    united = foreign.array(np.uint32, "split_block_unite", words, others)
    assert popcount == spec.popcount(blocks)
    assert outside == spec.popcount((words & ~others).reshape(-1, 8).tolist())
    assert fpp == float(spec.fpp(blocks))
    assert united.reshape(-1, 8).tolist() == spec.union(blocks, others.reshape(-1, 8).tolist())
    for _ in paths():
        assert _kernel.popcount(words) == popcount
        assert _kernel.outside(words, others) == outside
        assert _kernel.fpp(words) == fpp
        assert (changed(words, lambda here: _kernel.unite(here, others)) == united).all()

    if num_blocks % 2 == 0:
        (halved,) = foreign.array(np.float64, "split_block_halved_fpp", words)
        assert halved == float(spec.fpp(spec.fold(blocks, 2)))
        for _ in paths():
            assert _kernel.halved_fpp(words, 1.0) == halved
    for factor in (factor for factor in range(1, num_blocks + 1) if num_blocks % factor == 0):
        folded = foreign.array(np.uint32, "split_block_fold", words, numbers=(factor,))
        assert folded.reshape(-1, 8).tolist() == spec.fold(blocks, factor)


# --- hashes, and PLAIN values into split blocks ---------------------------------------------------


@pytest.mark.parametrize("width", [*range(1, 40), 63, 64, 65, 100])
def test_values_of_one_width(foreign: ForeignKernel, paths: Paths, width: int) -> None:
    data, clear = np.random.default_rng(width).bytes(67 * width), np.zeros(37 * 8, np.uint32)
    hashes = foreign.array(np.uint64, "xxh64_fixed", data, numbers=(width,))
    expected = [xxhash.xxh64_intdigest(data[at : at + width]) for at in range(0, len(data), width)]
    assert hashes.tolist() == expected
    words = foreign.array(np.uint32, "plain_insert_fixed", data, clear, numbers=(width,))
    assert words.reshape(-1, 8).tolist() == spec.filter_of(expected, 37)
    for _ in paths():
        assert (_kernel.xxh64_fixed(data, width) == hashes).all()
        inserted = changed(clear, lambda here: _kernel.insert_fixed(here, data, width))
        assert (inserted == words).all()


LENGTHS = {
    "every one": range(200),
    "backwards": range(199, -1, -1),
    "of 25": [25] * 65,
    "mixed": np.random.default_rng(2).integers(0, 260, 3000).tolist(),
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_strings(foreign: ForeignKernel, paths: Paths, kind: str) -> None:
    values = [np.random.default_rng(length).bytes(length) for length in LENGTHS[kind]]
    data, offsets = b"".join(values), np.cumsum([0, *LENGTHS[kind]], dtype=np.int64)
    prefixed, clear = byte_arrays(*values), np.zeros(37 * 8, np.uint32)
    expected = [xxhash.xxh64_intdigest(value) for value in values]
    hashes = foreign.array(np.uint64, "xxh64_slices", data, offsets)
    assert hashes.tolist() == expected
    hive = foreign.array(np.uint64, "hive64_slices", data, offsets, numbers=(_kernel.HIVE_SEED,))
    assert hive.tolist() == [hashing.hive64(value) for value in values]
    end, hashed = foreign.call("plain_hash_byte_array", prefixed, numbers=(len(values),))
    assert (end, hashed) == (len(prefixed), hashes.tobytes())
    count, inserted = foreign.call("plain_insert_byte_array", prefixed, clear)
    words = np.frombuffer(inserted, np.uint32)
    assert count == len(values)
    assert words.reshape(-1, 8).tolist() == spec.filter_of(expected, 37)
    for _ in paths():
        assert (_kernel.xxh64_slices(data, offsets) == hashes).all()
        assert (_kernel.hive64_slices(data, offsets, 0) == hive).all()
        here = changed(clear, lambda here: _kernel.insert_byte_array(here, prefixed))
        assert (here == words).all()


def test_a_string_that_runs_past_the_end(foreign: ForeignKernel) -> None:
    for count in (0, 1, 8, 9, 1024):
        before = byte_arrays(*[b"value"] * count)
        for rest in (b"\1", b"\1\0\0", b"\2\0\0\0x", b"\xff" * 4):
            returned, _ = foreign.call("plain_insert_byte_array", before + rest, bytes(32))
            assert returned == -1 - len(before)


@pytest.mark.parametrize(("width", "dtype"), [(2, np.float16), (4, np.float32), (8, np.float64)])
@pytest.mark.parametrize("special", [0.0, -0.0, np.nan, -np.nan, np.inf, 5e-324])
def test_special_floats(
    foreign: ForeignKernel, paths: Paths, width: int, dtype: Any, special: float
) -> None:
    for place in (0, 5, 99):
        values = np.ones(100, dtype)
        values[place] = special
        data = values.tobytes()
        specials, _ = foreign.call("plain_float_specials", data, numbers=(width,))
        zero = _kernel.HAS_ZERO * (values[place] == 0)
        assert specials == zero | _kernel.HAS_NAN * bool(np.isnan(special))
        for _ in paths():
            assert _kernel.float_specials(data, width) == specials


@pytest.mark.parametrize("width", [2, 3, 4, 8, 12])
def test_streams_of_bytes(foreign: ForeignKernel, width: int) -> None:
    for count in COUNTS:
        values = random_numbers(count, count * width, np.uint8).reshape(count, width)
        _, joined = foreign.call("join_streams", values.T.tobytes(), numbers=(width,))
        assert joined == values.tobytes() == bytes(_kernel.join_streams(values.T.tobytes(), width))


def test_checksums(foreign: ForeignKernel) -> None:
    data = np.random.default_rng(5).bytes(5000)
    for size in (*range(200), 5000):
        returned, _ = foreign.call("checksum", data[:size])
        # On the oldest of x86-64, zlib takes its place.
        assert returned == zlib.crc32(data[:size]) or (returned, foreign.name) == (-1, "clang any")


# --- filters of k hashes --------------------------------------------------------------------------


@pytest.mark.parametrize("count", COUNTS)
def test_hashes_of_integers(foreign: ForeignKernel, paths: Paths, count: int) -> None:
    values = random_numbers(count, count, np.int64)
    found = foreign.array(np.uint64, "wang", values)
    logical = foreign.array(np.uint64, "wang_logical", values)
    assert found.tolist() == [hashing.wang(value) for value in values.tolist()]
    assert logical.tolist() == [hashing.wang_logical(value) for value in values.tolist()]
    for _ in paths():
        assert (_kernel.wang(values) == found).all()
        assert (_kernel.wang_logical(values) == logical).all()


@pytest.mark.parametrize("num_bits", [1, 2, 63, 64, 1000, 65_536, 1_000_003])
@pytest.mark.parametrize("num_hashes", [1, 5])
def test_k_hashes(foreign: ForeignKernel, paths: Paths, num_bits: int, num_hashes: int) -> None:
    clear = np.zeros(-(-num_bits // 64), np.uint64)
    shape = (num_bits, num_hashes)
    for count in (1, 63, 64, 65, 200):
        hashes = random_numbers(count, count)
        words = foreign.array(np.uint64, "k_hash_insert", clear, hashes, numbers=shape)
        bits = [bit for hash in hashes.tolist() for bit in hashing.k_hash_bits(hash, *shape)]
        assert words.tolist() == hashing.long_words(bits, clear.size)
        asked = random_numbers(count // 2, count)
        asked[1::2] = hashes[1::2]
        found = foreign.array(np.uint8, "k_hash_check", words, asked, numbers=shape)
        assert found.tolist() == [
            set(hashing.k_hash_bits(hash, *shape)) <= set(bits) for hash in asked.tolist()
        ]
        bits_set, _ = foreign.call("k_hash_bits_set", words)
        assert bits_set == len(set(bits))
        for _ in paths():
            here = changed(clear, lambda here, new=hashes: _kernel.k_hash_insert(here, *shape, new))
            assert (here == words).all()
            assert (_kernel.k_hash_check(words, *shape, asked) == found).all()
            assert _kernel.k_hash_bits_set(words) == bits_set


SHAPE = (5000, 4)


def k_hash_words(hashes: list[int]) -> list[int]:
    bits = [bit for hash in hashes for bit in hashing.k_hash_bits(hash, *SHAPE)]
    return hashing.long_words(bits, 79)


FLOATS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1.5])
# Any bits, and what is not a number in ways of its own, which becomes a wider one that is none.
FLOAT_BYTES = {
    4: random_numbers(2, 4 * 300, np.uint8).tobytes()
    + FLOATS.astype(np.float32).tobytes()
    + bytes.fromhex("0100807fefbeadff"),
    8: random_numbers(3, 8 * 300, np.uint8).tobytes() + FLOATS.tobytes(),
}


@pytest.mark.parametrize("width", FLOAT_BYTES)
def test_k_hashes_of_floats(foreign: ForeignKernel, paths: Paths, width: int) -> None:
    data, clear = FLOAT_BYTES[width], np.zeros(79, np.uint64)
    numbers = (*SHAPE, width)
    words = foreign.array(np.uint64, "k_hash_insert_floats", clear, data, numbers=numbers)
    counts = array("q", [len(data) // width])
    for _ in paths():
        here = clear.copy()
        _kernel.k_hash_insert_floats(here, *SHAPE, data, width, counts)
        assert (here == words).all()


@pytest.mark.parametrize("count", COUNTS)
def test_k_hashes_of_values(foreign: ForeignKernel, paths: Paths, count: int) -> None:
    """Of integers, texts, and decimals with seven digits after the point."""
    integers = random_numbers(count, count, np.int64)
    lengths = np.random.default_rng(count).integers(0, 80, count)
    texts, starts = random_numbers(4, lengths.sum(), np.uint8), np.cumsum([0, *lengths])
    decimals = np.repeat(integers, 2) >> np.tile([0, 40], count)
    clear, counts = np.zeros(79, np.uint64), array("q", [count])
    seeded = (*SHAPE, _kernel.HIVE_SEED)

    of_integers = foreign.array(np.uint64, "k_hash_insert_numbers", clear, integers, numbers=SHAPE)
    of_texts = foreign.array(np.uint64, "k_hash_insert_texts", clear, texts, starts, numbers=seeded)
    of_decimals = foreign.array(
        np.uint64,
        "k_hash_insert_decimals",
        clear,
        decimals,
        numbers=(*SHAPE, 7, _kernel.HIVE_SEED),
    )
    assert of_integers.tolist() == k_hash_words([hashing.wang(each) for each in integers.tolist()])
    slices = [slice(*bounds) for bounds in pairwise(starts.tolist())]
    assert of_texts.tolist() == k_hash_words([hashing.hive64(texts.tobytes()[at]) for at in slices])
    for _ in paths():
        here = [clear.copy() for _ in range(3)]
        _kernel.k_hash_insert_numbers(here[0], *SHAPE, integers, counts)
        _kernel.k_hash_insert_texts(here[1], *SHAPE, texts, starts, counts)
        _kernel.k_hash_insert_decimals(here[2], *SHAPE, decimals.view(np.uint8), 7, counts)
        assert (here[0] == of_integers).all()
        assert (here[1] == of_texts).all()
        assert (here[2] == of_decimals).all()


# --- times of ORC ---------------------------------------------------------------------------------

BILLION = 1_000_000_000


@pytest.mark.parametrize("count", COUNTS[1:])
def test_orc_times(foreign: ForeignKernel, paths: Paths, count: int) -> None:
    random = np.random.default_rng(count)
    seconds = random.integers(-(2**40), 2**40, count)
    zeros = random.integers(0, 8, count)
    most = BILLION // 10 ** (zeros + (zeros > 0))
    stored = random.integers(1 - most, most) << 3 | zeros
    both = np.concatenate([seconds, stored])

    returned, data = foreign.call("orc_settle", both)
    settled = np.frombuffer(data, np.int64)
    assert returned == 0
    near, millis = foreign.call("orc_millis", settled, numbers=(-5000, 5000))
    shifted = foreign.call("orc_shift", seconds, numbers=(-1_420_070_400,))
    assert shifted == (0, (seconds - 1_420_070_400).tobytes())
    for _ in paths():
        here = both.copy()
        _kernel.orc_settle(here[:count], here[count:])
        assert (here == settled).all()
        of_here, is_near = _kernel.orc_millis(here[:count], here[count:], -5000, 5000)
        assert (bytes(of_here), is_near) == (millis, bool(near))


def test_orc_times_that_are_refused(foreign: ForeignKernel) -> None:
    for at in range(9):
        both = np.zeros(18, np.int64)
        both[9 + at] = BILLION << 3
        assert foreign.call("orc_settle", both)[0] < 0
        both[at] = 2**53
        assert foreign.call("orc_shift", both[:9], numbers=(1,))[0] < 0


# --- the keys of an index -------------------------------------------------------------------------


def room_for_keys(count: int) -> np.ndarray:
    """Where something else was before, and that begins within a line of the cache."""
    return np.full(count + 3, 0xAA, np.uint64)[3:]


@pytest.mark.parametrize("bits", [1, 3, 8])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 40, 2000])
def test_keys_in_parts(foreign: ForeignKernel, bits: int, count: int) -> None:
    hashes, some = random_numbers(count, count), count // 3
    # Where a part is empty, and one is much larger than others.
    hashes[::3] &= np.uint64(0x5FFFFFFFFFFFFFFF)
    keys = hashes & ~np.uint64(0xFFF)
    keys[some:] |= np.uint64(77)
    of_part = keys >> np.uint64(64 - bits)
    expected = keys[np.argsort(of_part, kind="stable")].tolist()
    there = foreign.array(np.uint64, "key_parts_deal", hashes, numbers=(bits, 12, 77))
    assert there.tolist() == expected
    runs = [(hashes[:some], 0), (hashes[:0], 5), (hashes[some:], 77)]
    here, starts = _kernel.parted_keys(runs, 12, bits, room_for_keys)
    assert here.tolist() == expected
    assert starts.tolist() == np.searchsorted(np.sort(of_part), range(2**bits + 1)).tolist()


def test_keys_of_places_that_are_none():
    with pytest.raises(ValueError, match="place 4096 of 12 bits"):
        _kernel.parted_keys([(np.zeros(1, np.uint64), 4096)], 12, 8, room_for_keys)


def test_keys_without_room():
    with pytest.raises(ValueError, match="room for 2 keys, expected 3"):
        _kernel.parted_keys(
            [(np.zeros(3, np.uint64), 1)], 12, 8, lambda n: np.empty(n - 1, np.uint64)
        )


@pytest.mark.parametrize("hash_bits", [20, 1])
def test_narrow_keys(hash_bits: int) -> None:
    """Of 20 bits of a hash, 12 of a wide place and 9 of a narrow one: in any order, some of them twice, with hashes
    that differ in what is dropped alone."""
    wide = random_numbers(1, 3000) & np.uint64(0xFFFFF1FF)
    wide[2000:] = wide[:1000] ^ np.uint64(1 << 12)
    drop = 20 - hash_bits
    expected = {int(key) >> 12 + drop << 9 | int(key) & 0x1FF for key in wide.tolist()}
    for parts in ([wide], [wide[:1], wide[:0], wide[1:], wide[:500]]):
        assert _kernel.narrow_keys(parts, 12, drop, 9).tolist() == sorted(expected)
    assert _kernel.narrow_keys([], 12, drop, 9).tolist() == []


# --- slices of filters ----------------------------------------------------------------------------


def turned(filters: np.ndarray) -> np.ndarray:
    """Of filters, shape (n, blocks, 32), the bits that are side by side: shape (blocks, 256, n)."""
    return np.unpackbits(filters, axis=2, bitorder="little").transpose(1, 2, 0)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 31, 32, 33, 100, 511, 513])
def test_slices(foreign: ForeignKernel, paths: Paths, count: int) -> None:
    """Of more blocks than are fetched at a time."""
    filters = random_numbers(count, count * 11 * 32, np.uint8).reshape(count, 11, 32)
    pages = np.packbits(turned(filters), axis=2)
    assert (foreign.array(np.uint8, "slices_turn", filters, numbers=(11,)) == pages.ravel()).all()
    run = _kernel.FilterPages([each.tobytes() for each in filters], 11)
    for _ in paths():
        here = bytearray(pages.nbytes)
        run.write(0, 11, here)
        assert here == pages.tobytes()
        some = bytearray(2 * 256 * pages.shape[2])
        run.write(3, 5, some)
        assert some == pages[3:5].tobytes()


@pytest.mark.parametrize("seed", range(40))
def test_copied_slots(foreign: ForeignKernel, seed: int) -> None:
    """What is around them stays as it is."""
    rng = np.random.default_rng(seed)
    num_slots, to_slots = (int(each) for each in rng.integers(1, 400, 2))
    slot, to_slot = int(rng.integers(num_slots)), int(rng.integers(to_slots))
    count = int(rng.integers(1, 1 + min(num_slots - slot, to_slots - to_slot)))
    rows = rng.integers(0, 2, (7, num_slots), np.uint8)
    to = rng.integers(0, 2, (7, to_slots), np.uint8)
    packed, packed_to = (np.packbits(each, axis=1) for each in (rows, to))
    to[:, to_slot : to_slot + count] = rows[:, slot : slot + count]
    expected = np.packbits(to, axis=1)
    here = bytearray(packed_to.tobytes())
    _kernel.copy_slots(packed.tobytes(), num_slots, slot, here, to_slots, to_slot, count)
    assert here == expected.tobytes()
    numbers = (slot, to_slot, count, 7)
    there = foreign.array(np.uint8, "slices_copy", packed, packed_to, numbers=numbers)
    assert there.tobytes() == expected.tobytes()


@pytest.mark.parametrize("count", [1, 9, 700])
def test_slices_that_are_asked(count: int) -> None:
    filters = random_numbers(count, count * 32, np.uint8).reshape(count, 1, 32)
    filters |= random_numbers(count + 1, count * 32, np.uint8).reshape(count, 1, 32)
    (bits,) = turned(filters)
    page, hashes = np.packbits(bits, axis=1), random_numbers(3, 300)
    expected = []
    for at, hash in enumerate(hashes.tolist()):
        rows = _kernel.hash_rows(hash)
        masks = spec.mask(hash % 2**32)
        assert rows == [32 * word + mask.bit_length() - 1 for word, mask in enumerate(masks)]
        slots = np.flatnonzero(bits[rows].all(axis=0)).tolist()
        assert _kernel.slots_in_rows(page[rows].tobytes(), count) == slots
        expected += [[at, slot] for slot in slots]
    for rows_at_once in (1, 256):
        sums = _kernel.checksums(page.tobytes(), rows_at_once * page.shape[1])
        search = _kernel.SliceSearch(count, rows_at_once)
        data = page.tobytes() + sums.tobytes()
        search.look_in(data, 0, page.nbytes, hashes, 0, hashes.size)
        assert search.found.tolist() == expected
        with pytest.raises(ValueError, match="its CRC-32 is wrong"):
            search.look_in(data[1:] + b"x", 0, page.nbytes, hashes, 0, hashes.size)
