"""Insert whole pages in the encodings that nearly all have, without the interpreter between them.

The kernel walks the headers in a stretch of the file, checks each page, has it decompressed, decodes it
and inserts its values while they are in the near caches. At a page that is unusual in any way, or
damaged, it stops: the reader that goes on from there says what is wrong with it.

    stretch   | header | body | header | body | header | bo      the next stretch begins at this page

Threads that have no chunk of their own help: they take stretches in turn with the thread whose chunk it
is. What takes long, they do at the same time; a few hundred hashes, as soon as they have them, they insert
in turn into the one filter. The pages behind the first one at which any of them stopped are read again, so
that it does not matter who came to it.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import or_
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import Helper, memory, start_helper
from parquet_bloom.parquet.pages.codecs import LARGE_BYTES, PageBuffer, codec_of
from parquet_bloom.parquet.pages.page import PagePlace
from parquet_bloom.parquet.sealed.modules import PLAIN
from parquet_bloom.parquet.thrift.ttypes import Type

if TYPE_CHECKING:
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.pages.page_reader import PageReader

# Small pages are read together; large ones one by one.
STRETCH_BYTES: Final = 512 << 10

# A thread for less than this takes longer to start than it saves.
HELPED_BYTES: Final = 1 << 20


class _Stretch(NamedTuple):
    """Whole pages from `place` on; `room`: what the largest is decompressed into; `wanted`: the values
    that are left in the chunk."""

    place: PagePlace
    data: memoryview
    room: int
    wanted: int


class _Stop(NamedTuple):
    """A page that a thread did not insert, and what was raised, if anything was."""

    place: PagePlace
    error: ParquetBloomError | OSError | MemoryError | None


class WholePages:
    """The pages that a reader comes to next, as far as they are usual."""

    def __init__(
        self, reader: PageReader, footer: Footer, chunk: ColumnChunk, buffer: PageBuffer
    ) -> None:
        leaf = chunk.leaf
        column = (
            Type._NAMES_TO_VALUES[leaf.type.physical],
            leaf.type.width or 0,
            leaf.type.is_float,
            leaf.max_repetition_level,
            leaf.max_definition_level,
        )
        self._new_pages = partial(
            _kernel.WholePages,
            column,
            reader.largest,
            footer.compresses_always,
            codec_of(chunk.codec),
        )
        self._pages = self._new_pages()
        self._reader = reader
        self._buffer = buffer
        self._num_values = chunk.num_values or 0
        # What the whole pages took that were read together last: the next ones take about as much, and
        # what is read of one that does not end there is read again.
        self._stretch_bytes = STRETCH_BYTES
        # Whether it is worth to try.
        self.is_open = True
        # HAS_ZERO | HAS_NAN of what each stretch had, if these are floating point numbers.
        self._specials: set[int] = set()
        # Of one call of insert_into: what its threads share.
        self._taking = Lock()
        self._is_over = False
        self._stops: list[_Stop] = []
        # Where stretches began, and how many values each had.
        self._inserted: list[tuple[PagePlace, int]] = []
        self._turns = _kernel.Turns()

    @staticmethod
    def are_in(chunk: ColumnChunk) -> bool:
        """Whether there can be any."""
        has_form = chunk.leaf.type.physical == "BYTE_ARRAY" or (chunk.leaf.type.width or 0) > 0
        return has_form and chunk.modules is PLAIN

    @property
    def float_specials(self) -> int:
        """HAS_ZERO | HAS_NAN of all that have been inserted, if they are floating point numbers."""
        return reduce(or_, self._specials, 0)

    def insert_into(self, filter: SplitBlockBloomFilter) -> int:
        """Insert their values and move the reader behind them; returns the number of values. Raises what
        reading raises."""
        self._is_over = False
        self._stops, self._inserted = [], []
        first = self._reader.place
        helpers: list[Helper] = []
        try:
            while (stretch := self._taken(self._pages, self._buffer)) is not None:
                if helper := self._helper(filter, len(helpers)):
                    helpers.append(helper)
                self._insert(stretch, self._pages, self._buffer, filter)
                # So that the same memory can be had again.
                del stretch
            self._is_over = True
            for helper in helpers:
                helper.join()
        finally:
            self._is_over = True
            for helper in helpers:
                helper.end()
        inserted = self._settled()
        self.is_open = self._reader.place.position > first.position
        return inserted

    def _settled(self) -> int:
        """Go back to the first page that is still to be read, or raise its error. Returns how many values
        were inserted before."""
        if not self._stops:
            return sum(count for _, count in self._inserted)
        place, error = min(self._stops, key=lambda stop: stop.place.position)
        self._reader.place = place
        if error is not None:
            raise error
        return sum(count for start, count in self._inserted if start.position < place.position)

    def _helper(self, filter: SplitBlockBloomFilter, num_helpers: int) -> Helper | None:
        """Another thread, if that pays off and one is free."""
        left = self._reader.likely_left
        if left < HELPED_BYTES * (1 + num_helpers):
            return None
        # A stretch and a page, if they are as large as they can be.
        return start_helper(partial(self._help, filter), 2 * min(left, LARGE_BYTES))

    def _help(self, filter: SplitBlockBloomFilter) -> None:
        pages, buffer = self._new_pages(), PageBuffer()
        while (stretch := self._taken(pages, buffer)) is not None:
            self._insert(stretch, pages, buffer, filter)
            del stretch

    def _insert(
        self,
        stretch: _Stretch,
        pages: _kernel.WholePages,
        buffer: PageBuffer,
        filter: SplitBlockBloomFilter,
    ) -> None:
        try:
            room = buffer.all(stretch.room)
            filter.insert_whole_pages(pages, stretch.data, room, stretch.wanted, self._turns)
        except MemoryError as error:
            self._stop(_Stop(stretch.place, error))
            return
        self._inserted.append((stretch.place, pages.inserted))
        self._specials.add(pages.specials)
        if pages.num_bytes < len(stretch.data):
            self._stop(_Stop(stretch.place.behind(pages), None))

    def _stop(self, stop: _Stop) -> None:
        self._stops.append(stop)
        self._is_over = True

    def _taken(self, pages: _kernel.WholePages, buffer: PageBuffer) -> _Stretch | None:
        """The next stretch, which the reader passes; None at the end."""
        with self._taking:
            if self._is_over:
                return None
            try:
                stretch = self._next(pages, len(buffer.all()))
            except (ParquetBloomError, OSError, MemoryError) as error:
                self._stop(_Stop(self._reader.place, error))
                return None
            if stretch is None:
                self._is_over = True
            return stretch

    def _next(self, pages: _kernel.WholePages, room: int) -> _Stretch | None:
        reader, size = self._reader, 1
        # What lies behind the last value may be another request to an object store.
        while (left := self._num_values - reader.num_values) > 0:
            data = reader.stretch(size)
            needed = pages.find(data, left, LARGE_BYTES - 1)
            if pages.num_pages:
                if reader.held + size + max(room, pages.room) > memory():
                    return None
                if size > 1:
                    self._stretch_bytes = min(pages.num_bytes, STRETCH_BYTES)
                place = reader.place
                reader.place = place.behind(pages)
                return _Stretch(place, data[: pages.num_bytes], pages.room, left)
            if not 0 < needed <= min(reader.left, LARGE_BYTES):
                return None
            size = max(needed, min(self._stretch_bytes, reader.likely_left))
        return None
