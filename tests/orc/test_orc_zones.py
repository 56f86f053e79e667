"""Wall clocks as instants, as zoneinfo has them but before the first change. What others read:
test_orc_clocks.py."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.orc.clocks import candidates, offsets_in_1970

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Pacific/Apia",
    "Europe/Dublin",
)

# A year between the end of local mean time, if that was neither in 1900 nor a change of name alone, and the next
# change.
AFTER_MEAN_TIME = {
    "Africa/Casablanca": 1920,
    "America/St_Johns": 1890,
    "Asia/Kolkata": 1860,
    "Pacific/Apia": 1893,
    "America/New_York": 1890,
    "Europe/Dublin": 1890,
}


def millis(moment):
    return (moment - EPOCH) // timedelta(milliseconds=1)


def by_zoneinfo(wall, zone):
    """The two candidates by Python's folds."""
    local = (EPOCH + timedelta(milliseconds=wall)).replace(tzinfo=ZoneInfo(zone))
    return {millis(local.replace(fold=fold).astimezone(UTC)) for fold in (0, 1)}


@pytest.mark.parametrize("zone", ZONES)
def test_as_zoneinfo_has_them(zone):
    """At random moments, and at each quarter of an hour of days on which clocks are changed."""
    chance = random.Random(1)
    first, last = millis(datetime(1920, 1, 1, tzinfo=UTC)), millis(datetime(2400, 1, 1, tzinfo=UTC))
    walls = [chance.randrange(first, last) for _ in range(300)]
    for year in (1921, 1975, 2011, 2030, 2077):
        for day in range(0, 365 * 24 * 4, 24 * 4):
            start = datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(minutes=15 * day)
            if start.utcoffset() != (start + timedelta(days=1)).utcoffset():
                begin = millis(start.replace(tzinfo=UTC))
                walls += range(begin, begin + 2 * 86_400_000, 900_000)
    one, other = candidates(np.array(walls, np.int64), zone)
    found = [set(pair) for pair in zip(one.tolist(), other.tolist(), strict=True)]
    assert found == [by_zoneinfo(wall, zone) for wall in walls]


@pytest.mark.parametrize("zone", ZONES)
def test_far_years(zone):
    """Before the first change clocks go as after it; after 2438 as 400 years before, and again."""
    old = np.array([millis(datetime(1700, 7, 1, 12, tzinfo=UTC))])
    then = datetime(AFTER_MEAN_TIME.get(zone, 1900), 1, 1, tzinfo=ZoneInfo(zone)).utcoffset()
    assert candidates(old, zone)[0] == old - then // timedelta(milliseconds=1)
    cycle = 146_097 * 86_400_000
    for month in (1, 7):
        near = np.array([millis(datetime(2100, month, 1, 12, tzinfo=UTC))])
        for turns in (1, 5, 19):
            far = candidates(near + turns * cycle, zone)
            assert [int(each[0]) for each in far] == [
                int(each[0]) + turns * cycle for each in candidates(near, zone)
            ]


def test_offsets_in_1970():
    assert offsets_in_1970("UTC") == offsets_in_1970("") == (0, 0)
    assert offsets_in_1970("America/New_York") == (-5 * 3_600_000,) * 2
    assert offsets_in_1970("Asia/Kolkata") == (19_800_000,) * 2
    # Nobody was there until 1976, which ORC C++ does not know.
    assert offsets_in_1970("Antarctica/Rothera") == (-3 * 3_600_000, 0)


@pytest.mark.parametrize(
    "zone", ["Nowhere/At_All", "../../etc/passwd", "PST8PDT2", "Europe", "a\0b"]
)
def test_zones_that_nobody_knows(zone):
    for ask in (offsets_in_1970, lambda zone: candidates(np.zeros(1, np.int64), zone)):
        with pytest.raises(UnsupportedError) as found:
            ask(zone)
        assert str(found.value) == f"time zone {zone}: not in the time zone database"
