"""What can have been hashed instead of a text: the text with something around it, spelled otherwise, or
a part of it.

There are hundreds of these, so they are tried last, and each on its own.
"""

from __future__ import annotations

import json
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote

from parquet_bloom.diagnosis.key_forms import ByteOrder, KeyForm, key_form
from parquet_bloom.values.types import LeafType

# What separates the parts of addresses, paths, keys, names and numbers.
SEPARATORS = "@/:.-_ ,;|#?=\\\t"

# The other lengths of `truncated` are those that statistics are cut to, see key_forms.
LENGTHS = (*range(1, 65), 100, 128, 255, 256)


def rare_key_forms(leaf: LeafType, column: str) -> Iterator[KeyForm]:
    """Those of a column of texts or bytes, whose name is a path of fields; of other types, none."""
    if leaf.physical == "BYTE_ARRAY":
        yield from _QUOTED
        yield from _prefixed(column)
        yield from _OTHER_SPELLINGS
        yield from _parts()


def _of_text(name: str, clause: str, change: Callable[[str], str]) -> KeyForm:
    """Bytes that are no UTF-8 have no such form."""
    return key_form(name, clause, lambda plain: change(plain.decode()).encode())


# ------------------------------------------------------------------------------------------------
# With something around it


_QUOTED = (
    _of_text(
        "quoted", "as a JSON string, in double quotes, with other than ASCII as \\u", json.dumps
    ),
    _of_text(
        "quoted", "as a JSON string, in double quotes", partial(json.dumps, ensure_ascii=False)
    ),
    _of_text("quoted", "in double quotes", '"{}"'.format),
    _of_text("quoted", "in single quotes", "'{}'".format),
)


# But for that of PLAIN pages, see key_forms.
_LENGTH_FIELDS: tuple[tuple[int, ByteOrder], ...] = (
    (8, "little"),
    (8, "big"),
    (4, "big"),
    (2, "little"),
    (2, "big"),
)


def _prefixed(column: str) -> Iterator[KeyForm]:
    for width, order in _LENGTH_FIELDS:
        clause = f"with its length in front, {width} {order}-endian bytes"
        yield key_form("length-prefix", clause, partial(_with_length, width, order))
    yield key_form("length-prefix", "with its length in front, a varint", _with_varint)
    for name in dict.fromkeys((column, column.rsplit(".", 1)[-1])):
        for separator in ("", "=", ":", ".", "/", "_", "-", "|"):
            prefix = f"{name}{separator}"
            yield key_form("prefix", f"with `{prefix}` in front", partial(_joined, prefix.encode()))
    for number in range(256):
        byte = bytes((number,))
        yield key_form("prefix", f"with the byte 0x{number:02x} in front", partial(_joined, byte))


def _joined(prefix: bytes, plain: bytes) -> bytes:
    return prefix + plain


def _with_length(width: int, order: ByteOrder, plain: bytes) -> bytes:
    return len(plain).to_bytes(width, order) + plain


def _with_varint(plain: bytes) -> bytes:
    """The length in groups of seven bits, the lowest first, as in Thrift and protocol buffers."""
    rest, groups = len(plain), []
    while rest >= 0x80:
        groups.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*groups, rest)) + plain


# ------------------------------------------------------------------------------------------------
# Spelled otherwise


_OTHER_SPELLINGS = (
    _of_text("without-spaces-around", "without the spaces around it", str.strip),
    _of_text("without-spaces-around", "without leading spaces", str.lstrip),
    _of_text("case-folded", "with its case folded, as in `str.casefold`", str.casefold),
    _of_text("capitalized", "with its first letter in upper case", str.capitalize),
    _of_text("capitalized", "with the first letter of each word in upper case", str.title),
    _of_text(
        "lower-case",
        "in lower case, without the spaces around it",
        lambda text: text.strip().lower(),
    ),
    *(
        _of_text("normalized", f"in the Unicode form {form}", partial(unicodedata.normalize, form))
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    ),
    key_form("latin-1", "as Latin-1", lambda plain: plain.decode().encode("latin-1")),
    key_form("twice-utf-8", "as UTF-8 of UTF-8", lambda plain: plain.decode("latin-1").encode()),
    key_form("base64", "as Base64", b64encode),
    _of_text("percent-encoded", "percent-encoded, as in a URL", partial(quote, safe="")),
    _of_text("line", "followed by a line feed", "{}\n".format),
    _of_text(
        "without-leading-zeros", "without leading zeros", lambda text: text.lstrip("0") or "0"
    ),
)


# ------------------------------------------------------------------------------------------------
# A part of it


def _parts() -> Iterator[KeyForm]:
    for separator in SEPARATORS:
        for which, cut, part in _CUTS:
            clause = f"only by what is {which} {separator!r}"
            yield key_form("part", clause, partial(_cut, cut, separator.encode(), part))
    for length in LENGTHS:
        of = "byte" if length == 1 else f"{length} bytes"
        for name, clause, kept in (
            ("truncated", f"only by its first {of}", slice(length)),
            ("part", f"only by its last {of}", slice(-length, None)),
            ("part", f"without its first {of}", slice(length, None)),
            ("part", f"without its last {of}", slice(-length)),
        ):
            yield key_form(name, clause, partial(_sliced, kept))


_CUTS = (
    ("before its first", bytes.partition, 0),
    ("after its first", bytes.partition, 2),
    ("before its last", bytes.rpartition, 0),
    ("after its last", bytes.rpartition, 2),
)

Cut = Callable[[bytes, bytes], tuple[bytes, bytes, bytes]]


def _cut(cut: Cut, separator: bytes, part: int, plain: bytes) -> bytes:
    parts = cut(plain, separator)
    if not parts[1]:
        raise ValueError(f"without {separator!r}")
    return parts[part]


def _sliced(kept: slice, plain: bytes) -> bytes:
    return plain[kept]
