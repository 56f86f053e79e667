"""docs/schemas: what `make docs` writes, and what the commands print."""

import json
import shutil
from contextlib import chdir
from runpy import run_path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT
from deltalake import write_deltalake
from make.commands import outcome
from pyarrow import orc

SCHEMAS = run_path(str(ROOT / "docs" / "schemas.py"))

# The command of each schema; FILE: a Parquet and an ORC file, one after the other.
COMMANDS = {
    "advise": ("advise", "FILE", "--details"),
    "build": ("build", "FILE", "-c", "id", "--in-place"),
    "build-table": ("build", "events", "--table", "delta", "-c", "id", "--all-sizes"),
    "clean-temp": ("clean-temp", ".", "--dry-run"),
    "diff": ("diff", "FILE", "FILE"),
    "find": ("find", "FILE", "-c", "id", "-v", "7", "--columns", "id"),
    "index-add": ("index", "add", "--index", "x.index", "a.orc"),
    "index-check": ("index", "check", "--index", "x.index"),
    "index-compact": ("index", "compact", "--index", "x.index"),
    "index-probe": ("index", "probe", "--index", "x.index", "-c", "id", "-v", "7"),
    "inspect": ("inspect", "FILE"),
    "inspect-summary": ("inspect", "FILE", "--summary"),
    "probe": ("probe", "FILE", "-c", "id", "-v", "7", "--explain"),
    "probe-by-value": ("probe", "FILE", "-c", "id", "-v", "7", "--by-value"),
    "recover": ("recover", "a.parquet"),
    "repair": ("repair", "FILE", "--in-place", "--rebuild"),
    "repair-table": ("repair", "events", "--table", "delta", "--all-sizes"),
    "strip": ("strip", "FILE", "--in-place"),
    "strip-table": ("strip", "events", "--table", "delta"),
    "validate": ("validate", "FILE"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files that the commands are about."""
    folder = tmp_path_factory.mktemp("schemas")
    rows = pa.table({"id": range(1000), "name": [f"n{number}" for number in range(1000)]})
    pq.write_table(rows, folder / "a.parquet", row_group_size=200)
    orc.write_table(rows, folder / "a.orc")
    write_deltalake(folder / "events", rows)
    shutil.copy(FIXTURES / "java_filters.parquet", folder / "findings.parquet")
    (folder / ".b.parquet.0123456789abcdef.pbloom-tmp").touch()
    with chdir(folder):
        for name in ("a.parquet", "a.orc"):
            assert outcome("build", name, "-c", "id", "--in-place").code == 0
        assert outcome("index", "build", "--index", "x.index", "-c", "id", "a.parquet").code == 0
    return folder


def closed(part):
    return part | {"additionalProperties": False} if "required" in part else part


def test_make_docs_writes_them():
    for verb in SCHEMAS["REPORTS"]:
        assert (SCHEMAS["FOLDER"] / f"{verb}.json").read_text() == SCHEMAS["text"](verb)
    assert len(list(SCHEMAS["FOLDER"].iterdir())) == len(SCHEMAS["REPORTS"])
    makefile = (ROOT / "Makefile").read_text()
    assert "\t$(BIN)/python docs/schemas.py\n" in makefile


@pytest.mark.parametrize("verb", SCHEMAS["REPORTS"])
def test_what_a_command_prints_is_as_its_schema_says(verb, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "here")
    # With no key that it does not name.
    schema = json.loads(SCHEMAS["text"](verb), object_hook=closed)
    checker = jsonschema.Draft202012Validator(schema)
    names = ["a.parquet", "a.orc"] if "FILE" in COMMANDS[verb] else [""]
    names += ["findings.parquet"] * (verb == "validate")
    with chdir(tmp_path / "here"):
        for name in names:
            words = [name if word == "FILE" else word for word in COMMANDS[verb]]
            shown = outcome(*words, "--json")
            assert shown.code in (0, 1), shown.stderr
            (document,) = map(json.loads, shown.stdout.splitlines())
            assert [error.message for error in checker.iter_errors(document)] == []
    del document[next(iter(document))]
    assert not checker.is_valid(document)
