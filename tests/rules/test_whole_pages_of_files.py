"""What `validate --pages` says, and of which files. Each rule has its defective files in make.defects_pages."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects_pages import narrower, other_nulls, other_place, paged, with_index
from make.filters import bits_of, stored_filter, with_filter_bytes
from make.footers import edited, meta_of
from make.pages import byte_arrays, data_page, dictionary_page, int64s
from make.parquet_files import Column, forge, written
from oracle.specification import rle_run
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.rules.finding import Finding


def found(path: Path, data: bytes, **options: object) -> tuple[Finding, ...]:
    path.write_bytes(data)
    return pb.validate(path, pages=True, **options).findings


def test_what_is_said(tmp_path: Path) -> None:
    (bounds,) = found(tmp_path / "a.parquet", with_index("column_index", narrower))
    assert bounds.statement == "min_value in the ColumnIndex excludes a value of page 1"
    assert len(bounds.examples) == 1
    (nulls,) = found(tmp_path / "a.parquet", with_index("column_index", other_nulls))
    assert nulls.statement.startswith("null_count in the ColumnIndex of page 2 (expected ")
    (place,) = found(tmp_path / "a.parquet", with_index("offset_index", other_place))
    assert place.rule == "PB126"
    assert place.statement.startswith("offset in the OffsetIndex of page 1 (expected ")


def test_the_command_counts_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(paged())
    ran = outcome("validate", str(path), "--pages", "-c", "a", "-g", "0", "--no-config")
    num_pages = pb.validate(path, pages=True, columns=["a"], row_groups=[0]).checked.pages
    assert num_pages > 2
    assert ran.stdout.startswith(
        f"{path}: no findings in 0 filters and 0 values, {num_pages} pages decoded (without checksums: changed values"
        " cannot be told): ok without filters\n"
    )
    assert pb.validate(path).checked.pages is None


def test_damage_of_a_column_without_a_filter(tmp_path: Path) -> None:
    """Which is reported once where a filter is looked at, too."""
    pages = [
        dictionary_page(int64s(1, 2), 2),
        data_page(bytes([2]) + rle_run(3, 3, 2), 3, Encoding.RLE_DICTIONARY),
    ]
    path = tmp_path / "a.parquet"
    (damage,) = found(path, forge(Column(pages, 3, meta={"dictionary_page_offset": 4})))
    assert (damage.rule, damage.message) == (
        "PB116", "page at 50: dictionary indices: one is not below 2",
    )  # fmt: skip
    assert [each.reason for each in pb.find(path, "a", [1]).unknown] == [
        "row group 0, column a: page at 50: dictionary index 3, expected less than 2"
    ]
    cut = forge(Column([data_page(int64s(1, 2), 3)], 3))
    (damage,) = found(path, with_filter_bytes(cut, 0, 0, stored_filter(bits_of([1], 2))))
    assert (damage.rule, damage.message) == ("PB116", "page at 21: 2 values, expected 3")


@pytest.mark.parametrize("filters", [(), ("n",)], ids=["without filters", "with filters"])
def test_every_byte_of_a_page_with_a_checksum_counts(
    tmp_path: Path, filters: tuple[str, ...]
) -> None:
    """Values that are in a dictionary are looked up there, and no other page of them is read for that."""
    source, path = tmp_path / "source.parquet", tmp_path / "a.parquet"
    table = pa.table({"n": np.arange(6000) % 700, "m": np.arange(6000)})
    pq.write_table(table, source, row_group_size=2000, write_page_checksum=True)
    if filters:
        pb.build(source, columns=filters, in_place=True)
    data = source.read_bytes()
    assert found(path, data) == ()
    chunks = [
        group.column(number)
        for group in map(pq.ParquetFile(source).metadata.row_group, range(3))
        for number in range(2)
    ]
    for number, chunk in enumerate(chunks * 3):
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        # One page, whose header is shorter than 300 bytes.
        at = start + chunk.total_compressed_size - 1 - 300 * (number // 6)
        assert at > chunk.data_page_offset + 300
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        rules = [each.rule for each in found(path, damaged)]
        assert rules.count("PB116") == 1, at


@pytest.mark.parametrize(
    ("least", "greatest", "rules"),
    [(b"zz", b"zzz{", []), (b"zzz{", b"zz", ["PB125", "PB125"])],
)
def test_bounds_of_a_long_value(
    tmp_path: Path, least: bytes, greatest: bytes, rules: list[str]
) -> None:
    """Of which no more than the beginning is held."""
    page = data_page(byte_arrays(b"z" * 200_000), 1)
    statistics = ttypes.Statistics(min_value=least, max_value=greatest)
    column = Column([page], 1, type=ttypes.Type.BYTE_ARRAY, meta={"statistics": statistics})
    findings = found(tmp_path / "a.parquet", forge(column))
    assert [each.rule for each in findings] == rules
    assert all(len(str(each.examples)) < 500 for each in findings)


def test_exact_statistics_are_values_and_those_of_before(tmp_path: Path) -> None:
    """One bit of a bound is another: no value is beyond it, but it is none itself."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [5, 1 << 20], "s": ["a", "b"]}), path)

    def damaged(**changed: object) -> list[str]:
        def edit(footer: ttypes.FileMetaData) -> None:
            for column, greatest in ((0, (1 << 20) + (1 << 40)), (1, 99)):
                statistics = meta_of(footer, 0, column).statistics
                fields = {"max_value": greatest.to_bytes(8 - 7 * column, "little"), **changed}
                for name, value in fields.items():
                    setattr(statistics, name, value)

        findings = found(tmp_path / "b.parquet", edited(path.read_bytes(), edit))
        return [each.statement for each in findings if each.rule == "PB125"]

    what = "max_value of the column chunk is"
    no_value = f"{what} no value, though is_max_value_exact"
    assert damaged(is_max_value_exact=True) == [no_value, no_value]
    assert damaged(is_max_value_exact=False) == [f"{what} not its max"]
    assert damaged(is_max_value_exact=False, max=None) == []


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_bounds_that_are_no_values_are_found_with_the_values(
    tmp_path: Path, use_dictionary: bool
) -> None:
    """Where these are looked up in a filter, by the bounds that are not among them; `repair` says so, too."""
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"n": range(1000, 9000)}), use_dictionary=use_dictionary))
    pb.build(path, columns=["n"], in_place=True)

    def edit(footer: ttypes.FileMetaData) -> None:
        meta_of(footer, 0, 0).statistics.min_value = int64s(1 << 40)

    assert pb.validate(path).findings == ()
    path.write_bytes(edited(path.read_bytes(), edit))
    (bounds,) = pb.validate(path).findings
    said = "PB125", "min_value of the column chunk excludes a value"
    assert ((bounds.rule, bounds.statement), bounds.examples) == (said, ("1000",))
    assert pb.validate(path, pages=True).findings == (bounds,)
    assert pb.validate(path, deep=False).findings == ()
    (left,) = pb.repair(path, tmp_path / "b.parquet", rebuild=True).left
    assert (left.rule, left.reason) == (said[0], f"{said[1]}; write the file again from its source")


@pytest.mark.parametrize(
    ("bound", "is_exact", "is_found"),
    [
        (b"b", None, True),
        (b"b", True, True),
        # Nobody can tell that it was whole: with pages, it is found.
        (b"b", False, False),
        (b"b" * 64, None, False),
        (b"a" * 59, None, True),
    ],
)
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_so_are_bounds_of_text_that_was_not_cut(
    tmp_path: Path, use_dictionary: bool, bound: bytes, is_exact: bool | None, is_found: bool
) -> None:
    path = tmp_path / "a.parquet"
    text = pa.table({"s": [f"{'a' * 40}{row}" for row in range(3000)]})
    path.write_bytes(written(text, use_dictionary=use_dictionary))
    pb.build(path, columns=["s"], in_place=True)

    def edit(footer: ttypes.FileMetaData) -> None:
        statistics = meta_of(footer, 0, 0).statistics
        statistics.min_value, statistics.is_min_value_exact = bound, is_exact

    assert pb.validate(path).findings == ()
    path.write_bytes(edited(path.read_bytes(), edit))
    said = ("PB125", "min_value of the column chunk excludes a value")
    found = [(each.rule, each.statement) for each in pb.validate(path).findings]
    assert found == [said] * is_found
    assert [each.statement for each in pb.validate(path, pages=True).findings] == [said[1]]


def test_pages_without_checksums_are_counted(tmp_path: Path) -> None:
    """A flipped bit in one of a dictionary-coded column makes it another value, which only a checksum tells."""
    table = pa.table({"a": ["x", "y"]})
    for name, options in (("sums", {"write_page_checksum": True}), ("bare", {})):
        (tmp_path / f"{name}.parquet").write_bytes(written(table, use_dictionary=True, **options))
    sums = outcome("validate", tmp_path / "sums.parquet", "--pages", "--no-config").stdout
    assert " 2 pages decoded: ok without filters\n" in sums
    assert pb.validate(tmp_path / "sums.parquet", pages=True).checked.pages_without_checksum == 0
    assert pb.validate(tmp_path / "bare.parquet", pages=True).checked.pages_without_checksum == 2
    assert pb.validate(tmp_path / "bare.parquet").checked.pages_without_checksum is None
    both = outcome("validate", tmp_path, "--pages", "--no-config").stdout
    assert both.endswith(
        " 4 pages decoded (2 of them without checksums: changed values cannot be told)\n"
    )


def test_what_cannot_be_decoded(tmp_path: Path) -> None:
    pages = [data_page(int64s(1, 2, 3), 3, 77)]
    (note,) = found(tmp_path / "a.parquet", forge(Column(pages, 3)))
    assert (note.rule, note.message) == (
        "PB408", "the pages were not decoded: encoding 77 is not supported",
    )  # fmt: skip


def test_index_groups_are_the_pages_of_orc_files(tmp_path: Path) -> None:
    """Their values are looked up all the same, alone and among others."""
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": [1, 2]}), path)
    pb.build(path, in_place=True, columns="a")
    report = pb.validate(path, pages=True)
    assert (report.ok, report.checked.values, report.checked.pages) == (True, 2, 1)
    ran = outcome("validate", str(path), "--pages", "--no-config")
    unsummed = "decoded (without checksums: changed values cannot be told)"
    assert ran.stdout.startswith(
        f"{path}: no findings in 1 filter and 2 values, 1 page {unsummed}: ok\n"
    )
    (tmp_path / "a.parquet").write_bytes(paged())
    pages = pb.validate(tmp_path / "a.parquet", pages=True).checked.pages
    ran = outcome("validate", str(tmp_path), "--pages", "--no-config")
    assert ran.stdout.endswith(
        "2 files: 1 ok, 1 ok without filters; no findings in 1 filter and 2 values,"
        f" {pages + 1} pages {unsummed}\n"
    )
    assert ran.code == 0
    report = pb.validate(str(tmp_path), pages=True)
    assert report.ok
    assert repr(report) == "<ValidationReports of 2 files: 1 ok, 1 ok without filters>"


VALUE, ENTRY, INDEX = "value", "entry of a dictionary", "index into it"


@pytest.mark.parametrize(
    ("changed", "checksums", "filters", "default", "pages"),
    [
        (VALUE, False, ["n"], ["PB401"], ["PB401"]),
        (ENTRY, False, ["n"], ["PB401"], ["PB401"]),
        (INDEX, False, ["n"], [], []),
        (VALUE, False, [], [], []),
        (VALUE, True, ["n"], ["PB116"], ["PB116"]),
        (ENTRY, True, ["n"], ["PB116"], ["PB116"]),
        (INDEX, True, ["n"], [], ["PB116"]),
        (VALUE, True, [], [], ["PB116"]),
    ],
)
def test_what_is_proved_about_stored_values(
    tmp_path: Path,
    changed: str,
    checksums: bool,
    filters: list[str],
    default: list[str],
    pages: list[str],
) -> None:
    """As docs/validating.md has it: one byte is another, and what is read then fits all that the file says."""
    path = tmp_path / "a.parquet"
    table = pa.table({"n": np.arange(2048) % 256 * 7919})
    path.write_bytes(
        written(
            table,
            compression="none",
            use_dictionary=changed != VALUE,
            write_page_checksum=checksums,
        )
    )
    if filters:
        pb.build(path, columns=filters, in_place=True)
    data = path.read_bytes()
    before, after = (
        (b"\x10\x11\x12\x13", b"\x10\x11\x11\x13")
        if changed == INDEX
        else (int64s(100 * 7919), int64s(100 * 7919 + 1))
    )
    assert before in data
    path.write_bytes(data.replace(before, after, 1))
    assert pq.read_table(path) != table
    assert pb.validate(path, deep=False).findings == ()
    assert [each.rule for each in pb.validate(path).findings] == default
    assert [each.rule for each in pb.validate(path, pages=True).findings] == pages
