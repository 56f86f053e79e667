"""What can have been hashed of a value instead of its stored bytes.

Which key forms there are depends on the type of the column. What real writers and readers did:
docs/diagnosis.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.diagnosis.byte_forms import (
    BYTE_ARRAY_FORMS,
    HEX,
    INDEX_FORMS,
    LENGTH_PREFIX,
    REVERSED,
    UUID_FORMS,
)
from parquet_bloom.diagnosis.decimal_forms import decimal_forms
from parquet_bloom.diagnosis.key_form import KeyForm
from parquet_bloom.diagnosis.number_forms import INT96_FORMS, float_forms, integer_forms, unit_forms
from parquet_bloom.values.types import LeafType

INTEGERS = ("INT32", "INT64")


def key_forms(leaf: LeafType) -> Iterator[KeyForm]:
    """The key forms of this type's values, the simplest first."""
    if leaf.logical_name == "DECIMAL":
        yield from decimal_forms(leaf)
    elif leaf.physical in INTEGERS:
        yield from integer_forms(leaf)
        yield from unit_forms(leaf)
    elif leaf.is_float:
        yield from float_forms(leaf.width or 0)
    elif leaf.physical == "INT96":
        yield from INT96_FORMS
    elif leaf.physical == "BYTE_ARRAY":
        yield from BYTE_ARRAY_FORMS
    elif leaf.width == 16:
        yield from UUID_FORMS
    if leaf.physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        yield LENGTH_PREFIX
        yield HEX
    if leaf.physical not in INTEGERS and leaf.logical_name != "DECIMAL" and not leaf.is_float:
        yield REVERSED
    yield from INDEX_FORMS
