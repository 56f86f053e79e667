"""Insert whole PLAIN pages, as nearly all are, without the interpreter between them.

The kernel walks the headers in a stretch of the file, checks each page, has it decompressed and inserts
its values while they are in the near caches. At a page that is unusual in any way, or damaged, it stops:
the reader that goes on from there says what is wrong with it.

    stretch   | header | body | header | body | header | bo      the next stretch begins at this page
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from parquet_bloom.native import _kernel
from parquet_bloom.parallel import memory
from parquet_bloom.parquet.pages.codecs import LARGE_BYTES, PageBuffer, codec_of
from parquet_bloom.parquet.sealed.modules import PLAIN

if TYPE_CHECKING:
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.pages.page_reader import PageReader

# Small pages are read together; large ones one by one.
STRETCH_BYTES: Final = 256 << 10


class PlainPages:
    """The pages that a reader comes to next, as far as they are PLAIN and usual."""

    def __init__(
        self, reader: PageReader, footer: Footer, chunk: ColumnChunk, buffer: PageBuffer
    ) -> None:
        leaf = chunk.leaf
        column = (
            leaf.type.width or 0,
            leaf.type.is_float,
            leaf.max_repetition_level,
            leaf.max_definition_level,
        )
        self._pages = _kernel.PlainPages(
            column, reader.largest, footer.compresses_always, codec_of(chunk.codec)
        )
        self._reader = reader
        self._buffer = buffer
        self._num_values = chunk.num_values or 0
        # Whether it is worth to try.
        self.is_open = True

    @staticmethod
    def are_in(chunk: ColumnChunk) -> bool:
        """Whether there can be any."""
        has_form = chunk.leaf.type.physical == "BYTE_ARRAY" or (chunk.leaf.type.width or 0) > 0
        return has_form and chunk.modules is PLAIN

    @property
    def float_specials(self) -> int:
        """HAS_ZERO | HAS_NAN of all that have been inserted, if they are floating point numbers."""
        return self._pages.specials

    def insert_into(self, filter: SplitBlockBloomFilter) -> int:
        """Insert their values and move the reader behind them; returns the number of values."""
        inserted = num_pages = 0
        size, room = 1, self._buffer.all()
        # What lies behind the last value may be another request to an object store.
        while (left := self._num_values - self._reader.num_values) > 0:
            stretch = self._reader.stretch(size)
            lacking = filter.insert_plain_pages(self._pages, stretch, room, left)
            self._reader.pass_pages(self._pages)
            inserted += self._pages.inserted
            num_pages += self._pages.num_pages
            needed = self._pages.needed
            if lacking == _kernel.MORE_BYTES and needed <= self._reader.left:
                size = max(needed, min(STRETCH_BYTES, self._reader.likely_left))
            elif lacking == _kernel.MORE_ROOM and needed < LARGE_BYTES:
                size, room = 1, self._buffer.all(needed)
            else:
                break
            if self._reader.held + size + len(room) > memory():
                break
        self.is_open = num_pages > 0
        return inserted
