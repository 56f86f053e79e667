"""How long several files took is said in words, where that is long, and nowhere else."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

from parquet_bloom.commands import find as find_command
from parquet_bloom.render import stopwatch
from parquet_bloom.render.stopwatch import Stopwatch


@pytest.fixture
def slow(monkeypatch):
    """Each look at the clock is 2.5 s later than the last."""
    monkeypatch.setattr(stopwatch, "LEAST_SECONDS", 1.0)
    monkeypatch.setattr(stopwatch, "time", SlowTime())


class SlowTime:
    def __init__(self) -> None:
        self._now = 0.0

    def perf_counter(self) -> float:
        self._now += 2.5
        return self._now


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = tmp_path / "lake"
    lake.mkdir()
    for name in ("a", "b"):
        pq.write_table(
            pa.table({"id": [f"{name} {n}" for n in range(50)]}), lake / f"{name}.parquet"
        )


INDEX = ("index", "build", "--index", "ix", "-c", "id")
CALLS = {
    "build": ("build", "-c", "id", "--in-place", "lake"),
    "strip": ("strip", "--in-place", "lake"),
    "validate": ("validate", "lake"),
    "inspect": ("inspect", "lake"),
    "probe": ("probe", "lake", "-c", "id", "-v", "a 7"),
    "probe by value": ("probe", "lake", "-c", "id", "-v", "a 7", "--by-value"),
    "find": ("find", "lake", "-c", "id", "-v", "a 7"),
    "index build": (*INDEX, "lake"),
    "index add": ("index", "add", "--index", "ix"),
    "index check": ("index", "check", "--index", "ix"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_total_of_several_files_ends_with_how_long_they_took(lake, slow, call):
    if call[1] in ("add", "check"):
        outcome(*INDEX, "lake")
    told = outcome(*call).stdout
    assert told.count("; 2.5 s\n") == 1
    assert " s\n" not in outcome(*call, "--json").stdout


def test_what_find_makes_of_rows_to_show_them_takes_time_too(lake, slow, monkeypatch):
    """Each of them is a look at the clock here."""
    show = find_command.show_value
    told = []
    for look in (show, lambda value: stopwatch.time.perf_counter() and show(value)):
        monkeypatch.setattr(stopwatch, "time", SlowTime())
        monkeypatch.setattr(find_command, "show_value", look)
        found = outcome("find", "lake", "-c", "id", "-v", "a 7", "-v", "b 7").stdout
        told.append(found.rpartition("; ")[2])
    assert told == ["2.5 s\n", "7.5 s\n"]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nothing_is_said_of_one_file_or_of_little_time(lake, monkeypatch, call):
    if call[1] in ("add", "check"):
        outcome(*INDEX, "lake")
    assert " s\n" not in outcome(*call).stdout
    monkeypatch.setattr(stopwatch, "LEAST_SECONDS", -1.0)
    assert Stopwatch().so_far(1) == ""
    assert Stopwatch().so_far(2).endswith(" s")
