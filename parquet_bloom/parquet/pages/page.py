"""Pages of a column chunk: where one is, and reads that prepare for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import PageError

if TYPE_CHECKING:
    from parquet_bloom.parquet.thrift.ttypes import PageHeader
    from parquet_bloom.storage.source import Source

# Read ahead for a page header. Most take 20 to 60 bytes, but statistics can make one long.
AHEAD_BYTES = 8 << 10


@dataclass(frozen=True, slots=True)
class Page:
    """A page whose body takes `size` bytes from `start`. `ordinal`: the number of data pages before
    it in the chunk."""

    header: PageHeader
    start: int
    size: int
    ordinal: int


class ReadAhead:
    """A source up to `end`, and the bytes read last. Nothing behind `likely_end` is read ahead."""

    def __init__(self, source: Source, end: int, likely_end: int) -> None:
        self.end = end
        self._likely_end = likely_end
        self._source = source
        self._ahead = b""
        self._start = 0

    def read(self, start: int, size: int) -> memoryview:
        """`size` bytes from `start`, and whatever has been read after them. Raises PageError if the
        data ends before."""
        if start + size > self.end:
            raise PageError(f"page at {start}: {size} bytes, expected to end by {self.end}")
        offset = start - self._start
        if not 0 <= offset <= len(self._ahead) - size:
            end = self._likely_end if start + size <= self._likely_end else self.end
            length = min(size + AHEAD_BYTES, end - start)
            self._ahead, self._start, offset = self._source.read_at(start, length), start, 0
        return memoryview(self._ahead)[offset:]
