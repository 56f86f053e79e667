"""Timestamps of long ago and of years to come: what ORC Java shows, looks up and has in its filters, in the
zones of the time zone database. PBLOOM_ZONES=all: in each of them, which takes minutes."""

import os
import random
from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.orc.arrays import Times
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.clocks import local_keys, other_walls, walls_here
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import AskedValues

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000
# Paris and others in which ORC Java and ORC C++ read times before 1900 as different ones; Kathmandu, where they
# do until 1919; merged ones; rules that end; one that has no place; and one that never differs.
SOME = (
    *("Europe/Paris", "Asia/Kolkata", "Europe/Moscow", "America/Caracas", "Australia/Adelaide"),
    *("Asia/Kathmandu", "Europe/Amsterdam", "Africa/Bamako", "Africa/Casablanca", "Africa/Windhoek"),
    *("Asia/Gaza", "PST8PDT", "America/New_York", "Europe/Istanbul", "Pacific/Apia", "Antarctica/Rothera", "UTC"),
)  # fmt: skip
# Names that Java does not know, and takes for GMT.
NOT_IN_JAVA = {"America/Coyhaique", "Factory", "GMT+0", "GMT-0", "ROC", "localtime"}
# The autumn of 1978 in Tehran differs between versions of the database.
REVISED = {"Asia/Tehran", "Iran"}

ALL = os.environ.get("PBLOOM_ZONES") == "all"
ZONES = sorted(available_timezones() - NOT_IN_JAVA) if ALL else SOME


def millis(*date):
    return (datetime(*date, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)


# Of Paris, New York, Moscow and Amsterdam, as instants.
CHANGES = (
    *(millis(1916, 10, 1, 23), millis(1938, 3, 26, 23), millis(1946, 4, 28, 7)),
    *(millis(1916, 7, 2, 21, 29, 43), millis(1924, 10, 5, 1, 40, 28)),
)


def instants():
    """Before 1900, in each year of the twentieth century, right before changes, around 1970, and far from
    now."""
    chance = random.Random(1)
    found = [
        millis(1753, 1, 1),
        millis(1899, 12, 31, 23, 59, 59),
        millis(1900, 1, 1),
        0,
        -1,
        -SECOND,
    ]
    found += [chance.randrange(millis(1600, 1, 1), millis(1900, 1, 1)) for _ in range(30)]
    found += [
        chance.randrange(millis(year, 1, 1), millis(year + 1, 1, 1)) for year in range(1900, 2060)
    ]
    found += [change - before for change in CHANGES for before in (1, 999, SECOND)]
    found += [millis(2400, 7, 1), millis(9999, 12, 30)]
    return found


@pytest.fixture(scope="module")
def lake(tmp_path_factory, parquet_java):
    """A folder of files of each zone, and what ORC Java shows for each of their values."""
    folder = tmp_path_factory.mktemp("zones")
    (folder / "zones").write_text("\n".join(ZONES))
    (folder / "millis").write_text("\n".join(map(str, instants())))
    shown = {number: [] for number in range(len(ZONES))}
    for number, wall in parquet_java.run(
        "OrcZones", "write", folder, folder / "zones", folder / "millis"
    ):
        shown[int(number)].append(int(wall))
    for number in shown:
        pb.build(folder / f"{number}-plain.orc", folder / f"{number}-built.orc", columns=["t"])
    return folder, shown


# What ORC Java finds by filters of its own says something of ORC Java.
@pytest.mark.interop
@pytest.mark.parametrize("name", ["built", "own"] if ALL else ["built"])
def test_java_loses_nothing(lake, parquet_java, name):
    folder, _ = lake
    answers = parquet_java.run("OrcZones", "search", folder, folder / "zones", name)
    assert {ZONES[int(zone)]: int(lost) for zone, _, lost in answers if int(lost)} == {}


@pytest.mark.interop
@pytest.mark.parametrize("name", ["built", "own"])
def test_filters_are_right(lake, name):
    """PB401 would be wrong about those of ORC Java, too."""
    folder, shown = lake
    wrong = {}
    for number in shown:
        report = pb.validate(folder / f"{number}-{name}.orc")
        if any(found.severity == "error" for found in report.findings):
            wrong[ZONES[number]] = [found.message for found in report.findings]
    assert {zone for zone in wrong if zone not in REVISED} == set(), wrong


@pytest.mark.interop
@pytest.mark.parametrize("name", ["built", "own"])
def test_nothing_that_java_shows_is_absent(lake, name):
    folder, shown = lake
    absent = {}
    for number, walls in shown.items():
        moments = np.array(walls, "datetime64[ms]")
        report = pb.probe(folder / f"{number}-{name}.orc", "t", moments)
        missing = [
            str(moment)
            for moment, result in zip(moments, report.results, strict=True)
            if result.verdict == "absent"
        ]
        if missing:
            absent[ZONES[number]] = missing
    assert absent == {}


def test_clocks_that_differ():
    """Paris was 9 min 21 s ahead until 1911; ORC Java has an hour before 1900. Kathmandu left its local
    mean time, which ORC C++ does not show, in 1920."""
    hour = 3_600 * SECOND
    wall = np.array([millis(1753, 1, 1), millis(1905, 1, 1), millis(1950, 1, 1)])
    paris = other_walls(wall, "Europe/Paris")
    assert {(int(at), int(other - wall[at])) for of, others in paris for at, other in zip(of, others, strict=True)} == {
        (0, hour - 561 * SECOND)
    }  # fmt: skip
    kathmandu = other_walls(wall, "Asia/Kathmandu")
    assert {(int(at), int(other - wall[at])) for of, others in kathmandu for at, other in zip(of, others, strict=True)} == {
        (0, 15 * 60 * SECOND), (1, 676 * SECOND)
    }  # fmt: skip
    assert other_walls(wall, "UTC") == walls_here(wall, "Etc/UTC") == []


def test_the_second_before_a_change():
    """Paris put the clock back at midnight. ORC C++ has an hour less for the last fraction of a second
    before that, and shows a time of which nobody knows when it was."""
    change = millis(1916, 10, 1, 23)
    read, shown = np.array([change - 1]), np.array([change - 1 + 3_600 * SECOND])
    assert [walls.tolist() for _, walls in other_walls(read, "Europe/Paris")] == [shown.tolist()]
    assert [walls.tolist() for _, walls in walls_here(shown, "Europe/Paris")] == [read.tolist()]
    instants = {
        key
        for nanos in ([read[0] * 1_000_000], [read[0] * 1_000_000 - 999_000_000])
        for keys in [local_keys(Times.of(list(map(int, nanos))), "Europe/Paris")]
        for key in [
            *map(int, keys.numbers),
            *(int(each) for _, others in keys.others for each in others),
        ]
    }
    assert change - 1 in instants
    # A whole second, and years in which times are rounded down, are what they are.
    for wall in (change - 1 + SECOND, millis(1978, 10, 1) - 1):
        assert other_walls(np.array([wall]), "Europe/Paris") == []


def test_filters_have_room_for_the_keys_of_every_clock(tmp_path):
    """In New York, which is EST, and in Panama."""
    old = [datetime(1800, 1, 1) + timedelta(days=day) for day in range(10_000)]
    orc.write_table(pa.table({"t": pa.array(old, "timestamp[ms]")}), tmp_path / "gmt.orc")
    data = (tmp_path / "gmt.orc").read_bytes()
    assert data.count(b"GMT") == 1
    (tmp_path / "est.orc").write_bytes(data.replace(b"GMT", b"EST"))
    for zone in ("gmt", "est"):
        lake, built = tmp_path / f"{zone}.orc", tmp_path / f"{zone}-built.orc"
        (filters,) = pb.build(lake, built, columns=["t"]).filters
        assert filters.fpp < 0.015, zone
        assert pb.validate(built).ok
        (column,) = pb.advise(lake).columns
        assert column.filter_bytes, column.reason


def test_there_and_back():
    """What others show for what is read here may be read here as that."""
    wall = np.array([millis(1753, 1, 1), millis(1880, 5, 5), millis(1899, 12, 1)])
    for zone in SOME:
        for positions, shown in other_walls(wall, zone):
            back = {
                (int(at), int(found))
                for of, walls in walls_here(shown, zone)
                for at, found in zip(of, walls, strict=True)
            }
            for index, position in enumerate(positions):
                assert (index, int(wall[position])) in back, zone


def test_a_literal_of_a_zone_that_nobody_knows():
    """Certain for times at which all clocks agree, unknown for others."""
    column = OrcColumn(1, "t", "TIMESTAMP", (), 0, 0, 0, 0, {})
    form = OrcKeyForm(writer_timezone="Nowhere/At_All")
    assert AskedValues(column, [datetime(2020, 1, 1)]).hashes(form).unknown == {}
    assert AskedValues(column, [datetime(1890, 1, 1)]).hashes(form).unknown == {
        0: "time zone Nowhere/At_All: not in the time zone database"
    }
