"""The byte ranges of a file: every question against all ranges, one by one."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import layout

from parquet_bloom.native import _kernel

END = 60
numbers = st.integers(0, END + 3) | st.sampled_from(
    [_kernel.ABSENT, _kernel.ABSENT + 1, -1, 2**62, 2**63 - 1]
)
chunks = st.fixed_dictionaries(
    {
        name: st.sampled_from([0, 0, 0, 1]) if name.startswith("has_") else numbers
        for name in _kernel.CHUNK_FIELDS
    }
)
kinds = st.lists(st.sampled_from(list(layout.KINDS)), min_size=1, unique=True)


@given(st.lists(chunks, max_size=4), kinds, st.integers(-2, END + 5), st.integers(0, END))
def test_every_question(found, kinds, start, length):
    end = start + length
    table = array("q", [chunk[name] for chunk in found for name in _kernel.CHUNK_FIELDS])
    ranges = _kernel.Ranges(table, END, *kinds)
    expected = sorted(
        (low, min(high, 2**63 - 1))
        for kind in kinds
        for chunk in found
        for low, high in layout.KINDS[kind](chunk, END)
    )
    sharing = [each for each in expected if layout.overlap(each, start, end)]
    assert ranges.last == max((high for _, high in expected), default=0)
    assert ranges.sharing(start, end) == sharing
    assert ranges.overlap(start, end) == bool(sharing)
    assert ranges.num_at(start) == sum(low == start for low, _ in expected)


@given(st.lists(chunks, min_size=1, max_size=4), kinds, st.data())
def test_one_of_them_among_the_others(found, kinds, data):
    table = array("q", [chunk[name] for chunk in found for name in _kernel.CHUNK_FIELDS])
    ranges = _kernel.Ranges(table, END, *kinds)
    expected = ranges.sharing(-(2**63), 2**63 - 1)
    some = [each for each in expected if each[0] < each[1] < 2**63 - 1]
    if some:
        one = data.draw(st.sampled_from(some))
        others = list(expected)
        others.remove(one)
        assert ranges.overlap_another(*one) == any(layout.overlap(each, *one) for each in others)


def test_numbers_beyond_any_file():
    ranges = _kernel.Ranges(array("q"), END, "pages", "indexes", "filters")
    assert (ranges.last, ranges.overlap(0, 2**70), ranges.sharing(-(2**70), 2**70)) == (
        0,
        False,
        [],
    )


def test_unknown_kind():
    with pytest.raises(ValueError, match=r"^kind: 'gaps', expected pages, indexes or filters$"):
        _kernel.Ranges(array("q"), END, "gaps")
