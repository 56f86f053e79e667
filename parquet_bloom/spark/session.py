"""A session for the command. The functions of the package take the one that the caller has."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloom.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Only what goes wrong; the answers of a command stand on the same terminal.
LOGGING = Path(__file__).with_name("log4j2.properties")

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
    machine without either, but under spark-submit on what that says. It is stopped afterwards,
    unless it was there before.

    Raises SparkError if PySpark is missing or the session cannot be had.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkError(f"{error}: expected PySpark: pip install 'parquet-bloom[spark]'") from None
    existing = SparkSession.getActiveSession()
    builder = SparkSession.builder.appName("pbloom")
    settings = dict(configuration)
    if remote is not None:
        builder = builder.remote(remote)
    elif master is not None or not _is_submitted():
        builder = builder.master(master or settings.pop("spark.master", "local[*]"))
        # Workers on this machine are to be of this environment.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings = LOCAL | settings
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise SparkError(f"no Spark session: {said}") from error
    try:
        yield spark
    finally:
        if existing is None:
            spark.stop()


def _is_submitted() -> bool:
    """Whether spark-submit runs this program, which has said where."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_REMOTE" in os.environ
