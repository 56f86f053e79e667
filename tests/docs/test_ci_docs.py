"""docs/ci.md and the pre-commit hook: every example is read by what it is written for."""

import re
import subprocess
import sys

import pytest
import yaml
from conftest import FIXTURES, ROOT
from make.commands import outcome
from make.documents import blocks

from parquet_bloom.commands.validate import validate
from parquet_bloom.rules.policy import ColumnPolicy, Policy, read_policy
from parquet_bloom.rules.rule import Severity

TEXT = (ROOT / "docs" / "ci.md").read_text()
HOOKS = ROOT / ".pre-commit-hooks.yaml"


def section(name):
    return TEXT.split(f"## {name}\n")[1].split("\n## ")[0]


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def commands():
    """Every `pbloom validate …` in the document, without where its output goes."""
    lines = re.findall(r"^(?:\s*- (?:run: )?)?(pbloom validate .*)$", TEXT, re.MULTILINE)
    return [line.split(" > ")[0].split() for line in lines]


def accepts(*command):
    """Whether a checker, `python -m command`, finds nothing wrong."""
    run = subprocess.run(
        [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, check=False
    )
    assert run.returncode in (0, 1), run.stderr
    return run.returncode == 0


def the_hook():
    (hook,) = yaml.safe_load(HOOKS.read_text())
    return hook


def examples(name):
    """The YAML in a section."""
    return re.findall(r"^```yaml\n(.*?)^```", section(name), re.MULTILINE | re.DOTALL)


def test_the_configuration_in_full(tmp_path):
    (example,) = blocks(TEXT, "toml")
    assert read_policy(written(tmp_path, "pbloom.toml", example)) == Policy(
        fail_on=Severity.WARNING,
        max_fpp=0.02,
        max_bytes=4 << 20,
        require=("user_id",),
        ignore=frozenset({"PB304", "PB207"}),
        columns={"user.id": ColumnPolicy(True, 0.001, 16 << 20, frozenset({"PB305"}))},
        no_values=True,
    )


def test_the_configuration_in_pyproject_toml(tmp_path):
    (example,) = blocks(TEXT, "toml")
    path = written(tmp_path, "pbloom.toml", example)
    tables = example.replace("[validate", "[tool.pbloom.validate")
    other = written(tmp_path, "pyproject.toml", tables)
    assert read_policy(other) == read_policy(path)


def test_the_commands_are_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = commands()
    assert len(found) == 4
    for command in found:
        for folder in ("out/", "data/"):
            (tmp_path / folder).mkdir(exist_ok=True)
        result = outcome(*command[1:])
        # There are no files, which is the only complaint.
        complaint = f"pbloom: {command[2]}: no Parquet or ORC files\n"
        assert (result.code, result.stderr) == (2, complaint)


def test_every_option_of_the_document_is_one_of_the_command():
    options = {name for param in validate.params for name in (*param.opts, *param.secondary_opts)}
    found = set(re.findall(r"`(--[a-z-]+)", TEXT))
    assert found <= options
    assert {"--config", "--no-config", "--require", "--fail-on", "--no-deep"} <= found


def test_every_format_is_described():
    (option,) = (param for param in validate.params if param.name == "findings_format")
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == list(option.type.choices)


def test_the_hook_is_what_pre_commit_expects(tmp_path):
    assert accepts("pre_commit", "validate-manifest", HOOKS)
    wrong = written(tmp_path, "hooks.yaml", HOOKS.read_text().replace("language: python", ""))
    assert not accepts("pre_commit", "validate-manifest", wrong)


@pytest.mark.parametrize(
    ("name", "is_checked"),
    [
        ("a.parquet", True),
        ("b/c.pq", True),
        ("d.orc", True),
        ("a.parquet.crc", False),
        ("aparquet", False),
    ],
)
def test_the_hook_takes_files_of_both_formats(name, is_checked):
    assert bool(re.search(the_hook()["files"], name)) is is_checked


def test_the_hook_runs():
    program, *arguments = the_hook()["entry"].split()
    assert program == "pbloom"
    codes = [
        subprocess.run(
            [sys.executable, "-m", "parquet_bloom", *arguments, str(FIXTURES / name)],
            cwd=FIXTURES,
            capture_output=True,
            check=False,
        ).returncode
        for name in ("pyarrow_filters.parquet", "java_filters.parquet")
    ]
    assert codes == [0, 1]


def test_pre_commit_reads_the_examples(tmp_path):
    configs = examples("pre-commit")
    assert len(configs) == 2
    for config in configs:
        path = written(tmp_path, "config.yaml", config)
        assert accepts("pre_commit", "validate-config", path)
        (repo,) = yaml.safe_load(config)["repos"]
        assert repo["hooks"][0]["id"] == the_hook()["id"]
    wrong = written(tmp_path, "config.yaml", configs[1].replace("language: system", ""))
    assert not accepts("pre_commit", "validate-config", wrong)


@pytest.mark.parametrize(
    ("name", "schema", "wrong"),
    [
        ("GitHub Actions", "vendor.github-workflows", ("runs-on:", "run-on:")),
        ("GitLab", "vendor.gitlab-ci", ("when: always", "when: sometimes")),
    ],
)
def test_ci_servers_read_the_examples(tmp_path, name, schema, wrong):
    (example,) = examples(name)
    checker = ("check_jsonschema", "--builtin-schema", schema)
    assert accepts(*checker, written(tmp_path, "right.yml", example))
    assert not accepts(*checker, written(tmp_path, "wrong.yml", example.replace(*wrong)))


def test_what_is_written_is_what_is_uploaded():
    (workflow,) = map(yaml.safe_load, examples("GitHub Actions"))
    steps = workflow["jobs"]["validate"]["steps"]
    (upload,) = (step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert any(step.get("run", "").endswith(f"> {upload['with']['sarif_file']}") for step in steps)
    (pipeline,) = map(yaml.safe_load, examples("GitLab"))
    report = pipeline["validate"]["artifacts"]["reports"]["junit"]
    assert pipeline["validate"]["script"][-1].endswith(f"--format junit > {report}")
