"""Every recipe of docs/reading.md is run, and finds the rows."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from conftest import ROOT, missing
from make.reading_lake import ROWS, make_lake
from make.recipes import APART, Recipe, recipes

import parquet_bloom as pb

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


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_polars_reads_encrypted_files_and_our_source_has_no_keys(
    tmp_path: Path, plaintext_footer: bool
) -> None:
    pl = pytest.importorskip("polars")
    key = b"0123456789abcdef"
    properties = pe.create_encryption_properties(key, plaintext_footer=plaintext_footer)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(100)}), path, encryption_properties=properties)
    pb.build(path, columns=["a"], in_place=True, keys=pb.Keys(footer=key))
    decryption = pl.ParquetDecryptionProperties(footer_key=key)
    assert pl.read_parquet(path, decryption=decryption)["a"].to_list() == list(range(100))
    assert "keys" not in signature(pb.polars_source).parameters
    page = " ".join((ROOT / "docs" / "reading.md").read_text().split())
    assert (
        "`pb.polars_source` takes no keys, though polars 2.1 itself reads encrypted files" in page
    )
    assert "reads no encrypted files" not in page


def test_those_apart_have_an_environment() -> None:
    """Which `make recipes` makes."""
    text = (ROOT / "tests" / "recipes" / "run.py").read_text()
    assert all(f'"{name}"' in text for name in APART)
