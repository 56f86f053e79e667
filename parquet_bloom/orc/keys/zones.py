"""The clocks by which ORC C++ and ORC Java read the times of a zone, and where they differ.

A file has instants. What a wall clock showed then depends on who reads:

                 before the first change     before 1900           from 1900 on
    ORC C++      what followed local mean    as the database has   as the database has
                 time                        it                    it
    ORC Java     -                           the standard time of  as the database has it,
                                             today                 local mean time included

So times before 1900 differ in most zones, and those before the first change in those that changed later
(Kathmandu: 1919). Here they are read as ORC C++ does; `other_walls` are what ORC Java shows. Some zones have
no clock that all versions of the database agree on: those that it has merged with others (merged_zones), those
of the USA without a place, and those whose rules end after 2037. Of them, all that are known count.

Files round times before 1970 up to whole seconds if they have a fraction. ORC C++ asks the clock before it takes
that second off, ORC Java afterwards: in the second before any change, they read two times.

From 2038 on, the zone's last rule applies for ever, so changes repeat every 400 years, with the calendar.

Sources: sun.util.calendar.ZoneInfo and ZoneInfoFile of OpenJDK; ORC C++, Timezone.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.orc.keys.merged_zones import MERGED

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import numpy as np
    from numpy.typing import NDArray

Millis: TypeAlias = "NDArray[np.int64]"
# Positions of times, and times that may stand for them.
Others: TypeAlias = "tuple[NDArray[np.int64], Millis]"

SECOND = 1_000
_HOUR: Final = 3_600 * SECOND
_DAY: Final = 24 * _HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RULE = datetime(2038, 1, 1, tzinfo=UTC)
# Before this year, Java has the standard time of today.
_FIRST: Final = 1900
# What was standard time in any year since then may be that of today, for one version of the database.
_TODAY: Final = 1980
# From this year on, Java goes by what it takes for a zone's last rule.
_RULED: Final = 2037
# Before any clock was set by a zone.
_FIRST_OF_ALL: Final = 1800
_CYCLE = timedelta(days=146_097)

# 2015-01-01 in UTC.
_2015: Final = 1_420_070_400
_ALWAYS_UTC: Final = ("UTC", "GMT", "Etc/UTC", "Etc/GMT")

# In between, no version of the database differs from another, but for a few weeks in Tehran: milliseconds.
AGREED_FROM: Final = 852_076_800_000
AGREED_UNTIL: Final = 2_082_758_400_000

# Before 1967, or later where the database says so, these had the rules of the USA or those of a city.
_WITHOUT_PLACE: Final = ("EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT")
_WITH_PLACE: Final = 1967
# Rules that follow Ramadan end in 2087; Java puts the clock of Windhoek back for ever in 2037.
_RULES_END: Final = (
    *("Africa/Casablanca", "Africa/El_Aaiun", "Africa/Windhoek"),
    *("Asia/Gaza", "Asia/Hebron"),
)

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

    def candidates(self, wall: Millis) -> tuple[Millis, Millis]:
        """The two instants at which it may have shown `wall`, mostly the same."""
        import numpy as np

        one, other = self.changes + self.offsets[:-1], self.changes + self.offsets[1:]
        return (
            self.instants(wall, np.maximum(one, other)),
            self.instants(wall, np.minimum(one, other)),
        )

    def walls(self, instants: Millis) -> Millis:
        """The wall-clock times at these instants."""
        return instants + self._offsets(instants, self.changes)

    def all_candidates(self, wall: Millis) -> Iterator[Millis]:
        """The instants at which ORC C++ may have read `wall`, also of times with a fraction before 1970."""
        yield from self.candidates(wall)
        for each in self.candidates(wall + SECOND):
            yield each - SECOND

    def all_walls(self, instants: Millis) -> Iterator[Millis]:
        """What ORC C++ may read at these instants, also of times with a fraction before 1970."""
        yield self.walls(instants)
        yield self.walls(instants + SECOND) - SECOND

    def seconds_before_changes(self) -> Millis:
        """The wall-clock times, before and after, at which the last seconds before changes begin, until
        1970."""
        import numpy as np

        walls = np.concatenate([self.changes + self.offsets[:-1], self.changes + self.offsets[1:]])
        return walls[walls < _DAY] - SECOND

    def until(self, change: int, offset: int) -> _Clock:
        """A clock that was `offset` ahead before an instant."""
        import numpy as np

        kept = np.searchsorted(self.changes, change, side="right")
        return _Clock(
            np.concatenate([[change], self.changes[kept:]]),
            np.concatenate([[offset], self.offsets[kept:]]),
        )

    def since(self, change: int, offset: int) -> _Clock:
        """A clock that is `offset` ahead from an instant on."""
        import numpy as np

        kept = np.searchsorted(self.changes, change, side="left")
        return _Clock(
            np.append(self.changes[:kept], change), np.append(self.offsets[: kept + 1], offset)
        )

    def _offsets(self, times: Millis, changes: NDArray[np.int64]) -> Millis:
        import numpy as np

        late = np.maximum(0, times - _millis(_RULE)) // _length(_CYCLE) * _length(_CYCLE)
        return np.asarray(self.offsets[np.searchsorted(changes, times - late, side="right")])


def candidates(wall: Millis, zone: str) -> tuple[Millis, Millis]:
    """The two instants (milliseconds since 1970) at which clocks in `zone` may have shown `wall`, as
    from_2015 reads them.

    They differ only where the clock was put back and showed the time twice, or was put forward and
    never showed it. Raises UnsupportedError for an unknown zone.
    """
    return _clock_of_cpp(zone).candidates(wall)


def other_walls(walls: Millis, zone: str) -> list[Others]:
    """What others may show for a value where from_2015 reads `walls`. Raises UnsupportedError for an
    unknown zone."""

    def shown(cpp: _Clock, other: _Clock, doubtful: Millis) -> Iterator[Millis]:
        for instants in cpp.all_candidates(doubtful):
            yield other.walls(instants)

    return _differing(walls, zone, shown)


def walls_here(walls: Millis, zone: str) -> list[Others]:
    """What from_2015 may read of a value for which others show `walls`. Raises as other_walls."""

    def read(cpp: _Clock, other: _Clock, doubtful: Millis) -> Iterator[Millis]:
        for instants in other.candidates(doubtful):
            yield from cpp.all_walls(instants)

    return _differing(walls, zone, read)


def _differing(
    walls: Millis, zone: str, meant: Callable[[_Clock, _Clock, Millis], Iterator[Millis]]
) -> list[Others]:
    import numpy as np

    clocks = _clocks(zone)
    in_doubt = np.flatnonzero(
        (walls < clocks.certain_from)
        | (walls >= clocks.certain_until)
        | _within_a_second(walls, clocks.seconds_before_changes)
    )
    if not in_doubt.size:
        return []
    doubtful = walls[in_doubt]
    found = []
    for other in clocks.others:
        for times in meant(clocks.of_cpp, other, doubtful):
            differ = np.flatnonzero(times != doubtful)
            if differ.size:
                found.append((in_doubt[differ], times[differ]))
    return found


def _within_a_second(walls: Millis, starts: Millis) -> NDArray[np.bool_]:
    """Which times are in the second that begins at any of `starts`, in ascending order."""
    import numpy as np

    if not starts.size or not walls.size or walls.min() >= starts[-1] + SECOND:
        return np.zeros(len(walls), np.bool_)
    last = starts[np.maximum(np.searchsorted(starts, walls, side="right") - 1, 0)]
    return (walls >= last) & (walls - last < SECOND)


def offsets_in_1970(zone: str) -> tuple[int, int]:
    """The least and the greatest number of milliseconds by which clocks in `zone` were ahead of UTC. Raises
    UnsupportedError."""
    if is_utc(zone):
        return 0, 0
    import numpy as np

    clocks = _clocks(zone)
    start = np.zeros(1, np.int64)
    shown = [int(each.walls(start)[0]) for each in (clocks.of_cpp, *clocks.others)]
    return min(shown), max(shown)


def is_utc(zone: str) -> bool:
    """Whether clocks in `zone` always show UTC."""
    return zone == "" or zone in _ALWAYS_UTC


def from_2015(seconds: memoryview, zone: str) -> memoryview:
    """The wall-clock times in `zone`, as if in UTC, in seconds since 1970, of `seconds` since 2015
    began there, which may become them. Raises UnsupportedError for an unknown zone, OverflowError for
    2^53 seconds or more."""
    if is_utc(zone):
        _kernel.orc_shift(seconds, _2015)
        return seconds
    began = _2015 - _offset(_zone(zone), _EPOCH + timedelta(seconds=_2015)) // SECOND
    _kernel.orc_shift(seconds, began)
    import numpy as np

    walls = _clock_of_cpp(zone).walls(np.asarray(seconds) * SECOND) // SECOND
    return walls.data


@dataclass(frozen=True, slots=True)
class _Clocks:
    """Those of a zone. `certain_from`, `certain_until`: the wall-clock times between which all show the
    same, in milliseconds, but for the seconds before changes until 1970, which begin at
    `seconds_before_changes`."""

    of_cpp: _Clock
    others: tuple[_Clock, ...]
    certain_from: int
    certain_until: int
    seconds_before_changes: Millis


@lru_cache(maxsize=16)
def _clocks(name: str) -> _Clocks:
    import numpy as np

    of_cpp = _clock_of_cpp(name)
    others = [*_clocks_of_java(name)]
    if merged := MERGED.get(_zone(name).key):
        others += [_clock_of_cpp(merged), *_clocks_of_java(merged)]
    changes = np.unique(np.concatenate([each.changes for each in (of_cpp, *others)]))
    starts = np.concatenate([[_year(_FIRST_OF_ALL)], changes])
    ends = np.append(changes, np.iinfo(np.int64).max)
    differ = np.any([each.walls(starts) != of_cpp.walls(starts) for each in others], axis=0)
    early, late = differ & (starts < _year(_RULED)), differ & (starts >= _year(_RULED))
    return _Clocks(
        of_cpp,
        tuple(others),
        int(ends[early].max(initial=_year(_FIRST_OF_ALL))) + _DAY,
        int(starts[late].min(initial=np.iinfo(np.int64).max)) - _DAY,
        np.unique(np.concatenate([each.seconds_before_changes() for each in (of_cpp, *others)])),
    )


def _clocks_of_java(name: str) -> Iterator[_Clock]:
    """Those that versions of Java may have, by what they take for the standard time of today."""
    clock = _clock(name)
    today = _standard_times(clock)
    for offset in today:
        yield clock.until(_year(_FIRST), offset)
    if _zone(name).key in _WITHOUT_PLACE:
        for offset in (min(today), min(today) + _HOUR):
            yield clock.until(_year(_WITH_PLACE), offset)
    if _zone(name).key in _RULES_END:
        for offset in (min(today), max(today), max(today) + _HOUR):
            ruled = clock.since(_year(_RULED) - _DAY, offset)
            yield ruled.until(_year(_FIRST), min(today))


def _standard_times(clock: _Clock) -> list[int]:
    """The standard time of each year since 1980, each once: the least offset, as Java has it."""
    import numpy as np

    found = set()
    for year in range(_TODAY, _RULED):
        months = np.array([_millis(datetime(year, month, 1, tzinfo=UTC)) for month in range(1, 13)])
        found.add(int((clock.walls(months) - months).min()))
    return sorted(found)


@lru_cache(maxsize=16)
def _clock_of_cpp(name: str) -> _Clock:
    """It shows no local mean time, but what followed it, if only by name."""
    clock = _clock(name)
    if not clock.changes.size:
        return clock
    zone = _zone(name)
    before = _EPOCH + timedelta(milliseconds=int(clock.changes[0])) - timedelta(seconds=1)
    start = datetime(_FIRST_OF_ALL, 1, 1, tzinfo=UTC)
    if before.astimezone(zone).tzname() != start.astimezone(zone).tzname():
        return clock
    return _Clock(clock.changes[1:], clock.offsets[1:])


@lru_cache(maxsize=16)
def _clock(name: str) -> _Clock:
    import numpy as np

    zone = _zone(name)
    changes: list[int] = []
    at = datetime(_FIRST_OF_ALL, 1, 1, tzinfo=UTC)
    offsets = [_offset(zone, at)]
    # The most common zones never change: skip the search.
    while not is_utc(name) and at < _RULE + _CYCLE:
        offset = _offset(zone, at + _STEP)
        if offset != offsets[-1]:
            changes.append(_millis(_change(zone, at, at + _STEP)))
            offsets.append(offset)
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


def _year(year: int) -> int:
    """When it began in UTC."""
    return _millis(datetime(year, 1, 1, tzinfo=UTC))


def _millis(at: datetime) -> int:
    return _length(at - _EPOCH)


def _length(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)
