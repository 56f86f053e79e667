"""A Spark cluster on this machine, out of the pyspark package: a master, two workers, a driver.

The workers are bound to 127.0.0.1 and 127.0.0.2: they are two hosts for Spark, which places no
speculative copy of a task on the host of the first. The driver is a process of its own: there is
but one Spark context in a process, and the tests' own is another.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

import pyspark
from conftest import ROOT
from oracle.parquet_java import QUICK

HOSTS = ("127.0.0.1", "127.0.0.2")
# For a machine on which much else is going on.
DEADLINE = 600

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
DEPLOY = "org.apache.spark.deploy"

QUICK_START = " ".join(QUICK)

CONF: dict[str, Any] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    # A copy of a task only where it would be wrong not to make one: other tasks are much quicker.
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "2",
    "spark.speculation.minTaskRuntime": "4s",
    "spark.sql.shuffle.partitions": "2",
}


class Cluster:
    """Use as a context manager; afterwards nothing of it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port, self._status_port = free_ports(2)
        self.url = f"spark://127.0.0.1:{port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            master = ("--host", "127.0.0.1", "--port", self.url.rpartition(":")[2])
            ui = ("--webui-port", str(self._status_port))
            self._start("master", "127.0.0.1", f"{DEPLOY}.master.Master", *master, *ui)
            for host in HOSTS:
                self.start_worker(host)
            self.wait_for_workers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_worker(self, host: str) -> None:
        place = ("--host", host, "--port", "0", "--webui-port", "0")
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"work-{host}"))
        self._start(host, host, f"{DEPLOY}.worker.Worker", *place, *size, self.url)

    def _start(self, name: str, host: str, *command: str) -> None:
        tests = str(ROOT / "tests")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), tests]),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self.folder / f"local-{host}"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_START} -Dspark.master.rest.enabled=false",
        }
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                # Whatever becomes of the tests, they do not leave it behind.
                ["setpriv", "--pdeathsig", "KILL", str(SPARK_CLASS), *command],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, cwd=self.folder,
            )  # fmt: skip

    def wait_for_workers(self) -> None:
        """Until the master knows of as many workers as there are hosts."""
        deadline = time.monotonic() + DEADLINE
        while self._workers() != len(HOSTS):
            if time.monotonic() > deadline:
                logs = [path.read_text()[-2000:] for path in self.folder.glob("*.log")]
                raise TimeoutError("\n".join(["the cluster did not start", *logs]))
            time.sleep(0.1)

    def _workers(self) -> int:
        try:
            with urlopen(f"http://127.0.0.1:{self._status_port}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):
            return 0

    def kill(self, name: str) -> None:
        """The process and what it has started, at once."""
        process = self.processes.pop(name)
        for member in members(process.pid):
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        process.wait()

    def host_of(self, worker: int) -> str:
        """Where the worker with this process id runs."""
        return next(name for name, process in self.processes.items() if process.pid == worker)

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)


def members(session: int) -> list[int]:
    """The processes of a session; Python workers leave the group of their executor."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                found.append(int(stat.parent.name))
    return found


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Conductor:
    """Where the executors stop, until they are told to go on; see cluster_hooks."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(DEADLINE)
        self.port = self._listener.getsockname()[1]
        self._waiting = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._waiting.close()

    def next(self) -> "Stopped":
        """The next attempt that comes to the place."""
        connection, _ = self._listener.accept()
        self._waiting.enter_context(connection)
        connection.settimeout(DEADLINE)
        return Stopped(connection)


class Stopped:
    """An attempt that waits."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        with connection.makefile() as lines:
            self.about: dict[str, Any] = json.loads(lines.readline())

    def go_on(self) -> None:
        self._connection.sendall(b"!")
        self.is_gone()

    def is_gone(self) -> bool:
        """Wait until nobody is there any more."""
        with suppress(ConnectionResetError):
            return self._connection.recv(1) == b""
        return True


@contextmanager
def driver(
    folder: Path, make: Callable[..., None], *arguments: Any
) -> Iterator[Callable[..., "Future[Any]"]]:
    """A process with a session; gives what submits functions of this module to it."""
    log = folder / f"driver-{make.__name__}.log"
    pool = ProcessPoolExecutor(1, get_context("spawn"), _begin, (log, make, arguments))
    try:
        yield pool.submit
    finally:
        # Not by stop(): that of Connect goes on asking a server which it has just stopped. Spark's
        # process ends with the one that has started it.
        with suppress(BrokenProcessPool):
            pool.submit(os._exit, 0).result(DEADLINE)
        pool.shutdown()


# ------------------------------------------------------------------------------------------------
# In the process of the driver

_SESSIONS: list[Any] = []


def _begin(log: Path, make: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    tempfile.tempdir = str(log.parent)
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    make(*arguments)


def classic(url: str) -> None:
    """A classic session on the cluster."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(url).appName("parquet_bloom").config(map=CONF)
    _SESSIONS.append(builder.getOrCreate())
    _SESSIONS[0].sparkContext.setLogLevel("WARN")


def connect(url: str) -> None:
    """A Connect session, whose server is on the cluster."""
    from pyspark.sql import SparkSession

    settings = CONF | {"spark.api.mode": "connect"}
    builder = SparkSession.builder.master(url).appName("parquet_bloom").config(map=settings)
    _SESSIONS.append(builder.getOrCreate())


# Of a file that is built in parts: some of them for each of the tests' files.
PART_BYTES = 128 << 10


def run_verb(
    verb: str,
    paths: Any,
    options: Mapping[str, Any],
    stop: Mapping[str, Any] | None = None,
    least_huge: int | None = None,
) -> Any:
    """The report of a verb; `stop`: where the executors ask the conductor."""
    from unittest.mock import patch

    from parquet_bloom import spark as lake
    from parquet_bloom.spark import executors, verbs
    from parquet_bloom.spark.plan import BOUNDS
    from parquet_bloom.spark.request import on_executor

    # A task for each file: Spark copies a slow one only if others of its stage are done.
    bounds = replace(BOUNDS, first_files=1)
    if least_huge:
        bounds = replace(bounds, huge=least_huge, part=PART_BYTES, least_share=0)

    def stopping(module: str, function: str, request: Any, archive: str | None) -> Any:
        about = {"module": module, "function": function, "request": request, "stop": stop}
        return on_executor("make.cluster_hooks", "stopping", about, archive)

    with (
        patch.object(executors, "on_executor", on_executor if stop is None else stopping),
        patch.object(verbs, "BOUNDS", bounds),
    ):
        report = getattr(lake, verb)(_SESSIONS[-1], paths, **options)
        if not isinstance(report, lake.Report):
            return report
        # The session stays in this process, what was read through it leaves.
        read = {"outcomes": report.outcomes, "troubles": report.troubles}
        report = replace(report, accounts=None)
        vars(report).update(read)
        return report


def new_session(python: str) -> None:
    """From now on another session, whose executors run another Python."""
    _SESSIONS.append(_SESSIONS[0].newSession())
    _SESSIONS[-1].conf.set("spark.sql.execution.pyspark.python", python)


def ship_twice() -> list[str]:
    from parquet_bloom.spark.shipping import ship

    return [ship(_SESSIONS[-1]), ship(_SESSIONS[-1])]


def add_archive(path: str, folder: str) -> None:
    """What a user does without `ship`."""
    _SESSIONS[-1].addArtifacts(f"{path}#{folder}", archive=True)
    _SESSIONS[-1].conf.set("spark.parquet_bloom.archive", folder)
