"""share/ is what the commands make of it: manual pages without warnings, and scripts for shells."""

import importlib.util
import re
import subprocess
import tomllib
from shutil import which

import pytest
from conftest import ROOT, missing

from parquet_bloom.commands.pbloom import cli

# Not by its folder in sys.path, where docs/engines.py would hide a folder of tests.
spec = importlib.util.spec_from_file_location("man", ROOT / "docs" / "man.py")
man = importlib.util.module_from_spec(spec)
spec.loader.exec_module(man)

SHARE = ROOT / "share"


@pytest.fixture(scope="module")
def written():
    return man.files()


def test_share_is_what_make_docs_writes(written):
    found = {str(path.relative_to(SHARE)) for path in SHARE.rglob("*") if path.is_file()}
    assert found == set(written)
    for name, text in written.items():
        assert (SHARE / name).read_text(encoding="utf-8") == text, name
    assert "\t$(BIN)/python docs/man.py share\n" in (ROOT / "Makefile").read_text()


def test_all_of_it_is_installed(written):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = {name: each for name, (each,) in settings["data-files"].items()}
    assert all(each.startswith(f"{name}/") for name, each in patterns.items())
    installed = {path for each in patterns.values() for path in ROOT.glob(each)}
    assert installed == {SHARE / name for name in written}


def test_every_command_has_a_page(written):
    pages = {name.rpartition("/")[2] for name in written if name.endswith(".1")}
    assert {f"pbloom-{name}.1" for name in cli.commands} | {"pbloom.1"} <= pages
    assert {"pbloom-index-probe.1", "pbloom-spark-build.1"} <= pages


def test_a_page_says_what_the_help_does(written):
    page = written["man/man1/pbloom-rule.1"]
    assert page.splitlines()[1:9] == [
        '.TH PBLOOM\\-RULE 1 2026-11-26 "parquet\\-bloom 0.1.0" "User Commands"',
        ".SH NAME",
        "pbloom\\-rule \\- Explain the rules of validate",
        ".SH SYNOPSIS",
        ".B pbloom rule",
        "[OPTIONS] [RULE]...",
        ".SH DESCRIPTION",
        "RULE is an id or a name; without one, all rules are listed.",
    ]
    assert ".TP\n\\fB\\-\\-json\\fR\nOne JSON document per rule.\n" in page
    assert ".SH EXAMPLES\n.nf\npbloom rule\npbloom rule PB305 false\\-negatives\n" in page


def test_a_page_has_the_variables_that_its_command_takes(written):
    """Those of the terminal are the same for all, and a group has those of its commands."""
    pages = {
        name.rpartition("/")[2].removesuffix(".1"): text
        for name, text in written.items()
        if name.endswith(".1")
    }
    said = {
        name: {*re.findall(r"\\fB([A-Z_]+)\\fR", text.split("\n.SH ENVIRONMENT\n")[1])}
        for name, text in pages.items()
    }
    of_all = {"PBLOOM_DEBUG", "NO_COLOR", "FORCE_COLOR", "TERM"}
    for name in ("pbloom-rule", "pbloom-recover", "pbloom-conformance-read", "pbloom-index-remove"):
        assert said[name] == of_all
    assert said["pbloom-build"] == of_all | {"PBLOOM_KEYS"}
    assert said["pbloom-index-sql"] == of_all | {"PBLOOM_HASH_KEY"}
    both = of_all | {"PBLOOM_KEYS", "PBLOOM_HASH_KEY"}
    assert both == said["pbloom-index-build"] == said["pbloom-index"] == said["pbloom"]


def test_no_example_is_wider_than_a_terminal(written):
    """Lines that are not filled are indented by 7."""
    pages = [text for name, text in written.items() if name.endswith(".1")]
    blocks = [each.split(".fi")[0] for text in pages for each in text.split("\n.nf\n")[1:]]
    lines = [line.replace("\\", "") for block in blocks for line in block.splitlines()]
    assert [line for line in lines if len(line) > 80 - 7] == []


def test_no_page_has_a_warning(written):
    if which("groff") is None:
        missing("groff")
    pages = "".join(text for name, text in written.items() if name.endswith(".1"))
    run = subprocess.run(
        ["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8"],
        input=pages, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stderr == ""
