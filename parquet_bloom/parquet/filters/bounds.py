"""Which row groups min/max statistics exclude: those whose bounds no value reaches.

    among      some of the values are within the bounds of the chunk
    compared   the bounds of the chunk reach beyond the value

Bounds that are damaged, the wrong way round, or in an order that nobody can rely on exclude nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloom.parquet.footer.value_order import is_signed, key_of
from parquet_bloom.values.types import LeafType
from parquet_bloom.vocabulary import NOT_HELD

if TYPE_CHECKING:
    from parquet_bloom.container.conditions import Operator
    from parquet_bloom.parquet.filters.asked import Asked
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile

# Whether a chunk whose least and greatest values have these places may have such values.
Reaches: TypeAlias = "Callable[[Any, Any], bool]"


class Bounds:
    """`reaches`: what is asked of them. `finds_nan`: NaN, which is in no bounds, is such a value in some engines."""

    def __init__(self, leaf: LeafType, reaches: Reaches, finds_nan: bool = False) -> None:
        is_sure = leaf.logical_name != "DECIMAL" or leaf.physical != "BYTE_ARRAY"
        # Some writers compared decimals of different lengths as bytes.
        self._key = key_of(leaf) if is_sure else None
        # Those of floats are wrong in some files with NaN.
        self._takes_deprecated = leaf.physical in ("INT32", "INT64") and is_signed(leaf)
        self._reaches, self._finds_nan = reaches, finds_nan

    def hold(self, file: OpenFile, column: LeafColumn, part: int) -> bool:
        """Whether those of a chunk do not exclude it. Raises FooterError for damage."""
        if self._key is None:
            return True
        if self._finds_nan and not file.footer.lacks_nan(part, column):
            return True
        places = self.places(file, column, part)
        return places is None or self._reaches(*places)

    def places(self, file: OpenFile, column: LeafColumn, part: int) -> tuple[Any, Any] | None:
        """Those of the least and the greatest value of a chunk; None if nobody can rely on them. Raises as hold."""
        if self._key is None:
            return None
        stored = file.footer.stored_bounds(part, column, self._takes_deprecated)
        if stored is None:
            return None
        low, high = map(self._key, stored)
        return None if low is None or high is None or low > high else (low, high)  # type: ignore[operator]


def among(leaf: LeafType, asked: Asked, slack: int = 0) -> Bounds | None:
    """For chunks with any of these values; None if bounds do not tell.
    `slack`: by which they are wider on each side."""
    if any(reason not in NOT_HELD for reason in asked.unknown.values()):
        return None
    return reaching(leaf, asked.keys, slack)


def reaching(leaf: LeafType, keys: Sequence[Any] | None, slack: int = 0) -> Bounds | None:
    """The same for values that have these places, in order; None if bounds do not tell."""
    if keys is None or not len(keys):
        return None

    def reaches(low: Any, high: Any) -> bool:
        if slack:
            low, high = low - slack, high + slack
        at = bisect_left(keys, low)
        return at < len(keys) and bool(keys[at] <= high)

    return Bounds(leaf, reaches)


def compared(leaf: LeafType, operator: Operator, asked: Asked, slack: int) -> Bounds | None:
    """For chunks with values that are less or greater than the only one; None if bounds do not tell."""
    if asked.keys is None:
        return None
    key = asked.keys[0]
    is_less, is_equal = operator[0] == "<", operator[1:] == "="
    if slack:
        key, is_equal = key + slack if is_less else key - slack, True

    def reaches(low: Any, high: Any) -> bool:
        if is_less:
            return bool(low <= key if is_equal else low < key)
        return bool(high >= key if is_equal else high > key)

    return Bounds(leaf, reaches, finds_nan=leaf.is_float and not is_less)
