"""Bytes of pages one after the other: what was read ahead for one serves the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.errors import PageError

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

# What is read ahead for a page header. Most take 20 to 60 bytes; statistics can make one long.
AHEAD_BYTES = 8 << 10


class ReadAhead:
    """The bytes of a source up to `end`, and the last of them that were read."""

    def __init__(self, source: Source, end: int) -> None:
        self.end = end
        self._source = source
        self._ahead = b""
        self._start = 0

    def at(self, start: int, size: int) -> memoryview:
        """`size` bytes from `start`, and whatever is known behind them. Raises PageError if the
        data ends before."""
        if start + size > self.end:
            raise PageError(f"page at {start}: {size} bytes, expected to end by {self.end}")
        offset = start - self._start
        if not 0 <= offset <= len(self._ahead) - size:
            length = min(size + AHEAD_BYTES, self.end - start)
            self._ahead, self._start, offset = self._source.read_at(start, length), start, 0
        return memoryview(self._ahead)[offset:]
