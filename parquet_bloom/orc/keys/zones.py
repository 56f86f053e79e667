"""Convert wall-clock times to instants as Java does, and instants to wall-clock times as ORC C++ does.

In Java, times before 1900 use the offset of 1900. From 2038 on, the zone's last rule applies for ever,
so changes repeat every 400 years, with the calendar.

Sources: sun.util.calendar.ZoneInfoFile of OpenJDK; ORC C++, Timezone.cc.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy as np
    from numpy.typing import NDArray

Millis: TypeAlias = "NDArray[np.int64]"

SECOND = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RULE = datetime(2038, 1, 1, tzinfo=UTC)
# Before this year, Java has the offset of its start.
_FIRST: Final = 1900
# Before any clock was set by a zone.
_FIRST_OF_ALL: Final = 1800
_CYCLE = timedelta(days=146_097)

# 2015-01-01 in UTC.
_2015: Final = 1_420_070_400
_ALWAYS_UTC: Final = ("UTC", "GMT", "Etc/UTC", "Etc/GMT")

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
        return wall - self._offsets(wall, before)

    def walls(self, instants: Millis) -> Millis:
        """The wall-clock times at these instants."""
        return instants + self._offsets(instants, self.changes)

    def _offsets(self, times: Millis, changes: NDArray[np.int64]) -> Millis:
        import numpy as np

        late = np.maximum(0, times - _millis(_RULE)) // _length(_CYCLE) * _length(_CYCLE)
        return np.asarray(self.offsets[np.searchsorted(changes, times - late, side="right")])


def candidates(wall: Millis, zone: str) -> tuple[Millis, Millis]:
    """The two instants (milliseconds since 1970) at which clocks in `zone` may have shown `wall`.

    They differ only where the clock was put back and showed the time twice, or was put forward and
    never showed it. Raises UnsupportedError for an unknown zone.
    """
    import numpy as np

    clock = _clock(zone)
    one, other = clock.changes + clock.offsets[:-1], clock.changes + clock.offsets[1:]
    return (
        clock.instants(wall, np.maximum(one, other)),
        clock.instants(wall, np.minimum(one, other)),
    )


@lru_cache(maxsize=16)
def offset_in_1970(zone: str) -> int:
    """Milliseconds by which clocks in `zone` were ahead of UTC. Raises UnsupportedError."""
    return _offset(_zone(zone), _EPOCH)


def from_2015(seconds: memoryview, zone: str) -> memoryview:
    """The wall-clock times in `zone`, as if in UTC, in seconds since 1970, of `seconds` since 2015
    began there, which may become them. Raises UnsupportedError for an unknown zone, OverflowError for
    2^53 seconds or more."""
    if _zone(zone).key in _ALWAYS_UTC:
        _kernel.orc_shift(seconds, _2015)
        return seconds
    began = _2015 - _offset(_zone(zone), _EPOCH + timedelta(seconds=_2015)) // SECOND
    _kernel.orc_shift(seconds, began)
    import numpy as np

    walls = _clock_of_cpp(zone).walls(np.asarray(seconds) * SECOND) // SECOND
    return walls.data


@lru_cache(maxsize=16)
def _clock_of_cpp(name: str) -> _Clock:
    """It shows no local mean time, but what followed it, if only by name."""
    clock = _clock(name, _FIRST_OF_ALL)
    if not clock.changes.size:
        return clock
    zone = _zone(name)
    before = _EPOCH + timedelta(milliseconds=int(clock.changes[0])) - timedelta(seconds=1)
    start = datetime(_FIRST_OF_ALL, 1, 1, tzinfo=UTC)
    if before.astimezone(zone).tzname() != start.astimezone(zone).tzname():
        return clock
    return _Clock(clock.changes[1:], clock.offsets[1:])


@lru_cache(maxsize=16)
def _clock(name: str, first: int = _FIRST) -> _Clock:
    import numpy as np

    zone = _zone(name)
    changes: list[int] = []
    start = datetime(first, 1, 1, tzinfo=UTC)
    offsets = [_offset(zone, start)]
    # The most common zones never change: skip the search.
    at = _RULE + _CYCLE if zone.key in _ALWAYS_UTC else start
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
    # Of use to timestamps alone, and takes as long as all of this package's modules for values.
    from zoneinfo import ZoneInfo

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
