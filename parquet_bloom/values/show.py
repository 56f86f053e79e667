"""Stored values as readable text, in the syntax of `pbloom probe -v` where possible."""

from __future__ import annotations

import struct
from datetime import date

from parquet_bloom.values.encode import UNIX_EPOCH_ORDINAL
from parquet_bloom.values.floats import FLOAT_FORMAT
from parquet_bloom.values.types import LeafType

LONGEST = 60


def shown(leaf: LeafType, plain: bytes) -> str:
    """A literal for `plain`, the stored bytes of a value; `0x…` if the type has no simple one."""
    text = _literal(leaf, plain)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _literal(leaf: LeafType, plain: bytes) -> str:
    if leaf.is_float:
        return repr(struct.unpack(FLOAT_FORMAT[len(plain)], plain)[0])
    if leaf.physical in ("INT32", "INT64"):
        return _integer(leaf, plain)
    if leaf.physical == "BYTE_ARRAY" and leaf.logical_name != "DECIMAL":
        try:
            text = plain.decode()
        except UnicodeDecodeError:
            return f"0x{plain.hex()}"
        if text.isprintable() and text:
            return text
    return f"0x{plain.hex()}"


def _integer(leaf: LeafType, plain: bytes) -> str:
    signed = leaf.logical is None or leaf.logical.signed
    number = int.from_bytes(plain, "little", signed=signed)
    if leaf.logical_name == "DATE" and 0 < number + UNIX_EPOCH_ORDINAL <= date.max.toordinal():
        return date.fromordinal(number + UNIX_EPOCH_ORDINAL).isoformat()
    return str(number)
