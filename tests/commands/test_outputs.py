"""Outputs that would replace one another, or what the command reads."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": range(100)}), "e.parquet")
    pq.write_table(pa.table({"id": range(50)}), "b.parquet")
    pq.write_table(pa.table({"id": [7, 70]}), "ids.parquet")
    for name in ("policy", "names.txt", "k.key"):
        Path(name).write_text(name)


def contents():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


FIND = ("find", "e.parquet", "-c", "id")
SAME = "--output and --report are the same file, expected two"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*FIND, "-v", "7", "-o", "a.pq", "--report", "a.pq"), f"a.pq: {SAME}"),
        ((*FIND, "-v", "7", "-o", "a.pq", "--report", "./a.pq", "--overwrite"), f"a.pq: {SAME}"),
        ((*FIND, "-v", "7", "-o", "a.pq", "--report", "link.pq"), f"link.pq: {SAME}"),
        (
            (*FIND, "--ids", "ids.parquet", "--report", "ids.parquet", "--overwrite"),
            "ids.parquet: is what --ids reads, expected another file for --report",
        ),
        (
            (*FIND, "--values-from", "ids.parquet", "-o", "hard.parquet", "--overwrite"),
            "hard.parquet: is what --values-from reads, expected another file for --output",
        ),
        (
            ("probe", "e.parquet", "-c", "id", "--by-value", "--ids", "ids.parquet", "-o", "ids.parquet"),
            "ids.parquet: is what --ids reads, expected another file for --output",
        ),
        (
            ("validate", "e.parquet", "--config", "policy", "-o", "policy", "--overwrite"),
            "policy: is what --config reads, expected another file for --output",
        ),
        (
            ("validate", "e.parquet", "-o", "pbloom.toml"),
            "--output: pbloom.toml: is written as text, expected pbloom.txt, or --json and pbloom.json",
        ),
        (
            ("advise", "e.parquet", "-c", "id", "--value-sample", "names.txt", "-o", "names.txt"),
            "names.txt: is what --value-sample reads, expected another file for --output",
        ),
        (
            ("build", "--manifest", "names.txt", "-c", "id", "-o", "names.txt", "--overwrite"),
            "names.txt: is what --manifest reads, expected another file for --output",
        ),
        (
            ("inspect", "e.parquet", "--footer-key", "file:k.key,raw", "-o", "k.key"),
            "k.key: is what --footer-key reads, expected another file for --output",
        ),
        (
            ("inspect", "e.parquet", "--column-key", "id=file:k.key", "-o", "k.key"),
            "k.key: is what --column-key reads, expected another file for --output",
        ),
        (
            (*FIND, "--index", "x.index", "-v", "7", "-o", "x.index/a.pq"),
            "x.index/a.pq: is in the folder of --index, expected another file for --output",
        ),
        (
            ("conformance", "read", "--adapter", "a", "--report", "a.json", "--badge", "./a.json"),
            "a.json: --report and --badge are the same file, expected two",
        ),
        (
            ("conformance", "write", "--written", ".", "--report", "e.parquet", "--overwrite"),
            "--report: e.parquet: is written as JSON, expected e.json",
        ),
        (
            ("spark", "index", "lake", "-c", "id", "--index", "s3://b/x/", "--audit", "s3://b/x"),
            "s3://b/x: --index and --audit are the same folder, expected two",
        ),
        (
            ("spark", "inspect", "lake", "s3://b/x/", "--audit", "s3://b/x"),
            "s3://b/x: is what PATH reads, expected another folder for --audit",
        ),
        (
            ("spark", "strip", "--manifest", "s3://b/x", "--report", "s3://b/x"),
            "s3://b/x: is what --manifest reads, expected another folder for --report",
        ),
    ],
)  # fmt: skip
def test_no_output_is_another_or_what_is_read(words, said):
    os.symlink("a.pq", "link.pq")
    os.link("ids.parquet", "hard.parquet")
    before = contents()
    result = outcome(*words)
    assert (result.code, result.stdout, result.stderr) == (2, "", f"pbloom: {said}\n")
    assert contents() == before


def test_what_is_known_of_an_engine_is_brought_up_to_date():
    words = ("--adapter", "none", "--expect", "a.json", "--write-expect", "a.json")
    result = outcome("conformance", "read", *words, "--overwrite")
    assert result.stderr == "pbloom: a.json: No such file or directory\n"


INDEX = ("--index", "x.index")


@pytest.mark.parametrize(
    "words",
    [
        ("find", "lake/e.parquet", "lake/b.parquet", "--output"),
        ("find", "lake", "--report"),
        ("find", *INDEX, "--report"),
        ("find", "s3://bucket/lake/", "lake", "--report"),
        ("index", "probe", *INDEX, "--output"),
        ("index", "probe", *INDEX, "lake", "--output"),
    ],
)
def test_rows_replace_no_file_that_was_looked_into(words):
    """One in which nothing is found, too, and one that an index rules out."""
    os.mkdir("lake")
    for name in ("e.parquet", "b.parquet"):
        os.rename(name, f"lake/{name}")
    assert outcome("index", "build", "lake", *INDEX, "-c", "id").code == 0
    before = contents()
    result = outcome(*words, "lake/b.parquet", "-c", "id", "-v", "70", "--overwrite")
    said = "pbloom: lake/b.parquet: is the input itself, expected another file\n"
    assert (result.code, result.stdout, result.stderr) == (2, "", said)
    assert contents() == before


def test_rows_that_cannot_be_written_are_not_looked_for():
    result = outcome(*FIND, "-v", "7", "--columns", "nothing", "-o", "b.parquet")
    assert result.stderr == "pbloom: b.parquet: already exists: use --overwrite to replace it\n"
