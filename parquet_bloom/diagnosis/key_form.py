"""A key form: one way from a stored value to the bytes that were hashed instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parquet_bloom.diagnosis.diagnosis import Deviation
from parquet_bloom.diagnosis.samples import StoredValue

Convert = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class KeyForm(Deviation):
    """`convert` returns None for values that have no such key form."""

    convert: Callable[[StoredValue], bytes | None] = lambda value: value.plain


AS_STORED = KeyForm()


def key_form(name: str, clause: str, convert: Convert) -> KeyForm:
    """A key form that depends on the stored bytes alone. `convert` raises OverflowError or ValueError
    where the key form does not apply."""

    def converted(value: StoredValue) -> bytes | None:
        try:
            return convert(value.plain)
        except (OverflowError, ValueError):
            return None

    return KeyForm(name, clause, converted)
