"""Whole blocks that are elsewhere: in reverse order, exchanged, or all some places further on.

A rotation has the same blocks in the same order as a bitset that begins some blocks later, or earlier, than the
header says. What tells the two apart is where the blocks of one end are:

    | header | 0 1 2 ... n-1 |           as the format says
    | header | n-1 0 1 2 ... |           each one place further on, the last in front
    | header |  ?  0 1 2 ... | n-1       one block later
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from parquet_bloom.diagnosis.layouts import (
    MAX_PLACES,
    STANDARD,
    BitLayout,
    BitsetChoice,
)
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.sizing import BLOCK_BYTES


def moved(num_blocks: int) -> Iterator[BitLayout]:
    """The layouts of a filter of this size whose blocks are elsewhere."""
    yield BitLayout(
        "blocks-reversed",
        "the blocks are in reverse order",
        block=_reversed,
        is_accident=True,
    )
    yield BitLayout(
        "bitset-halves-swapped",
        "the second half of the blocks is in front of the first",
        block=partial(_further, num_blocks // 2),
        is_accident=True,
    )
    # From half of all blocks on, it is one the other way round. Of two blocks, all of these are the same; other
    # filters of the column may tell which it is.
    for places in range(1, min(MAX_PLACES, num_blocks // 2) + 1):
        yield _rotation(places)
        yield _rotation(-places)
    # Of an odd number, the last has none.
    if num_blocks % 2 == 0:
        yield BitLayout(
            "neighbours-exchanged",
            "exchanged neighbouring blocks: put the bits of block 0 into 1, those of 1 into 0, and so on",
            block=_neighbour,
        )


def _reversed(hashes: Hashes, num_blocks: int) -> Hashes:
    return np.uint64(num_blocks - 1) - STANDARD.block(hashes, num_blocks)


def _neighbour(hashes: Hashes, num_blocks: int) -> Hashes:
    return STANDARD.block(hashes, num_blocks) ^ np.uint64(1)


def _further(places: int, hashes: Hashes, num_blocks: int) -> Hashes:
    """`places`: to the front if negative."""
    return (STANDARD.block(hashes, num_blocks) + np.uint64(places % num_blocks)) % np.uint64(
        num_blocks
    )


def _rotation(places: int) -> BitLayout:
    side, end, other = ("after", "last", "first") if places > 0 else ("before", "first", "last")
    count = f" {abs(places)}" if abs(places) > 1 else ""
    return BitLayout(
        "blocks-rotated",
        f"put the bits of each block into the block{count} {side} it, and those of the {end}{count} into the"
        f" {other}{count}",
        block=partial(_further, places),
        places=places,
    )


def are_alike(rotated: BitLayout, shifted: BitsetChoice) -> bool:
    """Whether all blocks but those of one end are in the same place."""
    return rotated.places != 0 and shifted.later == rotated.places * BLOCK_BYTES
