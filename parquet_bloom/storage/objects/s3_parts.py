"""Cut a new version into the parts of a multipart upload.

All parts but the last have at least 5 MiB. What the store can copy is one part, or few; around it, what
is too small to be a part is read and sent together with its neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from parquet_bloom.storage.objects.pieces import Piece, Pieces, equal_cuts

LEAST_BYTES: Final = 5 << 20
MOST_BYTES: Final = 5 << 30
MOST_PARTS: Final = 10_000

# What is sent at once, and held in memory meanwhile.
SENT_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes [start, end) of the new version. `copied`: of the old version, if the store copies
    them; else they are sent."""

    start: int
    end: int
    copied: Piece | None = None


def parts_of(pieces: Pieces) -> list[Part]:
    found: list[Part] = []
    at = sent_from = 0
    for piece in pieces:
        end = at + piece.size
        if piece.is_old:
            # Of this piece, what completes the part before it.
            waiting = at - sent_from
            taken = min(max(0, LEAST_BYTES - waiting), piece.size) if waiting else 0
            if piece.size - taken >= LEAST_BYTES:
                found += _sent(sent_from, at + taken)
                found += _copied(at + taken, piece.part(taken, piece.size))
                sent_from = end
        at = end
    return [*found, *_sent(sent_from, at)]


def _sent(start: int, end: int) -> Iterator[Part]:
    yield from (Part(*part) for part in equal_cuts(start, end, SENT_BYTES))


def _copied(start: int, piece: Piece) -> Iterator[Part]:
    for first, last in equal_cuts(start, start + piece.size, MOST_BYTES):
        yield Part(first, last, piece.part(first - start, last - start))


def equal_parts_of(pieces: Pieces) -> list[Part]:
    """Parts of one size but for the last, which is not larger: some stores take no others. Those that
    lie in what the store can copy are copied."""
    size = max(SENT_BYTES, -(-pieces.size // MOST_PARTS))
    found = []
    for start in range(0, pieces.size, size):
        end = min(start + size, pieces.size)
        within = list(pieces.between(start, end))
        is_copied = len(within) == 1 and within[0].is_old
        found.append(Part(start, end, within[0] if is_copied else None))
    return found
