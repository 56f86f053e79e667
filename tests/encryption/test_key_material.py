"""Key material and KMS clients: files of pyarrow's CryptoFactory, and what is no material."""

import base64
import json

import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from make.kms_lab import (
    MASTER_KEYS,
    TABLE,
    LabKms,
    external_material,
    metadata,
    open_all,
    secret_of,
    single,
    wrapped,
    write,
)

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.encryption.clients import KmsConnection, load_kms
from parquet_bloom.encryption.key_material import key_material, material_path
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError

SECRET = b"0123456789012345"

FILES = [
    {"double_wrapping": double, "internal_key_material": internal, "plaintext_footer": plaintext}
    for double in (False, True)
    for internal in (False, True)
    for plaintext in (False, True)
]


@pytest.mark.parametrize(
    "settings", FILES, ids=lambda settings: "".join(map(str, map(int, settings.values())))
)
def test_material_of_pyarrow(settings, tmp_path):
    path = write(tmp_path / "t.parquet", **settings)
    expected = {"": 100, "a": 100, "b": 100}
    kms = LabKms(None)
    assert open_all(path, Keys(kms_client=kms)) == expected
    # With double wrapping a key-encryption key, with single wrapping the key: each one once.
    assert sorted(kms.unwrapped) == ["m1", "m2", "mf"]
    assert open_all(path, Keys(master_keys=MASTER_KEYS)) == expected


# Out of _KEY_MATERIAL_FOR_….json that parquet-java 1.17.0 wrote with TESTING_MASTER_KEYS, and the
# keys that are wrapped in it.
TESTING_MASTER_KEYS = {"kf": b"0123456789012345", "kc1": b"1234567890123450"}
OF_PARQUET_JAVA = {
    "columnKey0": (
        {
            "masterKeyID": "kc1",
            "wrappedDEK": "+nlleRvcnMw3r/szC3x0fVbgkpYdMnnnQ6dfhYpsjS2PbwevvMRaDGwsF3A=",
            "keyEncryptionKeyID": "Q1MhsyKzPiS0a7kvLaFGOA==",
            "doubleWrapping": True,
            "isFooterKey": False,
            "keyMaterialType": "PKMT1",
            "wrappedKEK": "btWTsTw69lyqV6ojPwm6OyYKKSoomv2c6JbxrGOG6fTh3PLEjhCfgQaKoMw=",
        },
        "0d386d4694f46ebd76448361683fcd98",
    ),
    "footerKey": (
        {
            "kmsInstanceURL": "DEFAULT",
            "masterKeyID": "kf",
            "wrappedDEK": "UdEWsJCnggDppEqPy5/B7xOzjFM7nLEd9sKfRDlyR8HccFlg6Mc+qQhOl38=",
            "doubleWrapping": False,
            "isFooterKey": True,
            "keyMaterialType": "PKMT1",
            "kmsInstanceID": "DEFAULT",
        },
        "9fbb3386657cd904ce2ac8add9bb36ce",
    ),
}


@pytest.mark.parametrize("storage", ["external", "internal"])
@pytest.mark.parametrize("reference", OF_PARQUET_JAVA)
def test_material_of_parquet_java(reference, storage, tmp_path):
    material, secret = OF_PARQUET_JAVA[reference]
    beside = tmp_path / "_KEY_MATERIAL_FOR_t.parquet.json"
    if storage == "external":
        beside.write_text(json.dumps({reference: json.dumps(material)}))
        key_metadata = metadata(keyReference=reference, internalStorage=False)
    else:
        key_metadata = metadata(**material, internalStorage=True)
    keys = Keys(master_keys=TESTING_MASTER_KEYS).for_file(str(tmp_path / "t.parquet"))
    assert secret_of(keys.column_key(("a",), key_metadata)).hex() == secret


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("algorithm", ["AES_GCM_V1", "AES_GCM_CTR_V1"])
def test_uniform_files_of_pyarrow(bits, algorithm, tmp_path):
    path = write(
        tmp_path / "t.parquet",
        uniform_encryption=True,
        data_key_length_bits=bits,
        encryption_algorithm=algorithm,
    )
    assert open_all(path, Keys(kms_client=LabKms(None))) == {"": 100}


def test_key_encryption_keys_serve_many_files(tmp_path):
    """One factory writes files with one key-encryption key: the KMS is asked once for all."""
    factory = pe.CryptoFactory(LabKms)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for path in paths:
        properties = factory.file_encryption_properties(
            pe.KmsConnectionConfig(),
            pe.EncryptionConfiguration(footer_key="mf", column_keys={"m1": ["a"]}),
        )
        pq.write_table(TABLE, path, encryption_properties=properties)
    kms = LabKms(None)
    keys = Keys(kms_client=kms)
    for path in paths:
        assert open_all(path, keys) == {"": 100, "a": 100}
    assert sorted(kms.unwrapped) == ["m1", "mf"]


def test_local_master_keys_go_before_the_kms(tmp_path):
    path = write(tmp_path / "t.parquet")
    kms = LabKms(None)
    keys = Keys(kms_client=kms, master_keys={"m1": MASTER_KEYS["m1"]})
    assert open_all(path, keys) == {"": 100, "a": 100, "b": 100}
    assert sorted(kms.unwrapped) == ["m2", "mf"]


def test_a_master_key_that_is_not_there_is_a_missing_key(tmp_path):
    path = write(tmp_path / "t.parquet")
    keys = Keys(master_keys={name: MASTER_KEYS[name] for name in ("mf", "m1")})
    with pytest.raises(MissingKeyError) as error:
        open_all(path, keys)
    assert str(error.value) == "no key for column b (wrapped by master key 'm2')"


@pytest.mark.parametrize("double", [False, True])
def test_a_wrong_master_key(tmp_path, double):
    path = write(tmp_path / "t.parquet", double_wrapping=double)
    keys = Keys(master_keys={**MASTER_KEYS, "m2": "ascii:0123456789012345"})
    with pytest.raises(TamperedError) as error:
        open_all(path, keys)
    assert str(error.value) == (
        "the wrapped key cannot be unwrapped with master key m2 (ascii:…): one of the two is wrong"
    )


def test_material_that_was_moved(tmp_path):
    """A file elsewhere keeps its key material only if it is named."""
    path = write(tmp_path / "t.parquet", internal_key_material=False)
    assert sorted(external_material(path)) == ["columnKey0", "columnKey1", "footerKey"]
    beside = tmp_path / "_KEY_MATERIAL_FOR_t.parquet.json"
    moved = path.rename(tmp_path / "u.parquet")
    with pytest.raises(MissingKeyError) as error:
        open_all(moved, Keys(master_keys=MASTER_KEYS))
    expected = tmp_path / "_KEY_MATERIAL_FOR_u.parquet.json"
    assert str(error.value) == f"{expected}: no such key material file beside the Parquet file"
    keys = Keys(master_keys=MASTER_KEYS, key_material=beside)
    assert open_all(moved, keys) == {"": 100, "a": 100, "b": 100}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("t.parquet", "_KEY_MATERIAL_FOR_t.parquet.json"),
        ("/a/t.parquet", "/a/_KEY_MATERIAL_FOR_t.parquet.json"),
        ("s3://b/a/t.parquet", "s3://b/a/_KEY_MATERIAL_FOR_t.parquet.json"),
    ],
)
def test_where_external_material_lies(path, expected):
    assert material_path(path) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "no key material for 'columnKey0'"),
        ("[]", "expected a JSON object"),
        ("", "expected a JSON object"),
        ('{"columnKey0": {}}', "'columnKey0': not key material"),
        ('{"columnKey0": "5"}', "'columnKey0': not key material"),
        ('{"columnKey0": "\\ud800"}', "'columnKey0': not key material"),
        ('{"columnKey0": ' + "[" * 100_000 + "}", "expected a JSON object"),
    ],
)
def test_external_material_that_is_none(text, message, tmp_path):
    path = tmp_path / "material.json"
    path.write_text(text)
    reference = metadata(internalStorage=False, keyReference="columnKey0")
    keys = Keys(master_keys=MASTER_KEYS, key_material=path)
    with pytest.raises(EncryptionError) as error:
        keys.column_key(("a",), reference)
    assert str(error.value) == f"{path}: {message}"


def test_a_reference_that_is_not_there_is_a_missing_key(tmp_path):
    path = tmp_path / "material.json"
    path.write_text("{}")
    reference = metadata(internalStorage=False, keyReference="columnKey0")
    with pytest.raises(MissingKeyError) as error:
        Keys(master_keys=MASTER_KEYS, key_material=path).column_key(("a",), reference)
    assert str(error.value) == f"{path}: no key material for 'columnKey0'"
    keys = Keys(master_keys=MASTER_KEYS, key_material=path, uniform=SECRET)
    assert secret_of(keys.column_key(("a",), reference)) == SECRET


def test_external_material_of_no_file():
    with pytest.raises(EncryptionError, match="'columnKey0' is in a file that was not given"):
        Keys(master_keys=MASTER_KEYS).column_key(
            ("a",), metadata(internalStorage=False, keyReference="columnKey0")
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keyMaterialType": "PKMT2"}, "key material: unknown type, expected PKMT1"),
        ({"internalStorage": None}, "key material: internalStorage: expected bool"),
        ({"internalStorage": "true"}, "key material: internalStorage: expected bool"),
        ({"internalStorage": False}, "key material: keyReference: expected str"),
        ({"doubleWrapping": 1}, "key material: doubleWrapping: expected bool"),
        ({"masterKeyID": 1}, "key material: masterKeyID: expected str"),
        ({"wrappedDEK": None}, "key material: wrappedDEK: expected str"),
        ({"doubleWrapping": True}, "key material: keyEncryptionKeyID: expected str"),
        (
            {"doubleWrapping": True, "keyEncryptionKeyID": "?"},
            "key material: keyEncryptionKeyID is not base64",
        ),
        (
            {"doubleWrapping": True, "keyEncryptionKeyID": "QQ=="},
            "key material: wrappedKEK: expected str",
        ),
        ({"wrappedDEK": "?"}, "master key m1: the wrapped key is not base64"),
        ({"wrappedDEK": "é"}, "master key m1: the wrapped key is not base64"),
        ({"wrappedDEK": "{"}, "master key m1: the wrapped key is not base64"),
        ({"wrappedDEK": '{"a":' * 50_000}, "master key m1: the wrapped key is not base64"),
        (
            {"wrappedDEK": "QQ=="},
            ("the wrapped key cannot be unwrapped with master key m1: one of the two is wrong"),
        ),
        (
            {"wrappedDEK": wrapped(b"short", "m1")},
            "key wrapped by master key 'm1': 5 bytes, expected 16, 24 or 32",
        ),
    ],
)
def test_material_that_is_not_as_it_should_be(change, message):
    fields = {**json.loads(single(SECRET)), **change}
    with pytest.raises(EncryptionError) as error:
        Keys(master_keys=MASTER_KEYS).column_key(("a",), json.dumps(fields).encode())
    assert str(error.value) == message


def double(kek=b"k" * 16, dek=SECRET, kek_id=b"id", aad=b"id"):
    """Key material with double wrapping."""
    sealed = Key(kek, "").seal_gcm(dek, aad)
    return metadata(
        internalStorage=True,
        masterKeyID="m1",
        doubleWrapping=True,
        keyEncryptionKeyID=base64.b64encode(kek_id).decode(),
        wrappedKEK=wrapped(kek, "m1"),
        wrappedDEK=base64.b64encode(sealed).decode(),
    )


def test_double_wrapping():
    keys = Keys(master_keys=MASTER_KEYS)
    assert secret_of(keys.column_key(("a",), double())) == SECRET
    other = double(kek=b"o" * 16, dek=b"another key 16 b", kek_id=b"other", aad=b"other")
    assert secret_of(keys.column_key(("a",), other)) == b"another key 16 b"
    # Of two files that say the same id of different keys, neither gets the other's.
    clash = double(kek=b"o" * 16, dek=b"another key 16 b")
    assert secret_of(keys.column_key(("a",), clash)) == b"another key 16 b"
    with pytest.raises(TamperedError) as error:
        keys.column_key(("a",), double(aad=b"other"))
    assert str(error.value) == (
        "key material: wrappedDEK cannot be unwrapped with key-encryption key wrapped by master key 'm1':"
        " one of the two is wrong"
    )


def test_local_wrapping_of_parquet_java():
    """LocalWrapKmsClient's envelope around what the in-memory client does."""
    inner = wrapped(SECRET, "m1")
    envelope = {"masterKeyVersion": "NO_VERSION", "encryptedKey": inner}
    fields = {**json.loads(single(SECRET)), "wrappedDEK": json.dumps(envelope)}
    keys = Keys(master_keys=MASTER_KEYS)
    assert secret_of(keys.column_key(("a",), json.dumps(fields).encode())) == SECRET
    fields["wrappedDEK"] = json.dumps({**envelope, "masterKeyVersion": "7"})
    with pytest.raises(EncryptionError, match="has a master key version, expected NO_VERSION"):
        keys.column_key(("a",), json.dumps(fields).encode())


@pytest.mark.parametrize(
    "key_metadata", [b"kf", b"", b"\xff", b"{", b"5", b"[]", b"{}", b'{"a": 1}', b"[" * 100_000]
)
def test_metadata_that_is_no_material(key_metadata):
    assert key_material(key_metadata, None) is None


ALONE = "\ud800"


@pytest.mark.parametrize(
    ("keys", "fields", "message"),
    [
        ({}, {"masterKeyID": ALONE}, "no key for column a (wrapped by master key '\\ud800')"),
        ({}, {"masterKeyID": 1}, "no key for column a (key id '{"),
        (
            {"master_keys": {"x": SECRET}},
            {"masterKeyID": ALONE},
            "no key for column a (wrapped by master key '\\ud800')",
        ),
        (
            {"master_keys": {ALONE: SECRET}},
            {"masterKeyID": ALONE},
            "the wrapped key cannot be unwrapped with master key \ud800",
        ),
        ({"master_keys": MASTER_KEYS}, {"wrappedDEK": ALONE}, "master key m1: the wrapped key is"),
        (
            {"master_keys": MASTER_KEYS},
            {"internalStorage": False, "keyReference": ALONE},
            "key material: '\\ud800' is in a file that was not given",
        ),
        (
            {"kms_client": LabKms(None)},
            {"masterKeyID": ALONE},
            "KMS client, master key '\\ud800': ",
        ),
    ],
)
def test_half_a_character_is_no_key(keys, fields, message):
    """JSON can have one half of a surrogate pair alone, which no encoding takes."""
    key_metadata = json.dumps({**json.loads(single(SECRET)), **fields}).encode()
    with pytest.raises(EncryptionError) as error:
        Keys(**keys).column_key(("a",), key_metadata)
    assert str(error.value).startswith(message)


# ------------------------------------------------------------------------------------------------
# KMS clients


def test_a_client_of_pyarrows_works_unchanged(tmp_path):
    kms = load_kms("make.kms_lab:LabKms", KmsConnection("id", "url", "tok", {"a": "b"}))
    assert isinstance(kms.client.connection, pe.KmsConnectionConfig)
    connection = kms.client.connection
    assert connection.kms_instance_id == "id"
    assert connection.kms_instance_url == "url"
    assert connection.key_access_token == "tok"
    assert connection.custom_kms_conf == {"a": "b"}
    path = write(tmp_path / "t.parquet")
    assert open_all(path, Keys(kms_client=kms)) == {"": 100, "a": 100, "b": 100}


def test_a_connection_that_says_nothing_is_pyarrows_own():
    ours = load_kms("make.kms_lab:LabKms", KmsConnection()).client.connection
    theirs = pe.KmsConnectionConfig()
    for name in ("kms_instance_id", "kms_instance_url", "key_access_token", "custom_kms_conf"):
        assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kms_lab", "KMS client: expected MODULE:NAME, found kms_lab"),
        (":LabKms", "KMS client: expected MODULE:NAME, found :LabKms"),
        (
            "no_such_module:Kms",
            (
                "KMS client no_such_module:Kms: No module named 'no_such_module': install it, or put its"
                " folder on PYTHONPATH"
            ),
        ),
        (
            "make.kms_lab:NoKms",
            "KMS client make.kms_lab:NoKms: module 'make.kms_lab' has no attribute 'NoKms'",
        ),
        ("make.kms_lab:MASTER_KEYS", "KMS client make.kms_lab:MASTER_KEYS: not callable"),
        (
            "make.kms_lab:open_all",
            "KMS client make.kms_lab:open_all: TypeError: open_all() missing 1",
        ),
        ("builtins:repr", "KMS client builtins:repr: no method unwrap_key"),
    ],
)
def test_a_client_that_is_none(name, message):
    with pytest.raises(EncryptionError) as error:
        load_kms(name, KmsConnection())
    assert str(error.value).startswith(message)


def test_a_client_that_fails_says_so_on_one_line_without_the_token(tmp_path):
    path = write(tmp_path / "t.parquet")
    kms = load_kms("make.kms_lab:WrongKms", KmsConnection(key_access_token="s3cr3t"))
    with pytest.raises(EncryptionError) as error:
        open_all(path, Keys(kms_client=kms))
    assert str(error.value) == (
        "KMS client, master key 'mf': RuntimeError: 403: no entry with token … {}"
    )
    assert not isinstance(error.value, MissingKeyError)


@pytest.mark.parametrize("kind", [KeyError, PermissionError])
def test_a_client_that_denies_a_key_means_that_it_is_missing(kind):
    class Denies:
        def unwrap_key(self, wrapped_key, master_key_identifier):
            raise kind("not you")

    with pytest.raises(MissingKeyError, match=f"^KMS client, master key 'm1': {kind.__name__}: "):
        Keys(kms_client=Denies()).column_key(("a",), single(SECRET))


@pytest.mark.parametrize("returned", [SECRET, bytearray(SECRET), SECRET.decode()])
def test_what_a_client_may_return(returned):
    class Kms:
        def unwrap_key(self, wrapped_key, master_key_identifier):
            return returned

    assert secret_of(Keys(kms_client=Kms()).column_key(("a",), single(SECRET))) == SECRET


def test_a_url_in_a_file_goes_nowhere(tmp_path):
    """Where the KMS is, only the user says."""
    connection = pe.KmsConnectionConfig(
        kms_instance_id="evil", kms_instance_url="https://evil.example/"
    )
    path = write(tmp_path / "t.parquet", connection=connection)
    assert b"evil.example" in path.read_bytes()
    kms = load_kms("make.kms_lab:LabKms", KmsConnection())
    open_all(path, Keys(kms_client=kms))
    assert "evil" not in kms.client.connection.kms_instance_url
    assert "evil" not in kms.client.connection.kms_instance_id
