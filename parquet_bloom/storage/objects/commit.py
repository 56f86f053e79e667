"""What replaces an object, whatever its store: the version to be put together, and what to say if it is
not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.pieces import PiecedSource, Pieces
from parquet_bloom.storage.source import Source


@dataclass(frozen=True, slots=True)
class NewObject:
    """A version to be put together, of the object that `old` has read; `end` has what is new."""

    address: Address
    old: ObjectSource
    etag: str
    pieces: Pieces
    end: Source

    @property
    def size(self) -> int:
        return self.pieces.size

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Say which ranges `read` will be called for, in order: what they have of the old version is
        fetched ahead, in few requests."""
        PiecedSource(self.pieces, self.old, self.end).will_read(ranges)

    def read(self, start: int, end: int) -> bytes:
        """The bytes [start, end) of the new version; those of the old one are requested."""
        return PiecedSource(self.pieces, self.old, self.end).read_at(start, end - start)

    def last(self, most: int) -> bytes:
        """Its last bytes, as far as they are new; at most so many."""
        *_, piece = self.pieces
        if piece.is_old:
            return b""
        start = max(piece.start, piece.end - most)
        return self.end.read_at(start, piece.end - start)


class ToldError(OSError):
    """Says what became of the object."""


# What became of it, mostly.
NOTHING: Final = "nothing was written"


def changed_meanwhile(address: Address) -> RewriteError:
    return RewriteError(f"{address}: changed by others while it was read: {NOTHING}; try again")


class Commit(Protocol):
    """How a kind of store replaces an object."""

    def check(self) -> None:
        """Before anything is done: raise RewriteError if the store may lose what others write."""

    def commit(self, new: NewObject) -> None:
        """Raises RewriteError if the object is another one by now, and OSError; both say what became
        of it."""
