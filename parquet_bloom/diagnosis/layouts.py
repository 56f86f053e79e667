"""Layouts: where in a bitset a writer can have put the bits of a hash.

The format has three steps, of which a layout changes one:

    block      (high half of the hash * number of blocks) >> 32; the key is the low half
    positions  bit i of 0 to 7 = (key * salt i) >> 27
    words      bit i lies in word i of the block, little-endian, counted from its lowest bit

Or the bitset is not where the header says, or not as large, see `bitset_choices`.

Spec: parquet-format, BloomFilter.md "Technical Approach".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import Deviation
from parquet_bloom.diagnosis.evidence import MIN_SHARE, Trial
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.sizing import (
    BLOCK_BYTES,
    MAX_BYTES,
    WORD_BITS,
    WORDS_PER_BLOCK,
    largest_power_of_two,
)
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters.bloom import StoredFilter

SALTS = np.frombuffer(
    bytes.fromhex("47b6137b 44974d91 8824ad5b a2b7289d 705495c7 2df1424b 9efc4947 5c6bfb31"), ">u4"
).astype(np.uint32)

MAX_BLOCKS = MAX_BYTES * 8 // (WORD_BITS * WORDS_PER_BLOCK)

Words = NDArray[np.uint32]

_HALF = np.uint64(32)

# Packs eight positions of five bits into one number.
_PACKING = np.arange(0, 5 * WORDS_PER_BLOCK, 5, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Bitset:
    """`words`, of shape (n, 8), uint32, are the first of `num_blocks`;
    the bits of blocks before `first` are not known."""

    words: Words
    num_blocks: int
    first: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether the last blocks are not known."""
        return len(self.words) < self.num_blocks

    def knows(self, blocks: Hashes) -> NDArray[np.bool_]:
        return (blocks >= self.first) & (blocks < len(self.words))


def high_half(hashes: Hashes) -> Hashes:
    return hashes >> _HALF


def low_half(hashes: Hashes) -> Hashes:
    return hashes & np.uint64(0xFFFFFFFF)


def _scaled(halves: Hashes, num_blocks: int) -> Hashes:
    """Numbers of 32 bits to blocks, by multiply-shift."""
    return (halves * np.uint64(num_blocks)) >> _HALF


def _standard_block(hashes: Hashes, num_blocks: int) -> Hashes:
    return _scaled(high_half(hashes), num_blocks)


def _standard_positions(keys: Words) -> Words:
    return (keys[:, np.newaxis] * SALTS) >> np.uint32(27)


@dataclass(frozen=True, slots=True)
class BitLayout(Deviation):
    """One way from a hash to eight bits.

    `block`: of hashes, in so many blocks; `key`: the half of the hashes that chooses the bits;
    `positions`: of the bits in the eight words; `arrange`: the words as they should have been stored; `places`: by
    how many each block is further on, the last in front, if that is all; negative if it is the other way round.
    `is_accident`: whether it happens to bytes rather than to a writer, so that `clause` is a sentence.
    """

    block: Callable[[Hashes, int], Hashes] = _standard_block
    key: Callable[[Hashes], Hashes] = low_half
    positions: Callable[[Words], Words] = _standard_positions
    arrange: Callable[[Words], Words] = lambda rows: rows
    places: int = 0
    is_accident: bool = False

    def _places(self, bitset: Bitset, hashes: Hashes) -> tuple[Hashes, Words]:
        """The block of each hash, shape (n,), and the positions of its bits, shape (n, 8)."""
        keys = self.key(hashes).astype(np.uint32)
        return self.block(hashes, bitset.num_blocks), self.positions(keys)

    def finds(self, bitset: Bitset, hashes: Hashes) -> NDArray[np.bool_]:
        """Whether each hash, shape (n,), is found in a bitset of which all blocks are known."""
        blocks, positions = self._places(bitset, hashes)
        return _are_set(self.arrange(bitset.words[blocks]), positions)

    def share_found(self, bitset: Bitset, hashes: Hashes) -> float:
        """The share of the hashes, shape (n,), that are found in known blocks; 0 if none belongs there.

        A quick look that proves nothing.
        """
        blocks, positions = self._places(bitset, hashes)
        is_known = bitset.knows(blocks)
        is_found = _are_set(self.arrange(bitset.words[blocks[is_known]]), positions[is_known])
        return float(is_found.mean()) if is_found.size else 0.0

    def look_up(self, bitset: Bitset, hashes: Hashes) -> Trial:
        """Look up hashes, shape (n,), each eight positions once, in whichever blocks.

        Where few keys are left of all hashes, as of one whose half is 0, many blocks may have the same bits for a
        reason that has nothing to do with the hash, and prove no more than one.

        A writer who chooses blocks in a way that is not listed here still sets the right bits in one
        of all blocks. Where there are few, that is often the block that is looked at.
        """
        blocks, positions = self._places(bitset, hashes)
        is_known = bitset.knows(blocks)
        blocks, positions = _distinct(blocks[is_known], positions[is_known])
        rows = self.arrange(bitset.words[blocks])
        chance = mean_fpp(rows)
        if bitset.is_cut or self.block is not _standard_block or self.key is not low_half:
            chance += (1 - chance) / len(bitset.words)
        return Trial(
            hits=int(np.count_nonzero(_are_set(rows, positions))), tried=len(blocks), chance=chance
        )


def _are_set(rows: Words, positions: Words) -> NDArray[np.bool_]:
    """Whether all eight bits of each row are set."""
    are_set: NDArray[np.bool_] = np.all((rows >> positions) & np.uint32(1), axis=1)
    return are_set


def _distinct(blocks: Hashes, positions: Words) -> tuple[Hashes, Words]:
    """Each eight positions once, with the block of the first that has them."""
    packed = np.bitwise_or.reduce(positions.astype(np.uint64) << _PACKING, axis=1)
    _, chosen = np.unique(packed, return_index=True)
    return blocks[chosen], positions[chosen]


def mean_fpp(rows: Words) -> float:
    """How likely a value is found that was never inserted, in one of these blocks, shape (n, 8);
    1 if there is none."""
    fills = np.bitwise_count(rows) / WORD_BITS
    return float(fills.prod(axis=1).mean()) if len(rows) else 1.0


STANDARD = BitLayout()


def bits_set_of(bitset: Bitset, hashes: Hashes) -> Trial:
    """How many of the eight bits of each hash, shape (n,), are set; `chance`: the share of all bits that are."""
    rows = bitset.words[_standard_block(hashes, bitset.num_blocks)]
    positions = _standard_positions(low_half(hashes).astype(np.uint32))
    chance = float(np.bitwise_count(bitset.words).mean()) / WORD_BITS
    hits = int(np.count_nonzero((rows >> positions) & np.uint32(1)))
    return Trial(hits, positions.size, chance)


def layouts(num_blocks: int) -> Iterator[BitLayout]:
    """The other layouts of a filter of this size."""
    yield from _SWAPS
    yield from _remainders(num_blocks)
    yield from _wrong_folds(num_blocks)
    yield from _ARRANGEMENTS


HashPart = Callable[[Hashes], Hashes]

# What happens to a file more often than to a writer.
INVERTED = BitLayout(
    "bits-inverted", "all bits are inverted", arrange=lambda rows: ~rows, is_accident=True
)


def _of_other_hash(name: str, clause: str, changed: HashPart) -> BitLayout:
    """Both halves of the hash as it is `changed`."""
    return BitLayout(
        name,
        clause,
        block=lambda hashes, num_blocks: _standard_block(changed(hashes), num_blocks),
        key=lambda hashes: low_half(changed(hashes)),
    )


_SWAPS = (
    BitLayout(
        "halves-swapped",
        "chose the block with the low half of the hash, and the bits with the high half",
        block=lambda hashes, num_blocks: _scaled(low_half(hashes), num_blocks),
        key=high_half,
    ),
    _of_other_hash(
        "hash-byte-order", "reversed the 8 bytes of the hash", lambda hashes: hashes.byteswap()
    ),
    _of_other_hash(
        "hash-sign-cleared",
        "cleared the highest bit of the hash, which is the sign where numbers have one",
        lambda hashes: hashes & np.uint64(2**63 - 1),
    ),
    _of_other_hash(
        "hash-absolute",
        "took the hash as a signed number, and of this the absolute value",
        lambda hashes: np.abs(hashes.view(np.int64)).view(np.uint64),
    ),
    BitLayout(
        "low-half-twice",
        "chose both the block and the bits with the low half of the hash",
        block=lambda hashes, num_blocks: _scaled(low_half(hashes), num_blocks),
    ),
    BitLayout(
        "high-half-twice",
        "chose both the block and the bits with the high half of the hash",
        key=high_half,
    ),
)

# What the block is computed from, and which half of the hash chooses the bits.
_PARTS: tuple[tuple[str, HashPart, HashPart], ...] = (
    ("(hash >> 32)", high_half, low_half),
    ("hash", lambda hashes: hashes, low_half),
    ("hash", lambda hashes: hashes, high_half),
)


def _remainders(num_blocks: int) -> Iterator[BitLayout]:
    """For a power of two, a remainder and a mask are the same."""
    power = largest_power_of_two(num_blocks)
    for number, part, key in _PARTS:
        instead = "instead of the multiplication that the format prescribes"
        if key is high_half:
            instead += ", and the bits with the high half of the hash"
        yield BitLayout(
            "block-by-modulo",
            f"chose the block with `{number} % blocks` {instead}",
            block=partial(_remainder, part),
            key=key,
        )
        for mask in (num_blocks - 1, power - 1) if power != num_blocks else ():
            yield BitLayout(
                "block-by-mask",
                f"chose the block with `{number} & {mask:#x}` {instead}",
                block=partial(_masked, part, mask),
                key=key,
            )


def _remainder(part: HashPart, hashes: Hashes, num_blocks: int) -> Hashes:
    return part(hashes) % np.uint64(num_blocks)


def _masked(part: HashPart, mask: int, hashes: Hashes, num_blocks: int) -> Hashes:
    return part(hashes) & np.uint64(mask)


# With fewer, half of them is one.
MIN_BLOCKS_TO_MISCOUNT = 4


def other_counts(num_blocks: int) -> Iterator[BitLayout]:
    """The layouts of writers that take another number of blocks: off by one, and half. Of one more, what is behind
    the last block goes into that. A wrong size in the header looks the same."""
    if num_blocks < MIN_BLOCKS_TO_MISCOUNT:
        return
    for count in (num_blocks - 1, num_blocks + 1, num_blocks // 2):
        yield BitLayout(
            "block-by-other-count",
            f"chose the block as if there were {count:,} blocks instead of {num_blocks:,}",
            block=partial(_of_other_count, count),
        )


def _of_other_count(count: int, hashes: Hashes, num_blocks: int) -> Hashes:
    return np.minimum(_standard_block(hashes, count), np.uint64(num_blocks - 1))


def _wrong_folds(num_blocks: int) -> Iterator[BitLayout]:
    """A larger filter whose halves were put on one another, instead of neighbouring blocks."""
    larger = 2 * num_blocks
    while larger <= MAX_BLOCKS:
        yield BitLayout(
            "folded-by-halves",
            f"folded a filter of {larger:,} blocks to {num_blocks:,} by joining its halves instead of"
            " neighbouring blocks",
            block=partial(_folded, larger),
        )
        larger *= 2


def _folded(larger: int, hashes: Hashes, num_blocks: int) -> Hashes:
    return _standard_block(hashes, larger) % np.uint64(num_blocks)


_PAIRS = [1, 0, 3, 2, 5, 4, 7, 6]

_ARRANGEMENTS = (
    BitLayout(
        "words-big-endian",
        "stored the 32-bit words big-endian",
        arrange=lambda rows: rows.byteswap(),
    ),
    BitLayout(
        "words-swapped-in-pairs",
        "swapped the words of each block in pairs",
        arrange=lambda rows: rows[:, _PAIRS],
    ),
    BitLayout(
        "longs-big-endian",
        "stored each block as four big-endian 64-bit words",
        arrange=lambda rows: rows[:, _PAIRS].byteswap(),
    ),
    BitLayout(
        "salts-reversed",
        "took the eight salts, or the eight words of a block, in reverse order",
        positions=lambda keys: (keys[:, np.newaxis] * SALTS[::-1]) >> np.uint32(27),
    ),
    BitLayout(
        "bits-from-the-top",
        "counted the bits of each word from the highest",
        positions=lambda keys: np.uint32(31) - _standard_positions(keys),
    ),
)


def _highest_of_64(keys: Words) -> Words:
    products = keys.astype(np.uint64)[:, np.newaxis] * SALTS
    return (products >> np.uint64(59)).astype(np.uint32)


# Many hashes choose the same positions then, so that with any hash, they find some values in a filter of such a
# writer: they are tried alone.
OTHER_PRODUCTS = (
    BitLayout(
        "lowest-five-bits",
        "took the lowest five bits of each product with a salt instead of the highest",
        positions=lambda keys: (keys[:, np.newaxis] * SALTS) & np.uint32(31),
    ),
    BitLayout(
        "product-of-64-bits",
        "took the highest five bits of 64 of each product with a salt instead of 32",
        positions=_highest_of_64,
    ),
)


# A writer with another salt for some words finds what their bits let pass by luck, and misses the rest. Bits
# that were lost leave most values where they were.
MIN_SHARE_MISSING = 0.25
MAX_OTHER_WORDS = 4
OF_EXPECTED = 0.9


def with_other_salts(bitset: Bitset, missing: Hashes, share_missing: float) -> Iterator[BitLayout]:
    """One layout, or none: the salts in the order that the bits of the missing values, shape (n,), n > 0,
    show, or other salts, or no bits, for some words. `share_missing`: of all values, 0 to 1."""
    if share_missing < MIN_SHARE_MISSING:
        return
    rows = bitset.words[_standard_block(missing, bitset.num_blocks)]
    positions = _standard_positions(low_half(missing).astype(np.uint32))
    # How many hashes have their bit of each salt in each word, shape (8, 8).
    found = np.array([((row[:, np.newaxis] >> positions) & 1).sum(axis=0) for row in rows.T])
    salts = found.argmax(axis=1).tolist()
    others = np.flatnonzero(found.max(axis=1) < MIN_SHARE * missing.size).tolist()
    if not others:
        if sorted(salts) == list(range(WORDS_PER_BLOCK)):
            yield _salts_in_order(salts)
        return
    others_only = all(salts[word] == word or word in others for word in range(WORDS_PER_BLOCK))
    fills = np.bitwise_count(bitset.words[:, others]).mean(axis=0) / WORD_BITS
    is_missed = share_missing >= OF_EXPECTED * (1 - fills.prod())
    if not others_only or len(others) > MAX_OTHER_WORDS or not is_missed:
        return
    if fills.any():
        yield _without(others, "other-salt", "took another salt for")
    else:
        yield _without(others, "words-without-bits", "set no bit in")


def _salts_in_order(salts: Sequence[int]) -> BitLayout:
    return BitLayout(
        "salts-permuted",
        f"took the eight salts in the order {', '.join(map(str, salts))}",
        positions=lambda keys: _standard_positions(keys)[:, salts],
    )


def _without(words: Sequence[int], name: str, what: str) -> BitLayout:
    """Whatever the bits of these words are."""

    def arrange(rows: Words) -> Words:
        arranged = rows.copy()
        arranged[:, words] = np.uint32(0xFFFFFFFF)
        return arranged

    which = f"word{'s' if len(words) > 1 else ''} {', '.join(map(str, words))}"
    return BitLayout(name, f"{what} {which} (of 0 to 7) of each block", arrange=arrange)


def without_unset_bits(bitset: Bitset) -> Iterator[BitLayout]:
    """One layout, or none: whatever those bits are that are set in no word, as the sign of numbers that have none."""
    unset = ~np.bitwise_or.reduce(bitset.words, axis=None)
    numbers = [bit for bit in range(WORD_BITS) if int(unset) >> bit & 1]
    if numbers:
        which = f"bit{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        yield BitLayout(
            "bits-never-set",
            f"set {which} (of 0 to 31) in no word",
            arrange=lambda rows: rows | unset,
        )


# ------------------------------------------------------------------------------------------------
# Which bytes of the file can be the bitset instead of those that the header describes
#
#     | header | bitset: numBytes |          what the header says
#              | shift | bitset |            padding, a second header, a length; or a shift back
#     | header | bitset | ...                numBytes counts bits, words or blocks instead of bytes
#     | header | bitset: | numBytes ...      the blocks behind were not written
#
# Only bytes in front of the footer are looked at.

# Two blocks: beyond any header and any alignment.
MAX_SHIFT = 64
# And whole blocks, which look like blocks that are all some places further on, see moved.
MAX_PLACES = 4
WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class BitsetChoice(Deviation):
    """One choice of bytes; None: those of the header. `later`: by how many bytes it begins later than these."""

    bitset: Bitset | None = None
    later: int = 0


AS_DESCRIBED = BitsetChoice()


def as_bitset(filter: SplitBlockBloomFilter) -> Bitset:
    """The blocks of a filter, not copied."""
    return _first_of(filter, filter.num_blocks)


def _first_of(filter: SplitBlockBloomFilter, num_blocks: int) -> Bitset:
    """The blocks of a filter as the first of so many."""
    return Bitset(filter.words.reshape(-1, WORDS_PER_BLOCK), num_blocks)


def _bitset_at(data: bytes, start: int, size: int, first: int = 0) -> Bitset:
    """The whole blocks in `size` bytes from `start`, which need not be a multiple of 4."""
    words = np.frombuffer(data, "<u4", count=size // WORD_BYTES, offset=start)
    blocks = words.reshape(-1, WORDS_PER_BLOCK)
    return Bitset(blocks, len(blocks), first)


def bitset_choices(
    file: ParquetContainer, stored: StoredFilter, filter: SplitBlockBloomFilter
) -> Iterator[BitsetChoice]:
    """The other choices than `filter`; only those of its bytes for an encrypted bitset."""
    if not stored.is_encrypted:
        yield from _elsewhere(file, stored)
    yield from _cut(filter)


def _cut(filter: SplitBlockBloomFilter) -> Iterator[BitsetChoice]:
    """Of a larger filter, whose other blocks nobody knows."""
    kept = filter.num_blocks
    for larger in (2 * kept, 4 * kept, 8 * kept):
        yield BitsetChoice(
            "bitset-cut",
            f"stored only the first {number_of(kept, 'block')} of a filter of {larger:,}",
            _first_of(filter, larger),
        )


def _elsewhere(file: ParquetContainer, stored: StoredFilter) -> Iterator[BitsetChoice]:
    start = stored.offset + stored.header_bytes
    for name, said, size in _sizes(stored):
        if size % BLOCK_BYTES == 0 and 0 < size <= MAX_BYTES and start + size <= file.footer.start:
            yield BitsetChoice(
                name,
                f"{said}: the bitset has {size:,} bytes",
                _bitset_at(file.source.read_at(start, size), 0, size),
            )
    yield from _shifted(file, stored)


def _sizes(stored: StoredFilter) -> Iterator[tuple[str, str, int]]:
    """Other sizes, in bytes, with name and clause: by another unit, or by what the footer says."""
    for name, unit, numerator, denominator in (
        ("size-in-bits", "bits", 1, 8),
        ("size-in-words", "words of 4 bytes", 4, 1),
        ("size-in-blocks", "blocks of 32 bytes", 32, 1),
    ):
        size, rest = divmod(stored.num_bytes * numerator, denominator)
        if not rest:
            yield name, f"counted {unit} in the header's numBytes", size
    if stored.length is not None and stored.length != stored.end - stored.offset:
        said = f"wrote {stored.num_bytes:,} as the header's numBytes, which is not what bloom_filter_length says"
        yield "size-by-length", said, stored.length - stored.header_bytes


def _shifted(file: ParquetContainer, stored: StoredFilter) -> Iterator[BitsetChoice]:
    """A bitset may begin at the header at the earliest; the bits under the header are not known, and those that the
    footer cuts off count as set, which makes finding values there as likely as luck."""
    start = stored.offset + stored.header_bytes
    size = stored.num_bytes + MAX_PLACES * BLOCK_BYTES
    kept = file.source.read_at(start, min(size, file.footer.start - start))
    data = bytes(MAX_SHIFT) + kept.ljust(size, b"\xff")
    for shift in _shifts(stored.header_bytes):
        direction = "earlier" if shift < 0 else "later"
        yield BitsetChoice(
            "bitset-shifted",
            f"began the bitset {number_of(abs(shift), 'byte')} {direction} than where the header of"
            f" {stored.header_bytes} bytes ends",
            _bitset_at(
                data, MAX_SHIFT + shift, stored.num_bytes, first=-(min(0, shift) // BLOCK_BYTES)
            ),
            later=shift,
        )


def _shifts(header_bytes: int) -> Iterator[int]:
    """By how many bytes a bitset may begin later, or earlier, the least first."""
    earliest = -min(MAX_SHIFT, header_bytes)
    yield from sorted((*range(earliest, 0), *range(1, MAX_SHIFT + 1)), key=abs)
    yield from range(MAX_SHIFT + BLOCK_BYTES, MAX_PLACES * BLOCK_BYTES + 1, BLOCK_BYTES)
