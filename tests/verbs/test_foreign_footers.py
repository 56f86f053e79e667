"""Footers with what other writers put there: nothing of it is lost, or contradicted by an edit."""

from pathlib import Path

import pyarrow as pa
import pytest
from make.footers import footer_start, with_extension, with_file_type, with_meta_field
from make.parquet_files import written

import parquet_bloom as pb
from parquet_bloom.parquet.footer import compact

TABLE = pa.table({"a": list(range(100)), "b": list(range(100))})
A_LIST = (compact.TYPE_LIST, bytes([1 << 4 | compact.TYPE_I32, 2]))
SOME_BYTES = (compact.TYPE_BINARY, b"\4abcd")
SECOND_FOOTER = (
    "footer: field 32767 is an extension, such as a second footer in FlatBuffers, which an edited"
    " footer would contradict"
)


def saved(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "foreign.parquet"
    path.write_bytes(data)
    return path


def refused(call, path, message):
    data = path.read_bytes()
    with pytest.raises(pb.UnsupportedError) as caught:
        call()
    assert str(caught.value) == f"{path}: {message}"
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


# --- fields of ColumnMetaData ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "name", "value", "found"),
    [
        (15, "bloom_filter_length", A_LIST, "a list"),
        (14, "bloom_filter_offset", A_LIST, "a list"),
        (14, "bloom_filter_offset", SOME_BYTES, "bytes"),
        (15, "bloom_filter_length", (1, b""), "a boolean"),
    ],
)
def test_a_field_of_another_type_is_not_replaced(tmp_path, number, name, value, found):
    path = saved(tmp_path, with_meta_field(written(TABLE), number, value))
    message = (
        f"row group 0, column a: ColumnMetaData field {number}, {name}: expected an integer, found"
        f" {found}, which would be lost"
    )
    for options in ({}, {"existing": "replace"}, {"dry_run": True}):
        refused(lambda o=options: pb.build(path, in_place=True, columns=["a"], **o), path, message)
    murmur3 = pb.Murmur3(publish_offset=True)
    refused(lambda: pb.build(path, in_place=True, columns=["a"], dialect=murmur3), path, message)


def test_other_columns_are_built_and_stripped_beside_it(tmp_path):
    data = with_meta_field(written(TABLE), 15, A_LIST)
    path = saved(tmp_path, data)
    pb.build(path, in_place=True, columns=["b"])
    assert path.read_bytes() != data
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


def test_strip_refuses_to_drop_a_list_beside_an_offset(tmp_path):
    path = saved(tmp_path, written(TABLE))
    pb.build(path, in_place=True, columns=["a"])
    path.write_bytes(with_meta_field(path.read_bytes(), 15, A_LIST))
    message = (
        "row group 0, column a: ColumnMetaData field 15, bloom_filter_length: expected an integer,"
        " found a list, which would be lost"
    )
    refused(lambda: pb.strip(path, in_place=True), path, message)


def test_statistics_of_another_type_are_not_replaced(tmp_path):
    path = saved(tmp_path, with_meta_field(written(TABLE), 12, A_LIST))
    dialect = pb.StatisticsFilter()
    message = (
        "row group 0, column a: ColumnMetaData field 12, statistics: expected a struct, found a"
        " list, which would be lost"
    )
    refused(lambda: pb.build(path, in_place=True, columns=["a"], dialect=dialect), path, message)


# --- a second footer ------------------------------------------------------------------------------


def test_a_footer_with_an_extension_is_not_edited(tmp_path):
    path = saved(tmp_path, written(TABLE))
    pb.build(path, in_place=True, columns=["a"])
    path.write_bytes(with_extension(path.read_bytes()))
    for call in (
        lambda: pb.build(path, in_place=True, columns=["b"]),
        lambda: pb.build(path, in_place=True, columns=["b"], dialect=pb.Murmur3()),
        lambda: pb.build(path, in_place=True, columns=["b"], dialect=pb.StatisticsFilter()),
        lambda: pb.strip(path, in_place=True),
        lambda: pb.repair(path, in_place=True, rebuild=True),
    ):
        refused(call, path, SECOND_FOOTER)


def test_a_footer_with_an_extension_is_read(tmp_path):
    path = saved(tmp_path, written(TABLE))
    pb.build(path, in_place=True, columns=["a"])
    path.write_bytes(with_extension(path.read_bytes()))
    assert [each.verdict for each in pb.probe(path, "a", [5, 1000]).results] == ["maybe", "absent"]
    [found] = pb.validate(path).findings
    assert (found.rule, found.place, found.column) == ("PB117", None, None)
    assert found.message == (
        "field 32767 of the footer is an extension, such as a second footer in FlatBuffers: whether"
        " it agrees about filters is not checked, and the file cannot be changed"
    )


# --- the logical type FILE ------------------------------------------------------------------------


def test_bytes_that_values_refer_to_are_not_moved(tmp_path):
    path = saved(tmp_path, with_file_type(written(TABLE)))
    refused(
        lambda: pb.build(path, in_place=True, columns=["a"], dialect=pb.Murmur3(placement="chunk")),
        path,
        "has a column of type FILE, whose values may refer to bytes of the file: filters in front"
        " of the pages would move them",
    )
    data = path.read_bytes()
    pb.build(path, in_place=True, columns=["a"])
    assert path.read_bytes()[: footer_start(data)] == data[: footer_start(data)]
    assert [found.rule for found in pb.validate(path).findings] == ["PB118"]
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


def test_other_logical_types_are_no_references(tmp_path):
    path = saved(tmp_path, written(pa.table({"a": ["\x0c\x26\0\0"], "b": [0x26]})))
    pb.build(path, in_place=True, columns=["a"], dialect=pb.Murmur3(placement="chunk"))
    assert pb.validate(path).findings == ()
