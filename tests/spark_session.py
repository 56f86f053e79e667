"""A quiet session of Spark, one for the whole run: classic in this process, or Connect.

The JVM of classic Spark is in this process, and other tests may have configured it already: what is
set here suits all of them. PBLOOM_SPARK=connect gives a Connect session instead, through a server
of its own; both in one process do not go together, and so test_spark_connect.py starts another.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import missing
from readers import ParquetJava

IS_CONNECT = os.environ.get("PBLOOM_SPARK") == "connect"

# Four attempts at each task: plain local[2] never tries again.
MASTER = "local[2,4]"
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    # Runs are short: the second compiler costs more than it gives.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def pytest_configure(config: pytest.Config) -> None:
    """The tests run with what is installed, and what they use of pandas is Arrow's."""
    config.addinivalue_line(
        "filterwarnings",
        "ignore:PySpark does not yet fully support pandas >= 3:FutureWarning",
    )


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    if not ParquetJava.is_here():
        missing(ParquetJava.needs)
    session = start()
    yield session
    session.stop()


def start() -> Any:
    """The session that tests share."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.appName("parquet_bloom")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    if not IS_CONNECT:
        session = builder.master(MASTER).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        return session
    with warnings.catch_warnings():
        # The server has started with all of them, and the session sets them once more.
        warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)
        return builder.remote(MASTER).getOrCreate()


def scanned(frame: Any) -> tuple[list[Any], int]:
    """The rows of a frame, and how many rows its scan of Parquet files put out, as Spark counts."""
    rows = frame.collect()
    if IS_CONNECT:
        scans = [node for node in frame.executionInfo.metrics if "Scan parquet" in node.name]
        return rows, sum(
            metric.value
            for node in scans
            for metric in node.metrics
            if metric.name == "numOutputRows"
        )
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    return rows, scan.metrics().get("numOutputRows").get().value()
