"""Other bytes of bytes: prefixes, orders, spellings of UUIDs and text, dictionary indices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from parquet_bloom.diagnosis.key_form import Convert, KeyForm, key_form
from parquet_bloom.diagnosis.samples import StoredValue

LENGTH_PREFIX = key_form(
    "length-prefix",
    "hashed with its 4-byte length in front",
    lambda plain: len(plain).to_bytes(4, "little") + plain,
)
REVERSED = key_form(
    "reversed-bytes", "hashed with its bytes in reverse order", lambda plain: plain[::-1]
)
HEX = key_form("hex", "hashed as hexadecimal digits", lambda plain: plain.hex().encode())


def _index(width: int) -> KeyForm:
    def convert(value: StoredValue) -> bytes | None:
        if value.index is None or value.index >> (8 * width - 1):
            return None
        return value.index.to_bytes(width, "little")

    clause = f"replaced by its index in the dictionary, an integer of {width} bytes"
    return KeyForm("dictionary-index", clause, convert)


INDEX_FORMS = (_index(4), _index(8))


UUID_FORMS = (
    key_form("uuid-text", "hashed as text with hyphens", lambda plain: _uuid_text(plain).encode()),
    key_form(
        "uuid-text-upper-case",
        "hashed as text with hyphens in upper case",
        lambda plain: _uuid_text(plain).upper().encode(),
    ),
    key_form(
        "uuid-hex-upper-case",
        "hashed as hexadecimal digits in upper case, without hyphens",
        lambda plain: plain.hex().upper().encode(),
    ),
    key_form(
        "uuid-guid",
        "hashed in the byte order of a Microsoft GUID, whose first three fields are little-endian",
        lambda plain: UUID(bytes=plain).bytes_le,
    ),
    key_form(
        "uuid-halves-reversed",
        "hashed as two little-endian integers of 8 bytes",
        lambda plain: plain[7::-1] + plain[:7:-1],
    ),
    key_form(
        "uuid-halves-swapped",
        "hashed with the last 8 bytes in front of the first 8",
        lambda plain: plain[8:] + plain[:8],
    ),
)


def _first(size: int, plain: bytes) -> bytes:
    return plain[:size]


def _uuid_text(plain: bytes) -> str:
    return str(UUID(bytes=plain))


def _text(plain: bytes) -> str | None:
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return None


def _retold(retell: Callable[[str], bytes]) -> Convert:
    def convert(plain: bytes) -> bytes | None:
        text = _text(plain)
        return None if text is None else retell(text)

    return convert


def _uuid_bytes(plain: bytes) -> bytes | None:
    text = _text(plain)
    try:
        return UUID(text).bytes if text else None
    except ValueError:
        return None


BYTE_ARRAY_FORMS = (
    key_form("zero-terminated", "hashed with a zero byte behind it", lambda plain: plain + b"\0"),
    key_form("lower-case", "hashed in lower case", _retold(lambda text: text.lower().encode())),
    key_form("upper-case", "hashed in upper case", _retold(lambda text: text.upper().encode())),
    key_form(
        "without-trailing-spaces",
        "hashed without the spaces at its end",
        lambda plain: plain.rstrip(b" "),
    ),
    *(
        key_form(
            "truncated",
            f"hashed by its first {size} bytes only",
            partial(_first, size),
        )
        for size in (8, 16, 32, 64)
    ),
    key_form("utf-16", "hashed as UTF-16LE", _retold(lambda text: text.encode("utf-16-le"))),
    key_form("utf-16", "hashed as UTF-16BE", _retold(lambda text: text.encode("utf-16-be"))),
    key_form("uuid-bytes", "hashed as the 16 bytes of the UUID that the text spells", _uuid_bytes),
)
