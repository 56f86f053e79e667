"""Read the values of one column chunk, page by page, as the bytes that are hashed.

    | dictionary page | data page | data page | ...
    page      | PageHeader (Thrift) | body: compressed_page_size bytes |
    v1 body   compressed( repetition levels | definition levels | values )
    v2 body   repetition levels | definition levels | compressed( values )

A filter needs the set of values, not the rows. A dictionary-encoded data page adds nothing to the
dictionary page, so its body is not read, unless the dictionary may have entries that no row refers to: writers of
Arrow repeat that of a whole categorical column in each row group. Other pages hold only non-null values, so nesting
needs no special case: of the levels, it is only counted how many values they promise, which takes a few operations
for each of their runs. One page is in memory at a time.

Levels and the indices of a dictionary are a hybrid of RLE and bit-packing:

    run of one value   varint: length << 1        the value, in whole bytes
    bit-packed         varint: groups << 1 | 1    8 values per group, the lowest bit first

Spec: parquet-format, README.md "Data Pages", Encodings.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    FormatError,
    PageError,
    ParquetBloomError,
    UnreadableError,
    UnsupportedError,
)
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import check_fits, memory, num_processors
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.codecs import ChunkBuffers, check_supported, decompress
from parquet_bloom.parquet.pages.encodings import (
    alp_runs,
    check_encoding,
    check_page_types,
    decoded_runs,
    plain_run,
)
from parquet_bloom.parquet.pages.page import Page
from parquet_bloom.parquet.pages.page_places import PagePlaces, placed_pages, read_dictionary
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES, PageReader
from parquet_bloom.parquet.pages.runs import Run, checked
from parquet_bloom.parquet.pages.whole_pages import STRETCH_BYTES, WholePages
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType, Type

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.storage.source import Source

_NOTHING: Final = memoryview(b"")


@dataclass(frozen=True, slots=True)
class Levels:
    """`count` levels of 0 to `highest`; without any data if that is 0. `bit_packed`: in the encoding
    of that name, the highest bit first, which only old files have."""

    count: int
    highest: int = 0
    data: memoryview = _NOTHING
    bit_packed: bool = False

    def num_highest(self) -> int:
        """How many are the highest one: of definition levels, the number of stored values."""
        return self._num_of(self.highest)

    def num_lowest(self) -> int:
        """How many are 0: of repetition levels, the number of rows that begin."""
        return self._num_of(0)

    def _num_of(self, level: int) -> int:
        if self.highest == 0:
            return self.count
        count = _kernel.count_bit_packed_levels if self.bit_packed else _kernel.count_levels
        return checked(count, self.data, self.highest.bit_length(), self.count, level)

    def decoded(self) -> NDArray[np.uint32]:
        """All of them, shape (count,). Raises PageError for damage."""
        if self.highest == 0:
            return np.zeros(self.count, np.uint32)
        width = self.highest.bit_length()
        if not self.bit_packed:
            return checked(_kernel.decode_hybrid, self.data, width, self.count)
        bits = np.unpackbits(np.frombuffer(self.data, np.uint8))[: self.count * width]
        return _numbers(bits.reshape(-1, width)[:, ::-1])


def _numbers(bits: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The number in each row of `bits`, the lowest bit first."""
    numbers = np.zeros(len(bits), np.uint32)
    for place in range(bits.shape[1]):
        numbers |= bits[:, place].astype(np.uint32) << np.uint32(place)
    return numbers


DICTIONARY_ENCODINGS = (Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY)

# To tell the row of each value: levels, rows and indices of the dictionary.
_ROW_BYTES = 24
# The same for its index in a dictionary.
_INDEX_BYTES = 8

# Of chunks with less, it does not matter how large their pages are.
_FEW_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class ChunkRun:
    """Values of one page: the data page with this number, counted from 0 in the chunk, or the
    dictionary page (None), which holds each value once. `dictionary`: all its entries, if some are left out as no row
    refers to them, else None."""

    page: int | None
    run: Run
    dictionary: Run | None = None

    @property
    def is_dictionary(self) -> bool:
        return self.page is None


@contextmanager
def located(footer: Footer, chunk: ColumnChunk) -> Iterator[None]:
    """Make errors name this chunk."""
    try:
        yield
    except ParquetBloomError as error:
        raise type(error)(f"{footer.where}: {chunk.where}: {error}") from None


def check_readable(footer: Footer, chunk: ColumnChunk) -> None:
    """Check that the footer's description of the chunk's pages is complete and possible.

    Raises FormatError if it is not, UnsupportedError for what this version cannot read,
    MissingKeyError for an encrypted chunk without a key.
    """
    chunk.modules.check_readable()
    if chunk.has_file_path:
        raise UnsupportedError("the column chunk is in another file")
    if chunk.meta_start is None:
        raise FormatError("no ColumnMetaData")
    if chunk.codec is None or chunk.num_values is None or chunk.pages_start is None:
        raise FormatError("ColumnMetaData lacks codec, num_values or data_page_offset")
    stored_type = Type._VALUES_TO_NAMES.get(chunk.type)
    if stored_type != chunk.leaf.type.physical:
        number = "no type" if chunk.type is None else f"type {chunk.type}, which there is not"
        raise FormatError(
            f"ColumnMetaData says {stored_type or number}, the schema {chunk.leaf.type.physical}"
        )
    num_rows = footer.row_group_num_rows(chunk.row_group)
    # A column that is not repeated has one value or null per row.
    is_flat = chunk.leaf.max_repetition_level == 0
    if chunk.num_values < 0 or (is_flat and chunk.num_values != num_rows):
        raise FormatError(f"num_values is {chunk.num_values}, expected {num_rows}")
    if chunk.num_values > 0 and not 4 <= chunk.pages_start < footer.start:
        raise FormatError(f"pages at {chunk.pages_start}, expected 4 to {footer.start - 1}")
    check_supported(chunk.codec)


def chunk_runs(
    source: Source,
    footer: Footer,
    chunk: ColumnChunk,
    buffers: ChunkBuffers | None = None,
    *,
    only_used: bool = False,
) -> Iterator[ChunkRun]:
    """Every non-null value of the chunk, at least once, in runs.

    `only_used`: without entries of its dictionary that no row refers to, where some are to be expected. Otherwise the
    dictionary is whole, as writers insert it.

    `buffers`: pages are decompressed into these, so that runs are gone once the next one is asked for,
    but the dictionary's lasts until the next chunk is read. Without them, runs stay as they are.

    Raises PageError for damage, UnsupportedError for unsupported codecs and encodings. A run may
    also raise PageError when its values are used (see `located`).
    """
    used_of = partial(_used_part, source, footer, chunk) if only_used else None
    reader = PageReader(source, footer, chunk, buffers)
    for _, runs in _runs_by_page(reader, footer, chunk, used_of):
        yield from runs


def runs_to_insert(
    source: Source,
    footer: Footer,
    chunk: ColumnChunk,
    buffers: ChunkBuffers,
    *,
    only_used: bool = False,
) -> Iterator[ChunkRun | WholePages]:
    """The same, all to be inserted into one filter: pages that follow one come together. Each part is to
    be inserted before the next one is asked for."""
    used_of = partial(_used_part, source, footer, chunk) if only_used else None
    reader = PageReader(source, footer, chunk, buffers)
    following = (
        WholePages(reader, footer, chunk, buffers.page) if WholePages.are_in(chunk) else None
    )
    for encoding, runs in _runs_by_page(reader, footer, chunk, used_of):
        yield from runs
        if following is not None and following.is_open and encoding not in DICTIONARY_ENCODINGS:
            yield following


def _runs_by_page(
    reader: PageReader,
    footer: Footer,
    chunk: ColumnChunk,
    used_of: Callable[[Page, ChunkRun], ChunkRun] | None,
) -> Iterator[tuple[int, Iterable[ChunkRun]]]:
    """The encoding of each page that has values, PLAIN_DICTIONARY for a dictionary, and these values; of those of a
    dictionary what `used_of` leaves."""
    has_dictionary = False
    for page in all_pages(reader, footer, chunk):
        if page.header.type == PageType.DICTIONARY_PAGE:
            has_dictionary = True
            part = ChunkRun(None, _dictionary_run(reader, page, chunk))
            yield Encoding.PLAIN_DICTIONARY, (part if used_of is None else used_of(page, part),)
            continue
        _, encoding = _num_values_and_encoding(page)
        if encoding not in DICTIONARY_ENCODINGS:
            section = _value_section(reader, footer, page, chunk)
            runs = _data_runs(section, page, chunk)
            yield encoding, (ChunkRun(page.ordinal, run) for run in runs)
        elif not has_dictionary:
            raise PageError("dictionary-encoded page without a dictionary page")


@dataclass(frozen=True, slots=True)
class PageRows:
    """Values of a data page, and the row of each, counted from the start of the row group: `run`, or
    entries of the dictionary by their `indices`."""

    page: int
    rows: NDArray[np.int64]
    run: Run
    indices: NDArray[np.uint32] | None = None


def page_rows(source: Source, footer: Footer, chunk: ColumnChunk) -> Iterator[PageRows]:
    """Every non-null value of the chunk with its row, in order; entries of a dictionary as often as
    rows refer to them. This decodes what chunk_runs skips. Raises as chunk_runs does."""
    rows = _RowsOfPages(PageReader(source, footer, chunk), footer, chunk)
    for page in all_pages(rows.reader, footer, chunk):
        if page.header.type == PageType.DICTIONARY_PAGE:
            rows.take_dictionary(page)
        else:
            yield from rows.of(page)


def rows_of_pages(
    source: Source, footer: Footer, chunk: ColumnChunk, places: PagePlaces, pages: Sequence[int]
) -> Iterator[PageRows]:
    """The same of single data pages. Raises PageError, too, if they are not those of `places`."""
    rows = _RowsOfPages(PageReader(source, footer, chunk), footer, chunk)
    if places.dictionary_size:
        rows.take_dictionary(read_dictionary(rows.reader, places))
    for page in placed_pages(rows.reader, places, pages):
        rows.num_rows = places.first_rows[page.ordinal]
        yield from rows.of(page)
        if rows.num_rows != places.first_rows[page.ordinal + 1]:
            raise PageError(f"page at {page.start}: other rows than its OffsetIndex says")


class PageValues(NamedTuple):
    """Values of a data page: `run`, or those entries of it, the dictionary, that have a 1 in `used`."""

    run: Run
    used: bytearray | None = None


@dataclass(frozen=True, slots=True)
class DecodedPage:
    """A page with its whole header, which begins at `start`; header and body take `size` bytes. Of a data page, the
    number of values, of those without nulls, and of rows that begin in it, and its values,
    to be used before the next page."""

    header: ttypes.PageHeader
    start: int
    size: int
    num_values: int = 0
    num_stored: int = 0
    num_rows: int = 0
    parts: Iterator[PageValues] = iter(())


def decoded_pages(source: Source, footer: Footer, chunk: ColumnChunk) -> Iterator[DecodedPage]:
    """All pages of a chunk. Raises as chunk_runs does."""
    reader = PageReader(source, footer, chunk)
    rows = _RowsOfPages(reader, footer, chunk)
    for page in all_pages(reader, footer, chunk):
        start, end = reader.header_start, reader.position
        header, _ = compact.decode(ttypes.PageHeader, reader.plain_header(page))
        if page.header.type == PageType.DICTIONARY_PAGE:
            rows.take_dictionary(page)
            yield DecodedPage(header, start, end - start)
            continue
        yield rows.decoded(page, header, start, end)


class _RowsOfPages:
    """Decodes pages of a chunk. `num_rows`: those before the next one."""

    def __init__(self, reader: PageReader, footer: Footer, chunk: ColumnChunk) -> None:
        self.reader, self._footer, self._chunk = reader, footer, chunk
        self._dictionary: Run | None = None
        self._num_entries = 0
        self.num_rows = 0

    def take_dictionary(self, page: Page) -> None:
        self._dictionary = _dictionary_run(self.reader, page, self._chunk)
        self._num_entries = len(self._dictionary)

    def of(self, page: Page) -> Iterator[PageRows]:
        section = self._section(page)
        rows, self.num_rows = section.rows(self.num_rows)
        dictionary = self._dictionary_of(page)
        if dictionary is None:
            for run in _data_runs(section, page, self._chunk):
                count = len(run)
                yield PageRows(page.ordinal, rows[:count], run)
                rows = rows[count:]
        elif rows.size:
            yield PageRows(page.ordinal, rows, dictionary, self._indices(page, section, rows.size))

    def decoded(self, page: Page, header: ttypes.PageHeader, start: int, end: int) -> DecodedPage:
        section = self._section(page)
        num_stored = section.definition.num_highest()
        return DecodedPage(
            header,
            start,
            end - start,
            num_values=section.definition.count,
            num_stored=num_stored,
            num_rows=section.repetition.num_lowest(),
            parts=self._distinct(page, section),
        )

    def _section(self, page: Page) -> _Section:
        return _value_section(self.reader, self._footer, page, self._chunk)

    def _distinct(self, page: Page, section: _Section) -> Iterator[PageValues]:
        """The values of a page, which are all, or some and then more. Of indices, there may be many for few entries:
        they are read without being held."""
        dictionary = self._dictionary_of(page)
        if dictionary is None:
            for run in _data_runs(section, page, self._chunk):
                yield PageValues(run)
        else:
            used = bytearray(self._num_entries)
            _mark_used(section, page, used)
            yield PageValues(dictionary, used)

    def _dictionary_of(self, page: Page) -> Run | None:
        """The one that a data page refers to; None if it has its values itself."""
        _, encoding = _num_values_and_encoding(page)
        if encoding not in DICTIONARY_ENCODINGS:
            return None
        if self._dictionary is None:
            raise PageError("dictionary-encoded page without a dictionary page")
        return self._dictionary

    def _indices(self, page: Page, section: _Section, count: int) -> NDArray[np.uint32]:
        check_fits(f"the dictionary indices of {count} values take", _INDEX_BYTES * count)
        indices = checked(_kernel.decode_hybrid, section.values[1:], section.values[0], count)
        if (highest := int(indices.max())) >= self._num_entries:
            raise PageError(
                f"page at {page.start}: dictionary index {highest}, expected less than {self._num_entries}"
            )
        return indices


def definition_levels(source: Source, footer: Footer, chunk: ColumnChunk) -> NDArray[np.uint32]:
    """Those of all values and nulls of a chunk, in order: shape (num_values,). Raises as chunk_runs does."""
    reader = PageReader(source, footer, chunk)
    check_fits(f"the levels of {chunk.num_values} values take", 4 * (chunk.num_values or 0))
    found = [
        _value_section(reader, footer, page, chunk).definition.decoded()
        for page in all_pages(reader, footer, chunk)
        if page.header.type != PageType.DICTIONARY_PAGE
    ]
    return np.concatenate([np.zeros(0, np.uint32), *found])


def num_rows_of(reader: PageReader, footer: Footer, page: Page, chunk: ColumnChunk) -> int:
    """How many rows begin in a data page, the last one that was read. Raises as chunk_runs does."""
    if chunk.leaf.max_repetition_level == 0:
        return _num_values_and_encoding(page)[0]
    _, num_rows = _value_section(reader, footer, page, chunk).rows(0)
    return num_rows


def as_plain(
    reader: PageReader, footer: Footer, page: Page, chunk: ColumnChunk
) -> tuple[bytes, bytes]:
    """Header and body of an ALP page, the last one that was read, as one of version 2 with PLAIN values that are not
    compressed. Raises as chunk_runs does."""
    section = _value_section(reader, footer, page, chunk)
    definition, repetition = section.definition, section.repetition
    if definition.bit_packed or repetition.bit_packed:
        raise UnsupportedError("levels in BIT_PACKED of ALP values")
    num_stored = definition.num_highest()
    check_fits(f"{num_stored} values take", 2 * num_stored * (chunk.leaf.type.width or 0))
    runs = checked(lambda: [*alp_runs(chunk.leaf.type, section.values, num_stored)])
    body = b"".join((repetition.data, definition.data, *(run.data for run in runs)))
    details = ttypes.DataPageHeaderV2(
        num_values=definition.count,
        num_nulls=definition.count - num_stored,
        num_rows=section.rows(0)[1],
        encoding=Encoding.PLAIN,
        definition_levels_byte_length=len(definition.data),
        repetition_levels_byte_length=len(repetition.data),
        is_compressed=False,
    )
    header = ttypes.PageHeader(
        PageType.DATA_PAGE_V2, len(body), len(body), data_page_header_v2=details
    )
    return compact.encode(header), body


def pages_end(source: Source, footer: Footer, chunk: ColumnChunk) -> int:
    """The end of the chunk's last page. Raises as chunk_runs does."""
    reader = PageReader(source, footer, chunk)
    for _ in all_pages(reader, footer, chunk):
        pass
    return reader.position


def pages_room(source: Source, footer: Footer, chunk: ColumnChunk) -> int:
    """The most memory that reading the chunk takes, in bytes: the dictionary, and the largest page as
    it is stored and decompressed. Headers are read only if what the footer says is much."""
    stored = min(max(0, chunk.total_compressed_size or 0), footer.start)
    most = max(_FEW_BYTES, chunk.total_uncompressed_size or 0) + stored
    if most <= memory() // (2 * num_processors()):
        return most
    dictionary = largest = 0
    reader = PageReader(source, footer, chunk)
    try:
        for page in all_pages(reader, footer, chunk):
            plain = page.plain_size
            if page.header.type == PageType.DICTIONARY_PAGE:
                dictionary = max(dictionary, plain)
            largest = max(largest, page.size + plain)
    except ParquetBloomError:
        # Whoever reads it says what is wrong; up to there, this is what it takes.
        pass
    return min(dictionary + largest + STRETCH_BYTES, memory())


def used_entries(source: Source, footer: Footer, chunk: ColumnChunk, num_entries: int) -> bytearray:
    """For each of the dictionary's `num_entries`: 1 if a data page refers to it, else 0. Raises as
    chunk_runs does."""
    reader = PageReader(source, footer, chunk)
    used = bytearray(num_entries)
    for page in all_pages(reader, footer, chunk):
        if page.header.type == PageType.DICTIONARY_PAGE:
            continue
        _, encoding = _num_values_and_encoding(page)
        if encoding in DICTIONARY_ENCODINGS:
            _mark_used(_value_section(reader, footer, page, chunk), page, used)
    return used


def _used_part(
    source: Source, footer: Footer, chunk: ColumnChunk, page: Page, dictionary: ChunkRun
) -> ChunkRun:
    """The entries that rows refer to, of a dictionary that may have others; of any other, all.
    Raises as chunk_runs."""
    num_entries, known = page.header.num_values or 0, chunk.known_non_null
    most = (chunk.num_values or 0) if known is None else known
    if num_entries <= most and chunk.leaf.path[0] not in footer.arrow_dictionaries:
        return dictionary
    run = dictionary.run
    used = np.frombuffer(used_entries(source, footer, chunk, len(run)), np.bool_)
    if used.all():
        return dictionary
    return ChunkRun(None, run.kept(used, chunk.leaf.type.width), dictionary=run)


def _mark_used(section: _Section, page: Page, used: bytearray) -> None:
    """| bit width (1) | indices in the RLE hybrid |"""
    num_non_null = section.definition.num_highest()
    if num_non_null == 0:
        return
    if not len(section.values):
        raise PageError(f"page at {page.start}: no dictionary indices")
    try:
        _kernel.mark_indices(section.values[1:], section.values[0], num_non_null, used)
    except ValueError as error:
        raise PageError(f"page at {page.start}: {error}") from None


def all_pages(reader: PageReader, footer: Footer, chunk: ColumnChunk) -> Iterator[Page]:
    """The dictionary page and the data pages, until they hold the footer's number of values.

    Pages of a type that nobody here knows are passed over: raises UnreadableError if the others have not
    all values."""
    check_readable(footer, chunk)
    unknown: list[int] = []
    try:
        for page in _pages(reader, chunk.num_values or 0):
            if page.header.type in (PageType.DICTIONARY_PAGE, *DATA_PAGES):
                yield page
            elif page.header.type not in (PageType.INDEX_PAGE, None):
                unknown.append(page.header.type)
            if unknown and reader.is_past_the_end:
                # What follows are values of another column.
                raise PageError(f"page at {page.start}: behind the chunk")
    except PageError:
        check_page_types(unknown)
        raise


def _pages(reader: PageReader, num_values: int) -> Iterator[Page]:
    """Pages until they hold so many values."""
    while reader.num_values < num_values:
        page = reader.next_page()
        if page.header.type in DATA_PAGES:
            count, _ = _num_values_and_encoding(page)
            reader.num_values += count
        yield page
    if reader.num_values != num_values:
        raise PageError(
            f"pages hold {number_of(reader.num_values, 'value')}, the footer says {num_values}"
        )
    if reader.num_values:
        reader.check_end()


def _num_values_and_encoding(page: Page) -> tuple[int, int]:
    """num_values and encoding in the header of a data page."""
    num_values, encoding = page.header.num_values, page.header.encoding
    if num_values is None or encoding is None:
        raise PageError(f"page at {page.start}: no num_values or encoding in its header")
    if num_values < 0:
        raise PageError(f"page at {page.start}: num_values is {num_values}")
    return num_values, encoding


def _dictionary_run(reader: PageReader, page: Page, chunk: ColumnChunk) -> Run:
    count, encoding = page.header.num_values, page.header.encoding
    if encoding is not None:
        check_encoding(encoding)
    if encoding not in (Encoding.PLAIN, Encoding.PLAIN_DICTIONARY):
        raise PageError(f"dictionary page at {page.start}: encoding is not PLAIN")
    if count is None or count < 0:
        raise PageError(f"dictionary page at {page.start}: num_values is {count}")
    body = reader.body(page)
    # No writer adds another dictionary, but if there is one, this one lasts as long.
    buffer, reader.dictionary_buffer = reader.dictionary_buffer, None
    values = decompress(chunk.codec, body, page.plain_size, buffer=buffer)
    reader.held += len(values)
    return plain_run(values, chunk.leaf.type, count, f"dictionary page at {page.start}")


def _data_runs(section: _Section, page: Page, chunk: ColumnChunk) -> Iterator[Run]:
    _, encoding = _num_values_and_encoding(page)
    count = section.definition.num_highest()
    if encoding == Encoding.PLAIN:
        yield plain_run(section.values, chunk.leaf.type, count, f"page at {page.start}")
    else:
        yield from decoded_runs(encoding, chunk.leaf.type, section.values, count)


@dataclass(frozen=True, slots=True)
class _Section:
    """The value section of a data page, and its levels."""

    values: memoryview
    definition: Levels
    repetition: Levels

    def rows(self, num_before: int) -> tuple[NDArray[np.int64], int]:
        """The row of each stored value, of which `num_before` began in earlier pages; and how many
        have begun by the end of this one."""
        count = self.definition.count
        check_fits(f"the rows of {count} values take", _ROW_BYTES * count)
        begins = self.repetition.decoded() == 0
        rows = num_before - 1 + np.cumsum(begins, dtype=np.int64)
        is_stored = self.definition.decoded() == self.definition.highest
        return rows[is_stored], num_before + int(begins.sum())


def _value_section(reader: PageReader, footer: Footer, page: Page, chunk: ColumnChunk) -> _Section:
    if page.header.type == PageType.DATA_PAGE:
        return _section_v1(reader, page, chunk)
    return _section_v2(reader, page, chunk, footer.compresses_always)


def _section_v1(reader: PageReader, page: Page, chunk: ColumnChunk) -> _Section:
    body = reader.body(page)
    header, leaf = page.header, chunk.leaf
    count, _ = _num_values_and_encoding(page)
    rest = decompress(chunk.codec, body, page.plain_size, reader.held, reader.page_buffer)
    repetition, rest = _split_levels(
        rest, header.repetition_level_encoding, leaf.max_repetition_level, count
    )
    definition, rest = _split_levels(
        rest, header.definition_level_encoding, leaf.max_definition_level, count
    )
    return _Section(rest, definition, repetition)


def _split_levels(
    data: memoryview, encoding: int | None, highest: int, count: int
) -> tuple[Levels, memoryview]:
    """The levels at the start of a v1 page, without their length prefix, and what follows."""
    if highest == 0:
        return Levels(count), data
    if encoding == Encoding.BIT_PACKED:
        start, end = 0, (count * highest.bit_length() + 7) // 8
    elif encoding == Encoding.RLE:
        start, end = 4, 4 + int.from_bytes(data[:4], "little")
    else:
        raise UnreadableError(f"levels in encoding {encoding} are not supported")
    if end > len(data):
        raise PageError(f"levels take {end} bytes of a page of {len(data)}")
    return Levels(count, highest, data[start:end], encoding == Encoding.BIT_PACKED), data[end:]


def _section_v2(
    reader: PageReader, page: Page, chunk: ColumnChunk, is_always_compressed: bool
) -> _Section:
    body = reader.body(page)
    header, leaf = page.header, chunk.leaf
    count, _ = _num_values_and_encoding(page)
    repetition = header.repetition_levels_byte_length or 0
    end = repetition + (header.definition_levels_byte_length or 0)
    if not 0 <= repetition <= end <= len(body):
        raise PageError(f"levels take {end} bytes of a page of {len(body)}")
    values = body[end:]
    size = page.plain_size - end
    if size < 0:
        raise PageError(f"levels take {end} bytes, the whole page {size + end}")
    is_compressed = is_always_compressed or header.is_compressed != 0
    if is_compressed and (size or len(values)):
        values = decompress(chunk.codec, values, size, reader.held, reader.page_buffer)
    return _Section(
        values,
        Levels(count, leaf.max_definition_level, body[repetition:end]),
        Levels(count, leaf.max_repetition_level, body[:repetition]),
    )
