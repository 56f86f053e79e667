"""Pages whose checksums are wrong: none were computed, they are to be ignored, or the pages are damaged."""

import pytest
from conftest import SHARED, missing
from make.commands import outcome
from make.delta_tables import table_of
from make.pages import (
    byte_arrays,
    data_page,
    data_page_v2,
    dictionary_page,
    int64s,
)
from make.parquet_files import Column, forge, forged
from oracle.specification import rle_run

import parquet_bloom as pb
from parquet_bloom.parquet.thrift.ttypes import Encoding, Type

NONE_COMPUTED = "column values: the checksums of its pages are all 0, which is taken as having none"
IGNORED = "column values: wrong checksums of its pages were ignored"
A, B = byte_arrays(b"alpha"), byte_arrays(b"beta")
INDICES = bytes([1]) + rle_run(0, 1, 1)

# By what the checksums are: pages of two values.
ZEROS = {
    "v1": [data_page(A, 1, crc=0), data_page(B, 1, crc=0)],
    "v2": [data_page_v2(b"", A, 1, 0, crc=0), data_page_v2(b"", B, 1, 0, crc=0)],
    "dictionary": [
        dictionary_page(A + B, 2, crc=0),
        data_page(INDICES, 1, Encoding.RLE_DICTIONARY, crc=0),
        data_page(INDICES, 1, Encoding.RLE_DICTIONARY, crc=0),
    ],
}
WRONG = {
    "some are 0": [data_page(A, 1, crc=0), data_page(B, 1, checksum=True)],
    "only one has any": [data_page(A, 1), data_page(B, 1, crc=0)],
    "one is another": [data_page(A, 1, crc=0), data_page(B, 1, crc=5)],
    "of a dictionary": [
        dictionary_page(A + B, 2, crc=7),
        data_page(INDICES, 2, Encoding.RLE_DICTIONARY),
    ],
}


def verdicts(path):
    results = pb.probe(path, "values", ["alpha", "beta", "gamma"]).results
    return [each.verdict for each in results]


def rules(path, **options):
    return [
        (each.rule, each.severity, each.column)
        for each in pb.validate(path, **options).findings
        if each.rule in ("PB116", "PB123", "PB401")
    ]


@pytest.mark.parametrize("name", ZEROS)
def test_checksums_that_are_all_0_are_none(tmp_path, name):
    path, out = forged(tmp_path / "x.parquet", ZEROS[name], 2), tmp_path / "out.parquet"
    report = pb.build(path, out, columns=["values"])
    assert NONE_COMPUTED in report.notes
    assert verdicts(out) == ["maybe", "maybe", "absent"]
    assert rules(out) == [("PB123", "note", "values")]
    assert pb.validate(out).ok
    assert rules(out, deep=False) == []
    assert [each.eligible for each in pb.advise(path).columns] == [True]
    repaired = pb.repair(out, rebuild=True, dry_run=True)
    assert (repaired.notes, repaired.repaired, repaired.left) == ((NONE_COMPUTED,), (), ())


@pytest.mark.parametrize("name", WRONG)
def test_other_checksums_are_wrong_unless_they_are_ignored(tmp_path, name):
    path, out = forged(tmp_path / "x.parquet", WRONG[name], 2), tmp_path / "out.parquet"
    for refused in (lambda: pb.build(path, out, columns=["values"]), lambda: pb.advise(path)):
        with pytest.raises(
            pb.PageError,
            match=r"checksum .*; take another copy, or read it anyway with --ignore-checksums of build, validate or repair",
        ):
            refused()
    assert not out.exists()
    assert [each.eligible for each in pb.advise(path, ignore_checksums=True).columns] == [True]

    report = pb.build(path, out, columns=["values"], ignore_checksums=True)
    assert IGNORED in report.notes
    assert verdicts(out) == ["maybe", "maybe", "absent"]
    assert rules(out) == [("PB116", "error", "values")]
    assert rules(out, ignore_checksums=True) == [("PB123", "note", "values")]
    repaired = pb.repair(out, rebuild=True, dry_run=True, ignore_checksums=True)
    assert (repaired.notes, repaired.left) == ((IGNORED,), ())


def test_only_columns_whose_pages_were_read_are_named(tmp_path):
    def column(name, crc):
        return Column([data_page(int64s(1), 1, crc=crc)], 1, type=Type.INT64, name=name)

    path = tmp_path / "x.parquet"
    path.write_bytes(forge(column("a", 0), column("b", None), column("c", 0), column("d", 0)))
    report = pb.build(path, in_place=True, columns=["a", "b", "c"])
    assert report.notes == (NONE_COMPUTED.replace("column values", "columns a, c"),)
    found = [(each.rule, each.column) for each in pb.validate(path).findings]
    assert [column for rule, column in found if rule == "PB123"] == ["a", "c"]


def test_the_commands(tmp_path):
    path, out = forged(tmp_path / "x.parquet", WRONG["one is another"], 2), tmp_path / "out.parquet"
    build = ("build", path, "-c", "values", "-o", out)
    refused = outcome(*build)
    assert refused.code == 2
    assert refused.complaint.endswith(
        "; take another copy, or read it anyway with --ignore-checksums of build, validate or repair"
    )
    assert outcome(*build, "--ignore-checksums").code == 0
    assert [outcome("validate", out, *more).code for more in ((), ("--ignore-checksums",))] == [
        1,
        0,
    ]
    repair = ("repair", out, "--rebuild", "--dry-run")
    assert [outcome(*repair, *more).code for more in ((), ("--ignore-checksums",))] == [1, 0]
    assert outcome("build", path, "--auto", "--dry-run", "--ignore-checksums").code in (0, 2)
    for verb in ("advise", "report", "diff"):
        assert "--ignore-checksums" in outcome(verb, "--help-all").stdout


def test_files_of_tables(tmp_path):
    def wrong(name):
        return forged(tmp_path / name, WRONG["one is another"], 2)

    table = table_of(tmp_path / "table", wrong("a"), wrong("b"), values="binary")
    build = {"columns": ["values"], "min_file_size": 0}
    (failed, _) = pb.build_table(table, **build).files
    assert failed.action == "failed"
    report = pb.build_table(table, **build, ignore_checksums=True)
    assert [each.action for each in report.files] == ["appended"] * 2
    repair = {"rebuild": True, "min_file_size": 0, "dry_run": True}
    assert [each.num_chunks for each in pb.repair_table(table, **repair).left] == [2]
    assert pb.repair_table(table, **repair, ignore_checksums=True).left == ()


def test_a_flag_is_true_or_false(tmp_path):
    path = forged(tmp_path / "x.parquet", ZEROS["v1"], 2)
    for call in (pb.validate, pb.advise):
        with pytest.raises(TypeError, match="ignore_checksums: 'no', expected True or False"):
            call(path, ignore_checksums="no")


@pytest.mark.parametrize(("name", "column"), [("hawq_crc0", "c0"), ("julia_crc0", "int32")])
def test_files_of_writers_that_compute_none(tmp_path, name, column):
    path, out = SHARED / "repro" / f"{name}.parquet", tmp_path / "out.parquet"
    if not path.exists():
        missing("../shared/repro")
    report = pb.build(path, out, columns=[column])
    assert report.notes == (NONE_COMPUTED.replace("values", column),)
    assert report.filters
    assert pb.validate(out).ok
