"""A look at what a session needs before its first job: one line that says what to do, in the place of a
traceback of Java from the middle of the job.

    here          Java, PySpark's version, somebody who answers at the master
    on executors  the same Python, pyarrow and numpy, this package with its kernel and nothing else of its name
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from parquet_bloom import __version__
from parquet_bloom.errors import SparkError
from parquet_bloom.spark.failures import SHIP, failing, in_one_line
from parquet_bloom.spark.shipping import shipped
from parquet_bloom.spark.versions import is_connect, session_given

if TYPE_CHECKING:
    import pyarrow as pa

# How many seconds a server may take to answer, and where those of Connect listen if nobody says.
PATIENCE: Final = 4.0
CONNECT_PORT: Final = 15002

# With which a session, not a cluster, is told its Python.
_PYTHON_OF_QUERIES: Final = "spark.sql.execution.pyspark.python"


# ------------------------------------------------------------------------------------------------
# Before there is a session


def check_java() -> None:
    """Raise SparkError if PySpark would find no Java: it says so in a dozen lines."""
    home = os.environ.get("JAVA_HOME")
    if home and not os.access(os.path.join(home, "bin", "java"), os.X_OK):
        raise SparkError(
            f"no Spark session: JAVA_HOME is {home}, expected a folder with bin/java: install Java 17 or"
            " later, and set JAVA_HOME"
        )
    if not home and shutil.which("java") is None:
        raise SparkError(
            "no Spark session: no java on PATH: install Java 17 or later, or set JAVA_HOME"
        )


def check_master(master: str) -> None:
    """Raise SparkError if nobody answers at any of the masters of a URL: Spark would try for minutes.
    `master`: only of `spark://` and `k8s://` it is known where they are."""
    kind, _, places = master.partition("://")
    if kind not in ("spark", "k8s"):
        return
    failures = []
    for place in places.removeprefix("https://").removeprefix("http://").split(","):
        url = urlsplit(f"//{place}")
        default = 443 if kind == "k8s" else 7077
        failure = _unreachable(url.hostname, url.port or default)
        if failure is None:
            return
        failures.append(failure)
    raise SparkError(f"no Spark session: {master}: {failures[-1]}")


def check_server(remote: str) -> None:
    """Raise SparkError if a Connect server does not answer: PySpark would try on and on. `remote` is
    `sc://host:port/;parameters`, or `local` to start one, for which there must be Java."""
    url = urlsplit(remote)
    if url.scheme != "sc" or url.hostname is None:
        check_java()
        return
    failure = _unreachable(url.hostname, url.port or CONNECT_PORT)
    if failure is not None:
        raise SparkError(f"no Spark session: {remote}: {failure}")


def _unreachable(host: str | None, port: int) -> str | None:
    """Why nobody answers there; None if somebody does."""
    try:
        socket.create_connection((host or "", port), PATIENCE).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


# ------------------------------------------------------------------------------------------------
# On the executors


@in_one_line("Spark")
def check_executors(spark: SparkSession) -> None:
    """Raise SparkError if executors cannot do the work of this package: one task looks, which needs
    nothing of it there. Call it once the package has been shipped, if it is."""
    look = _looking(shipped(session_given(spark)))
    with failing("no executor could look at its Python"):
        found = _by_query(spark, look) if _needs_query(spark) else _by_rdd(spark, look)
    problem = _problem(json.loads(found))
    if problem is not None:
        raise SparkError(f"executors: {problem}")


def _needs_query(spark: SparkSession) -> bool:
    """Whether only queries run the Python that is to be looked at, or find what was shipped to a session."""
    has_python = spark.conf.get(_PYTHON_OF_QUERIES, None) is not None
    return is_connect(spark) or has_python or shipped(spark) is not None


def _by_rdd(spark: SparkSession, look: Callable[[], str]) -> str:
    """What a task finds. The first query of an application takes three times as long: Java has all that
    plans and compiles it still to load."""
    (found,) = spark.sparkContext.parallelize([0], 1).map(lambda _: look()).collect()
    return found


def _by_query(spark: SparkSession, look: Callable[[], str]) -> str:
    def mapped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"found": [look()]})

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(mapped, "found string").collect()
    return str(row.found)


def _looking(archive: str | None) -> Callable[[], str]:
    """What the task calls; it travels by value, because it looks whether there is a package. `archive`:
    as for `on_executor`."""

    def look() -> str:
        import importlib
        import json
        import os

        if archive is not None:
            from pyspark import SparkFiles

            folder = os.path.realpath(os.path.join(SparkFiles.getRootDirectory(), archive))
            if folder not in sys.path:
                sys.path.insert(0, folder)

        def imported(name: str) -> dict[str, Any]:
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError as error:
                return {"lacks": error.name, "failed": None}
            except Exception as error:  # noqa: BLE001 (whatever it is, is said)
                return {"lacks": None, "failed": f"{type(error).__name__}: {error}".splitlines()[0]}
            places = [module.__file__] if module.__file__ else list(module.__path__)
            return {"version": getattr(module, "__version__", None), "place": places[0]}

        found = {
            "python": sys.version.split()[0],
            "executable": sys.executable,
            "numpy": imported("numpy"),
            "pyarrow": imported("pyarrow"),
            "package": imported("parquet_bloom"),
            "work": imported("parquet_bloom.spark.worker"),
        }
        return json.dumps(found)

    return look


def _problem(found: dict[str, Any]) -> str | None:
    """What is wrong with what a task has found; None if nothing is."""
    where = f"{found['executable']} (Python {found['python']})"
    package, work = found["package"], found["work"]
    if package.get("lacks") == "parquet_bloom":
        return f"no package parquet_bloom in {where}: {SHIP}"
    for name in ("numpy", "pyarrow"):
        if found[name].get("lacks"):
            return f"no package {name} in {where}: install pyarrow and numpy there"
    if "version" in package and package["version"] is None:
        return (
            f"{package['place']} is imported as parquet_bloom, and is another package: {SHIP}; if it is"
            " in the folder where Spark was started, start it elsewhere"
        )
    if "version" in package and package["version"] != __version__:
        return (
            f"parquet_bloom {package['version']} in {package['place']}, expected {__version__} as here:"
            f" {SHIP}"
        )
    for each in (package, work):
        if each.get("lacks"):
            return f"no package {each['lacks']} in {where}, which parquet_bloom needs: {SHIP}"
        if each.get("failed"):
            return f"parquet_bloom cannot be loaded in {where}: {each['failed']}"
    return None
