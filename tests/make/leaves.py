"""Types of leaf columns as they are spelled, and values as they are stored."""

import re
import struct
import uuid

import pyarrow as pa

from parquet_bloom.values.types import LeafType, LogicalType

# 2024-01-31 is 19,753 days after 1970-01-01, and ten o'clock is in second 1,706,695,200.
DAYS, TEN = 19_753, 1_706_695_200
SOME_UUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")

ZEROS = {
    "FLOAT": (b"\0\0\0\0", b"\0\0\0\x80"),
    "DOUBLE": (bytes(8), bytes(7) + b"\x80"),
    "FIXED_LEN_BYTE_ARRAY(2) FLOAT16": (b"\0\0", b"\0\x80"),
}

SPELLING = re.compile(r"(\w+?)(?:\((\d+)\))?(?: (\w+)(?:\((\w+),(\w+)\))?)?")


def leaf(spelling: str) -> LeafType:
    """The type that is spelled `FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)`, and shows itself so."""
    match = SPELLING.fullmatch(spelling)
    assert match
    physical, length, name, first, second = match.groups()
    logical = logical_type(name, first, second) if name else None
    built = LeafType(physical, int(length or 0), logical)
    assert str(built) == spelling
    return built


def logical_type(name: str, first: str, second: str) -> LogicalType:
    match name:
        case "INTEGER":
            return LogicalType(name, bit_width=int(first), signed=second == "true")
        case "TIME" | "TIMESTAMP":
            return LogicalType(name, unit=first, utc=second == "true")
        case "DECIMAL":
            return LogicalType(name, precision=int(first), scale=int(second))
        case _:
            return LogicalType(name)


def i4(number: int) -> bytes:
    return struct.pack("<i", number)


def i8(number: int) -> bytes:
    return struct.pack("<q", number)


def i12(nanos_of_day: int, julian_day: int) -> bytes:
    return struct.pack("<qi", nanos_of_day, julian_day)


def int96_forms(spelling: str, stored: bytes) -> tuple[bytes, ...]:
    """What is looked up for a value that is stored so: of an INT96 also the day after and the day
    before, with nanoseconds that make up for it."""
    if spelling != "INT96":
        return (stored,)
    nanos, day = struct.unpack("<qi", stored)
    whole_day = 86_400 * 10**9
    return stored, i12(nanos - whole_day, day + 1), i12(nanos + whole_day, day - 1)


def big(number: int, length: int) -> bytes:
    return number.to_bytes(length, "big", signed=True)


def row_id(value: object) -> str:
    """The same in each run, without the addresses that some things are shown with."""
    if isinstance(value, int) and abs(value) > 2**64:
        return "huge"
    if isinstance(value, pa.Array):
        return str(value.type)
    if isinstance(value, memoryview):
        return "memoryview"
    return value.hex()[:40] if isinstance(value, bytes) else repr(value)[:60]
