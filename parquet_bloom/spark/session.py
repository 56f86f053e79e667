"""A session for the command. The functions of the package take the one that the caller has."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from parquet_bloom.errors import SparkError
from parquet_bloom.spark.failures import failing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Only what goes wrong; the answers of a command stand on the same terminal.
LOGGING = Path(__file__).with_name("log4j2.properties")

# Where a Connect server listens if its URL does not say, and how long it may take to answer.
CONNECT_PORT = 15002
PATIENCE = 10.0

# Of a session on this machine alone, unless the user says something else.
LOCAL = {
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def session(
    master: str | None, remote: str | None, configuration: Mapping[str, str]
) -> Iterator[SparkSession]:
    """A session on the cluster `master`, or through Connect at `remote`; on all processors of this
    machine without either, but under spark-submit on what that says; it is stopped afterwards. If
    there is one already, and nobody names another, that one.

    Raises SparkError if PySpark is missing or the session cannot be had.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkError(f"{error}: expected PySpark: pip install 'parquet-bloom[spark]'") from None
    existing = SparkSession.getActiveSession()
    if existing is not None and master is None and remote is None:
        for name, value in configuration.items():
            existing.conf.set(name, value)
        yield existing
        return
    builder = SparkSession.builder.appName("pbloom")
    with failing("no Spark session"):
        for name, value in _settings(builder, master, remote, configuration).items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _settings(
    builder: SparkSession.Builder,
    master: str | None,
    remote: str | None,
    configuration: Mapping[str, str],
) -> dict[str, str]:
    """Where the session is to be, and what it is to be like."""
    if remote is not None:
        _check_reachable(remote)
        builder.remote(remote)
        return dict(configuration)
    if master is None and _is_submitted():
        return dict(configuration)
    builder.master(master or configuration.get("spark.master", "local[*]"))
    # Workers on this machine are to be of this environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "utf" not in _locale().lower():
        # Java would read names of files as ASCII, and find some of them nowhere.
        os.environ["LC_ALL"] = "C.UTF-8"
    return LOCAL | dict(configuration)


def _locale() -> str:
    return next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")


def _check_reachable(remote: str) -> None:
    """Raise SparkError if nobody answers at a Connect server's address: PySpark would ask on and
    on. `remote` is `sc://host:port/;parameters`, or `local` for one that is started."""
    url = urlsplit(remote)
    if url.scheme != "sc" or url.hostname is None:
        return
    try:
        socket.create_connection((url.hostname, url.port or CONNECT_PORT), PATIENCE).close()
    except OSError as error:
        raise SparkError(f"no Spark session: {remote}: {error.strerror or error}") from None


def _is_submitted() -> bool:
    """Whether spark-submit runs this program, which has said where."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
