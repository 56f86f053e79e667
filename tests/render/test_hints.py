"""What was refused, or left, names what helps."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects_files import sound
from make.defects_truth import murmur3
from make.footers import with_pointer
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.render.hints import (
    NextLines,
    for_many,
    in_options,
    next_line,
    on_others,
    united,
    with_hint,
)


@pytest.mark.parametrize(
    ("message", "with_its_hint"),
    [
        (
            "a.parquet: row group 0, column a: no filter",
            "; pbloom advise says whether it deserves one, pbloom build adds it",
        ),
        (
            "a.orc: stripe 0, column a: ROW_INDEX: damaged: 72 bytes, not a RowIndex",
            "; take another copy of the file, or name other columns with -c",
        ),
        (
            "a.orc: stripe 0: ROW_INDEX of column 1: damaged: 3 bytes left, expected 90",
            "; take another copy of the file, or name other columns with -c",
        ),
        (
            "a.orc: postscript: compressionBlockSize is 8388608, expected 1 to 8388607",
            "; take another copy of the file",
        ),
        (
            "has a filter already",
            "; validate proves it, and --existing replace rebuilds it for the rate of --fpp",
        ),
        ("a.parquet: column a: encrypted, no key", "; --column-key or --keys gives it"),
        (
            "a.parquet: unknown: row group 0, column a: encrypted: no key for column a (the file names no key)",
            "; --column-key or --keys gives it",
        ),
        (
            "a: encrypted, no key: wrapped by master key 'users'",
            "; --keys, --kms or --master-key gives it",
        ),
        (
            "a: encrypted, no key: key material 'k1'",
            "; --keys, --kms or --master-key gives it",
        ),
        ("a: encrypted, no key: key id 'k1'", "; --column-key or --keys gives it"),
        (
            "a: encrypted, no key: its key is the footer's (key id 'kf'), not the one given for a",
            "; --footer-key, --uniform-key or --keys gives it",
        ),
        (
            "a: encrypted: its key is the footer's, not the one given for a: no key for the footer (wrapped by master key 'u')",
            "; --keys, --kms or --master-key gives it",
        ),
        (
            "a.parquet: unknown: row group 0, column a: encrypted: no key for column a (wrapped by master key 'u')",
            "; --keys, --kms or --master-key gives it",
        ),
        (
            "ev/_delta_log/0.checkpoint.parquet: unknown: no column id; did you mean add.id?",
            "; what is in _delta_log is no data of the table: name its folder instead of a glob",
        ),
        ("ev/my_delta_log/a.parquet: unknown: no column id", ""),
        ("a: encrypted, no key: one was given for b", ""),
        ("a.parquet: no filter: BOOLEAN columns get none", ""),
        ("there is no filter", ""),
        (
            "a.parquet: unknown: truncated or not a Parquet file: does not end with PAR1",
            "; if it was one, its end is lost: take another copy",
        ),
        (
            "a.orc: truncated or not an ORC file: 245 bytes before the last one, expected a postscript",
            "; if it was one, its end is lost: take another copy",
        ),
        (
            "a.parquet: column id: NULL: cannot be a value of INT64: expected an integer",
            "; nulls are in no filter, and cannot be looked up",
        ),
        (
            "a.parquet: truncated or not a Parquet file: does not end with PAR1, but as HTML does",
            "; it may be what a server said instead of sending the file: take another copy",
        ),
        (
            "a.parquet: truncated or not a Parquet file: does not end with PAR1, but as encrypted Parquet does",
            "; take another copy of the file",
        ),
        (
            "a.parquet: footer: no FileCryptoMetaData: no encryption_algorithm",
            "; take another copy of the file",
        ),
        (
            "a.parquet: not a Parquet file: does not start with PAR1, but with zeros",
            "; what was in it was never written, or is lost: take another copy",
        ),
        (
            "a.parquet: not a Parquet file: does not start with PAR1, but as a Git LFS pointer does",
            "; `git lfs pull` gets the file that it stands for",
        ),
        (
            "a.parquet: not a Parquet file: does not start with PAR1, but as gzip does",
            "; what is in another format must first be written as Parquet or ORC",
        ),
        (
            "a.parquet: row group 0, column price: page header at 43984: ends inside a value",
            "; take another copy of the file, or see with pbloom validate --pages what else is damaged",
        ),
        (
            "a.parquet: row group 0, column price: page at 4: its header does not say how long it is",
            "; take another copy of the file, or see with pbloom validate --pages what else is damaged",
        ),
        (
            "a.parquet: row group 0, column id: SNAPPY: snappy: corrupt input (expected literal)",
            "; take another copy of the file, or see with pbloom validate --pages what else is damaged",
        ),
        (
            "a.parquet: row group 3, column id: page header at 4: damaged: the file has lost bytes: take another copy of it",
            "",
        ),
        (
            "a.orc: footer: stripe 3 at 2976254 to 2985606, expected between 2976254 and 2985596",
            "; take another copy of the file",
        ),
        (
            "a.orc: stripe 1, column tags._elem: DATA: ends after 39131 bytes, expected 39136",
            "; take another copy of the file, or name other columns with -c",
        ),
        ("a.orc: stripe 1, column id: BLOOM_FILTER_UTF8: 2 filters, expected 3", ""),
        (
            "a.parquet: row group 3, column id: page at 4: checksum 1, expected 2; take another copy, or read it anyway with --ignore-checksums of build, validate or repair",
            "",
        ),
        (
            "FPP 97.8 % at 4096 bytes, the most allowed: misses the target of 0.1 %",
            "; a higher --max-bytes or --fpp allows one, --force writes this one",
        ),
        (
            "FPP 97.8 % at 134217728 bytes, the most possible: misses the target of 0.1 %",
            "; a higher --fpp allows one, --force writes this one",
        ),
        (
            "FPP 2.7 % at 1048576 bytes, sized for an NDV of 500000: misses the target of 1 %",
            "; a higher --ndv, or none, allows one, --force writes this one",
        ),
        (
            "FPP 97.8 % at 4096 bytes, the most allowed: misses the target of 0.1 %; what is there is better, and stays",
            "; a higher --max-bytes or --fpp allows one, --force writes this one",
        ),
    ],
)
def test_reasons(message, with_its_hint):
    assert with_hint(message) == message + with_its_hint


def test_the_command_says_its_options_where_python_says_arguments():
    assert in_options("a.orc: max_bytes is not supported for ORC files") == (
        "a.orc: --max-bytes is not supported for ORC files"
    )
    assert in_options("hash_key: expected none") == "--hash-key: expected none"
    assert in_options("s3://a: set AWS_REGION, or the storage option region=NAME") == (
        "s3://a: set AWS_REGION, or --storage-option region=NAME"
    )
    plain = "max_bytes: no such file or directory"
    assert in_options(plain) == plain


def test_a_command_is_for_a_shell():
    assert next_line("advise", "my data.parquet") == "next: pbloom advise 'my data.parquet'"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": range(1000)}), "a.parquet")


@pytest.mark.usefixtures("here")
def test_commands_lead_on():
    assert outcome("validate", "a.parquet", "--no-config").stdout.splitlines() == [
        "a.parquet: no filters, so nothing was checked", "  next: pbloom advise a.parquet --no-config",
    ]  # fmt: skip
    build = "pbloom build a.parquet -c a --in-place"
    assert outcome("probe", "a.parquet", "-c", "a", "-v", "1").stdout.splitlines()[-1] == (
        "next: pbloom advise a.parquet -c a"
    )
    assert outcome("dump", "a.parquet", "-c", "a").stderr == (
        "pbloom: a.parquet: row group 0, column a: no filter; pbloom advise says whether it deserves one, pbloom build adds it\n"
    )
    assert outcome(*build.split()[1:]).code == 0
    assert "next" not in outcome("probe", "a.parquet", "-c", "a", "-v", "1").stdout
    assert outcome(*build.split()[1:]).stdout.splitlines()[1:] == [
        "skipped a, row group 0: has a filter already; validate proves it, and --existing replace rebuilds it for the rate of --fpp"
    ]


def test_filters_that_miss_their_rate_are_said_once_and_what_writes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": range(5000)}), "a.parquet", row_group_size=1800)
    build = ("build", "a.parquet", "-c", "a", "--max-bytes", "1KiB", "-o", "b.parquet")
    said = "the most allowed: misses the target of 1 %; a higher --max-bytes or --fpp allows one, --force writes this one"
    line = outcome(*build).stdout.splitlines()[1]
    assert line.startswith("skipped a, row groups 0, 1, 2: FPP ")
    assert line.endswith(f" % at 1024 bytes, {said}")
    few = outcome(*build, "--overwrite", "--fpp", "0.2").stdout.splitlines()[2]
    assert few.startswith("a\t1\t")
    assert "\trow groups 0, 1: FPP " in few


def test_a_difference_leads_to_its_diagnosis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.parquet").write_bytes(sound())
    (tmp_path / "b.parquet").write_bytes(murmur3())
    command = "pbloom diff a.parquet b.parquet --diagnose"
    assert outcome("diff", "a.parquet", "b.parquet").stdout.splitlines()[-1] == f"next: {command}"
    assert "next: " not in outcome(*command.split()[1:]).stdout


def test_inspect_leads_on(tmp_path, monkeypatch):
    """To advice where there are no filters, to findings where some cannot be used."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": range(1000), "b": range(1000)}), "a.parquet")
    orc.write_table(pa.table({"a": range(1000), "b": range(1000)}), "a.orc")
    for name in ("a.parquet", "a.orc"):
        assert outcome("inspect", name).stdout.splitlines()[-1] == f"next: pbloom advise {name}"
        pb.build(name, columns="a", in_place=True)
        assert "next: " not in outcome("inspect", name).stdout
        assert outcome("inspect", name, "-c", "b").stdout.splitlines()[-1] == (
            f"next: pbloom advise {name} -c b"
        )
    (tmp_path / "b.parquet").write_bytes(with_pointer(sound(), 8, None))
    *_, next_command = outcome("inspect", "b.parquet").stdout.splitlines()
    assert next_command == "next: pbloom validate b.parquet"
    assert outcome(*next_command.split()[2:]).code == 1


@pytest.mark.parametrize(
    ("command", "names", "expected"),
    [
        (
            "pbloom repair a --rebuild --in-place",
            ["lake/", "b"],
            "pbloom repair lake/ b --rebuild --in-place",
        ),
        (
            "pbloom build a -c n --in-place",
            ["*.parquet"],
            "pbloom build '*.parquet' -c n --in-place",
        ),
        ("pbloom build a -c n --in-place", [], "pbloom build FILE -c n --in-place"),
        ("pbloom build a -c n --in-place", list("123456"), "pbloom build FILE -c n --in-place"),
        # All files would lose filters, or get others.
        ("pbloom strip a -c n --in-place", ["lake"], "pbloom strip FILE -c n --in-place"),
        ("pbloom build a --existing replace", ["lake"], "pbloom build FILE --existing replace"),
        # A file for which its table stands.
        ("pbloom build t -c n --table delta", ["lake"], "pbloom build t -c n --table delta"),
    ],
)
def test_a_command_for_many_files(command, names, expected):
    assert for_many(command, "a", names) == expected


@pytest.mark.parametrize(
    ("command", "names", "expected"),
    [
        ("pbloom advise a -c n", ["lake"], "pbloom advise a b -c n"),
        ("pbloom build a -c n --in-place", list("123456"), "pbloom build a b -c n --in-place"),
        ("pbloom strip a -c n --in-place", ["lake"], "pbloom strip a b -c n --in-place"),
        ("pbloom build a --existing replace", ["lake"], "pbloom build a b --existing replace"),
        ("pbloom strip a -c n -g 3", ["lake"], "pbloom strip FILE -c n -g 3"),
    ],
)
def test_a_command_for_those_of_many_files_that_need_it(command, names, expected):
    assert for_many(command, "a", names, ["a", "b"]) == expected
    many = list("123456789ab")
    assert for_many(command, "a", [], many) == command.replace(" a ", " FILE ")


def test_what_judges_files_together_is_told_more_of_those_that_it_is_about():
    """With the others, it would say that nothing is to be done."""
    seven, eleven = list("1234567"), list("123456789ab")
    assert for_many("pbloom advise a -c x", "a", ["lake"], seven) == (
        "pbloom advise 1 2 3 4 5 6 7 -c x"
    )
    assert for_many("pbloom advise a -c x", "a", ["lake"], eleven) == "pbloom advise FILE -c x"
    assert for_many("pbloom advise a -c x", "a", ["lake"], ["lake"]) == "pbloom advise lake -c x"
    assert for_many("pbloom build a -c x", "a", ["lake"], seven) == "pbloom build lake -c x"


def test_a_command_that_takes_in_other_files_says_so():
    eleven = list("123456789ab")
    for named, concerned, said in (
        (["lake"], eleven, "this command takes in the other files, too"),
        # All of them, or so few that they are named.
        (["lake"], ["lake"], ""),
        (["lake"], ["a", "b"], ""),
        ([], eleven, ""),
    ):
        command = for_many("pbloom build a -c x", "a", named, concerned)
        assert on_others(command, named, concerned) == said


def test_many_files_that_need_help_are_named_by_what_means_all_if_no_others_change():
    many = list("123456")
    command = "pbloom build a -c n --in-place"
    assert for_many(command, "a", ["lake"], many) == "pbloom build lake -c n --in-place"
    # Nor need they have the column.
    look = "pbloom validate a -c n --pages --diagnose"
    assert for_many(look, "a", ["lake"], many) == "pbloom validate lake --pages --diagnose"
    assert (
        for_many(look, "a", ["lake"], ["a", "b"]) == "pbloom validate a b -c n --pages --diagnose"
    )
    other = f"{command} --existing replace"
    assert for_many(other, "a", ["lake"], many) == other.replace(" a ", " FILE ")


def test_nothing_is_changed_on_web_servers():
    path = "https://host/a.parquet"
    assert NextLines().lines(path, "build FILE -c n --in-place") == []
    assert NextLines().lines(path, "advise FILE -c n") == [f"next: pbloom advise {path} -c n"]


def test_columns_of_several_commands_are_named_once():
    commands = ["pbloom advise a -c x,'\"p,q\"'", "pbloom advise a -c y,x", "pbloom strip b -c x"]
    assert united(commands) == ["pbloom advise a -c 'x,\"p,q\",y'", "pbloom strip b -c x"]
