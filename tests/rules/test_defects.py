"""Every rule is found on a file that breaks it, and every defect of real writers by some rule.

The makers of the files are in defects_*.py. In their numbering, B1 to B36, the defects are those
that were collected from the issues of readers and writers of Parquet; docs/rules.md links to them.
"""

import re

import pytest
from make.defects import ALL, DEFECTS
from make.defects_files import Defect, sound
from make.defects_portability import WRITERS
from make.filters import filter_header, inserted_before_footer
from make.footers import with_meta

from parquet_bloom.engines.writers import known_troubles
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.rule import rules
from parquet_bloom.verbs.validate import ValidationReport, validate

# Defects of readers: no file has them, so no rule can find them.
OF_READERS = {
    "B11": "DataFusion looked up small integers at their own width, not as the stored INT32",
    "B13": "DataFusion made no use of filters for columns that it reads as dictionaries",
    "B17": "ClickHouse counts too few rows in a sound file of thousands of row groups",
    "B18": "Trino hashed a value as the type of the table where the file's was narrower",
    "B21": "cuDF took the header for the first bits of the filter",
    "B33": "readers trusted offsets and lengths from the footer; PB101 to PB113 find these",
    "B34": "tools reported filters that are not there, or looked up with another hash",
}


def found(defect: Defect, tmp_path, **options) -> ValidationReport:
    policy = Policy(**defect.policy or {})
    options = {"deep": defect.deep, "pages": defect.pages, "keys": defect.keys} | options
    return validate(defect.make(tmp_path), policy=policy, **options)


each_defect = pytest.mark.parametrize("defect", ALL, ids=str)


@each_defect
def test_the_rule_is_found_where_it_is_broken(defect, tmp_path):
    report = found(defect, tmp_path)
    places = {(each.row_group, each.column) for each in report.findings if each.rule == defect.rule}
    assert (defect.row_group, defect.column) in places


@each_defect
def test_no_other_error_is_found(defect, tmp_path):
    """So that a user is told what is wrong, and not all that follows from it."""
    errors = {each.rule for each in found(defect, tmp_path).findings if each.severity == "error"}
    assert errors - {defect.rule} == defect.beside


def test_nothing_is_wrong_with_what_the_files_are_made_of(tmp_path):
    path = tmp_path / "sound.parquet"
    path.write_bytes(sound())
    report = validate(path)
    assert report.findings == ()
    assert report.ok
    assert (report.checked.filters, report.checked.values) == (4, 8000)


def test_every_rule_has_a_defective_file():
    assert sorted(DEFECTS) == sorted(rules())


def test_every_defect_has_a_name_of_its_own():
    assert len({str(defect) for defect in ALL}) == len(ALL)


@pytest.mark.parametrize("number", range(1, 37))
def test_every_defect_of_real_writers_has_a_file_or_a_reason(number):
    issue = f"B{number}"
    has_file = any(defect.issue == issue for defect in ALL)
    assert has_file != (issue in OF_READERS)


def test_every_trouble_of_the_table_is_found(tmp_path):
    """PB205 says which one it is by its link."""
    links = set()
    for defect in WRITERS:
        for each in found(defect, tmp_path).findings:
            if each.rule == "PB205":
                assert " may be wrong; known of their writer: " in each.message
                links |= set(re.findall(r"https://[^)]*", each.message))
    assert links == {trouble.link for trouble in known_troubles()}


def test_what_pages_hold_is_not_seen_without_decoding_them(tmp_path):
    for defect in ALL:
        if defect.pages:
            assert found(defect, tmp_path, pages=False).findings == (), defect


def test_damage_is_not_seen_without_a_look_at_the_values(tmp_path):
    """What needs the values is found by a deep validation only."""
    for defect in ALL:
        if defect.deep:
            report = found(defect, tmp_path, deep=False)
            assert defect.rule not in {each.rule for each in report.findings}, defect


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (4096, ""),
        (64, " by its header, though not by bloom_filter_length: header or offset is wrong"),
        (None, ""),
    ],
)
def test_by_what_a_filter_reaches_into_the_footer(tmp_path, length, said):
    """Of a header that says too much, the length may be right."""
    header = filter_header(4096)
    data, start = inserted_before_footer(sound(), header + bytes(64))
    of_all = None if length is None else len(header) + length
    path = tmp_path / "file.parquet"
    path.write_bytes(with_meta(data, 0, 0, bloom_filter_offset=start, bloom_filter_length=of_all))
    found = {each.rule: each.message for each in validate(path).findings}
    assert found["PB105"] == f"the filter reaches into the footer{said}"
    # What is known does not put it on the length.
    assert "PB112" not in found
