"""The options that give a command the same keys again say where keys are, never what they are."""

import json

import pytest
from make.encrypted_files import OWN, encrypted
from make.encrypting import FOOTER_KEY, Recipe

import parquet_bloom as pb
from parquet_bloom.encryption.keys_file import KeyReferences
from parquet_bloom.encryption.settings import SETTINGS, key_arguments

SECRETS = ["hex:00112233", "base64:AAECAw==", "ascii:0123456789abcdef", b"0123456789abcdef"]


@pytest.mark.parametrize("secret", SECRETS, ids=repr)
def test_no_secret_is_told(secret):
    for setting in ("footer", "uniform", "kms_token"):
        assert key_arguments({setting: secret}) == (SETTINGS[setting].option, "KEYSPEC")
    for setting in ("columns", "key_ids", "master_keys"):
        assert key_arguments({setting: {"a": secret}}) == (SETTINGS[setting].option, "a=KEYSPEC")


@pytest.mark.parametrize("place", ["env:KEY,hex", "file:/run/secrets/key", "fd:3"])
def test_places_are_told(place):
    assert key_arguments({"footer": place}) == ("--footer-key", place)
    assert key_arguments({"columns": {"a.b": place, "c": "hex:00"}}) == (
        "--column-key", f"a.b={place}", "--column-key", "c=KEYSPEC",
    )  # fmt: skip


@pytest.mark.parametrize("url", [
    "https://user:secret@kms/", "https://secret@kms/", "https://kms/?token=secret",
])  # fmt: skip
def test_a_url_may_have_a_password(url):
    assert key_arguments({"kms_instance_url": url}) == ("--kms-instance-url", "URL")


def test_all_else_is_told():
    settings = {
        "aad_prefix": b"\1\2", "kms": "mine:Kms", "kms_conf": {"user": "secret", "x": "secret"},
        "kms_instance_id": "7", "kms_instance_url": "https://kms/v1", "key_retriever": "mine:find",
        "key_material": "keys.json",
    }  # fmt: skip
    assert key_arguments(settings, "my keys.json") == (
        "--keys", "my keys.json", "--aad-prefix", "hex:0102", "--kms", "mine:Kms",
        "--kms-conf", "user=VALUE", "--kms-conf", "x=VALUE", "--kms-instance-id", "7",
        "--kms-instance-url", "https://kms/v1", "--key-retriever", "mine:find",
        "--key-material", "keys.json",
    )  # fmt: skip


def test_keys_know_theirs(tmp_path, monkeypatch):
    monkeypatch.setenv("FOOTER", FOOTER_KEY.hex())
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"footer": "env:FOOTER,hex", "uniform": "ascii:0123456789abcdef"}))
    file.chmod(0o600)
    assert pb.read_keys(file).arguments == ("--keys", str(file))
    keys = pb.Keys(footer=FOOTER_KEY, columns={"a": "env:FOOTER,hex"}, key_retriever=bytes)
    assert keys.arguments == (
        "--footer-key", "KEYSPEC", "--column-key", "a=env:FOOTER,hex",
        "--key-retriever", "MODULE:FUNCTION",
    )  # fmt: skip
    assert keys.for_file("a.parquet").arguments == keys.arguments
    references = KeyReferences.of({"uniform": "env:FOOTER,hex"}, str(file))
    assert references.read().arguments == ("--keys", str(file), "--uniform-key", "env:FOOTER,hex")


def test_findings_carry_them(tmp_path):
    recipe = Recipe(columns={"int64": OWN, "string": OWN, "int32": None})
    path = encrypted(tmp_path, recipe)
    keys = pb.Keys(footer=FOOTER_KEY, columns={"int64": OWN})
    (finding,) = pb.validate(path, columns="int64", require="int64", keys=keys).findings[:1]
    build = f"pbloom build {path} -c int64 --in-place"
    assert finding.next == f"{build} --footer-key KEYSPEC --column-key int64=KEYSPEC"
