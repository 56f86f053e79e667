"""What may be said of keys to executors: where they are, and nothing else."""

import base64
import json
import pickle

import pytest
from make.commands import outcome

import parquet_bloom as pb
from parquet_bloom.encryption.keys_file import KeyReferences

KEY = b"0123456789abcdef"
HEX = KEY.hex()
BASE64 = base64.b64encode(KEY).decode()

HERE = (
    "would be part of the job, which others can see: expected env:VAR or file:PATH, for the"
    " executors to read"
)
FILE = "and others can see the job: expected it in a keys file that the executors can read"

# Options of the command, the same in Python, and what is said about them.
REFUSED = [
    (["--footer-key", f"hex:{HEX}"], {"footer": f"hex:{HEX}"}, f"footer key: {HERE}"),
    (["--footer-key", HEX], {"footer": HEX}, f"footer key: {HERE}"),
    (["--footer-key", "fd:3,hex"], {"footer": "fd:3,hex"}, f"footer key: {HERE}"),
    (["--uniform-key", f"ascii:{HEX}"], {"uniform": f"ascii:{HEX}"}, f"uniform key: {HERE}"),
    (
        ["--column-key", f"a=base64:{BASE64}"],
        {"columns": {"a": f"base64:{BASE64}"}},
        f"key of column a: {HERE}",
    ),
    (["--key-id", f"kf=hex:{HEX}"], {"key_ids": {"kf": f"hex:{HEX}"}}, f"key id kf: {HERE}"),
    (
        ["--master-key", f"m:{BASE64}"],
        {"parquet.encryption.key.list": f"m:{BASE64}"},
        f"master key m: {HERE}",
    ),
    (["--kms-token", f"ascii:{HEX}"], {"kms_token": f"ascii:{HEX}"}, f"KMS token: {HERE}"),
    (
        ["--kms-conf", f"password={HEX}"],
        {"kms_conf": {"password": HEX}},
        f"KMS configuration: it may hold a password, {FILE}",
    ),
    (
        ["--kms-instance-url", f"https://me:{HEX}@kms"],
        {"kms_instance_url": f"https://me:{HEX}@kms"},
        f"KMS instance URL: it has a password, {FILE}",
    ),
]

each_secret = pytest.mark.parametrize(
    ("options", "settings", "message"), REFUSED, ids=[" ".join(each[0])[:20] for each in REFUSED]
)


@each_secret
def test_a_secret_is_refused_before_anything_starts(options, settings, message, monkeypatch):
    """Neither a session nor PySpark itself is needed to say so."""
    monkeypatch.setattr("parquet_bloom.commands.spark.find_spec", lambda name: None)
    result = outcome("spark", "inspect", "lake", *options)
    assert (result.code, result.stdout, result.stderr) == (2, "", f"pbloom: {message}\n")
    assert HEX not in result.stderr


@each_secret
def test_the_same_in_python(options, settings, message):
    with pytest.raises(pb.EncryptionError) as error:
        KeyReferences.of(settings, None)
    assert str(error.value) == message


def test_bytes_are_no_place():
    with pytest.raises(pb.ConfigError, match=r"^keys: footer: expected a string$"):
        KeyReferences.of({"footer": KEY}, None)


def test_what_is_refused_may_be_in_a_keys_file(tmp_path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"footer": f"hex:{HEX}", "kms_conf": {"a": "b"}}))
    path.chmod(0o600)
    assert repr(KeyReferences(str(path)).read()) == "Keys(footer key (hex:…))"


def test_places_are_read_where_they_are_used(monkeypatch, tmp_path):
    """They are none until then: the driver need not have the keys."""
    settings = {
        "footer": "env:KF,hex",
        "columns": {"a": f"file:{tmp_path}/key,hex"},
        "kms_token": "env:TOKEN",
        "kms": "make.kms_lab:LabKms",
    }
    references = KeyReferences.of(settings, None)
    travelled = pickle.dumps(references)
    assert HEX.encode() not in travelled
    monkeypatch.setenv("KF", HEX)
    monkeypatch.setenv("TOKEN", "secret")
    (tmp_path / "key").write_text(HEX)
    arrived = pickle.loads(travelled)
    assert repr(arrived.read()) == (
        f"Keys(footer key (env:KF), key of column a (file:{tmp_path}/key), KMS client)"
    )


def test_options_win_over_the_keys_file(monkeypatch, tmp_path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"footer": "env:OTHER,hex", "columns": {"a": "env:KF,hex"}}))
    path.chmod(0o600)
    monkeypatch.setenv("KF", HEX)
    keys = KeyReferences.of({"footer": "env:KF,hex"}, str(path)).read()
    assert repr(keys) == "Keys(footer key (env:KF), key of column a (env:KF))"


def test_no_keys():
    assert KeyReferences().read() is None
