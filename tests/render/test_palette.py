"""Colours: exact bytes, where they are wanted and nowhere else."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome, sent_to_a_terminal
from make.reports import BROKEN

import parquet_bloom as pb
from parquet_bloom.render.findings import ValidationView
from parquet_bloom.render.palette import choose, in_color, painted, unmarked
from parquet_bloom.render.table import folded, lines

GREEN, YELLOW, RED, MAGENTA, END = "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[35m", "\x1b[0m"
PROBE = ("probe", "b.parquet", "-c", "id", "-v", "5", "-v", "-1")
TABLE = [
    "value\tverdict\trow groups to read\trows to read\treason",
    f"5\t{YELLOW}maybe{END}\t0\t100\t",
    f"-1\t{GREEN}absent{END}\t\t0\t",
]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    pq.write_table(pa.table({"id": range(100), "error": range(100)}), "a.parquet")
    pb.build("a.parquet", "b.parquet", columns=["id"])


@pytest.fixture
def always():
    before = choose("always")
    yield
    choose(before)


def test_verdicts_in_a_table():
    for arguments in (("--color", "always", *PROBE), (*PROBE, "--color", "always")):
        assert outcome(*arguments).stdout.splitlines()[1:] == TABLE


def test_verdicts_of_several_files():
    assert outcome(
        "--color", "always", "probe", "a.parquet", "b.parquet", "-c", "id", "-v", "5"
    ).stdout == (
        f"a.parquet: {MAGENTA}unknown{END} row group 0, 100 rows to read\n"
        f"b.parquet: {YELLOW}maybe{END} row group 0, 100 rows to read\n"
        f"a.parquet: {MAGENTA}unknown{END}, row group 0: no filter\n"
        f"2 files: 1 {MAGENTA}unknown{END}, 1 {YELLOW}to{END} {YELLOW}read{END}; 200 of 200 rows to read;"
        " 1.3 KiB read to find out\n"
    )


@pytest.mark.usefixtures("always")
def test_severities(capsys):
    ValidationView().write(BROKEN)
    shown = capsys.readouterr().out
    assert f": {RED}not{END} {RED}ok{END}\n  {RED}error{END} PB111 length-missing: " in shown
    assert f"\n  {YELLOW}warning{END} PB309 filters-dominate: " in shown


def test_what_became_of_filters_but_no_column_that_is_called_so():
    shown = outcome(
        "--color", "always", "build", "b.parquet", "-c", "id,error", "-o", "c.parquet"
    ).stdout
    assert f"\n{YELLOW}skipped{END} id, row group 0: has a filter already" in shown
    assert "\nerror\t1\t" in shown


def test_when_colours_are_used():
    colored, plain = "\n".join(TABLE), "\n".join(map(_without, TABLE))
    ways = [
        ({}, (), plain),
        ({"FORCE_COLOR": "1"}, (), colored),
        ({"FORCE_COLOR": ""}, (), plain),
        ({"FORCE_COLOR": "0"}, (), plain),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), plain),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), plain),
        ({"NO_COLOR": "1"}, ("--color", "always"), colored),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, ("--color", "auto"), plain),
    ]
    for environment, option, expected in ways:
        shown = outcome(*option, *PROBE, environment=environment).stdout
        assert shown.split("\n", 1)[1] == expected + "\n", (environment, option)
    # What one command was told says nothing to the next one.
    assert outcome(*PROBE).stdout.split("\n", 1)[1] == plain + "\n"


def _without(line):
    for escape in (GREEN, YELLOW, END):
        line = line.replace(escape, "")
    return line


def test_documents_and_files_have_none():
    always = ("--color", "always")
    assert "\x1b" not in outcome(*always, *PROBE, "--json").stdout
    assert outcome(*always, *PROBE, "-o", "answer.txt").code == 0
    with open("answer.txt") as answer:
        assert answer.read() == outcome(*PROBE).stdout
    for kind in ("sarif", "junit", "github", "json"):
        assert "\x1b" not in outcome(*always, "validate", "b.parquet", "--format", kind).stdout
    assert "\x1b" not in outcome(*always, "report", "b.parquet", "-o", "-").stdout


def test_a_terminal_has_them_in_columns_that_stay_aligned():
    *_, maybe, absent = sent_to_a_terminal(60, *PROBE).splitlines()
    assert maybe == f"5      {YELLOW}maybe{END}                     0           100"
    assert absent == f"-1     {GREEN}absent{END}                                  0"


@pytest.mark.usefixtures("always")
def test_marks_take_no_room():
    table = [("value", "verdict", "n"), ("1", painted("absent"), "7")]
    shown = list(lines(table))
    assert in_color(shown[2]) == f"1      {GREEN}absent{END}   7"
    assert [in_color(each) for each in folded(f"a: {painted('not ok')} b", 8)] == [
        f"a: {RED}not{END}",
        f"  {RED}ok{END} b",
    ]
    assert unmarked(painted("maybe")) == painted("may be").replace(" ", "") == "maybe"
