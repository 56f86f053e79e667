"""docs/options.md is what the commands make of it."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT
from make.commands import outcome

from parquet_bloom.commands.pbloom import cli
from parquet_bloom.commands.spark import spark

PAGE = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
LOCAL, SPARK = PAGE.split("## On Spark")


def marks(text):
    """What is in each cell, by option (as it is called last in its row) and command."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    heads = rows[0][1:]
    found = {}
    for option, *cells in rows[2:]:
        for command, cell in zip(heads, cells, strict=True):
            if cell:
                found.setdefault((option.strip("`"), command), cell)
    return heads, found


def test_the_page_is_what_make_docs_writes():
    script = str(ROOT / "docs" / "options.py")
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == PAGE


def test_make_docs_writes_it():
    makefile = (ROOT / "Makefile").read_text()
    assert "\t$(BIN)/python docs/options.py > docs/options.md\n" in makefile


def test_every_command_is_in_a_table():
    assert {*marks(LOCAL)[0], "rule", "completion", "conformance", "index", "spark"} == set(
        cli.commands
    )
    assert set(marks(SPARK)[0]) == set(spark.commands)


@pytest.mark.parametrize(("text", "words"), [(LOCAL, ()), (SPARK, ("spark",))])
def test_each_mark_is_in_the_help(text, words):
    heads, found = marks(text)
    for command in heads:
        shown = outcome(*words, command, "--help-all").stdout
        # Lines of what precedes them may begin with options of others.
        _, examples, shown = shown.partition("\n  Examples:\n")
        assert examples, command
        named = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", shown, re.MULTILINE))
        listed = {re.findall(r"--[\w-]+", option)[0] for option, taker in found if taker == command}
        assert listed == named - {"--color", "--debug", "--help", "--help-all"}, command


def test_what_is_marked_as_refused_is_refused_and_nothing_else():
    """Given in the way that is right on Spark."""
    values = {"--column-key": "a=env:K", "--key-id": "a=env:K", "--master-key": "a=env:K"}
    _, found = marks(SPARK)
    names = re.findall(r"^\| `(--[\w-]+)` ", SPARK.split("**Encrypted files**")[1], re.MULTILINE)
    options = {name: found[name, "inspect"] for name in names if (name, "inspect") in found}
    assert len(options) == 14
    assert set(options.values()) == {"✓", "✗"}
    for option, mark in options.items():
        value = values.get(option, "a=b" if option == "--kms-conf" else "env:K")
        result = outcome(
            "spark", "inspect", "lake", option, value, "--master", "a", "--remote", "b"
        )
        refused = "others can see the job" in result.stderr
        assert refused == (mark == "✗"), (option, result.stderr)
