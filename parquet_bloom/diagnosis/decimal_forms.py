"""Other bytes of decimals: in another width, order or type.

Spec: parquet-format, LogicalTypes.md "DECIMAL".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial

from parquet_bloom.diagnosis.key_form import ByteOrder, Convert, KeyForm, key_form
from parquet_bloom.diagnosis.number_forms import number_forms
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.values.types import LeafType

# A schema may claim more than anybody could compute with.
MAX_DECIMAL_BYTES = 64
MAX_SCALE = 1000


def decimal_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """For values of up to MAX_DECIMAL_BYTES: longer ones are no decimals that anybody computes."""
    for any_length in _all_decimal_forms(leaf):
        yield KeyForm(any_length.name, any_length.clause, partial(_if_short, any_length))


def _if_short(any_length: KeyForm, value: StoredValue) -> bytes | None:
    return any_length.convert(value) if len(value.plain) <= MAX_DECIMAL_BYTES else None


def _all_decimal_forms(leaf: LeafType) -> Iterator[KeyForm]:
    stored: ByteOrder = "little" if leaf.physical in ("INT32", "INT64") else "big"
    scale = leaf.logical.scale if leaf.logical else 0
    precision = leaf.logical.precision if leaf.logical else 0

    def unscaled(plain: bytes) -> int:
        return int.from_bytes(plain, stored, signed=True)

    yield key_form(
        "decimal-byte-order",
        f"hashed with its bytes in {'little' if stored == 'big' else 'big'}-endian order",
        lambda plain: plain[::-1],
    )
    yield key_form(
        "decimal-minimal",
        "hashed as the fewest big-endian bytes that hold it",
        lambda plain: _minimal(unscaled(plain)),
    )
    for width in sorted({bytes_for(precision), 4, 8, 12, 16, 32} - {leaf.width}):
        yield key_form(
            "decimal-width",
            f"hashed as {width} big-endian bytes",
            _of_width(width, "big", unscaled),
        )
    for width in sorted({4, 8, 16, 32} - {leaf.width}):
        yield key_form(
            "decimal-integer",
            f"hashed as a little-endian integer of {width} bytes",
            _of_width(width, "little", unscaled),
        )
    yield key_form(
        "decimal-text",
        "hashed as text with a decimal point",
        lambda plain: _decimal_text(unscaled(plain), scale),
    )
    yield from number_forms(unscaled)


def bytes_for(precision: int) -> int:
    """The fewest bytes that hold every decimal of so many digits."""
    largest: int = 10 ** max(1, min(precision, MAX_SCALE)) - 1
    return (largest.bit_length() + 8) // 8


def _decimal_text(unscaled: int, scale: int) -> bytes | None:
    return f"{Decimal(f'{unscaled}E-{scale}'):f}".encode() if 0 <= scale <= MAX_SCALE else None


def _minimal(number: int) -> bytes:
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _of_width(width: int, order: ByteOrder, number: Callable[[bytes], int]) -> Convert:
    def convert(plain: bytes) -> bytes | None:
        try:
            return number(plain).to_bytes(width, order, signed=True)
        except OverflowError:
            return None

    return convert
