"""Files that other readers read although their writers did not keep to the format."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SHARED, missing
from make.footers import edited
from make.pages import byte_arrays, compressed, data_page, dictionary_page, int64s, levels_v1
from make.parquet_files import forged, written
from oracle.specification import rle_run

import parquet_bloom as pb
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    Type,
)

ODD = SHARED / "data" / "odd"
DOUBT = "footer: the row groups hold 6 rows, the file 0"


def odd(name):
    if not ODD.exists():
        missing("../shared/data/odd")
    return ODD / name


def test_pages_that_deny_their_compression(tmp_path):
    path, out = odd("ARROW-17100.parquet"), tmp_path / "out.parquet"
    pb.build(path, out, columns=["col1", "col2", "col3", "col4"])
    table = pq.read_table(path)
    assert table.num_rows == 5
    for name in table.column_names:
        results = pb.probe(out, name, table[name].to_pylist()).results
        assert {each.verdict for each in results} == {"maybe"}
    assert not {each.rule for each in pb.validate(out).findings} & {"PB116", "PB401", "PB408"}


def test_pages_that_end_before_the_footer_says(tmp_path):
    path, out = odd("alltypes_empty_pages.parquet"), tmp_path / "out.parquet"
    pb.build(path, out, columns=["string_col"])
    results = pb.probe(out, "string_col", [str(n) for n in range(12)]).results
    assert [each.verdict for each in results] == ["maybe"] * 10 + ["absent"] * 2


def test_another_page_with_values_is_not_left_out(tmp_path):
    pages = [data_page(byte_arrays(b"a"), 1), data_page(byte_arrays(b"b"), 1)]
    path = forged(tmp_path / "x.parquet", pages, 1)
    with pytest.raises(pb.PageError, match="pages end at"):
        pb.build(path, columns=["values"], in_place=True)


def test_an_empty_page_at_the_end(tmp_path):
    pages = [data_page(byte_arrays(b"a"), 1), data_page(b"", 0)]
    path = forged(tmp_path / "x.parquet", pages, 1)
    pb.build(path, columns=["values"], in_place=True)
    results = pb.probe(path, "values", ["a", "b"]).results
    assert [each.verdict for each in results] == ["maybe", "absent"]


def test_another_dictionary_does_not_take_the_place_of_the_first(tmp_path):
    pages = []
    for value in (b"a", b"b"):
        plain = byte_arrays(value)
        body = compressed(CompressionCodec.SNAPPY, plain)
        pages.append(dictionary_page(body, 1, uncompressed_page_size=len(plain)))
        indices = bytes([1]) + rle_run(0, 2, 1)
        body = compressed(CompressionCodec.SNAPPY, indices)
        size = len(indices)
        pages.append(data_page(body, 2, Encoding.RLE_DICTIONARY, uncompressed_page_size=size))
    path = forged(tmp_path / "x.parquet", pages, 4, codec=CompressionCodec.SNAPPY)
    pb.build(path, columns=["values"], in_place=True)
    results = pb.probe(path, "values", ["a", "b", "c"]).results
    assert [each.verdict for each in results] == ["maybe", "maybe", "absent"]


def test_columns_that_cannot_be_read_are_skipped_with_their_reason(tmp_path):
    path, out = odd("nested-unsigned-malformed.parquet"), tmp_path / "out.parquet"
    reasons = {each.column: (each.verdict, each.reason) for each in pb.advise(path).columns}
    assert reasons["g.c1"] == (
        "skip",
        "row group 0, column g.c1: num_values is 4, expected 2",
    )
    assert reasons["a"][1] != reasons["g.c1"][1]
    pb.build(path, out, columns=["a", "m1.key_value.key"])
    with pytest.raises(pb.FormatError, match=r"g\.c1: num_values is 4, expected 2"):
        pb.build(path, tmp_path / "none.parquet", columns=["a", "g.c1"])


def test_rows_that_do_not_add_up(tmp_path):
    def edit(footer):
        footer.num_rows = 0

    path = tmp_path / "x.parquet"
    path.write_bytes(edited(written(pa.table({"a": list(range(6))})), edit))
    report = pb.build(path, columns=["a"], in_place=True)
    assert report.notes == (f"{DOUBT}: `probe` will answer `unknown`",)
    assert [each.num_filters for each in report.filters] == [1]
    for values in ([0, 100], list(range(300))):
        results = pb.probe(path, "a", values).results
        assert {(each.verdict, each.groups[0].reason) for each in results} == {("unknown", DOUBT)}
    assert [(each.rule, each.message) for each in pb.validate(path).findings] == [("PB115", DOUBT)]


def test_bytes_after_the_last_value(tmp_path):
    """HVR left two bytes behind an empty DECIMAL, which is zero; pyarrow reads neither."""
    path, out = odd("byte_array_decimal_empty_value.parquet"), tmp_path / "out.parquet"
    pb.build(path, out, columns=["value"])
    values = [Decimal(number) for number in range(25)]
    results = pb.probe(out, "value", values).results
    assert [each.verdict for each in results] == ["maybe"] * 24 + ["absent"]
    assert {each.rule for each in pb.validate(out).findings} == {"PB208"}


@pytest.mark.parametrize("rest", [b"", b"x", b"xyz", bytes(14), b"\1\0\0\0x", b"\1\0\0\0"])
def test_what_follows_the_last_value_is_none(tmp_path, rest):
    page = data_page(byte_arrays(b"a", b"bc") + rest, 2)
    path = forged(tmp_path / "x.parquet", [page], 2)
    pb.build(path, columns=["values"], in_place=True)
    results = pb.probe(path, "values", ["a", "bc", "", "x"]).results
    assert [each.verdict for each in results] == ["maybe", "maybe", "absent", "absent"]
    assert pq.read_table(path)["values"].to_pylist() == [b"a", b"bc"]


def test_a_value_that_is_cut_is_damage(tmp_path):
    page = data_page(byte_arrays(b"a") + b"\5\0\0\0bc", 2)
    path = forged(tmp_path / "x.parquet", [page], 2)
    with pytest.raises(pb.PageError, match="runs past the end"):
        pb.build(path, columns=["values"], in_place=True)


def test_a_right_filter_of_padded_pages_is_right(tmp_path):
    """fastparquet's zeros are no empty texts that the filter lacks."""
    path, out = padded(), tmp_path / "out.parquet"
    pb.build(path, out, columns=["Limit type"])
    results = pb.probe(out, "Limit type", ["DEPOSIT", "TRADING", ""]).results
    assert [each.verdict for each in results] == ["maybe", "maybe", "absent"]
    report = pb.validate(out)
    assert report.checked.values == pq.read_metadata(path).num_rows == 126
    assert not {each.rule for each in report.findings} & {"PB116", "PB401", "PB408"}
    assert pb.repair(out, tmp_path / "repaired.parquet", drop_bad=True).repaired == ()


def padded():
    path = SHARED / "repro" / "fastparquet_padding.parquet"
    if not path.exists():
        missing("../shared/repro")
    return path


def test_a_page_without_the_values_that_it_promises(tmp_path):
    """pyarrow and DuckDB read none of it."""
    page = data_page(levels_v1(rle_run(1, 100, 1)) + int64s(*range(40)), 100)
    form = {"type": Type.INT64, "repetition": FieldRepetitionType.OPTIONAL}
    path = forged(tmp_path / "x.parquet", [page], 100, **form)
    with pytest.raises(pb.PageError, match=r"page at \d+: 40 values, expected 100"):
        pb.build(path, columns=["values"], in_place=True)
    with pytest.raises(OSError, match="Unexpected end of stream"):
        pq.read_table(path)
