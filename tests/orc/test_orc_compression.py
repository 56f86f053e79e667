"""Chunks: what they stand for, and what they may not do."""

import re

import pytest
from make.handmade_orc import (
    BLOCK_BYTES,
    COMPRESSORS,
    LZ4,
    LZO,
    NONE,
    SNAPPY,
    ZLIB,
    ZSTD,
    chunk,
    framed,
)

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.orc import compression
from parquet_bloom.orc.compression import Compression

PACKED = [ZLIB, SNAPPY, LZ4, ZSTD]
TEXT = b"".join(b"%d, " % number for number in range(600))


def names(codec):
    return Compression(codec).name


@pytest.mark.parametrize("codec", [NONE, *PACKED], ids=names)
@pytest.mark.parametrize(
    "data", [b"", b"x", bytes(1000), TEXT], ids=["none", "one", "zeros", "text"]
)
def test_chunks_stand_for_what_was_written(codec, data):
    packed = framed(data, codec)
    assert Compression(codec, BLOCK_BYTES).expand(packed) == data
    assert len(packed) < len(data) or codec == NONE or len(data) < 2


@pytest.mark.parametrize("codec", [NONE, *PACKED, LZO], ids=names)
@pytest.mark.parametrize("length", [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES])
def test_what_is_stored_needs_no_compressor(codec, length):
    """LZO, too: a chunk may always be original."""
    data = TEXT[:length]
    stored = Compression(codec, BLOCK_BYTES).stored(data)
    chunks = -(-length // BLOCK_BYTES)
    assert len(stored) == length + (0 if codec == NONE else 3 * chunks)
    if codec != LZO:
        assert Compression(codec, BLOCK_BYTES).expand(stored) == data


@pytest.mark.parametrize("piece", [1, 2, 3, 4, 40])
@pytest.mark.parametrize(
    ("length", "complaint"),
    [
        (10, "chunk at byte 8: ends at 13, expected 10"),
        (11, "chunk at byte 8: ends at 13, expected 11"),
        (12, "chunk at byte 8: ends at 13, expected 12"),
    ],
)
def test_where_the_last_of_many_pieces_ends_too_early(piece, length, complaint):
    stored = Compression(ZLIB, 5).stored(b"abcdefg")[:length]
    pieces = (stored[at : at + piece] for at in range(0, length, piece))
    parts = Compression(ZLIB, 5).parts(pieces)
    # What precedes the damage is there.
    assert parts.following(b"") == b"abcde"
    with pytest.raises(FormatError) as raised:
        parts.following(b"")
    assert str(raised.value) == complaint


def test_the_bytes_of_an_original_chunk():
    assert Compression(ZLIB, 4).stored(b"abcde").hex() == "09000061626364" + "03000065"


def expanding(codec, packed, block_bytes=BLOCK_BYTES):
    with pytest.raises(FormatError) as raised:
        Compression(codec, block_bytes).expand(packed)
    assert type(raised.value) is FormatError
    return str(raised.value)


@pytest.mark.parametrize("codec", PACKED, ids=names)
def test_a_chunk_expands_to_no_more_than_a_block(codec):
    packed = bytes(COMPRESSORS[codec](bytes(BLOCK_BYTES)))
    assert Compression(codec, BLOCK_BYTES).expand(chunk(packed)) == bytes(BLOCK_BYTES)
    bomb = bytes(COMPRESSORS[codec](bytes(BLOCK_BYTES + 1)))
    assert expanding(codec, chunk(bomb)).startswith(f"chunk at byte 0: {names(codec)}: ")


def test_an_original_chunk_is_no_more_than_a_block():
    problem = expanding(ZLIB, chunk(bytes(BLOCK_BYTES + 1), original=True))
    assert problem == "chunk at byte 0: 257 bytes, expected at most 256"


def test_many_chunks_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(compression, "MAX_EXPANDED_BYTES", 10 * BLOCK_BYTES)
    packed = chunk(bytes(COMPRESSORS[ZSTD](bytes(BLOCK_BYTES))))
    assert len(Compression(ZSTD, BLOCK_BYTES).expand(10 * packed)) == 10 * BLOCK_BYTES
    assert expanding(ZSTD, 11 * packed) == "expands to more than 2560 bytes"


@pytest.mark.parametrize("codec", PACKED, ids=names)
def test_a_chunk_that_is_cut_off_is_an_error(codec):
    packed = framed(TEXT, codec)
    ends = {len(framed(TEXT[:length], codec)) for length in range(0, len(TEXT), BLOCK_BYTES)}
    for length in range(len(packed)):
        if length in ends:
            continue
        problem = expanding(codec, packed[:length])
        assert re.match(r"chunk at byte \d+: ends at \d+, expected \d+$", problem), problem


@pytest.mark.parametrize("codec", PACKED, ids=names)
def test_a_damaged_chunk_is_an_error_or_other_bytes(codec):
    packed = bytearray(framed(TEXT, codec))
    problems = []
    for at in range(0, len(packed), 7):
        packed[at] ^= 0xFF
        try:
            Compression(codec, BLOCK_BYTES).expand(bytes(packed))
        except FormatError as error:
            problems.append(str(error))
        packed[at] ^= 0xFF
    assert problems
    assert not any("\n" in problem for problem in problems)


@pytest.mark.parametrize("codec", [LZO, 6, 250])
def test_other_codecs_are_refused(codec):
    name = {LZO: "LZO"}.get(codec, str(codec))
    with pytest.raises(UnsupportedError, match=f"^codec {name} is not supported$"):
        Compression(codec, BLOCK_BYTES).expand(chunk(b"x", original=True))
