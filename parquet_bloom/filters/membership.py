"""What the stored values say of the filter that should find them all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What came of looking up every value.

    `num_values`: how many; `missing`: false negatives among them; `foreign_bits`: bits set that no
    value explains in any form; `lone_zero`: the zero that is found although the one of the other
    sign is not; `lacks_nan`: NaN is stored, and the canonical one is not found; `explained_fpp`: the
    FPP of a filter of this size with just the values, None where nobody has computed it.
    """

    num_values: int
    missing: int
    foreign_bits: int
    lone_zero: str | None = None
    lacks_nan: bool = False
    explained_fpp: float | None = None
