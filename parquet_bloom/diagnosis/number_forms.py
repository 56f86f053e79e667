"""Other bytes of integers, timestamps and floating point numbers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from parquet_bloom.diagnosis.key_form import ByteOrder, Convert, KeyForm, key_form
from parquet_bloom.values.types import LeafType

FLOAT_NAMES = {"<f": "float", "<d": "double"}
NUMPY_FLOATS = {2: "<f2", 4: "<f4", 8: "<f8"}

# Names of widths, in bytes.
SPELLED = {1: "1 byte", 2: "2 bytes", 4: "4 bytes", 8: "8 bytes", 16: "16 bytes"}

UNITS = (10**3, 10**6, 10**9)
SECONDS_PER_DAY = 86_400
NANOS_PER_DAY = SECONDS_PER_DAY * 10**9
JULIAN_EPOCH = 2_440_588


def _signed(plain: bytes) -> int:
    return int.from_bytes(plain, "little", signed=True)


def _unsigned(plain: bytes) -> int:
    return int.from_bytes(plain, "little")


def _as_integer(width: int, order: ByteOrder, signed: bool, plain: bytes) -> bytes:
    """The number in `width` bytes, cut if it is wider than that."""
    number = int.from_bytes(plain, "little", signed=signed)
    return (number % (1 << 8 * width)).to_bytes(width, order)


def _floated(code: str, number: Callable[[bytes], int | float]) -> Convert:
    def convert(plain: bytes) -> bytes | None:
        try:
            return struct.pack(code, number(plain))
        except OverflowError:
            return None

    return convert


def integer_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """INT32 and INT64: the other byte order, other widths, floating point numbers, text."""
    stored_width = leaf.width or 0
    yield key_form("big-endian", "hashed as big-endian bytes", lambda plain: plain[::-1])
    for width in (8, 4, 2, 1, 16):
        if width == stored_width:
            continue
        words = f"hashed as an integer of {SPELLED[width]}"
        yield key_form(f"int{8 * width}", words, partial(_as_integer, width, "little", True))
        if width > stored_width:
            yield key_form(
                f"uint{8 * width}",
                f"{words}, which takes it for unsigned",
                partial(_as_integer, width, "little", False),
            )
        if width > 1:
            yield key_form(
                f"int{8 * width}-big-endian",
                f"{words}, big-endian",
                partial(_as_integer, width, "big", True),
            )
    signed = leaf.logical is None or leaf.logical.signed
    yield from number_forms(_signed if signed else _unsigned)


def number_forms(number: Callable[[bytes], int]) -> Iterator[KeyForm]:
    """What is no integer any more; `number` reads the stored bytes."""
    for code, name in FLOAT_NAMES.items():
        yield key_form(name, f"hashed as a {name}", _floated(code, number))
    yield key_form("text", "hashed as text", lambda plain: str(number(plain)).encode())


def unit_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """Moments in another unit: the writer hashed before it converted, or the other way round."""
    if leaf.logical_name == "DATE":
        for per_second in UNITS:
            yield _larger(SECONDS_PER_DAY * per_second)
    elif leaf.logical_name in ("TIME", "TIMESTAMP"):
        for factor in UNITS:
            yield _larger(factor)
            yield _smaller(factor)


def _larger(factor: int) -> KeyForm:
    clause = f"hashed {factor:,} times as large, in 8 bytes: in another unit"
    return key_form("other-unit", clause, partial(_times, factor))


def _smaller(divisor: int) -> KeyForm:
    clause = f"hashed divided by {divisor:,}, in 8 bytes: in another unit"
    return key_form("other-unit", clause, partial(_divided, divisor))


def _times(factor: int, plain: bytes) -> bytes | None:
    return _as_int64(_signed(plain) * factor)


def _divided(divisor: int, plain: bytes) -> bytes | None:
    return _as_int64(_signed(plain) // divisor)


def _as_int64(number: int) -> bytes | None:
    return number.to_bytes(8, "little", signed=True) if -(1 << 63) <= number < 1 << 63 else None


def _int96_nanos(divisor: int, plain: bytes) -> bytes | None:
    """INT96 is | nanoseconds of the day (8) | Julian day (4) |."""
    nanos, day = struct.unpack("<qi", plain)
    return _as_int64(((day - JULIAN_EPOCH) * NANOS_PER_DAY + nanos) // divisor)


INT96_FORMS = tuple(
    key_form(
        "int96-as-int64",
        f"hashed as a timestamp of 8 bytes in {unit}",
        partial(_int96_nanos, divisor),
    )
    for unit, divisor in (("nanoseconds", 1), ("microseconds", 10**3), ("milliseconds", 10**6))
)


def float_forms(stored_width: int) -> Iterator[KeyForm]:
    """FLOAT16, FLOAT and DOUBLE: the other byte order, other widths, text."""

    def number(plain: bytes) -> float:
        return float(_numpy_float(plain))

    yield key_form("big-endian", "hashed as big-endian bytes", lambda plain: plain[::-1])
    for code, name in FLOAT_NAMES.items():
        if struct.calcsize(code) != stored_width:
            yield key_form(
                name,
                f"hashed as a {name}",
                _floated(code, number),
            )
    yield key_form("text", "hashed as text", lambda plain: str(_numpy_float(plain)).encode())


def _numpy_float(plain: bytes) -> np.floating[Any]:
    number: np.floating[Any] = np.frombuffer(plain, NUMPY_FLOATS[len(plain)])[0]
    return number
