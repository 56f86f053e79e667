"""docs/why-not-skipped.md: its commands and scripts print what it shows."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT
from make.documents import blocks, figures
from make.shown import make_files, rewritten

from parquet_bloom.engines.catalogue import engines

TEXT = (ROOT / "docs" / "why-not-skipped.md").read_text()
SECTIONS = {
    section.partition("\n")[0]: section for section in re.split(r"^## ", TEXT, flags=re.MULTILINE)
}


def test_the_page_is_what_make_docs_writes():
    script = str(ROOT / "docs" / "why_not_skipped.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert run.stdout == TEXT
    wanted = "\t$(BIN)/python docs/why_not_skipped.py > docs/why-not-skipped.md\n"
    assert wanted in (ROOT / "Makefile").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files of the tutorial."""
    folder = tmp_path_factory.mktemp("engines")
    make_files(folder)
    return folder


def test_the_file_answers_as_shown(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert figures(rewritten(TEXT)) == figures(TEXT)


@pytest.mark.interop
@pytest.mark.parametrize("engine", ["DuckDB", "DataFusion", "pyarrow", "Polars"])
def test_the_engine_skips_as_shown(engine, folder):
    pytest.importorskip(engine.lower())
    (script,), (expected,) = (blocks(SECTIONS[engine], each) for each in ("python", "text"))
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (expected, "")


@pytest.mark.interop
@pytest.mark.parametrize(
    ("engine", "expected"),
    [("pyarrow", "8 row groups by pyarrow\n[] 0\n"), ("Polars", "0 of 0 row group\n")],
)
def test_scripts_that_hand_over_row_groups_take_an_absent_value(engine, expected, folder):
    pytest.importorskip(engine.lower())
    (script,) = blocks(SECTIONS[engine], "python")
    assert "361045656987" in script
    absent = script.replace("361045656987", "361045656988")
    run = subprocess.run(
        [sys.executable, "-c", absent], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == (expected, "")


def test_no_other_script_is_left_out():
    assert len(blocks(TEXT, "python")) == len(blocks(TEXT, "text")) == 4


def test_engines_that_advise_knows_have_a_section():
    of_page = {name.lower() for name in SECTIONS}
    assert {each.name.lower() for each in engines() if each.parquet} - of_page == {
        "iceberg",
        "impala",
    }
