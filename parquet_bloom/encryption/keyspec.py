"""How a user says where a key is: an encoding is named, never guessed.

    hex:…  base64:…  ascii:…      the key itself; others see it among the running programs
    env:VAR[,ENC]                 an environment variable
    file:PATH[,ENC]               a file
    fd:N[,ENC]                    what can be read from a file descriptor that is open

ENC is `hex`, `base64`, `ascii` or `raw` (the bytes as they are). Without it, what is found there
begins with `hex:`, `base64:` or `ascii:`. A guess could be wrong without a sign: the base64 of a
16-byte key is 24 characters long, which is as good a key.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Mapping

from parquet_bloom.encryption.cipher import KEY_BYTES, Key
from parquet_bloom.errors import EncryptionError

Secret = Key | bytes | str

_LITERALS = ("hex", "base64", "ascii")
_SOURCES = ("env", "file", "fd")
EXPECTED = "hex:…, base64:…, ascii:…, env:VAR, file:PATH or fd:N"

# Far more than any key or token; what is read from a descriptor may never end.
_MAX_BYTES = 64 << 10

# No system has more of them.
_DESCRIPTOR = re.compile(r"[0-9]{1,9}")

_NAMED = re.compile(rf"(.+?)=((?:{'|'.join(_LITERALS + _SOURCES)}):.*)", re.DOTALL)


def key_of(secret: Secret, name: str) -> Key:
    """The key that a user gave: its bytes, or a text that says where it is.

    `name` is what messages call it. Raises EncryptionError, which never shows what was given.
    """
    if isinstance(secret, Key):
        return secret
    if isinstance(secret, bytes):
        return Key(secret, name)
    scheme, _, rest = secret.partition(":")
    if scheme in _LITERALS:
        return Key(_decode(scheme, _typed(rest, name), name), f"{name} ({scheme}:…)")
    place, encoding = _place(secret, name)
    source = f"{name} ({place})"
    return Key(_decoded(_read(place, source), encoding, source), source)


def text_of(spec: str, name: str) -> str:
    """A token, by the same ways; what is found elsewhere is taken as it is, without line ends."""
    scheme, _, rest = spec.partition(":")
    if scheme == "ascii":
        return rest
    if scheme not in _SOURCES:
        raise EncryptionError(f"{name}: expected ascii:…, env:VAR, file:PATH or fd:N")
    source = f"{name} ({spec})"
    try:
        return _read(spec, source).decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise EncryptionError(f"{source}: expected text in UTF-8") from None


def prefix_of(prefix: bytes | str) -> bytes:
    """An AAD prefix: bytes, `hex:…`, or else the text itself in UTF-8."""
    if isinstance(prefix, bytes):
        return prefix
    if prefix.startswith("hex:"):
        return _decode("hex", _typed(prefix[4:], "AAD prefix"), "AAD prefix")
    return _typed(prefix, "AAD prefix")


def named_keys(text: str, what: str) -> dict[str, str]:
    """`NAME=KEYSPEC`: one KEYSPEC by its name; both may have more `=` in them.

    Raises EncryptionError, which never shows what was given; so do the functions below.
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        raise EncryptionError(f"{what}: expected NAME=KEYSPEC, KEYSPEC being {EXPECTED}")
    return {match[1]: match[2]}


def master_keys(text: str, what: str) -> dict[str, str]:
    """The same, or a list as of `listed_keys`."""
    return named_keys(text, what) if _NAMED.fullmatch(text) else listed_keys(text, what)


def listed_keys(text: str, what: str) -> dict[str, str]:
    """`ID:BASE64, ID:BASE64` as KEYSPECs by id.

    What is not BASE64 of a key is refused here: the other half may be one, and ids are shown.
    Source: `parquet.encryption.key.list`, parquet-java, InMemoryKMS.
    """
    keys = {}
    for item in text.split(","):
        key_id, _, encoded = map(str.strip, item.rpartition(":"))
        if not key_id or key_id in _LITERALS + _SOURCES or not _is_key(encoded):
            raise EncryptionError(
                f"{what}: expected ID=KEYSPEC or ID:BASE64,ID:BASE64, each a key of 16, 24 or 32"
                " bytes"
            )
        keys[key_id] = f"base64:{encoded}"
    return keys


def _is_key(encoded: str) -> bool:
    try:
        return len(base64.b64decode(encoded, validate=True)) in KEY_BYTES
    except ValueError:
        return False


def _place(spec: str, name: str) -> tuple[str, str | None]:
    """Where the key is, and the encoding if one is named."""
    if spec.partition(":")[0] not in _SOURCES:
        raise EncryptionError(f"{name}: expected {EXPECTED}")
    place, comma, encoding = spec.rpartition(",")
    return (place, encoding) if comma and encoding in _DECODERS else (spec, None)


def _typed(text: str, name: str) -> bytes:
    """The bytes that were typed, in UTF-8 or not. JSON can have text that nobody can type."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise EncryptionError(f"{name}: expected text in UTF-8") from None


def _read(place: str, name: str) -> bytes:
    scheme, _, rest = place.partition(":")
    # Neither a variable nor a file can have such a name.
    _typed(rest, name)
    return _READERS[scheme](rest, name)


def _from_environment(variable: str, name: str) -> bytes:
    value = os.environb.get(os.fsencode(variable))
    if value is None:
        raise EncryptionError(f"{name}: the environment variable is not set")
    return value


def _from_file(path: str, name: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_MAX_BYTES)


def _from_descriptor(number: str, name: str) -> bytes:
    if not _DESCRIPTOR.fullmatch(number):
        raise EncryptionError(f"{name}: expected the number of a file descriptor")
    try:
        with open(int(number), "rb", closefd=False) as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None


_READERS: Mapping[str, Callable[[str, str], bytes]] = {
    "env": _from_environment,
    "file": _from_file,
    "fd": _from_descriptor,
}


def _decoded(data: bytes, encoding: str | None, name: str) -> bytes:
    """The key that `data` is in the encoding that was named, or names itself."""
    if encoding is not None:
        return _decode(encoding, data, name)
    scheme, _, rest = data.strip().partition(b":")
    for literal in _LITERALS:
        if scheme == literal.encode():
            return _decode(literal, rest, name)
    raise EncryptionError(
        f"{name}: no encoding: expected ,hex ,base64 ,ascii or ,raw after it, or hex:, base64: or"
        " ascii: before the key that is there"
    )


def _decode(encoding: str, data: bytes, name: str) -> bytes:
    try:
        return _DECODERS[encoding](data)
    except (binascii.Error, UnicodeDecodeError):
        raise EncryptionError(f"{name}: not {encoding}") from None


_DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "hex": lambda data: binascii.unhexlify(data.strip()),
    "base64": lambda data: base64.b64decode(data.strip(), validate=True),
    "ascii": lambda data: data.strip().decode("ascii").encode(),
    "raw": lambda data: data,
}
