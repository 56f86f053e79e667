"""Pages of a column chunk: where one is, and reads that prepare for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from parquet_bloom.errors import PageError
from parquet_bloom.native import _kernel

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

# Read ahead for a page header and what follows. Most take 20 to 60 bytes, but statistics can make one long.
AHEAD_BYTES = 8 << 10

# The same for a header after a body that nobody wanted: the next one may not be wanted either.
HEADER_BYTES = 512


class PageHeader(NamedTuple):
    """The fields of a PageHeader; from `num_values` on, those of the struct in it that belongs to its
    type. None for what is not there.

    Spec: parquet-format, parquet.thrift.
    """

    type: int | None
    uncompressed_page_size: int | None
    compressed_page_size: int | None
    crc: int | None
    num_values: int | None
    encoding: int | None
    definition_level_encoding: int | None
    repetition_level_encoding: int | None
    definition_levels_byte_length: int | None
    repetition_levels_byte_length: int | None
    is_compressed: int | None

    @classmethod
    def decode(cls, data: bytes | memoryview) -> tuple[Self, int]:
        """The one at the start of `data`, and its size. Raises _kernel.ScanError if there is none."""
        fields, end = _kernel.page_header(data)
        return cls._make(fields), end


class Page(NamedTuple):
    """A page whose body takes `size` bytes from `start`, and `plain_size` without compression.
    `ordinal`: the number of data pages before it in the chunk."""

    header: PageHeader
    start: int
    size: int
    plain_size: int
    ordinal: int


class PagePlace(NamedTuple):
    """Where a page begins; `num_values` and `num_pages` of data pages come before it in the chunk."""

    position: int
    num_values: int
    num_pages: int

    def behind(self, pages: _kernel.WholePages) -> PagePlace:
        """The one behind data pages that the kernel has passed from here."""
        return PagePlace(
            self.position + pages.num_bytes,
            self.num_values + pages.num_values,
            self.num_pages + pages.num_pages,
        )


class PagesAhead:
    """A source up to `end`, and the bytes read last. Nothing behind `likely_end` is read ahead."""

    def __init__(self, source: Source, end: int, likely_end: int) -> None:
        self.end = end
        self.likely_end = likely_end
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
            end = self.likely_end if start + size <= self.likely_end else self.end
            is_skipped = 0 < self._start + len(self._ahead) < start
            more = HEADER_BYTES if is_skipped else AHEAD_BYTES
            length = min(size + more, end - start)
            # So that the same memory can be had again.
            self._ahead = b""
            self._ahead, self._start, offset = self._source.read_at(start, length), start, 0
        return memoryview(self._ahead)[offset:]
