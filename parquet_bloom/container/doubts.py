"""Which answer of a group is about which of many values, some of which cannot be looked up.

distinct | absent | maybe | unknown: NaN | unknown: null | …
pick     | 0      | 1     | 2            | 3             | …
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from parquet_bloom.native.lazy import NDArray, np

if TYPE_CHECKING:
    from parquet_bloom.container import Picks


class Doubts:
    """The `reasons` for which some of `num_values` values are `unknown` to every filter; `unknown`
    has them by index. `is_many`: as arrays, which are quicker for many values, else as lists."""

    def __init__(self, num_values: int, unknown: Mapping[int, str], is_many: bool) -> None:
        self.reasons = tuple(dict.fromkeys(unknown.values()))
        self._num_values = num_values
        self._unknown = unknown
        self._is_many = is_many

    def picks(self, found: Sequence[bool] | NDArray[np.bool_] | None) -> Picks:
        """1 for each value that was found, 0 for one that was not, and from 2 on the number of the
        reason for one that is unknown. `found` is of no meaning for these; None: nothing was."""
        doubted = self._doubted
        if found is None:
            return doubted
        if isinstance(doubted, list):
            return [pick or int(each) for pick, each in zip(doubted, found, strict=True)]
        found = np.asarray(found)
        return np.where(doubted, doubted, found) if self._unknown else found.view(np.uint8)

    @cached_property
    def _doubted(self) -> list[int] | NDArray[np.integer]:
        """The picks if nothing was found."""
        numbers = {reason: number for number, reason in enumerate(self.reasons, 2)}
        picks = [0] * self._num_values
        for index, reason in self._unknown.items():
            picks[index] = numbers[reason]
        if not self._is_many:
            return picks
        # There can be one for each of many groups.
        return np.array(picks, np.min_scalar_type(1 + len(self.reasons)))
