"""The milliseconds that filters hash for timestamps, and where writers and readers disagree.

A TIMESTAMP is the writer's wall-clock time. BLOOM_FILTER_UTF8 takes it as UTC, BLOOM_FILTER converts
it to an instant by the writer's time zone. A TIMESTAMP_INSTANT is the same in both.

Files store whole seconds, rounded towards 1970, and nanoseconds that count upwards, so the last
second before 1970 and the first one after it look the same. ORC Java goes by the sign of the
instant and ORC C++ by that of the wall clock; where the signs differ, the two read values one
second apart.

Nor do the two agree on what the clocks of a zone showed long ago: such a TIMESTAMP has the keys of what
either reads.

A file has instants; what a wall clock showed then depends on who reads:

                 before the first change     before 1900           from 1900 on
    ORC C++      what followed local mean    as the database has   as the database has
                 time                        it                    it
    ORC Java     -                           the standard time of  as the database has it,
                                             today                 local mean time included

So times before 1900 differ in most zones, and those before the first change in those that changed later
(Kathmandu: 1919). Here they are read as ORC C++ does; `other_walls` are what ORC Java shows. Some zones have
no clock that all versions of the database agree on: those that it has merged with others, those of the USA
without a place, and those whose rules end after 2037. Of them, all that are known count.

Files round times before 1970 up to whole seconds if they have a fraction. ORC C++ asks the clock before it takes
that second off, ORC Java afterwards: in the second before any change, they read two times.

From 2038 on, the zone's last rule applies for ever, so changes repeat every 400 years, with the calendar.

Sources: ORC-306, ORC-645, ORC-763; ORC-135 for the change from instants to wall-clock times;
sun.util.calendar.ZoneInfo and ZoneInfoFile of OpenJDK; ORC C++, Timezone.cc; time zone database, files
`backward` and `backzone`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.orc.arrays import Held, Times

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Millis: TypeAlias = "NDArray[np.int64]"
# Positions of times, and times that may stand for them.
Others: TypeAlias = "tuple[NDArray[np.int64], Millis]"

SECOND = 1_000
_HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * _HOUR
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

# Zones that the database has merged with one that agrees with them since 1970. Before, they have a history of
# their own only where it is built with its file `backzone`, as Debian does; elsewhere, and in Java, that of
# the other zone.
_MERGED_WITH: Final = {
    "Africa/Abidjan": (
        "Africa/Accra Africa/Bamako Africa/Banjul Africa/Conakry Africa/Dakar"
        " Africa/Freetown Africa/Lome Africa/Nouakchott Africa/Ouagadougou"
        " Atlantic/Reykjavik Atlantic/St_Helena"
    ),
    "Africa/Johannesburg": ("Africa/Maseru Africa/Mbabane"),
    "Africa/Lagos": (
        "Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Libreville"
        " Africa/Luanda Africa/Malabo Africa/Niamey Africa/Porto-Novo"
    ),
    "Africa/Maputo": (
        "Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Kigali"
        " Africa/Lubumbashi Africa/Lusaka"
    ),
    "Africa/Nairobi": (
        "Africa/Addis_Ababa Africa/Asmara Africa/Dar_es_Salaam Africa/Djibouti"
        " Africa/Kampala Africa/Mogadishu Indian/Antananarivo Indian/Comoro Indian/Mayotte"
    ),
    "America/Panama": ("America/Atikokan America/Cayman EST"),
    "America/Phoenix": ("America/Creston MST"),
    "America/Puerto_Rico": (
        "America/Anguilla America/Antigua America/Aruba America/Blanc-Sablon"
        " America/Curacao America/Dominica America/Grenada America/Guadeloupe"
        " America/Montserrat America/Port_of_Spain America/St_Kitts America/St_Lucia"
        " America/St_Thomas America/St_Vincent America/Tortola"
    ),
    "America/Toronto": ("America/Nassau"),
    "Asia/Bangkok": ("Asia/Phnom_Penh Asia/Vientiane Indian/Christmas"),
    "Asia/Dubai": ("Asia/Muscat Indian/Mahe Indian/Reunion"),
    "Asia/Kuching": ("Asia/Brunei"),
    "Asia/Qatar": ("Asia/Bahrain"),
    "Asia/Riyadh": ("Antarctica/Syowa Asia/Aden Asia/Kuwait"),
    "Asia/Singapore": ("Asia/Kuala_Lumpur"),
    "Asia/Yangon": ("Indian/Cocos"),
    "Europe/Athens": ("EET"),
    "Europe/Belgrade": ("Europe/Ljubljana Europe/Sarajevo Europe/Skopje Europe/Zagreb"),
    "Europe/Berlin": ("Europe/Copenhagen Europe/Oslo Europe/Stockholm"),
    "Europe/Brussels": ("CET Europe/Amsterdam Europe/Luxembourg MET"),
    "Europe/Lisbon": ("WET"),
    "Europe/London": ("Europe/Guernsey Europe/Isle_of_Man Europe/Jersey"),
    "Europe/Paris": ("Europe/Monaco"),
    "Europe/Zurich": ("Europe/Vaduz"),
    "Indian/Maldives": ("Indian/Kerguelen"),
    "Pacific/Auckland": ("Antarctica/McMurdo"),
    "Pacific/Guadalcanal": ("Pacific/Pohnpei"),
    "Pacific/Guam": ("Pacific/Saipan"),
    "Pacific/Honolulu": ("HST"),
    "Pacific/Pago_Pago": ("Pacific/Midway"),
    "Pacific/Port_Moresby": ("Antarctica/DumontDUrville Pacific/Chuuk"),
    "Pacific/Tarawa": ("Pacific/Funafuti Pacific/Majuro Pacific/Wake Pacific/Wallis"),
}

_MERGED: Final = {name: zone for zone, names in _MERGED_WITH.items() for name in names.split()}


# ------------------------------------------------------------------------------------------------
# The keys of timestamps


@dataclass(frozen=True, slots=True)
class KeyNumbers:
    """One number per value, shape (n,), and in `others` positions of values with further numbers
    that may stand for them."""

    numbers: Held
    others: Sequence[tuple[NDArray[np.int64], Array]] = ()


def wall_clock_keys(values: Times, zone: str) -> KeyNumbers:
    """The keys of timestamps as wall-clock times in `zone`, as they are read here and by others."""
    keys = _with_neighbours(values, _unsigned_range(zone))
    if is_utc(zone):
        return keys
    try:
        others = [*keys.others, *other_walls(np.asarray(keys.numbers), zone)]
        for near, neighbours in keys.others:
            found = other_walls(neighbours, zone)
            others += [(near[positions], walls) for positions, walls in found]
    except UnsupportedError:
        # As no value of the zone can be read, these are literals: see as_read_here.
        return keys
    return KeyNumbers(keys.numbers, others)


def as_read_here(values: Times, zone: str) -> tuple[NDArray[np.int64], Times]:
    """What is read here of values for which others show `values`, where that is something else:
    positions in `values`, and times. Raises UnsupportedError for an unknown zone, if any value is of a
    time at which the clocks of zones may differ."""
    try:
        found = [] if is_utc(zone) else walls_here(values.millis, zone)
    except UnsupportedError:
        if not np.all((values.millis >= AGREED_FROM) & (values.millis < AGREED_UNTIL)):
            raise
        found = []
    positions = np.concatenate([np.empty(0, np.int64), *(at for at, _ in found)])
    seconds = np.concatenate([np.empty(0, np.int64), *(walls for _, walls in found)]) // SECOND
    return positions, Times(seconds, values.nanos[positions])


def instant_keys(values: Times) -> KeyNumbers:
    """The keys of timestamps that are instants."""
    return _with_neighbours(values, (-SECOND, SECOND))


def local_keys(values: Times, zone: str) -> KeyNumbers:
    """The keys of wall-clock times in `zone`, converted to instants: those of the file, whoever reads it.

    A time that the clock showed twice has two keys, and so may one in the second before a change, see above.
    Raises UnsupportedError for an unknown zone.
    """
    walls = values.millis
    first, last = candidates(walls, zone)
    keys = _with_neighbours(values, _unsigned_range(zone), first)
    is_rounded = (walls < DAY) & (values.nanos != 0)
    rounded = [each - SECOND for each in candidates(walls + SECOND, zone)]
    further = (last, *(np.where(is_rounded, each, first) for each in rounded))
    others = [(np.flatnonzero(each != first), each) for each in further]
    return KeyNumbers(first, (*keys.others, *((at, each[at]) for at, each in others if at.size)))


def _unsigned_range(zone: str) -> tuple[int, int]:
    """The wall-clock range in which readers may disagree on whether a time is before 1970."""
    try:
        least, greatest = offsets_in_1970(zone)
    except UnsupportedError:
        return -DAY, DAY
    return min(0, least) - SECOND, max(0, greatest) + SECOND


def _with_neighbours(
    values: Times, unsigned: tuple[int, int], keys: NDArray[np.int64] | None = None
) -> KeyNumbers:
    """With the keys one second earlier and later of times that readers may take for each other.
    `keys`: the milliseconds if None."""
    wall, is_near = values.to_millis(*unsigned)
    if not is_near:
        return KeyNumbers(wall if keys is None else keys)
    walls = np.asarray(wall)
    keys = walls if keys is None else keys
    near = np.flatnonzero((walls >= unsigned[0]) & (walls < unsigned[1]))
    near = near[values.nanos[near] != 0]
    return KeyNumbers(keys, ((near, keys[near] - SECOND), (near, keys[near] + SECOND)))


# ------------------------------------------------------------------------------------------------
# Clocks


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
        walls = np.concatenate([self.changes + self.offsets[:-1], self.changes + self.offsets[1:]])
        return walls[walls < DAY] - SECOND

    def until(self, change: int, offset: int) -> _Clock:
        """A clock that was `offset` ahead before an instant."""
        kept = np.searchsorted(self.changes, change, side="right")
        return _Clock(
            np.concatenate([[change], self.changes[kept:]]),
            np.concatenate([[offset], self.offsets[kept:]]),
        )

    def since(self, change: int, offset: int) -> _Clock:
        """A clock that is `offset` ahead from an instant on."""
        kept = np.searchsorted(self.changes, change, side="left")
        return _Clock(
            np.append(self.changes[:kept], change), np.append(self.offsets[: kept + 1], offset)
        )

    def _offsets(self, times: Millis, changes: NDArray[np.int64]) -> Millis:
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
    if not starts.size or not walls.size or walls.min() >= starts[-1] + SECOND:
        return np.zeros(len(walls), np.bool_)
    last = starts[np.maximum(np.searchsorted(starts, walls, side="right") - 1, 0)]
    return (walls >= last) & (walls - last < SECOND)


def offsets_in_1970(zone: str) -> tuple[int, int]:
    """The least and the greatest number of milliseconds by which clocks in `zone` were ahead of UTC. Raises
    UnsupportedError."""
    if is_utc(zone):
        return 0, 0
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
    of_cpp = _clock_of_cpp(name)
    others = [*_clocks_of_java(name)]
    if merged := _MERGED.get(_zone(name).key):
        others += [_clock_of_cpp(merged), *_clocks_of_java(merged)]
    changes = np.unique(np.concatenate([each.changes for each in (of_cpp, *others)]))
    starts = np.concatenate([[_year(_FIRST_OF_ALL)], changes])
    ends = np.append(changes, np.iinfo(np.int64).max)
    differ = np.any([each.walls(starts) != of_cpp.walls(starts) for each in others], axis=0)
    early, late = differ & (starts < _year(_RULED)), differ & (starts >= _year(_RULED))
    return _Clocks(
        of_cpp,
        tuple(others),
        int(ends[early].max(initial=_year(_FIRST_OF_ALL))) + DAY,
        int(starts[late].min(initial=np.iinfo(np.int64).max)) - DAY,
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
            ruled = clock.since(_year(_RULED) - DAY, offset)
            yield ruled.until(_year(_FIRST), min(today))


def _standard_times(clock: _Clock) -> list[int]:
    """The standard time of each year since 1980, each once: the least offset, as Java has it."""
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
