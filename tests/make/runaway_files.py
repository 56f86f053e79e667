"""Files that take much more memory than they have bytes: pages that are honest, and pages that are
not."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from make import handmade_orc
from make.footers import MAGIC, edited, footer_of, footer_start, with_footer
from make.handmade_orc import DATA
from make.pages import compressed, data_page, dictionary_page, int64s, levels_v1
from make.parquet_files import Column, built, forge

from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER_UTF8, ROW_INDEX
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    Type,
)

# Of a frame of Zstandard: a window of 128 KiB, no checksum, no size.
_FRAME = b"\x28\xb5\x2f\xfd\x00\x38"
_BLOCK_BYTES = 1 << 17
_RAW, _REPEATED = 0, 1


def zstd_zeros(first: bytes, size: int) -> bytes:
    """A frame of `size` bytes: `first`, and zeros. One block of 4 bytes for each 128 KiB.

    Source: RFC 8878, 3.1.1.
    """

    def block(kind: int, num_bytes: int, content: bytes) -> bytes:
        is_last = at + num_bytes == size
        return (num_bytes << 3 | kind << 1 | is_last).to_bytes(3, "little") + content

    at = 0
    frame = _FRAME + block(_RAW, len(first), first)
    for at in range(len(first), size, _BLOCK_BYTES):
        frame += block(_REPEATED, min(_BLOCK_BYTES, size - at), b"\0")
    return frame


def _column(name: str, body: bytes, size: int, num_values: int, type: int, codec: int) -> Column:
    page = data_page(body, num_values, uncompressed_page_size=size)
    meta = {"total_uncompressed_size": size}
    return Column([page], num_values, name, type, codec, meta=meta)


def strings(num_columns: int, length: int) -> bytes:
    """Columns a0, a1, … of one string each, of `length` zeros."""
    body = zstd_zeros(length.to_bytes(4, "little"), 4 + length)
    codec = CompressionCodec.ZSTD
    return forge(
        *(
            _column(f"a{number}", body, 4 + length, 1, Type.BYTE_ARRAY, codec)
            for number in range(num_columns)
        )
    )


def numbers(num_values: int) -> bytes:
    """A column a0 of INT64: 1, and zeros."""
    size = 8 * num_values
    body = zstd_zeros((1).to_bytes(8, "little"), size)
    return forge(_column("a0", body, size, num_values, Type.INT64, CompressionCodec.ZSTD))


def claims(size: int, codec: int) -> bytes:
    """Columns a0 to a7 whose pages have ten bytes, and claim to have `size`."""
    return forge(
        *(_column(f"a{number}", bytes(10), size, 10, Type.INT64, codec) for number in range(8))
    )


# ------------------------------------------------------------------------------------------------
# Values that take few bytes


def repeated_entry(num_values: int) -> bytes:
    """A column a0 of one dictionary entry, to which all values refer: one run."""
    dictionary = dictionary_page(int64s(1), 1)
    body = b"\x01" + compact.varint(num_values << 1) + b"\0"
    page = data_page(body, num_values, Encoding.RLE_DICTIONARY)
    return forge(Column([dictionary, page], num_values, "a0"))


def nulls(num_values: int) -> bytes:
    """An optional column a0 of one value, and nulls."""
    levels = compact.varint(2) + b"\1" + compact.varint((num_values - 1) << 1) + b"\0"
    page = data_page(levels_v1(levels) + int64s(1), num_values)
    return forge(Column([page], num_values, "a0", repetition=FieldRepetitionType.OPTIONAL))


def equal_differences(num_values: int) -> bytes:
    """A column a0 of ascending INT64 in DELTA_BINARY_PACKED, whose differences take no bits."""
    return _packed_deltas("a0", num_values, Type.INT64, Encoding.DELTA_BINARY_PACKED)


def empty_strings(num_values: int) -> bytes:
    """A column a0 of empty strings in DELTA_LENGTH_BYTE_ARRAY."""
    return _packed_deltas("a0", num_values, Type.BYTE_ARRAY, Encoding.DELTA_LENGTH_BYTE_ARRAY)


def empty_suffixes(num_values: int) -> bytes:
    """The same in DELTA_BYTE_ARRAY: two lengths of each."""
    return _packed_deltas("a0", num_values, Type.BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY)


def _packed_deltas(name: str, num_values: int, type: int, encoding: int) -> bytes:
    """Numbers of which each is the one before it, in blocks of 2^16 and one miniblock."""
    block = 1 << 16
    head = b"".join(map(compact.varint, (block, 1, num_values, 0)))
    # The least difference, and how many bits the rest takes.
    body = head + (b"\0\0" * -(-(num_values - 1) // block))
    body *= 2 if encoding == Encoding.DELTA_BYTE_ARRAY else 1
    return forge(Column([data_page(body, num_values, encoding)], num_values, name, type))


def many_entries(num_entries: int) -> bytes:
    """A column a0 of a dictionary of different strings, each of which is used."""
    numbers = np.arange(num_entries, dtype=np.int64)
    entries = np.empty(num_entries, [("length", "<u4"), ("text", "<i8")])
    entries["length"], entries["text"] = 8, numbers
    plain = entries.tobytes()
    codec = CompressionCodec.SNAPPY
    dictionary = dictionary_page(
        compressed(codec, plain), num_entries, uncompressed_page_size=len(plain)
    )
    # Groups of 8 indices of 24 bits.
    groups = -(-num_entries // 8)
    packed = np.zeros((8 * groups, 3), np.uint8)
    packed[:num_entries] = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3]
    body = b"\x18" + compact.varint(groups << 1 | 1) + packed.tobytes()
    page = data_page(
        compressed(codec, body),
        num_entries,
        Encoding.RLE_DICTIONARY,
        uncompressed_page_size=len(body),
    )
    meta = {"total_uncompressed_size": len(plain) + len(body)}
    return forge(Column([dictionary, page], num_entries, "a0", Type.BYTE_ARRAY, codec, meta=meta))


# ------------------------------------------------------------------------------------------------
# Footers


def row_groups(count: int, *, filters: bool = False) -> bytes:
    """So many row groups, which share their only page, and their filter if they have one."""
    data = forge(Column([data_page(int64s(1), 1)], 1))
    if filters:
        data = built(data, ["a"])
    footer = footer_of(data)
    group = compact.encode(footer.row_groups[0])
    footer.row_groups, footer.num_rows = [], count
    raw = compact.encode(footer)
    empty = b"\x19\x0c"
    assert raw.count(empty) == 1
    groups = b"\x19" + compact.list_header(compact.TYPE_STRUCT, count) + group * count
    return with_footer(data[: footer_start(data)], raw.replace(empty, groups))


def columns(count: int, top: str = "") -> bytes:
    """No row group, and so many columns, below a group of this name if it has one."""
    leaves = [ttypes.SchemaElement(Type.INT64, None, FieldRepetitionType.REQUIRED, "a")] * count
    group = (
        [ttypes.SchemaElement(None, None, FieldRepetitionType.REQUIRED, top, count)] if top else []
    )
    children = 1 if top else count
    footer = ttypes.FileMetaData(
        version=2,
        schema=[ttypes.SchemaElement(name="schema", num_children=children), *group, *leaves],
        num_rows=0,
        row_groups=[],
    )
    return with_footer(MAGIC, footer)


def pairs(count: int) -> bytes:
    """So many empty pairs in the footer's key-value metadata."""
    data = forge(Column([data_page(int64s(1), 1)], 1))

    def edit(footer: ttypes.FileMetaData) -> None:
        footer.key_value_metadata = [ttypes.KeyValue(key="")] * count

    return edited(data, edit)


def shared_filter(num_chunks: int, num_bytes: int) -> bytes:
    """So many columns a0, a1, … of a number each, and a filter of zeros for all of them."""
    pages = [data_page(int64s(number), 1) for number in range(num_chunks)]
    offset = len(MAGIC) + sum(map(len, pages))
    header = bloom.encode_header(num_bytes)
    place = {"bloom_filter_offset": offset, "bloom_filter_length": len(header) + num_bytes}
    data = forge(
        *(Column([page], 1, f"a{number}", meta=place) for number, page in enumerate(pages))
    )
    return with_footer(data[:offset] + header + bytes(num_bytes), footer_of(data))


# ------------------------------------------------------------------------------------------------
# ORC

PRESENT = 0


def orc_file(
    *stripes: handmade_orc.Stripe, types: Sequence[Any] = (), stride: int = 1000, **footer: Any
) -> bytes:
    """A file whose footers are in blocks of 256 KiB, as those of writers are."""
    types = types or handmade_orc.table(a0="LONG")
    codec, block_bytes = handmade_orc.ZLIB, 1 << 18
    return handmade_orc.forge(
        types, stripes, codec=codec, stride=stride, footer=footer, block_bytes=block_bytes
    )


def orc_columns(count: int, top: bytes = b"") -> bytes:
    """No stripe, and so many columns, below a STRUCT of this name if it has one."""
    first = 2 if top else 1
    ids = range(first, first + count)
    group = handmade_orc.type_of("STRUCT", *ids, names=[b"a"] * count)
    root = [handmade_orc.type_of("STRUCT", 1, names=[top])] if top else []
    return orc_file(types=[*root, group, *[handmade_orc.type_of("LONG")] * count])


def orc_stripes(count: int) -> bytes:
    """So many stripes without a row."""
    place = orc_pb2.StripeInformation(
        offset=3, indexLength=0, dataLength=0, footerLength=0, numberOfRows=0
    )
    return orc_file(stripes=[place] * count)


def orc_streams(count: int) -> bytes:
    """A stripe of so many empty streams of its column."""
    streams = [orc_pb2.Stream(kind=DATA, column=1, length=0)] * count
    return orc_file(handmade_orc.Stripe(1, [], footer={"streams": streams}))


def orc_index(count: int, num_rows: int = 0, stripes: int = 1) -> bytes:
    """Stripes whose row index and filters have so many empty entries each, for as many index groups
    unless they have another number of rows."""
    entries, filters = b"\x0a\0" * count, b"\x0a\0" * count
    streams = [
        handmade_orc.Stream(ROW_INDEX, 1, entries),
        handmade_orc.Stream(BLOOM_FILTER_UTF8, 1, filters),
    ]
    return orc_file(*[handmade_orc.Stripe(num_rows or count, streams)] * stripes, stride=1)


def orc_nulls(num_rows: int, stride: int) -> bytes:
    """A column of nulls, with a row index."""
    runs, rest = divmod(-(-num_rows // 8), 130)
    assert rest == 0
    groups = -(-num_rows // stride)
    streams = [
        handmade_orc.Stream(ROW_INDEX, 1, b"\x0a\0" * groups),
        handmade_orc.Stream(PRESENT, 1, b"\x7f\0" * runs),
        handmade_orc.Stream(DATA, 1, b""),
    ]
    return orc_file(handmade_orc.Stripe(num_rows, streams), stride=stride)


def orc_zeros(num_rows: int) -> bytes:
    """A column of zeros, in one index group."""
    streams = [
        handmade_orc.Stream(ROW_INDEX, 1, b"\x0a\0"),
        # Runs of 512 values in version 2: a delta of a fixed width of 0.
        handmade_orc.Stream(DATA, 1, b"\xc1\xff\0\0" * (num_rows // 512)),
    ]
    return orc_file(handmade_orc.Stripe(num_rows, streams), stride=num_rows)


# ------------------------------------------------------------------------------------------------
# All of them

MILLION = 1_000_000

# With 1 GiB and with 256 MiB: those that fit, those that fit one after the other, those that do not.
RUNAWAYS: dict[str, Callable[[], bytes]] = {
    "strings-240M.parquet": lambda: strings(4, 240 * MILLION),
    "strings-900M.parquet": lambda: strings(4, 900 * MILLION),
    "strings-2G.parquet": lambda: strings(2, 2**31 - 5),
    "numbers-20M.parquet": lambda: numbers(20 * MILLION),
    "numbers-100M.parquet": lambda: numbers(100 * MILLION),
    "claims-snappy.parquet": lambda: claims(2**31 - 1, CompressionCodec.SNAPPY),
    "claims-brotli.parquet": lambda: claims(2**31 - 1, CompressionCodec.BROTLI),
    "claims-brotli-900M.parquet": lambda: claims(900 * MILLION, CompressionCodec.BROTLI),
    "repeated-100M.parquet": lambda: repeated_entry(100 * MILLION),
    "nulls-100M.parquet": lambda: nulls(100 * MILLION),
    "deltas-100M.parquet": lambda: equal_differences(100 * MILLION),
    "empty-100M.parquet": lambda: empty_strings(100 * MILLION),
    "entries-10M.parquet": lambda: many_entries(10 * MILLION),
    "groups-1M.parquet": lambda: row_groups(MILLION),
    "groups-1M-filters.parquet": lambda: row_groups(MILLION, filters=True),
    "columns-1M.parquet": lambda: columns(MILLION),
    "columns-long.parquet": lambda: columns(100_000, "n" * MILLION),
    "pairs-10M.parquet": lambda: pairs(10 * MILLION),
    "shared-40.parquet": lambda: shared_filter(40, 128 << 20),
    "columns-1M.orc": lambda: orc_columns(MILLION),
    "columns-long.orc": lambda: orc_columns(100_000, b"n" * MILLION),
    "stripes-1M.orc": lambda: orc_stripes(MILLION),
    "streams-5M.orc": lambda: orc_streams(5 * MILLION),
    "index-1M.orc": lambda: orc_index(1 << 20),
    "index-50M.orc": lambda: orc_index(50 * MILLION, 10),
    "nulls-1G.orc": lambda: orc_nulls(1040 * (1 << 20), 1040),
    "zeros-100M.orc": lambda: orc_zeros(512 * 200_000),
}


if __name__ == "__main__":
    name, path = sys.argv[1:]
    Path(path).write_bytes(RUNAWAYS[name]())
