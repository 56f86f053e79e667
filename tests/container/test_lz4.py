"""Blocks of LZ4, which say nothing about how much they expand to."""

import cramjam
import pytest
from make.handmade_orc import LZ4, chunk

from parquet_bloom.container import lz4
from parquet_bloom.orc.compression import Compression
from parquet_bloom.parquet.pages.codecs import decompress
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec

# A literal, and a match of 14 bytes at a distance of 1; 5 literals. The first four bytes could be a size
# of 65,562 bytes, and what follows them could be a block.
BLOCK = bytes.fromhex("1a 41 01 00 50") + b"12345"
PLAIN = 15 * b"A" + b"12345"
SIZE = int.from_bytes(BLOCK[:4], "little")


@pytest.mark.parametrize("room", [20, 21, SIZE - 1, SIZE, SIZE + 1, 1 << 20])
def test_a_block_that_begins_like_a_size(room):
    out = memoryview(bytearray(b"." * room))
    assert lz4.decompress_into(memoryview(BLOCK), out) == len(PLAIN)
    assert out[:21] == (PLAIN + b".")[:room]


def test_too_little_room():
    with pytest.raises(cramjam.DecompressionError):
        lz4.decompress_into(BLOCK, bytearray(19))


# What ends behind the literals of a sequence, as after 2 bytes, is a block of fewer.
@pytest.mark.parametrize("end", [0, 1, 3, 4, 5, 6, 7, 8, 9])
def test_a_block_that_is_cut_off(end):
    with pytest.raises(cramjam.DecompressionError):
        lz4.decompress_into(BLOCK[:end], bytearray(1 << 20))


def test_a_stream_of_orc():
    compression = Compression(LZ4, 262_144)
    assert compression.expand(chunk(BLOCK) + chunk(BLOCK)) == 2 * PLAIN


@pytest.mark.parametrize("codec", [CompressionCodec.LZ4, CompressionCodec.LZ4_RAW])
def test_a_page_of_parquet(codec):
    """As large as what could be its size: followed by so many literals, which compress to nothing less."""
    extensions, last = divmod(SIZE - 15, 255)
    literals = bytes(SIZE)
    block = BLOCK[:4] + b"\xf0" + extensions * b"\xff" + bytes([last]) + literals
    assert decompress(codec, memoryview(block), 15 + SIZE) == 15 * b"A" + literals
