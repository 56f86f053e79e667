"""Pages of Parquet written by hand: headers are Thrift structs, so a field that is left out or
impossible is just an argument.

    page     | PageHeader | body |
"""

import struct
from typing import Any
from zlib import crc32

import cramjam
import pyarrow as pa

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec, Encoding, PageType


def page(kind: int | None, body: bytes, *, checksum: bool = False, **fields: Any) -> bytes:
    """One page: header and body. Sizes are those of the body unless told otherwise."""
    told = {"uncompressed_page_size": len(body), "compressed_page_size": len(body)}
    if checksum:
        told["crc"] = int.from_bytes(crc32(body).to_bytes(4, "big"), "big", signed=True)
    return compact.encode(ttypes.PageHeader(type=kind, **(told | fields))) + body


def v1(
    num_values: int | None,
    encoding: int | None = Encoding.PLAIN,
    levels: int = Encoding.RLE,
    **fields: Any,
) -> ttypes.DataPageHeader:
    return ttypes.DataPageHeader(
        num_values=num_values,
        encoding=encoding,
        definition_level_encoding=levels,
        repetition_level_encoding=levels,
        **fields,
    )


def data_page(
    body: bytes,
    num_values: int | None,
    encoding: int = Encoding.PLAIN,
    levels: int = Encoding.RLE,
    **fields: Any,
) -> bytes:
    """A data page, version 1."""
    header = v1(num_values, encoding, levels)
    return page(PageType.DATA_PAGE, body, data_page_header=header, **fields)


def v2(num_values: int, encoding: int = Encoding.PLAIN, **fields: Any) -> ttypes.DataPageHeaderV2:
    told = {
        "num_values": num_values,
        "num_nulls": 0,
        "num_rows": num_values,
        "encoding": encoding,
        "definition_levels_byte_length": 0,
        "repetition_levels_byte_length": 0,
        "is_compressed": False,
    }
    return ttypes.DataPageHeaderV2(**(told | fields))


def data_page_v2(
    definition: bytes,
    values: bytes,
    num_values: int,
    num_nulls: int,
    is_compressed: bool | None = None,
    **fields: Any,
) -> bytes:
    """A data page, version 2: definition levels as they are stored, and values."""
    header = v2(
        num_values,
        num_nulls=num_nulls,
        definition_levels_byte_length=len(definition),
        is_compressed=is_compressed,
    )
    return page(PageType.DATA_PAGE_V2, definition + values, data_page_header_v2=header, **fields)


def dictionary_page(
    body: bytes, num_values: int | None, encoding: int = Encoding.PLAIN, **fields: Any
) -> bytes:
    header = ttypes.DictionaryPageHeader(num_values=num_values, encoding=encoding)
    return page(PageType.DICTIONARY_PAGE, body, dictionary_page_header=header, **fields)


def int64s(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def byte_arrays(*values: bytes) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def levels_v1(encoded: bytes) -> bytes:
    return len(encoded).to_bytes(4, "little") + encoded


def compressed(codec: int, data: bytes) -> bytes:
    """`data` as a page of this codec holds it."""
    match codec:
        case CompressionCodec.SNAPPY:
            return bytes(pa.compress(data, "snappy", asbytes=True))
        case CompressionCodec.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case CompressionCodec.BROTLI:
            return bytes(cramjam.brotli.compress(data))
        case CompressionCodec.ZSTD:
            return bytes(cramjam.zstd.compress(data))
        case CompressionCodec.LZ4_RAW:
            return bytes(cramjam.lz4.compress_block(data, store_size=False))
        case CompressionCodec.LZ4:
            return hadoop_lz4(data, len(data))
        case _:
            return data


def hadoop_lz4(data: bytes, block_bytes: int) -> bytes:
    """One Hadoop frame of LZ4 blocks."""
    out = len(data).to_bytes(4, "big")
    for at in range(0, len(data), block_bytes):
        block = compressed(CompressionCodec.LZ4_RAW, data[at : at + block_bytes])
        out += len(block).to_bytes(4, "big") + block
    return out


# Of a forged file of three rows.
HONEST = data_page(int64s(1, 2, 3), 3)
