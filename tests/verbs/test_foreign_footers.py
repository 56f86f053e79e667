"""Footers with what other writers put there: nothing of it is lost, or contradicted by an edit."""

from pathlib import Path

import pyarrow as pa
import pytest
from make.commands import outcome
from make.footers import (
    footer_start,
    with_extension,
    with_field,
    with_file_type,
    with_index_past_the_end,
    with_meta,
    with_meta_field,
)
from make.pages import data_page, int64s
from make.parquet_files import Column, built, forge, written

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer import compact

TABLE = pa.table({"a": list(range(100)), "b": list(range(100))})
A_LIST = (compact.TYPE_LIST, bytes([1 << 4 | compact.TYPE_I32, 2]))
SOME_BYTES = (compact.TYPE_BINARY, b"\4abcd")


def saved(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "foreign.parquet"
    path.write_bytes(data)
    return path


def refused(call, path, message, error=pb.UnsupportedError):
    data = path.read_bytes()
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == f"{path}: {message}"
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


# --- fields of ColumnMetaData ---------------------------------------------------------------------


TO_DROP = "`build --drop-foreign-fields` drops it"
LOST_WITHOUT_LENGTH = (
    "which stays: without the length, parquet-java 1.14.0 to 1.15.2 (Spark 4.0, Iceberg 1.9) loses"
    " rows"
)


@pytest.mark.parametrize(("value", "found"), [(A_LIST, "a list"), (SOME_BYTES, "bytes")])
def test_an_offset_has_no_other_place(tmp_path, value, found):
    path = saved(tmp_path, with_meta_field(written(TABLE), 14, value))
    problem = (
        "ColumnMetaData field 14, bloom_filter_offset: expected an integer, found"
        f" {found}, which would be lost"
    )
    message = f"row group 0, column a: {problem}"
    for options in ({}, {"existing": "replace"}, {"dry_run": True}):
        refused(
            lambda o=options: pb.build(path, in_place=True, columns=["a"], **o),
            path,
            f"{message}: {TO_DROP}",
        )
    murmur3 = pb.Murmur3(publish_offset=True)
    refused(lambda: pb.build(path, in_place=True, columns=["a"], dialect=murmur3), path, message)


@pytest.mark.parametrize(("value", "found"), [(A_LIST, "a list"), ((1, b""), "a boolean")])
def test_a_filter_can_do_without_a_length(tmp_path, value, found):
    data = with_meta_field(written(TABLE), 15, value)
    path = saved(tmp_path, data)
    report = pb.build(path, in_place=True, columns=["a"])
    [note] = report.notes
    assert note == (
        f"column a: ColumnMetaData field 15, bloom_filter_length: expected an integer, found {found},"
        f" {LOST_WITHOUT_LENGTH}; {TO_DROP}"
    )
    with open_file(path) as file:
        chunk = file.chunk(0, "a")
        assert file.footer.fields(chunk, [15]) == {15: value}
        assert chunk.bloom_filter_offset == footer_start(data)
    assert [each.verdict for each in pb.probe(path, "a", [5, 1000]).results] == ["maybe", "absent"]
    [missing] = pb.validate(path).findings
    assert (missing.rule, missing.column) == ("PB122", "a")
    pb.repair(path, in_place=True)
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


@pytest.mark.parametrize("number", [14, 15])
def test_what_is_in_the_way_is_dropped_on_request(tmp_path, number):
    data = written(TABLE)
    path = saved(tmp_path, with_meta_field(data, number, A_LIST))
    report = pb.build(path, in_place=True, columns=["a"], drop_foreign_fields=True)
    assert report.notes == ()
    assert pb.validate(path).findings == ()
    expected = tmp_path / "expected.parquet"
    expected.write_bytes(data)
    pb.build(expected, in_place=True, columns=["a"])
    assert path.read_bytes() == expected.read_bytes()
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


def test_checksums_are_ignored_where_something_is_dropped(tmp_path):
    data = forge(Column([data_page(int64s(1), 1, crc=5)], 1))
    path = saved(tmp_path, with_meta_field(data, 14, A_LIST))
    report = pb.build(
        path, in_place=True, columns=["a"], ignore_checksums=True, drop_foreign_fields=True
    )
    assert report.notes == ("column a: wrong checksums of its pages were ignored",)


def test_nothing_is_dropped_where_the_old_end_stays(tmp_path):
    path = saved(tmp_path, with_meta_field(written(TABLE), 14, A_LIST))
    message = (
        "footer: fields of another writer can only be dropped with the layout replace: cut at its"
        " old size, the file would have them again"
    )
    for options in ({"in_place": True, "layout": "append"}, {"append_in_place": True}):
        refused(
            lambda o=options: pb.build(path, columns=["a"], drop_foreign_fields=True, **o),
            path,
            message,
        )
    data = path.read_bytes()
    pb.build(path, in_place=True, columns=["b"], layout="append")
    assert path.read_bytes()[: len(data)] == data


def test_nothing_is_dropped_from_a_file_with_an_old_end(tmp_path):
    path = saved(tmp_path, with_meta_field(written(TABLE), 15, A_LIST))
    pb.build(path, in_place=True, columns=["a"], layout="append")
    message = (
        "footer: fields of another writer cannot be dropped from a file that was appended to: cut"
        " at its"
        " old size, it would have them again: strip it first"
    )
    for layout in (None, "replace"):
        refused(
            lambda chosen=layout: pb.build(
                path, in_place=True, columns=["b"], layout=chosen, drop_foreign_fields=True
            ),
            path,
            message,
        )
    pb.strip(path, in_place=True)
    pb.build(path, in_place=True, columns=["a", "b"], drop_foreign_fields=True)
    assert pb.validate(path).findings == ()
    pb.strip(path, in_place=True)
    assert path.read_bytes() == written(TABLE)


def test_what_build_would_refuse_is_said_beforehand(tmp_path):
    path = saved(tmp_path, with_meta_field(written(TABLE), 14, A_LIST))
    problem = "ColumnMetaData field 14, bloom_filter_offset: expected an integer, found a list"
    said = (f"column a: {problem}: {TO_DROP}",)
    assert pb.inspect(path).obstacles == said
    assert pb.advise(path).obstacles == said
    for verb in ("inspect", "advise"):
        assert f"build would refuse: {said[0]}\n" in outcome(verb, str(path)).stdout
    [found] = pb.validate(path).findings
    assert (found.rule, found.column) == ("PB120", "a")
    assert found.message == f"{problem}: `build` refuses the column"
    path = saved(tmp_path, with_meta_field(written(TABLE), 15, A_LIST))
    assert pb.inspect(path).obstacles is None
    assert "obstacles" not in pb.advise(path).to_dict()
    [found] = pb.validate(path).findings
    assert (found.rule, found.column) == ("PB120", "a")
    assert found.message.endswith("found a list: `build` writes no length")


def test_other_columns_are_built_and_stripped_beside_it(tmp_path):
    data = with_meta_field(written(TABLE), 15, A_LIST)
    path = saved(tmp_path, data)
    pb.build(path, in_place=True, columns=["b"])
    assert path.read_bytes() != data
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


def test_strip_keeps_a_list_beside_an_offset(tmp_path):
    data = with_meta_field(written(TABLE), 15, A_LIST)
    path = saved(tmp_path, data)
    pb.build(path, in_place=True, columns=["a"])
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


def test_statistics_of_another_type_are_not_replaced(tmp_path):
    path = saved(tmp_path, with_meta_field(written(TABLE), 12, A_LIST))
    dialect = pb.StatisticsFilter()
    message = (
        "row group 0, column a: ColumnMetaData field 12, statistics: expected a struct, found a"
        " list, which would be lost"
    )
    refused(lambda: pb.build(path, in_place=True, columns=["a"], dialect=dialect), path, message)


# --- a second footer ------------------------------------------------------------------------------

# The second one is what the specification prints, 08 FF FF 01, read as Thrift's compact protocol.
EXTENSIONS = pytest.mark.parametrize("field", [32767, -16384])


def second_footer(field):
    return (
        f"footer: field {field} is an extension, such as a second footer in FlatBuffers, which an"
        f" edited footer would contradict: {TO_DROP}"
    )


def test_the_bytes_of_the_specification():
    data = with_extension(written(TABLE), -16384)
    assert data[footer_start(data) : -8].endswith(b"\x08\xff\xff\x01\4abcd\0")


@EXTENSIONS
def test_a_footer_with_an_extension_is_not_edited(tmp_path, field):
    path = saved(tmp_path, written(TABLE))
    pb.build(path, in_place=True, columns=["a"])
    path.write_bytes(with_extension(path.read_bytes(), field))
    for call in (
        lambda: pb.build(path, in_place=True, columns=["b"]),
        lambda: pb.build(path, in_place=True, columns=["b"], dialect=pb.Murmur3()),
        lambda: pb.build(path, in_place=True, columns=["b"], dialect=pb.StatisticsFilter()),
        lambda: pb.strip(path, in_place=True),
        lambda: pb.repair(path, in_place=True, rebuild=True),
    ):
        refused(call, path, second_footer(field))
    assert pb.inspect(path).obstacles == (second_footer(field),)
    assert pb.advise(path).obstacles == (second_footer(field),)


@EXTENSIONS
def test_a_footer_with_an_extension_is_read(tmp_path, field):
    path = saved(tmp_path, written(TABLE))
    pb.build(path, in_place=True, columns=["a"])
    path.write_bytes(with_extension(path.read_bytes(), field))
    assert [each.verdict for each in pb.probe(path, "a", [5, 1000]).results] == ["maybe", "absent"]
    [found] = pb.validate(path).findings
    assert (found.rule, found.place, found.column) == ("PB117", None, None)
    assert found.message == (
        f"field {field} of the footer is an extension, such as a second footer in FlatBuffers: whether"
        " it agrees about filters is not checked, and the file cannot be changed while it has one"
    )


@EXTENSIONS
def test_an_extension_is_dropped_on_request(tmp_path, field):
    data = written(TABLE)
    path = saved(tmp_path, with_extension(data, field))
    pb.build(path, in_place=True, columns=["a"], drop_foreign_fields=True)
    assert pb.validate(path).findings == ()
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("magic", "kind"),
    [(b"PARX", "a footer with flags and a checksum"), (b"PAR3", "a footer in FlatBuffers only")],
)
def test_newer_footers_are_named(tmp_path, magic, kind):
    data, path = written(TABLE), tmp_path / "foreign.parquet"
    for whole in (data[:-4] + magic, magic + data[4:-4] + magic):
        path.write_bytes(whole)
        message = f"ends with {magic!r}: {kind} is newer than this version, and not supported"
        refused(lambda: pb.inspect(path), path, message)


def test_an_extension_of_a_chunk_stays(tmp_path):
    """It may tell where pages are, and these do not move."""
    data = with_meta_field(written(TABLE), 32767, SOME_BYTES)
    path = saved(tmp_path, data)
    pb.build(path, in_place=True, columns=["a"])
    with open_file(path) as file:
        assert file.footer.fields(file.chunk(0, "a"), [32767]) == {32767: SOME_BYTES}
    assert pb.validate(path).findings == ()
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


@pytest.mark.parametrize("stored", [None, [], ["b"]], ids=["missing", "empty", "wrong"])
def test_chunks_are_told_by_their_order(tmp_path, stored):
    """Some writers leave out path_in_schema, which repeats the schema."""
    data = with_meta(written(TABLE), 0, 0, path_in_schema=stored)
    path = saved(tmp_path, data)
    pb.build(path, in_place=True, columns=["a"])
    with open_file(path) as file:
        found = file.footer.column_meta_data(file.chunk(0, "a")).path_in_schema
        assert (found or None) == (stored or None)
    assert [each.verdict for each in pb.probe(path, "a", [5, 1000]).results] == ["maybe", "absent"]
    pb.strip(path, in_place=True)
    assert path.read_bytes() == data


# --- page indexes that are not there --------------------------------------------------------------


def test_page_indexes_past_the_data_are_told_and_not_built_upon(tmp_path):
    data = with_index_past_the_end(written(TABLE))
    path, start = saved(tmp_path, data), footer_start(data)
    problem = (
        f"row group 0, column a: footer: bytes {start - 4} to {start + 35} are a page index, expected to"
        f" end by {start}, where the data ends: rewrite the file"
    )
    for options in ({}, {"layout": "append"}, {"dialect": pb.Murmur3()}, {"dry_run": True}):
        with pytest.raises(pb.FooterError) as caught:
            pb.build(path, in_place=True, columns=["b"], **options)
        assert str(caught.value) == f"{path}: {problem}"
    assert path.read_bytes() == data
    assert pb.inspect(path).obstacles == (problem,)
    [found] = pb.validate(path).findings
    assert (found.rule, found.column) == ("PB121", "a")
    assert found.statement == (
        "page indexes of 1 column chunk reach past the data (expected an end by"
        f" {start}, found bytes {start - 4} to {start + 35})"
    )
    assert pb.validate(path, columns=["b"]).findings == ()


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


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture
def undescribed(tmp_path):
    """Column a has a filter that nobody finds any more, as by one byte of the footer."""
    return saved(tmp_path, with_field(built(written(TABLE), ["a", "b"]), (4, 0, 1, 0), 3, None))


LOST = (
    "row group 0, column a: no ColumnMetaData, so that nobody knows what is there: take another copy of"
    " the file"
)


CHANGES = {
    "strip": lambda path: pb.strip(path, in_place=True),
    "strip b": lambda path: pb.strip(path, columns=["b"], in_place=True),
    "repair": lambda path: pb.repair(path, in_place=True),
    "rebuild": lambda path: pb.repair(path, rebuild=True, in_place=True),
    "build": lambda path: pb.build(path, columns=["b"], existing="replace", in_place=True),
    "murmur3": lambda path: pb.build(path, columns=["b"], dialect="murmur3", in_place=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_not_described_is_neither_removed_nor_lost(undescribed, change):
    """Strip called its filter removed, and replaced ones took its place."""
    refused(lambda: change(undescribed), undescribed, LOST, pb.FooterError)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_damaged_footer_is_not_edited(tmp_path, change):
    """What follows a field of another type may be something else."""
    path = saved(tmp_path, with_field(built(written(TABLE), ["a", "b"]), (), 6, A_LIST))
    message = "footer: created_by is of another type: take another copy of the file"
    refused(lambda: change(path), path, message, pb.FooterError)
    assert f"build would refuse: {message}" in outcome("inspect", path).stdout


@pytest.mark.parametrize("change", [pb.strip, pb.repair], ids=["strip", "repair"])
def test_a_damaged_chunk_is_not_edited(tmp_path, change):
    """pyarrow, which does not look at the types of items, reads on; what strip wrote it did not."""
    data = with_meta(built(written(TABLE), ["a", "b"]), 0, 0, bloom_filter_length=None)
    of_i16 = compact.TYPE_LIST, bytes([1 << 4 | compact.TYPE_I16, 0])
    path = saved(tmp_path, with_field(data, (4, 0, 1, 0, 3), 13, of_i16))
    message = (
        "row group 0, column a: ColumnMetaData field 13, encoding_stats: expected list<PageEncodingStats>, found"
        " list<i16>: take another copy of the file"
    )
    refused(lambda: change(path, in_place=True), path, message, pb.FooterError)


@pytest.mark.parametrize("number", [17, None], ids=["unknown", "missing"])
def test_no_value_is_absent_by_a_column_without_repetition_type(tmp_path, number):
    """find read its pages as if they had no levels, and said so of values that are there."""
    value = None if number is None else (compact.TYPE_I32, compact.zigzag(number))
    path = saved(tmp_path, with_field(written(TABLE), (2, 1), 3, value))
    message = f"schema: column a: expected a repetition type, found {number or 'none'}"
    for verb in ("find", "probe"):
        result = outcome(verb, path, "-c", "a", "-v", 5)
        assert (result.code, result.stdout.count("absent")) == (2, 0)
        assert result.complaint.startswith(f"{path}: ")
        assert result.complaint.endswith(message)


def test_what_is_not_described_is_said(undescribed):
    result = outcome("inspect", undescribed)
    assert f"build would refuse: {LOST}" in result.stdout
    assert "a: no ColumnMetaData" in result.stdout
    result = outcome("probe", undescribed, "-c", "a", "-v", 5)
    assert result.stdout.splitlines()[-1].split("\t") == [
        "5",
        "unknown",
        "0",
        "100",
        "no ColumnMetaData",
    ]
    for more in ((), ("--unparsed",)):
        assert outcome("dump", undescribed, "-c", "a", *more).complaint == (
            f"{undescribed}: row group 0, column a: no ColumnMetaData; nobody knows what is there: take another copy"
            " of the file"
        )


def test_what_is_not_described_differs_from_a_filter(undescribed, tmp_path):
    """It was said to have none."""
    sound = tmp_path / "sound.parquet"
    sound.write_bytes(built(written(TABLE), ["a", "b"]))
    of_a, of_b = pb.diff(undescribed, sound).filters
    assert (of_a.status, of_a.reason) == ("unreadable", "a: no ColumnMetaData")
    assert of_b.status == "same"
    of_both = pb.diff(undescribed, undescribed).filters[0]
    assert (of_both.status, of_both.reason) == (
        "unreadable",
        "a: no ColumnMetaData; b: no ColumnMetaData",
    )


def test_build_is_not_said_to_add_what_it_adds_to_no_chunk(tmp_path):
    table = pa.table({"flag": [True], "none": pa.nulls(1, pa.int32())})
    path = saved(tmp_path, written(table))
    reasons = ("BOOLEAN columns get none", "the chunk has only nulls")
    for column, reason in zip(("flag", "none"), reasons, strict=True):
        complaint = outcome("dump", path, "-c", column).complaint
        assert complaint == f"{path}: row group 0, column {column}: no filter: {reason}"
