"""`-o FILE` of the verbs that answer: what standard output would get, whole or not at all."""

import os
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb

ANSWERS = {
    "inspect": ["inspect"],
    "inspect json": ["inspect", "--json"],
    "histogram": ["inspect", "--histogram", "-c", "user_id"],
    "probe": ["probe", "-c", "user_id", "-v", "7"],
    "probe json": ["probe", "-c", "user_id", "-v", "7", "--json"],
    "advise": ["advise", "--details"],
    "validate text": ["validate", "--no-config"],
    **{
        f"validate {each}": ["validate", "--no-config", "--format", each]
        for each in ("json", "sarif", "junit", "github")
    },
}


@pytest.fixture(params=["parquet", "orc"])
def name(request, tmp_path, monkeypatch):
    """A file with filters, of either format."""
    monkeypatch.chdir(tmp_path)
    name = f"events.{request.param}"
    table = pa.table({"user_id": range(3000), "name": [f"ñ{i}" for i in range(3000)]})
    (pq if request.param == "parquet" else orc).write_table(table, name)
    pb.build(name, in_place=True, columns=["user_id"])
    return name


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_file_gets_what_standard_output_gets(name, answer):
    if answer == "histogram" and name.endswith("orc"):
        return
    expected = outcome(*ANSWERS[answer], name)
    found = outcome(*ANSWERS[answer], name, "-o", "answer")
    assert expected.stdout_bytes
    assert (found.code, found.stdout, found.stderr) == (expected.code, "", expected.stderr)
    assert Path("answer").read_bytes() == expected.stdout_bytes
    assert sorted(os.listdir()) == ["answer", name]


def test_the_exit_code_is_that_of_the_answer(name):
    result = outcome("validate", "--no-config", name, "--require", "name", "-o", "answer")
    assert (result.code, result.stdout) == (1, "")
    assert "PB310" in Path("answer").read_text()


def test_one_bad_file_does_not_keep_the_others_out(name):
    result = outcome("inspect", "nothing", name, "--json", "-o", "answer")
    assert result.code == 2
    assert result.stderr == "pbloom: nothing: No such file or directory\n"
    assert Path("answer").read_text() == outcome("inspect", name, "--json").stdout


def test_nothing_is_overwritten_without_being_told(name):
    Path("answer").write_text("precious")
    result = outcome("inspect", name, "-o", "answer")
    assert result.code == 2
    assert result.stderr == "pbloom: answer: already exists: use --overwrite to replace it\n"
    assert Path("answer").read_text() == "precious"
    assert outcome("inspect", name, "-o", "answer", "--overwrite").code == 0
    assert Path("answer").read_text() == outcome("inspect", name).stdout


def test_an_input_is_never_the_output(name):
    before = Path(name).read_bytes()
    Path(name).rename("events")
    result = outcome("validate", "events", "-o", "events", "--overwrite")
    assert result.code == 2
    assert result.stderr == "pbloom: events: is the input itself, expected another file\n"
    assert Path("events").read_bytes() == before


def test_a_mistake_in_the_options_writes_nothing(name):
    assert outcome("probe", name, "-c", "user_id", "-o", "answer").code == 2
    assert os.listdir() == [name]


def test_a_full_disk_is_named_and_leaves_nothing(name, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    result = outcome("inspect", name, "-o", "answer")
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == "pbloom: answer: No space left on device\n"
    assert os.listdir() == [name]


def test_nobody_reads_more_in_it_than_in_the_file(name):
    os.chmod(name, 0o600)
    assert outcome("validate", "--no-config", name, "-o", "answer").code == 0
    assert stat.S_IMODE(os.stat("answer").st_mode) == 0o600


def test_a_dash_is_standard_output(name):
    assert outcome("inspect", name, "-o", "-").stdout == outcome("inspect", name).stdout


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("a.parquet", "a.parquet: is written as text, expected a.txt, or --json and a.json"),
        ("a.csv", "a.csv: is written as text, expected a.txt, or --json and a.json"),
        ("a.tsv", "a.tsv: is written as text, expected a.txt, or --json and a.json"),
        ("a.json", "a.json: expected --json, or a name for text"),
    ],
)
def test_names_that_say_another_format(name, output, said):
    found = outcome("inspect", name, "-o", output)
    assert (found.code, found.complaint) == (2, f"--output: {said}")
    assert not Path(output).exists()
    found = outcome("probe", name, "-c", "user_id", "-v", "7", "-o", "a.csv")
    ways = "a.txt, or --json and a.json, or --by-value and a.parquet"
    assert found.complaint == f"--output: a.csv: is written as text, expected {ways}"
    assert outcome("validate", name, "--format", "sarif", "-o", "a.json").code == 0
    assert outcome("probe", name, "-c", "user_id", "-v", "7", "--json", "-o", "b.json").code == 0
