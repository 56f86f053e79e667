"""Literals from the command line, parsed as the column's type.

`123`, `-0.0`, `12.34`, `2024-01-31`, `10:00:00.5`, `2024-01-31T10:00:00Z`, UUIDs, `0x…` bytes,
text, `"quoted text"`. A literal that the column cannot hold is an error, never `absent`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, time
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any
from uuid import UUID

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.values.encode import (
    NANOS_PER_DAY,
    UNIX_EPOCH_ORDINAL,
    Encodings,
    clock_nanos,
    encode,
    not_a_value,
)
from parquet_bloom.values.temporal import TimeNanos, TimestampNanos
from parquet_bloom.values.types import LeafType, LogicalType

# The values of `--type`, which overrides the column's type.
TYPES = ("bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid")

_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](.+))?")


def encode_literal(leaf: LeafType, text: str, read_as: str | None = None) -> Encodings:
    """The stored bytes of a literal; `read_as` is one of TYPES.

    Raises ValueTypeError for a malformed literal and for a value that the column cannot hold.
    """
    if leaf.physical == "BOOLEAN" and read_as is None:
        return _boolean(leaf, text)
    if read_as is None:
        return encode(leaf, _reader(leaf)(leaf, text))
    return _encode_as(leaf, text, read_as)


def _boolean(leaf: LeafType, text: str) -> Encodings:
    if text not in ("true", "false"):
        raise not_a_value(leaf, text, "true or false")
    return encode(leaf, text == "true")


def _encode_as(leaf: LeafType, text: str, read_as: str) -> Encodings:
    match read_as:
        case "bytes":
            return _stored(leaf, _hex(leaf, text))
        case "int":
            return encode(replace(leaf, logical=_as_integer(leaf.logical)), _integer(leaf, text))
        case "string":
            return encode(replace(leaf, logical=None), text)
    readers: dict[str, Callable[[LeafType, str], Any]] = {
        "date": _date,
        "decimal": _decimal,
        "float": _float,
        "time": _time,
        "timestamp": _timestamp,
        "uuid": _uuid,
    }
    return encode(leaf, readers[read_as](leaf, text))


def _as_integer(logical: LogicalType | None) -> LogicalType | None:
    """The logical type under which an integer is the stored number."""
    if logical and logical.name == "DECIMAL":
        return replace(logical, scale=0)
    return None if logical and logical.name in ("DATE", "TIME", "TIMESTAMP") else logical


def _stored(leaf: LeafType, stored: bytes) -> Encodings:
    if leaf.width is not None and len(stored) != leaf.width:
        raise not_a_value(leaf, f"0x{stored.hex()}", f"{leaf.width} bytes, found {len(stored)}")
    return Encodings((stored,))


def _reader(leaf: LeafType) -> Callable[[LeafType, str], Any]:
    by_logical: dict[str, Callable[[LeafType, str], Any]] = {
        "DATE": _date,
        "DECIMAL": _decimal,
        "FLOAT16": _float,
        "TIME": _time,
        "TIMESTAMP": _timestamp,
        "UUID": _uuid,
    }
    by_physical: dict[str, Callable[[LeafType, str], Any]] = {
        "INT32": _integer,
        "INT64": _integer,
        "INT96": _timestamp,
        "FLOAT": _float,
        "DOUBLE": _float,
    }
    if leaf.logical_name in by_logical:
        return by_logical[leaf.logical_name]
    if leaf.logical_name in ("STRING", "ENUM"):
        return _text
    if leaf.logical_name == "JSON":
        return _verbatim
    return by_physical.get(leaf.physical, _text_or_hex)


def _plain(text: str) -> str:
    """`text`, unless it has underscores or spaces, which only Python accepts in numbers."""
    if "_" in text or text != text.strip():
        raise ValueError(text)
    return text


def _integer(leaf: LeafType, text: str) -> int:
    # Bounded, because parsing takes time quadratic in the number of digits.
    if not re.fullmatch(r"[+-]?[0-9]{1,200}", text):
        raise not_a_value(leaf, text, "an integer")
    return int(text)


def _float(leaf: LeafType, text: str) -> float:
    try:
        number = float(_plain(text))
    except ValueError:
        raise not_a_value(leaf, text, "a number") from None
    if isinf(number) and "inf" not in text.lower():
        raise not_a_value(leaf, text, "a number that fits 64 bits")
    return number


def _decimal(leaf: LeafType, text: str) -> Decimal:
    try:
        return Decimal(_plain(text))
    except (InvalidOperation, ValueError):
        raise not_a_value(leaf, text, "a decimal such as 12.34") from None


def _date(leaf: LeafType, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise not_a_value(leaf, text, "a date such as 2024-01-31") from None


def _uuid(leaf: LeafType, text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise not_a_value(leaf, text, "a UUID") from None


def _time(leaf: LeafType, text: str) -> TimeNanos:
    nanos, zone = _time_of_day(leaf, text, text, "a time such as 10:00:00.123")
    if zone not in ("", "Z") or (zone and leaf.logical and not leaf.logical.utc):
        raise not_a_value(leaf, text, "a time without a zone")
    return TimeNanos(nanos, text)


def _timestamp(leaf: LeafType, text: str) -> TimestampNanos:
    expected = "a timestamp such as 2024-01-31T10:00:00Z"
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise not_a_value(leaf, text, expected)
    try:
        days = date.fromisoformat(match[1]).toordinal() - UNIX_EPOCH_ORDINAL
    except ValueError:
        raise not_a_value(leaf, text, expected) from None
    nanos, zone = _time_of_day(leaf, text, match[2], expected) if match[2] else (0, "")
    offset = _zone_nanos(leaf, text, zone)
    return TimestampNanos(days * NANOS_PER_DAY + nanos - offset, text, zoned=bool(zone))


def _time_of_day(leaf: LeafType, text: str, clock: str, expected: str) -> tuple[int, str]:
    """The nanoseconds and zone of `clock`, the time part of a literal."""
    match = _TIME.fullmatch(clock)
    if not match:
        raise not_a_value(leaf, text, expected)
    hour, minute, second, fraction, zone = match.groups(default="")
    try:
        whole = clock_nanos(time(int(hour), int(minute), int(second or 0)))
    except ValueError:
        raise not_a_value(leaf, text, expected) from None
    return whole + int(fraction.ljust(9, "0") or 0), zone


def _zone_nanos(leaf: LeafType, text: str, zone: str) -> int:
    if zone in ("", "Z"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        raise not_a_value(leaf, text, "a zone of less than a day, such as +02:00")
    offset = (hours * 60 + minutes) * 60_000_000_000
    return -offset if zone[0] == "-" else offset


def _text(leaf: LeafType, text: str) -> str:
    """Strip quotes around the whole literal, which make an empty text possible."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _verbatim(leaf: LeafType, text: str) -> str:
    """In JSON, quotes belong to the value."""
    return text


def _text_or_hex(leaf: LeafType, text: str) -> str | bytes:
    return _hex(leaf, text) if text[:2].lower() == "0x" else _text(leaf, text)


def _hex(leaf: LeafType, text: str) -> bytes:
    match = re.fullmatch(r"(?:0[xX])?((?:[0-9a-fA-F]{2})*)", text)
    if not match:
        raise ValueTypeError(f"{text}: not bytes: expected 0x and pairs of hex digits")
    return bytes.fromhex(match[1])
