"""A session for the command; the functions of the package take the caller's."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from parquet_bloom.spark.checks import check_java, check_master, check_server
from parquet_bloom.spark.failures import failing, in_one_line, leaving, untold_ends

# Logs only errors: the answers of a command are on the same terminal.
LOGGING = Path(__file__).with_name("log4j2.properties")

# The configuration of a session on this machine, unless the user says otherwise.
LOCAL = {
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def will_be_here(master: str | None, remote: str | None, configuration: Mapping[str, str]) -> bool:
    """Whether `session` would start one whose executors have the files of this machine."""
    if remote is not None or (master is None and SparkSession.getActiveSession() is not None):
        return False
    return (_master_given(master, configuration) or "").startswith("local")


@contextmanager
def session(
    master: str | None, remote: str | None, configuration: Mapping[str, str]
) -> Iterator[SparkSession]:
    """A session on the cluster `master`, or through Connect at `remote`; without either, the active
    session if there is one, else one as spark-submit says, else one on all processors of this
    machine. A new session is stopped afterwards. Raises SparkError if there can be none.
    """
    existing = SparkSession.getActiveSession()
    if existing is not None and master is None and remote is None:
        with in_one_line("Spark"):
            for name, value in configuration.items():
                existing.conf.set(name, value)
            yield existing
        return
    builder = SparkSession.builder.appName("pbloom")
    with untold_ends():
        with failing("no Spark session"):
            for name, value in _settings(builder, master, remote, configuration).items():
                builder = builder.config(name, value)
            spark = _started(builder, remote)
        with in_one_line("Spark"), leaving(spark.stop):
            yield spark


def _started(builder: SparkSession.Builder, remote: str | None) -> SparkSession:
    """A session, for which PySpark starts Java unless there is a server already."""
    if remote is not None and remote.startswith("sc:"):
        return builder.getOrCreate()
    # Not in a PySpark that is a client of servers alone.
    from parquet_bloom.spark.java import starting

    with starting(), _own_interrupts():
        return builder.getOrCreate()


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep what ^C does. In PySpark's own handler, this thread asks Java to cancel the jobs over the connection on
    which it waits for Java: Py4J fails, and logs that. Whoever stops the session cancels them."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        # In another thread, PySpark has no handler either.
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)


def _master_given(master: str | None, configuration: Mapping[str, str]) -> str | None:
    """Where a session is to be; None if spark-submit, which runs this program, says where."""
    if master is None and not {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"}.isdisjoint(os.environ):
        return None
    return master or configuration.get("spark.master", "local[*]")


def _settings(
    builder: SparkSession.Builder,
    master: str | None,
    remote: str | None,
    configuration: Mapping[str, str],
) -> dict[str, str]:
    """Tell `builder` where the session is to be; its configuration."""
    if remote is not None:
        check_server(remote)
        builder.remote(remote)
        if not remote.startswith("sc:"):
            _share_environment()
        return dict(configuration)
    place = _master_given(master, configuration)
    if place is None:
        return dict(configuration)
    check_java()
    check_master(place)
    builder.master(place)
    _share_environment()
    return LOCAL | dict(configuration)


def _share_environment() -> None:
    """Let Java and its workers, which are started here, have what this process has."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    if "utf" not in locale.lower():
        # Java would read names of files as ASCII, and find some of them nowhere.
        os.environ["LC_ALL"] = "C.UTF-8"
