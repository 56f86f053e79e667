"""Who looks values up in Bloom filters, and which values are looked up at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from parquet_bloom.values.types import LeafType

# No engine asks for them by equality.
NO_ELEMENTS: Final = "not for elements of lists and maps"


@dataclass(frozen=True, slots=True)
class EngineUse:
    """Whether an engine uses the filters of a column; `reason` is why not, or a caveat."""

    engine: str
    uses: bool
    reason: str


def seldom_asked(type: LeafType) -> str:
    """What the values are, if look-ups by equality are not what people do with them; else empty.

    Amounts and points in time are asked for by range. Decimals without a fraction can be keys.
    """
    if type.is_float:
        return "floating-point numbers"
    if type.logical_name == "DECIMAL" and type.logical and type.logical.scale > 0:
        return "decimals with a fraction"
    if type.logical_name in ("TIME", "TIMESTAMP"):
        return "points in time"
    return ""
