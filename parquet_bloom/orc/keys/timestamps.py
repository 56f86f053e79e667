"""The milliseconds that a filter hashes for a TIMESTAMP, and where writers and readers disagree.

A TIMESTAMP is the writer's wall-clock time. BLOOM_FILTER_UTF8 takes it as UTC; BLOOM_FILTER converts
it to the instant, by the writer's time zone. A TIMESTAMP_INSTANT is the same in both.

Files store whole seconds, rounded towards 1970, and nanoseconds that count upwards, so the last
second before 1970 and the first one after it look the same. ORC Java goes by the sign of the
instant and ORC C++ by that of the wall clock; where the signs differ, the two read values one
second apart.

Source: ORC-306, ORC-645, ORC-763; ORC-135 for the change from instants to wall-clock times.
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
    """The key of each timestamp, shape (n,), and in `others` possible further keys of those at
    positions."""

    millis: Millis
    others: tuple[tuple[NDArray[np.int64], Millis], ...]


def wall_clock_moments(values: Any, zone: str) -> Moments:
    """The keys of timestamps (an Arrow array without nulls) as wall-clock times in `zone`."""
    return _add_neighbours(values, _millis(values), _unsigned_range(zone))


def instant_moments(values: Any) -> Moments:
    """The keys of timestamps that are instants."""
    return _add_neighbours(values, _millis(values), (-SECOND, SECOND))


def local_moments(values: Any, zone: str) -> Moments:
    """The keys of wall-clock times in `zone`, converted to instants.

    A time that the clock showed twice has two keys. Raises UnsupportedError for an unknown zone.
    """
    first, last = candidates(_millis(values), zone)
    moments = _add_neighbours(values, first, _unsigned_range(zone))
    twice = np.flatnonzero(first != last)
    return Moments(first, (*moments.others, *([(twice, last[twice])] if twice.size else [])))


def _millis(values: Any) -> Millis:
    """Whole milliseconds since 1970, rounded down."""
    numbers = integers(values)
    if values.type.unit == "s":
        return numbers * SECOND
    return numbers // _PER_MILLI[values.type.unit]


def _unsigned_range(zone: str) -> tuple[int, int]:
    """The wall-clock range in which readers may disagree whether a time is before or after 1970."""
    try:
        offset = offset_in_1970(zone)
    except UnsupportedError:
        return -DAY, DAY
    return min(0, offset) - SECOND, max(0, offset) + SECOND


def _add_neighbours(values: Any, keys: Millis, unsigned: tuple[int, int]) -> Moments:
    """Add the keys one second before and after for times in seconds that cannot be told apart."""
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
