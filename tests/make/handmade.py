"""Parquet files written page by page, for what no writer at hand produces."""

from dataclasses import dataclass
from zlib import crc32

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType


@dataclass
class Page:
    """A page: its header, and its body as stored."""

    header: ttypes.PageHeader
    body: bytes

    def encoded(self):
        return compact.encode(self.header) + self.body


def page(kind, body, uncompressed_size, checksum=False, **details):
    """A page with a consistent header; `details` are the header of its kind."""
    return Page(
        ttypes.PageHeader(
            type=kind,
            compressed_page_size=len(body),
            uncompressed_page_size=uncompressed_size,
            crc=to_signed(crc32(body)) if checksum else None,
            **details,
        ),
        body,
    )


def to_signed(number):
    return number - (1 << 32) if number >> 31 else number


def dictionary_page(body, num_values, uncompressed_size=None, encoding=Encoding.PLAIN, **more):
    return page(
        PageType.DICTIONARY_PAGE,
        body,
        len(body) if uncompressed_size is None else uncompressed_size,
        dictionary_page_header=ttypes.DictionaryPageHeader(
            num_values=num_values, encoding=encoding
        ),
        **more,
    )


def data_page(
    body,
    num_values,
    encoding=Encoding.PLAIN,
    uncompressed_size=None,
    levels=Encoding.RLE,
    **more,
):
    return page(
        PageType.DATA_PAGE,
        body,
        len(body) if uncompressed_size is None else uncompressed_size,
        data_page_header=ttypes.DataPageHeader(
            num_values=num_values,
            encoding=encoding,
            definition_level_encoding=levels,
            repetition_level_encoding=levels,
        ),
        **more,
    )


def data_page_v2(levels, values, num_values, num_nulls, uncompressed_size=None, **details):
    """`levels`: repetition and definition levels as stored, a pair of bytes."""
    repetition, definition = levels
    body = repetition + definition + values
    return page(
        PageType.DATA_PAGE_V2,
        body,
        len(body) if uncompressed_size is None else uncompressed_size,
        data_page_header_v2=ttypes.DataPageHeaderV2(
            num_values=num_values,
            num_nulls=num_nulls,
            num_rows=num_values,
            encoding=details.pop("encoding", Encoding.PLAIN),
            repetition_levels_byte_length=len(repetition),
            definition_levels_byte_length=len(definition),
            **details,
        ),
    )


def element(name="values", type=ttypes.Type.BYTE_ARRAY, repetition=0, **more):
    return ttypes.SchemaElement(name=name, type=type, repetition_type=repetition, **more)


def write(path, pages, num_values, codec=0, leaf=None, groups=(), **meta_data):
    """A file of one row group and one column; `groups` are the schema's groups above the leaf."""
    leaf = leaf or element()
    chunk = b"".join(each.encoded() for each in pages)
    column = ttypes.ColumnMetaData(
        type=leaf.type,
        encodings=[Encoding.PLAIN],
        path_in_schema=[*(group.name for group in groups), leaf.name],
        codec=codec,
        num_values=num_values,
        total_uncompressed_size=len(chunk),
        total_compressed_size=len(chunk),
        **{"data_page_offset": 4, **meta_data},
    )
    footer = compact.encode(
        ttypes.FileMetaData(
            version=2,
            schema=[ttypes.SchemaElement(name="root", num_children=1), *groups, leaf],
            num_rows=num_values,
            row_groups=[
                ttypes.RowGroup(
                    columns=[ttypes.ColumnChunk(file_offset=0, meta_data=column)],
                    total_byte_size=len(chunk),
                    num_rows=num_values,
                )
            ],
        )
    )
    path.write_bytes(b"PAR1" + chunk + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path


def prefixed(*values):
    """PLAIN BYTE_ARRAY values."""
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def rle(level, count):
    """One run of the RLE hybrid, for levels of one byte."""
    return compact.varint(count << 1) + bytes([level])


def levels_v1(encoded):
    return len(encoded).to_bytes(4, "little") + encoded
