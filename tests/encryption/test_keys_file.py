"""Keys by names: every name of a keys file, parquet-java's properties, and what has no meaning."""

import base64
import json

import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.kms_lab import MASTER_KEYS, open_all, secret_of, single, write

import parquet_bloom as pb
from parquet_bloom.encryption.clients import KmsConnection, load_kms
from parquet_bloom.encryption.keys_file import make_keys, merged, read_keys_file
from parquet_bloom.encryption.settings import SETTINGS
from parquet_bloom.errors import ConfigError, EncryptionError

SECRET = b"0123456789012345"
HEX = SECRET.hex()


def keys_file(tmp_path, settings, mode=0o600):
    path = tmp_path / "keys.json"
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
    path.chmod(mode)
    return path


def test_all_names_of_a_keys_file(tmp_path, monkeypatch):
    monkeypatch.setenv("KF", f"hex:{HEX}")
    settings = {
        "footer": "env:KF",
        "columns": {"a": "ascii:aaaaaaaaaaaaaaaa"},
        "key_ids": {"kb": "ascii:bbbbbbbbbbbbbbbb"},
        "uniform": "ascii:uuuuuuuuuuuuuuuu",
        "aad_prefix": "tester",
        "master_keys": {"m1": "ascii:column 1 master key 24 b"},
        "kms": "make.kms_lab:LabKms",
        "kms_conf": {"a": "b"},
        "kms_instance_id": "id",
        "kms_instance_url": "url",
        "kms_token": "ascii:tok",
        "key_retriever": "test_keys_file:retrieve",
        "key_material": "material.json",
    }
    read = read_keys_file(keys_file(tmp_path, settings))
    assert read == settings
    keys = make_keys(read)
    assert secret_of(keys.footer_key(None)) == SECRET
    assert secret_of(keys.column_key(("a",), None)) == b"a" * 16
    assert secret_of(keys.column_key(("x",), b"kb")) == b"b" * 16
    assert secret_of(keys.column_key(("x",), None)) == b"u" * 16
    assert secret_of(keys.column_key(("x",), single(b"wrapped with m1."))) == b"wrapped with m1."
    assert (
        secret_of(keys.column_key(("x",), single(b"wrapped with m2.", "m2"))) == b"wrapped with m2."
    )
    assert secret_of(keys.column_key(("x",), b"other")) == b"other..........."
    assert keys.aad_prefix == b"tester"
    assert repr(keys) == (
        "Keys(footer key (env:KF), uniform key (ascii:…), key of column a (ascii:…), key id kb"
        " (ascii:…), master key m1 (ascii:…), KMS client, key retriever)"
    )


def retrieve(key_metadata):
    return key_metadata.ljust(16, b".")


@pytest.mark.parametrize("spark", ["", "spark.hadoop."])
def test_properties_of_parquet_java(spark, tmp_path):
    """A job's own properties open its files, in place of the in-memory KMS of parquet-java."""
    path = write(tmp_path / "t.parquet")
    key_list = ", ".join(
        f"{name}:{base64.b64encode(key).decode()}" for name, key in MASTER_KEYS.items()
    )
    properties = {
        "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools."
        "PropertiesDrivenCryptoFactory",
        "parquet.encryption.kms.client.class": "org.apache.parquet.crypto.keytools.mocks."
        "InMemoryKMS",
        "parquet.encryption.key.list": key_list,
        "parquet.encryption.column.keys": "m1:a;m2:b",
        "parquet.encryption.footer.key": "mf",
        "parquet.encryption.plaintext.footer": True,
        "parquet.encryption.data.key.length.bits": 256,
    }
    settings = {f"{spark}{name}": value for name, value in properties.items()}
    keys = pb.read_keys(keys_file(tmp_path, settings))
    assert open_all(path, keys) == {"": 100, "a": 100, "b": 100}


def test_properties_for_a_kms_client(tmp_path):
    settings = {
        "kms": "make.kms_lab:LabKms",
        "kms_conf": {"region": "r"},
        "spark.hadoop.parquet.encryption.kms.instance.id": "id",
        "parquet.encryption.kms.instance.url": "url",
        "parquet.encryption.key.access.token": "env:not a keyspec",
        "spark.hadoop.our.kms.retries": "3",
    }
    read = read_keys_file(keys_file(tmp_path, settings))
    assert read == {
        "kms": "make.kms_lab:LabKms",
        "kms_conf": {"region": "r", "our.kms.retries": "3"},
        "kms_instance_id": "id",
        "kms_instance_url": "url",
        "kms_token": "ascii:env:not a keyspec",
    }
    kms = load_kms("make.kms_lab:LabKms", KmsConnection(custom_kms_conf=read["kms_conf"]))
    assert kms.client.connection.custom_kms_conf == {"region": "r", "our.kms.retries": "3"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"columns": {"a": f"hex:{HEX}", "user.id": f"hex:{HEX[:-1]}"}},
            "key of column user.id (hex:…): not hex, expected two of 0-9 and a-f for each byte",
        ),
        (
            {"footer": "base64:MDEyMzQ1Njc4OTAxMjM0NQ"},
            (
                "footer key (base64:…): not base64, expected four of A-Z, a-z, 0-9, + and / for each three bytes, filled"
                " up with ="
            ),
        ),
        (
            {"key_ids": {"k": f"hex:{HEX[:-2]}"}},
            "key id k (hex:…): 15 bytes, expected 16, 24 or 32",
        ),
        ({"uniform": "ascii:é"}, "uniform key (ascii:…): not ascii, expected characters of ASCII"),
        (
            {"master_keys": {"m": HEX}},
            "master key m: expected hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N",
        ),
        ({"aad_prefix": "hex:0"}, "AAD prefix: not hex, expected two of 0-9 and a-f for each byte"),
    ],
)
def test_a_key_that_is_none_is_named_with_its_file(settings, message, tmp_path):
    path = keys_file(tmp_path, settings)
    told = outcome("inspect", FIXTURES / "pyarrow_types.parquet", "--keys", path)
    assert (told.code, told.complaint) == (2, f"{path}: {message}")
    assert HEX[:8] not in told.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[]", "expected a JSON object"),
        ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2"),
        ("[" * 100_000, "not JSON: "),
        (b"\xff".decode("latin1"), "not JSON: "),
        ('{"footer": "env:A", "footer": "env:B"}', "not JSON: 'footer' is given twice"),
        ('{"columns": {"a": "env:A", "a": "env:B"}}', "not JSON: 'a' is given twice"),
        ({"foter": "env:A"}, "unknown name 'foter', did you mean 'footer'?"),
        (
            {"nothing like it": "x"},
            f"unknown name 'nothing like it', expected one of {', '.join(SETTINGS)}",
        ),
        (
            {"parquet.encryption.kms.instance.ip": "x"},
            (
                "unknown name 'parquet.encryption.kms.instance.ip', did you mean"
                " 'parquet.encryption.kms.instance.id'?"
            ),
        ),
        ({"footer": 5}, "footer: expected a string"),
        ({"footer": None}, "footer: expected a string"),
        ({"columns": "a=env:A"}, "columns: expected an object"),
        ({"columns": {"a": 5}}, "columns.a: expected a string"),
        ({"some.property": 5}, "some.property: expected a string"),
    ],
)
def test_a_keys_file_that_is_none(settings, message, tmp_path):
    path = keys_file(tmp_path, settings)
    with pytest.raises(ConfigError) as error:
        read_keys_file(path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


def test_a_key_list_that_is_none(tmp_path):
    path = keys_file(tmp_path, {"parquet.encryption.key.list": HEX})
    with pytest.raises(EncryptionError) as error:
        read_keys_file(path)
    assert str(error.value) == (
        f"{path}: parquet.encryption.key.list: expected ID=KEYSPEC or ID:BASE64,ID:BASE64, with"
        " keys of 16, 24 or 32 bytes"
    )


@pytest.mark.parametrize(
    ("mode", "readable"),
    [(0o600, False), (0o400, False), (0o640, True), (0o604, True), (0o620, False)],
)
def test_a_keys_file_that_others_can_read_is_told(mode, readable, tmp_path):
    path = keys_file(tmp_path, {"footer": f"hex:{HEX}"}, mode)
    told = []
    assert read_keys_file(path, warn=told.append) == {"footer": f"hex:{HEX}"}
    expected = (
        f"{path}: warning: other users can read the keys file: expected mode 0600, found {mode:04o}"
    )
    assert told == ([expected] if readable else [])


def test_the_warning_is_pythons_unless_told(tmp_path):
    with pytest.warns(UserWarning, match="warning: other users can read the keys file"):
        read_keys_file(keys_file(tmp_path, {"columns": {"a": "env:A", "b": f"hex:{HEX}"}}, 0o644))


@pytest.mark.parametrize(
    ("content", "is_told"),
    [
        ({}, False),
        ({"footer": "env:KF", "columns": {"a": "file:/run/a,hex"}, "kms": "m:C"}, False),
        ({"kms_token": "fd:3", "kms_instance_url": "https://kms.example"}, False),
        ({"kms_instance_url": "https://me:secret@kms.example"}, True),
        ({"parquet.encryption.key.access.token": "secret"}, True),
        ({"kms_conf": {"password": "secret"}}, True),
    ],
)
def test_only_secrets_are_kept_from_others(content, is_told, tmp_path):
    told = []
    read_keys_file(keys_file(tmp_path, content, 0o644), warn=told.append)
    assert bool(told) == is_told


def test_merged_settings():
    first = {"footer": "env:A", "uniform": "env:U", "columns": {"a": "env:A", "b": "env:B"}}
    second = {"footer": "env:C", "columns": {"b": "env:C", "c": "env:D"}, "key_ids": {"k": "env:K"}}
    assert merged(first, second) == {
        "footer": "env:C",
        "uniform": "env:U",
        "columns": {"a": "env:A", "b": "env:C", "c": "env:D"},
        "key_ids": {"k": "env:K"},
    }
