"""Which dictionary entries a page uses, and where, against a decoder that writes every bit down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.memory_end import MemoryEnd
from oracle import specification as spec

from parquet_bloom.native import _kernel


@st.composite
def hybrids(draw: st.DrawFn) -> tuple[bytes, int, int]:
    """Encoded runs of indices below 300, their bit width and their number, padding included."""
    width = draw(st.integers(0, 32))
    indices = st.integers(0, min(2**width - 1, 299))
    data, count = b"", 0
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            length = draw(st.integers(1, 100))
            data += spec.rle_run(draw(indices), length, width)
            count += length
        else:
            run = draw(st.lists(indices, min_size=1, max_size=30))
            data += spec.packed_run(run, width)
            count += -(-len(run) // 8) * 8
    return data, width, count


def decoded(data: bytes, width: int, count: int) -> list[int] | None:
    """The indices; None for damage. The model takes a number of no bits for text without digits."""
    if width:
        try:
            return spec.decode_hybrid(data, width, count)
        except IndexError:
            return None
    left, at = count, 0
    while left > 0:
        header = data[at:]
        end = next((i for i, byte in enumerate(header[:5]) if byte < 128), None)
        if end is None:
            return None
        number = sum(byte % 128 << 7 * i for i, byte in enumerate(header[: end + 1]))
        if number >> 1 == 0:
            return None
        left -= (number >> 1) * (8 if number % 2 else 1)
        at += end + 1
    return [0] * count


@given(hybrids(), st.data())
def test_used_entries_are_marked(
    memory_end: MemoryEnd, encoded: tuple[bytes, int, int], data: st.DataObject
) -> None:
    runs, width, held = encoded
    count = data.draw(st.integers(0, held))
    used = bytearray(300)
    _kernel.mark_indices(memory_end.place(runs), width, count, used)
    indices = decoded(runs, width, count)
    assert indices is not None
    assert len(indices) == count
    assert [i for i in range(300) if used[i]] == sorted(set(indices))
    assert set(used) <= {0, 1}


@given(st.binary(max_size=40), st.integers(0, 32), st.integers(0, 200), st.integers(0, 40))
def test_hostile_bytes(
    memory_end: MemoryEnd, data: bytes, width: int, count: int, entries: int
) -> None:
    """Marked exactly, or refused; nothing outside `used` is touched."""
    room = bytearray(b"\x02" * (entries + 16))
    room[8 : 8 + entries] = bytes(entries)
    used = memoryview(room)[8 : 8 + entries]
    indices = decoded(data, width, count)
    placed = memory_end.place(data)
    if indices is None:
        with pytest.raises(ValueError, match="bytes end before"):
            _kernel.decode_hybrid(placed, width, count)
    else:
        assert _kernel.decode_hybrid(placed, width, count).tolist() == indices
    if indices is None or any(index >= entries for index in indices):
        with pytest.raises(ValueError, match="dictionary indices"):
            _kernel.mark_indices(placed, width, count, used)
    else:
        _kernel.mark_indices(placed, width, count, used)
        assert [i for i in range(entries) if used[i]] == sorted(set(indices))
    assert room[:8] == room[8 + entries :] == b"\x02" * 8


@pytest.mark.parametrize("width", range(1, 33))
def test_the_last_entry_of_every_width(width: int) -> None:
    top = min(2**width - 1, 999)
    for runs in (spec.packed_run([top, 0], width), spec.rle_run(top, 2, width)):
        used = bytearray(top + 1)
        _kernel.mark_indices(runs, width, 2, used)
        assert used[top] == 1
        with pytest.raises(ValueError, match=f"one is not below {top}"):
            _kernel.mark_indices(runs, width, 2, bytearray(top))


def test_marks_add_up() -> None:
    used = bytearray(4)
    _kernel.mark_indices(spec.rle_run(1, 5, 2), 2, 5, used)
    _kernel.mark_indices(spec.packed_run([3, 3], 2), 2, 2, used)
    assert used == b"\0\1\0\1"


def test_padding_of_the_last_group_is_not_marked() -> None:
    used = bytearray(2)
    _kernel.mark_indices(spec.packed_run([1], 1), 1, 1, used)
    assert used == b"\0\1"


def test_no_index_needs_no_entry() -> None:
    _kernel.mark_indices(b"", 7, 0, bytearray())
    with pytest.raises(ValueError, match="one is not below 0"):
        _kernel.mark_indices(b"\x02", 0, 1, bytearray())


def test_indices_of_no_bits_are_zero() -> None:
    assert _kernel.decode_hybrid(bytes([9 << 1]), 0, 9).tolist() == [0] * 9
    assert _kernel.decode_hybrid(bytes([2 << 1 | 1]), 0, 16).tolist() == [0] * 16
    assert _kernel.decode_hybrid(b"", 7, 0).tolist() == []


@pytest.mark.parametrize(("width", "count"), [(-1, 1), (33, 1), (1, -1), (1, 2**31)])
def test_impossible_numbers(width: int, count: int) -> None:
    with pytest.raises(ValueError, match=f"{count} of {width} bits"):
        _kernel.mark_indices(b"\x02\x00", width, count, bytearray(1))
    with pytest.raises(ValueError, match=f"{count} of {width} bits"):
        _kernel.decode_hybrid(b"\x02\x00", width, count)


def test_marks_need_room_that_can_be_written() -> None:
    with pytest.raises((TypeError, BufferError, ValueError)):
        _kernel.mark_indices(b"\x02\x00", 1, 1, bytes(1))  # type: ignore[arg-type]
