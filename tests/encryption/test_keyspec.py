"""Where a user says that a key is: every way, no guess, and no complaint that shows a key."""

import base64
import os

import pytest
from make.kms_lab import secret_of

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.encryption.keys_file import parse_table
from parquet_bloom.encryption.keyspec import ENCODINGS, parse_prefix, read_key, read_token
from parquet_bloom.errors import EncryptionError

SECRET = b"0123456789012345"
HEX = SECRET.hex()
BASE64 = base64.b64encode(SECRET).decode()
NOT_HEX = "not hex, expected two of 0-9 and a-f for each byte"
NOT_BASE64 = (
    "not base64, expected four of A-Z, a-z, 0-9, + and / for each three bytes, filled up with ="
)


@pytest.mark.parametrize("secret", [SECRET, SECRET + b"abcdefgh", SECRET * 2, bytes(range(16))])
@pytest.mark.parametrize("encoding", ["hex", "base64", "ascii", "raw"])
def test_a_key_from_everywhere(secret, encoding, tmp_path, monkeypatch):
    if encoding == "ascii" and secret[0] == 0:
        return
    text = {
        "hex": secret.hex(),
        "base64": base64.b64encode(secret).decode(),
        "ascii": secret.decode("latin1"),
        "raw": secret.decode("latin1"),
    }[encoding]
    path = tmp_path / "key,of mine"
    if encoding != "raw":
        assert secret_of(read_key(f"{encoding}:{text}", "footer key")) == secret
        path.write_text(f" {encoding}:{text}\n")
        assert secret_of(read_key(f"file:{path}", "footer key")) == secret
        monkeypatch.setenv("SECRET", f"{encoding}:{text}")
        assert secret_of(read_key("env:SECRET", "footer key")) == secret
        path.write_text(f"{text}\n")
    else:
        path.write_bytes(secret)
    key = read_key(f"file:{path},{encoding}", "footer key")
    assert (secret_of(key), key.source) == (secret, f"footer key (file:{path})")
    with open(path, "rb") as file:
        number = file.fileno()
        key = read_key(f"fd:{number},{encoding}", "footer key")
        os.fstat(number)
    assert (secret_of(key), key.source) == (secret, f"footer key (fd:{number})")
    if 0 not in secret:
        monkeypatch.setenv("SECRET", text)
        key = read_key(f"env:SECRET,{encoding}", "footer key")
        assert (secret_of(key), key.source) == (secret, "footer key (env:SECRET)")


def test_raw_bytes_keep_their_blanks(tmp_path):
    secret = b"\n 1234567890123\n"
    path = tmp_path / "key"
    path.write_bytes(secret)
    assert secret_of(read_key(f"file:{path},raw", "footer key")) == secret


def test_keys_and_bytes_are_taken_as_they_are():
    key = Key(SECRET, "mine")
    assert read_key(key, "footer key") is key
    assert read_key(SECRET, "footer key").source == "footer key"


def test_no_encoding_is_guessed(tmp_path, monkeypatch):
    """The base64 of a 16-byte key could be a raw key of 24 bytes, its hex a raw one of 32."""
    for text in (base64.b64encode(SECRET).decode(), SECRET.hex(), SECRET.decode()):
        monkeypatch.setenv("SECRET", text)
        (tmp_path / "key").write_text(text)
        for spec in ("env:SECRET", f"file:{tmp_path}/key"):
            with pytest.raises(EncryptionError, match=r": no encoding given: expected ',hex', "):
                read_key(spec, "footer key")
        with pytest.raises(EncryptionError, match=r"^footer key: expected hex:…, base64:…"):
            read_key(text, "footer key")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (HEX, "footer key: expected hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N"),
        (f"HEX:{HEX}", "footer key: expected hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N"),
        ("", "footer key: expected hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N"),
        (f"hex:{HEX}zz", f"footer key (hex:…): {NOT_HEX}"),
        (f"hex:{HEX}0", f"footer key (hex:…): {NOT_HEX}"),
        ("base64:MDEyMzQ1Njc4OTAxMjM0NQ", f"footer key (base64:…): {NOT_BASE64}"),
        ("base64:MDEyMzQ1Njc4OTAxMjM0N-_=", f"footer key (base64:…): {NOT_BASE64}"),
        ("base64:MDEyMzQ1Njc4 OTAxMjM0NQ==", f"footer key (base64:…): {NOT_BASE64}"),
        ("ascii:012345678901234é", "footer key (ascii:…): not ascii, expected characters of ASCII"),
        (f"hex:{BASE64}", f"footer key (hex:…): {NOT_HEX}; as base64, it is 16 bytes"),
        (
            f"base64:{HEX}{HEX}",
            "footer key (base64:…): 48 bytes, expected 16, 24 or 32; as hex, it is 32 bytes",
        ),
        (f"hex:{HEX}00", "footer key (hex:…): 17 bytes, expected 16, 24 or 32"),
        ("hex:", "footer key (hex:…): 0 bytes, expected 16, 24 or 32"),
        ("env:UNSET", "footer key (env:UNSET): environment variable not set"),
        ("env:UNSET,hex", "footer key (env:UNSET): environment variable not set"),
        (
            "env:UNSET,hexx",
            f"footer key (env:UNSET,hexx): environment variable not set; behind a comma, expected {ENCODINGS}",
        ),
        ("env:BAD,hex", f"footer key (env:BAD): {NOT_HEX}"),
        ("env:BAD,raw", "footer key (env:BAD): 17 bytes, expected 16, 24 or 32"),
        ("fd:three", "footer key (fd:three): not the number of a file descriptor"),
        ("fd:-1", "footer key (fd:-1): not the number of a file descriptor"),
        (f"fd:{10**19}", f"footer key (fd:{10**19}): not the number of a file descriptor"),
        (
            f"fd:{'9' * 5000}",
            f"footer key (fd:{'9' * 5000}): not the number of a file descriptor",
        ),
        ("hex:\udcff", f"footer key (hex:…): {NOT_HEX}"),
        ("ascii:\udcff", "footer key (ascii:…): not ascii, expected characters of ASCII"),
        ("hex:\ud800", "footer key: not UTF-8"),
        ("env:\ud800", "footer key (env:\ud800): not UTF-8"),
        ("file:\ud800,hex", "footer key (file:\ud800): not UTF-8"),
    ],
)
def test_a_bad_keyspec_is_not_shown(spec, message, monkeypatch):
    monkeypatch.delenv("UNSET", raising=False)
    monkeypatch.setenv("BAD", "0123456789abcdefg")
    with pytest.raises(EncryptionError) as error:
        read_key(spec, "footer key")
    assert str(error.value) == message
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        (f"base64:{HEX}", "; as hex, it is 16 bytes"),
        (f"ascii:{HEX}", "; as hex, it is 16 bytes"),
        (f"ascii:{BASE64}", "; as base64, it is 16 bytes"),
        (f"base64:{BASE64}", ""),
        (f"hex:{HEX}{HEX}", ""),
    ],
)
def test_a_key_of_another_encoding_that_could_be_one_is_told_where_it_opens_nothing(spec, hint):
    """Not before: it may be right."""
    key = read_key(spec, "footer key")
    assert "16" not in key.source
    assert str(key.mismatch()).endswith(f"wrong key, wrong AAD prefix or altered bytes{hint}")


def test_a_key_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_key(f"file:{tmp_path}/nowhere", "footer key")
    with pytest.raises(OSError, match="Bad file descriptor") as error:
        read_key("fd:999999", "footer key")
    assert error.value.filename == "footer key (fd:999999)"
    with pytest.raises(OSError, match="Bad file descriptor") as error:
        read_token("fd:999999", "KMS token")
    assert error.value.filename == "KMS token (fd:999999)"


def test_what_never_ends_is_not_read_to_its_end():
    with pytest.raises(EncryptionError, match=r"^footer key \(file:/dev/zero\): 65536 bytes"):
        read_key("file:/dev/zero,raw", "footer key")


def test_tokens(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "hex:tökn\r\n")
    (tmp_path / "token").write_text("two words\n")
    assert read_token("env:TOKEN", "KMS token") == "hex:tökn"
    assert read_token(f"file:{tmp_path}/token", "KMS token") == "two words"
    assert read_token("ascii:abc", "KMS token") == "abc"
    with pytest.raises(EncryptionError) as error:
        read_token("abc", "KMS token")
    assert str(error.value) == "KMS token: expected ascii:…, env:VAR, file:PATH or fd:N"
    (tmp_path / "token").write_bytes(b"\xff")
    with pytest.raises(EncryptionError, match="not UTF-8"):
        read_token(f"file:{tmp_path}/token", "KMS token")


def test_aad_prefixes():
    assert parse_prefix(b"hex:00") == b"hex:00"
    assert parse_prefix("tester") == b"tester"
    assert parse_prefix("ä") == b"\xc3\xa4"
    assert parse_prefix("hex:00ff") == b"\x00\xff"
    assert Keys(aad_prefix="hex:00ff").aad_prefix == b"\x00\xff"
    assert Keys().aad_prefix is None
    with pytest.raises(EncryptionError, match=f"^AAD prefix: {NOT_HEX}$"):
        parse_prefix("hex:0")
    # A byte that was typed and is no UTF-8; and what only JSON can say.
    assert parse_prefix("\udcff") == b"\xff"
    with pytest.raises(EncryptionError, match=r"^AAD prefix: not UTF-8$"):
        parse_prefix("\ud800")


@pytest.mark.parametrize(
    ("name", "texts", "table"),
    [
        ("columns", ["a=env:A", "b.c=file:/k"], {"a": "env:A", "b.c": "file:/k"}),
        ("columns", ["a=b=base64:QQ=="], {"a=b": "base64:QQ=="}),
        ("columns", ["a=file:/k=hex:x"], {"a": "file:/k=hex:x"}),
        ("key_ids", ["kf=hex:00"], {"kf": "hex:00"}),
        ("master_keys", ["m=env:M"], {"m": "env:M"}),
        (
            "master_keys",
            [f"k1:{BASE64}, k2 : {BASE64}"],
            {"k1": f"base64:{BASE64}", "k2": f"base64:{BASE64}"},
        ),
        ("master_keys", [f"arn:aws:k1:{BASE64}"], {"arn:aws:k1": f"base64:{BASE64}"}),
        ("kms_conf", ["a.b=c=d", "e="], {"a.b": "c=d", "e": ""}),
    ],
)
def test_tables(name, texts, table):
    assert parse_table(name, texts) == table


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        (
            "columns",
            [f"a={HEX}"],
            "key of a column: expected NAME=KEYSPEC, where KEYSPEC is hex:…, ",
        ),
        (
            "columns",
            [f"=hex:{HEX}"],
            "key of a column: expected NAME=KEYSPEC, where KEYSPEC is hex",
        ),
        ("columns", ["a=env:A", "a=env:B"], "key of column a: given twice, expected once"),
        ("master_keys", [HEX], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        ("master_keys", [f":{HEX}"], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        # The other way round, or without an id: ids are shown.
        ("master_keys", [f"{HEX}:m1"], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        ("master_keys", [f"{HEX}:mine"], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        ("master_keys", [f"base64:{BASE64}"], "master key: expected ID=KEYSPEC or ID:BASE64"),
        ("master_keys", [f"hex:{HEX}"], "master key: expected ID=KEYSPEC or ID:BASE64,ID:BASE64"),
        ("kms_conf", ["ab"], "KMS configuration: expected NAME=VALUE"),
    ],
)
def test_tables_that_are_none(name, texts, message):
    with pytest.raises(EncryptionError) as error:
        parse_table(name, texts)
    assert str(error.value).startswith(message)
    assert HEX not in str(error.value)
    assert BASE64 not in str(error.value)
