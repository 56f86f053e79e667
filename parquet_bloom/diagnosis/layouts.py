"""Where in a bitset the bits of a hash can have been put.

What the format wants, and what each layout changes one step of:

    place      block = (high half of the hash * number of blocks) >> 32, key = low half
    positions  bit i of 0 to 7 = (key * salt i) >> 27
    words      bit i lies in word i of the block, little-endian, counted from its lowest bit

Spec: parquet-format, BloomFilter.md "Technical Approach".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.diagnosis.evidence import Trial
from parquet_bloom.filters.sizing import MAX_BYTES, WORD_BITS, WORDS_PER_BLOCK, largest_power_of_two

SALTS = np.array(
    [
        0x47B6137B,
        0x44974D91,
        0x8824AD5B,
        0xA2B7289D,
        0x705495C7,
        0x2DF1424B,
        0x9EFC4947,
        0x5C6BFB31,
    ],
    np.uint32,
)

MAX_BLOCKS = MAX_BYTES * 8 // (WORD_BITS * WORDS_PER_BLOCK)

Hashes = NDArray[np.uint64]
Words = NDArray[np.uint32]
Places = tuple[NDArray[np.uint64], NDArray[np.uint32]]

_HALF = np.uint64(32)

# Where each of eight positions of five bits goes in one number.
_PLACES = np.arange(0, 5 * WORDS_PER_BLOCK, 5, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Bitset:
    """`words`, of shape (num_blocks, 8), uint32; the bits of blocks before `first` are not known."""

    words: Words
    first: int = 0

    @property
    def num_blocks(self) -> int:
        return len(self.words)


def high_half(hashes: Hashes) -> Hashes:
    return hashes >> _HALF


def low_half(hashes: Hashes) -> Hashes:
    return hashes & np.uint64(0xFFFFFFFF)


def scaled(halves: Hashes, num_blocks: int) -> Hashes:
    """Numbers of 32 bits to blocks, by multiply-shift."""
    return (halves * np.uint64(num_blocks)) >> _HALF


def _keys(halves: Hashes) -> Words:
    return halves.astype(np.uint32)


def _standard_place(hashes: Hashes, num_blocks: int) -> Places:
    return scaled(high_half(hashes), num_blocks), _keys(low_half(hashes))


def _standard_positions(keys: Words) -> Words:
    return (keys[:, np.newaxis] * SALTS) >> np.uint32(27)


def _as_stored(rows: Words) -> Words:
    return rows


@dataclass(frozen=True, slots=True)
class Layout:
    """One way from a hash to eight bits. `clause` ends the sentence "the missing values are found
    if each is"."""

    name: str = ""
    clause: str = ""
    place: Callable[[Hashes, int], Places] = _standard_place
    positions: Callable[[Words], Words] = _standard_positions
    arrange: Callable[[Words], Words] = _as_stored

    def share_found(self, bitset: Bitset, hashes: Hashes) -> float:
        """How many of the hashes, shape (n,), n > 0, are found; where the bits are not known, all.

        A quick look, which does not ask what it proves.
        """
        blocks, keys = self.place(hashes, bitset.num_blocks)
        rows = self.arrange(bitset.words[blocks])
        is_found = _are_set(rows, self.positions(keys)) | (blocks < bitset.first)
        return np.count_nonzero(is_found) / is_found.size

    def look_up(self, bitset: Bitset, hashes: Hashes) -> Trial:
        """Look up hashes, shape (n,), each set of eight bits once.

        Where all that is wrong is the block, in a way that is none of ours, the right bits are found
        in one block of all: of a few blocks, that is often the one that is looked at.
        """
        blocks, keys = self.place(hashes, bitset.num_blocks)
        blocks, positions = _distinct(blocks, self.positions(keys), bitset.first)
        rows = self.arrange(bitset.words[blocks])
        fills = np.bitwise_count(rows) / WORD_BITS
        chance = float(fills.prod(axis=1).mean()) if len(blocks) else 1.0
        if self.place is not _standard_place:
            chance += (1 - chance) / bitset.num_blocks
        return Trial(
            hits=int(np.count_nonzero(_are_set(rows, positions))), tried=len(blocks), chance=chance
        )


def _are_set(rows: Words, positions: Words) -> NDArray[np.bool_]:
    """Whether all eight bits of each row are set."""
    are_set: NDArray[np.bool_] = np.all((rows >> positions) & np.uint32(1), axis=1)
    return are_set


def _distinct(
    blocks: NDArray[np.uint64], positions: Words, first: int
) -> tuple[NDArray[np.uint64], Words]:
    """Each pair of a known block and eight positions once."""
    packed = np.bitwise_or.reduce(positions.astype(np.uint64) << _PLACES, axis=1)
    _, chosen = np.unique(packed | blocks << np.uint64(40), return_index=True)
    chosen = chosen[blocks[chosen] >= first]
    return blocks[chosen], positions[chosen]


STANDARD = Layout()


def layouts(num_blocks: int) -> Iterator[Layout]:
    """The other layouts of a filter of this size."""
    yield from _SWAPS
    yield from _remainders(num_blocks)
    yield from _wrong_folds(num_blocks)
    yield from _ARRANGEMENTS


Choice = Callable[[Hashes, int], Hashes]
"""Blocks of hashes, by the number of blocks."""


def _placed_by(
    block: Choice, key: Callable[[Hashes], Hashes] = low_half
) -> Callable[[Hashes, int], Places]:
    def place(hashes: Hashes, num_blocks: int) -> Places:
        return block(hashes, num_blocks), _keys(key(hashes))

    return place


def _scaled_half(half: Callable[[Hashes], Hashes]) -> Choice:
    return lambda hashes, num_blocks: scaled(half(hashes), num_blocks)


def _remainder(part: Callable[[Hashes], Hashes]) -> Choice:
    return lambda hashes, num_blocks: part(hashes) % np.uint64(num_blocks)


def _masked(part: Callable[[Hashes], Hashes], mask: int) -> Choice:
    return lambda hashes, num_blocks: part(hashes) & np.uint64(mask)


def _folded(larger: int) -> Choice:
    return lambda hashes, num_blocks: scaled(high_half(hashes), larger) % np.uint64(num_blocks)


_SWAPS = (
    Layout(
        "halves-swapped",
        "looked up in the block that the low half of its hash chooses, by the bits that the high"
        " half chooses",
        place=_placed_by(_scaled_half(low_half), high_half),
    ),
    Layout(
        "hash-byte-order",
        "looked up by its hash with the 8 bytes in reverse order",
        place=lambda hashes, z: _standard_place(hashes.byteswap(), z),
    ),
    Layout(
        "low-half-twice",
        "looked up by the low half of its hash, which chooses both the block and the bits",
        place=_placed_by(_scaled_half(low_half)),
    ),
    Layout(
        "high-half-twice",
        "looked up by the high half of its hash, which chooses both the block and the bits",
        place=_placed_by(_scaled_half(high_half), high_half),
    ),
)


def _whole(hashes: Hashes) -> Hashes:
    return hashes


# Which part of the hash the block is computed from, and which part chooses the bits.
_PARTS = (
    ("the high half of its hash", high_half, low_half),
    ("its whole hash", _whole, low_half),
    ("its whole hash", _whole, high_half),
)


def _remainders(num_blocks: int) -> Iterator[Layout]:
    """For a power of two the remainder is the same as a mask."""
    power = largest_power_of_two(num_blocks)
    for words, part, key in _PARTS:
        yield Layout(
            "block-by-modulo",
            f"looked up in the block that the remainder of {words} by the number of blocks gives",
            place=_placed_by(_remainder(part), key),
        )
        if power == num_blocks:
            continue
        for mask in (num_blocks - 1, power - 1):
            yield Layout(
                "block-by-mask",
                f"looked up in the block that {words} and the mask {mask:#x} give",
                place=_placed_by(_masked(part, mask), key),
            )


def _wrong_folds(num_blocks: int) -> Iterator[Layout]:
    """A larger filter whose halves were put on one another, instead of neighbouring blocks."""
    larger = 2 * num_blocks
    while larger <= MAX_BLOCKS:
        yield Layout(
            "folded-by-halves",
            f"looked up in its block of {larger:,}, counted on from the first of"
            f" {num_blocks:,} again: a larger filter was folded by its halves, not by neighbours",
            place=_placed_by(_folded(larger)),
        )
        larger *= 2


_PAIRS = [1, 0, 3, 2, 5, 4, 7, 6]

_ARRANGEMENTS = (
    Layout(
        "words-big-endian",
        "looked up in words of 32 bits that are stored big-endian",
        arrange=lambda rows: rows.byteswap(),
    ),
    Layout(
        "words-swapped-in-pairs",
        "looked up in blocks whose words are swapped in pairs",
        arrange=lambda rows: rows[:, _PAIRS],
    ),
    Layout(
        "longs-big-endian",
        "looked up in blocks that are stored as four big-endian words of 64 bits",
        arrange=lambda rows: rows[:, _PAIRS].byteswap(),
    ),
    Layout(
        "salts-reversed",
        "looked up with the eight salts, or the eight words of a block, in reverse order",
        positions=lambda keys: (keys[:, np.newaxis] * SALTS[::-1]) >> np.uint32(27),
    ),
    Layout(
        "bits-from-the-top",
        "looked up with the bits of each word counted from its highest",
        positions=lambda keys: np.uint32(31) - _standard_positions(keys),
    ),
)
