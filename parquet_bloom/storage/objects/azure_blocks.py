"""Cut a new version into the blocks of a blob.

    old version   | block 1 | block 2 | block 3 |
    new version   | block 1 | block 2 | copied  | sent |

Blocks of the old version that lie whole in what stays are named again, what else stays is copied by the
store, and what is new is sent; together with it, old bytes that are too few to be worth a request.

The name of a new block says that it is ours, and since when; of two replacements, no names are equal:

    | pbloom | seconds since 1970 | random | number |
    0        6                    10       17 or more, of 20 or more
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Final

from parquet_bloom.storage.objects.pieces import Piece, Pieces, equal_cuts

MOST_BLOCKS: Final = 50_000

# What is sent at once, and held in memory meanwhile; and copied at once, while one waits for the answer.
SENT_BYTES: Final = 32 << 20
COPIED_BYTES: Final = 256 << 20
# Fewer bytes of the old version that follow new ones are sent with them.
LEAST_BYTES: Final = 64 << 10


# The names of blocks, in bytes; all of a blob that are not committed have one length, which is that of the
# old version's, if it has such. Else it is that of Azure's own libraries for Python and JavaScript, whose
# blocks are then not refused. Shorter ones than the least leave no room for what makes them nobody else's.
NAME_BYTES: Final = 48
LEAST_NAME_BYTES: Final = 20
_MARK: Final = b"pbloom"
_NUMBER_BYTES: Final = 3


class Names:
    """Names of new blocks, in base 64, of a replacement that `began` at so many seconds since 1970."""

    def __init__(self, num_bytes: int, began: int) -> None:
        head = _MARK + began.to_bytes(4, "big")
        self._head = head + os.urandom(num_bytes - len(head) - _NUMBER_BYTES)
        self._numbers = count()

    def next(self) -> str:
        """For several threads."""
        return b64encode(self._head + next(self._numbers).to_bytes(_NUMBER_BYTES, "big")).decode()


def began(name: str) -> int | None:
    """When the replacement began that gave a block its `name`; None if the name is of others."""
    try:
        found = b64decode(name, validate=True)
    except ValueError:
        return None
    if not found.startswith(_MARK) or len(found) < LEAST_NAME_BYTES:
        return None
    return int.from_bytes(found[len(_MARK) : len(_MARK) + 4], "big")


@dataclass(frozen=True, slots=True)
class Committed:
    """A block of the old version, which begins at `start`; its name is in base 64."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes [start, end) of the new version: a block of the old one, by its `name`; or what the store
    copies, `copied` of the old one; or else what is sent."""

    start: int
    end: int
    name: str | None = None
    copied: Piece | None = None


def blocks_of(pieces: Pieces, committed: Sequence[Committed]) -> list[Block]:
    """`committed`: those of the old version, in order, without gaps; or none, if it has none."""
    least = LEAST_BYTES
    blocks = list(_Blocks(pieces, committed, least))
    while len(blocks) > MOST_BLOCKS:
        blocks = list(_Blocks(pieces, (), least))
        least *= 8
    return blocks


class _Blocks:
    def __init__(self, pieces: Pieces, committed: Sequence[Committed], least: int) -> None:
        self._pieces, self._committed, self._least = pieces, committed, least
        # Half of all blocks are for what is between.
        self._most_copied = max(COPIED_BYTES, 2 * pieces.size // MOST_BLOCKS)

    def __iter__(self) -> Iterator[Block]:
        at = sent_from = 0
        for piece in self._pieces:
            if piece.is_old and (at == sent_from or piece.size >= self._least):
                yield from sent(sent_from, at, self._pieces.size)
                yield from self._old(piece, at)
                sent_from = at + piece.size
            at += piece.size
        yield from sent(sent_from, at, self._pieces.size)

    def _old(self, piece: Piece, at: int) -> Iterator[Block]:
        """A piece that is at `at` in the new version."""
        shift, done = at - piece.start, piece.start
        for block in self._whole_in(piece):
            yield from self._copied(done, block.start, shift)
            yield Block(block.start + shift, block.end + shift, name=block.name)
            done = block.end
        yield from self._copied(done, piece.end, shift)

    def _whole_in(self, piece: Piece) -> Iterator[Committed]:
        first = bisect_left(self._committed, piece.start, key=attrgetter("start"))
        last = bisect_right(self._committed, piece.end, key=attrgetter("end"))
        yield from self._committed[first:last]

    def _copied(self, start: int, end: int, shift: int) -> Iterator[Block]:
        for first, last in equal_cuts(start, end, self._most_copied):
            yield Block(first + shift, last + shift, copied=Piece(first, last, is_old=True))


def sent(start: int, end: int, size: int) -> Iterator[Block]:
    """What is sent of a version of so many bytes."""
    for first, last in equal_cuts(start, end, max(SENT_BYTES, 2 * size // MOST_BLOCKS)):
        yield Block(first, last)
