"""The milliseconds that filters hash for timestamps, and where writers and readers disagree.

A TIMESTAMP is the writer's wall-clock time. BLOOM_FILTER_UTF8 takes it as UTC, BLOOM_FILTER converts
it to an instant by the writer's time zone. A TIMESTAMP_INSTANT is the same in both.

Files store whole seconds, rounded towards 1970, and nanoseconds that count upwards, so the last
second before 1970 and the first one after it look the same. ORC Java goes by the sign of the
instant and ORC C++ by that of the wall clock; where the signs differ, the two read values one
second apart.

Nor do the two agree on what the clocks of a zone showed long ago, see zones: such a TIMESTAMP has the keys
of what either reads.

Source: ORC-306, ORC-645, ORC-763; ORC-135 for the change from instants to wall-clock times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.orc.arrays import Held, Times
from parquet_bloom.orc.keys.zones import (
    AGREED_FROM,
    AGREED_UNTIL,
    SECOND,
    candidates,
    is_utc,
    offsets_in_1970,
    other_walls,
    walls_here,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class Keys:
    """One number per value, shape (n,), and in `others` positions of values with further numbers
    that may stand for them."""

    numbers: Held
    others: Sequence[tuple[NDArray[np.int64], NDArray[Any]]] = ()


def wall_clock_keys(values: Times, zone: str) -> Keys:
    """The keys of timestamps as wall-clock times in `zone`, as they are read here and by others."""
    keys = _with_neighbours(values, _unsigned_range(zone))
    if is_utc(zone):
        return keys
    import numpy as np

    try:
        others = [*keys.others, *other_walls(np.asarray(keys.numbers), zone)]
        for near, neighbours in keys.others:
            found = other_walls(neighbours, zone)
            others += [(near[positions], walls) for positions, walls in found]
    except UnsupportedError:
        # As no value of the zone can be read, these are literals: see as_read_here.
        return keys
    return Keys(keys.numbers, others)


def as_read_here(values: Times, zone: str) -> tuple[NDArray[np.int64], Times]:
    """What is read here of values for which others show `values`, where that is something else:
    positions in `values`, and times. Raises UnsupportedError for an unknown zone, if any value is of a
    time at which the clocks of zones may differ."""
    import numpy as np

    try:
        found = [] if is_utc(zone) else walls_here(values.millis, zone)
    except UnsupportedError:
        if not np.all((values.millis >= AGREED_FROM) & (values.millis < AGREED_UNTIL)):
            raise
        found = []
    positions = np.concatenate([np.empty(0, np.int64), *(at for at, _ in found)])
    seconds = np.concatenate([np.empty(0, np.int64), *(walls for _, walls in found)]) // SECOND
    return positions, Times(seconds, values.nanos[positions])


def instant_keys(values: Times) -> Keys:
    """The keys of timestamps that are instants."""
    return _with_neighbours(values, (-SECOND, SECOND))


def local_keys(values: Times, zone: str) -> Keys:
    """The keys of wall-clock times in `zone`, converted to instants: those of the file, whoever reads it.

    A time that the clock showed twice has two keys, and so may one in the second before a change, see zones.
    Raises UnsupportedError for an unknown zone.
    """
    import numpy as np

    walls = values.millis
    first, last = candidates(walls, zone)
    keys = _with_neighbours(values, _unsigned_range(zone), first)
    is_rounded = (walls < DAY) & (values.nanos != 0)
    rounded = [each - SECOND for each in candidates(walls + SECOND, zone)]
    further = (last, *(np.where(is_rounded, each, first) for each in rounded))
    others = [(np.flatnonzero(each != first), each) for each in further]
    return Keys(first, (*keys.others, *((at, each[at]) for at, each in others if at.size)))


def _unsigned_range(zone: str) -> tuple[int, int]:
    """The wall-clock range in which readers may disagree on whether a time is before 1970."""
    try:
        least, greatest = offsets_in_1970(zone)
    except UnsupportedError:
        return -DAY, DAY
    return min(0, least) - SECOND, max(0, greatest) + SECOND


def _with_neighbours(
    values: Times, unsigned: tuple[int, int], keys: NDArray[np.int64] | None = None
) -> Keys:
    """With the keys one second earlier and later of times that readers may take for each other.
    `keys`: the milliseconds if None."""
    wall, is_near = values.to_millis(*unsigned)
    if not is_near:
        return Keys(wall if keys is None else keys)
    import numpy as np

    walls = np.asarray(wall)
    keys = walls if keys is None else keys
    near = np.flatnonzero((walls >= unsigned[0]) & (walls < unsigned[1]))
    near = near[values.nanos[near] != 0]
    return Keys(keys, ((near, keys[near] - SECOND), (near, keys[near] + SECOND)))
