"""Pages in encodings that nobody here can read: their chunk is passed over, the others are not."""

from pathlib import Path

import pytest
from make.filters import bits_of, stored_filter, with_filter_bytes
from make.pages import HONEST, data_page
from make.parquet_files import Column, forge

import parquet_bloom as pb
from parquet_bloom.parquet.thrift.ttypes import Encoding

# One that the format names and pyarrow calls damage, and one without a name.
UNKNOWN = {Encoding.ALP: "encoding ALP is not supported", 77: "encoding 77 is not supported"}


def mixed(tmp_path: Path, encoding: int) -> Path:
    """`id` can be read, `price` cannot."""
    path = tmp_path / "mixed.parquet"
    pages = [data_page(bytes(24), 3, encoding)]
    path.write_bytes(forge(Column([HONEST], 3, "id"), Column(pages, 3, "price")))
    return path


@pytest.mark.parametrize("encoding", UNKNOWN)
@pytest.mark.parametrize("dialect", [None, pb.Murmur3(), pb.StatisticsFilter()])
def test_the_other_columns_get_their_filters(tmp_path, encoding, dialect):
    path = mixed(tmp_path, encoding)
    report = pb.build(path, in_place=True, columns=["id", "price"], dialect=dialect)
    assert [each.column for each in report.filters] == ["id"]
    [skipped] = report.skipped
    assert (skipped.row_group, skipped.column) == (0, "price")
    assert skipped.reason == UNKNOWN[encoding]


@pytest.mark.parametrize("encoding", UNKNOWN)
def test_advice_skips_the_column(tmp_path, encoding):
    report = pb.advise(mixed(tmp_path, encoding))
    reasons = {each.column: each.reason for each in report.columns}
    assert reasons["price"] == f"row group 0, column price: {UNKNOWN[encoding]}"
    assert reasons["id"] != ""
    assert report.columns[0].eligible


@pytest.mark.parametrize("encoding", UNKNOWN)
def test_its_pages_are_not_called_damaged(tmp_path, encoding):
    """A filter that another writer has made of them."""
    path = mixed(tmp_path, encoding)
    path.write_bytes(with_filter_bytes(path.read_bytes(), 0, 1, stored_filter(bits_of([1, 2], 2))))
    [found] = pb.validate(path).findings
    assert (found.rule, found.severity, found.column) == ("PB408", "note", "price")
    assert found.message == f"the values were not looked up: {UNKNOWN[encoding]}"
    data = path.read_bytes()
    pb.repair(path, in_place=True, rebuild=True)
    assert path.read_bytes() == data
