"""Key management systems: what unwraps keys with master keys that only it holds.

A client is any object with `unwrap_key(wrapped_key, master_key_identifier)`, such as the KmsClient
classes of pyarrow's users. Nothing in here connects to anything: a client of the user's may.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.encryption.clients import as_bytes, ask, load_callable
from parquet_bloom.errors import EncryptionError, TamperedError

# The version that a wrapped key has if master keys have none.
# Source: parquet-java, LocalWrapKmsClient.
_NO_VERSION = "NO_VERSION"


class KmsClient(Protocol):
    """Unwraps keys; pyarrow's KmsClient is one."""

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        """The key that `wrapped_key`, text of the client's own making, stands for."""


class LocalKms:
    """Unwraps with master keys that are here, as the in-memory clients of pyarrow's and
    parquet-java's examples wrap, and those built on parquet-java's LocalWrapKmsClient.

    Wrapped: base64 of nonce, ciphertext and tag; the AAD is the master key's id. LocalWrapKmsClient
    has that in `{"masterKeyVersion": "NO_VERSION", "encryptedKey": …}`.
    """

    def __init__(self, master_keys: Mapping[str, Key]) -> None:
        self.master_keys = dict(master_keys)

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        """Raises TamperedError unless the wrapped key opens, EncryptionError if it is none."""
        key = self.master_keys[master_key_identifier]
        try:
            sealed = base64.b64decode(_local(wrapped_key), validate=True)
        except (ValueError, RecursionError):
            raise EncryptionError(f"{key.source}: the wrapped key is not base64") from None
        try:
            return key.open_gcm(sealed, master_key_identifier.encode(errors="surrogatepass"))
        except TamperedError:
            raise TamperedError(
                f"the wrapped key does not open with {key.source}: the master key or the wrapped"
                " key is wrong"
            ) from None


def _local(wrapped_key: str) -> str:
    """The wrapped key itself, which may be in an envelope with a version."""
    if not wrapped_key.lstrip().startswith("{"):
        return wrapped_key
    envelope = json.loads(wrapped_key)
    if envelope.get("masterKeyVersion") != _NO_VERSION:
        raise EncryptionError(
            f"the wrapped key has a master key version, expected {_NO_VERSION}: only the KMS client"
            " that wrapped it knows its keys"
        )
    return str(envelope.get("encryptedKey"))


class _Secretive:
    """Is neither pickled nor copied."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is neither pickled nor copied")


@dataclass(frozen=True, slots=True)
class Kms(_Secretive):
    """A client, and what it says when something is wrong; `token` is not in that."""

    client: KmsClient
    token: str = field(default="", repr=False)

    def unwrap(self, wrapped_key: str, master_key_id: str) -> bytes:
        """The key.

        A client that says KeyError, PermissionError or MissingKeyError has no such key, or not for
        this user: a MissingKeyError. All else that it raises is an EncryptionError.
        """
        what = f"KMS client, master key {master_key_id!r}"
        secret: Any = ask(
            lambda: self.client.unwrap_key(wrapped_key, master_key_id), what, self.token
        )
        return as_bytes(secret, what)


@dataclass(frozen=True, slots=True)
class KmsConnection(_Secretive):
    """What a KMS client is made with, by the names of pyarrow's KmsConnectionConfig."""

    kms_instance_id: str = ""
    kms_instance_url: str = ""
    key_access_token: str = field(default="", repr=False)
    custom_kms_conf: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_kms(name: str, connection: KmsConnection) -> Kms:
    """Call `module:class` of the user's with the connection, as pyarrow does.

    Raises EncryptionError if there is none, or if it fails.
    """
    factory = load_callable(name, "KMS client")
    what, token = f"KMS client {name}", connection.key_access_token
    client: KmsClient = ask(lambda: factory(_as_pyarrow(connection)), what, token)
    if not callable(getattr(client, "unwrap_key", None)):
        raise EncryptionError(f"{what}: no method unwrap_key")
    return Kms(client, token)


def _as_pyarrow(connection: KmsConnection) -> Any:
    """pyarrow's own class if there is one, so that a client can hand it on to pyarrow."""
    try:
        from pyarrow.parquet.encryption import KmsConnectionConfig
    except ImportError:
        return connection
    config = KmsConnectionConfig(
        kms_instance_id=connection.kms_instance_id,
        kms_instance_url=connection.kms_instance_url,
        custom_kms_conf=dict(connection.custom_kms_conf),
    )
    if connection.key_access_token:
        config.refresh_key_access_token(connection.key_access_token)
    return config
