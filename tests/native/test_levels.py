"""Levels and dictionary indices counted and decoded, against a decoder that writes every bit down."""

import subprocess
import sys
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.memory_end import MemoryEnd
from oracle import specification as spec

from parquet_bloom.native import _kernel

widths = st.integers(1, 32)


@st.composite
def hybrids(draw: st.DrawFn) -> tuple[bytes, int, int]:
    """Encoded runs, their bit width and how many levels they hold, padding included."""
    width = draw(widths)
    levels = st.integers(0, 2**width - 1)
    data, count = b"", 0
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            length = draw(st.integers(1, 200))
            data += spec.rle_run(draw(levels), length, width)
            count += length
        else:
            run = draw(st.lists(levels, min_size=1, max_size=40))
            data += spec.packed_run(run, width)
            count += -(-len(run) // 8) * 8
    return data, width, count


def occurring(data: st.DataObject, levels: list[int], width: int) -> int:
    """A level to count: one that is there, more often than not."""
    some = st.sampled_from(sorted(set(levels))) if levels else st.nothing()
    return data.draw(some | st.integers(0, 2**width - 1))


# --- the RLE / bit-packing hybrid -----------------------------------------------------------------


@given(hybrids(), st.data())
def test_hybrid(
    memory_end: MemoryEnd, encoded: tuple[bytes, int, int], data: st.DataObject
) -> None:
    runs, width, held = encoded
    count = data.draw(st.integers(0, held))
    levels = spec.decode_hybrid(runs, width, count)
    level = occurring(data, levels, width)
    assert len(levels) == count
    placed = memory_end.place(runs)
    assert _kernel.count_levels(placed, width, count, level) == levels.count(level)
    assert _kernel.decode_hybrid(placed, width, count).tolist() == levels


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 16, 17, 31, 32])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 1000])
def test_hybrid_widths(width: int, count: int) -> None:
    top = 2**width - 1
    levels = [top if i % 3 else 0 for i in range(count)]
    assert _kernel.count_levels(spec.packed_run(levels, width), width, count, top) == (
        levels.count(top)
    )
    assert _kernel.count_levels(spec.rle_run(top, count, width), width, count, top) == count
    assert _kernel.count_levels(spec.rle_run(top, count, width), width, count, top - 1) == 0


@pytest.mark.parametrize("width", range(1, 11))
@pytest.mark.parametrize("count", [8, 56, 63, 64, 65, 127, 128, 129, 1001])
def test_packed_levels(memory_end: MemoryEnd, width: int, count: int) -> None:
    """Any of them, next to any other, by the word and one by one."""
    random = Random(width * count)
    levels = [random.randrange(2**width) for _ in range(count)]
    run = memory_end.place(spec.packed_run(levels, width))
    assert _kernel.decode_hybrid(run, width, count).tolist() == levels
    for level in {*levels[:20], 0, 1, 2**width - 1}:
        assert _kernel.count_levels(run, width, count, level) == levels.count(level)
    assert _kernel.count_levels(run, width, count, 2**width) == 0


def test_hybrid_by_hand() -> None:
    # The specification's example: the numbers 0 to 7 in three bits.
    packed = bytes([0b00000011, 0b10001000, 0b11000110, 0b11111010])
    for level in range(8):
        assert _kernel.count_levels(packed, 3, 8, level) == 1
    # Ten ones, then eight levels from the least significant bit, of which five are asked for.
    runs = bytes([10 << 1, 1, 1 << 1 | 1, 0b11100101])
    assert _kernel.count_levels(runs, 1, 15, 1) == 10 + 2
    assert _kernel.count_levels(runs, 1, 15, 0) == 3
    assert _kernel.count_levels(runs, 1, 18, 1) == 10 + 5


def test_the_last_group_may_be_cut(memory_end: MemoryEnd) -> None:
    run = spec.packed_run([1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1], 2)
    assert len(run) == 5
    assert _kernel.count_levels(memory_end.place(run[:4]), 2, 11, 1) == 8
    assert _kernel.decode_hybrid(memory_end.place(run[:4]), 2, 11).tolist() == [
        *(1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1)
    ]
    with pytest.raises(ValueError, match=r"^levels: the bytes end before 13 levels$"):
        _kernel.count_levels(memory_end.place(run[:4]), 2, 13, 1)
    early = r"^levels or dictionary indices: the bytes end before 13 of them$"
    with pytest.raises(ValueError, match=early):
        _kernel.decode_hybrid(memory_end.place(run[:4]), 2, 13)


@pytest.mark.parametrize("length", [2**14, 2**21, 2**27])
def test_long_runs(length: int) -> None:
    assert _kernel.count_levels(spec.rle_run(1, length, 1), 1, length, 1) == length
    assert _kernel.count_levels(spec.rle_run(1, length, 1), 1, length - 1, 1) == length - 1


@given(hybrids(), st.data())
def test_a_hybrid_that_ends_too_early(
    memory_end: MemoryEnd, encoded: tuple[bytes, int, int], data: st.DataObject
) -> None:
    runs, width, held = encoded
    count = held + data.draw(st.integers(1, 100))
    with pytest.raises(ValueError, match=f"^levels: the bytes end before {count} levels$"):
        _kernel.count_levels(memory_end.place(runs), width, count, 1)


Count = Callable[..., int]
Decode = Callable[[bytes, int, int], list[int]]


def agree_on_anything(
    count_levels: Count, decode: Decode, memory: MemoryEnd, data: bytes, width: int, count: int
) -> None:
    try:
        levels = decode(data, width, count)
    except IndexError:
        with pytest.raises(ValueError, match=f"^levels: the bytes end before {count} levels$"):
            count_levels(memory.place(data), width, count, 1)
    else:
        for level in {0, 1, *levels[:3]}:
            assert count_levels(memory.place(data), width, count, level) == levels.count(level)


@given(st.binary(max_size=60), widths, st.integers(0, 300))
def test_hybrid_of_random_bytes(memory_end: MemoryEnd, data: bytes, width: int, count: int) -> None:
    agree_on_anything(_kernel.count_levels, spec.decode_hybrid, memory_end, data, width, count)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 1),
        (b"\x80", 1),  # a header without end
        (b"\x02", 1),  # a run without its level
        (b"\x03", 1),  # groups without their levels
        (b"\0\0", 1),  # a run of nothing
        (b"\x01", 1),  # no groups
        (b"\x01" * 1000, 1),
        (b"\xff\xff\xff\xff\x0f\xff", 2**31 - 1),  # 2^31 - 1 groups
        (b"\xff\xff\xff\xff\x7f\xff", 2**31 - 1),
        (b"\xfc\xff\xff\xff\x0f\x01", 2**31 - 1),  # 2^31 - 2 times a level
        (b"\xff\xff\xff\xff\xff\x01\xff", 1),  # a header of six bytes
        (b"\x80" * 100, 1),
    ],
)
def test_hostile_hybrids(memory_end: MemoryEnd, data: bytes, count: int) -> None:
    with pytest.raises(ValueError, match=f"^levels: the bytes end before {count} levels$"):
        _kernel.count_levels(memory_end.place(data), 1, count, 1)


def test_a_run_longer_than_a_page_counts_only_the_page() -> None:
    assert _kernel.count_levels(b"\xfe\xff\xff\xff\x0f\x01", 1, 1000, 1) == 1000


# --- BIT_PACKED -----------------------------------------------------------------------------------


@given(widths, st.data())
def test_bit_packed(memory_end: MemoryEnd, width: int, data: st.DataObject) -> None:
    levels = data.draw(st.lists(st.integers(0, 2**width - 1), max_size=100))
    level = occurring(data, levels, width)
    packed = spec.bit_packed(levels, width)
    count = _kernel.count_bit_packed_levels(memory_end.place(packed), width, len(levels), level)
    assert count == levels.count(level)


def test_bit_packed_by_hand() -> None:
    # The specification's example: the numbers 0 to 7 in three bits.
    packed = bytes([0b00000101, 0b00111001, 0b01110111])
    for level in range(8):
        assert _kernel.count_bit_packed_levels(packed, 3, 8, level) == 1
    assert _kernel.count_bit_packed_levels(b"\xc0", 1, 3, 1) == 2


@given(st.binary(max_size=60), widths, st.integers(0, 600))
def test_bit_packed_of_random_bytes(
    memory_end: MemoryEnd, data: bytes, width: int, count: int
) -> None:
    agree_on_anything(
        _kernel.count_bit_packed_levels, spec.decode_bit_packed, memory_end, data, width, count
    )


OVERFLOWING = """
from parquet_bloom.native import _kernel
try:
    _kernel.count_bit_packed_levels(bytes(1), 32, {count}, 0)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("count", [2**31, 2**58, 2**59, 2**62, 2**63 - 1])
def test_a_count_whose_bits_overflow(count: int) -> None:
    """In a process of its own: what is wrong here reads far outside of the buffer."""
    command = [sys.executable, "-c", OVERFLOWING.format(count=count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"levels: {count} of 32 bits\n")


# --- both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count_levels", [_kernel.count_levels, _kernel.count_bit_packed_levels])
@pytest.mark.parametrize(
    ("width", "count"), [(0, 1), (33, 1), (-1, 1), (1, -1), (64, 0), (1, 2**31)]
)
def test_impossible_widths_and_counts(count_levels: Count, width: int, count: int) -> None:
    with pytest.raises(ValueError, match=f"^levels: {count} of {width} bits$"):
        count_levels(b"\0", width, count, 0)


@pytest.mark.parametrize("count_levels", [_kernel.count_levels, _kernel.count_bit_packed_levels])
def test_no_levels_need_no_bytes(count_levels: Count) -> None:
    assert count_levels(b"", 1, 0, 1) == 0
