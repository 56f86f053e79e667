"""Every recipe of docs/reading.md is run, and finds the rows."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import ROOT, missing
from make.reading_lake import ROWS, make_lake
from make.recipes import APART, Recipe, recipes

RECIPES = recipes()

# The answer is judged, not how the process ends: now and then threads of pyarrow abort one that is on its way out
# (https://github.com/apache/arrow/issues/34314).
LEAVE = "\nimport os\nimport sys\nsys.stdout.flush()\nos._exit(0)\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reading")
    make_lake(folder)
    return folder


@pytest.mark.parametrize(
    "recipe",
    [recipe for recipe in RECIPES if recipe.module not in (*APART, "pyspark")],
    ids=lambda recipe: recipe.module,
)
def test_a_recipe_finds_the_rows(folder: Path, recipe: Recipe) -> None:
    if find_spec(recipe.module) is None:
        missing(recipe.module)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", recipe.code + LEAVE],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    if "\nprint(" in recipe.code and "#" not in recipe.code:
        assert run.stdout.splitlines()[-1] == str(ROWS)


def test_each_library_has_a_recipe() -> None:
    modules = {recipe.module for recipe in RECIPES}
    expected = {"pyarrow", "polars", "daft", "ray", "dask", "datasets", "duckdb", "datafusion"}
    assert expected | {"pyspark"} <= modules
    assert ".to_pandas()" in "".join(recipe.code for recipe in RECIPES)


def test_those_apart_have_an_environment() -> None:
    """Which `make recipes` makes."""
    text = (ROOT / "tests" / "recipes" / "run.py").read_text()
    assert all(f'"{name}"' in text for name in APART)
