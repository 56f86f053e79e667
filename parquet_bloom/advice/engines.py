"""Whether engines use the filters of a column, and which values are looked up at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from parquet_bloom.values.types import LeafType

# No engine uses filters for these.
NO_ELEMENTS: Final = "not for elements of lists and maps"


@dataclass(frozen=True, slots=True)
class EngineUse:
    """Whether an engine uses the filters of a column; `reason` is why not, or a caveat."""

    engine: str
    uses: bool
    reason: str


def seldom_asked(type: LeafType) -> str:
    """What the values are, if they are seldom looked up by equality; else empty.

    Amounts and points in time are looked up by range. Decimals without a fraction can be keys.
    """
    if type.is_float:
        return "floating-point numbers"
    if type.logical_name == "DECIMAL" and type.logical and type.logical.scale > 0:
        return "decimals with a fraction"
    if type.logical_name in ("TIME", "TIMESTAMP"):
        return "points in time"
    return ""
