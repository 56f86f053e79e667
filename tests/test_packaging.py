"""How the package is installed, and where it is not."""

import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib

import pytest
import yaml
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


def test_what_only_who_releases_can_say_is_asked(tmp_path, monkeypatch):
    """Once an account stands for OWNER, each address has it; CONTRIBUTING.md has the command."""
    (command,) = re.findall(r"`(git grep .* sed .*)`", (ROOT / "CONTRIBUTING.md").read_text())
    ready = runpy.run_path(str(ROOT / "release" / "ready.py"))
    monkeypatch.setitem(ready["undecided"].__globals__, "ROOT", tmp_path)
    version, account = ready["PROJECT"]["version"], "OWNER"
    texts = {
        "README.md": f"\nhttps://github.com/{account}/parquet_bloom\n",
        "docs/ci.md": f"Until {version} is on PyPI, {account}/parquet_bloom@v1\n",
        "CHANGELOG.md": f"\n## {version} (unreleased)\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for arguments in (["init", "-q"], ["add", *texts]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    owner = "OWNER, expected the account that the repository belongs to"
    left = [
        f"CHANGELOG.md: {version} is unreleased, expected its date",
        "docs/ci.md: says that it is not on PyPI yet",
    ]
    expected = [left[0], f"README.md: line 2: {owner}", left[1], f"docs/ci.md: line 1: {owner}"]
    assert list(ready["undecided"]()) == expected
    subprocess.run(["sh", "-c", command.replace("ACCOUNT", "acme")], cwd=tmp_path, check=True)
    assert list(ready["undecided"]()) == left
    assert (tmp_path / "README.md").read_text() == "\nhttps://github.com/acme/parquet_bloom\n"


def test_pypi_shows_links_that_lead_somewhere():
    description = runpy.run_path(str(ROOT / "release" / "description.py"))
    readme = (ROOT / "README.md").read_text()
    shown = description["for_pypi"](readme, "https://example.org/here", "v1")
    there = re.findall(r"(!?)\[[^\]]*\]\(https://example.org/here/(\w+)/v1/([^)#]*)", shown)
    assert {(picture, kind) for picture, kind, _ in there} == {("", "blob"), ("!", "raw")}
    assert all((ROOT / path).exists() for *_, path in there)
    assert not re.search(r"\]\((?!https://|#)", shown)
    # Nothing else is another.
    assert re.sub(r"https://example.org/here/(raw|blob)/v1/", "", shown) == readme


def test_the_recipe_for_conda_is_what_the_project_says():
    """Versions and what is required; release/check_wheels.py renders it and runs its script."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, built_with = settings["project"], settings["build-system"]["requires"]
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())

    def asked(wanted):
        """As conda writes them, and calls them."""
        spaced = [re.sub(r"(?<=\w)(?=[<>])", " ", each.lower(), count=1) for each in wanted]
        return {each.replace("xxhash", "python-xxhash") for each in spaced}

    extras = project["optional-dependencies"]
    of_all = re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")
    required = recipe["requirements"]
    assert {*required["run"]} == {"python", *asked(project["dependencies"])}
    assert {*required["run_constraints"]} == asked(each for name in of_all for each in extras[name])
    assert {*required["host"]} == {"python", "pip", *asked(built_with)}
    (command,) = recipe["build"]["python"]["entry_points"]
    assert command == f"pbloom = {project['scripts']['pbloom']}"
    oldest = project["requires-python"].removeprefix(">=")
    assert f'match(python, "<{oldest}")' in recipe["build"]["skip"]
    assert recipe["context"]["version"] == project["version"]


def test_licences_are_looked_at():
    ready = runpy.run_path(str(ROOT / "release" / "ready.py"))
    assert {"numpy", "pyarrow", "cryptography", "boto3"} <= ready["required"]()
    assert list(ready["licences"]()) == []
    assert not ready["ALLOWED"].search("GNU General Public License v3 (GPLv3)")
