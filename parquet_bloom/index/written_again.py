"""Whether a file of an index is what we write of what we read in it, byte for byte: engines go by headers, page
indexes and a footer that nothing of ours reads, so that no checksum of ours is about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from parquet_bloom.storage.source import Source

# That are compared in one read, more or less.
_AT_ONCE: Final = 1 << 20


class WrittenAgain:
    """Stands for the file to be written; nothing is. Methods raise OSError."""

    def __init__(self, source: Source) -> None:
        self._source, self._at, self._written = source, 0, bytearray()
        self._differs_at: int | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._written += data
        if len(self._written) >= _AT_ONCE:
            self._compare()

    def problems(self, written: object, about: object) -> Iterator[str]:
        """What is wrong with the file, once all of it was written again. `written`: what a manifest would say of it;
        `about`: what it says."""
        self._compare()
        if self._differs_at is None and self._at != self._source.size:
            self._differs_at = min(self._at, self._source.size)
        if self._differs_at is not None:
            yield (
                f"{self._source.path}: byte {self._differs_at:,} is not what pbloom writes there:"
                " engines may not find what is in it"
            )
        elif written != about:
            yield f"{self._source.path}: not the file that the manifest tells of"

    def _compare(self) -> None:
        size = max(0, min(len(self._written), self._source.size - self._at))
        there = self._source.read_at(self._at, size) if self._differs_at is None else b""
        if self._differs_at is None and there != self._written:
            same = (a == b for a, b in zip(there, self._written, strict=False))
            self._differs_at = self._at + next(
                (at for at, is_same in enumerate(same) if not is_same), size
            )
        self._at += len(self._written)
        self._written.clear()
