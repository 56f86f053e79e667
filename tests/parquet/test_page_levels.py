"""Levels and indices one by one, against a decoder that writes every bit down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import specification as spec

from parquet_bloom.errors import PageError
from parquet_bloom.parquet.pages.pages import Levels, hybrid


@st.composite
def runs(draw):
    """Encoded runs, their bit width, and how many values they hold."""
    width = draw(st.integers(1, 32))
    levels = st.integers(0, 2**width - 1)
    data, held = b"", 0
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            length = draw(st.integers(1, 200))
            data, held = data + spec.rle_run(draw(levels), length, width), held + length
        else:
            run = draw(st.lists(levels, min_size=1, max_size=40))
            data, held = data + spec.packed_run(run, width), held + -(-len(run) // 8) * 8
    return data, width, held


@given(runs(), st.data())
def test_the_hybrid(encoded, data):
    stored, width, held = encoded
    count = data.draw(st.integers(0, held))
    wanted = spec.decode_hybrid(stored, width, count)
    assert hybrid(memoryview(stored), width, count).tolist() == wanted


@pytest.mark.parametrize("width", [1, 3, 17, 32])
def test_a_run_that_is_not_unpacked_at_once(width):
    numbers = [at * 2_654_435_761 % 2**width for at in range(136_000)]
    groups = [spec.packed_run(numbers[at : at + 8], width)[1:] for at in range(0, len(numbers), 8)]
    data = memoryview(spec.varint(len(groups) << 1 | 1) + b"".join(groups))
    for count in (65_535, 65_536, 65_537, len(numbers)):
        assert hybrid(data, width, count).tolist() == numbers[:count]


@given(st.lists(st.integers(0, 5)))
def test_levels_of_old_files(levels):
    data = memoryview(spec.bit_packed(levels, 3))
    found = Levels(len(levels), 5, data, bit_packed=True)
    assert found.decoded().tolist() == levels
    assert found.num_highest() == levels.count(5)


def test_without_levels_all_are_the_highest():
    assert Levels(3).decoded().tolist() == [0, 0, 0]
    assert Levels(3).num_highest() == 3


def test_indices_of_no_bits_are_zero():
    assert hybrid(memoryview(bytes([9 << 1])), 0, 9).tolist() == [0] * 9
    assert hybrid(memoryview(bytes([2 << 1 | 1])), 0, 16).tolist() == [0] * 16


@pytest.mark.parametrize("data", [b"", b"\x02\x01", b"\x80", b"\xff" * 12])
def test_what_ends_too_early_is_damage(data):
    with pytest.raises(PageError, match="levels or dictionary indices end too early"):
        hybrid(memoryview(data), 1, 9)
