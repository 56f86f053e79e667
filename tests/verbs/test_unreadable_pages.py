"""Pages with a codec or in an encoding that nothing here can read: their chunk is passed over, others are not."""

from pathlib import Path

import pytest
from make.filters import bits_of, stored_filter, with_filter_bytes
from make.pages import HONEST, data_page, dictionary_page, levels_v1
from make.parquet_files import Column, forge
from oracle.specification import rle_run

import parquet_bloom as pb
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
)

# Those that the format names, and some without a name.
UNREADABLE = {
    "encoding 11": {"encoding": 11},
    "encoding 77": {"encoding": 77},
    "codec LZO": {"codec": CompressionCodec.LZO},
    "codec 99": {"codec": 99},
}
each_way = pytest.mark.parametrize("unreadable", UNREADABLE)


def mixed(tmp_path: Path, unreadable: str) -> Path:
    """`id` can be read, `price` cannot."""
    path, how = tmp_path / "mixed.parquet", UNREADABLE[unreadable]
    pages = [data_page(bytes(24), 3, how.get("encoding", Encoding.PLAIN))]
    codec = {"codec": how["codec"]} if "codec" in how else {}
    path.write_bytes(forge(Column([HONEST], 3, "id"), Column(pages, 3, "price", meta=codec)))
    return path


@each_way
@pytest.mark.parametrize("dialect", [None, pb.Murmur3(), pb.StatisticsFilter()])
def test_the_other_columns_get_their_filters(tmp_path, unreadable, dialect):
    path = mixed(tmp_path, unreadable)
    report = pb.build(path, in_place=True, columns=["id", "price"], dialect=dialect)
    assert [each.column for each in report.filters] == ["id"]
    [skipped] = report.skipped
    assert (skipped.row_group, skipped.column) == (0, "price")
    assert skipped.reason == f"{unreadable} is not supported"


@each_way
def test_advice_skips_the_column(tmp_path, unreadable):
    report = pb.advise(mixed(tmp_path, unreadable))
    reasons = {each.column: each.reason for each in report.columns}
    assert reasons["price"] == f"row group 0, column price: {unreadable} is not supported"
    assert reasons["id"] != ""
    assert report.columns[0].eligible


@each_way
def test_its_pages_are_not_called_damaged(tmp_path, unreadable):
    """A filter that another writer has made of them."""
    path = mixed(tmp_path, unreadable)
    path.write_bytes(with_filter_bytes(path.read_bytes(), 0, 1, stored_filter(bits_of([1, 2], 2))))
    [found] = (each for each in pb.validate(path).findings if each.rule != "PB128")
    assert (found.rule, found.severity, found.column) == ("PB408", "note", "price")
    assert found.message == f"the values were not looked up: {unreadable} is not supported"
    data = path.read_bytes()
    pb.repair(path, in_place=True, rebuild=True)
    assert path.read_bytes() == data


DICTIONARIES = {
    "encoding 11 is": dictionary_page(bytes(24), 3, encoding=11),
    "encoding 77 is": dictionary_page(bytes(24), 3, encoding=77),
}
LEVELS = data_page(levels_v1(rle_run(1, 3, 1)) + bytes(24), 3, levels=77)
OPTIONAL = FieldRepetitionType.OPTIONAL


@pytest.mark.parametrize(
    ("what", "price"),
    [
        *(
            (what, Column([page, data_page(bytes(2), 3, Encoding.RLE_DICTIONARY)], 3, "price"))
            for what, page in DICTIONARIES.items()
        ),
        ("levels in encoding 77 are", Column([LEVELS], 3, "price", repetition=OPTIONAL)),
    ],
)
def test_dictionaries_and_levels_that_nobody_knows(tmp_path, what, price):
    path = tmp_path / "mixed.parquet"
    path.write_bytes(forge(Column([HONEST], 3, "id"), price))
    reasons = {each.column: each.reason for each in pb.advise(path).columns}
    assert reasons["price"] == f"row group 0, column price: {what} not supported"
    report = pb.build(path, in_place=True, columns=["id", "price"])
    assert [each.column for each in report.filters] == ["id"]
    assert [each.reason for each in report.skipped] == [f"{what} not supported"]


@each_way
@pytest.mark.parametrize("append", [False, True])
def test_a_filter_that_cannot_be_made_again_stays(tmp_path, unreadable, append):
    """Another writer's may be right."""
    path, how = tmp_path / "mixed.parquet", UNREADABLE[unreadable]
    meta = {"encodings": [how["encoding"]]} if "encoding" in how else how
    pages = [data_page(bytes(24), 3, how.get("encoding", Encoding.PLAIN))]
    data = forge(Column([HONEST], 3, "id"), Column(pages, 3, "price", meta=meta))
    path.write_bytes(with_filter_bytes(data, 0, 1, stored_filter(bits_of([1, 2], 2))))
    bitset = pb.dump(path, "price", 0).bitset
    where = {"append_in_place": True} if append else {"in_place": True}
    report = pb.build(path, columns=["id", "price"], existing="replace", **where)
    assert [each.column for each in report.filters] == ["id"]
    reason = f"{unreadable} is not supported; what is there stays"
    assert [each.reason for each in report.skipped] == [reason]
    assert pb.dump(path, "price", 0).bitset == bitset


@pytest.mark.parametrize("layout", ["replace", "append"])
def test_a_filter_stays_whose_pages_turn_out_to_be_unreadable(tmp_path, layout):
    """The footer does not say so."""
    path, out = tmp_path / "mixed.parquet", tmp_path / "out.parquet"
    data = forge(Column([HONEST], 3, "id"), Column([LEVELS], 3, "price", repetition=OPTIONAL))
    path.write_bytes(with_filter_bytes(data, 0, 1, stored_filter(bits_of([1, 2], 2))))
    bitset = pb.dump(path, "price", 0).bitset
    report = pb.build(path, out, columns=["id", "price"], existing="replace", layout=layout)
    assert [each.column for each in report.filters] == ["id"]
    reason = "levels in encoding 77 are not supported; what is there stays"
    assert [each.reason for each in report.skipped] == [reason]
    assert pb.dump(out, "price", 0).bitset == bitset
