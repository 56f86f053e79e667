"""What is known about the values of a column chunk before they are read."""

from __future__ import annotations

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.pages.page_reader import DATA_PAGES, PageReader
from parquet_bloom.parquet.pages.pages import DICTIONARY_ENCODINGS, all_pages, decoded_pages
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType
from parquet_bloom.storage.source import Source


def most_values(source: Source, footer: Footer, chunk: ColumnChunk) -> int | None:
    """How many values a filter of the chunk can have, nulls included; None if that cannot be read.

    Writers insert a dictionary's entries, even those that no row refers to.
    """
    try:
        first = next(all_pages(PageReader(source, footer, chunk), footer, chunk), None)
    except ParquetBloomError:
        return None
    num_values = max(0, chunk.num_values or 0)
    if first is None or first.header.type != PageType.DICTIONARY_PAGE:
        return num_values
    entries = max(0, first.header.num_values or 0)
    is_all = is_all_dictionary(footer, chunk)
    return max(num_values, entries) if is_all else num_values + entries


def dictionary_bytes(footer: Footer, chunk: ColumnChunk) -> int | None:
    """The size of the dictionary page; None if it does not hold all values."""
    dictionary, data = chunk.dictionary_page_offset or 0, chunk.data_page_offset or 0
    if not 0 < dictionary < data or not is_all_dictionary(footer, chunk):
        return None
    return data - dictionary


def is_all_dictionary(footer: Footer, chunk: ColumnChunk) -> bool:
    """Whether the footer says that every data page is dictionary-encoded."""
    meta_data = footer.column_meta_data(chunk)
    if meta_data.encoding_stats:
        data = [
            found.encoding
            for found in meta_data.encoding_stats
            if found.page_type in DATA_PAGES and found.count
        ]
        return bool(data) and all(encoding in DICTIONARY_ENCODINGS for encoding in data)
    # Before encoding_stats, PLAIN_DICTIONARY was the encoding of the dictionary and of the pages.
    others = set(meta_data.encodings or ()) - {Encoding.RLE, Encoding.BIT_PACKED}
    return others == {Encoding.PLAIN_DICTIONARY}


def is_known_to_be_null(source: Source, footer: Footer, chunk: ColumnChunk) -> bool:
    """Whether all is null in a chunk by what the footer says and, if they are few bytes, by its pages."""
    return chunk.seems_null and holds_only_nulls(source, footer, chunk)


def holds_only_nulls(source: Source, footer: Footer, chunk: ColumnChunk) -> bool:
    """Whether a chunk has nothing but nulls by the levels in its pages, in as many rows as its row group has; of
    others, the pages up to the first value are read. Not if these cannot be read."""
    num_rows = 0
    try:
        for page in decoded_pages(source, footer, chunk):
            if page.num_stored:
                return False
            num_rows += page.num_rows
    except ParquetBloomError:
        return False
    return num_rows == footer.row_group_num_rows(chunk.row_group)
