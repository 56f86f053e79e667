"""What can have been hashed instead of a value's stored bytes.

What real writers and readers did: docs/diagnosis.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from parquet_bloom.diagnosis.key_form import KeyForm, key_form
from parquet_bloom.diagnosis.number_key_forms import (
    INT96_KEY_FORMS,
    decimal_key_forms,
    float_key_forms,
    integer_key_forms,
)
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.values.types import LeafType

INTEGERS = ("INT32", "INT64")


def key_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """The key forms of this type's values, the simplest first."""
    is_number = leaf.logical_name == "DECIMAL" or leaf.physical in INTEGERS or leaf.is_float
    if leaf.logical_name == "DECIMAL":
        yield from decimal_key_forms(leaf)
    elif leaf.physical in INTEGERS:
        yield from integer_key_forms(leaf)
    elif leaf.is_float:
        yield from float_key_forms(leaf.width or 0)
    elif leaf.physical == "INT96":
        yield from INT96_KEY_FORMS
    elif leaf.physical == "BYTE_ARRAY":
        yield from _OF_BYTE_ARRAYS
    elif leaf.width == 16:
        yield from _OF_UUIDS
    if leaf.physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        yield _LENGTH_PREFIX
        yield _HEX
    if not is_number:
        yield _REVERSED
    yield from map(_dictionary_index, (4, 8))


def _dictionary_index(width: int) -> KeyForm:
    def convert(value: StoredValue) -> bytes | None:
        if value.index is None or value.index >> (8 * width - 1):
            return None
        return value.index.to_bytes(width, "little")

    clause = f"replaced by its index in the dictionary, an integer of {width} bytes"
    return KeyForm("dictionary-index", clause, convert)


_LENGTH_PREFIX = key_form(
    "length-prefix",
    "hashed with its 4-byte length in front",
    lambda plain: len(plain).to_bytes(4, "little") + plain,
)
_HEX = key_form("hex", "hashed as hexadecimal digits", lambda plain: plain.hex().encode())
_REVERSED = key_form(
    "reversed-bytes", "hashed with its bytes in reverse order", lambda plain: plain[::-1]
)

_OF_UUIDS = (
    key_form(
        "uuid-text",
        "hashed as text with hyphens",
        lambda plain: str(UUID(bytes=plain)).encode(),
    ),
    key_form(
        "uuid-text-upper-case",
        "hashed as text with hyphens in upper case",
        lambda plain: str(UUID(bytes=plain)).upper().encode(),
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


def _truncated(size: int) -> KeyForm:
    return key_form(
        "truncated", f"hashed by its first {size} bytes only", lambda plain: plain[:size]
    )


def _recoded(encoding: str) -> KeyForm:
    return key_form(
        "utf-16", f"hashed as {encoding}", lambda plain: plain.decode().encode(encoding)
    )


_OF_BYTE_ARRAYS = (
    key_form("zero-terminated", "hashed with a zero byte appended", lambda plain: plain + b"\0"),
    key_form("lower-case", "hashed in lower case", lambda plain: plain.decode().lower().encode()),
    key_form("upper-case", "hashed in upper case", lambda plain: plain.decode().upper().encode()),
    key_form(
        "without-trailing-spaces",
        "hashed without the spaces at its end",
        lambda plain: plain.rstrip(b" "),
    ),
    *map(_truncated, (8, 16, 32, 64)),
    *map(_recoded, ("UTF-16LE", "UTF-16BE")),
    key_form(
        "uuid-bytes",
        "hashed as the 16 bytes of the UUID that the text spells",
        lambda plain: UUID(plain.decode()).bytes,
    ),
)
