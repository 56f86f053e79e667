"""Frames of Zstandard, as zstandard and cramjam write and read them; blocks of LZ4, which say nothing about
how much they expand to."""

import struct
from types import SimpleNamespace

import cramjam
import pytest
import zstandard
from make.handmade_orc import LZ4, chunk

from parquet_bloom import codecs
from parquet_bloom.orc.compression import Compression
from parquet_bloom.parquet.pages.codecs import decompress
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec

DATA = b"".join(b"%d, " % number for number in range(2000))
SKIPPED = struct.pack("<II", 0x184D2A50, 3) + b"abc"


def written(data=DATA, *, states_size=True, checksum=False):
    compressor = zstandard.ZstdCompressor(
        write_content_size=states_size, write_checksum=checksum
    ).compressobj(size=len(data) if states_size else -1)
    return compressor.compress(data) + compressor.flush()


FRAMES = {
    "stated": written(),
    "not stated": written(states_size=False),
    "stated, checksum": written(checksum=True),
    "not stated, checksum": written(states_size=False, checksum=True),
    "two": written(DATA[:100]) + written(DATA[100:]),
    "two, not stated": written(DATA[:100], states_size=False) + written(DATA[100:]),
    "skippable first": SKIPPED + written(),
    "skippable last": written() + SKIPPED,
    "empty first": written(b"") + written(),
    "of cramjam": bytes(cramjam.zstd.compress(DATA)),
}


@pytest.fixture(params=["zstandard", "cramjam"])
def library(request, monkeypatch):
    context = codecs._context() if request.param == "zstandard" else (None, None)
    monkeypatch.setattr(codecs, "_contexts", SimpleNamespace(zstd=context))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("spare", [0, 1, 100_000])
@pytest.mark.parametrize("name", FRAMES)
def test_what_was_written_is_read(name, spare):
    room = memoryview(bytearray(b"\xaa" * (len(DATA) + spare)))
    assert codecs.zstd_into(memoryview(FRAMES[name]), room) == len(DATA)
    assert room[: len(DATA)] == DATA


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", FRAMES)
def test_more_than_has_room(name):
    with pytest.raises(cramjam.DecompressionError):
        codecs.zstd_into(memoryview(FRAMES[name]), memoryview(bytearray(len(DATA) - 1)))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("spare", [0, 1, 100_000])
@pytest.mark.parametrize("name", [name for name in FRAMES if not name.startswith("two")])
def test_no_value_is_missing_where_a_frame_is_cut_off(name, spare):
    frame = FRAMES[name]
    for length in range(max(1, len(frame) - 40), len(frame) - len(SKIPPED) * name.count("last")):
        room = memoryview(bytearray(len(DATA) + spare))
        try:
            found = codecs.zstd_into(memoryview(frame[:length]), room)
        except cramjam.DecompressionError:
            continue
        # Only the mark of the end is missing.
        assert (name, found, room[:found] == DATA) == ("not stated", len(DATA), True)


@pytest.mark.usefixtures("library")
def test_damage_is_found_by_a_checksum():
    for name in ("stated, checksum", "not stated, checksum"):
        frame = FRAMES[name]
        damaged = frame[:-1] + bytes([frame[-1] ^ 1])
        with pytest.raises(cramjam.DecompressionError):
            codecs.zstd_into(memoryview(damaged), memoryview(bytearray(len(DATA))))


# A literal, and a match of 14 bytes at a distance of 1; 5 literals. The first four bytes could be a size
# of 65,562 bytes, and what follows them could be a block.
BLOCK = bytes.fromhex("1a 41 01 00 50") + b"12345"
PLAIN = 15 * b"A" + b"12345"
SIZE = int.from_bytes(BLOCK[:4], "little")


@pytest.mark.parametrize("room", [20, 21, SIZE - 1, SIZE, SIZE + 1, 1 << 20])
def test_a_block_that_begins_like_a_size(room):
    out = memoryview(bytearray(b"." * room))
    assert codecs.lz4_into(memoryview(BLOCK), out) == len(PLAIN)
    assert out[:21] == (PLAIN + b".")[:room]


def test_too_little_room():
    with pytest.raises(cramjam.DecompressionError):
        codecs.lz4_into(BLOCK, bytearray(19))


# What ends behind the literals of a sequence, as after 2 bytes, is a block of fewer.
@pytest.mark.parametrize("end", [0, 1, 3, 4, 5, 6, 7, 8, 9])
def test_a_block_that_is_cut_off(end):
    with pytest.raises(cramjam.DecompressionError):
        codecs.lz4_into(BLOCK[:end], bytearray(1 << 20))


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
