"""Key material: what pyarrow's and parquet-java's key tools leave in a file instead of a key id.

    key_metadata          {"keyMaterialType": "PKMT1", "internalStorage": true, "masterKeyID": …,
                           "wrappedDEK": …, "doubleWrapping": …, …}
    or                    {"keyMaterialType": "PKMT1", "internalStorage": false, "keyReference": …}
    and beside the file   _KEY_MATERIAL_FOR_<name>.json: {reference: "{…}", …}

The key of a module is wrapped by a master key, or (double wrapping) by a key-encryption key that
is wrapped by a master key and serves many files.

Source: parquet-java, org.apache.parquet.crypto.keytools, KeyMaterial and KeyMetadata.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.encryption.clients import MadeKeys
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError
from parquet_bloom.storage.open_source import open_source

_TYPE = "PKMT1"
# 1000 columns take some 500 kB.
_MAX_FILE_BYTES = 64 << 20
# Of a key id that a file gives, this much is in a message.
_SHOWN_LENGTH = 64

# Makes a key of a wrapped one and the id of its master key.
Unwrap = Callable[[str, str], bytes]


@dataclass(frozen=True, slots=True)
class KeyEncryptionKey:
    """The key between a master key and the keys of files; `wrapped` is the KMS client's own."""

    id: bytes
    wrapped: str


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    """A wrapped key: by its key-encryption key, or if that is None by the master key."""

    master_key_id: str
    wrapped_dek: str
    kek: KeyEncryptionKey | None


def key_material(key_metadata: bytes, beside: ExternalMaterial | None) -> KeyMaterial | None:
    """The material in the metadata or in the file that it refers to; None if it is neither.

    Raises EncryptionError on material that is not as it should be.
    """
    fields = _json_object(key_metadata)
    if fields is None or "keyMaterialType" not in fields:
        return None
    if fields["keyMaterialType"] != _TYPE:
        raise EncryptionError(f"key material: unknown type, expected {_TYPE}")
    if not _get(fields, "internalStorage", bool):
        reference = _get(fields, "keyReference", str)
        if beside is None:
            raise EncryptionError(
                f"key material: {_cut(reference)} is in a file that was not given"
            )
        fields = beside.fields(reference)
    kek = None
    if _get(fields, "doubleWrapping", bool):
        kek_id = _decode(_get(fields, "keyEncryptionKeyID", str), "keyEncryptionKeyID")
        kek = KeyEncryptionKey(kek_id, _get(fields, "wrappedKEK", str))
    return KeyMaterial(_get(fields, "masterKeyID", str), _get(fields, "wrappedDEK", str), kek)


def shown(key_metadata: bytes | None) -> str:
    """How a message names the key that a file asks for: on one line, and not too much of it."""
    if key_metadata is None:
        return "the file names no key"
    fields = _json_object(key_metadata) or {}
    for name, what in (("masterKeyID", "wrapped by master key"), ("keyReference", "key material")):
        if isinstance(fields.get(name), str):
            return f"{what} {_cut(fields[name])}"
    return f"key id {_cut(key_metadata.decode(errors='backslashreplace'))}"


def _cut(text: str) -> str:
    """In quotes; its repr has no surrogates either, which JSON can have alone."""
    return repr(text[:_SHOWN_LENGTH]) + ("…" if len(text) > _SHOWN_LENGTH else "")


class ExternalMaterial:
    """A file of key material, which is read when it is asked for first."""

    def __init__(self, path: str) -> None:
        self.path = path

    @staticmethod
    def of(path: str) -> ExternalMaterial:
        """The one that belongs to the Parquet file at `path`."""
        folder, slash, name = path.rpartition("/")
        return ExternalMaterial(f"{folder}{slash}_KEY_MATERIAL_FOR_{name}.json")

    def fields(self, reference: str) -> dict[str, Any]:
        """The material of this reference.

        Raises MissingKeyError if there is no such file or nothing for the reference in it,
        EncryptionError for what is no key material.
        """
        text = self._entries.get(reference)
        if text is None:
            raise MissingKeyError(f"{self.path}: no key material for {_cut(reference)}")
        fields = _json_object(text) if isinstance(text, str) else None
        if fields is None:
            raise EncryptionError(f"{self.path}: {_cut(reference)} is no key material")
        return fields

    @cached_property
    def _entries(self) -> dict[str, Any]:
        try:
            source = open_source(self.path)
        except FileNotFoundError:
            raise MissingKeyError(f"{self.path}: no such file, expected the key material") from None
        try:
            if source.size > _MAX_FILE_BYTES:
                raise EncryptionError(f"{self.path}: {source.size} bytes are no key material")
            entries = _json_object(source.read_at(0, source.size))
        finally:
            source.close()
        if entries is None:
            raise EncryptionError(f"{self.path}: expected a JSON object")
        return entries


class Unwrapper:
    """Unwraps key material, each key once: the same material is the same Key."""

    def __init__(self) -> None:
        self._keys = MadeKeys[KeyMaterial]()
        self._keks = MadeKeys[tuple[str, KeyEncryptionKey]]()

    def key(self, material: KeyMaterial, unwrap: Unwrap) -> Key:
        """The key of a module.

        Raises EncryptionError if the client fails, MissingKeyError if it has no such master key.
        """
        source = f"key wrapped by master key {_cut(material.master_key_id)}"
        return self._keys.get(material, lambda: Key(self._secret(material, unwrap), source))

    def _secret(self, material: KeyMaterial, unwrap: Unwrap) -> bytes:
        if material.kek is None:
            return unwrap(material.wrapped_dek, material.master_key_id)
        key = self._kek(material.master_key_id, material.kek, unwrap)
        try:
            return key.open_gcm(_decode(material.wrapped_dek, "wrappedDEK"), material.kek.id)
        except TamperedError:
            raise TamperedError(
                f"key material: wrappedDEK does not open with {key.source}: one of both is wrong"
            ) from None

    def _kek(self, master_key_id: str, kek: KeyEncryptionKey, unwrap: Unwrap) -> Key:
        source = f"key-encryption key wrapped by master key {_cut(master_key_id)}"
        return self._keks.get(
            (master_key_id, kek), lambda: Key(unwrap(kek.wrapped, master_key_id), source)
        )


def _json_object(data: bytes | str) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _get(fields: dict[str, Any], name: str, kind: type) -> Any:
    value = fields.get(name)
    if not isinstance(value, kind):
        raise EncryptionError(f"key material: {name}: expected {kind.__name__}")
    return value


def _decode(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise EncryptionError(f"key material: {name} is not base64") from None
