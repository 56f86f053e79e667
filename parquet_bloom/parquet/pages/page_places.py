"""Where the data pages of a chunk are and which row each begins with, as its OffsetIndex says, so that single pages
can be read.

    dictionary page | data page 0 | data page 1 | … | data page n - 1
                    ^ offsets[0]  ^ offsets[1]                       ^ offsets[n]: the end of the chunk

An index is only gone by if its pages lie side by side from one end of the chunk to the other, as every writer puts
them: then no page can be missing in it, or have the number of another.

Spec: parquet-format, PageIndex.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, PageError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES
from parquet_bloom.parquet.pages.page import Page, PagePlace
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES, PageReader
from parquet_bloom.parquet.sealed.modules import PlainModules
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import PageType

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.layout import Range
    from parquet_bloom.parquet.open_file import OpenFile


@dataclass(frozen=True, slots=True)
class PagePlaces:
    """Of n data pages, `offsets` and `first_rows` have n + 1 numbers: the last ones are where the chunk ends, and how
    many rows it has. `start`: of the dictionary page, where there is one."""

    start: int
    offsets: Sequence[int]
    first_rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def dictionary_size(self) -> int:
        """The bytes before the data pages; 0 if there is no dictionary page."""
        return self.offsets[0] - self.start

    def num_rows(self, page: int) -> int:
        return self.first_rows[page + 1] - self.first_rows[page]

    def pages_of(self, rows: Iterable[int]) -> list[int]:
        """The numbers of the pages that hold any of these rows, ascending."""
        # The last page that begins with a row: those before it that do so, too, are empty.
        return sorted({bisect_right(self.first_rows, row, hi=len(self)) - 1 for row in rows})

    def rows_of(self, pages: Iterable[int]) -> Iterator[Range]:
        """The rows in pages."""
        return ((self.first_rows[page], self.first_rows[page + 1]) for page in pages)

    def ranges(self, pages: Iterable[int]) -> Iterator[Range]:
        """The bytes of the dictionary and of some pages, neighbours in one."""
        if self.dictionary_size:
            yield self.start, self.offsets[0]
        for first, behind in runs(pages):
            yield self.offsets[first], self.offsets[behind]


def runs(numbers: Iterable[int]) -> list[Range]:
    """Ascending numbers as ranges [first, behind) of neighbours."""
    found: list[Range] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = found[-1][0], number + 1
        else:
            found.append((number, number + 1))
    return found


def index_range(file: OpenFile, chunk: ColumnChunk, kind: str = "offset_index") -> Range:
    """The bytes of a chunk's OffsetIndex, or of its `column_index`; empty if it has none that we read. Those of
    encrypted columns are not."""
    if not isinstance(chunk.modules, PlainModules):
        return 0, 0
    one, footer = file.footer.chunks_of([chunk.leaf]).one, file.footer
    offset, size = (one(name, *chunk.key) for name in (f"{kind}_offset", f"{kind}_length"))
    if not MAGIC_BYTES <= offset < footer.start or not 0 < size <= footer.start - offset:
        return 0, 0
    return offset, offset + size


def will_read_places(file: OpenFile, chunks: Iterable[ColumnChunk]) -> None:
    """Read the OffsetIndexes of these chunks now, if the file is remote: they lie side by side. Raises OSError."""
    if not file.source.is_remote:
        return
    new = [chunk for chunk in chunks if chunk.key not in file.page_places]
    file.source.will_read(index_range(file, chunk) for chunk in new)
    for chunk in new:
        page_places(file, chunk)


def page_places(file: OpenFile, chunk: ColumnChunk) -> PagePlaces | None:
    """The places of a chunk's pages; None if nothing says them, or not so that one can go by it. Raises OSError."""
    if chunk.key not in file.page_places:
        file.page_places[chunk.key] = _read_places(file, chunk)
    found: PagePlaces | None = file.page_places[chunk.key]
    return found


def _read_places(file: OpenFile, chunk: ColumnChunk) -> PagePlaces | None:
    start, end = index_range(file, chunk)
    if start == end or chunk.pages_start is None:
        return None
    try:
        data = file.source.read_at(start, end - start)
        found = compact.decode(ttypes.OffsetIndex, data)[0].page_locations or []
        offsets = [each.offset for each in found]
        ends = [each.offset + each.compressed_page_size for each in found]
        first_rows = [each.first_row_index for each in found]
        first_rows.append(file.footer.row_group_num_rows(chunk.row_group))
        offsets.append(chunk.pages_start + (chunk.total_compressed_size or 0))
        ascend = all(first <= second for first, second in pairwise(first_rows))
    except (FormatError, TypeError, _kernel.ScanError):
        # What is missing in a struct is None.
        return None
    if not found or offsets[1:] != ends or first_rows[0] != 0 or not ascend:
        return None
    if not chunk.pages_start <= offsets[0] < offsets[-1] <= file.footer.start:
        return None
    return PagePlaces(chunk.pages_start, offsets, first_rows)


def read_dictionary(reader: PageReader, places: PagePlaces) -> Page:
    """The dictionary page. Raises PageError if there is something else."""
    reader.go_to(PagePlace(places.start, 0, 0), places.dictionary_size, is_dictionary=True)
    page = reader.next_page()
    if page.header.type != PageType.DICTIONARY_PAGE:
        raise PageError(f"page at {page.start}: expected a dictionary page")
    return page


def placed_pages(reader: PageReader, places: PagePlaces, pages: Sequence[int]) -> Iterator[Page]:
    """Single data pages, neighbours of which are read at once. Raises PageError if there is something else."""
    for first, behind in runs(pages):
        start, end = places.offsets[first], places.offsets[behind]
        reader.go_to(PagePlace(start, 0, first), end - start)
        for number in range(first, behind):
            if reader.position != places.offsets[number]:
                raise PageError(f"page at {reader.position}: expected at {places.offsets[number]}")
            page = reader.next_page()
            if page.header.type not in DATA_PAGES:
                raise PageError(f"page at {page.start}: expected a data page")
            yield page
        if reader.position != end:
            raise PageError(f"page ends at {reader.position}, expected {end}")
