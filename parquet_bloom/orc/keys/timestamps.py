"""The milliseconds that stand for a TIMESTAMP in a filter, and where writers and readers differ.

A TIMESTAMP is what a clock on the writer's wall showed. BLOOM_FILTER_UTF8 takes that clock for one
in UTC; BLOOM_FILTER takes the instant, in the writer's time zone. A TIMESTAMP_INSTANT is the same
in both.

Stored are whole seconds, rounded towards 1970, and nanoseconds that count upwards, and so nothing
tells the last second before 1970 from the first one after it. ORC Java asks for the sign of the
instant and ORC C++ for that of the wall clock, and where these differ the two read values one
second apart.

Source: ORC-306, ORC-645, ORC-763; ORC-135 for the change of clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.orc.arrow_numbers import integers
from parquet_bloom.orc.keys.zones import SECOND, Millis, candidates, offset_in_1970

DAY = 86_400 * SECOND

_PER_MILLI = {"ms": 1, "us": 1_000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class Moments:
    """The key of each timestamp, shape (n,), and other keys that those at `positions` may have."""

    millis: Millis
    others: tuple[tuple[NDArray[np.int64], Millis], ...]


def wall_clock_moments(values: Any, zone: str) -> Moments:
    """Of timestamps (an Arrow array without nulls) by the wall clock of a writer in `zone`."""
    return _with_neighbours(values, _millis(values), _unsigned_range(zone))


def instant_moments(values: Any) -> Moments:
    """Of timestamps that are instants."""
    return _with_neighbours(values, _millis(values), (-SECOND, SECOND))


def local_moments(values: Any, zone: str) -> Moments:
    """Of timestamps by a wall clock in `zone`, as the instants that they were.

    What the clock showed twice may have been either. Raises UnsupportedError for a zone that is not
    in the database of time zones.
    """
    first, last = candidates(_millis(values), zone)
    moments = _with_neighbours(values, first, _unsigned_range(zone))
    twice = np.flatnonzero(first != last)
    return Moments(first, (*moments.others, *([(twice, last[twice])] if twice.size else [])))


def _millis(values: Any) -> Millis:
    """Whole milliseconds since 1970, rounded down."""
    numbers = integers(values)
    if values.type.unit == "s":
        return numbers * SECOND
    return numbers // _PER_MILLI[values.type.unit]


def _unsigned_range(zone: str) -> tuple[int, int]:
    """From when to when, by the wall clock, one reader may take for before 1970 what another takes
    for after it."""
    try:
        offset = offset_in_1970(zone)
    except UnsupportedError:
        return -DAY, DAY
    return min(0, offset) - SECOND, max(0, offset) + SECOND


def _with_neighbours(values: Any, keys: Millis, unsigned: tuple[int, int]) -> Moments:
    """A second more and less is another key of what lies in seconds that nothing tells apart."""
    wall = _millis(values)
    near = np.flatnonzero((wall >= unsigned[0]) & (wall < unsigned[1]))
    if near.size:
        near = near[_has_fraction(values.take(pa.array(near)))]
    if not near.size:
        return Moments(keys, ())
    return Moments(keys, ((near, keys[near] - SECOND), (near, keys[near] + SECOND)))


def _has_fraction(values: Any) -> NDArray[np.bool_]:
    if values.type.unit == "s":
        return np.zeros(len(values), np.bool_)
    numbers = integers(values)
    return np.asarray(numbers % (SECOND * _PER_MILLI[values.type.unit]) != 0)
