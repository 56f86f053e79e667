"""How the package is installed, and where it is not."""

import re
import runpy
import subprocess
import sys
import sysconfig

import pytest
from conftest import ROOT


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        (
            "free-threaded",
            lambda patch: patch.setattr(sysconfig, "get_config_var", "Py_GIL_DISABLED".__eq__),
            "parquet-bloom: free-threaded Python: not supported, expected one with the GIL",
        ),
        (
            "Windows",
            lambda patch: patch.setattr(sys, "platform", "win32"),
            "parquet-bloom: Windows: not supported, expected Linux or macOS; WSL is a Linux",
        ),
    ],
)
def test_what_it_is_not_compiled_for(monkeypatch, name, changed, message):
    changed(monkeypatch)
    with pytest.raises(SystemExit) as refused:
        runpy.run_path(str(ROOT / "setup.py"))
    assert str(refused.value) == message


def test_the_workflows_are_what_github_expects():
    folder = ROOT / ".github" / "workflows"
    workflows = sorted(folder.glob("*.yml"))
    schema = ("--builtin-schema", "vendor.github-workflows")
    command = [sys.executable, "-m", "check_jsonschema", *schema, *map(str, workflows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "ok -- validation done"), done.stdout
    targets = re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for path in workflows:
        text = path.read_text()
        assert {*re.findall(r"\bmake ([\w./-]+)", text)} <= {*targets}
        for script in re.findall(r"\brelease/\w+\.py", text):
            assert (ROOT / script).exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"version": "0.2.0"},
            ["parquet_bloom/__init__.py: __version__", "CHANGELOG.md: no section 0.2.0"],
        ),
        ({}, []),
    ],
)
def test_versions_have_to_agree(changed, said):
    ready = runpy.run_path(str(ROOT / "release" / "ready.py"))
    ready["PROJECT"].update(changed)
    found = list(ready["versions"]())
    assert len(found) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(found, said, strict=True))


def test_licences_are_looked_at():
    ready = runpy.run_path(str(ROOT / "release" / "ready.py"))
    assert {"numpy", "pyarrow", "cryptography", "boto3"} <= ready["required"]()
    assert list(ready["licences"]()) == []
    assert not ready["ALLOWED"].search("GNU General Public License v3 (GPLv3)")
