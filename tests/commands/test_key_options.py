"""The options for keys, through a command that has little else."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from make.commands import outcome
from make.kms_lab import MASTER_KEYS, open_all, write

from parquet_bloom.commands import options as option
from parquet_bloom.commands.key_options import key_options
from parquet_bloom.encryption.keyspec import read_token
from parquet_bloom.program import Program

KEY = b"0123456789012345"
HEX = KEY.hex()
MASTER_LIST = ",".join(f"{id}:{base64.b64encode(key).decode()}" for id, key in MASTER_KEYS.items())


@click.group(cls=Program)
def cli():
    """A program as pbloom is one."""


@cli.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@option.columns()
@key_options
def show(path, columns, keys):
    """Say what keys there are, or what they open."""
    click.echo(repr(keys) if path is None else open_all(path, keys))
    for column in columns or ():
        click.echo(f"{column}: {keys.column_key((column,), None).source}")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PBLOOM_KEYS", raising=False)

    def run(*arguments, **environment):
        return outcome("show", *arguments, program=cli, environment=environment)

    return run


def shown(result):
    assert (result.code, result.stderr) == (0, "")
    return result.stdout.rstrip("\n")


def complaint(result):
    assert (result.code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    return line


def keys_json(path, mode=0o600, **settings):
    path.write_text(json.dumps(settings))
    path.chmod(mode)
    return str(path)


def test_no_option_no_keys(run):
    assert shown(run()) == "None"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--footer-key", f"hex:{HEX}"], "footer key (hex:…)"),
        (["--column-key", "a.b=env:K"], "key of column a.b (env:K)"),
        (
            ["--column-key", "a=env:K", "--column-key", "b=c=env:K,hex"],
            "key of column a (env:K), key of column b=c (env:K)",
        ),
        (["--key-id", "kf=env:K,hex"], "key id kf (env:K)"),
        (["--uniform-key", "file:k,hex"], "uniform key (file:k)"),
        (["--aad-prefix", ""], ""),
        (["--master-key", "m=env:K"], "master key m (env:K)"),
        (
            ["--master-key", f"m:{base64.b64encode(KEY).decode()}, n:{'QUFB' * 8}"],
            "master key m (base64:…), master key n (base64:…)",
        ),
        (["--kms", "make.kms_lab:LabKms"], "KMS client"),
        (["--key-retriever", "os:fsdecode"], "key retriever"),
        (["--key-material", "there"], ""),
    ],
)
def test_each_option(run, arguments, expected):
    environment = {"K": HEX if ",hex" in str(arguments) else f"hex:{HEX}"}
    if "b=c=env:K,hex" in arguments:
        arguments[1] += ",hex"
    Path("k").write_text(HEX)
    assert shown(run(*arguments, **environment)) == f"Keys({expected})"


def test_the_columns_to_work_on_are_not_those_with_keys(run):
    result = run("-c", "a", "--column-key", f"a=hex:{HEX}", "--column-key", f"b=hex:{HEX}")
    assert shown(result).splitlines()[1:] == ["a: key of column a (hex:…)"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--master-key", MASTER_LIST],
        [f"--master-key={id}=ascii:{key.decode()}" for id, key in MASTER_KEYS.items()],
        ["--kms", "make.kms_lab:LabKms"],
    ],
    ids=["list", "each", "kms"],
)
def test_a_file_of_pyarrow(run, arguments, tmp_path):
    path = write(tmp_path / "t.parquet", internal_key_material=False)
    assert shown(run(path, *arguments)) == str({"": 100, "a": 100, "b": 100})
    material = path.parent / "_KEY_MATERIAL_FOR_t.parquet.json"
    material.rename(tmp_path / "elsewhere.json")
    result = run(path, *arguments)
    assert complaint(result) == (
        f"pbloom: {material}: no such key material file beside the Parquet file; copy it under this name, or"
        " --key-material names it"
    )
    result = run(path, *arguments, "--key-material", "none.json")
    assert complaint(result) == "pbloom: none.json: no such key material file"
    found = run(path, *arguments, "--key-material", "elsewhere.json")
    assert shown(found) == str({"": 100, "a": 100, "b": 100})


def test_what_a_kms_client_is_told(run, tmp_path):
    """WrongKms says its token, which does not come through; the rest does."""
    path = write(tmp_path / "t.parquet")
    options = ["--kms", "make.kms_lab:WrongKms", "--kms-conf", "say=a=b", "--kms-conf", "n=1"]
    options += ["--kms-instance-id", "id", "--kms-instance-url", "url", "--kms-token", "env:TOKEN"]
    assert complaint(run(path, *options, TOKEN="s3cr3t")) == (
        "pbloom: KMS client, master key 'mf': RuntimeError: 403: no entry with token … id url"
        " {'n': '1', 'say': 'a=b'}"
    )


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_keys_file(run, way, tmp_path):
    path = keys_json(
        tmp_path / "keys.json",
        footer=f"hex:{HEX}",
        columns={"a": f"hex:{HEX}", "b": f"hex:{HEX}"},
        kms_conf={"x": "y"},
    )
    chosen = ["--column-key", "b=env:K", "--column-key", "c=env:K"]
    environment = {"K": f"hex:{HEX}"}
    if way == "option":
        chosen += ["--keys", path]
    else:
        environment["PBLOOM_KEYS"] = path
    assert shown(run(*chosen, **environment)) == (
        "Keys(footer key (hex:…), key of column a (hex:…), key of column b (env:K), key of column c"
        " (env:K))"
    )


def test_a_keys_file_is_named_where_a_key_in_it_has_no_encoding(run, tmp_path):
    for content, name in (
        ({"footer": HEX}, "footer key"),
        ({"columns": {"a": HEX}, "kms_token": "env:TOKEN"}, "key of column a"),
    ):
        path = keys_json(tmp_path / "keys.json", **content)
        assert complaint(run("--keys", path)) == f"pbloom: {path}: {name}: {EXPECTED}"


def test_an_empty_variable_is_no_keys_file(run):
    assert shown(run(PBLOOM_KEYS="")) == "None"


def test_the_option_wins_over_the_variable(run, tmp_path):
    first = keys_json(tmp_path / "a.json", footer=f"hex:{HEX}")
    assert shown(run("--keys", first, PBLOOM_KEYS="nowhere.json")) == "Keys(footer key (hex:…))"


def test_a_keys_file_that_others_can_read(run, tmp_path):
    path = keys_json(tmp_path / "keys.json", 0o644, footer=f"hex:{HEX}")
    result = run("--keys", path)
    assert result.code == 0
    assert result.stdout == "Keys(footer key (hex:…))\n"
    assert result.stderr == (
        f"pbloom: {path}: warning: other users can read the keys file: expected mode 0600, found"
        " 0644\n"
    )


EXPECTED = "expected hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--footer-key", HEX], f"footer key: {EXPECTED}"),
        (["--footer-key", ""], f"footer key: {EXPECTED}"),
        (["--footer-key", "env:UNSET"], "footer key (env:UNSET): environment variable not set"),
        (["--footer-key", "file:nowhere"], "footer key (file:nowhere): No such file or directory"),
        (["--footer-key", "fd:999999,hex"], "footer key (fd:999999): Bad file descriptor"),
        (["--master-key", f"{HEX}:m1"], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        (["--uniform-key", f"hex:{HEX}00"], "uniform key (hex:…): 17 bytes, expected 16, 24 or 32"),
        (
            ["--column-key", f"a={HEX}"],
            "key of a column: expected NAME=KEYSPEC, where KEYSPEC is hex",
        ),
        (
            ["--column-key", "a=env:K", "--column-key", "a=env:L"],
            "key of column a: given twice, expected once",
        ),
        (["--key-id", HEX], "key id: expected NAME=KEYSPEC"),
        (
            ["--aad-prefix", "hex:0"],
            "AAD prefix: not hex, expected two of 0-9 and a-f for each byte",
        ),
        (["--master-key", HEX], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        (["--kms", "kms_lab"], "KMS client: expected MODULE:NAME, found kms_lab"),
        (["--kms-conf", "a"], "KMS configuration: expected NAME=VALUE"),
        (["--kms-token", HEX], "KMS token: expected ascii:…, env:VAR, file:PATH or fd:N"),
        (["--key-retriever", "os:nothing"], "key retriever os:nothing: module 'os' has no"),
        (["--keys", "nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_one_line_that_shows_no_key(run, arguments, message, monkeypatch):
    monkeypatch.delenv("UNSET", raising=False)
    line = complaint(run(*arguments))
    assert line.startswith(f"pbloom: {message}")
    assert HEX not in line


def test_a_key_from_a_descriptor(tmp_path):
    """As shells pass it: pbloom … --footer-key fd:3,hex 3< <(…)."""
    code = "import test_key_options; test_key_options.cli()"
    read, written = os.pipe()
    os.write(written, f"{HEX}\n".encode())
    os.close(written)
    run = subprocess.run(
        [sys.executable, "-c", code, "show", "--footer-key", f"fd:{read},hex"],
        capture_output=True,
        cwd=Path(__file__).parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=[read],
        text=True,
        check=False,
    )
    os.close(read)
    assert (run.stdout, run.stderr) == (f"Keys(footer key (fd:{read}))\n", "")


def test_help_names_every_option(run):
    text = run("--help").stdout
    for name in (
        "--keys", "--footer-key", "--column-key", "--key-id", "--uniform-key", "--aad-prefix",
        "--master-key", "--kms", "--kms-conf", "--kms-instance-id", "--kms-instance-url",
        "--kms-token", "--key-retriever", "--key-material", "PBLOOM_KEYS",
    ):  # fmt: skip
        assert name in text


@pytest.mark.parametrize(
    "command", [("inspect",), ("index", "probe"), ("spark", "inspect"), ("spark", "index")]
)
def test_help_says_that_a_place_names_its_encoding(command):
    help = " ".join(outcome(*command, "--help-all").stdout.split())
    assert "env:VAR[,ENC]" in help
    assert (
        "ENC: hex, base64, ascii or raw, unless the content begins with hex:, base64: or ascii:"
        in help
    )


@pytest.mark.parametrize("token", ["ascii:tok", "env:TOKEN", "file:token"])
def test_help_says_what_a_token_is(token, tmp_path, monkeypatch):
    """Text, which has no encoding."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN", "tok")
    (tmp_path / "token").write_text("tok\n")
    said = " ".join(outcome("inspect", "--help-all").stdout.split())
    about = "--kms-token KEYSPEC Access token of the KMS client, which is text: "
    assert f"{about}ascii:… env:VAR file:PATH fd:N." in said
    assert f" {token.partition(':')[0]}:" in said
    assert read_token(token, "KMS token") == "tok"
    for_executors = " ".join(outcome("spark", "build", "--help-all").stdout.split())
    assert f"{about}env:VAR or file:PATH." in for_executors
