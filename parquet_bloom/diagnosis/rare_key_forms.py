"""What can have been hashed instead of a text: the text with something around it, spelled otherwise, or
a part of it. And instead of a date, a time or a timestamp: a text in which it is written, or a moment of another
time zone.

There are hundreds of these, so they are tried last, and each on its own.
"""

from __future__ import annotations

import json
import struct
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from urllib.parse import quote
from uuid import UUID

import numpy as np

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.key_forms import (
    BYTE_ARRAYS,
    SECONDS_PER_DAY,
    ByteOrder,
    KeyForm,
    carried_int96,
    key_form,
    nanos_of_int96,
)
from parquet_bloom.values.types import LeafType

# What separates the parts of addresses, paths, keys, names and numbers.
SEPARATORS = "@/:.-_ ,;|#?=\\\t"

# The other lengths of `truncated` are those that statistics are cut to, see key_forms.
LENGTHS = (*range(1, 65), 100, 128, 255, 256)


def rare_key_forms(leaf: LeafType, column: str) -> Iterator[KeyForm]:
    """Those of a column of texts or bytes, whose name is a path of fields, or of moments; of other types, none."""
    if leaf.physical in BYTE_ARRAYS:
        yield from _QUOTED
        yield from _prefixed(column)
        yield from _OTHER_SPELLINGS
        yield from _padded()
        yield from _parts()
    elif leaf.logical_name == "DATE":
        yield from _date_texts()
    elif leaf.logical_name == "TIME":
        yield from _time_texts(leaf)
    elif leaf.logical_name == "TIMESTAMP" or leaf.physical == "INT96":
        yield from _moment_texts(leaf)
        yield from _other_zones(leaf)


def _of_text(name: str, clause: str, change: Callable[[str], str]) -> KeyForm:
    """Bytes that are no UTF-8 have no such form."""
    return key_form(name, clause, lambda plain: change(plain.decode()).encode())


# ------------------------------------------------------------------------------------------------
# With something around it


_QUOTED = (
    _of_text("quoted", "in double quotes", '"{}"'.format),
    _of_text("quoted", "in single quotes", "'{}'".format),
    _of_text(
        "quoted", "as a JSON string, in double quotes", partial(json.dumps, ensure_ascii=False)
    ),
    _of_text(
        "quoted", "as a JSON string, in double quotes, with other than ASCII as \\u", json.dumps
    ),
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


def _after_mark(encoding: str, plain: bytes) -> bytes:
    return f"\ufeff{plain.decode()}".encode(encoding)


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
    *(
        key_form(
            "utf-16",
            f"as {encoding} after a byte order mark",
            partial(_after_mark, encoding),
        )
        for encoding in ("UTF-16LE", "UTF-16BE")
    ),
    key_form("latin-1", "as Latin-1", lambda plain: plain.decode().encode("latin-1")),
    key_form("twice-utf-8", "as UTF-8 of UTF-8", lambda plain: plain.decode("latin-1").encode()),
    key_form("base64", "as Base64", b64encode),
    _of_text("percent-encoded", "percent-encoded, as in a URL", partial(quote, safe="")),
    _of_text("line", "followed by a line feed", "{}\n".format),
    _of_text("line", "followed by a carriage return and a line feed", "{}\r\n".format),
    # Of bytes, these know no other letters.
    key_form("lower-case", "in lower case, the letters of ASCII only", bytes.lower),
    key_form("upper-case", "in upper case, the letters of ASCII only", bytes.upper),
    _of_text("trailing-space", "followed by a space", "{} ".format),
    _of_text("without-hyphens", "without its hyphens", lambda text: text.replace("-", "")),
    _of_text("uuid-text", "as a UUID with hyphens", lambda text: str(UUID(text))),
    key_form(
        "uuid-text",
        "as text with hyphens, of the UUID that its 16 bytes are",
        lambda plain: str(UUID(bytes=plain)).encode(),
    ),
    _of_text(
        "without-leading-zeros", "without leading zeros", lambda text: text.lstrip("0") or "0"
    ),
)


def _padded() -> Iterator[KeyForm]:
    """As a CHAR, or a number of so many digits; a text that is as long, or longer, is the same."""
    for length in LENGTHS[1:]:
        clause = f"padded to {length} characters with"
        yield _of_text("padded", f"{clause} spaces at its end", partial(_with_spaces, length))
        yield _of_text("padded", f"{clause} zeros in front", partial(_with_zeros, length))


def _with_spaces(length: int, text: str) -> str:
    return text.ljust(length)


def _with_zeros(length: int, text: str) -> str:
    return text.rjust(length, "0")


# ------------------------------------------------------------------------------------------------
# A part of it


def _parts() -> Iterator[KeyForm]:
    for separator in SEPARATORS:
        for which, cut, part in _CUTS:
            clause = f"only by what is {which} {separator!r}"
            yield key_form("part", clause, partial(_cut, cut, separator.encode(), part))
    # Of values that are all as long, what is without its last bytes is so many first ones.
    for name, which, kept in _SLICES:
        for length in LENGTHS:
            of = "byte" if length == 1 else f"{length} bytes"
            yield key_form(name, f"{which} {of}", partial(_sliced, kept(length)))


_SLICES: tuple[tuple[str, str, Callable[[int], slice]], ...] = (
    ("truncated", "only by its first", slice),
    ("part", "only by its last", lambda length: slice(-length, None)),
    ("part", "without its first", lambda length: slice(length, None)),
    ("part", "without its last", lambda length: slice(-length)),
)


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


# ------------------------------------------------------------------------------------------------
# Dates, times and timestamps

# As Germans, Americans, Britons and Japanese write them, and without anything in between.
_DATES = ("{2}.{1}.{0}", "{1}/{2}/{0}", "{2}/{1}/{0}", "{0}/{1}/{2}", "{0}{1}{2}")

# Of the time zones; those of quarters of an hour are few.
_HALF_HOURS = sorted({*range(-24, 29)} - {0}, key=abs)

# Digits after the point of a second, as a timestamp's unit has them.
_DIGITS = {"MILLIS": 3, "MICROS": 6, "NANOS": 9}

# How the digits are written, for example those of 120 ms: Arrow and numpy; Spark; java.time; Python; java.sql.
_FRACTIONS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("with all digits of its unit", ".{}".format),
    ("without zeros at its end", lambda digits: f".{digits.rstrip('0')}".rstrip(".")),
    ("with 0, 3, 6 or 9 digits of a second", lambda digits: _in_threes(digits.rstrip("0"))),
    (
        "with 0 or 6 digits of a second",
        lambda digits: f".{digits:0<6.6}" if digits.strip("0") else "",
    ),
    (
        "without zeros at its end but one",
        lambda digits: f".{digits[0]}{digits[1:].rstrip('0')}",
    ),
)


def _in_threes(digits: str) -> str:
    width = -(-len(digits) // 3) * 3
    return f".{digits:0<{width}}" if digits else ""


def _date_texts() -> Iterator[KeyForm]:
    for name, pattern in (("iso-text", "{0}-{1}-{2}"), *(("date-text", each) for each in _DATES)):
        example = pattern.format("2024", "01", "31")
        yield key_form(name, f"as text such as {example}", partial(_date_text, pattern))


def _date_text(pattern: str, plain: bytes) -> bytes:
    (days,) = struct.unpack("<i", plain)
    return pattern.format(*str(np.datetime64(days, "D")).rsplit("-", 2)).encode()


def _time_texts(leaf: LeafType) -> Iterator[KeyForm]:
    num_digits = _num_digits(leaf)
    for how, fraction in _FRACTIONS:
        example = f"23:59:59{fraction(f'{120:0<{num_digits}}')}"
        yield key_form(
            "iso-text",
            f"as text such as {example}, {how}",
            partial(_time_text, num_digits, fraction),
        )


def _time_text(num_digits: int, fraction: Callable[[str], str], plain: bytes) -> bytes:
    seconds, rest = divmod(int.from_bytes(plain, "little", signed=True), 10**num_digits)
    if not 0 <= seconds < SECONDS_PER_DAY:
        raise ValueError(f"{seconds} seconds, which are not of a day")
    minutes, second = divmod(seconds, 60)
    time = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{time}{fraction(f'{rest:0{num_digits}}')}".encode()


def _num_digits(leaf: LeafType) -> int:
    """Of a TIME, a TIMESTAMP or an INT96."""
    return _DIGITS.get(leaf.logical.unit if leaf.logical else "", 9)


def _moment_texts(leaf: LeafType) -> Iterator[KeyForm]:
    """TIMESTAMP and INT96."""
    num_digits = _num_digits(leaf)
    for separator, zone, (how, fraction) in product("T ", ("", "Z", "+00:00"), _FRACTIONS):
        example = f"2024-01-31{separator}23:59:59{fraction(f'{120:0<{num_digits}}')}{zone}"
        yield key_form(
            "iso-text",
            f"as text such as {example}, {how}",
            partial(_moment_text, num_digits, separator, fraction, zone),
        )


def _moment_text(
    num_digits: int, separator: str, fraction: Callable[[str], str], zone: str, plain: bytes
) -> bytes:
    nanos_or_less = nanos_of_int96(plain) if len(plain) == 12 else struct.unpack("<q", plain)[0]
    seconds, rest = divmod(nanos_or_less, 10**num_digits)
    moment = str(np.datetime64(seconds, "s")).replace("T", separator)
    return f"{moment}{fraction(f'{rest:0{num_digits}}')}{zone}".encode()


def _other_zones(leaf: LeafType) -> Iterator[KeyForm]:
    """TIMESTAMP and INT96, local time instead of UTC or the other way round;
    what changes its clocks twice a year has two of these."""
    for half_hours in _HALF_HOURS:
        hours, is_half = divmod(abs(half_hours), 2)
        apart = f"{hours}:30 hours" if is_half else number_of(hours, "hour")
        clause = f"{apart} {'later' if half_hours > 0 else 'earlier'}, as in another time zone"
        step = half_hours * 1800 * 10 ** _num_digits(leaf)
        yield key_form("other-zone", clause, partial(_moved, step))


def _moved(step: int, plain: bytes) -> bytes:
    if len(plain) == 12:
        nanos, day = struct.unpack("<qi", plain)
        return carried_int96(struct.pack("<qi", nanos + step, day))
    return (int.from_bytes(plain, "little", signed=True) + step).to_bytes(8, "little", signed=True)
