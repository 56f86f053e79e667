"""Columns whose values a reader is known to look up by other bytes than those that are stored, so
that it loses rows by filters that are right.

Source: docs/engines.md, which is measured, and the issues that PB212 names in docs/rules.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.values.types import LeafType

# DataFusion knows a DECIMAL as a number of 16 bytes, DuckDB none of more digits than these have.
_DECIMAL_BYTES = 16
_DECIMAL_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Mishashed:
    """`versions` of a `reader` that lose rows; `looks_up`: by which bytes, in words."""

    reader: str
    versions: str
    looks_up: str

    def __str__(self) -> str:
        return f"{self.reader} {self.versions} loses rows by right filters: it looks up {self.looks_up}"


_OF_DATAFUSION = Mishashed(
    "DataFusion", "before 55", "16 bytes for a DECIMAL, however many are stored"
)
_OF_LONG_DECIMALS = Mishashed(
    "DuckDB", "1.2 to 2.0", "a DECIMAL of more than 38 digits as a DOUBLE"
)
# No version before uses filters of members and elements.
_OF_NESTED_DECIMALS = Mishashed("DuckDB", "2.0", _OF_LONG_DECIMALS.looks_up)
_OF_BYTES = Mishashed("DuckDB", "1.5", "the text that it shows for bytes, such as \\xFF for 0xff")


def mishashed(leaf: LeafColumn) -> Mishashed | None:
    """The reader that loses rows of a column, None if there is none that is known."""
    found = _by_type(leaf.type)
    if len(leaf.path) == 1:
        return found
    # The others were found in columns of their own only, and nobody asks the keys of a map.
    return _OF_NESTED_DECIMALS if found is _OF_LONG_DECIMALS and "KEY" not in leaf.groups else None


def _by_type(type: LeafType) -> Mishashed | None:
    logical = type.logical
    if logical is not None and logical.name == "DECIMAL":
        if logical.precision > _DECIMAL_DIGITS:
            return _OF_LONG_DECIMALS
        is_fixed = type.physical == "FIXED_LEN_BYTE_ARRAY"
        return _OF_DATAFUSION if is_fixed and type.length != _DECIMAL_BYTES else None
    is_bytes = type.physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
    return _OF_BYTES if is_bytes and logical is None else None
