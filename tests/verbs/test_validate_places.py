"""What validate looks at: the columns that are named, filters in this file, bits within bounds."""

import os

import pytest
from make.commands import outcome
from make.defects_files import ROWS, sound
from make.filters import filter_header
from make.footers import edited, footer_start, meta_of, pointer, with_meta

import parquet_bloom as pb
from parquet_bloom.errors import ConfigError
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.rules.policy import read_policy
from parquet_bloom.verbs.validate import ValidationReport, validate

TOO_LARGE = (128 << 20) + 32


@pytest.fixture
def write(tmp_path):
    def written(data: bytes):
        path = tmp_path / "file.parquet"
        path.write_bytes(data)
        # Whatever writes into it later is later by any clock.
        os.utime(path, (0, 0))
        return path

    return written


def rules(report: ValidationReport) -> list[str]:
    return [found.rule for found in report.findings]


def test_a_length_without_an_offset_is_that_of_its_column(write):
    def edit(footer):
        meta_of(footer, 1, 1).bloom_filter_offset = None

    path = write(edited(sound(), edit))
    assert rules(validate(path, columns=["a"])) == []
    assert rules(validate(path, columns=["s"])) == ["PB114", "PB307"]
    assert rules(validate(path)) == ["PB114", "PB307"]


def test_what_lies_in_another_file_is_not_looked_for_in_this_one(write):
    """Its offset means nothing here: a note, and no look at the bytes."""

    def edit(footer):
        footer.row_groups[0].columns[0].file_path = "elsewhere.parquet"

    path = write(edited(with_meta(sound(), 0, 0, bloom_filter_offset=1), edit))
    (found,) = validate(path).findings
    assert (found.rule, found.row_group, found.column) == ("PB408", 0, "a")
    assert found.message == "the values were not looked up: the column chunk is in another file"


@pytest.mark.parametrize("deep", [False, True])
def test_bits_that_no_reader_takes_are_not_read(write, monkeypatch, deep):
    """A sparse file costs nothing, and the memory of its filter would."""
    header = filter_header(TOO_LARGE)
    data = sound()
    start = footer_start(data)
    length = len(header) + TOO_LARGE
    place = {"bloom_filter_offset": start, "bloom_filter_length": length}
    footer = with_meta(data, 0, 0, **place)[start:]
    path = write(data[:start] + header)
    with path.open("r+b") as file:
        file.seek(start + length)
        file.write(footer)
    monkeypatch.setattr(bloom, "read_bitset", _within_bounds(bloom.read_bitset))
    report = validate(path, columns=["a"], deep=deep)
    assert {"PB203", "PB408"} <= set(rules(report))
    assert report.checked.filters == 2
    assert report.checked.values == (ROWS if deep else None)


def _within_bounds(read):
    def read_bitset(source, stored):
        assert stored.num_bytes < TOO_LARGE
        return read(source, stored)

    return read_bitset


# ------------------------------------------------------------------------------------------------
# A file that somebody writes into


@pytest.mark.parametrize("deep", [False, True])
def test_a_file_that_changes_is_neither_right_nor_wrong(write, deep):
    """Its filters are overwritten while they are looked at: these bits belong to no file."""
    path = write(sound())
    offset, length = pointer(sound(), 1, 1)

    def meddle(done, total):
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(bytes(length))

    # So that there is something to say about the filters, and they are not passed over.
    strict = pb.Policy(max_bytes=1)
    with pytest.raises(pb.FormatError, match=f"^{path}: changed while it was read$"):
        validate(path, deep=deep, threads=1, progress=meddle, policy=strict)


def test_a_file_that_is_cut_off_is_no_damage_of_pages(write):
    path = write(sound())

    def cut(done, total):
        os.truncate(path, 100)

    with pytest.raises(pb.FormatError, match=f"^{path}: "):
        validate(path, threads=1, progress=cut)


def test_another_file_that_takes_the_name_is_no_matter(write, tmp_path):
    path = write(sound())
    other = tmp_path / "other"
    other.write_bytes(b"nothing of the kind")
    report = validate(path, progress=lambda done, total: other.exists() and other.replace(path))
    assert report.ok
    assert path.read_bytes() == b"nothing of the kind"


# ------------------------------------------------------------------------------------------------
# Limits that are none


@pytest.mark.parametrize("fpp", [float("nan"), 0.0, 1.0, -1.0, float("inf")])
def test_a_limit_that_nothing_is_above_is_an_error(write, fpp):
    with pytest.raises(ConfigError, match=r"^max_fpp: .*, expected a number between 0 and 1$"):
        validate(write(sound()), max_fpp=fpp)


def test_such_a_limit_on_the_command_line_is_trouble(write):
    path = write(sound())
    result = outcome("validate", "--no-config", path, "--max-bytes", "0")
    message = "max_bytes: 0, expected a positive number of bytes"
    assert (result.code, result.complaint, result.stdout) == (2, message, "")
    result = outcome("validate", "--no-config", path, "--max-fpp", "nan")
    message = "--max-fpp: 'nan': expected a rate between 0 and 1, such as 0.01"
    assert (result.code, result.complaint, result.stdout) == (2, message, "")


def test_the_key_of_a_list_that_is_none_is_named_once(tmp_path):
    path = tmp_path / "pbloom.toml"
    path.write_text('[validate]\nignore = "PB101"\n')
    message = f"{path}: validate.ignore: expected a list of strings, found 'PB101'"
    with pytest.raises(ConfigError) as caught:
        read_policy(path)
    assert str(caught.value) == message
