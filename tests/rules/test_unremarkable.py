"""Filters that are passed over break no rule, and reports do not depend on which are."""

import dataclasses

import numpy as np
import pytest
from conftest import FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from make.defects import ALL
from make.defects_files import sound

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.filters.split_block import SettledFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.ordinary import OrdinaryFilter
from parquet_bloom.rules import examine_parquet, portability
from parquet_bloom.rules.examine import check_view
from parquet_bloom.rules.examine_parquet import UnremarkableFilters
from parquet_bloom.rules.policy import ColumnPolicy, Policy
from parquet_bloom.rules.view import FilterView

WITHOUT_KEYS = [
    path for path in sorted(FIXTURES.glob("*.parquet")) if not path.stem.startswith("encrypted")
]
POLICIES = [None, Policy(max_fpp=1e-4, max_bytes=64), Policy(require=("id",), max_fpp=0.02)]


def pass_none_over(monkeypatch):
    monkeypatch.setattr(UnremarkableFilters, "take", lambda *_: None)


@pytest.mark.parametrize("policy", POLICIES, ids=["no policy", "strict", "some"])
@pytest.mark.parametrize("path", WITHOUT_KEYS, ids=lambda path: path.stem)
def test_reports_of_fixtures_are_the_same(monkeypatch, path, policy):
    report = pb.validate(path, deep=False, policy=policy)
    pass_none_over(monkeypatch)
    assert report == pb.validate(path, deep=False, policy=policy)


@pytest.mark.parametrize("defect", ALL, ids=str)
def test_reports_of_defects_are_the_same(monkeypatch, defect, tmp_path):
    path, policy = defect.make(tmp_path), Policy(**defect.policy or {})
    report = pb.validate(path, deep=False, policy=policy, keys=defect.keys)
    pass_none_over(monkeypatch)
    assert report == pb.validate(path, deep=False, policy=policy, keys=defect.keys)


def test_the_filters_of_a_sound_file_are_passed_over(monkeypatch, tmp_path):
    path = tmp_path / "sound.parquet"
    path.write_bytes(sound())
    monkeypatch.setattr("parquet_bloom.rules.examine_parquet.FilterView", None)
    report = pb.validate(path, deep=False)
    assert report.findings == ()
    assert report.checked.filters == 4


SMALL = st.one_of(st.integers(-2, 40), st.just(_kernel.ABSENT))
FRACTIONS = st.sampled_from([1e-9, 1e-6, 1e-3, 0.0099, 0.02, 0.1, 0.5, 0.999])


@st.composite
def filters(draw):
    """Bits of up to 8 KiB, from none to all set."""
    num_blocks = draw(st.sampled_from([1, 2, 3, 4, 8, 64, 128, 256]))
    share = draw(st.sampled_from([0, 0.01, 0.2, 0.5, 0.73, 0.75, 0.76, 0.8, 1]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    bits = rng.random(256 * num_blocks) < share
    return SettledFilter.from_bytes(np.packbits(bits).tobytes())


@pytest.fixture(scope="module")
def footer():
    with open_file(FIXTURES / "pyarrow_filters.parquet") as file:
        return file.footer


@given(
    filters(), SMALL, SMALL, SMALL, SMALL, st.none() | FRACTIONS, st.none() | st.integers(1, 9000)
)
def test_no_rule_has_anything_to_say_about_them(
    footer, bits, num_values, num_nulls, dictionary, data, max_fpp, max_bytes
):
    policy = ColumnPolicy(max_fpp=max_fpp, max_bytes=max_bytes)
    found = OrdinaryFilter(100, 20 + bits.num_bytes, 20, bits.num_bytes, bits.bits_set, bits.fpp)
    fields = 0, num_values, num_nulls, dictionary, data
    if not examine_parquet._is_unremarkable(found, fields, policy):
        return
    # That the chunk is in another file is said as well.
    assert not examine_parquet._is_unremarkable(found, (1, *fields[1:]), policy)

    def known(number):
        return None if number == _kernel.ABSENT else number

    chunk = footer.chunk(0, footer.leaves[0])
    chunk = dataclasses.replace(chunk, num_values=known(num_values), null_count=known(num_nulls))
    is_there = 0 < dictionary < data
    view = FilterView(
        chunk=chunk,
        place=chunk.place,
        bits=bits,
        policy=policy,
        num_values=chunk.known_non_null,
        dictionary_bytes=data - dictionary if is_there else None,
        max_bits=lambda: 8 * num_values,
    )
    assert check_view(view) == []
    stored = bloom.stored_as_usual(footer, chunk, found)
    assert list(portability.check_header(chunk, stored)) == []
