"""A source whose neighbouring bytes are read together: filters lie side by side, most are small."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

# Costs little more to read than the header of a filter alone.
WINDOW_BYTES = 32 << 10


class Window:
    """A Source that keeps the bytes which it read last; not for several threads."""

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self.size = source.size
        self.bytes_read = 0
        self._source = source
        self._start = 0
        self._data = b""

    def read_at(self, offset: int, length: int) -> bytes:
        """Raises as Source.read_at."""
        self.bytes_read += length
        at = offset - self._start
        if not 0 <= at <= len(self._data) - length:
            if length >= WINDOW_BYTES or offset + length > self.size:
                return self._source.read_at(offset, length)
            self._data = self._source.read_at(offset, min(WINDOW_BYTES, self.size - offset))
            self._start, at = offset, 0
        return self._data[at : at + length]

    def check_unchanged(self) -> None:
        self._source.check_unchanged()

    def close(self) -> None:
        self._source.close()
