"""Key material, which pyarrow's and parquet-java's key tools store in a file in place of a key id.

    key_metadata          {"keyMaterialType": "PKMT1", "internalStorage": true, "masterKeyID": …,
                           "wrappedDEK": …, "doubleWrapping": …, …}
    or                    {"keyMaterialType": "PKMT1", "internalStorage": false, "keyReference": …}
    beside the file       _KEY_MATERIAL_FOR_<name>.json: {reference: "{…}", …}

A module's key is wrapped by a master key, or (double wrapping) by a key-encryption key that is
shared by many files and itself wrapped by a master key.

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
from parquet_bloom.encryption.clients import KeyCache
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError
from parquet_bloom.storage.open_source import open_source

_TYPE = "PKMT1"
# 1,000 columns take some 500 kB.
_MAX_FILE_BYTES = 64 << 20
# Characters of a file's key id that a message shows.
_SHOWN_LENGTH = 64

# (wrapped key, id of its master key) -> key
Unwrap = Callable[[str, str], bytes]


@dataclass(frozen=True, slots=True)
class KeyEncryptionKey:
    """A key between the master key and the keys of files; only the KMS client can read `wrapped`."""

    id: bytes
    wrapped: str


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    """A key wrapped by a key-encryption key, or if that is None by the master key."""

    master_key_id: str
    wrapped_dek: str
    kek: KeyEncryptionKey | None


def key_material(key_metadata: bytes, beside: ExternalMaterial | None) -> KeyMaterial | None:
    """The key material in the metadata or in the file that it refers to; None if there is none.

    Raises EncryptionError if the material is invalid.
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
                f"key material: {_quoted(reference)} is in a file that was not given"
            )
        fields = beside.fields(reference)
    kek = None
    if _get(fields, "doubleWrapping", bool):
        kek_id = _decode(_get(fields, "keyEncryptionKeyID", str), "keyEncryptionKeyID")
        kek = KeyEncryptionKey(kek_id, _get(fields, "wrappedKEK", str))
    return KeyMaterial(_get(fields, "masterKeyID", str), _get(fields, "wrappedDEK", str), kek)


def describe_key(key_metadata: bytes | None) -> str:
    """The key that a file names, for a message: one short line."""
    if key_metadata is None:
        return "the file names no key"
    fields = _json_object(key_metadata) or {}
    for name, what in (("masterKeyID", "wrapped by master key"), ("keyReference", "key material")):
        if isinstance(fields.get(name), str):
            return f"{what} {_quoted(fields[name])}"
    return f"key id {_quoted(key_metadata.decode(errors='backslashreplace'))}"


def _quoted(text: str) -> str:
    """The beginning of `text` in quotes. A repr also escapes lone surrogates, which JSON allows."""
    return repr(text[:_SHOWN_LENGTH]) + ("…" if len(text) > _SHOWN_LENGTH else "")


class ExternalMaterial:
    """A file of key material, read on first use."""

    def __init__(self, path: str) -> None:
        self.path = path

    @staticmethod
    def of(path: str) -> ExternalMaterial:
        """The file that belongs to the Parquet file at `path`."""
        folder, slash, name = path.rpartition("/")
        return ExternalMaterial(f"{folder}{slash}_KEY_MATERIAL_FOR_{name}.json")

    def fields(self, reference: str) -> dict[str, Any]:
        """The material under this reference.

        Raises MissingKeyError if the file or the reference does not exist, EncryptionError if the
        material is invalid.
        """
        text = self._entries.get(reference)
        if text is None:
            raise MissingKeyError(f"{self.path}: no key material for {_quoted(reference)}")
        fields = _json_object(text) if isinstance(text, str) else None
        if fields is None:
            raise EncryptionError(f"{self.path}: {_quoted(reference)}: not key material")
        return fields

    @cached_property
    def _entries(self) -> dict[str, Any]:
        try:
            source = open_source(self.path)
        except FileNotFoundError:
            raise MissingKeyError(f"{self.path}: no such key material file") from None
        try:
            if source.size > _MAX_FILE_BYTES:
                raise EncryptionError(
                    f"{self.path}: {source.size} bytes, expected at most {_MAX_FILE_BYTES} of key"
                    " material"
                )
            entries = _json_object(source.read_at(0, source.size))
        finally:
            source.close()
        if entries is None:
            raise EncryptionError(f"{self.path}: expected a JSON object")
        return entries


class Unwrapper:
    """Unwraps each key once: the same material gives the same Key."""

    def __init__(self) -> None:
        self._keys = KeyCache[KeyMaterial]()
        self._keks = KeyCache[tuple[str, KeyEncryptionKey]]()

    def key(self, material: KeyMaterial, unwrap: Unwrap) -> Key:
        """The key of a module.

        Raises EncryptionError if the client fails, MissingKeyError if it has no such master key.
        """
        source = f"key wrapped by master key {_quoted(material.master_key_id)}"
        return self._keys.get(material, lambda: Key(self._secret(material, unwrap), source))

    def _secret(self, material: KeyMaterial, unwrap: Unwrap) -> bytes:
        if material.kek is None:
            return unwrap(material.wrapped_dek, material.master_key_id)
        key = self._kek(material.master_key_id, material.kek, unwrap)
        try:
            return key.open_gcm(_decode(material.wrapped_dek, "wrappedDEK"), material.kek.id)
        except TamperedError:
            raise TamperedError(
                f"key material: wrappedDEK cannot be unwrapped with {key.source}: one of the two is"
                " wrong"
            ) from None

    def _kek(self, master_key_id: str, kek: KeyEncryptionKey, unwrap: Unwrap) -> Key:
        source = f"key-encryption key wrapped by master key {_quoted(master_key_id)}"
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
