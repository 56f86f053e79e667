"""A local Spark session, and what its processes take: the driver, its JVM, and the Python workers.

For programs of their own, so that the memory that Spark takes is not the benchmark's.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")

# Between two looks at the workers, in seconds.
INTERVAL = 10

# In which a rewrite of large files has room for its row groups.
CONFIGURATION = {"spark.driver.memory": "3g"}

# Where the Linux kernel says what a process has taken at most, and where it is told to forget it.
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
FORGET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the clock, and on all processors: of the driver's Python, of the JVM, which has the
    executor in it, and of the Python workers, with those that have ended."""

    wall: float
    driver: float
    jvm: float
    workers: float

    @property
    def python(self) -> float:
        return self.driver + self.workers

    @property
    def cpu(self) -> float:
        return self.python + self.jvm

    def __sub__(self, before: Spent) -> Spent:
        return Spent(**{name: value - asdict(before)[name] for name, value in asdict(self).items()})


class Workers:
    """What a JVM has started. Spark ends a Python worker that had nothing to do for a minute, and no other process
    is told what it took: so it is looked at more often."""

    def __init__(self, jvm: int) -> None:
        self._jvm = jvm
        self._spent: dict[tuple[int, int], float] = {}
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def cpu(self) -> float:
        """Seconds of all of them so far."""
        with self._lock:
            processes = _processes()
            for number in _descendants(self._jvm, processes):
                process = processes[number]
                # A number is used again.
                self._spent[number, process.started] = process.cpu
            return sum(self._spent.values())

    def stop(self) -> None:
        self._is_over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._is_over.wait(INTERVAL):
            self.cpu()


@dataclass(frozen=True, slots=True)
class Session:
    spark: Any
    workers: Workers

    def spent(self) -> Spent:
        """So far."""
        jvm = self.spark.sparkContext._gateway.proc.pid
        return Spent(time.perf_counter(), time.process_time(), _own_cpu(jvm), self.workers.cpu())


@contextmanager
def local_session() -> Iterator[Session]:
    """On all processors."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from parquet_bloom.spark.session import session

    with session(None, None, CONFIGURATION) as spark:
        workers = Workers(spark.sparkContext._gateway.proc.pid)
        try:
            yield Session(spark, workers)
        finally:
            workers.stop()


def old_generation(spark: Any) -> int:
    """The bytes of all that the JVM cannot forget."""
    jvm = spark._jvm
    # What the first collection finds unreachable may hold more until it is finalized.
    for _ in range(2):
        jvm.java.lang.System.gc()
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    return sum(pool.getUsage().getUsed() for pool in pools if pool.getName().endswith("Old Gen"))


def result_bytes(spark: Any) -> int:
    """What the tasks of all jobs have sent to the driver so far."""
    gateway = spark.sparkContext._gateway
    store = spark.sparkContext._jsc.sc().statusStore()
    all_tasks = gateway.jvm.java.util.ArrayList()
    stages = store.stageList(
        None, False, False, gateway.new_array(gateway.jvm.double, 0), all_tasks
    )
    return sum(stages.apply(number).resultSize() for number in range(stages.length()))


def forget_peak() -> None:
    CLEAR.write_text(FORGET_PEAK)


def peak() -> int:
    """The most resident bytes of this process since the last forget_peak."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    started: int
    cpu: float


def _processes() -> dict[int, _Process]:
    """All of this machine, by number; the CPU seconds of each with those of its children that have ended."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # It may have ended meanwhile.
        with suppress(OSError):
            fields = _fields(stat)
            cpu = sum(map(int, fields[11:15])) / TICKS
            found[int(stat.parent.name)] = _Process(int(fields[1]), int(fields[19]), cpu)
    return found


def _own_cpu(process: int) -> float:
    """Without that of its children."""
    return sum(map(int, _fields(Path(f"/proc/{process}/stat"))[11:13])) / TICKS


def _fields(stat: Path) -> list[str]:
    """From the state on, which is behind a name in parentheses."""
    return stat.read_text().rpartition(")")[2].split()


def _descendants(root: int, processes: dict[int, _Process]) -> Iterator[int]:
    children = defaultdict(list)
    for number, process in processes.items():
        children[process.parent].append(number)
    left = list(children[root])
    while left:
        number = left.pop()
        yield number
        left += children[number]
