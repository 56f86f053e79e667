"""Key material: wrapped keys, which pyarrow and parquet-java store in a file in place of key ids.

    key_metadata          {"keyMaterialType": "PKMT1", "internalStorage": true, "masterKeyID": …,
                           "wrappedDEK": …, "doubleWrapping": …, …}
    or                    {"keyMaterialType": "PKMT1", "internalStorage": false, "keyReference": …}
    beside the file       _KEY_MATERIAL_FOR_<name>.json: {reference: "{…}", …}

A module's key is wrapped by a master key, or (double wrapping) by a key-encryption key that is
shared by many files and itself wrapped by a master key.

A master key in memory wraps as the in-memory clients in the examples of pyarrow and parquet-java do:
base64 of nonce, ciphertext and tag; the AAD is the master key's id. Clients built on parquet-java's
LocalWrapKmsClient put that in `{"masterKeyVersion": "NO_VERSION", "encryptedKey": …}`.

Source: parquet-java, org.apache.parquet.crypto.keytools, KeyMaterial, KeyMetadata and
LocalWrapKmsClient.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Hashable
from contextlib import closing, suppress
from functools import cached_property
from threading import Lock
from typing import TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.cipher import Key
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError
from parquet_bloom.storage import open_source
from parquet_bloom.storage.address import in_same_store

_Kind = TypeVar("_Kind")

_TYPE = "PKMT1"
# The version of a wrapped key whose master key has no versions.
_NO_VERSION = "NO_VERSION"
# 1,000 columns take some 500 kB.
_MAX_FILE_BYTES = 64 << 20
# Characters of a file's key id that a message shows.
_SHOWN_LENGTH = 64

# (wrapped key, id of its master key) -> key
Unwrap = Callable[[str, str], bytes]


class KeyCache:
    """Keys by what they were made from. Each is one object, because it counts its uses."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, Key] = {}
        self._lock = Lock()

    def get(self, origin: Hashable, make: Callable[[], Key]) -> Key:
        """The key from `origin`, made on first use; if two threads make it, the first one wins."""
        found = self._keys.get(origin)
        if found is not None:
            return found
        # Outside the lock: the user's code may call back for another key.
        made = make()
        with self._lock:
            return self._keys.setdefault(origin, made)


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    """`wrapped_dek`: the key of a module, wrapped by a master key or, if there is one, by the
    key-encryption key `kek_id`, which the master key wraps as `wrapped_kek`."""

    master_key_id: str
    wrapped_dek: str
    kek_id: bytes | None = None
    wrapped_kek: str = ""


def is_key_material(key_metadata: bytes | None) -> bool:
    """Whether it is key material, of this type or another, or refers to some; else it is an id, or nothing."""
    return "keyMaterialType" in (_json_object(key_metadata or b"") or {})


def key_material(key_metadata: bytes, beside: ExternalMaterial | None) -> KeyMaterial | None:
    """The key material in the metadata or in the file that it refers to; None if there is none.
    Raises EncryptionError if it is invalid."""
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
    is_double = _get(fields, "doubleWrapping", bool)
    master_key_id = _get(fields, "masterKeyID", str)
    wrapped_dek = _get(fields, "wrappedDEK", str)
    if not is_double:
        return KeyMaterial(master_key_id, wrapped_dek)
    kek_id = _decode(_get(fields, "keyEncryptionKeyID", str), "keyEncryptionKeyID")
    return KeyMaterial(master_key_id, wrapped_dek, kek_id, _get(fields, "wrappedKEK", str))


def named_master_key(key_metadata: bytes | None, beside: ExternalMaterial | None) -> str:
    """The id of the master key that key material names; empty if there is no key material, or none that can be
    read."""
    if key_metadata is None:
        return ""
    with suppress(EncryptionError, OSError):
        material = key_material(key_metadata, beside)
        if material is not None:
            return material.master_key_id
    return ""


def describe_wrapping(master_key_id: str) -> str:
    """For a message: `wrapped by master key 'users'`"""
    return f"wrapped by master key {_quoted(master_key_id)}"


def describe_key(key_metadata: bytes | None) -> str:
    """The key that a file names, for a message: one short line."""
    if key_metadata is None:
        return "the file names no key"
    fields = _json_object(key_metadata) or {}
    for name, what in (("masterKeyID", "wrapped by master key"), ("keyReference", "key material")):
        if isinstance(named := fields.get(name), str):
            return f"{what} {_quoted(named)}"
    return f"key id {_quoted(key_metadata.decode(errors='backslashreplace'))}"


def _quoted(text: str) -> str:
    """The beginning of `text` in quotes. A repr also escapes lone surrogates, which JSON allows."""
    return repr(text[:_SHOWN_LENGTH]) + ("…" if len(text) > _SHOWN_LENGTH else "")


def material_path(path: str) -> str:
    """Where the external key material of the Parquet file at `path` is."""
    folder, slash, name = path.rpartition("/")
    return in_same_store(path, f"{folder}{slash}_KEY_MATERIAL_FOR_{name}.json")


class ExternalMaterial:
    """A file of key material, read on first use. `is_beside`: whether it is looked for beside the Parquet file, as
    nobody has named it."""

    def __init__(self, path: str, is_beside: bool = False) -> None:
        self.path = path
        self._where = " beside the Parquet file" if is_beside else ""

    def fields(self, reference: str) -> dict[str, object]:
        """The material under this reference. Raises MissingKeyError if the file or the reference
        does not exist, EncryptionError if the material is invalid."""
        text = self._entries.get(reference)
        if text is None:
            raise MissingKeyError.told(f"{self.path}: no key material for {_quoted(reference)}")
        fields = _json_object(text) if isinstance(text, str) else None
        if fields is None:
            raise EncryptionError(f"{self.path}: {_quoted(reference)}: not key material")
        return fields

    @cached_property
    def _entries(self) -> dict[str, object]:
        if self._data is None:
            raise MissingKeyError.told(f"{self.path}: no such key material file{self._where}")
        entries = _json_object(self._data)
        if entries is None:
            raise EncryptionError(f"{self.path}: expected a JSON object")
        return entries

    @cached_property
    def _data(self) -> bytes | None:
        """What is in the file; None if it is not there, for which a store is not asked again for each column."""
        try:
            source = open_source(self.path)
        except FileNotFoundError:
            return None
        with closing(source):
            if source.size > _MAX_FILE_BYTES:
                raise EncryptionError(
                    f"{self.path}: {source.size} bytes, expected at most {_MAX_FILE_BYTES} of key"
                    " material"
                )
            return source.read_at(0, source.size)


def unwrap_locally(master_key: Key, wrapped_key: str, master_key_id: str) -> bytes:
    """Raises TamperedError if it cannot be unwrapped, EncryptionError if it is malformed."""
    try:
        sealed = base64.b64decode(_without_envelope(wrapped_key), validate=True)
    except (ValueError, RecursionError):
        raise EncryptionError(f"{master_key.source}: the wrapped key is not base64") from None
    aad = master_key_id.encode(errors="surrogatepass")
    return _opened(sealed, aad, master_key, "the wrapped key")


def _without_envelope(wrapped_key: str) -> str:
    """The wrapped key itself, taken out of LocalWrapKmsClient's envelope if there is one."""
    if not wrapped_key.lstrip().startswith("{"):
        return wrapped_key
    envelope = json.loads(wrapped_key)
    if envelope.get("masterKeyVersion") != _NO_VERSION:
        raise EncryptionError(
            f"the wrapped key has a master key version, expected {_NO_VERSION}: only the KMS client"
            " that wrapped it can unwrap it"
        )
    return str(envelope.get("encryptedKey"))


def unwrapped(material: KeyMaterial, unwrap: Unwrap, cache: KeyCache) -> Key:
    """The key of a module; the same material gives the same Key. Raises as `unwrap`."""
    source = f"key wrapped by master key {_quoted(material.master_key_id)}"
    return cache.get(material, lambda: Key(_secret(material, unwrap, cache), source))


def _secret(material: KeyMaterial, unwrap: Unwrap, cache: KeyCache) -> bytes:
    master_key_id = material.master_key_id
    if material.kek_id is None:
        return unwrap(material.wrapped_dek, master_key_id)
    source = f"key-encryption key wrapped by master key {_quoted(master_key_id)}"
    origin = (master_key_id, material.kek_id, material.wrapped_kek)
    key = cache.get(origin, lambda: Key(unwrap(material.wrapped_kek, master_key_id), source))
    dek = _decode(material.wrapped_dek, "wrappedDEK")
    return _opened(dek, material.kek_id, key, "key material: wrappedDEK")


def _opened(sealed: bytes, aad: bytes, key: Key, what: str) -> bytes:
    try:
        return key.open_gcm(sealed, aad)
    except TamperedError:
        raise TamperedError(
            f"{what} cannot be unwrapped with {key.source}: one of the two is wrong"
        ) from None


def _json_object(data: bytes | str) -> dict[str, object] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _get(fields: dict[str, object], name: str, kind: type[_Kind]) -> _Kind:
    value = fields.get(name)
    if not isinstance(value, kind):
        raise EncryptionError(f"key material: {name}: expected {kind.__name__}")
    return value


def _decode(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise EncryptionError(f"key material: {name} is not base64") from None
