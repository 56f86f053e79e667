"""docs/ci.md and the pre-commit hook: every example is read by what it is written for."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import FIXTURES, ROOT
from make.commands import outcome
from make.documents import blocks

import parquet_bloom as pb
from parquet_bloom.commands.validate import validate
from parquet_bloom.rules.policy import ColumnPolicy, Policy, read_policy
from parquet_bloom.rules.rule import Severity

TEXT = (ROOT / "docs" / "ci.md").read_text()
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
REPOSITORY = URLS["Source"].removeprefix("https://github.com/")
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
    assert len(found) == 3
    for command in found:
        for folder in ("out/", "data/"):
            (tmp_path / folder).mkdir(exist_ok=True)
        result = outcome(*command[1:])
        # There are no files, which is the only complaint.
        complaint = f"pbloom: {command[2]}: no Parquet or ORC files\n"
        assert (result.code, result.stderr) == (2, complaint)


def test_a_change_without_data_files_passes(tmp_path, monkeypatch):
    (script,) = blocks(section("Files that a change touches"), "sh")
    command = f'#!/bin/sh\nexec "{sys.executable}" -m parquet_bloom "$@"\n'
    tools, repository = tmp_path / "bin", tmp_path / "repository"
    tools.mkdir()
    repository.mkdir()
    written(tools, "pbloom", command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def git(*words):
        author = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        subprocess.run(["git", *author, *words], cwd=repository, check=True, capture_output=True)

    def checked():
        """After a commit of all that is there: the exit code, and what was said."""
        git("add", "-A")
        git("commit", "-m", "more", "--allow-empty")
        run = subprocess.run(
            ["sh", "-ec", script], cwd=repository, capture_output=True, text=True, check=False
        )
        (repository / "changed.txt").unlink()
        return run.returncode, run.stdout + run.stderr

    git("init", "-q")
    shutil.copy(FIXTURES / "pyarrow_types.parquet", repository / "old.parquet")
    git("add", "-A")
    git("commit", "-m", "first")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    written(repository, "README.md", "Data.")
    (repository / "old.parquet").unlink()
    assert checked() == (0, "")
    names = "größe 1.parquet", '"{a}".parquet'
    for name in names:
        shutil.copy(FIXTURES / "pyarrow_types.parquet", repository / name)
    code, said = checked()
    assert (code, "2 files: 2 without filters" in said) == (0, True)
    written(repository, "broken.parquet", "PAR1")
    code, said = checked()
    assert code == 2
    assert "broken.parquet: truncated or not a Parquet file" in said


def test_every_option_of_the_document_is_one_of_the_command():
    options = {name for param in validate.params for name in (*param.opts, *param.secondary_opts)}
    found = set(re.findall(r"`(--[a-z-]+)", TEXT))
    assert found <= options
    assert {"--config", "--no-config", "--require", "--fail-on", "--no-deep"} <= found


def test_every_format_is_described():
    (option,) = (param for param in validate.params if param.name == "findings_format")
    described = re.findall(r"^\| `(\w+)` \|", TEXT.split("\n## ")[0], re.MULTILINE)
    assert described == list(option.type.choices)


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
        assert repo["repo"] in ("local", URLS["Source"])
    wrong = written(tmp_path, "config.yaml", configs[1].replace("language: system", ""))
    assert not accepts("pre_commit", "validate-config", wrong)


@pytest.mark.parametrize(
    ("name", "schema", "wrong"),
    [
        ("GitHub Actions", "vendor.github-workflows", ("runs-on:", "run-on:")),
        ("GitLab", "vendor.gitlab-ci", ("extends:", "extend:")),
    ],
)
def test_ci_servers_read_the_examples(tmp_path, name, schema, wrong):
    (example,) = examples(name)
    checker = ("check_jsonschema", "--builtin-schema", schema)
    assert accepts(*checker, written(tmp_path, "right.yml", example))
    assert not accepts(*checker, written(tmp_path, "wrong.yml", example.replace(*wrong)))


# ------------------------------------------------------------------------------------------------
# What this repository gives CI servers

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB = ROOT / "packaging" / "gitlab.yml"


@pytest.mark.parametrize(
    ("path", "schema"), [(ROOT / "action.yml", "github-actions"), (GITLAB, "gitlab-ci")]
)
def test_ci_servers_read_what_they_are_given(path, schema):
    assert accepts("check_jsonschema", "--builtin-schema", f"vendor.{schema}", path)


def run_by_bash(script, folder, **environment):
    """As a server does it, with `pbloom` and `python` of this environment before those of others."""
    program = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        program,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def step(name):
    (found,) = (each for each in ACTION["runs"]["steps"] if each.get("name") == name)
    return found


@pytest.mark.parametrize(("missing", "code"), [(False, 0), (True, 1)])
def test_the_action_validates(tmp_path, missing, code):
    """Paths with spaces, and text that a shell would run if it were part of the script."""
    shutil.copy(FIXTURES / "pyarrow_filters.parquet", tmp_path / "one of them.parquet")
    require = "--require no_such_column" if missing else "--fail-on error"
    assert set(step("Validate")["env"]) == {"PATHS", "ARGS", "SARIF"}
    run = run_by_bash(
        step("Validate")["run"],
        tmp_path,
        PATHS="one of them.parquet\n\n",
        ARGS=f"{require} --ignore PB304",
        SARIF="found.sarif",
        GITHUB_OUTPUT="output",
    )
    assert (run.returncode, run.stderr) == (code, "")
    assert ("::error file=one of them.parquet" in run.stdout) is missing
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    (found,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    assert any(each["level"] == "error" for each in found["results"]) is missing


def test_what_the_action_is_given_is_never_run(tmp_path):
    given = "$(touch harm); touch harm #`touch harm`"
    inputs = dict.fromkeys(("PATHS", "ARGS", "SARIF"), given)
    run = run_by_bash(step("Validate")["run"], tmp_path, GITHUB_OUTPUT="output", **inputs)
    assert run.returncode == 2
    assert not (tmp_path / "harm").exists()
    scripts = [each["run"] for each in ACTION["runs"]["steps"] if "run" in each]
    assert not any("${{" in script for script in scripts)


def test_the_example_gives_the_action_what_it_takes():
    (workflow,) = map(yaml.safe_load, examples("GitHub Actions"))
    *_, ours = workflow["jobs"]["validate"]["steps"]
    assert ours["uses"] == f"{REPOSITORY}@v{pb.__version__}"
    assert ours["with"].keys() <= ACTION["inputs"].keys()
    assert re.findall(r"^\| `([\w-]+)` \|", section("GitHub Actions"), re.MULTILINE) == [
        *ACTION["inputs"]
    ]


def test_the_job_for_gitlab_validates(tmp_path):
    (job,) = yaml.safe_load(GITLAB.read_text()).values()
    *_, quiet, command = job["script"]
    shutil.copy(FIXTURES / "pyarrow_filters.parquet", tmp_path)
    paths = {"PBLOOM_PATHS": "*.parquet", "PBLOOM_ARGS": "--require no_such_column"}
    run = run_by_bash(f"{quiet}\n{command}", tmp_path, **paths)
    assert (run.returncode, run.stderr) == (1, "")
    report = (tmp_path / job["artifacts"]["reports"]["junit"]).read_text()
    assert "no_such_column" in report
    (example,) = map(yaml.safe_load, examples("GitLab"))
    here = f"{REPOSITORY}/v{pb.__version__}/packaging/gitlab.yml"
    assert example["include"] == f"https://raw.githubusercontent.com/{here}"
    assert example["include"] in GITLAB.read_text()
    assert example["filters"]["variables"].keys() <= job["variables"].keys()


def test_nobody_with_rights_runs_in_the_image():
    lines = (ROOT / "packaging" / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith(("USER", "ENTRYPOINT"))] == [
        "USER 10001",
        'ENTRYPOINT ["/pbloom/bin/pbloom"]',
    ]


def test_github_reads_the_forms_for_issues():
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    forms = [path for path in folder.glob("*.yml") if path.stem != "config"]
    assert len(forms) == 3
    assert accepts("check_jsonschema", "--builtin-schema", "vendor.github-issue-forms", *forms)
