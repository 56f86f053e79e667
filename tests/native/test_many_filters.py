"""Many filters at a glance: the same facts as one by one, and nothing but whole, lonely filters."""

import random
from array import array

import pytest

from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters import bloom

ALONE = _kernel.Ranges(array("q"), 1 << 40)


def stored(num_blocks: int, seed: int = 0) -> tuple[bytes, SplitBlockBloomFilter]:
    words = random.Random(seed).randbytes(32 * num_blocks)
    return bloom.encode_header(len(words)) + words, SplitBlockBloomFilter.from_bytes(words)


def look(data: bytes, offset: int = 0, length: int | None = None, base: int = 0):
    (found,) = _kernel.ordinary_filters(
        data,
        base,
        array("q", [offset]),
        array("q", [len(data) if length is None else length]),
        ALONE,
    )
    return found


@pytest.mark.parametrize("num_blocks", [1, 2, 3, 4, 255, 256, 8192])
@pytest.mark.parametrize("before", range(4))
def test_facts(memory_end, num_blocks, before):
    data, bits = stored(num_blocks, before)
    header_bytes = len(data) - bits.num_bytes
    expected = (header_bytes, bits.num_bytes, bits.bits_set, bits.fpp)
    placed = memory_end.place(bytes(before) + data)
    assert look(placed, 1000 + before, len(data), base=1000) == expected


def test_any_other_header():
    """Whoever changes a bit of the header says something else."""
    data, bits = stored(2)
    for at in range(8 * (len(data) - bits.num_bytes)):
        other = bytearray(data)
        other[at // 8] ^= 1 << at % 8
        assert look(bytes(other)) is None, at


def test_any_other_length(memory_end):
    data, _ = stored(2)
    for length in range(len(data)):
        assert look(memory_end.place(data[:length])) is None
    assert look(data + b"\0") is None


@pytest.mark.parametrize("num_bytes", [0, -32, 1, 31, 33, 2**31 - 32])
def test_impossible_sizes(num_bytes):
    header = bloom.encode_header(num_bytes)
    assert look(header + bytes(max(0, min(num_bytes, 100)))) is None


def test_endless_number():
    for size in range(1, 12):
        assert look(b"\x15" + b"\xff" * size) is None


def test_several_and_their_neighbours():
    """The second of three overlaps another range."""
    one, _ = stored(1)
    data, size = one * 3, len(one)
    chunk = dict.fromkeys(_kernel.CHUNK_FIELDS, _kernel.ABSENT) | {
        "has_file_path": 0,
        "offset_index_offset": 100 + size,
        "offset_index_length": 1,
    }
    everything = _kernel.Ranges(array("q", chunk.values()), 10_000, "indexes")
    offsets = array("q", [100, 100 + size, 100 + 2 * size])
    found = _kernel.ordinary_filters(data, 100, offsets, array("q", [size] * 3), everything)
    # What overlaps one other range may be that range itself.
    assert [each is None for each in found] == [False, False, False]
    chunk |= {"column_index_offset": 100 + size + 3, "column_index_length": 1}
    everything = _kernel.Ranges(array("q", chunk.values()), 10_000, "indexes")
    found = _kernel.ordinary_filters(data, 100, offsets, array("q", [size] * 3), everything)
    assert [each is None for each in found] == [False, True, False]


@pytest.mark.parametrize(
    ("base", "offset", "length"),
    [(0, -1, 1), (0, 0, 101), (0, 100, 1), (50, 49, 1), (0, 0, -1), (-5, 0, 1), (0, 2**63 - 1, 1)],
)
def test_outside_of_the_data(base, offset, length):
    with pytest.raises(ValueError, match=r"^offsets: "):
        _kernel.ordinary_filters(
            bytes(100), base, array("q", [offset]), array("q", [length]), ALONE
        )
    with pytest.raises(ValueError, match=r"^lengths: 0, expected 1$"):
        _kernel.ordinary_filters(bytes(9), 0, array("q", [0]), array("q"), ALONE)
