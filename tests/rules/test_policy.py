"""What a user demands: in configuration files, for single columns, and with options on top."""

import json
from dataclasses import fields
from pathlib import Path

import click
import pyarrow as pa
import pytest
from conftest import FIXTURES
from make.commands import outcome
from pyarrow import parquet

import parquet_bloom
from parquet_bloom.commands.validate import validate
from parquet_bloom.errors import ConfigError
from parquet_bloom.filters.sizing import parse_size
from parquet_bloom.rules.finding import Finding, finding
from parquet_bloom.rules.policy import FAIL_ON, ColumnPolicy, Policy, find_config, read_policy
from parquet_bloom.rules.rule import Severity

FULL = """
[validate]
fail-on = "warning"
max-fpp = 0.02
max-bytes = "4MiB"
require = ["user_id", "a.b"]
ignore = ["PB304", "boolean-filter"]

[validate.columns."user.id"]
require = true
max-fpp = 0.001
max-bytes = 1024
ignore = ["oversized", "PB206"]

[validate.columns.user_id]
require = false
"""

PARSED = Policy(
    fail_on=Severity.WARNING,
    max_fpp=0.02,
    max_bytes=4 << 20,
    require=("user_id", "a.b"),
    ignore=frozenset({"PB304", "PB207"}),
    columns={
        "user.id": ColumnPolicy(True, 0.001, 1024, frozenset({"PB304", "PB206"})),
        "user_id": ColumnPolicy(required=False),
    },
)

KEYS = "fail-on, max-fpp, max-bytes, require, ignore, columns, no-values"
COLUMN_KEYS = "require, max-fpp, max-bytes, ignore"
NO_SIZE = 'expected a number of bytes, or a string such as "1MiB"'


def written(folder, text, name="pbloom.toml"):
    path = folder / name
    path.write_text(text)
    return path


def test_everything_in_pbloom_toml(tmp_path):
    assert read_policy(written(tmp_path, FULL)) == PARSED


def test_the_same_in_pyproject_toml(tmp_path):
    text = "[project]\nname = 'x'\n[tool.other]\nx = 1\n" + FULL.replace(
        "[validate", "[tool.pbloom.validate"
    )
    assert read_policy(written(tmp_path, text, "pyproject.toml")) == PARSED


def test_a_byte_order_mark_is_no_part_of_it(tmp_path):
    """As an editor on Windows writes it."""
    path = tmp_path / "pbloom.toml"
    path.write_text(FULL, encoding="utf-8-sig", newline="\r\n")
    assert read_policy(path) == PARSED


def test_a_file_of_another_name_is_read_as_pbloom_toml(tmp_path):
    assert read_policy(written(tmp_path, FULL, "strict.toml")) == PARSED


def test_an_empty_table_demands_nothing(tmp_path):
    assert read_policy(written(tmp_path, "[validate]")) == Policy()
    assert Policy().fail_on is Severity.ERROR


def test_what_fails_is_a_severity_or_its_word():
    for word, severity in FAIL_ON.items():
        assert Policy(fail_on=word) == Policy(fail_on=severity)
        assert Policy(fail_on=word).fail_on is severity
    with pytest.raises(
        ConfigError, match="fail_on: 'errors', expected one of error, warning, note, never"
    ):
        Policy(fail_on="errors")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "not valid TOML: Expected '=' after a key in a key/value pair (at end of document)"),
        ("", "expected a table [validate], found none"),
        ("validate = 1", "validate: expected a table, found 1"),
        ("[validat]", "validat: no such key, did you mean validate"),
        ("fail-on = 'error'\n[validate]", "fail-on: no such key, expected validate"),
        ("[validate]\nmax_fpp = 0.1", "validate.max_fpp: no such key, did you mean max-fpp"),
        (
            "[validate]\nxyz = 0.1",
            f"validate.xyz: no such key, expected {KEYS}",
        ),
        (
            "[validate]\nfail-on = 'fatal'",
            "validate.fail-on: expected one of error, warning, note, never, found 'fatal'",
        ),
        (
            "[validate]\nfail-on = true",
            "validate.fail-on: expected one of error, warning, note, never, found True",
        ),
        (
            "[validate]\nmax-fpp = 1.0",
            "validate.max-fpp: expected a number between 0 and 1, found 1.0",
        ),
        (
            "[validate]\nmax-fpp = '1%'",
            "validate.max-fpp: expected a number between 0 and 1, found '1%'",
        ),
        (
            "[validate]\nmax-fpp = nan",
            "validate.max-fpp: expected a number between 0 and 1, found nan",
        ),
        *(
            (
                f"[validate]\nmax-bytes = {text}",
                f"validate.max-bytes: {NO_SIZE}, found {found}",
            )
            for text, found in [
                ("'4PiB'", "'4PiB'"), ("0", "0"), ("-1", "-1"), ("true", "True"), ("1.5", "1.5"),
            ]
        ),
        (
            "[validate]\nrequire = 'user_id'",
            "validate.require: expected a list of strings, found 'user_id'",
        ),
        (
            "[validate]\nrequire = ['a', '']",
            'validate.require: an empty name, expected leaf columns; [validate.columns.""] with `require = true` is for a column called so',
        ),
        ("[validate]\nignore = ['']", "validate.ignore: no such rule ''; `pbloom rule` lists them; a finding that has a diagnosis explains it"),
        ("[validate]\nrequire = [1]", "validate.require: expected a list of strings, found [1]"),
        (
            "[validate]\nignore = ['dictionary-sufices']",
            "validate.ignore: no such rule 'dictionary-sufices'; did you mean dictionary-suffices?",
        ),
        (
            "[validate]\nignore = ['PB111', '§']",
            "validate.ignore: no such rule '§'; `pbloom rule` lists them; a finding that has a diagnosis explains it",
        ),
        ("[validate]\ncolumns = ['a']", "validate.columns: expected a table, found ['a']"),
        ("[validate.columns]\na = true", "validate.columns.a: expected a table, found True"),
        (
            "[validate.columns.user.id]\nrequire = true",
            'validate.columns.user: expected quotes around a dotted path: columns."user.id"',
        ),
        (
            "[validate.columns.'a b']\nrequire = 'yes'",
            "validate.columns.\"a b\".require: expected true or false, found 'yes'",
        ),
        (
            "[validate.columns.'a\\b']\nfail-on = 'error'",
            f'validate.columns."a\\\\b".fail-on: no such key, expected {COLUMN_KEYS}',
        ),
    ],
)  # fmt: skip
def test_what_has_no_meaning(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_policy(path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[project]", "expected a table [tool.pbloom.validate], found none"),
        ("[tool.pbloom]", "expected a table [tool.pbloom.validate], found none"),
        ("[tool.pbloom.validte]", "tool.pbloom.validte: no such key, did you mean validate"),
        ("[tool.pbloom.validate]\nx = 1", "tool.pbloom.validate.x: no such key, expected"),
    ],
)
def test_what_has_no_meaning_in_pyproject_toml(tmp_path, text, message):
    path = written(tmp_path, text, "pyproject.toml")
    with pytest.raises(ConfigError) as caught:
        read_policy(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_what_is_no_text(tmp_path):
    path = tmp_path / "pbloom.toml"
    path.write_bytes(b"[validate]\nx = '\xff'")
    with pytest.raises(ConfigError, match="not valid TOML: 'utf-8' codec"):
        read_policy(path)


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("64", 64),
        ("64B", 64),
        ("1 KiB", 1024),
        ("2k", 2048),
        ("4MiB", 4 << 20),
        ("1M", 1 << 20),
        ("50GB", 50 * 10**9),
        ("50G", 50 << 30),
        ("50GiB", 50 << 30),
        ("1kb", 1000),
        ("2 TB", 2 * 10**12),
        ("1TiB", 1 << 40),
        ("1.5MiB", 3 << 19),
        ("0.25 GB", 250_000_000),
        ("1.0001KiB", 1024),
    ],
)
def test_sizes(text, num_bytes):
    assert parse_size(text) == num_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MiB",
        "1.5",
        "1.5B",
        "1.MiB",
        ".5MiB",
        "1.5.5MiB",
        "1,5MiB",
        "-1",
        "1PiB",
        "1BB",
        "1iB",
        "1Gi",
    ],
)
def test_no_sizes(text):
    with pytest.raises(
        ValueError, match="not a size: expected bytes, or a number with KiB, MiB, GiB or TiB"
    ):
        parse_size(text)


def test_the_nearest_file_counts(tmp_path):
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    assert find_config(inner) is None
    outer = written(tmp_path, "[tool.pbloom.validate]", "pyproject.toml")
    assert find_config(inner) == outer
    written(tmp_path / "a" / "b", "[tool.other]", "pyproject.toml")
    assert find_config(inner) == outer
    near = written(tmp_path / "a" / "b", "")
    assert find_config(inner) == near
    written(tmp_path / "a" / "b", "[tool.pbloom.validate]", "pyproject.toml")
    assert find_config(inner) == near
    (inner / "pbloom.toml").mkdir()
    assert find_config(inner) == near


def test_a_pyproject_toml_on_the_way_must_be_toml(tmp_path):
    path = written(tmp_path, "[", "pyproject.toml")
    with pytest.raises(ConfigError, match=f"^{path}: not valid TOML: "):
        find_config(tmp_path)


def test_a_column_has_the_last_word():
    assert PARSED.for_column("user.id") == ColumnPolicy(
        required=True, max_fpp=0.001, max_bytes=1024, ignore=frozenset({"PB304", "PB207", "PB206"})
    )
    assert PARSED.for_column("user_id") == ColumnPolicy(
        required=False, max_fpp=0.02, max_bytes=4 << 20, ignore=frozenset({"PB304", "PB207"})
    )
    assert PARSED.for_column("a.b") == ColumnPolicy(True, 0.02, 4 << 20, PARSED.ignore)
    assert PARSED.for_column("x") == ColumnPolicy(False, 0.02, 4 << 20, PARSED.ignore)


def test_required_columns():
    assert PARSED.required_columns() == ("a.b", "user.id")
    assert Policy().required_columns() == ()


@pytest.mark.parametrize(
    ("rule", "column", "ignored"),
    [
        ("PB304", None, True),
        ("PB304", "x", True),
        ("PB206", "user.id", True),
        ("PB206", "x", False),
        ("PB206", None, False),
        ("PB111", "user.id", False),
    ],
)
def test_ignored_rules(rule, column, ignored):
    assert PARSED.ignores(finding(rule, "text", column=column)) is ignored


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        ("error", ["PB111"]),
        ("warning", ["PB111", "PB202"]),
        ("note", ["PB111", "PB202", "PB206"]),
        ("never", []),
    ],
)
def test_severities_that_fail(fail_on, failing):
    policy = Policy(fail_on=FAIL_ON[fail_on], ignore=frozenset({"PB304"}))
    rules = ("PB111", "PB202", "PB206", "PB304")
    assert [rule for rule in rules if policy.fails(finding(rule, "text"))] == failing


def test_options_on_top():
    assert PARSED.with_options() == PARSED
    policy = PARSED.with_options(
        require=["user_id", "x"], max_fpp=0.5, max_bytes=64, fail_on="never"
    )
    assert policy.fail_on is None
    assert policy.required_columns() == ("user_id", "a.b", "x", "user.id")
    assert policy.for_column("x") == ColumnPolicy(True, 0.5, 64, PARSED.ignore)
    assert (policy.for_column("user.id").max_fpp, policy.for_column("user.id").max_bytes) == (
        0.001,
        1024,
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `pbloom validate` in an empty folder; a.parquet has filters for x, in two row groups."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"x": range(2000), "y": range(2000)})
    parquet.write_table(table, "plain.parquet", row_group_size=1000)
    parquet_bloom.build("plain.parquet", "a.parquet", columns=["x"])
    return lambda *arguments: outcome("validate", *arguments)


def answer(result):
    """The exit code, and the last line of what was printed."""
    return result.code, result.stdout.splitlines()[-1]


def test_without_demands(run):
    assert answer(run("a.parquet")) == (
        0, "a.parquet: no findings in 2 filters and 2,000 values: ok",
    )  # fmt: skip
    assert answer(run("a.parquet", "--no-deep")) == (
        0, "a.parquet: no findings in 2 filters, whose values were not looked up: ok",
    )  # fmt: skip


def test_options_of_the_command(run):
    result = run("a.parquet", "--require", "x,y", "--max-fpp", "1e-9", "--max-bytes", "64")
    assert result.code == 1
    assert [line.split(": ")[:2] for line in result.stdout.splitlines()[1:]] == [
        ["  error PB311 fpp-above-limit", "column x, row groups 0, 1; the first"],
        ["  error PB312 bytes-above-limit", "column x, row groups 0, 1"],
        ["  error PB310 required-missing", "column y, row groups 0, 1"],
        ["  next", "pbloom build a.parquet -c y --in-place --max-bytes 64 --fpp 1e-09"],
    ]
    assert run("a.parquet", "--require", "y", "--fail-on", "never").code == 0
    assert run("a.parquet", "-c", "x", "--require", "x").code == 0


def test_the_configuration_of_the_folder(run, tmp_path):
    written(tmp_path, "[validate]\nrequire = ['y']")
    assert run("a.parquet").code == 1
    assert run("a.parquet", "--no-config").code == 0
    other = written(tmp_path, "[validate]\nrequire = ['x']", "other.toml")
    assert run("a.parquet", "--config", other).code == 0
    assert run("a.parquet", "--config", other, "--require", "y").code == 1
    result = run("a.parquet", "--config", other, "--no-config")
    assert result.code == 2
    assert "expected at most one of --config and --no-config" in result.stderr


def test_settings_for_a_column_that_no_file_has(run, tmp_path):
    """It may be misspelled; of a required one, each file has a finding."""
    written(
        tmp_path,
        "[validate.columns]\nX = {max-fpp = 0.1}\nelsewhere = {ignore = ['PB305']}\nx = {max-fpp = 0.1}"
        "\nz = {require = true}\n'a,b' = {max-fpp = 0.1}\nold = {max-fpp = 0.1, require = false}",
    )
    result = run("a.parquet", "plain.parquet", "none.parquet")
    assert result.stderr.splitlines() == [
        "pbloom: none.parquet: No such file or directory",
        "pbloom: policy: column X: no file has it; did you mean x?",
        'pbloom: policy: columns elsewhere, "a,b": in no file; require = false for what may be missing',
    ]
    assert result.stdout.count("PB310") == 1
    parquet.write_table(pa.table({"X": [1], "elsewhere": [1]}), "other.parquet")
    (line,) = run("a.parquet", "other.parquet").stderr.splitlines()
    assert (
        line == 'pbloom: policy: column "a,b": in no file; require = false for what may be missing'
    )
    required = run("a.parquet", "other.parquet", "--require", "old", "--require", '"a,b"')
    (line,) = (line for line in required.stdout.splitlines() if "PB310" in line)
    assert line.startswith(
        '2 files: error PB310 required-missing: columns old, "a,b", z: a filter is required but'
    )
    assert (required.stderr, required.stdout.splitlines()[-1]) == (
        "", "2 files: 2 not ok; 6 errors in 2 filters and 2,000 values"
    )  # fmt: skip
    parquet.write_table(pa.table({"X": [1], "elsewhere": [1], "a,b": [1]}), "other.parquet")
    assert run("a.parquet", "other.parquet").stderr == ""
    assert run("none.parquet").stderr == "pbloom: none.parquet: No such file or directory\n"


@pytest.mark.parametrize(
    ("name", "meant"), [("xx", "require the one that was meant, or "), ("elsewhere", "")]
)
def test_a_required_column_that_may_be_misspelled(run, name, meant):
    last = run("a.parquet", "--require", name).stdout.splitlines()[-1]
    assert last == (
        f"  next: {meant}write the file with this column; if other files have it, --union-by-name requires no filter"
        " of this one"
    )


def test_a_file_that_cannot_be_read(run):
    result = run("none.parquet", "a.parquet")
    assert answer(result) == (
        2,
        "2 files: 1 ok, 1 failed; no findings in 2 filters and 2,000 values",
    )
    assert result.stderr == "pbloom: none.parquet: No such file or directory\n"


@pytest.mark.parametrize("text", ["4PiB", "x"])
def test_a_limit_that_is_no_size(run, text):
    result = run("a.parquet", "--max-bytes", text)
    assert result.code == 2
    assert f"'{text}': not a size" in result.stderr


def test_the_words_of_fail_on_are_those_of_the_configuration():
    (option,) = (param for param in validate.params if param.name == "fail_on")
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == list(FAIL_ON)


def test_json(run):
    result = run("a.parquet", "--require", "y", "--format", "json")
    document = json.loads(result.stdout)
    assert (document["path"], document["ok"]) == ("a.parquet", False)
    assert document["checked"] == {"filters": 2, "values": 2000}
    assert [item["row_group"] for item in document["findings"]] == [0, 1]
    required = document["findings"][0]
    assert (required["rule"], required["severity"], required["column"]) == ("PB310", "error", "y")
    names = {field.name for field in fields(Finding)}
    assert set(required) == names - {"place", "undiagnosed"} | {"row_group"}


def test_the_other_formats(run):
    arguments = ("none.parquet", "a.parquet", "--require", "y", "--format")
    sarif = run(*arguments, "sarif")
    (record,) = json.loads(sarif.stdout)["runs"]
    assert [result["ruleId"] for result in record["results"]] == ["PB310", "PB310"]
    assert record["invocations"][0]["executionSuccessful"] is False
    junit = run(*arguments, "junit")
    assert '<error type="error" message="none.parquet: No such file' in junit.stdout
    assert junit.stdout.count("<failure") == 1
    github = run(*arguments, "github")
    assert [line.split("::")[1] for line in github.stdout.splitlines() if "::" in line] == [
        "error file=none.parquet,title=not checked",
        "error file=a.parquet,title=PB310 required-missing",
    ]
    for result in (sarif, junit, github):
        assert result.code == 2
        assert result.stderr == "pbloom: none.parquet: No such file or directory\n"


@pytest.mark.parametrize(("fails", "failures"), [("note", 1), ("warning", 0), ("never", 0)])
def test_failures_of_junit_under_never_are_those_of_the_configuration(run, fails, failures):
    """Of a file whose filters are out of order, which is a note."""
    parquet_bloom.build("a.parquet", "b.parquet", columns=["y"])
    Path("pbloom.toml").write_text(f'[validate]\nfail-on = "{fails}"\n')
    for never in ((), ("--fail-on", "never")):
        result = run("b.parquet", "--format", "junit", *never)
        assert result.code == (1 if failures and not never else 0)
        assert result.stdout.count("<failure") == failures
        assert "note PB206" in result.stdout


def test_what_matches_no_file_is_a_failure_in_reports(run):
    result = run("a.parquet", "*.none", "--format", "sarif")
    (invocation,) = json.loads(result.stdout)["runs"][0]["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert result.code == 2
    assert notification["message"] == {"text": "*.none: no Parquet or ORC files."}


def test_several_files_and_the_worst_of_them(run):
    other = FIXTURES / "pyarrow_types.parquet"
    assert run("a.parquet", other).code == 0
    assert run("a.parquet", other, "--require", "x").code == 1
    assert run("a.parquet", other, "none.parquet", "--require", "x").code == 2
