"""Filters that are read together are described and judged as those that are read one by one."""

import pytest
from conftest import FIXTURES

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.filters import describe
from parquet_bloom.parquet.filters.ordinary import NONE, read_ordinary
from parquet_bloom.rules import examine_parquet

WITHOUT_KEYS = [
    path for path in sorted(FIXTURES.glob("*.parquet")) if not path.stem.startswith("encrypted")
]


def one_by_one(file, row_group, leaves):
    return NONE


@pytest.mark.parametrize("path", WITHOUT_KEYS, ids=lambda path: path.stem)
def test_same_reports(monkeypatch, path):
    together = pb.inspect(path), pb.validate(path, deep=False)
    monkeypatch.setattr(describe, "read_ordinary", one_by_one)
    monkeypatch.setattr(examine_parquet, "read_ordinary", one_by_one)
    assert together == (pb.inspect(path), pb.validate(path, deep=False))


def test_they_are_found():
    with open_file(FIXTURES / "pyarrow_filters.parquet") as file:
        footer = file.footer
        assert footer.num_row_groups
        for row_group in range(footer.num_row_groups):
            found = read_ordinary(file, row_group, footer.leaves)
            offsets = {leaf.index: footer.chunk(row_group, leaf) for leaf in footer.leaves}
            assert {
                index: chunk.bloom_filter_offset
                for index, chunk in offsets.items()
                if chunk.bloom_filter_offset is not None
            } == {
                index: found.get(index).offset for index in offsets if found.get(index) is not None
            }
