"""Each package that an install may lack: what needs it says so in one line, and all else works."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT

KEY = "000102030405060708090a0b0c0d0e0f"
# Of docs/install.md, without what is in the small install.
LARGE = ("numpy", "pyarrow", "rich", "pygments", "cryptography", "google", "jinja2", "zstandard")

# Runs each command in a process of its own, forked before anything of ours is there, without some packages.
WORK = r"""
import importlib.abc, io, json, os, sys

class Hidden(importlib.abc.MetaPathFinder):
    def __init__(self, names):
        self.names = names
    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for hidden, *command in json.loads(sys.argv[1]):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        sys.meta_path.insert(0, Hidden(hidden))
        from parquet_bloom.cli import main
        sys.argv = ["pbloom", *command]
        main()
    os.close(writing)
    said = open(reading, "rb").read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, said]))
"""


def install(extra: str) -> str:
    return f"pip install 'parquet-bloom[{extra}]'"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """By name: the exit code, and what was said."""
    folder = tmp_path_factory.mktemp("extras")
    table = pa.table({"id": list(range(1000)), "name": [f"user {n}" for n in range(1000)]})
    for codec in ("zstd", "snappy"):
        pq.write_table(table, folder / f"{codec}.parquet", compression=codec)
    orc, keyed = str(FIXTURES / "java_original.orc"), f"--footer-key=hex:{KEY}"
    commands: dict[str, tuple[tuple[str, ...], ...] | tuple[object, ...]] = {
        "orc": (["google"], "inspect", orc),
        "orc, with another of google's": (["google.protobuf"], "probe", orc, "-c", "id", "-v", "1"),
        "no orc": (["google"], "inspect", "no.parquet"),
        "encryption": (["cryptography"], "inspect", "snappy.parquet", keyed),
        "report": (["jinja2"], "report", "snappy.parquet", "-o", "report.html"),
        "no zstandard": (["zstandard"], "build", "zstd.parquet", "-c", "id", "-o", "zstd-built.parquet"),
        "no orjson": (["orjson"], "inspect", "snappy.parquet", "--json"),
        "build": (LARGE, "build", "snappy.parquet", "-c", "id,name", "-o", "built.parquet"),
        "inspect": (LARGE, "inspect", "built.parquet"),
        "probe": (LARGE, "probe", "built.parquet", "-c", "id", "-v", "7"),
        "absent": (LARGE, "probe", "built.parquet", "-c", "name", "-v", "nobody"),
        "strip": (LARGE, "strip", "built.parquet", "-o", "stripped.parquet"),
        "validate": (LARGE, "validate", "built.parquet", "--json"),
        "needs numpy": (["numpy"], "inspect", "built.parquet", "--histogram"),
    }  # fmt: skip
    (folder / "no.parquet").write_text("neither of the formats")
    done = subprocess.run(
        [sys.executable, "-c", WORK, json.dumps(list(commands.values()))],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    answers = map(json.loads, done.stdout.splitlines())
    return {name: tuple(answer) for name, answer in zip(commands, answers, strict=True)}


ORC = FIXTURES / "java_original.orc"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orc", f"{ORC}: needs protobuf, which is not installed: {install('orc')}"),
        (
            "orc, with another of google's",
            f"{ORC}: needs protobuf, which is not installed: {install('orc')}",
        ),
        (
            "encryption",
            f"footer key (hex:…): needs cryptography, which is not installed: {install('encryption')}",
        ),
        ("report", f"report: needs jinja2, which is not installed: {install('report')}"),
        ("no orjson", "needs orjson, which is not installed: pip install orjson"),
        ("needs numpy", "needs numpy, which is not installed: pip install numpy"),
    ],
)
def test_what_is_missing_is_said(runs: dict[str, tuple[int, str]], name: str, message: str) -> None:
    assert runs[name] == (2, f"pbloom: {message}\n")


def test_all_else_works(runs: dict[str, tuple[int, str]]) -> None:
    """The small install builds, asks and validates ordinary files."""
    assert [runs[name][0] for name in ("no zstandard", "build", "inspect", "probe", "strip")] == [
        0
    ] * 5
    assert runs["absent"][0] == 1
    assert runs["validate"][0] == 0
    assert json.loads(runs["validate"][1])["findings"] == []
    assert "no.parquet" in runs["no orc"][1]
    assert "protobuf" not in runs["no orc"][1]


def test_the_page_names_what_is_left_out() -> None:
    """The command of the small install has every dependency that is not hidden here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "install.md").read_text()
    (small,) = re.findall(
        r"^pip install --no-deps --no-compile parquet-bloom (.*)$", page, re.MULTILINE
    )
    required = {re.split("[<>=]", name)[0] for name in project["dependencies"]}
    assert set(small.split()) == required - set(LARGE)
    extras = project["optional-dependencies"].keys() - {"dev", "docs", "fuzz", "interop"}
    assert extras <= set(re.findall(r"`(\w+)`", page))


def test_python_callers_get_an_exception() -> None:
    import parquet_bloom as pb
    from parquet_bloom.errors import needing

    expected = f"a.orc: needs protobuf, which is not installed: {install('orc')}"
    for lacked in ("no", "no.protobuf"):
        with (
            pytest.raises(pb.UnsupportedError) as caught,
            needing("a.orc", "protobuf", "orc", lacked),
        ):
            import_module("no.protobuf")
        assert str(caught.value) == expected
    # What is broken in another way is said as it is.
    with pytest.raises(ImportError, match="no_such"), needing("a.orc", "protobuf", "orc"):
        import_module("no_such")
