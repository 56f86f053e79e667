"""Calls to the user's own code that provides keys: KMS clients and key retrievers.

A KMS (key management system) unwraps keys with master keys that never leave it. A KMS client is any
object with `unwrap_key(wrapped_key, master_key_identifier)`, such as a KmsClient written for
pyarrow. Such code may open connections, raise anything, call `sys.exit`, or call back into this
package for another key.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Protocol, TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.cipher import Secretive
from parquet_bloom.errors import EncryptionError, MissingKeyError

_Answer = TypeVar("_Answer")

# Raised when there is no such key, or not for this user.
_DENIALS = (KeyError, PermissionError, MissingKeyError)


# What cryptography raises, without a word, for a ciphertext that a key does not open.
_WRONG_KEY = "InvalidTag"


def ask(question: Callable[[], _Answer], what: str, token: str = "") -> _Answer:
    """Call the user's code. `what` names it in messages; `token` is kept out of them.

    Raises MissingKeyError if it denies the key, else EncryptionError for whatever it raises: one
    line, without a cause, which could reveal the token. Only KeyboardInterrupt passes through.
    """
    try:
        return question()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- its sys.exit(0) must not become our exit code
        kind = MissingKeyError.told if isinstance(error, _DENIALS) else EncryptionError
        problem = kind(_message(what, error, token))
    raise problem


def _message(what: str, error: BaseException, token: str = "") -> str:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if said == _WRONG_KEY:
        said += ": not encrypted with this key, or changed since"
    message = _join_lines(f"{what}: {said}")
    # The text of a KeyError is the repr of its key.
    for secret in filter(None, map(_join_lines, (token, repr(token)[1:-1]))):
        message = message.replace(secret, "…")
    return message


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def as_bytes(secret: object, what: str) -> bytes:
    """A key returned by the user's code; text is encoded as UTF-8, as pyarrow does."""
    if isinstance(secret, bytes | bytearray | memoryview):
        return bytes(secret)
    if not isinstance(secret, str):
        raise EncryptionError(f"{what}: returned {type(secret).__name__}, expected bytes")
    try:
        return secret.encode()
    except UnicodeEncodeError:
        raise EncryptionError(f"{what}: returned text that is not UTF-8") from None


def load_callable(name: str, what: str) -> Callable[..., Any]:
    """Import the callable `module:name`; `what` names it in messages. Raises EncryptionError."""
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        raise EncryptionError(f"{what}: expected MODULE:NAME, found {name}")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        is_itself = error.name == module.partition(".")[0]
        way = ": install it, or put its folder on PYTHONPATH" * is_itself
        raise EncryptionError(f"{what} {name}: {error}{way}") from error
    except AttributeError as error:
        raise EncryptionError(f"{what} {name}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise EncryptionError(_message(f"{what} {name}", error)) from error
    if not callable(found):
        raise EncryptionError(f"{what} {name}: not callable")
    called: Callable[..., Any] = found
    return called


class KmsClient(Protocol):
    """Unwraps keys, as pyarrow's KmsClient does."""

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        """The key in `wrapped_key`, which only the client can read."""


@dataclass(frozen=True, slots=True)
class Kms(Secretive):
    """A KMS client whose errors become EncryptionErrors; `token` is kept out of them."""

    client: KmsClient
    token: str = field(default="", repr=False)

    def unwrap(self, wrapped_key: str, master_key_id: str) -> bytes:
        """The unwrapped key. Raises as `ask`."""
        what = f"KMS client, master key {master_key_id!r}"
        secret = ask(lambda: self.client.unwrap_key(wrapped_key, master_key_id), what, self.token)
        return as_bytes(secret, what)


@dataclass(frozen=True, slots=True)
class KmsConnection(Secretive):
    """The argument of a KMS client, with the fields of pyarrow's KmsConnectionConfig."""

    kms_instance_id: str = ""
    kms_instance_url: str = ""
    key_access_token: str = field(default="", repr=False)
    custom_kms_conf: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_kms(name: str, connection: KmsConnection) -> Kms:
    """Call the user's `module:class` with the connection, as pyarrow does. Raises EncryptionError."""
    factory = load_callable(name, "KMS client")
    what, token = f"KMS client {name}", connection.key_access_token
    client: KmsClient = ask(lambda: factory(_as_pyarrow(connection)), what, token)
    if not callable(getattr(client, "unwrap_key", None)):
        raise EncryptionError(f"{what}: no method unwrap_key")
    return Kms(client, token)


def _as_pyarrow(connection: KmsConnection) -> object:
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
