"""What every test shares: how to say that something is missing, and where the test files lie."""

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
SHARED = ROOT.parent / "shared"

# `make long`: what takes minutes is done at length, and not in the form that `make test` has.
IS_LONG = os.environ.get("PBLOOM_LONG") == "1"

pytest_plugins = [
    "make.code_paths",
    "make.foreign_kernel",
    "make.hostile_files",
    "make.leak_files",
    "make.memory_end",
    "make.object_files",
    "make.repair_files",
    "make.spark_session",
    "oracle.fixtures",
]

GOLDEN_RATIO = (1 + 5**0.5) / 2

# What tests write is in memory, if that has room and may hold programs: the suite would wait for a disk for a third
# of its time, as `make long` does.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30

# Hundreds of processes are started here: what one has compiled, the next need not, whatever the
# environment asks for.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The same examples on every run, whatever else is going on: no clock decides, and nothing is kept.
settings.register_profile(
    "seeded",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100 if IS_LONG else 30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("seeded")


def has_room_in_memory() -> bool:
    """As in few containers."""
    if not os.access(MEMORY, os.W_OK):
        return False
    found = os.statvfs(MEMORY)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= ROOM


if not IS_LONG and has_room_in_memory():
    # The name that pytest has for where its numbered folders are.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_configure() -> None:
    """Whatever is started here hears signals, although `make test &` and nohup ignore some: what a
    process ignores its children ignore, what it has a handler for they do not."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Tens of thousands of tests are made, none of which is garbage: looking for some takes a third of
    the time, in each process."""
    gc.disable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked `long` is part of `make long` alone, and of what is marked `every(n)` only some; but all that is
    asked for by name is there."""
    if IS_LONG or any("::" in each for each in config.args):
        return
    kept = set(map(id, in_short(items)))
    config.hook.pytest_deselected(items=[each for each in items if id(each) not in kept])
    items[:] = [each for each in items if id(each) in kept]


def in_short(items: list[pytest.Item]) -> "Iterator[pytest.Item]":
    """Without what is long, and with one in `n` of the cases of a test that is marked `every(n)`.

    Multiples of the golden ratio, modulo one, are spread evenly, and have no period that could meet one of the cases,
    as where each third is of the same kind. The first case is always there.
    """
    seen: dict[str, int] = {}
    for item in items:
        if item.get_closest_marker("long"):
            continue
        marker = item.get_closest_marker("every")
        if marker is not None:
            test = item.nodeid.partition("[")[0]
            number = seen[test] = seen.get(test, -1) + 1
            if number * GOLDEN_RATIO % 1 >= 1 / marker.args[0]:
                continue
        yield item


def pytest_collection_finish() -> None:
    """Nor is any of them looked at again while the tests run."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Scheduling | None":
    """--dist loadfile, as suits this suite."""
    if config.getvalue("dist") != "loadfile":
        return None
    from make.schedule import SparkTogether

    return SparkTogether(config, log)


@pytest.fixture(scope="session", autouse=True)
def _no_work_takes_long() -> "Iterator[None]":
    """What is printed says nothing of this machine: how long many files took is told by the test of that alone."""
    from parquet_bloom.render import stopwatch

    with mock.patch.object(stopwatch, "LEAST_SECONDS", float("inf")):
        yield


def missing(what: str) -> NoReturn:
    """Skip a test for want of `what`; under PBLOOM_STRICT=1 only the shared folder may be missing
    (and what the processor lacks, see make/code_paths.py)."""
    if os.environ.get("PBLOOM_STRICT") == "1" and not what.startswith("../shared"):
        pytest.fail(f"missing: {what}", pytrace=False)
    pytest.skip(f"missing: {what}")
