"""A key form: one way from a stored value to the bytes that were hashed instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from parquet_bloom.diagnosis.samples import StoredValue

Convert = Callable[[bytes], bytes | None]
"""From stored bytes to hashed ones; None where the key form does not apply."""

ByteOrder = Literal["little", "big"]


@dataclass(frozen=True, slots=True)
class KeyForm:
    """`convert` gives None for values that have no such key form. `clause` ends the sentence "the
    missing values are found if each is"."""

    name: str
    clause: str
    convert: Callable[[StoredValue], bytes | None]


AS_STORED = KeyForm("", "", lambda value: value.plain)


def key_form(name: str, clause: str, convert: Convert) -> KeyForm:
    """A key form that depends on nothing but the stored bytes."""
    return KeyForm(name, clause, lambda value: convert(value.plain))
