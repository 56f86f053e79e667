"""docs/encryption.md says what is so: its examples are run, its tables compared with the code."""

import base64
import io
import json
import os
import re
import subprocess
import sys

import click
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from conftest import ROOT
from make.documents import blocks

from parquet_bloom.commands.pbloom import cli
from parquet_bloom.encryption.clients import KmsConnection, load_kms
from parquet_bloom.encryption.keys_file import read_keys_file

PAGE = (ROOT / "docs" / "encryption.md").read_text()


OUR_KMS, WRITING, IN_PYTHON, VAULT = blocks(PAGE, "python")
WITH_PYARROW, WITH_SPARK, WITH_KEYS = blocks(PAGE, "console")
(KEYS_JSON,) = blocks(PAGE, "json")
(SETTINGS,) = blocks(PAGE, "sh")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a user of pyarrow has written events.parquet with a KMS client of their own."""
    (tmp_path / "our_kms.py").write_text(OUR_KMS)
    (tmp_path / "vault.py").write_text(VAULT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), "."]))
    set_here = subprocess.run(
        ["sh", "-ec", f"{SETTINGS}\nenv -0"], capture_output=True, text=True, check=True
    )
    for each in filter(None, set_here.stdout.split("\0")):
        name, _, value = each.partition("=")
        if name.startswith("MASTER_KEY_"):
            monkeypatch.setenv(name, value)
    assert set_here.stdout.count("PYTHONPATH=.\0") == 1
    python(WRITING)
    return tmp_path


def python(code):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def pbloom(line):
    program, *arguments = line.removeprefix("$ ").split()
    assert program == "pbloom"
    return python(
        f"import sys; sys.argv[1:] = {arguments}; from parquet_bloom.cli import main; main()"
    )


def test_from_pyarrow_to_filters(folder):
    for line in WITH_PYARROW.splitlines():
        printed = pbloom(line)
    assert "maybe" in printed
    built = pbloom("pbloom inspect events.bloom.parquet --json --kms our_kms:OurKms")
    columns = json.loads(built)["row_groups"][0]["columns"]
    assert {column["column"]: column["filter"] is not None for column in columns} == {
        "user_id": True,
        "country": False,
    }


def test_from_pyarrow_to_filters_in_python(folder, monkeypatch):
    assert "maybe" in python(IN_PYTHON)
    monkeypatch.syspath_prepend(folder)
    from our_kms import OurKms

    properties = pe.CryptoFactory(OurKms).file_decryption_properties(pe.KmsConnectionConfig())
    tables = [
        pq.read_table(path, decryption_properties=properties)
        for path in ("events.parquet", "events.bloom.parquet")
    ]
    assert tables[0].num_rows == 1000
    assert tables[0] == tables[1]


def test_the_keys_file_of_a_job(tmp_path, monkeypatch):
    """Its KMS client asks Vault's transit engine, played by this test."""
    (tmp_path / "vault.py").write_text(VAULT)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "keys.json"
    path.write_text(KEYS_JSON)
    path.chmod(0o600)
    settings = read_keys_file(path)
    assert settings == {
        "kms_instance_url": "https://vault.example:8200",
        "kms": "vault:VaultTransit",
        "kms_token": "env:VAULT_TOKEN",
    }
    asked = []

    def urlopen(request):
        asked.append((request.full_url, request.headers, json.loads(request.data)))
        plaintext = base64.b64encode(b"k" * 16).decode()
        return io.StringIO(json.dumps({"data": {"plaintext": plaintext}}))

    kms = load_kms(settings["kms"], KmsConnection("", settings["kms_instance_url"], "token"))
    monkeypatch.setattr("vault.urlopen", urlopen)
    assert kms.unwrap("vault:v1:wrapped", "users") == b"k" * 16
    assert asked == [
        (
            "https://vault.example:8200/v1/transit/decrypt/users",
            {"X-vault-token": "token"},
            {"ciphertext": "vault:v1:wrapped"},
        )
    ]


def test_the_commands_have_the_options_that_are_shown():
    # A command keeps the option for help that it had in its first context, and others look at it.
    group = click.Context(cli, **cli.context_settings)
    for line in [*WITH_SPARK.splitlines()[1:], *WITH_KEYS.splitlines()]:
        _, command, *arguments = line.removeprefix("$ ").split()
        cli.commands[command].make_context(command, list(arguments), parent=group)


def test_every_option_is_in_the_table():
    options = {
        option
        for parameter in cli.commands["build"].params
        for option in parameter.opts
        if re.match(r"--(.*-key|key.*|kms.*|aad-prefix)$", option)
    }
    table = PAGE.split("| option | for |")[1].split("\n\n")[0]
    assert len(options) == 14
    assert options == set(re.findall(r"`(--[a-z-]+)", table))


def test_every_name_of_a_keys_file_is_in_the_table(tmp_path):
    table = PAGE.split("| option | for |")[1].split("\n\n")[0]
    names = re.findall(r"`\"(\w+)\"(: \{\})?`", table)
    path = tmp_path / "keys.json"
    settings = {name: {} if is_table else "env:x" for name, is_table in names}
    path.write_text(json.dumps(settings))
    path.chmod(0o600)
    assert len(settings) == 13
    assert read_keys_file(path) == settings
