"""Pages of a file as a Parquet file in memory: what pyarrow decodes it as is what it would read in the file itself,
whatever the type, the codec and the encodings.

    | PAR1 | dictionary page | data pages | … of the next leaf column | … of the next row group
    | FileMetaData | its length (4) | PAR1 |

Pages, SchemaElements and ColumnMetaData are those of the file. Only counts and offsets are new, and statistics,
filters and indexes are left out. Pages of encrypted columns are decrypted, and those in ALP, which pyarrow 26 does
not know, are made PLAIN.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from parquet_bloom.errors import PageError, UnsupportedError
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.top_fields import TopField
from parquet_bloom.parquet.pages.page_places import PagePlaces, placed_pages, read_dictionary
from parquet_bloom.parquet.pages.page_reader import PageReader
from parquet_bloom.parquet.pages.pages import (
    all_pages,
    as_plain,
    check_readable,
    located,
    num_rows_of,
)
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.footer.layout import Range
    from parquet_bloom.parquet.open_file import OpenFile
    from parquet_bloom.parquet.pages.page import Page

_MAGIC: Final = b"PAR1"
_ARROW_SCHEMA: Final = "ARROW:schema"
_NUM_CHILDREN: Final = 5

# In a ColumnMetaData: num_values, total_compressed_size, data_page_offset, dictionary_page_offset, and what is about
# all pages of the chunk: key_value_metadata, index_page_offset, statistics, encoding_stats, a filter's place, sizes.
_NUM_VALUES, _SIZE, _DATA, _DICTIONARY = 5, 7, 9, 11
_LEFT_OUT: Final = dict.fromkeys((8, 10, 12, 13, 14, 15, 16, 17))


# Chunks of at most so many bytes are read at once, if a larger share of pages is wanted than this, of which most
# writers make none with more bytes, or more rows.
_CHUNK_AT_ONCE: Final = 4 << 20
_PAGE_BYTES, _PAGE_ROWS = 1 << 20, 20_000
_MOST: Final = 0.75

# What pyarrow takes at most, as measured: for each byte of a page without compression, and for each value.
_ROOM, _ROOM_OF_TEXT = (2, 10), (6, 24)


class CutPages(NamedTuple):
    """Pages of a chunk: the header and body of each, the dictionary page first; `num_values`: in the data pages, of
    which there are `num_pages`; `covered`: the rows in them, in ranges;
    `room`: what it takes at most to decode them."""

    chunk: ColumnChunk
    data: Sequence[bytes | memoryview]
    dictionary_size: int
    num_values: int
    num_pages: int
    covered: tuple[Range, ...]
    room: int

    @property
    def tells_rows(self) -> bool:
        """Whether each value that the pages count is a row."""
        return self.chunk.leaf.max_repetition_level == 0


class CutGroup(NamedTuple):
    """Pages that cover the same rows of a row group, and how many rows: `columns`: of each field,
    those of each leaf."""

    num_rows: int
    columns: Sequence[Sequence[CutPages]]


class _Cutting:
    """Collects pages of a chunk, as far as they fit the memory budget."""

    def __init__(self, file: OpenFile, chunk: ColumnChunk) -> None:
        check_readable(file.footer, chunk)
        self._footer = file.footer
        self.reader = PageReader(file.source, file.footer, chunk)
        self._chunk = chunk
        self._dictionary: Sequence[bytes | memoryview] = ()
        self._data: list[bytes | memoryview] = []
        self._num_values = self._room = 0

    def read_at_once(self) -> None:
        """All pages, unless these are many."""
        if self.reader.likely_left <= _CHUNK_AT_ONCE:
            self.reader.stretch(self.reader.likely_left)

    def take_dictionary(self, page: Page) -> None:
        self._check_fits(page, page.plain_size)
        self._dictionary = self.reader.whole(page)

    def take(self, page: Page) -> None:
        if page.header.encoding == Encoding.ALP:
            header, body = as_plain(self.reader, self._footer, page, self._chunk)
            self._check_fits(page, len(body))
            self._data += header, body
        else:
            self._check_fits(page, page.plain_size)
            self._data += self.reader.whole(page)
        self._num_values += page.header.num_values or 0

    def _check_fits(self, page: Page, plain_size: int) -> None:
        is_text = self._chunk.leaf.physical_type == "BYTE_ARRAY"
        of_byte, of_value = _ROOM_OF_TEXT if is_text else _ROOM
        values = max(0, page.header.num_values or 0)
        self._room += page.size + of_byte * plain_size + of_value * values
        check_fits("to decode its pages takes", self._room)

    def pages(self, covered: Iterable[Range]) -> CutPages:
        return CutPages(
            self._chunk,
            (*self._dictionary, *self._data),
            sum(map(len, self._dictionary)),
            self._num_values,
            len(self._data) // 2,
            _joined(covered),
            self._room,
        )


def _joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Ascending ranges, neighbours in one."""
    found: list[Range] = []
    for first, behind in ranges:
        if found and found[-1][1] == first:
            first, _ = found.pop()
        found.append((first, behind))
    return tuple(found)


def cut_pages(
    file: OpenFile, chunk: ColumnChunk, places: PagePlaces, pages: Sequence[int]
) -> CutPages:
    """Single pages of a chunk. Raises PageError for damage, also if the pages are not those of `places`,
    UnsupportedError, OSError."""
    with located(file.footer, chunk):
        cutting = _Cutting(file, chunk)
        reader = cutting.reader
        if places.dictionary_size:
            cutting.take_dictionary(read_dictionary(reader, places))
        for page in placed_pages(reader, places, pages):
            cutting.take(page)
            if num_rows_of(reader, file.footer, page, chunk) != places.num_rows(page.ordinal):
                raise PageError(f"page at {page.start}: other rows than its OffsetIndex says")
        return cutting.pages(places.rows_of(pages))


def cut_rows(file: OpenFile, chunk: ColumnChunk, rows: Sequence[int]) -> CutPages:
    """The pages of a chunk that hold any of these rows, ascending, by the headers of all. Not of lists, whose headers
    do not tell. Raises as cut_pages."""
    with located(file.footer, chunk):
        cutting = _Cutting(file, chunk)
        if _are_most(rows, chunk, file.footer.row_group_num_rows(chunk.row_group)):
            cutting.read_at_once()
        covered: list[Range] = []
        first = 0
        for page in all_pages(cutting.reader, file.footer, chunk):
            if page.header.type == PageType.DICTIONARY_PAGE:
                cutting.take_dictionary(page)
                continue
            behind = first + (page.header.num_values or 0)
            wanted = bisect_left(rows, first)
            if wanted < len(rows) and rows[wanted] < behind:
                cutting.take(page)
                covered.append((first, behind))
            first = behind
        return cutting.pages(covered)


def _are_most(rows: Sequence[int], chunk: ColumnChunk, num_rows: int) -> bool:
    """Whether most pages hold some of these rows, if all are as large as writers make them."""
    likely = max((chunk.total_uncompressed_size or 0) // _PAGE_BYTES, num_rows // _PAGE_ROWS)
    if likely <= 1 or len(rows) == num_rows:
        return True
    pages = np.asarray(rows) * likely // max(1, num_rows)
    return bool(1 + np.count_nonzero(np.diff(pages)) > _MOST * likely)


def cut_whole(file: OpenFile, chunk: ColumnChunk) -> CutPages:
    """All pages of a chunk. Raises as cut_pages."""
    with located(file.footer, chunk):
        cutting = _Cutting(file, chunk)
        cutting.read_at_once()
        for page in all_pages(cutting.reader, file.footer, chunk):
            if page.header.type == PageType.DICTIONARY_PAGE:
                cutting.take_dictionary(page)
            else:
                cutting.take(page)
        return cutting.pages([(0, file.footer.row_group_num_rows(chunk.row_group))])


def decoded(
    footer: Footer,
    fields: Sequence[TopField],
    groups: Sequence[CutGroup],
    rows: NDArray[np.int64],
) -> pa.Table:
    """Some of the rows of fields in row groups, one behind the other. Raises PageError for what pyarrow cannot read,
    UnsupportedError."""
    data: list[bytes | memoryview] = [_MAGIC]
    at, stored = len(_MAGIC), []
    for group in groups:
        start, chunks = at, []
        for cut in (cut for cuts in group.columns for cut in cuts):
            size = sum(map(len, cut.data))
            meta_data = compact.TYPE_STRUCT, _meta_data(footer, cut, at, size)
            chunks.append(_struct({2: _i64(0), 3: meta_data}))
            data += cut.data
            at += size
        fields_of = {1: compact.list_of(chunks), 2: _i64(at - start), 3: _i64(group.num_rows)}
        stored.append(_struct(fields_of))
    num_rows = sum(group.num_rows for group in groups)
    foot = _foot(footer, fields, num_rows, stored)
    data += [foot, len(foot).to_bytes(4, "little"), _MAGIC]
    table = _read(b"".join(data))
    if table.num_rows != num_rows:
        raise PageError(f"pages hold {table.num_rows} rows, expected {num_rows}")
    found = _taken(table, rows)
    for column in found.columns:
        _check_indices(column)
    return found


def _taken(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Rows by their numbers, which ascend."""
    if rows.size == table.num_rows:
        return table
    try:
        return table.take(rows)
    except pa.ArrowNotImplementedError:
        # Of few types nothing can be taken, but all have slices.
        parts = [table.slice(row, 1) for row in rows.tolist()]
        return pa.concat_tables([table.slice(0, 0), *parts])


def _check_indices(column: pa.ChunkedArray) -> None:
    """Raise PageError for an index beyond its dictionary, at which pyarrow looks only when somebody asks for the
    value."""
    for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
        ends = pc.min_max(chunk.indices)
        for index in (ends["min"].as_py(), ends["max"].as_py()):
            if index is not None and not 0 <= index < len(chunk.dictionary):
                most = f"expected less than {len(chunk.dictionary)}"
                raise PageError(f"index {index} of the dictionary's entries, {most}")


def _read(data: bytes) -> pa.Table:
    try:
        # Not read_table, which imports what it needs for folders of files.
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            if not file.num_row_groups:
                # Which pyarrow before 19 refuses to read.
                # Of some types, such as structs of UUIDs, pyarrow makes no empty arrays.
                return pa.Table.from_batches([], file.schema_arrow)
            # Another thread may let go of the bytes when Python is about to end already, which aborts the process.
            return file.read(use_threads=False)
    except UnicodeDecodeError as error:
        raise PageError(f"pyarrow: name of a field: {_line(error)}") from None
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, pa.ArrowNotImplementedError):
            raise UnsupportedError(f"pyarrow: {_line(error)}") from None
        raise PageError(f"pyarrow: {_line(error)}") from None


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _meta_data(footer: Footer, cut: CutPages, at: int, size: int) -> bytes:
    """The ColumnMetaData of pages that take `size` bytes from `at`."""
    text, start = footer.meta_data(cut.chunk)
    return compact.splice(
        text,
        start,
        {
            **_LEFT_OUT,
            _NUM_VALUES: _i64(cut.num_values),
            _SIZE: _i64(size),
            _DATA: _i64(at + cut.dictionary_size),
            _DICTIONARY: _i64(at) if cut.dictionary_size else None,
        },
    )


def _foot(
    footer: Footer, fields: Sequence[TopField], num_rows: int, groups: Sequence[bytes]
) -> bytes:
    """A FileMetaData."""
    number = compact.TYPE_I32, compact.zigzag(len(fields))
    root = compact.splice(footer.top_fields.root, 0, {_NUM_CHILDREN: number})
    elements = [root, *(element for field in fields for element in field.elements)]
    stored = {
        1: (compact.TYPE_I32, compact.zigzag(2)),
        2: compact.list_of(elements),
        3: _i64(num_rows),
    }
    stored[4] = compact.list_of(groups)
    arrow = _arrow_schema(footer)
    if arrow is not None:
        chosen = pa.schema([arrow.field(field.number) for field in fields])
        value = b64encode(chosen.serialize())
        stored[5] = compact.list_of(
            [_struct({1: compact.binary(_ARROW_SCHEMA.encode()), 2: compact.binary(value)})]
        )
    # Readers know defects of writers by it.
    stored[6] = compact.binary(footer.created_by.encode())
    return _struct(stored)


def _arrow_schema(footer: Footer) -> pa.Schema | None:
    """What Arrow's writer said of the fields; None if the file is another's, or it said it of other ones."""
    text = footer.value_of(_ARROW_SCHEMA)
    found = None if text is None else _arrow_schema_of(text)
    names = [field.name for field in footer.top_fields.fields]
    return found if found is not None and found.names == names else None


_latest: tuple[str, pa.Schema | None] = ("", None)


def _arrow_schema_of(text: str) -> pa.Schema | None:
    """The files of a folder mostly have the same."""
    global _latest
    latest = _latest
    if latest[0] != text:
        latest = _latest = text, _parsed(text)
    return latest[1]


def _parsed(text: str) -> pa.Schema | None:
    try:
        found = pa.ipc.read_schema(pa.py_buffer(b64decode(text)))
        # Names that are no text are noticed when they are asked for.
        return found if found.names else None
    except (ValueError, OSError, pa.ArrowException):
        return None


def _i64(number: int) -> tuple[int, bytes]:
    return compact.TYPE_I64, compact.zigzag(number)


def _struct(fields: dict[int, tuple[int, bytes]]) -> bytes:
    return compact.spliced(b"", (), fields)
