"""Key management systems: what unwraps keys with master keys that only it holds.

A client is any object with `unwrap_key(wrapped_key, master_key_identifier)`, such as the KmsClient
classes of pyarrow's users. Nothing in here connects to anything: a client of the user's may.
"""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError

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
        """Raises TamperedError unless the wrapped key opens."""
        key = self.master_keys[master_key_identifier]
        try:
            sealed = base64.b64decode(_local(wrapped_key), validate=True)
        except (ValueError, RecursionError):
            raise EncryptionError(f"{key.source}: the wrapped key is not base64") from None
        try:
            return key.open_gcm(sealed, master_key_identifier.encode())
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


@dataclass(frozen=True, slots=True)
class Kms:
    """A client, and what it says when something is wrong; `token` is not in that."""

    client: KmsClient
    token: str = field(default="", repr=False)

    def unwrap(self, wrapped_key: str, master_key_id: str) -> bytes:
        """The key.

        A client that says KeyError or PermissionError has no such key, or not for this user: a
        MissingKeyError. All else that it raises is an EncryptionError.
        """
        what = f"KMS client, master key {master_key_id!r}"
        try:
            secret: Any = self.client.unwrap_key(wrapped_key, master_key_id)
        except EncryptionError:
            raise
        except (KeyError, PermissionError) as error:
            raise MissingKeyError(_said(what, error, self.token)) from error
        except Exception as error:
            raise EncryptionError(_said(what, error, self.token)) from error
        return as_bytes(secret, what)


@dataclass(frozen=True, slots=True)
class KmsConnection:
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
    try:
        client: KmsClient = factory(_as_pyarrow(connection))
    except Exception as error:
        what = f"KMS client {name}"
        raise EncryptionError(_said(what, error, connection.key_access_token)) from error
    if not callable(getattr(client, "unwrap_key", None)):
        raise EncryptionError(f"KMS client {name}: no method unwrap_key")
    return Kms(client, connection.key_access_token)


def load_callable(name: str, what: str) -> Callable[..., Any]:
    """What `module:name` names, `what` being what it is to a user. Raises EncryptionError."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise EncryptionError(f"{what}: expected MODULE:NAME, found {name}")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise EncryptionError(
            f"{what} {name}: {error}: expected one on the module search path (PYTHONPATH)"
        ) from error
    if not callable(found):
        raise EncryptionError(f"{what} {name}: cannot be called")
    called: Callable[..., Any] = found
    return called


def as_bytes(secret: Any, what: str) -> bytes:
    """A key that the user's code returned; text is what pyarrow takes, too, in UTF-8."""
    if isinstance(secret, str):
        return secret.encode()
    if isinstance(secret, bytes | bytearray | memoryview):
        return bytes(secret)
    raise EncryptionError(f"{what}: returned {type(secret).__name__}, expected bytes")


def failed(what: str, error: Exception) -> EncryptionError:
    """Code of the user's failed: what it says, on one line."""
    return EncryptionError(_said(what, error))


def _said(what: str, error: Exception, token: str = "") -> str:
    said = " ".join(f"{what}: {type(error).__name__}: {error}".split())
    return said.replace(token, "…") if token else said


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
