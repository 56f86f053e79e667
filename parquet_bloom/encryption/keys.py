"""The user's keys, looked up by column path and by the key metadata in the file.

For a column, in this order: the key given for its path or for a group that it is in; the key whose
id is the file's key_metadata; the key that a KMS or a key retriever returns for the metadata; the
uniform key. For the footer the same, starting with the footer key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.encryption.clients import KeyCache, as_bytes, ask
from parquet_bloom.encryption.key_material import (
    ExternalMaterial,
    Unwrap,
    Unwrapper,
    describe_key,
    key_material,
)
from parquet_bloom.encryption.keyspec import Secret, key_of, prefix_of
from parquet_bloom.encryption.kms import Kms, KmsClient, LocalKms
from parquet_bloom.errors import MissingKeyError


class Keys:
    """The keys for one or many encrypted files.

    Its repr shows where the keys come from, never the keys; it cannot be pickled.
    """

    __slots__ = (
        "_columns",
        "_footer",
        "_key_ids",
        "_kms",
        "_local_kms",
        "_master_keys",
        "_material",
        "_material_is_given",
        "_retriever",
        "_uniform",
        "_unwrapper",
        "aad_prefix",
    )

    def __init__(
        self,
        *,
        footer: Secret | None = None,
        columns: Mapping[str, Secret] | None = None,
        key_ids: Mapping[str, Secret] | None = None,
        uniform: Secret | None = None,
        aad_prefix: bytes | str | None = None,
        master_keys: Mapping[str, Secret] | None = None,
        kms_client: KmsClient | Kms | None = None,
        key_retriever: Callable[[bytes], bytes | None] | None = None,
        key_material: str | os.PathLike[str] | None = None,
    ) -> None:
        """A key is bytes, or text that says where to find it (see `keyspec`).

        `columns`: keys by the dotted path of a leaf column, or of a group for all its leaves.
        `key_ids`: keys by the text of a file's key_metadata. `master_keys`: keys by id, for key
        material wrapped locally. `kms_client`: unwraps other key material, such as a KmsClient of
        pyarrow. `key_retriever`: returns the key for a file's key_metadata, or None. `key_material`:
        the JSON file of external key material, if it is not beside the Parquet file. Raises
        EncryptionError for an invalid key.
        """
        self._footer = None if footer is None else key_of(footer, "footer key")
        self._uniform = None if uniform is None else key_of(uniform, "uniform key")
        self._columns = _keys(columns, "key of column")
        self._key_ids = _keys(key_ids, "key id")
        self._master_keys = _keys(master_keys, "master key")
        self._local_kms = LocalKms(self._master_keys)
        self._kms = _kms(kms_client)
        self._retriever = None if key_retriever is None else _Retriever(key_retriever)
        self._unwrapper = Unwrapper()
        self._material_is_given = key_material is not None
        self._material = None if key_material is None else ExternalMaterial(os.fspath(key_material))
        self.aad_prefix = None if aad_prefix is None else prefix_of(aad_prefix)

    def __repr__(self) -> str:
        sources = [
            *(key.source for key in (self._footer, self._uniform) if key is not None),
            *(
                key.source
                for keys in (self._columns, self._key_ids, self._master_keys)
                for key in keys.values()
            ),
        ]
        if self._kms is not None:
            sources.append("KMS client")
        if self._retriever is not None:
            sources.append("key retriever")
        return f"Keys({', '.join(sources)})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("keys cannot be pickled or copied")

    def for_file(self, path: str) -> Keys:
        """The same keys, with the key material beside the Parquet file at `path`."""
        keys = object.__new__(Keys)
        for name in Keys.__slots__:
            setattr(keys, name, getattr(self, name))
        if not self._material_is_given:
            keys._material = ExternalMaterial.of(path)
        return keys

    def footer_key(self, key_metadata: bytes | None) -> Key:
        """The key of the footer. Raises MissingKeyError if there is none."""
        return self._find(self._footer, "the footer", key_metadata)

    def column_key(self, path: tuple[str, ...], key_metadata: bytes | None) -> Key:
        """The key of a leaf column; a name in `path` may contain a dot.

        Raises MissingKeyError if there is none, EncryptionError if a KMS or a key retriever fails
        or key material is invalid.
        """
        given = next(
            (self._columns[name] for name in _self_and_groups(path) if name in self._columns),
            None,
        )
        return self._find(given, f"column {'.'.join(path)}", key_metadata)

    def _find(self, given: Key | None, what: str, key_metadata: bytes | None) -> Key:
        if given is not None:
            return given
        problem: MissingKeyError | None = None
        if key_metadata is not None:
            for find in (self._find_by_id, self._unwrap_material, self._retrieve):
                try:
                    key = find(key_metadata)
                except MissingKeyError as error:
                    problem = problem or error
                else:
                    if key is not None:
                        return key
        if self._uniform is not None:
            return self._uniform
        raise problem or MissingKeyError(f"no key for {what} ({describe_key(key_metadata)})")

    def _find_by_id(self, key_metadata: bytes) -> Key | None:
        return self._key_ids.get(key_metadata.decode(errors="replace"))

    def _unwrap_material(self, key_metadata: bytes) -> Key | None:
        if self._kms is None and not self._master_keys:
            return None
        material = key_material(key_metadata, self._material)
        unwrap = None if material is None else self._unwrap_with(material.master_key_id)
        if material is None or unwrap is None:
            return None
        return self._unwrapper.key(material, unwrap)

    def _unwrap_with(self, master_key_id: str) -> Unwrap | None:
        """The function that unwraps with this master key, locally or through the KMS."""
        if master_key_id in self._master_keys:
            return self._local_kms.unwrap_key
        return None if self._kms is None else self._kms.unwrap

    def _retrieve(self, key_metadata: bytes) -> Key | None:
        return None if self._retriever is None else self._retriever.key(key_metadata)


class _Retriever:
    """Calls the user's function once per key metadata."""

    def __init__(self, function: Callable[[bytes], bytes | None]) -> None:
        self._function = function
        self._keys = KeyCache[bytes]()

    def key(self, key_metadata: bytes) -> Key:
        """Raises MissingKeyError if the function has no key, EncryptionError if it fails."""
        return self._keys.get(key_metadata, lambda: self._retrieve(key_metadata))

    def _retrieve(self, key_metadata: bytes) -> Key:
        what = f"key retriever, {describe_key(key_metadata)}"
        secret = ask(lambda: self._function(key_metadata), what)
        if secret is None:
            raise MissingKeyError(f"{what}: no key")
        return Key(as_bytes(secret, what), what)


def _kms(client: KmsClient | Kms | None) -> Kms | None:
    return client if client is None or isinstance(client, Kms) else Kms(client)


def _keys(secrets: Mapping[str, Secret] | None, what: str) -> dict[str, Key]:
    return {name: key_of(secret, f"{what} {name}") for name, secret in (secrets or {}).items()}


def _self_and_groups(path: tuple[str, ...]) -> Iterator[str]:
    """The dotted paths of a leaf and of the groups that it is in, innermost first."""
    for length in range(len(path), 0, -1):
        yield ".".join(path[:length])
