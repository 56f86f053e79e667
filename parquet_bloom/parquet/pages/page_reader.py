"""Read the headers and bodies of a column chunk's pages in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from parquet_bloom.errors import PageError
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.checksums import IGNORED, NONE_COMPUTED
from parquet_bloom.parquet.pages.page import Page, PagePlace, PagesAhead
from parquet_bloom.parquet.thrift.ttypes import PageType

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.pages.codecs import ChunkBuffers
    from parquet_bloom.storage.source import Source

# A page larger than this and than the footer's total for the chunk is impossible.
LARGE_PAGE_BYTES = 16 << 20

# Fields of a PageHeader.
_COMPRESSED_PAGE_SIZE, _CRC = 3, 4

DATA_PAGES = (PageType.DATA_PAGE, PageType.DATA_PAGE_V2)
_DICTIONARY_FIRST = (PageType.DICTIONARY_PAGE, PageType.DATA_PAGE)


class PageReader:
    """The pages of one chunk, in order; bodies are read on demand."""

    def __init__(
        self,
        source: Source,
        footer: Footer,
        chunk: ColumnChunk,
        buffers: ChunkBuffers | None = None,
    ) -> None:
        """`buffers`: see chunk_runs."""
        self.page_buffer = buffers.page if buffers else None
        self.dictionary_buffer = buffers.dictionary if buffers else None
        start = chunk.pages_start or 0
        self._source, self._footer, self._chunk = source, footer, chunk
        self._modules = chunk.modules
        # Where the next page begins, and the one that was read last.
        self.position = self.header_start = start
        self._chunk_end = start + (chunk.total_compressed_size or 0)
        # Writers of 2018 counted a filter that follows the pages as part of the chunk.
        if start < (chunk.bloom_filter_offset or 0) < self._chunk_end:
            self._chunk_end = chunk.bloom_filter_offset or 0
        self._ahead = PagesAhead(source, footer.start, min(self._chunk_end, footer.start))
        self.largest = max(LARGE_PAGE_BYTES, chunk.total_uncompressed_size or 0)
        self._ordinal = 0
        # In the data pages before the next one.
        self.num_values = 0
        # Bytes of the dictionary, once it was decompressed.
        self.held = 0
        self._expected: Sequence[int] = _DICTIONARY_FIRST
        if not chunk.dictionary_page_offset:
            self._expected = _DICTIONARY_FIRST[::-1]

    def check_end(self) -> None:
        """Raise PageError if there is another data page with values before the end that the footer
        states. Pages that nobody here knows have no say. More than that is harmless, as old writers did not count the
        dictionary page's header, and so is less, as Impala counted pages that it did not write."""
        end = self.position
        while self.position < self._chunk_end:
            try:
                page = self.next_page()
            except PageError:
                return
            if page.header.type not in PageType._VALUES_TO_NAMES:
                continue
            if page.header.type not in DATA_PAGES or page.header.num_values != 0:
                raise PageError(f"pages end at {end}, the footer says {self._chunk_end}")

    @property
    def is_past_the_end(self) -> bool:
        """Whether the pages that have been read take more than the footer counts to the chunk."""
        return self.position > self._chunk_end

    @property
    def left(self) -> int:
        """How many bytes there are before the footer."""
        return self._ahead.end - self.position

    @property
    def likely_left(self) -> int:
        """How many of them the footer counts to the chunk."""
        return self._ahead.likely_end - self.position

    def stretch(self, size: int) -> memoryview:
        """The bytes from the next page on, `size` of them if there are as many, and whatever has been
        read after them."""
        return self._ahead.read(self.position, min(size, self.left))

    @property
    def place(self) -> PagePlace:
        """Where the next page begins. Data pages that the kernel inserts are passed by setting it."""
        return PagePlace(self.position, self.num_values, self._ordinal)

    @place.setter
    def place(self, place: PagePlace) -> None:
        self.position, self.num_values, self._ordinal = place

    def go_to(self, place: PagePlace, size: int, is_dictionary: bool = False) -> None:
        """Read so many bytes of pages, and no more: the dictionary page, or data pages, from one in this place on."""
        self.place = place
        end = place.position + size
        self._ahead = PagesAhead(self._source, end, end)
        self._ahead.read(place.position, size)
        self._expected = _DICTIONARY_FIRST if is_dictionary else (PageType.DATA_PAGE,)

    def next_page(self) -> Page:
        """The next page; reads its header only."""
        start, end = self.position, self._ahead.end
        header, length = self._modules.page_header(
            self._ahead, start, self._ordinal, self._expected
        )
        self.header_start = start
        body, plain = header.compressed_page_size, header.uncompressed_page_size
        if body is None or plain is None:
            raise PageError(f"page at {start}: its header does not say how long it is")
        if body < 0 or not 0 <= plain <= self.largest:
            raise PageError(f"page at {start}: impossible sizes {body} and {plain}")
        if start + length + body > end:
            raise PageError(f"page at {start}: {body} bytes, expected to end by {end}")
        page = Page(header, start + length, body, plain, self._ordinal)
        self.position = page.start + page.size
        self._expected = (PageType.DATA_PAGE,)
        self._ordinal += header.type in DATA_PAGES
        return page

    def plain_header(self, page: Page) -> bytes | memoryview:
        """The header of the page that was read last, without encryption."""
        size = page.start - self.header_start
        return self._modules.plain_header(self._ahead.read(self.header_start, size)[:size], page)

    def whole(self, page: Page) -> tuple[bytes | memoryview, memoryview]:
        """Header and body of the page that was read last, as they would be in a file that is not encrypted. Raises as
        `body`."""
        header = self.plain_header(page)
        body = self.body(page)
        if len(body) != page.size:
            length = compact.TYPE_I32, compact.zigzag(len(body))
            header = compact.splice(bytes(header), 0, {_COMPRESSED_PAGE_SIZE: length, _CRC: None})
        return header, body

    def body(self, page: Page) -> memoryview:
        """The body as its writer compressed it, with a valid checksum if it has one. Raises PageError for
        another, unless that is to be ignored, UnsupportedError if it does not fit the memory budget."""
        check_fits(f"page at {page.start}: its body takes", self.held + page.size)
        stored = self._ahead.read(page.start, page.size)[: page.size]
        crc = page.header.crc
        if crc is not None and _kernel.crc32(stored) != crc & 0xFFFFFFFF:
            reason = self._reason_to_read()
            if reason is None:
                raise PageError(
                    f"page at {page.start}: checksum {_kernel.crc32(stored):08x},"
                    f" expected {crc & 0xFFFFFFFF:08x}; take another copy, or read it anyway with"
                    " --ignore-checksums of build, validate or repair"
                )
            self._footer.checksums.leave_unchecked(self._chunk.key, reason)
        return self._modules.page_body(stored, page)

    def _reason_to_read(self) -> str | None:
        """Why a page is read although its checksum is wrong; None if it is not."""
        if self._have_no_checksums:
            return NONE_COMPUTED
        return IGNORED if self._footer.checksums.are_ignored else None

    @cached_property
    def _have_no_checksums(self) -> bool:
        """Whether the headers of all pages say 0. Reads them."""
        reader = PageReader(self._source, self._footer, self._chunk)
        wanted = self._chunk.num_values or 0
        try:
            while reader.num_values < wanted:
                page = reader.next_page()
                if page.header.crc != 0:
                    return False
                if page.header.type in DATA_PAGES:
                    reader.num_values += page.header.num_values or 0
        except PageError:
            return False
        return True
