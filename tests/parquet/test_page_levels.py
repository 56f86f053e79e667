"""Levels one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import specification as spec

from parquet_bloom.errors import PageError
from parquet_bloom.parquet.pages.pages import Levels


@given(st.lists(st.integers(0, 5)))
def test_levels_of_old_files(levels):
    data = memoryview(spec.bit_packed(levels, 3))
    found = Levels(len(levels), 5, data, bit_packed=True)
    assert found.decoded().tolist() == levels
    assert found.num_highest() == levels.count(5)


def test_without_levels_all_are_the_highest():
    assert Levels(3).decoded().tolist() == [0, 0, 0]
    assert Levels(3).num_highest() == 3


@pytest.mark.parametrize("data", [b"", b"\x02\x01", b"\x80", b"\xff" * 12])
def test_what_ends_too_early_is_damage(data):
    with pytest.raises(PageError, match="dictionary indices: the bytes end before 9 of them"):
        Levels(9, 1, memoryview(data)).decoded()
