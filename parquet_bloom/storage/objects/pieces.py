"""A new version of an object as pieces: ranges of the old version, which the store itself copies, and
ranges of a local file with what is new.

    old version | 0 .. prefix            |          | a .. b |
    local file                           | 0 .. n   |        | n .. m |
    new version | copied by the store    | sent     | copied | sent   |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from parquet_bloom.storage.source import Source, Window, check_length
from parquet_bloom.storage.traffic import Requests


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes [start, end) of the old version, or of what is new."""

    start: int
    end: int
    is_old: bool

    @property
    def size(self) -> int:
        return self.end - self.start

    def part(self, start: int, end: int) -> Piece:
        """Its bytes [start, end), counted from its own start."""
        return Piece(self.start + start, self.start + end, self.is_old)


class Composition:
    """The pieces of a version, in order."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self.size = 0

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._pieces)

    def add(self, piece: Piece) -> None:
        if piece.start == piece.end:
            return
        self.size += piece.size
        if self._pieces:
            last = self._pieces[-1]
            if last.is_old == piece.is_old and last.end == piece.start:
                piece = Piece(last.start, piece.end, piece.is_old)
                del self._pieces[-1]
        self._pieces.append(piece)

    def replace(self, start: int, end: int, by: Piece) -> None:
        """Put a piece of the same size in the place of the bytes [start, end) of the version."""
        changed = Composition()
        for piece in self.between(0, start):
            changed.add(piece)
        changed.add(by)
        for piece in self.between(end, self.size):
            changed.add(piece)
        self._pieces = changed._pieces

    def between(self, start: int, end: int) -> Iterator[Piece]:
        """The bytes [start, end) of the version."""
        at = 0
        for piece in self._pieces:
            first, last = max(start, at), min(end, at + piece.size)
            if first < last:
                yield piece.part(first - at, last - at)
            at += piece.size


def equal_cuts(start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """The bytes [start, end) in as few parts as can be, of about one size: none is small unless it is the
    only one."""
    count = -(-(end - start) // most)
    cuts = [start + (end - start) * number // count for number in range(count + 1)] if count else []
    yield from pairwise(cuts)


class PiecedSource:
    """The new version, before it is there: `new` is the file with what is new."""

    def __init__(self, pieces: Composition, old: Source, new: Source) -> None:
        self.path = new.path
        self.size = pieces.size
        self.bytes_read = 0
        self._pieces, self._old, self._new = pieces, old, new

    is_remote: Final = True

    def read_at(self, offset: int, length: int) -> bytes:
        check_length(self.path, offset, length, max(0, min(length, self.size - offset)))
        self.bytes_read += length
        return b"".join(
            (self._old if piece.is_old else self._new).read_at(piece.start, piece.size)
            for piece in self._pieces.between(offset, offset + length)
        )

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Of the old version."""
        self._old.will_read(
            (piece.start, piece.end)
            for start, end in ranges
            for piece in self._pieces.between(start, end)
            if piece.is_old
        )

    def window(self) -> Window:
        return Window(self)

    @property
    def held_ahead(self) -> int:
        return self._old.held_ahead

    @property
    def version(self) -> str:
        return self._old.version

    @property
    def requests(self) -> Requests | None:
        return self._old.requests

    def check_unchanged(self) -> None:
        self._old.check_unchanged()

    def close(self) -> None:
        """The old version stays open."""
        self._new.close()
