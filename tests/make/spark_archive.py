"""Make the archive of Spark's classes that the JVMs of the tests start with; see ARCHIVE.

    PYTHONPATH=tests python tests/make/spark_archive.py

A JVM with a Connect server, which has classic Spark inside, does what tests do, and leaves what it
has read of its jars when it ends. Without Java there is no archive, nor anything to start with it;
and none below a folder with a space in its name, which would be two options of a JVM.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from make.spark_session import SETTINGS, connected
from oracle.parquet_java import ARCHIVE, QUICK, ParquetJava

from parquet_bloom import spark as lake

# It takes the name of the other one when all of it is there.
NEW = ARCHIVE.with_suffix(".new")
DUMPING = f"-XX:ArchiveClassesAtExit={NEW}"


def work(session: Any, folder: Path) -> None:
    """What most tests do, once."""
    pq.write_table(pa.table({"id": range(1000)}), folder / "a.parquet")
    lake.build(session, str(folder), columns=["id"])
    lake.inspect(session, str(folder))
    for file_format in ("parquet", "orc"):
        session.sql(
            f"CREATE TABLE {file_format} (id BIGINT, s STRING, d DECIMAL(9, 2), t TIMESTAMP, day INT)"
            f" USING {file_format} PARTITIONED BY (day) LOCATION '{folder}/{file_format}'"
        )
        session.sql(
            f"INSERT INTO {file_format} SELECT id, CAST(id AS STRING), id / 4,"
            " TIMESTAMP_MILLIS(id), id % 2 FROM RANGE(1000)"
        )
        session.table(file_format).where("id = 5 AND s LIKE '5%'").collect()
        session.sql(f"SELECT day, COUNT(*) FROM {file_format} GROUP BY day ORDER BY day").collect()
        session.sql(f"DROP TABLE {file_format}")


def make_archive() -> None:
    from pyspark.sql import SparkSession

    NEW.unlink(missing_ok=True)
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    own = [option for option in QUICK if not option.endswith(str(ARCHIVE))]
    with TemporaryDirectory() as name:
        folder = Path(name)
        session = connected(
            SETTINGS
            | {
                "spark.driver.extraJavaOptions": " ".join([*own, DUMPING]),
                "spark.sql.warehouse.dir": str(folder / "warehouse"),
            }
        )
        (folder / "lake").mkdir()
        work(session, folder / "lake")
        started: Any = SparkSession._instantiatedSession
        jvm = started.sparkContext._gateway.proc
        jvm.stdin.close()
        jvm.wait()
    NEW.replace(ARCHIVE)
    # Connect would go on asking the server that has gone.
    os._exit(0)


if __name__ == "__main__" and ParquetJava.is_here() and " " not in str(ARCHIVE):
    make_archive()
