"""A literal and the bytes that are stored for it, by a conversion of this module's own."""

import calendar
import datetime
import re
import struct
import uuid
from dataclasses import dataclass
from decimal import Context, Decimal


@dataclass(frozen=True)
class Leaf:
    """A leaf column as its file describes it; `length` is that of a FIXED_LEN_BYTE_ARRAY."""

    path: str
    physical_type: str
    logical_type: str | None
    length: int
    repeated: bool


@dataclass(frozen=True)
class Stored:
    """A value as it is stored: `data` is its PLAIN encoding, without the length of a BYTE_ARRAY."""

    leaf: Leaf
    data: bytes

    @property
    def text(self) -> str:
        """The value for a judge's list of queries: a number in decimal, bytes in hexadecimal."""
        form = {"INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}.get(
            self.leaf.physical_type
        )
        return repr(struct.unpack(form, self.data)[0]) if form else self.data.hex()


def stored_values(leaf: Leaf, literal: str) -> tuple[Stored, ...]:
    """Every form in which a writer may have stored `literal`: one, but for BYTE_ARRAY decimals."""
    physical, logical = leaf.physical_type, leaf.logical_type or ""
    if physical == "INT96":
        return (Stored(leaf, _int96(literal)),)
    if physical in ("FLOAT", "DOUBLE"):
        return (Stored(leaf, struct.pack("<f" if physical == "FLOAT" else "<d", float(literal))),)
    if physical in ("INT32", "INT64"):
        size = 4 if physical == "INT32" else 8
        number = _stored_integer(logical, literal) % (1 << (8 * size))
        return (Stored(leaf, number.to_bytes(size, "little")),)
    if logical.startswith("DECIMAL") and physical == "BYTE_ARRAY":
        number = _unscaled(logical, literal)
        shortest = len(_minimal(number))
        lengths = range(shortest, max(16, shortest) + 1)
        return tuple(Stored(leaf, number.to_bytes(n, "big", signed=True)) for n in lengths)
    return (Stored(leaf, _stored_bytes(leaf, logical, literal)),)


def _stored_bytes(leaf: Leaf, logical: str, literal: str) -> bytes:
    if logical.startswith("DECIMAL"):
        return _unscaled(logical, literal).to_bytes(leaf.length, "big", signed=True)
    if logical == "UUID":
        return uuid.UUID(literal).bytes
    if logical == "FLOAT16":
        return struct.pack("<e", float(literal))
    if logical in ("STRING", "ENUM", "JSON"):
        return literal.encode()
    return bytes.fromhex(literal.removeprefix("0x"))


def _stored_integer(logical: str, literal: str) -> int:
    kind, *arguments = re.split(r"[(,)]", logical)
    if kind == "DECIMAL":
        return _unscaled(logical, literal)
    if kind == "DATE":
        return (datetime.date.fromisoformat(literal) - datetime.date(1970, 1, 1)).days
    if kind in ("TIME", "TIMESTAMP"):
        nanos = _nanoseconds(literal)
        unit = {"MILLIS": 1_000_000, "MICROS": 1_000, "NANOS": 1}[arguments[0]]
        assert nanos % unit == 0, f"{literal} is finer than {logical}"
        return nanos // unit
    return int(literal)


def _unscaled(logical: str, literal: str) -> int:
    scale = int(logical.rstrip(")").split(",")[1])
    # Up to 76 digits: more than the default context keeps.
    unscaled = Decimal(literal).scaleb(scale, Context(prec=100))
    assert unscaled == int(unscaled), f"{literal} is finer than {logical}"
    return int(unscaled)


def _minimal(number: int) -> bytes:
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _nanoseconds(literal: str) -> int:
    """Nanoseconds since the epoch, or since midnight where `literal` has no date."""
    date, _, time = literal.removesuffix("Z").rpartition("T")
    clock, _, fraction = time.partition(".")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    year, month, day = (int(part) for part in (date or "1970-01-01").rsplit("-", 2))
    whole = calendar.timegm((year, month, day, hours, minutes, seconds))
    return whole * 1_000_000_000 + int(fraction.ljust(9, "0"))


def _int96(literal: str) -> bytes:
    """Nanoseconds within the day, then the Julian day; both little-endian."""
    day, nanos = divmod(_nanoseconds(literal), 86_400_000_000_000)
    return struct.pack("<qi", nanos, day + 2_440_588)
