"""What the footer says of the values of a column chunk: how many there are, and what has them all."""

from __future__ import annotations

from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType

_DICTIONARY = (Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY)
_LEVELS = (Encoding.RLE, Encoding.BIT_PACKED)


def known_non_null(chunk: ColumnChunk) -> int | None:
    """How many values of a chunk are not null; None where there can be nulls and the footer does not
    count them."""
    num_values = max(0, chunk.num_values or 0)
    if num_values == 0 or chunk.leaf.max_definition_level == 0:
        return num_values
    nulls = chunk.null_count
    return None if nulls is None or not 0 <= nulls <= num_values else num_values - nulls


def may_have_values(chunk: ColumnChunk) -> bool:
    """Whether a chunk has values that are not null, unless the footer is certain of the opposite."""
    return known_non_null(chunk) != 0


def dictionary_bytes(footer: Footer, chunk: ColumnChunk) -> int | None:
    """What the dictionary page takes, if it says all that a filter could."""
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
            if found.page_type in (PageType.DATA_PAGE, PageType.DATA_PAGE_V2) and found.count
        ]
        return bool(data) and all(encoding in _DICTIONARY for encoding in data)
    # Before encoding_stats, PLAIN_DICTIONARY was the dictionary's encoding and the pages'.
    others = set(meta_data.encodings or ()) - set(_LEVELS)
    return others == {Encoding.PLAIN_DICTIONARY}
