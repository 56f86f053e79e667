"""KEYSPEC: where a key is, and in which encoding.

    hex:…  base64:…  ascii:…      the key itself; other users can see it in the process list
    env:VAR[,ENC]                 an environment variable
    file:PATH[,ENC]               a file
    fd:N[,ENC]                    an open file descriptor

ENC is `hex`, `base64`, `ascii` or `raw` (the bytes as they are). Without it, the content must start
with `hex:`, `base64:` or `ascii:`. The encoding is never guessed: the base64 of a 16-byte key has 24
characters, which would be a valid key, too.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from parquet_bloom.encryption.cipher import KEY_BYTES, Key
from parquet_bloom.errors import EncryptionError
from parquet_bloom.storage.source import naming

Secret = Key | bytes | str

_LITERALS = ("hex", "base64", "ascii")
_SOURCES = ("env", "file", "fd")
ENCODINGS = "hex, base64, ascii or raw"
EXPECTED = "hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N"

# Far more than any key or token; a descriptor may never reach its end.
_MAX_BYTES = 64 << 10

_DESCRIPTOR = re.compile(r"[0-9]{1,9}")

_NAMED = re.compile(rf"(.+?)=((?:{'|'.join(_LITERALS + _SOURCES)}):.*)", re.DOTALL)


def read_key(secret: Secret, name: str) -> Key:
    """The key for a secret that the user gave; `name` is its name in messages. EncryptionErrors
    never reveal the secret, here and below."""
    return secret if isinstance(secret, Key) else Key(*read_secret(secret, name))


class FoundSecret(NamedTuple):
    """Its bytes; where they came from, for messages; and what to add to one that says that they are wrong."""

    secret: bytes
    source: str
    hint: str = ""

    @classmethod
    def of(cls, encoding: str, data: bytes, source: str) -> FoundSecret:
        return cls(_decode(encoding, data, source), source, _hint(encoding, data))


def read_secret(secret: bytes | str, name: str) -> FoundSecret:
    """A secret that is given itself, or somewhere else. Raises EncryptionError, OSError."""
    if isinstance(secret, bytes):
        return FoundSecret(secret, name)
    _check_is_text(secret, name)
    check_keyspec(secret, name)
    scheme, _, rest = secret.partition(":")
    if scheme in _LITERALS:
        return FoundSecret.of(scheme, _typed(rest, name), f"{name} ({scheme}:…)")
    place, _, encoding = secret.rpartition(",")
    if encoding not in _DECODERS:
        place, encoding = secret, ""
    source = f"{name} ({place})"
    data = _read(place, source)
    return FoundSecret.of(*((encoding, data) if encoding else _named(data, source)), source)


def check_keyspec(text: str, name: str) -> None:
    """Raise EncryptionError for what says neither a key nor where one is."""
    if text.partition(":")[0] not in _LITERALS + _SOURCES:
        raise EncryptionError(f"{name}: expected {EXPECTED}")


def check_key(text: str, name: str) -> None:
    """Raise EncryptionError for what is no KEYSPEC, or a key itself that is none; elsewhere, nobody looks."""
    check_keyspec(text, name)
    if text.partition(":")[0] in _LITERALS:
        read_key(text, name)


def _check_is_text(secret: object, name: str) -> None:
    if not isinstance(secret, str):
        raise TypeError(f"{name}: a value of type {type(secret).__name__}, expected bytes or text")


def read_token(spec: str, name: str) -> str:
    """A token: `ascii:…` as it is, or found elsewhere, and then without its line end."""
    scheme, _, rest = spec.partition(":")
    if scheme == "ascii":
        return rest
    if scheme not in _SOURCES:
        raise EncryptionError(f"{name}: expected ascii:…, env:VAR, file:PATH or fd:N")
    source = f"{name} ({spec})"
    try:
        return _read(spec, source).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise EncryptionError(f"{source}: not UTF-8") from None


def parse_prefix(prefix: bytes | str, name: str = "AAD prefix") -> bytes:
    """An AAD prefix: bytes, `hex:…`, or the text itself in UTF-8."""
    if isinstance(prefix, bytes):
        return prefix
    _check_is_text(prefix, name)
    if prefix.startswith("hex:"):
        return _decode("hex", _typed(prefix[4:], name), name)
    return _typed(prefix, name)


def named_keys(text: str, what: str) -> dict[str, str]:
    """Parse `NAME=KEYSPEC`; either part may contain more `=`. Raises EncryptionError."""
    match = _NAMED.fullmatch(text)
    if match is None:
        raise EncryptionError(f"{what}: expected NAME=KEYSPEC, where KEYSPEC is {EXPECTED}")
    return {match[1]: match[2]}


def master_keys(text: str, what: str) -> dict[str, str]:
    """Parse `NAME=KEYSPEC`, or a list as in `listed_keys`."""
    return named_keys(text, what) if _NAMED.fullmatch(text) else listed_keys(text, what)


def listed_keys(text: str, what: str) -> dict[str, str]:
    """Parse `ID:BASE64, ID:BASE64` into KEYSPECs by id.

    Refuses anything that is not a key in base64 before an id appears in a message: the two may have
    been swapped. Source: `parquet.encryption.key.list`, parquet-java, InMemoryKMS.
    """
    keys = {}
    for item in text.split(","):
        key_id, _, encoded = map(str.strip, item.rpartition(":"))
        if not key_id or key_id in _LITERALS + _SOURCES or not _is_key(encoded):
            raise EncryptionError(
                f"{what}: expected ID=KEYSPEC or ID:BASE64,ID:BASE64, with keys of 16, 24 or 32"
                " bytes"
            )
        keys[key_id] = f"base64:{encoded}"
    return keys


def _is_key(encoded: str) -> bool:
    try:
        return len(base64.b64decode(encoded, validate=True)) in KEY_BYTES
    except ValueError:
        return False


def _typed(text: str, name: str) -> bytes:
    """The bytes that the user typed, UTF-8 or not. JSON can hold text that cannot be typed."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise EncryptionError(f"{name}: not UTF-8") from None


def _read(place: str, name: str) -> bytes:
    scheme, _, rest = place.partition(":")
    # Refuse names that no variable or file can have.
    _typed(rest, name)
    if scheme == "env":
        value = os.environb.get(os.fsencode(rest))
        if value is None:
            encodings = f"; behind a comma, expected {ENCODINGS}" if "," in rest else ""
            raise EncryptionError(f"{name}: environment variable not set{encodings}")
        return value
    if scheme == "file":
        with naming(name), open(rest, "rb") as file:
            return file.read(_MAX_BYTES)
    if not _DESCRIPTOR.fullmatch(rest):
        raise EncryptionError(f"{name}: not the number of a file descriptor")
    with naming(name), open(int(rest), "rb", closefd=False) as file:
        return file.read(_MAX_BYTES)


def _named(data: bytes, name: str) -> tuple[str, bytes]:
    """The encoding that `data` starts with, and what follows."""
    scheme, _, rest = data.strip().partition(b":")
    for literal in _LITERALS:
        if scheme == literal.encode():
            return literal, rest
    raise EncryptionError(
        f"{name}: no encoding given: expected ',hex', ',base64', ',ascii' or ',raw' behind it, or a key that"
        " starts with hex:, base64: or ascii:"
    )


def _decode(encoding: str, data: bytes, name: str) -> bytes:
    try:
        return _DECODERS[encoding](data)
    except (binascii.Error, UnicodeDecodeError):
        raise EncryptionError(
            f"{name}: not {encoding}, expected {_SPELLED[encoding]}{_hint(encoding, data)}"
        ) from None


def _hint(encoding: str, data: bytes) -> str:
    """`; as hex, it is 16 bytes`, those of a key, if that is not the encoding that was given: the two are easily
    confused, and what is one is often the other, too."""
    for other in ("hex", "base64"):
        with suppress(ValueError):
            size = len(_DECODERS[other](data))
            if size in KEY_BYTES:
                return "" if other == encoding else f"; as {other}, it is {size} bytes"
    return ""


# How what was decoded is spelled, by its encoding.
_SPELLED: Mapping[str, str] = {
    "hex": "two of 0-9 and a-f for each byte",
    "base64": "four of A-Z, a-z, 0-9, + and / for each three bytes, filled up with =",
    "ascii": "characters of ASCII",
}
_DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "hex": lambda data: binascii.unhexlify(data.strip()),
    "base64": lambda data: base64.b64decode(data.strip(), validate=True),
    "ascii": lambda data: data.strip().decode("ascii").encode(),
    "raw": lambda data: data,
}
