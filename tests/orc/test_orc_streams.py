"""Streams: values that a chunk ends within, and values that are kept while others are read."""

import numpy as np
import pytest
from make.handmade_orc import NONE, ZSTD, chunk, framed

from parquet_bloom.errors import FormatError
from parquet_bloom.orc.compression import Compression
from parquet_bloom.orc.streams import Stream, _Layout, integers

# No run is longer.
MOST_RUN_BYTES = 4356

# Runs of 512 numbers of 64 bits, and of 56, which compress, and one of 5.
RUN_BYTES = 2 + 512 * 8
NUMBERS = np.random.default_rng(1).integers(0, 1 << 63, 1024).tolist()
SMALL = [number % 50 for number in range(1024)]
LAST = [1 << 40] * 5

# Around the most bytes of a run, and of this one.
SIZES = [1, 100, RUN_BYTES - 1, RUN_BYTES, RUN_BYTES + 1, MOST_RUN_BYTES - 1, MOST_RUN_BYTES,
         MOST_RUN_BYTES + 1, 2 * RUN_BYTES + 1, 10_000]  # fmt: skip


def runs_of(numbers, num_bytes, code):
    """Runs of the kind DIRECT."""
    for start in range(0, len(numbers), 512):
        part = numbers[start : start + 512]
        yield bytes([0x40 | code << 1 | (len(part) - 1) >> 8, (len(part) - 1) & 0xFF])
        yield b"".join(number.to_bytes(num_bytes, "big") for number in part)


DATA = b"".join([*runs_of(NUMBERS, 8, 31), *runs_of(SMALL, 7, 30), *runs_of(LAST, 7, 30)])


def stream(data, codec=ZSTD, block_bytes=10_000, piece=1 << 20):
    pieces = (data[at : at + piece] for at in range(0, len(data), piece))
    return Stream(pieces, Compression(codec, block_bytes), "values")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 511, 700, 2053])
def test_runs_that_a_chunk_ends_within(size, count):
    numbers = integers(stream(framed(DATA, ZSTD, size), block_bytes=size), 2, signed=False)
    expected = [*NUMBERS, *SMALL, *LAST]
    found = []
    while len(found) < len(expected):
        found += numbers.take(min(count, len(expected) - len(found))).tolist()
    assert found == expected
    with pytest.raises(FormatError, match=r"^values: ends after 0 values, expected 1$"):
        numbers.take(1)


@pytest.mark.parametrize("codec", [NONE, ZSTD])
@pytest.mark.parametrize("piece", [1, 2, 97, 1024, 1027, 5000])
def test_pieces_may_end_anywhere(codec, piece):
    """Within a chunk, within what precedes it, and where it ends."""
    data = DATA if codec == NONE else framed(DATA, codec, 1024)
    numbers = integers(stream(data, codec, piece=piece), 2, signed=False)
    found = [*numbers.take(700), *numbers.take(1353)]
    assert found == [*NUMBERS, *SMALL, *LAST]


def test_runs_without_chunks():
    numbers = integers(stream(DATA, NONE), 2, signed=False)
    assert numbers.take(2053).tolist() == [*NUMBERS, *SMALL, *LAST]


def test_what_takes_more_of_a_chunk_than_any_run():
    """No encoding has such values, but nothing may be lost of them."""
    wide = 3 * MOST_RUN_BYTES
    data = b"".join(bytes([number]) * wide for number in range(5))

    def decode(part, at, items):
        count = min((len(part) - at) // wide, len(items))
        for index in range(count):
            (items[index],) = set(bytes(part[at + index * wide : at + (index + 1) * wide]))
        return count, at + count * wide

    stored = b"".join(
        chunk(data[at : at + 10_000], original=True) for at in range(0, len(data), 10_000)
    )
    assert stream(stored).fill(decode, _Layout("q"), 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [100, 512, 1000])
def test_bytes_that_were_taken_stay(size):
    """They are copied: all chunks are decompressed into the same memory."""
    data = b"".join(bytes([number]) * 512 for number in range(20))
    bytes_of = stream(framed(data, ZSTD, size), block_bytes=size)
    taken = [bytes_of.take_bytes(512) for _ in range(20)]
    assert b"".join(taken) == data


def test_many_bytes_and_what_follows():
    """More than memory is made for at once."""
    data = bytes(range(256)) * 8200
    bytes_of = stream(framed(data, ZSTD, 10_000), piece=700)
    assert bytes_of.take_bytes(1 << 21) == data[: 1 << 21]
    with pytest.raises(FormatError, match=r"^values: ends after 2048 bytes, expected 2049$"):
        bytes_of.take_bytes(2049)
