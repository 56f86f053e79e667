"""Bytes that go from a file, and what moves up to take their place.

old | prefix | cut | stays | cut | stays | footer |
new | prefix | stays | stays | footer |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from parquet_bloom.parquet.footer.layout import Range, without
from parquet_bloom.parquet.footer.moved import Moves


@dataclass(frozen=True, slots=True)
class Cuts:
    """The `ranges` that go, in order, of the bytes before `end`, where the old footer begins."""

    end: int
    ranges: tuple[Range, ...] = ()

    @classmethod
    def behind(cls, start: int, end: int, staying: Iterable[Range]) -> Cuts:
        """All of [start, end) goes but what is staying."""
        return cls(end, tuple(without((start, end), staying)))

    @property
    def prefix(self) -> int:
        """How many bytes stay in their place."""
        return self.ranges[0][0] if self.ranges else self.end

    @property
    def moved(self) -> tuple[Range, ...]:
        """What stays behind the prefix."""
        return tuple(without((self.prefix, self.end), self.ranges))

    @property
    def moves(self) -> Moves:
        return Moves.of((end, start - end) for start, end in self.ranges)

    def covers(self, start: int, end: int) -> bool:
        """Whether none of these bytes stays."""
        return not any(without((start, end), self.ranges))
