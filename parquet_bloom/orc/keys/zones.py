"""Convert wall-clock times to instants as Java does.

Times before 1900 use the offset of 1900. From 2038 on, the zone's last rule applies for ever, so
changes repeat every 400 years, with the calendar.

Source: sun.util.calendar.ZoneInfoFile of OpenJDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.errors import UnsupportedError

Millis = NDArray[np.int64]

SECOND = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _RULE = (datetime(year, 1, 1, tzinfo=UTC) for year in (1900, 2038))
_CYCLE = timedelta(days=146_097)

# Shorter than any time between two changes: Morocco's DST pauses for a month.
_STEP = timedelta(days=10)


@dataclass(frozen=True, slots=True)
class _Clock:
    """Offsets from UTC in milliseconds, shape (n + 1,), and the instants in milliseconds at which
    they change, shape (n,)."""

    changes: Millis
    offsets: Millis

    def instants(self, wall: Millis, before: NDArray[np.int64]) -> Millis:
        """The instants of wall-clock times, if changes take effect at the wall times `before`."""
        late = np.maximum(0, wall - _millis(_RULE)) // _length(_CYCLE) * _length(_CYCLE)
        index = np.searchsorted(before, wall - late, side="right")
        return np.asarray(wall - self.offsets[index])


def candidates(wall: Millis, zone: str) -> tuple[Millis, Millis]:
    """The two instants (milliseconds since 1970) at which clocks in `zone` may have shown `wall`.

    They differ only where the clock was put back and showed the time twice, or was put forward and
    never showed it. Raises UnsupportedError for an unknown zone.
    """
    clock = _clock(zone)
    one, other = clock.changes + clock.offsets[:-1], clock.changes + clock.offsets[1:]
    return (
        clock.instants(wall, np.maximum(one, other)),
        clock.instants(wall, np.minimum(one, other)),
    )


def offset_in_1970(zone: str) -> int:
    """Milliseconds by which clocks in `zone` were ahead of UTC. Raises UnsupportedError."""
    return _offset(_zone(zone), _EPOCH)


@lru_cache(maxsize=16)
def _clock(name: str) -> _Clock:
    zone = _zone(name)
    changes: list[int] = []
    offsets = [_offset(zone, _FIRST)]
    # The most common zone never changes: skip the search.
    at = _RULE + _CYCLE if zone.key == "UTC" else _FIRST
    while at < _RULE + _CYCLE:
        if _offset(zone, at + _STEP) != offsets[-1]:
            changes.append(_millis(_change(zone, at, at + _STEP)))
            offsets.append(_offset(zone, at + _STEP))
        at += _STEP
    return _Clock(np.array(changes, np.int64), np.array(offsets, np.int64))


def _change(zone: ZoneInfo, start: datetime, end: datetime) -> datetime:
    """The instant between `start` and `end` at which the offset becomes that of `end`."""
    wanted = _offset(zone, end)
    while end - start > timedelta(seconds=1):
        middle = start + timedelta(seconds=(end - start) // timedelta(seconds=2))
        if _offset(zone, middle) == wanted:
            end = middle
        else:
            start = middle
    return end


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (KeyError, ValueError, OSError):
        raise UnsupportedError(f"time zone {name}: not in the time zone database") from None


def _offset(zone: ZoneInfo, at: datetime) -> int:
    return _length(at.astimezone(zone).utcoffset() or timedelta())


def _millis(at: datetime) -> int:
    return _length(at - _EPOCH)


def _length(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)
