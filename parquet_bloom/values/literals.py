"""Literals: parsed as the column's type, and stored values shown as such.

`123`, `-0.0`, `12.34`, `2024-01-31`, `10:00:00.5`, `2024-01-31T10:00:00Z`, UUIDs, text,
`"quoted text"`, which is that text with and without its quotes. Stored bytes are `0x…`, and in columns of
text, where that is text, `\\x…`. A literal that the column cannot hold is an error, never `absent`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import partial
from math import isinf, isnan
from typing import Literal
from uuid import UUID

from parquet_bloom.errors import AS_COLUMN, LIST, LITERAL, TEXT, ValueTypeError
from parquet_bloom.values.encode import (
    INTEGERS,
    NANOS,
    UNIX_EPOCH_ORDINAL,
    Encodings,
    check_not_rounded,
    clock_nanos,
    encode,
    encode_stored,
)
from parquet_bloom.values.given import plain_value
from parquet_bloom.values.promotion import narrowed
from parquet_bloom.values.types import (
    FLOAT_FORMAT,
    NANOS_PER_DAY,
    UNIX_EPOCH_JULIAN_DAY,
    LeafType,
    LiteralInFile,
    LogicalType,
    TextInFile,
    TimeNanos,
    TimestampNanos,
    literal,
    not_a_value,
    shown,
)
from parquet_bloom.vocabulary import BEYOND_BITS, OF_NULLS

# Examples are at most this long, unless all of them are longer.
LONGEST_EXAMPLE = 60
LONGEST_ALONE = 4096

# The values of `--type`, which overrides the column's type.
TYPES = ("bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid")

# Columns of text, in which even 0x… is text.
_TEXTS = ("ENUM", "JSON", "STRING")
# What text is a value of, in arrays of bytes.
_HOLD_TEXT = ("", "BSON", "UUID", *_TEXTS)

_NUMBERS = (*INTEGERS, "FLOAT", "DOUBLE")

_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](.+))?")


def encode_given(leaf: LeafType, value: object) -> Encodings:
    """The stored bytes of a value, or of a literal. Raises ValueTypeError for what cannot be a value
    of the column."""
    if leaf.wide is not None:
        return narrowed(leaf, leaf.wide, encode_given(leaf.wide, value))
    if leaf.logical_name == "UNKNOWN":
        return _of_nulls(leaf, value)
    if isinstance(value, literal):
        try:
            return _encode_verbatim(leaf, value) or encode_literal(leaf, value.text, value.read_as)
        except ValueTypeError as error:
            hint = _hint_at_hex(leaf, value) or _hint_at_type(leaf, value)
            told = ValueTypeError(f"{error}{hint}")
            raise _blaming(value, told, partial(_encode_like, leaf, value)) from None
    try:
        return encode(leaf, value)
    except ValueTypeError as error:
        text = shown(value)
        # Without quotes, it would seem as if 42 were no integer.
        is_quoted = isinstance(value, str) and value and not _holds_text(leaf)
        problem = f"{text!r}{str(error).removeprefix(text)}" if is_quoted else str(error)
        place = f"{value.place}: " if isinstance(value, TextInFile) else ""
        raise ValueTypeError(f"{place}{problem}{_way_out(leaf, value)}") from None


def _of_nulls(leaf: LeafType, value: object) -> Encodings:
    """In a column that writers knew no type of, as they had nothing but nulls for it."""
    try:
        found = encode_given(replace(leaf, logical=None), value)
    except ValueTypeError:
        return Encodings((), OF_NULLS)
    return Encodings((), OF_NULLS) if found.unknown == BEYOND_BITS else found


def _hint_at_hex(leaf: LeafType, given: literal) -> str:
    """For digits of as many bytes as the column holds, which were read as text."""
    is_text = given.read_as is None and leaf.logical is None and leaf.length
    if not is_text or not re.fullmatch(rf"[0-9a-fA-F]{{{2 * leaf.length}}}", given.text):
        return ""
    return "; if these are the bytes in hexadecimal, begin with 0x"


def _hint_at_type(leaf: LeafType, given: literal) -> str:
    """For one that is a value of the column, but not of the type that it is to be read as."""
    if given.read_as is None or not _is_read(given.text, partial(encode_literal, leaf)):
        return ""
    return f"; {AS_COLUMN}"


def _encode_verbatim(leaf: LeafType, given: literal) -> Encodings | None:
    """Of a text in quotes that are part of it, as in CSV; None for all that may be read as a literal."""
    is_verbatim = isinstance(given, LiteralInFile) and given.is_verbatim and given.read_as is None
    return encode(leaf, given.text) if is_verbatim and _is_quoted(leaf, given.text) else None


def check_literal(given: literal) -> None:
    """Raise ValueTypeError for one that is not of the type that it is to be read as, whatever the column is."""
    try:
        _check_text(given, given.text)
    except ValueTypeError as error:
        raise _blaming(given, error, partial(_check_text, given)) from None


def _check_text(given: literal, text: str) -> None:
    if given.read_as == "bytes":
        _hex(text)
    elif given.read_as not in (None, "string"):
        _read_as(given.read_as, LeafType("BYTE_ARRAY"), text)


def _encode_like(leaf: LeafType, given: literal, text: str) -> None:
    encode_literal(leaf, text, given.read_as)


def _blaming(given: literal, error: ValueTypeError, read: Callable[[str], None]) -> ValueTypeError:
    """The error with the place of a literal that is in a file, or with what may be meant by others. `read`: raises
    ValueTypeError for another text in its place."""
    around = _around(given.text, read)
    if around:
        error = ValueTypeError(f"{error}; leave out the {around} around it")
    if isinstance(given, LiteralInFile):
        # The header of CSV is no value.
        hint = "; if this is a header, call the file .csv" * (given.line == 1 and not around)
        return ValueTypeError(f"{given.place}: {error}{hint}")
    hint = f"; if these are several values, {LIST}" * _are_several(given.text, read)
    return ValueTypeError(f"{error}{hint}")


def _around(text: str, read: Callable[[str], None]) -> str:
    """What there is around a value that can be read without it; empty if nothing is."""
    without = {"blanks": text.strip(), "quotes": without_quotes(text)}
    return next(
        (what for what, each in without.items() if each != text and _is_read(each, read)), ""
    )


def _are_several(text: str, read: Callable[[str], None]) -> bool:
    parts = text.split(",")
    return len(parts) > 1 and all(_is_read(part.strip(), read) for part in parts)


def _is_read(text: str, read: Callable[[str], object]) -> bool:
    try:
        read(text)
    except ValueTypeError:
        return False
    return True


def _holds_text(leaf: LeafType) -> bool:
    return leaf.physical.endswith("BYTE_ARRAY") and leaf.logical_name in _HOLD_TEXT


def _way_out(leaf: LeafType, value: object) -> str:
    """What makes a value of the column of one that is none, if anything surely does."""
    if isinstance(value, str):
        return "" if _holds_text(leaf) else f", or {LITERAL}"
    plain = plain_value(value)
    if isinstance(plain, int) and not isinstance(plain, bool) and leaf.logical_name in _TEXTS:
        return f", or {TEXT}"
    is_of_numpy = type(value).__module__ == "numpy"
    is_moment = isinstance(value, datetime) or (is_of_numpy and isinstance(plain, TimestampNanos))
    if leaf.logical_name == "DATE" and is_moment:
        return "; .date() makes a date of it, .dt.date of those of a pandas Series"
    if leaf.physical in INTEGERS and isinstance(plain, float) and isnan(plain):
        return "; .dropna() leaves out the gaps of a pandas Series"
    return ""


def encode_literal(leaf: LeafType, text: str, read_as: str | None = None) -> Encodings:
    """The stored bytes of a literal; `read_as` is one of TYPES. Raises ValueTypeError for a malformed
    literal and for a value that the column cannot hold."""
    match read_as:
        case None if leaf.physical == "BOOLEAN":
            return encode(leaf, _boolean(leaf, text))
        case None:
            if _is_hex(leaf, text):
                return encode_stored(leaf, _hex(text))
            if _is_quoted(leaf, text):
                return _encode_quoted(leaf, text)
            return encode(leaf, _reader_of(leaf)(leaf, text))
        case "bytes":
            return encode_stored(leaf, _hex(text))
        case "int":
            return encode(replace(leaf, logical=_as_integer(leaf)), _integer(leaf, text))
        case "string":
            return encode(replace(leaf, logical=None), text)
        case _:
            return encode(leaf, _read_as(read_as, leaf, text))


def _is_quoted(leaf: LeafType, text: str) -> bool:
    return _reader_of(leaf) is _text and _text(leaf, text) != text


def _encode_quoted(leaf: LeafType, text: str) -> Encodings:
    """Of the text in the quotes, as they are around texts in SQL, and of the whole, as they can be part of a value:
    what is stored in either way must not be `absent`."""
    found: list[bytes] = []
    problems: list[ValueTypeError] = []
    for each in (_text(leaf, text), text):
        try:
            found += encode(leaf, each).plain
        except ValueTypeError as error:
            # In a FIXED_LEN_BYTE_ARRAY, as one alone can be long enough.
            problems.append(error)
    if not found:
        raise problems[0]
    return Encodings(tuple(found))


def _reader_of(leaf: LeafType) -> Reader:
    return _READERS.get(leaf.logical_name, _READERS.get(leaf.physical, _text))


def _read_as(read_as: str, leaf: LeafType, text: str) -> object:
    """The value that `--type` says, whatever the column is; only then may it be one of the column."""
    try:
        return _READERS[read_as.upper()](leaf, text)
    except ValueTypeError as error:
        _, _, expected = str(error).partition(": expected ")
        raise ValueTypeError(f"{shown(text)}: not of type {read_as}: expected {expected}") from None


def _as_integer(leaf: LeafType) -> LogicalType | None:
    """The logical type under which an integer is the stored number."""
    logical = leaf.logical
    if logical and logical.name == "DECIMAL":
        return replace(logical, scale=0)
    is_time = leaf.physical in INTEGERS and leaf.logical_name in ("DATE", "TIME", "TIMESTAMP")
    return None if is_time else logical


Reader = Callable[[LeafType, str], object]


def _reader(parse: Callable[[str], object], expected: str) -> Reader:
    def read(leaf: LeafType, text: str) -> object:
        try:
            return parse(text)
        except (InvalidOperation, ValueError):
            raise not_a_value(leaf, text, expected) from None

    return read


def _boolean(leaf: LeafType, text: str) -> bool:
    if text not in ("true", "false"):
        raise not_a_value(leaf, text, "true or false, of which no filter tells")
    return text == "true"


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


def _whole(leaf: LeafType, text: str) -> int:
    """An integer, also as pandas writes those of a column with gaps: with zeros behind a point."""
    digits, point, zeros = text.partition(".")
    if not point or not re.fullmatch(r"0{1,200}", zeros):
        return _integer(leaf, text)
    try:
        number = _integer(leaf, digits)
    except ValueTypeError:
        raise not_a_value(leaf, text, "an integer") from None
    check_not_rounded(leaf, text, abs(number))
    return number


def _float(leaf: LeafType, text: str) -> float:
    try:
        number = float(_plain(text))
    except ValueError:
        raise not_a_value(leaf, text, "a number") from None
    if isinf(number) and "inf" not in text.lower():
        raise not_a_value(leaf, text, "a number that fits 64 bits")
    return number


def _time(leaf: LeafType, text: str) -> TimeNanos:
    nanos, zone = _time_of_day(leaf, text, text, "a time such as 10:00:00.123")
    if zone not in ("", "Z") or (zone and leaf.logical and not leaf.logical.utc):
        raise not_a_value(leaf, text, "a time without a zone")
    return TimeNanos(nanos, text)


def _timestamp(leaf: LeafType, text: str) -> TimestampNanos:
    end = "" if leaf.logical and not leaf.logical.utc else "Z"
    expected = f"a timestamp such as 2024-01-31T10:00:00{end}"
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
    return without_quotes(text)


def without_quotes(text: str) -> str:
    """Without those around the whole literal, which make an empty text possible."""
    return text[1:-1] if is_in_quotes(text) else text


def is_in_quotes(text: str) -> bool:
    """Whether a literal may be a text that has quotes around it, as in SQL."""
    return len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'"


def is_escaped(text: str) -> bool:
    """Whether a literal is the bytes of a text that cannot be printed, or of an empty one: `\\x…`."""
    return bool(re.fullmatch(r"\\x(?:[0-9a-fA-F]{2})*", text))


def _is_hex(leaf: LeafType, text: str) -> bool:
    """Whether a literal is stored bytes. Numbers could be meant otherwise; text is itself, unless escaped."""
    if _holds_text(leaf) and is_escaped(text):
        return True
    is_number = leaf.physical in _NUMBERS and leaf.logical_name in ("", "INTEGER")
    return not is_number and leaf.logical_name not in _TEXTS and text[:2].lower() == "0x"


def _hex(text: str) -> bytes:
    # Without a prefix, `cafe` could as well be text.
    match = re.fullmatch(r"(?:0[xX]|\\x)((?:[0-9a-fA-F]{2})*)", text)
    if not match:
        raise ValueTypeError(f"{shown(text)}: not bytes: expected 0x and pairs of hex digits")
    return bytes.fromhex(match[1])


# By logical type, else by physical type.
_READERS: dict[str, Reader] = {
    "DATE": _reader(date.fromisoformat, "a date such as 2024-01-31"),
    "DECIMAL": _reader(lambda text: Decimal(_plain(text)), "a decimal such as 12.34"),
    "DOUBLE": _float,
    "ENUM": _text,
    "FLOAT": _float,
    "FLOAT16": _float,
    "INT": _integer,
    "INT32": _whole,
    "INT64": _whole,
    "INT96": _timestamp,
    # In JSON, quotes belong to the value.
    "JSON": lambda leaf, text: text,
    "STRING": _text,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "UUID": _reader(UUID, "a UUID"),
}


def look_of(text: str) -> object:
    """The value that a literal looks like where no column says what it is."""
    leaf = LeafType("BYTE_ARRAY")
    if text in ("true", "false"):
        return text == "true"
    for read in (
        _integer,
        *map(_READERS.__getitem__, ("DECIMAL", "DATE", "TIMESTAMP", "TIME", "UUID")),
    ):
        with suppress(ValueTypeError):
            return read(leaf, text)
    return _text(leaf, text)


def format_literal(leaf: LeafType, plain: bytes) -> str:
    """A literal for `plain`, the stored bytes of a value: as people write it if that is read as these
    bytes again, else as hexadecimal."""
    text = _format(leaf, plain)
    if text is not None:
        try:
            found = encode_literal(leaf, text)
        except ValueTypeError:
            pass
        else:
            if plain in found.plain or found.unknown:
                return text
    return ("\\x" if leaf.logical_name in _TEXTS else "0x") + plain.hex()


def as_examples(literals: Iterable[str]) -> tuple[str, ...]:
    """Whole literals that fit into a message: the short ones, or else the shortest alone."""
    found = tuple(literals)
    short = tuple(text for text in found if len(text) <= LONGEST_EXAMPLE)
    alone = sorted(found, key=len)[:1]
    return short or tuple(text for text in alone if len(text) <= LONGEST_ALONE)


def _format(leaf: LeafType, plain: bytes) -> str | None:
    """What people write; None if there is no such literal."""
    if leaf.is_float:
        return repr(struct.unpack(FLOAT_FORMAT[len(plain)], plain)[0])
    match leaf.logical_name:
        case "DECIMAL":
            order: Literal["little", "big"] = "little" if leaf.physical in INTEGERS else "big"
            return _decimal_literal(leaf, int.from_bytes(plain, order, signed=True))
        case "UUID":
            return str(UUID(bytes=plain))
        case "TIMESTAMP" if leaf.physical == "FIXED_LEN_BYTE_ARRAY":
            return _integer_literal(leaf, int.from_bytes(plain, "little", signed=True))
    if leaf.physical in INTEGERS:
        signed = leaf.logical is None or leaf.logical.signed
        return _integer_literal(leaf, int.from_bytes(plain, "little", signed=signed))
    if leaf.physical == "INT96":
        nanos, julian_day = struct.unpack("<qi", plain)
        return _timestamp_literal((julian_day - UNIX_EPOCH_JULIAN_DAY) * NANOS_PER_DAY + nanos, "")
    return _text_literal(leaf, plain) if leaf.physical == "BYTE_ARRAY" else None


def _text_literal(leaf: LeafType, plain: bytes) -> str | None:
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        return None
    if not text.isprintable():
        return None
    is_itself = text and not _is_hex(leaf, text) and _text(leaf, text) == text
    return text if is_itself or leaf.logical_name == "JSON" else f'"{text}"'


def _decimal_literal(leaf: LeafType, number: int) -> str:
    scale = leaf.logical.scale if leaf.logical else 0
    digits = str(abs(number)).rjust(scale + 1, "0")
    point = len(digits) - scale
    fraction = f".{digits[point:]}" if scale > 0 else ""
    return f"{'-' if number < 0 else ''}{digits[:point]}{fraction}"


def _integer_literal(leaf: LeafType, number: int) -> str | None:
    match leaf.logical_name:
        case "DATE":
            return _date_literal(number)
        case "TIME" if leaf.logical:
            return _clock_literal(number * NANOS[leaf.logical.unit])
        case "TIMESTAMP" if leaf.logical:
            zone = "Z" if leaf.logical.utc else ""
            return _timestamp_literal(number * NANOS[leaf.logical.unit], zone)
        case _:
            return str(number)


def _date_literal(days: int) -> str | None:
    ordinal = days + UNIX_EPOCH_ORDINAL
    is_date = 0 < ordinal <= date.max.toordinal()
    return date.fromordinal(ordinal).isoformat() if is_date else None


def _clock_literal(nanos: int) -> str:
    seconds, fraction = divmod(nanos, 1_000_000_000)
    minutes, second = divmod(seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{clock}.{fraction:09}".rstrip("0") if fraction else clock


def _timestamp_literal(nanos: int, zone: str) -> str | None:
    days, clock = divmod(nanos, NANOS_PER_DAY)
    day = _date_literal(days)
    return None if day is None else f"{day}T{_clock_literal(clock)}{zone}"
