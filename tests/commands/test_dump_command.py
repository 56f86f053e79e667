"""pbloom dump: one filter, or the footer."""

import json
import os
import pty
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.commands import on_a_terminal, outcome

import parquet_bloom as pb

FILE = FIXTURES / "java_filters.parquet"


def test_the_footer_is_a_listing():
    first, heads, *lines = outcome("dump", FILE, "--footer").stdout.splitlines()
    assert first == f"{FILE}: plain footer, 3,699 bytes at 61811, PAR1"
    assert heads == "offset  bytes"
    assert lines[:4] == [
        " 61811   3699  FileMetaData",
        " 61811      2    1 version: 1",
        " 61813    277    2 schema: list<SchemaElement>, 13 items",
        " 61815     12      [0] SchemaElement",
    ]
    assert " 62177     90          [1] int8: ColumnChunk" in lines
    assert " 62214      6                2 min: 0x80ffffff = -128" in lines
    assert len(lines) == len(list(pb.dump_footer(FILE).rows))


def test_some_of_it():
    found = outcome("dump", FILE, "--footer", "-c", "int8", "-c", "json", "-g", "0,2").stdout
    chunks = [line.split()[3] for line in found.splitlines() if line.endswith("ColumnChunk")]
    assert chunks == ["int8:", "json:"] * 2


def test_columns_are_named_as_everywhere(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a,b": [1], "id": [1], "x": [1]}), path)
    pb.build(path, columns=["a,b"], in_place=True)
    assert outcome("dump", path, "-c", '"a,b"').code == 0
    both = outcome("dump", path, "--footer", "-c", '"a,b",id').stdout
    assert both == outcome("dump", path, "--footer", "-c", "id", "-c", '"a,b"').stdout
    assert both.count(": ColumnChunk") == 2
    assert outcome("dump", path, "-c", "a,b").complaint == (
        "expected one --column and one --row-group, or --footer"
    )
    # What is meant is what can be typed.
    missed = outcome("dump", path, "--footer", "-c", "a").complaint
    assert missed == f"{path}: no column a; did you mean '\"a,b\"'?"


def test_a_terminal_gets_lines_that_fit(tmp_path, monkeypatch):
    path = tmp_path / "long.parquet"
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"k": "é" * 500}), path)
    lines = on_a_terminal(60, "dump", "long.parquet", "--footer")
    assert max(map(len, lines)) <= 60
    assert any(line.endswith("…") for line in lines)


def test_a_terminal_gets_a_screen_of_what_is_long(tmp_path):
    path = tmp_path / "long.parquet"
    groups = pa.table({"a": range(1200), "b": range(1200)})
    pq.write_table(groups, path, row_group_size=100)
    pb.build(path, columns=["a"], in_place=True, ndv=2000, force=True)
    lines = on_a_terminal(80, "dump", path, "--footer")
    assert [line.split()[-1] for line in lines if "[9]" in line or "[10]" in line] == ["RowGroup"]
    assert [line.strip() for line in lines if "more" in line] == ["… 2 more"]
    assert (
        lines[-1] == "An outline: -c and -g show some columns and row groups, --verbose shows all."
    )
    whole = outcome("dump", path, "--footer").stdout.splitlines()
    assert on_a_terminal(300, "dump", path, "--footer", "--verbose")[1:] == whole[1:]
    lines = on_a_terminal(80, "dump", path, "-c", "a")
    assert lines[:40] == outcome("dump", path, "-c", "a").stdout.splitlines()[:40]
    assert lines[40:] == ["And more lines: --verbose shows all, and -o writes them to a file."]


@pytest.mark.parametrize("binary", ["raw", "npy"])
def test_a_terminal_gets_no_bytes(tmp_path, binary):
    pq.write_table(pa.table({"a": range(100)}), tmp_path / "a.parquet")
    pb.build(tmp_path / "a.parquet", columns=["a"], in_place=True)
    asked = ("dump", tmp_path / "a.parquet", "-c", "a", "--format", binary)
    ours, theirs = pty.openpty()
    refused = outcome_with(asked, stdout=theirs, stderr=subprocess.PIPE)
    os.close(ours)
    os.close(theirs)
    assert (refused.returncode, refused.stderr) == (
        2,
        b"pbloom: binary output to a terminal: expected -o FILE or a pipe\n",
    )
    to_file = on_a_terminal(80, *asked, "-o", tmp_path / "filter")
    assert to_file == []
    piped = outcome_with(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    assert (tmp_path / "filter").read_bytes() == piped


def outcome_with(arguments, **streams):
    command = [sys.executable, "-m", "parquet_bloom", *map(str, arguments)]
    return subprocess.run(command, check=False, **streams)


def test_names_cannot_paint(tmp_path):
    path = tmp_path / "evil.parquet"
    pq.write_table(pa.table({"a\x1b[31m\n": ["\x1b[2J"]}), path)
    found = outcome("dump", path, "--footer").stdout
    assert "\x1b" not in found
    assert '4 name: "a\\x1b[31m\\n"' in found
    document = outcome("dump", path, "--footer", "--json").stdout
    assert "\x1b" not in document
    names = json.loads(document)["metadata"]["fields"]["schema"]["items"][1]["fields"]["name"]
    assert names["value"] == "a\x1b[31m\n"


def test_into_a_file(tmp_path):
    for option in ((), ("--json",), ("--format", "json")):
        path = tmp_path / f"footer{len(option)}"
        assert outcome("dump", FILE, "--footer", *option, "-o", path).stdout == ""
        assert path.read_text() == outcome("dump", FILE, "--footer", *option).stdout
    assert "--overwrite" in outcome("dump", FILE, "--footer", "-o", path).complaint


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--footer", "--format", "hex"), "expected --footer without --format hex"),
        (
            ("--footer", "--decrypt", "--unparsed"),
            "expected --footer without --unparsed, --decrypt",
        ),
        (("--footer", "--index-group", "0"), "expected --footer without --index-group"),
        (
            ("--footer", "--dialect", "murmur3", "--seed", "0"),
            "expected --footer without --dialect, --seed",
        ),
        ((), "expected --column, or --footer"),
        (("-c", "int8", "-c", "json"), "expected one --column and one --row-group, or --footer"),
        (("-c", "int8", "-g", "0,1"), "expected one --column and one --row-group, or --footer"),
        (("-c", "int8", "-g", "x"), "'x': expected numbers from 0, with commas between them"),
    ],
)
def test_what_does_not_go_together(options, problem):
    result = outcome("dump", FILE, *options)
    assert (result.code, result.stdout) == (2, "")
    assert problem in result.stderr
