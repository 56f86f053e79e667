"""A quiet session of Spark, one for the whole run: classic in this process, or Connect.

The JVM of classic Spark is in this process, and other tests may have configured it already: what is
set here suits all of them. PBLOOM_SPARK=connect gives a Connect session instead, through a server
of its own; both in one process do not go together, and so test_spark_connect.py starts another.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import missing
from oracle.parquet_java import QUICK, ParquetJava

IS_CONNECT = os.environ.get("PBLOOM_SPARK") == "connect"

# Four attempts at each task: plain local[2] never tries again.
MASTER = "local[2,4]"
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": " ".join(QUICK),
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
def spark(
    tmp_path_factory: pytest.TempPathFactory,
    record_testsuite_property: Callable[[str, object], None],
) -> Iterator[Any]:
    if not ParquetJava.is_here():
        missing(ParquetJava.needs)
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    settings = SETTINGS | {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    session = connected(settings) if IS_CONNECT else classic(settings)
    record_testsuite_property("session", type(session).__module__)
    yield session
    session.stop()


def classic(settings: dict[str, Any]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("parquet_bloom").master(MASTER)
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def connected(settings: dict[str, str]) -> Any:
    """What builder.remote(MASTER) gives, but at a free port: others may test at the same time."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    os.environ |= {"SPARK_LOCAL_REMOTE": "1", "SPARK_CONNECT_MODE_ENABLED": "1"}
    port = {"spark.connect.grpc.binding.port": "0"}
    ConnectSession._start_connect_server(MASTER, settings | port)
    started: Any = SparkSession._instantiatedSession
    jvm = started._jvm
    service = getattr(jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    url = f"sc://localhost:{getattr(service, 'MODULE$').localPort()}"
    return ConnectSession.builder.remote(url).getOrCreate()


def scanned(frame: Any) -> tuple[list[Any], int]:
    """The rows of a frame, and how many rows its scan of files put out, as Spark counts."""
    rows = frame.collect()
    if IS_CONNECT:
        _, nodes = frame.executionInfo.metrics.extract_graph()
        scans = [node for node in nodes.values() if "Scan " in node.name]
        found = [each for scan in scans for each in scan.metrics if each.name == "numOutputRows"]
        return rows, sum(each.value for each in found)
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    return rows, scan.metrics().get("numOutputRows").get().value()
