"""docs/examples: the cells of the notebooks show what is stored in them, and the larger program proves what it says.
tests/spark/test_spark_docs.py runs the notebook for Spark."""

import json
import sys
from contextlib import chdir
from runpy import run_path

import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from make.notebooks import NOTEBOOKS, code_cells, executed

EXAMPLES = ROOT / "docs" / "examples"


@pytest.mark.interop
@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem != "spark"], ids=lambda path: path.stem
)
def test_a_notebook_shows_what_is_stored(path, tmp_path):
    """`make examples` stores it anew."""
    notebook = json.loads(path.read_text())
    with chdir(tmp_path):
        shown = executed(notebook)
    assert shown == [cell["outputs"] for cell in code_cells(notebook)]


def test_the_drill_proves_that_the_users_are_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lake.py", str(tmp_path), "4", "20000"])
    run_path(str(EXAMPLES / "lake.py"), run_name="__main__")
    assert "absent, absent, absent; files read: 0\n" in capsys.readouterr().out
    assert (
        pq.read_table(tmp_path / "proof.parquet")["state"].to_pylist()
        == ["absent"] * 3 + ["asked"] * 4
    )


def test_the_page_names_every_example():
    page = (ROOT / "docs" / "examples.md").read_text()
    assert all(f"(examples/{path.name})" in page for path in EXAMPLES.iterdir())
