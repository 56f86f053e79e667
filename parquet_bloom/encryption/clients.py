"""Code of the user's that has keys: found by name, asked, and kept from deciding how we end.

It may raise whatever it likes, end the program with `sys.exit`, or come back here for another key.
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

# What it raises if it has no such key, or not for this user.
_DENIALS = (KeyError, PermissionError, MissingKeyError)


def ask(question: Callable[[], _Answer], what: str, token: str = "") -> _Answer:
    """What the user's code returns; `what` names it, and `token` is in no message.

    Whatever it raises is an EncryptionError of one line, a denial a MissingKeyError. Neither has a
    cause, which could show the token. Only KeyboardInterrupt passes: it comes from outside.
    """
    try:
        return question()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- sys.exit(0) in there must not be our answer
        kind = MissingKeyError if isinstance(error, _DENIALS) else EncryptionError
        problem = kind(_said(what, error, token))
    raise problem


def _said(what: str, error: BaseException, token: str = "") -> str:
    said = _on_one_line(f"{what}: {type(error).__name__}: {error}")
    # A KeyError shows the repr of what it is about.
    for secret in filter(None, map(_on_one_line, (token, repr(token)[1:-1]))):
        said = said.replace(secret, "…")
    return said


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise EncryptionError(_said(f"{what} {name}", error)) from error
    if not callable(found):
        raise EncryptionError(f"{what} {name}: cannot be called")
    called: Callable[..., Any] = found
    return called


def as_bytes(secret: Any, what: str) -> bytes:
    """A key that the user's code returned; text is what pyarrow takes, too, in UTF-8."""
    if isinstance(secret, bytes | bytearray | memoryview):
        return bytes(secret)
    if not isinstance(secret, str):
        raise EncryptionError(f"{what}: returned {type(secret).__name__}, expected bytes")
    try:
        return secret.encode()
    except UnicodeEncodeError:
        raise EncryptionError(f"{what}: returned text that is not UTF-8") from None


class MadeKeys(Generic[_Place]):
    """Keys by what they were made of. Each stays one object: its seals are counted there."""

    def __init__(self) -> None:
        self._keys: dict[_Place, Key] = {}
        self._lock = Lock()

    def get(self, place: _Place, make: Callable[[], Key]) -> Key:
        """The key of this place; of two that are made at the same time, the first."""
        found = self._keys.get(place)
        if found is not None:
            return found
        # Without the lock: the user's code may come back for another key.
        made = make()
        with self._lock:
            return self._keys.setdefault(place, made)
