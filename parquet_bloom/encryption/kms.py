"""Key management systems, which unwrap keys with master keys that never leave them.

A client is any object with `unwrap_key(wrapped_key, master_key_identifier)`, such as a KmsClient
written for pyarrow. This package opens no connections itself; the user's client may.
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

# The version of a wrapped key whose master key has no versions.
# Source: parquet-java, LocalWrapKmsClient.
_NO_VERSION = "NO_VERSION"


class KmsClient(Protocol):
    """Unwraps keys, as pyarrow's KmsClient does."""

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        """The key in `wrapped_key`, which only the client can read."""


class LocalKms:
    """Unwraps with master keys in memory, in the format of the in-memory clients in the examples of
    pyarrow and parquet-java and of clients built on parquet-java's LocalWrapKmsClient.

    A wrapped key is base64 of nonce, ciphertext and tag; the AAD is the master key's id.
    LocalWrapKmsClient puts that in `{"masterKeyVersion": "NO_VERSION", "encryptedKey": …}`.
    """

    def __init__(self, master_keys: Mapping[str, Key]) -> None:
        self.master_keys = dict(master_keys)

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        """Raises TamperedError if it cannot be unwrapped, EncryptionError if it is malformed."""
        key = self.master_keys[master_key_identifier]
        try:
            sealed = base64.b64decode(_local(wrapped_key), validate=True)
        except (ValueError, RecursionError):
            raise EncryptionError(f"{key.source}: the wrapped key is not base64") from None
        try:
            return key.open_gcm(sealed, master_key_identifier.encode(errors="surrogatepass"))
        except TamperedError:
            raise TamperedError(
                f"the wrapped key cannot be unwrapped with {key.source}: one of the two is wrong"
            ) from None


def _local(wrapped_key: str) -> str:
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


class _Secretive:
    """Cannot be pickled or copied."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied")


@dataclass(frozen=True, slots=True)
class Kms(_Secretive):
    """A KMS client whose errors become EncryptionErrors; `token` is kept out of them."""

    client: KmsClient
    token: str = field(default="", repr=False)

    def unwrap(self, wrapped_key: str, master_key_id: str) -> bytes:
        """The unwrapped key.

        Raises MissingKeyError if the client raises KeyError, PermissionError or MissingKeyError,
        EncryptionError for anything else that it raises.
        """
        what = f"KMS client, master key {master_key_id!r}"
        secret: Any = ask(
            lambda: self.client.unwrap_key(wrapped_key, master_key_id), what, self.token
        )
        return as_bytes(secret, what)


@dataclass(frozen=True, slots=True)
class KmsConnection(_Secretive):
    """The arguments of a KMS client, named as in pyarrow's KmsConnectionConfig."""

    kms_instance_id: str = ""
    kms_instance_url: str = ""
    key_access_token: str = field(default="", repr=False)
    custom_kms_conf: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_kms(name: str, connection: KmsConnection) -> Kms:
    """Call the user's `module:class` with the connection, as pyarrow does.

    Raises EncryptionError if it does not exist or fails.
    """
    factory = load_callable(name, "KMS client")
    what, token = f"KMS client {name}", connection.key_access_token
    client: KmsClient = ask(lambda: factory(_as_pyarrow(connection)), what, token)
    if not callable(getattr(client, "unwrap_key", None)):
        raise EncryptionError(f"{what}: no method unwrap_key")
    return Kms(client, token)


def _as_pyarrow(connection: KmsConnection) -> Any:
    """pyarrow's own class if it is installed, so that a client can pass it on to pyarrow."""
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
