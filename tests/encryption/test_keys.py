"""Which key opens what, and that none is ever seen."""

import copy
import json
import logging
import pickle
import traceback

import pytest
from conftest import SHARED, missing
from cryptography.exceptions import InvalidTag
from make.kms_lab import MASTER_KEYS, LabKms, open_all, secret_of, single

from parquet_bloom.encryption.cipher import FileCipher
from parquet_bloom.encryption.clients import KmsConnection, load_kms
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.encryption.keys_file import parse_table
from parquet_bloom.encryption.keyspec import read_key
from parquet_bloom.errors import EncryptionError, MissingKeyError

SECRET = b"0123456789012345"
HEX = SECRET.hex()
SECRETS = {name: name.encode().ljust(16, b".") for name in ("path", "id", "kms", "uniform")}


def test_path_then_id_then_kms_then_uniform():
    id_or_material = single(SECRETS["kms"])
    ways = {
        "columns": {"a": SECRETS["path"]},
        "key_ids": {id_or_material.decode(): SECRETS["id"]},
        "master_keys": MASTER_KEYS,
        "uniform": SECRETS["uniform"],
    }
    for expected in ("path", "id", "kms", "uniform"):
        assert secret_of(Keys(**ways).column_key(("a",), id_or_material)) == SECRETS[expected]
        ways.pop(next(iter(ways)))
    with pytest.raises(MissingKeyError):
        Keys(**ways).column_key(("a",), id_or_material)


def test_footer_then_id_then_retriever_then_uniform():
    ways = {
        "footer": SECRETS["path"],
        "key_ids": {"kf": SECRETS["id"]},
        "key_retriever": {b"kf": SECRETS["kms"]}.get,
        "uniform": SECRETS["uniform"],
    }
    for expected in ("path", "id", "kms", "uniform"):
        assert secret_of(Keys(**ways).footer_key(b"kf")) == SECRETS[expected]
        ways.pop(next(iter(ways)))
    with pytest.raises(MissingKeyError):
        Keys(**ways).footer_key(b"kf")


def test_the_footer_key_is_for_no_column():
    with pytest.raises(MissingKeyError):
        Keys(footer=SECRET).column_key(("a",), None)
    with pytest.raises(MissingKeyError):
        Keys(columns={"a": SECRET}).footer_key(None)


def test_a_group_has_the_keys_of_its_leaves():
    keys = Keys(columns={"a": b"a" * 16, "a.b.c": b"c" * 16, "a.b": b"b" * 16})
    for column, expected in {"a": b"a", "a.x": b"a", "a.b.d.e": b"b", "a.b.c": b"c"}.items():
        assert secret_of(keys.column_key(tuple(column.split(".")), None)) == expected * 16
    for column in ("ab", "b", "b.a"):
        with pytest.raises(MissingKeyError):
            keys.column_key(tuple(column.split(".")), None)


def test_a_dot_in_a_name_makes_no_group():
    keys = Keys(columns={"a": b"a" * 16})
    with pytest.raises(MissingKeyError, match=r"^no key for column a\.b \("):
        keys.column_key(("a.b",), None)
    keys = Keys(columns={"a.b": b"b" * 16})
    for path in (("a.b",), ("a", "b"), ("a.b", "c"), ("a", "b", "c")):
        assert secret_of(keys.column_key(path, None)) == b"b" * 16


def test_who_denies_a_key_does_not_end_the_search():
    """What was said first is said if nobody has it."""
    known, unknown = single(SECRET), single(SECRET)

    class Denies:
        def unwrap_key(self, wrapped_key, master_key_identifier):
            raise PermissionError("not you")

    ways = {
        "kms_client": Denies(),
        "key_retriever": {known: SECRETS["kms"]}.__getitem__,
        "uniform": SECRETS["uniform"],
    }
    assert secret_of(Keys(**ways).column_key(("a",), known)) == SECRETS["kms"]
    assert secret_of(Keys(**ways).column_key(("a",), unknown)) == SECRETS["uniform"]
    ways.pop("uniform")
    with pytest.raises(MissingKeyError) as error:
        Keys(**ways).column_key(("a",), unknown)
    assert str(error.value) == "KMS client, master key 'm1': PermissionError: not you"


def test_a_wrong_master_key_is_named_though_its_error_says_nothing():
    class OpensWithAnother:
        def unwrap_key(self, wrapped_key, master_key_identifier):
            raise InvalidTag

    with pytest.raises(EncryptionError) as error:
        Keys(kms_client=OpensWithAnother()).column_key(("a",), single(SECRET))
    assert str(error.value) == (
        "KMS client, master key 'm1': InvalidTag: not encrypted with this key, or changed since"
    )


def test_keys_without_metadata_are_found_by_path_or_uniform_only():
    keys = Keys(key_ids={"": SECRET}, key_retriever=lambda metadata: SECRET)
    with pytest.raises(MissingKeyError) as error:
        keys.column_key(("a",), None)
    assert str(error.value) == "no key for column a (the file names no key)"
    assert secret_of(Keys(uniform=SECRET).column_key(("a",), None)) == SECRET


@pytest.mark.parametrize(
    ("column", "given", "named"),
    [
        ("user_id", ["userid", "email"], "userid"),
        ("user.id", ["id"], "id"),
        ("USER_ID", ["user_id", "User_Id"], "user_id, User_Id"),
        ("int64", ["int32"], ""),
    ],
)
def test_a_key_whose_column_is_misspelled_is_named_where_one_is_missed(column, given, named):
    keys = Keys(columns=dict.fromkeys(given, SECRET))
    with pytest.raises(MissingKeyError) as error:
        keys.column_key((column,), None)
    detail = f"one was given for {named}" if named else ""
    expected = f"no key for column {column} (the file names no key)"
    assert str(error.value) == "; ".join(filter(None, [expected, detail]))
    assert error.value.detail == detail


@pytest.mark.parametrize(
    ("key_metadata", "hint"),
    [
        (None, "the file names no key"),
        (b"kf", "key id 'kf'"),
        (b"a\nb\xff\x1b[31m", r"key id 'a\nb\\xff\x1b[31m'"),
        (b"k" * 65, f"key id '{'k' * 64}'…"),
        (b'{"keyMaterialType": "PKMT1", "masterKeyID": "m1"}', "wrapped by master key 'm1'"),
        (b'{"keyMaterialType": "PKMT1", "keyReference": "f"}', "key material 'f'"),
        (b'{"masterKeyID": 5}', "key id '{\"masterKeyID\": 5}'"),
    ],
)
def test_what_is_said_of_a_key_that_is_missing(key_metadata, hint):
    with pytest.raises(MissingKeyError) as error:
        Keys().footer_key(key_metadata)
    assert str(error.value) == f"no key for the footer ({hint})"


def test_the_same_key_is_the_same_object():
    """Its seals are counted there."""
    asked = []

    def retrieve(key_metadata):
        asked.append(key_metadata)
        return SECRET

    material = single(SECRET)
    kms = LabKms(None)
    keys = Keys(key_retriever=retrieve, kms_client=kms, columns={"c": SECRET})
    for find in (
        lambda keys: keys.footer_key(b"kf"),
        lambda keys: keys.column_key(("a",), material),
        lambda keys: keys.column_key(("c",), None),
    ):
        assert find(keys) is find(keys) is find(keys.for_file("/a/b.parquet"))
    assert asked == [b"kf"]
    assert kms.unwrapped == ["m1"]


# ------------------------------------------------------------------------------------------------
# A key retriever


@pytest.mark.parametrize("error", [KeyError("kf"), PermissionError("no")])
def test_a_retriever_without_the_key(error):
    def retrieve(key_metadata):
        raise error

    assert secret_of(Keys(key_retriever=retrieve, uniform=SECRET).footer_key(b"kf")) == SECRET
    with pytest.raises(MissingKeyError):
        Keys(key_retriever=retrieve).footer_key(b"kf")


def test_a_retriever_that_returns_none_is_no_matter_where_there_is_a_uniform_key():
    none = {}.get
    assert secret_of(Keys(key_retriever=none, uniform=SECRET).footer_key(b"kf")) == SECRET
    with pytest.raises(MissingKeyError) as error:
        Keys(key_retriever=none).column_key(("a",), b"ka")
    assert str(error.value) == error.value.detail == "key retriever, key id 'ka': returned None"


def test_a_retriever_that_fails():
    def retrieve(key_metadata):
        raise RuntimeError("not\nnow")

    with pytest.raises(EncryptionError) as error:
        Keys(key_retriever=retrieve, uniform=SECRET).footer_key(b"kf")
    assert str(error.value) == "key retriever, key id 'kf': RuntimeError: not now"
    assert not isinstance(error.value, MissingKeyError)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (5, "key retriever, key id 'kf': returned int, expected bytes"),
        (b"short", "key retriever, key id 'kf': 5 bytes, expected 16, 24 or 32"),
    ],
)
def test_a_retriever_that_returns_no_key(returned, message):
    with pytest.raises(EncryptionError) as error:
        Keys(key_retriever=lambda key_metadata: returned).footer_key(b"kf")
    assert str(error.value) == message


# ------------------------------------------------------------------------------------------------
# Files of parquet-testing, whose keys have ids


TESTING = {"kf": SECRET, "kc1": b"1234567890123450", "kc2": b"1234567890123451"}
BY_PATH = {"double_field": TESTING["kc1"], "float_field": TESTING["kc2"]}


@pytest.mark.parametrize(
    "name",
    [
        "encrypt_columns_and_footer",
        "encrypt_columns_and_footer_aad",
        "encrypt_columns_and_footer_bloom_filter",
        "encrypt_columns_and_footer_ctr",
        "encrypt_columns_plaintext_footer",
        "uniform_encryption",
    ],
)
@pytest.mark.parametrize(
    "ways",
    [
        {"footer": TESTING["kf"], "columns": BY_PATH},
        {"key_ids": TESTING},
        {"key_retriever": lambda key_metadata: TESTING[key_metadata.decode()]},
    ],
    ids=["path", "id", "retriever"],
)
def test_parquet_testing(name, ways):
    path = SHARED / "data" / "parquet-testing" / f"{name}.parquet.encrypted"
    if not path.exists():
        missing("../shared/data/parquet-testing")
    rows = 2000 if "bloom" in name else 50
    columns = {} if "uniform" in name else dict.fromkeys(BY_PATH, rows)
    assert open_all(path, Keys(**ways)) == {"": rows, **columns}


# ------------------------------------------------------------------------------------------------
# Nothing is seen of a key


def all_keys():
    return Keys(
        footer=SECRET,
        columns={"a": f"hex:{HEX}"},
        key_ids={"k": SECRET},
        uniform=SECRET,
        master_keys={"m": SECRET},
        kms_client=load_kms("make.kms_lab:LabKms", KmsConnection(key_access_token="s3cr3t")),
    )


def test_keys_show_nothing(caplog):
    keys = all_keys()
    assert repr(keys) == (
        "Keys(footer key, uniform key, key of column a (hex:…), key id k, master key m, KMS client)"
    )
    logging.getLogger("test").warning("%s %r %s", keys, keys._kms, KmsConnection("", "", "s3cr3t"))
    for secret in (SECRET.decode(), HEX, "s3cr3t"):
        assert secret not in f"{keys} {keys!r} {caplog.text}"
    for write_out in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        for each in (keys, keys._kms, KmsConnection("", "", "s3cr3t")):
            with pytest.raises(TypeError):
                write_out(each)
    with pytest.raises(TypeError):
        vars(keys)


def test_tracebacks_show_nothing():
    """Neither a message nor a line of code nor the chain of causes."""
    keys = all_keys()
    failures = [
        lambda: read_key(f"hex:{HEX}zz", "footer key"),
        lambda: read_key(HEX, "footer key"),
        lambda: parse_table("columns", [f"a={HEX}"]),
        lambda: Keys(footer=SECRET + b"1"),
        lambda: Keys(master_keys={"m1": SECRET}).column_key(("x",), single(SECRET)),
        lambda: FileCipher(None, b"").check_signature(keys.footer_key(None), b"", bytes(28)),
    ]
    for fail in failures:
        try:
            fail()
        except EncryptionError as error:
            text = "".join(traceback.format_exception(error))
            assert SECRET.decode() not in text
            assert HEX not in text
            assert "s3cr3t" not in text
        else:
            pytest.fail("did not fail")
