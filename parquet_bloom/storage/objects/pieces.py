"""A new version of an object as pieces: ranges of the old version, which the store itself copies, and
ranges of a local file with what is new.

    old version | 0 .. prefix            |          | a .. b |
    local file                           | 0 .. n   |        | n .. m |
    new version | copied by the store    | sent     | copied | sent   |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.source import DelegatingSource, Source, Window, check_length


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


class NewObject(DelegatingSource):
    """A version to be put together of `pieces`, before it is there: of the object that `old` has read, and
    of the local file `end`, which has what is new."""

    def __init__(self, pieces: Composition, old: Source, end: Source) -> None:
        super().__init__(old, pieces.size)
        self.path = end.path
        self.pieces, self.old, self._end = pieces, old, end

    def read_at(self, offset: int, length: int) -> bytes:
        check_length(self.path, offset, length, max(0, min(length, self.size - offset)))
        self.bytes_read += length
        return b"".join(
            (self.old if piece.is_old else self._end).read_at(piece.start, piece.size)
            for piece in self.pieces.between(offset, offset + length)
        )

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """What they have of the old version is fetched ahead, in few requests."""
        self.old.will_read(
            (piece.start, piece.end)
            for start, end in ranges
            for piece in self.pieces.between(start, end)
            if piece.is_old
        )

    def window(self) -> Window:
        return Window(self)

    def close(self) -> None:
        """The old version stays open."""
        self._end.close()

    def whole(self) -> bytes:
        self.will_read([(0, self.size)])
        return self.read_at(0, self.size)

    def last(self, most: int) -> bytes:
        """Its last bytes, as far as they are new; at most so many."""
        *_, piece = self.pieces
        if piece.is_old:
            return b""
        start = max(piece.start, piece.end - most)
        return self._end.read_at(start, piece.end - start)
