"""The groups of a column: their ranges and the FPPs of their filters, in bounded memory.

Up to `limit` groups, all are kept. Beyond that, those with the smallest hashes are: of the path of their
file and their place in it, so that the same groups are kept however files are split among those who read
them, and in whatever order their samples are merged. They are a random sample of all groups. A look-up
reads a share of the groups, which is estimated from as many as LIMIT with a standard error of at most

    1 / (2 sqrt(LIMIT)) = 0.78 % of all groups
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parquet_bloom.advice.lookups import FPP_UNIT, MinMax
from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel

LIMIT = 4096

# Sorting waits until there are so many times as many.
_SLACK = 1.25


def group_id(path: str, part: int, group: int) -> int:
    """The hash of a group of a part of a file."""
    return _kernel.xxh64(f"{part}.{group} {path}".encode(errors="surrogateescape"))


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """`id`: see group_id; `fpp` and `fpp_there`, of the filter that is there already, in FPP_UNITs; `has_dictionary`:
    one with all values."""

    id: int
    bounds: MinMax | None
    fpp: int
    fpp_there: int
    has_dictionary: bool = False


def _order(group: SeenGroup) -> tuple[int, int, int, str, bool]:
    """By its id; a file that is read twice may have changed between."""
    return group.id, group.fpp, group.fpp_there, repr(group.bounds), group.has_dictionary


class GroupSample:
    """The `limit` groups with the smallest ids of those that were added."""

    def __init__(self, limit: int = LIMIT, groups: Iterable[SeenGroup] = ()) -> None:
        self.limit = limit
        self._groups = list(groups)
        self._full_at = int(limit * _SLACK)

    def add(self, group: SeenGroup) -> None:
        """Add a group, once."""
        self._groups.append(group)
        if len(self._groups) > self._full_at:
            self._shrink()

    def merge(self, other: GroupSample) -> None:
        """Add what another sample of at least this limit has seen."""
        self._groups += other._groups
        if len(self._groups) > self._full_at:
            self._shrink()

    def _shrink(self) -> None:
        self._groups.sort(key=_order)
        del self._groups[self.limit :]

    @property
    def groups(self) -> Sequence[SeenGroup]:
        """Those that are kept, by their ids."""
        self._shrink()
        return self._groups

    @property
    def bounds(self) -> list[MinMax | None]:
        return [group.bounds for group in self.groups]

    @property
    def fpps(self) -> list[float]:
        return [group.fpp * FPP_UNIT for group in self.groups]

    @property
    def fpps_there(self) -> list[float]:
        return [group.fpp_there * FPP_UNIT for group in self.groups]
