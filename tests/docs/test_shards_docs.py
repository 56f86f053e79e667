"""docs/shards.md: its commands run, and what schedulers read can be read."""

import json
import os
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from conftest import ROOT
from make.commands import outcome
from make.documents import blocks

from parquet_bloom.commands.build import build

PAGE = (ROOT / "docs" / "shards.md").read_text()
MANIFEST = "s3://inventories/lake/daily/2026-11-20T01-00Z/manifest.json"
FILES = 6


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """A folder in which the command `pbloom` is this one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    for number in range(FILES):
        pq.write_table(pa.table({"user_id": range(9)}), tmp_path / "lake" / f"{number}.parquet")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "pbloom"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m parquet_bloom "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    names = "".join(f"lake/{number}.parquet\n" for number in range(FILES))
    (tmp_path / "files.txt").write_text(names)
    return tmp_path


def shell(command):
    run = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, (command, run.stderr)
    return run.stdout


def num_filters():
    report = json.loads(outcome("inspect", "lake", "--summary", "--json").stdout)
    return sum(column["num_filters"] for column in report["columns"])


def test_the_commands_run(lake):
    commands = [line for block in blocks(PAGE, "console") for line in block.splitlines()]
    assert len(commands) == 9
    for command in commands:
        shell(command.removeprefix("$ "))
    assert num_filters() == FILES


def built_by_shards(command, variable):
    """What the shards print; `command`: for 100 of them, with a manifest in a store."""
    assert MANIFEST in command
    assert "/100" in command
    command = command.replace(MANIFEST, "files.txt").replace("/100", "/3")
    return [shell(f"export {variable}={index}; {command}") for index in range(3)]


def test_kubernetes(lake):
    (job,) = map(yaml.safe_load, blocks(PAGE, "yaml"))
    spec = job["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert (job["kind"], spec["completionMode"], spec["completions"]) == ("Job", "Indexed", 100)
    assert container["command"][:2] == ["sh", "-c"]
    built_by_shards(container["command"][2], "JOB_COMPLETION_INDEX")
    assert num_filters() == FILES


def test_aws_batch(lake):
    (definition,) = map(json.loads, blocks(PAGE, "json"))
    *before, command = definition["containerProperties"]["command"]
    assert before == ["sh", "-c"]
    assert "--array-properties size=100\n" in PAGE
    built_by_shards(command, "AWS_BATCH_JOB_ARRAY_INDEX")
    assert num_filters() == FILES


RAY = """
class Task:
    def __init__(self, function):
        self.remote = function

def remote(**options):
    return Task

def init(): ...

def get(results):
    return results
"""


def test_ray(lake):
    """With what it uses of Ray, all at once in one process."""
    (example,) = blocks(PAGE, "python")
    (lake / "ray.py").write_text(RAY)
    (lake / "example.py").write_text(example.replace(MANIFEST, "files.txt").replace("100", "3"))
    assert int(shell(f"{sys.executable} example.py")) > 0
    assert num_filters() == FILES


def test_every_option_is_one_of_build():
    options = {name for param in build.params for name in (*param.opts, *param.secondary_opts)}
    text = re.sub(r"^aws .*$|^```\w+\n.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= options | {"--table"}
