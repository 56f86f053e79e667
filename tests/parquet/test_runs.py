"""Runs hand out the bytes that they hash, in the same order, whatever their layout."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make.pages import byte_arrays

from parquet_bloom.errors import PageError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.pages import runs
from parquet_bloom.parquet.pages.runs import FixedRun, PrefixedRun, Run, SlicedRun


def check_run(run: Run, values: list[bytes]) -> None:
    assert list(run.values()) == values
    assert all(type(value) is bytes for value in run.values())
    assert len(run) == len(values)
    assert run.hashes().tolist() == [_kernel.xxh64(value) for value in values]
    anywhere = [*range(0, len(values), 2), *range(len(values))[::-1]]
    assert list(run.take(anywhere)) == [values[position] for position in anywhere]


@given(st.integers(1, 20), st.data())
def test_fixed(width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.binary(min_size=width, max_size=width), max_size=20))
    check_run(FixedRun(memoryview(b"".join(values)), width), values)


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_prefixed(values: list[bytes]) -> None:
    check_run(PrefixedRun(memoryview(byte_arrays(*values))), values)


def test_parts_of_prefixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many values as there are said to be, whatever follows; damage is where it is in the whole."""
    monkeypatch.setattr(runs, "PART_BYTES", 0)
    monkeypatch.setattr(runs, "PART_VALUES", 2)
    values = [b"a", b"", b"ccc", b"dd", b"e"]
    whole = memoryview(byte_arrays(*values) + bytes(3))
    found = [[*part.values()] for part in PrefixedRun(whole, 5).parts()]
    assert found == [values[:2], values[2:4], values[4:]]
    with pytest.raises(PageError, match=r"^BYTE_ARRAY: the value at byte 27 runs past the end$"):
        next(PrefixedRun(whole).parts())


@given(st.lists(st.binary(max_size=40), max_size=20), st.binary(max_size=5))
def test_sliced(values: list[bytes], before: bytes) -> None:
    """The first offset need not be 0: pyarrow hands out slices."""
    offsets = np.cumsum([len(before), *map(len, values)], dtype=np.int64)
    check_run(SlicedRun(memoryview(before + b"".join(values) + b"after"), offsets), values)


def test_values_outlive_the_page() -> None:
    page = bytearray(b"\1\0\0\0a\1\0\0\0b")
    values = list(PrefixedRun(memoryview(page)).values())
    page[:] = bytes(len(page))
    assert values == [b"a", b"b"]


@pytest.mark.parametrize("cut", [1, 3, 4, 5])
def test_a_value_past_the_end_is_damage(cut: int) -> None:
    run = PrefixedRun(memoryview(byte_arrays(b"whole", b"ab")[:-cut]))
    with pytest.raises(PageError, match="the value at byte 9 runs past the end"):
        list(run.values())
    with pytest.raises(PageError, match="the value at byte 9 runs past the end"):
        list(run.take([0]))
    with pytest.raises(PageError, match="the value at byte 9 runs past the end"):
        run.hashes()


def test_a_length_beyond_everything_is_damage() -> None:
    with pytest.raises(PageError, match="the value at byte 0 runs past the end"):
        list(PrefixedRun(memoryview(b"\xff\xff\xff\xffab")).values())


@pytest.mark.parametrize(
    ("stored", "normalized"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((0, 60, 0), (2, 0, 0)),
        ((1, 29, 86_400_000), (2, 0, 0)),
        ((5, 31, 3 * 86_400_000 + 7), (6, 4, 7)),
        ((0, 0, 2**32 - 1), (1, 19, (2**32 - 1) % 86_400_000)),
        ((2**32 - 1, 30, 0), (0, 0, 0)),
    ],
)
def test_intervals_carry_whole_days_and_months(stored, normalized):
    """As DuckDB 2.0 hashes them; tests/parquet/test_interop.py asks it."""
    data = struct.pack("<3I", *stored) * 2
    run = FixedRun(memoryview(data), 12).normalized_intervals()
    assert list(run.values()) == [struct.pack("<3I", *normalized)] * 2


def test_a_run_without_values_is_another_one():
    """Of a chunk of nothing but nulls."""
    assert list(FixedRun(memoryview(b""), 12).normalized_intervals().values()) == []
    assert list(FixedRun(memoryview(b""), 2).widened_halves().values()) == []
