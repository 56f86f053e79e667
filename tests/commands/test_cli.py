"""The command: exact text in a pipe, the documented JSON, exit codes, one line per complaint."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT
from make.commands import on_a_terminal, outcome, pbloom

import parquet_bloom as pb
from parquet_bloom.commands.manual import how_to_read
from parquet_bloom.commands.pbloom import cli
from parquet_bloom.container import OneFilter
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.files import open_file
from parquet_bloom.render.hints import not_listed

ROWS = 2000


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `pbloom` in a folder with events.parquet: two row groups of the ids 0 to 1999."""
    monkeypatch.chdir(tmp_path)
    ids = np.random.default_rng(3).permutation(ROWS).astype(np.int64)
    ids[0], ids[-1] = 123456, 7_000_000
    table = pa.table({"user_id": ids, "flag": ids % 2 == 0, "name": [f"n{i}" for i in ids]})
    pq.write_table(table, "events.parquet", row_group_size=ROWS // 2)

    def run(*arguments):
        return outcome(*arguments)

    return run


@pytest.fixture
def built(run):
    result = run("build", "events.parquet", "-c", "user_id,name", "-o", "out.parquet")
    assert (result.code, result.stderr) == (0, "")
    return run


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_one_filter_is_no_plural(run):
    result = run("build", "events.parquet", "-c", "user_id", "-g", "1", "-o", "out.parquet")
    assert result.stdout.startswith("out.parquet: 1 filter, 2.0 KiB added (")
    result = run("strip", "out.parquet", "--in-place")
    assert result.stdout.startswith("out.parquet: 1 filter removed, 2.0 KiB less, ")


def test_files_that_shrink_have_no_filters_removed(run):
    run("build", "events.parquet", "-c", "user_id", "--fpp", "1e-5", "-o", "out.parquet")
    again = ("build", "out.parquet", "-c", "user_id", "--existing", "replace", "--in-place")
    assert run(*again).stdout.startswith("out.parquet: 2 filters, 12.0 KiB less (31 %), ")


def test_build_text(run):
    result = run("build", "events.parquet", "-c", "user_id,flag", "-o", "out.parquet")
    assert result.code == 0
    first, *rest = result.stdout.splitlines()
    assert re.fullmatch(r"out\.parquet: 2 filters, 4\.0 KiB added \(18 %\), \d+\.\d\d s", first), (
        first
    )
    assert rest == [
        "column\tfilters\tbytes\tlargest\thighest FPP",
        "user_id\t2\t4.0 KiB\t2.0 KiB\t0.11 %",
        "skipped flag, row groups 0, 1: BOOLEAN: two values need no filter",
    ]


def test_build_json(run):
    result = run("build", "events.parquet", "-c", "user_id,flag", "-o", "out.parquet", "--json")
    (document,) = lines(result)
    assert document.pop("seconds") > 0
    metadata = pq.read_metadata("out.parquet")
    with pb.open("out.parquet") as file:
        fpp = [file.bloom_filter(group, "user_id").fpp for group in range(2)]
    assert document == {
        "path": "events.parquet",
        "format": "parquet",
        "output": "out.parquet",
        "dry_run": False,
        "filters": [
            {
                "row_group": group,
                "column": "user_id",
                "num_values": ROWS // 2,
                "num_filters": 1,
                "num_bytes": 2048,
                "fpp": fpp[group],
                "offset": metadata.row_group(group).column(0).bloom_filter_offset,
                "length": metadata.row_group(group).column(0).bloom_filter_length,
            }
            for group in range(2)
        ],
        "skipped": [
            {"row_group": group, "column": "flag", "reason": "BOOLEAN: two values need no filter"}
            for group in range(2)
        ],
        "bytes_added": os.path.getsize("out.parquet") - os.path.getsize("events.parquet"),
        "size_before": os.path.getsize("events.parquet"),
        "size_after": os.path.getsize("out.parquet"),
        "notes": [],
    }


def test_inject_is_build(run):
    assert run("inject", "events.parquet", "-c", "user_id", "-o", "a.parquet").code == 0
    run("build", "events.parquet", "-c", "user_id", "-o", "b.parquet")
    assert Path("a.parquet").read_bytes() == Path("b.parquet").read_bytes()


def test_inspect_text(built):
    result = built("inspect", "out.parquet", "-g", "1")
    title, header, row, other, *without = result.stdout.splitlines()
    assert title.startswith("out.parquet: 2,000 rows in 2 row groups, ")
    assert header == "row group\tcolumn\ttype\tdata\tfilter\toffset\tfill\tFPP\tNDV\tnote"
    assert row.split("\t")[:3] == ["1", "user_id", "INT64"]
    assert row.split("\t")[4] == "2.0 KiB"
    assert row.split("\t")[-1] == ""
    assert other.split("\t")[:3] == ["1", "name", "STRING"]
    assert without == ["flag: no filter: BOOLEAN columns get none"]


def test_inspect_says_of_a_named_column_why_it_has_none(built):
    title, *why, next_line = built("inspect", "out.parquet", "-c", "flag").stdout.splitlines()
    assert title.endswith("; no filters in flag")
    assert why == ["flag: no filter: BOOLEAN columns get none"]
    assert next_line == "next: pbloom advise out.parquet -c flag"


def test_inspect_verbose(built):
    result = built("inspect", "out.parquet", "-g", "1", "--verbose")
    _, _, *rows = result.stdout.splitlines()
    assert [row.split("\t")[:3] for row in rows] == [
        ["1", "user_id", "INT64"],
        ["1", "flag", "BOOLEAN"],
        ["1", "name", "STRING"],
    ]
    assert rows[1].split("\t")[-1] == "no filter: BOOLEAN columns get none"


def test_inspect_json(built):
    (document,) = lines(built("inspect", "out.parquet", "--json", "-c", "user_id,flag"))
    row_groups = document.pop("row_groups")
    assert list(document) == [
        "path", "format", "size", "created_by", "encrypted", "num_rows", "num_row_groups",
        "filter_bytes", "filter_share", "unverified",
    ]  # fmt: skip
    assert document["filter_bytes"] == 2 * (2048 + 16)
    assert document["filter_share"] == document["filter_bytes"] / os.path.getsize("out.parquet")
    user_id, flag = row_groups[0]["columns"]
    found = user_id.pop("filter")
    assert user_id | {"chunk_bytes": 0} == {
        "column": "user_id",
        "physical_type": "INT64",
        "logical_type": None,
        "num_values": 1000,
        "chunk_bytes": 0,
        "reason": None,
        "legacy_filters": [],
        "notes": [],
    }
    with open_file("out.parquet") as file:
        bits = file.bloom_filter(OneFilter(0, "user_id")).bits
        offset = file.chunk(0, "user_id").bloom_filter_offset
    assert found == {
        "offset": offset,
        "length": 2064,
        "header_bytes": 16,
        "num_filters": 1,
        "num_bytes": 2048,
        "num_blocks": 64,
        "algorithm": "BLOCK",
        "hash": "XXHASH",
        "compression": "UNCOMPRESSED",
        "fill": bits.fill,
        "fpp": bits.fpp,
        "worst_fpp": bits.fpp,
        "ndv_estimate": bits.ndv_estimate,
        "dialect": "xxhash",
        "stored_bytes": 2064,
        "encrypted": False,
    }
    assert (flag["filter"], flag["reason"]) == (None, "no filter: BOOLEAN columns get none")


def test_probe_text_and_exit_codes(built):
    result = built("probe", "out.parquet", "-c", "user_id", "-v", "123456", "-v", "-5")
    assert result.code == 0
    assert result.stdout.splitlines()[1:] == [
        "value\tverdict\trow groups to read\trows to read\treason",
        "123456\tmaybe\t0\t1000\t",
        "-5\tabsent\t\t0\t",
    ]
    assert built("probe", "out.parquet", "-c", "user_id", "-v", "-5").code == 1
    assert built("probe", "events.parquet", "-c", "user_id", "-v", "-5").code == 0


def test_probe_json(built):
    (document,) = lines(built("probe", "out.parquet", "-c", "user_id", "-v", "7000000", "--json"))
    footer = int.from_bytes(Path("out.parquet").read_bytes()[-8:-4], "little")
    assert document == {
        "path": "out.parquet",
        "format": "parquet",
        "column": "user_id",
        "results": [
            {
                "value": "7000000",
                "verdict": "maybe",
                "row_groups": [
                    {"row_group": 0, "verdict": "absent", "reason": None, "num_rows": 1000,
                     "first_row": 0},
                    {"row_group": 1, "verdict": "maybe", "reason": None, "num_rows": 1000,
                     "first_row": 1000},
                ],
                "rows_to_read": 1000,
            }
        ],
        "bytes_read": 4 + 8 + footer + 2 * (64 + 32),
        "unverified": None,
    }  # fmt: skip


def test_probe_unknown_says_why(built):
    result = built("probe", "out.parquet", "-c", "flag", "-v", "true")
    assert result.code == 0
    assert result.stdout.splitlines()[2] == (
        "true\tunknown\t0, 1\t2000\tBOOLEAN has no Bloom filter"
    )


def test_probe_groups_to_read(built):
    arguments = ("probe", "out.parquet", "-c", "user_id", "--groups-to-read", "-v", "7000000")
    assert built(*arguments).stdout == "out.parquet\t1\t1000\t1000\n"
    both = built(*arguments, "-v", "123456")
    assert both.stdout == "out.parquet\t0\t0\t1000\nout.parquet\t1\t1000\t1000\n"


def test_probe_values_from_a_file_and_from_stdin(built):
    with open("values.txt", "w") as file:
        file.write("123456\n-5\n")
    result = built("probe", "out.parquet", "-c", "user_id", "--values-from", "values.txt")
    assert [row.split("\t")[1] for row in result.stdout.splitlines()[2:]] == ["maybe", "absent"]
    piped = outcome("probe", "out.parquet", "-c", "user_id", "--values-from", "-", input="-5\n")
    assert piped.code == 1


def test_probe_explain(built):
    """The bits come from the specification's formula, evaluated here by hand."""
    result = built("probe", "out.parquet", "-c", "user_id", "-v", "-5", "--explain")
    row = result.stdout.splitlines()[2].split("\t")
    salts = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D,
             0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]  # fmt: skip
    hash = int(row[4], 16)
    bits = [((hash & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27 for salt in salts]
    block = (hash >> 32) * 64 >> 32
    with pb.open("out.parquet") as file:
        words = file.bloom_filter(0, "user_id").words[8 * block : 8 * block + 8]
    clear = [str(i) for i, bit in enumerate(bits) if not int(words[i]) >> bit & 1]
    assert clear
    assert row == [
        "0", "-5", "absent", "fbffffffffffffff", row[4], f"{block} of 64", " ".join(map(str, bits)),
        " ".join(clear), "",
    ]  # fmt: skip


def test_a_terminal_has_once_what_is_so_in_all_row_groups(built):
    asked = ("probe", "out.parquet", "-c", "user_id", "-v", "123456", "--explain")
    heads, *rows = (row.split("\t") for row in outcome(*asked).stdout.splitlines()[1:])
    lines = on_a_terminal(80, *asked)[1:]
    same = {head: {row[heads.index(head)] for row in rows} for head in heads}
    once = ("value", "stored bytes", "hash", "block", "bits of words 0 to 7")
    assert lines[:5] == [f"{head}: {next(iter(same[head]))}" for head in once]
    assert lines[5].split("  ") == ["row group", "verdict", "clear in words"]
    verdicts = [row[heads.index("verdict")] for row in rows]
    assert sorted(verdicts) == ["absent", "maybe"]
    assert [line.split()[1] for line in lines[7:]] == verdicts


def test_probe_explain_reads_no_more_and_has_json(built):
    arguments = ("probe", "out.parquet", "-c", "user_id", "-v", "-5", "-v", "123456", "--json")
    (plain,), (explained,) = (lines(built(*arguments, *more)) for more in ((), ("--explain",)))
    assert plain == {key: explained[key] for key in plain}
    first, *others = explained["explanations"]
    assert [(each["value"], each["row_group"]) for each in (first, *others)] == [
        ("-5", 0), ("-5", 1), ("123456", 0), ("123456", 1)
    ]  # fmt: skip
    assert list(first) == [
        "row_group", "value", "hash", "bits", "clear", "reason", "plain", "block", "num_blocks",
    ]  # fmt: skip


def test_probe_type(built):
    result = built(
        "probe", "out.parquet", "-c", "user_id", "--type", "bytes", "-v", "0x40e2010000000000"
    )
    assert result.stdout.splitlines()[2] == "0x40e2010000000000\tmaybe\t0\t1000\t"


def test_dump_formats(built, tmp_path):
    with pb.open("out.parquet") as file:
        bits = file.bloom_filter(1, "user_id").bits.to_bytes()
    arguments = ["dump", "out.parquet", "-c", "user_id", "-g", "1", "--format"]
    raw = built(*arguments, "raw").stdout_bytes
    assert raw[-2048:] == bits
    assert len(raw) == 2064
    header, *blocks = built(*arguments, "hex").stdout.splitlines()
    assert bytes.fromhex(header) == raw[:16]
    assert bytes.fromhex("".join(blocks)) == bits
    assert {len(block) for block in blocks} == {64}
    document = json.loads(built(*arguments, "json").stdout)
    assert bytes.fromhex(document["bitset"]) == bits
    assert document["num_bytes"] == 2048
    assert built(*arguments, "npy", "-o", "words.npy").code == 0
    words = np.load("words.npy")
    assert (words.shape, words.dtype, words.tobytes()) == ((64, 8), np.uint32, bits)


def test_dump_does_not_overwrite_without_being_told(built):
    arguments = ["dump", "out.parquet", "-c", "user_id", "-o"]
    before = Path("out.parquet").read_bytes()
    for option in ([], ["--overwrite"]):
        result = built(*arguments, "out.parquet", *option)
        assert "out.parquet: is the input itself" in result.stderr
    assert Path("out.parquet").read_bytes() == before
    Path("bits.hex").write_bytes(b"precious")
    assert built(*arguments, "bits.hex").stderr == (
        "pbloom: bits.hex: already exists: use --overwrite to replace it\n"
    )
    assert Path("bits.hex").read_bytes() == b"precious"
    assert built(*arguments, "bits.hex", "--overwrite").code == 0
    assert Path("bits.hex").read_text() == built(*arguments, "-").stdout


def test_strip_gives_the_original_back(built):
    result = built("strip", "out.parquet", "-o", "plain.parquet", "--json")
    (document,) = lines(result)
    assert len(document["removed"]) == 4
    assert Path("plain.parquet").read_bytes() == Path("events.parquet").read_bytes()


def test_strip_says_that_filters_of_the_writer_go_too(built):
    note = "note: filters are removed no matter who built them, the file's own writer included"
    assert built("strip", "out.parquet", "--in-place", "--dry-run").stdout.splitlines()[1:] == [
        note
    ]
    assert note not in built("strip", "events.parquet", "--in-place", "--dry-run").stdout
    assert built("strip", "out.parquet", "--in-place").stdout.splitlines()[1:] == [note]


def test_strip_of_one_column_keeps_the_others(built):
    built("strip", "out.parquet", "-c", "name", "--in-place")
    with open_file("out.parquet") as file:
        assert file.chunk(0, "name").bloom_filter_offset is None
        assert DataFile(file).probe("user_id", -5)[0].verdict == "absent"


def test_several_files_go_to_a_folder_and_one_bad_one_does_not_stop_the_others(run, tmp_path):
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    (tmp_path / "in" / "_hidden").mkdir()
    data = (tmp_path / "events.parquet").read_bytes()
    for name in ("day=1/a.parquet", "day=1/.b.parquet", "_hidden/c.parquet", "d.parquet"):
        (tmp_path / "in" / name).write_bytes(data)
    (tmp_path / "in" / "bad.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "in" / "readme.txt").write_bytes(b"")
    result = run("build", "in", "-c", "user_id", "--output-dir", "out", "--json")
    assert result.code == 2
    assert [document["output"] for document in lines(result)] == [
        "out/d.parquet",
        "out/day=1/a.parquet",
    ] or [document["output"] for document in lines(result)] == [
        "out/day=1/a.parquet",
        "out/d.parquet",
    ]
    assert result.stderr == (
        "pbloom: in/bad.parquet: truncated or not a Parquet file: does not end with PAR1; if it was one, its end"
        " is lost: take another copy\n"
        "pbloom: 2 files left out: in/_hidden/c.parquet, in/day=1/.b.parquet;"
        " their names, or those of folders that they are in, are not those of data: to include them,"
        " name them one by one\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        *(["build", "-c", "user_id", "--dry-run"], ["strip", "--dry-run"], ["repair", "--dry-run"]),
        *(["inspect"], ["validate"], ["advise"], ["inspect", "--json"], ["inspect", "--summary"]),
        ["report", "-o", "page.html", "--overwrite"],
    ],
)
def test_what_folders_have_besides_is_told(run, tmp_path, command):
    (tmp_path / "in").mkdir()
    # Of files without filters, inspect says more.
    run("build", "events.parquet", "-c", "user_id", "--in-place")
    data = (tmp_path / "events.parquet").read_bytes()
    for name in ("a.parquet", "A.data", "noext"):
        (tmp_path / "in" / name).write_bytes(data)
    two = "their names are not those of data files: to include them, name them one by one"
    one = "its name is not that of a data file: to include it, name it itself"
    told = f"pbloom: 2 files left out: in/A.data, in/noext; {two}\n"
    assert run(*command, "in").stderr == told
    told = f"pbloom: 1 file left out: in/noext; {one}\n"
    assert run(*command, "in", "in/A.data").stderr == told
    named = ("in/a.parquet", "in/A.data", "in/noext")
    assert run(*command, *named).stderr == run(*command, "in/a.parquet").stderr == ""
    # Each shard names the same, whichever files are its own.
    if "--summary" not in command and command[0] not in ("advise", "report"):
        shards = [run(*command, "in", "in/noext", "--shard", f"{n}/2").stderr for n in (0, 1)]
        assert all("1 file left out: in/A.data;" in each for each in shards)
        assert not any("in/noext;" in each for each in shards)


@pytest.mark.parametrize("command", [("strip", "--in-place"), ("inspect",), ("validate",)])
def test_an_empty_name_is_not_the_current_folder(built, command):
    """Which an unset variable of a shell would make of it."""
    before = Path("out.parquet").read_bytes()
    result = built(*command, "")
    assert (result.code, result.stderr) == (2, "pbloom: an empty name, expected a file\n")
    assert Path("out.parquet").read_bytes() == before


def test_globs_are_expanded_by_the_command_too(built):
    result = built("inspect", "*.parquet", "--json")
    assert [document["path"] for document in lines(result)] == ["events.parquet", "out.parquet"]


COMPLAINTS = {
    ("inspect", "nothing.parquet"): "nothing.parquet: No such file or directory",
    ("inspect", "no*.parquet"): "no*.parquet: no Parquet or ORC files",
    ("probe", "events.parquet", "-c", "user_ids", "-v", "1"): (
        "events.parquet: no column user_ids; did you mean user_id?"
    ),
    ("probe", "events.parquet", "-c", "user_id", "-v", "x"): (
        "events.parquet: column user_id: x: cannot be a value of INT64: expected an integer"
    ),
    ("probe", "events.parquet", "-c", "user_id", "-v", "1e3"): (
        "events.parquet: column user_id: 1e3: cannot be a value of INT64: expected an integer"
    ),
    ("build", "events.parquet", "-c", "user_id", "-o", "events.parquet"): (
        "events.parquet: is the input itself, expected another file, or --in-place"
    ),
    ("build", "events.parquet", "-c", "user_id", "--output-dir", "."): (
        "events.parquet: is the input itself, expected another folder, or --in-place"
    ),
    (
        "build",
        "events.parquet",
        "-c",
        "user_id",
        "-o",
        "nowhere/b.parquet",
    ): "nowhere: no such folder; mkdir -p nowhere makes it",
    (
        "build",
        "events.parquet",
        "-c",
        "user_id",
        "-o",
        "events.parquet/deep/b.parquet",
    ): "events.parquet: a file, expected a folder",
    (
        "build",
        "events.parquet",
        "-c",
        "user_id",
        "--output-dir",
        "events.parquet/deep",
    ): "events.parquet: a file, expected a folder",
    ("report", "events.parquet", "-o", "events.parquet/x.html"): (
        "events.parquet: a file, expected a folder"
    ),
    ("index", "build", "events.parquet", "-c", "user_id", "--index", "events.parquet/x"): (
        "events.parquet: a file, expected a folder"
    ),
    ("inspect", "events.parquet", "--table", "iceberg"): (
        "events.parquet: no metadata/*.metadata.json in it, expected the folder of an Iceberg table"
    ),
    ("find", "events.parquet", "-c", "user_id", "-v", "1", "--columns", "user-id"): (
        "no column user-id; did you mean user_id?"
    ),
    ("inspect", "*.pq"): (
        "*.pq: no Parquet or ORC files; there is events.parquet: did you mean '*.parquet'?"
    ),
    ("inspect", "nowhere/"): "nowhere/: no such folder",
    ("inspect", "nowhere/a.parquet"): "nowhere/a.parquet: no such file: there is no folder nowhere",
    ("inspect", "nowhere/*/[ab].parquet"): "nowhere: no such folder",
    ("inspect", "*.orc"): "*.orc: no Parquet or ORC files",
    ("inspect", "s3:/lake/a.parquet"): (
        "s3:/lake/a.parquet: no such file; did you mean s3://lake/a.parquet?"
    ),
    ("inspect", "s3:/lake/a b.parquet"): (
        "s3:/lake/a b.parquet: no such file; did you mean 's3://lake/a b.parquet'?"
    ),
    ("dump", "events.parquet", "-c", "user_id"): (
        "events.parquet: row group 0, column user_id: no filter; pbloom advise says whether it deserves one, pbloom build adds it"
    ),
    ("dump", "events.parquet", "-c", "user_id", "-g", "7"): (
        "events.parquet: row group 7: expected 0 to 1"
    ),
}


@pytest.mark.parametrize("arguments", COMPLAINTS, ids=" ".join)
def test_trouble_is_one_line_and_exit_code_2(run, arguments):
    result = run(*arguments)
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == f"pbloom: {COMPLAINTS[arguments]}\n"


def test_an_output_that_exists_is_not_overwritten_without_being_told(built):
    result = built("build", "events.parquet", "-c", "name", "-o", "out.parquet")
    assert result.code == 2
    assert result.stderr == ("pbloom: out.parquet: already exists: use --overwrite to replace it\n")
    again = built("build", "events.parquet", "-c", "name", "-o", "out.parquet", "--overwrite")
    assert again.code == 0


USAGE = [
    (["build", "events.parquet", "-c", "user_id"], "expected an output: -o FILE for a copy"),
    (["build", "a", "-c", "x", "-o", "b", "--in-place"], "expected exactly one of --output"),
    (
        ["build", "events.parquet", "other.parquet", "-c", "x", "-o", "b"],
        "--output takes one input, found events.parquet, other.parquet; use --output-dir for several",
    ),
    (["probe", "events.parquet", "-c", "user_id"], "expected at least one --value"),
    (
        ["probe", "a", "-c", "x", "-v", "1", "--groups-to-read", "--json"],
        "expected --groups-to-read without",
    ),
    (["build", "events.parquet", "-c", "x", "-o", "b", "--max-bytes", "many"], "not a size"),
    (
        ["build", "events.parquet", "-c", "x", "-o", "b", "--max-bytes", "1"],
        "'1': expected 64 B to 128.0 MiB",
    ),
    (
        ["build", "events.parquet", "-c", "x", "-o", "b", "--fpp", "1"],
        "'1': expected a rate between 0 and 1, such as 0.01",
    ),
    (["build", "events.parquet", "-c", "user_id,", "-o", "b"], "an empty name"),
    (["build", "events.parquet", "-c", '"a"b', "-o", "b"], "comma-separated names"),
    (["inspect", "events.parquet", "-c", ""], "an empty name"),
    (["strip", "events.parquet", "-c", "", "--in-place"], "an empty name"),
    (["probe", "events.parquet", "-c", "", "-v", "1"], "an empty name"),
    (["dump", "events.parquet", "-c", ""], "an empty name"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_usage_errors(run, arguments, message):
    result = run(*arguments)
    assert result.code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "command", [("build",), ("spark", "build"), ("advise",), ("spark", "advise")]
)
def test_help_says_that_advice_may_choose_another_rate(run, command):
    help = " ".join(run(*command, "--help").stdout.split())
    assert "[default: 0.01]" not in help
    assert "0.01, or a lower one where there are many row groups" in help


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("advise", "NDV has its standard error, which is no bound"),
        # Those that `cp -p` or `rsync -t` brought are as old as their originals.
        ("build", "by their modification times, which copies may keep"),
        ("index probe", "one that has changed since, or is gone, is `unknown` for this value"),
    ],
)
def test_help_says_how_far_an_answer_goes(run, command, said):
    assert said in " ".join(run(*command.split(), "--help").stdout.split())


def test_help_of_a_command_comes_in_two_ways(run):
    assert run("help", "build").stdout == run("build", "--help").stdout
    assert run("help", "index", "probe").stdout == run("index", "probe", "--help").stdout
    assert run("help").stdout == run("help", "--all").stdout == run("--help").stdout
    assert run("help", "help").stdout == run("--help").stdout
    everything = run("help", "build", "--all").stdout
    assert everything == run("help", "--all", "build").stdout == run("build", "--help-all").stdout
    assert "--footer-key" in everything
    assert run("index", "--help-all").stdout == run("index", "--help").stdout
    assert run("help", "halp").stderr == "pbloom: halp: no such command; see pbloom --help\n"


def test_help_takes_what_asks_for_help_of_a_command(run):
    everything = run("build", "--help-all").stdout
    assert run("help", "build", "--help-all").stdout == everything
    assert run("help", "--help-all", "build").stdout == everything
    for how in ("-h", "--help"):
        assert run("help", "build", how).stdout == run("build", "--help").stdout
        assert run("help", how).stdout == run("--help").stdout
    assert run("help", "build", "--fpp").stderr == (
        "pbloom: --fpp: expected one command, as in pbloom help build, or pbloom help build --all with every option\n"
    )


def test_help_says_where_the_manual_pages_are(run):
    """Those of the source here; of an installed package, they are beside its lib/."""
    assert run("help", "man").stdout == f"man -M {shlex.quote(f'{ROOT}/share/man')} pbloom-build\n"


@pytest.mark.parametrize(
    "lib", ["lib/python3.12/site-packages", "local/lib/python3.12/dist-packages"]
)
def test_manual_pages_of_an_environment(tmp_path, lib):
    environment = tmp_path / "some env"
    code = str(environment / lib / "parquet_bloom" / "commands" / "pbloom.py")
    assert how_to_read(code) == "no manual pages here: `pbloom build --help-all` says the same"
    (environment / "share" / "man" / "man1").mkdir(parents=True)
    (environment / "share" / "man" / "man1" / "pbloom-build.1").touch()
    (environment / "bin").mkdir()
    assert how_to_read(code).splitlines() == [
        f"man -M '{environment}/share/man' pbloom-build",
        f"Without -M, man finds the pages if {environment}/bin is in PATH.",
    ]


def test_help_about_a_rule_is_the_rule(run):
    """Ids are what findings show."""
    shown = run("rule", "PB401").stdout
    assert shown.startswith("PB401 false-negatives (error): ")
    assert run("help", "PB401").stdout == shown == run("help", "pb401", "--all").stdout
    assert run("help", "false-negatives").stdout == shown
    assert run("help", "PB401", "PB305").stdout == run("rule", "PB401", "PB305").stdout
    assert "Explain the rules of validate" in run("help", "rule").stdout
    assert run("help", "PB999").stderr == run("rule", "PB999").stderr
    assert "no such rule 'PB999'; " in run("help", "PB999").stderr


def examples(command, *path):
    """Those of a command's help, three or more, as arguments."""
    text = command.help.split("Examples:\n")[1].split("\n\n")[0]
    lines = [shlex.split(line) for line in text.strip().splitlines()]
    assert len(lines) >= 3, path
    assert {line[0] for line in lines} == {"pbloom"}
    return [line[1:] for line in lines]


@pytest.fixture
def lake(run):
    """What the examples are about: files with the columns of README's, and no others."""
    ids = [*range(ROWS - 1), 123456]
    columns = {"user_id": ids, "country": ["AT", "CH"] * (ROWS // 2), "time": ids}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [*columns] == re.findall(r'^ {8}"(\w+)": ', readme, re.MULTILINE)
    pq.write_table(pa.table(columns), "events.parquet", row_group_size=ROWS // 2)
    run("build", "events.parquet", "-c", "user_id", "-o", "events.bloom.parquet")
    for folder in ("lake", "lake/2019", "more"):
        os.mkdir(folder)
        shutil.copy("events.parquet", folder)
    Path("ids.csv").write_text("user_id\n123456\n")
    return run


# Examples of spark want a session, those of conformance an engine.
@pytest.mark.parametrize("command", sorted(set(cli.commands) - {"conformance", "index", "spark"}))
def test_every_command_has_help_with_runnable_examples(lake, command):
    if command == "build":
        os.remove("events.bloom.parquet")
    for arguments in examples(cli.commands[command], command):
        # diff has something to tell: the one file has filters.
        assert lake(*arguments).code == (1 if command == "diff" else 0), arguments


def test_the_examples_of_index_run_one_after_the_other(lake):
    index = cli.commands["index"]
    for arguments in (
        *examples(index),
        *(each for name in index.commands for each in examples(index.commands[name], name)),
    ):
        if arguments[1:2] == ["build"]:
            shutil.rmtree(arguments[3], ignore_errors=True)
        result = lake(*arguments)
        # What `remove` has forgotten is a finding of `check`, and unknown.
        add = "pbloom index add --index events.index"
        forgotten = {("check", "lake/2019/"): 1, ("probe", "lake/"): 2}
        code = forgotten.get((arguments[1], arguments[-1]), 0)
        told = f"pbloom: {not_listed(add)}\n" if arguments[1] == "probe" else ""
        if arguments[1] == "remove" and arguments[-1] != "--json":
            looks = f"which looks at {Path('lake').absolute()}"
            told = f"pbloom: what is still there comes back with the next `{add}`, {looks}\n"
        if code == 2:
            again = f"`{add}` reads what was added or changed in the places that the index is about; name those that were never added, or were removed, too"
            told = f"pbloom: events.index: not up to date: {again}\n"
        assert (result.code, result.stderr) == (code, told), arguments


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize("name", ["conformance", "spark"])
def test_the_examples_of_a_group_are_commands_that_there_are(name):
    group = cli.commands[name]
    of_commands = (
        each for inner in group.commands for each in examples(group.commands[inner], inner)
    )
    for arguments in (*examples(group), *of_commands):
        group, name, *others = arguments
        # Once asked, a command keeps what its context calls the option for help.
        above = click.Context(cli, **cli.context_settings)
        with cli.commands[group].commands[name].make_context(name, others, parent=above):
            pass


@pytest.mark.usefixtures("built")
def test_a_table_on_a_terminal_is_not_cut():
    """Every cell is there, folded if need be."""
    text = "\n".join(on_a_terminal(60, "probe", "out.parquet", "-c", "user_id", "-v", "5"))
    assert "maybe" in text
    assert "…" not in text


def test_a_closed_pipe_is_no_trouble(built):
    command = f"{sys.executable} -m parquet_bloom inspect out.parquet out.parquet out.parquet"
    result = subprocess.run(
        f"({command}; echo $? >code) | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    assert result.stdout.startswith("out.parquet: 2,000 rows")


def test_the_program_runs_as_a_module():
    assert pbloom("--version").stdout == f"pbloom, version {pb.__version__}\n"


def test_file_urls_are_local_paths():
    result = outcome("inspect", f"file://{FIXTURES}/pyarrow_types.parquet")
    assert result.code == 0


@pytest.mark.parametrize("module", ["parquet_bloom", "parquet_bloom.cli"])
def test_modules_that_are_the_command(module):
    """None does nothing and says that all is well."""
    command = [sys.executable, "-m", module, "inspect", "gone.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "pbloom: gone.parquet: No such file or directory\n",
    )


def test_an_option_is_no_value_of_the_one_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1], "-o": ["-v"]}), "a.parquet")
    told = "-c: expected a value, found -o; --column=-o takes it for one"
    assert outcome("build", "a.parquet", "-c", "-o", "b.parquet").complaint == told
    assert outcome("build", "a.parquet", "--column=-o", "-o", "b.parquet").code == 0
    assert outcome("probe", "b.parquet", "--column=-o", "--value=-v").code == 0
    assert outcome("probe", "b.parquet", "--column=-o", "-v", "-1").code == 1
