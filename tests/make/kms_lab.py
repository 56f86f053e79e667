"""A KMS in memory, and encrypted files that pyarrow writes with it."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from parquet_bloom.encryption.cipher import Module, file_cipher
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

MASTER_KEYS = {"mf": b"footer master 16", "m1": b"column 1 master key 24 b", "m2": b"k" * 31 + b"2"}
TABLE = pa.table({"a": range(100), "b": [f"b{i}" for i in range(100)], "c": range(100)})


def wrapped(key_bytes: bytes, master_key_id: str) -> str:
    """As the in-memory clients of parquet-java's and Arrow's tests wrap."""
    nonce = os.urandom(12)
    sealed = AESGCM(MASTER_KEYS[master_key_id]).encrypt(nonce, key_bytes, master_key_id.encode())
    return base64.b64encode(nonce + sealed).decode()


class LabKms(pe.KmsClient):
    """What a user of pyarrow has; counts how often it is asked."""

    def __init__(self, connection: pe.KmsConnectionConfig) -> None:
        super().__init__()
        self.connection = connection
        self.unwrapped: list[str] = []

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> str:
        return wrapped(key_bytes, master_key_identifier)

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        self.unwrapped.append(master_key_identifier)
        data = base64.b64decode(wrapped_key)
        master = AESGCM(MASTER_KEYS[master_key_identifier])
        return master.decrypt(data[:12], data[12:], master_key_identifier.encode())


class WrongKms:
    """Does not do what a client should; says all that it was told."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        connection = self.connection
        raise RuntimeError(
            f"403: no\nentry with token {connection.key_access_token} {connection.kms_instance_id}"
            f" {connection.kms_instance_url} {dict(sorted(connection.custom_kms_conf.items()))}"
        )


def write(path: Path, connection: pe.KmsConnectionConfig | None = None, **settings: Any) -> Path:
    """Write TABLE encrypted: a with m1, b with m2, c plain, unless the settings say otherwise."""
    factory = pe.CryptoFactory(LabKms)
    if not settings.get("uniform_encryption"):
        settings = {"column_keys": {"m1": ["a"], "m2": ["b"]}, **settings}
    properties = factory.file_encryption_properties(
        connection or pe.KmsConnectionConfig(),
        pe.EncryptionConfiguration(footer_key="mf", **settings),
        str(path),
    )
    pq.write_table(TABLE, path, encryption_properties=properties)
    return path


def open_all(path: Path, keys: Keys) -> dict[str, int]:
    """The row counts that the footer and each encrypted column's ColumnMetaData say, by name."""
    keys_of_file = keys.for_file(str(path))
    data = path.read_bytes()
    tail = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    if data[-4:] == b"PARE":
        crypto, end = compact.decode(ttypes.FileCryptoMetaData, tail)
        cipher = file_cipher(crypto.encryption_algorithm, keys_of_file.aad_prefix)
        footer = cipher.open(
            keys_of_file.footer_key(crypto.key_metadata), Module.FOOTER, tail[end:]
        )
        metadata, _ = compact.decode(ttypes.FileMetaData, footer)
    else:
        metadata, end = compact.decode(ttypes.FileMetaData, tail)
        cipher = file_cipher(metadata.encryption_algorithm, keys_of_file.aad_prefix)
        key = keys_of_file.footer_key(metadata.footer_signing_key_metadata)
        cipher.check_signature(key, tail[:end], tail[end:])
    counts = {"": metadata.num_rows}
    for index, chunk in enumerate(metadata.row_groups[0].columns):
        own = chunk.crypto_metadata and chunk.crypto_metadata.ENCRYPTION_WITH_COLUMN_KEY
        if own:
            name = ".".join(own.path_in_schema)
            key = keys_of_file.column_key(tuple(own.path_in_schema), own.key_metadata)
            sealed = chunk.encrypted_column_metadata
            opened = cipher.open(key, Module.COLUMN_META_DATA, sealed, 0, index)
            counts[name] = compact.decode(ttypes.ColumnMetaData, opened)[0].num_values
    return counts


def external_material(path: Path) -> Any:
    """The file of key material beside the one at `path`, as JSON."""
    return json.loads((path.parent / f"_KEY_MATERIAL_FOR_{path.name}.json").read_text())


def secret_of(key: Any) -> Any:
    """What no caller should ever ask."""
    return key._secret


def metadata(**fields: object) -> bytes:
    return json.dumps({"keyMaterialType": "PKMT1"} | fields).encode()


def single(secret: bytes, master_key_id: str = "m1") -> bytes:
    return metadata(
        internalStorage=True,
        isFooterKey=False,
        masterKeyID=master_key_id,
        wrappedDEK=wrapped(secret, master_key_id),
        doubleWrapping=False,
    )
