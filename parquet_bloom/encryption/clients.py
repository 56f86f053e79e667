"""Calls to the user's own code that provides keys: KMS clients and key retrievers.

Such code may raise anything, call `sys.exit`, or call back into this package for another key.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

from parquet_bloom.encryption.cipher import Key
from parquet_bloom.errors import EncryptionError, MissingKeyError

_Answer = TypeVar("_Answer")
_Place = TypeVar("_Place", bound=Hashable)

# Raised when there is no such key, or not for this user.
_DENIALS = (KeyError, PermissionError, MissingKeyError)


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
        kind = MissingKeyError if isinstance(error, _DENIALS) else EncryptionError
        problem = kind(_message(what, error, token))
    raise problem


def _message(what: str, error: BaseException, token: str = "") -> str:
    message = _join_lines(f"{what}: {type(error).__name__}: {error}")
    # The text of a KeyError is the repr of its key.
    for secret in filter(None, map(_join_lines, (token, repr(token)[1:-1]))):
        message = message.replace(secret, "…")
    return message


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def load_callable(name: str, what: str) -> Callable[..., Any]:
    """Import the callable `module:name`; `what` names it in messages. Raises EncryptionError."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise EncryptionError(f"{what}: expected MODULE:NAME, found {name}")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise EncryptionError(
            f"{what} {name}: {error}: not found on the module search path (PYTHONPATH)"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise EncryptionError(_message(f"{what} {name}", error)) from error
    if not callable(found):
        raise EncryptionError(f"{what} {name}: not callable")
    called: Callable[..., Any] = found
    return called


def as_bytes(secret: Any, what: str) -> bytes:
    """A key returned by the user's code; text is encoded as UTF-8, as pyarrow does."""
    if isinstance(secret, bytes | bytearray | memoryview):
        return bytes(secret)
    if not isinstance(secret, str):
        raise EncryptionError(f"{what}: returned {type(secret).__name__}, expected bytes")
    try:
        return secret.encode()
    except UnicodeEncodeError:
        raise EncryptionError(f"{what}: returned text that is not UTF-8") from None


class KeyCache(Generic[_Place]):
    """Keys by what they were made from. Each is one object, because it counts its uses."""

    def __init__(self) -> None:
        self._keys: dict[_Place, Key] = {}
        self._lock = Lock()

    def get(self, place: _Place, make: Callable[[], Key]) -> Key:
        """The key for `place`, made on first use; if two threads make it, the first one wins."""
        found = self._keys.get(place)
        if found is not None:
            return found
        # Outside the lock: the user's code may call back for another key.
        made = make()
        with self._lock:
            return self._keys.setdefault(place, made)
