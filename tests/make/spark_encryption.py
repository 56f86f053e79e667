"""Spark with clients of a KMS, in a process of its own: a JVM that already runs, for other tests,
would not find their classes.

`spark` gives a function that calls one of the functions below over there.
"""

import base64
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from oracle.parquet_java import QUICK, compile_java

# Of 128, 192 and 256 bits.
MASTER_KEYS = {"footer": b"footer master 16", "users": b"k" * 23 + b"1", "places": b"k" * 31 + b"2"}

# The first wraps as InMemoryKMS of parquet-java's tests, which is not in Spark.
CLIENTS = {
    "LabKms": """
        import java.util.Base64;
        import org.apache.hadoop.conf.Configuration;
        import org.apache.parquet.crypto.KeyAccessDeniedException;
        import org.apache.parquet.crypto.keytools.KeyToolkit;
        import org.apache.parquet.crypto.keytools.KmsClient;

        public class LabKms implements KmsClient {
          private String keys;

          @Override
          public void initialize(Configuration conf, String id, String url, String token) {
            keys = conf.get("parquet.encryption.key.list");
          }

          static byte[] masterKey(String keys, String name) {
            for (String key : keys.split(",")) {
              if (key.startsWith(name + ":")) {
                return Base64.getDecoder().decode(key.substring(name.length() + 1));
              }
            }
            throw new KeyAccessDeniedException("no master key " + name);
          }

          @Override
          public String wrapKey(byte[] key, String name) {
            return KeyToolkit.encryptKeyLocally(key, masterKey(keys, name), name.getBytes());
          }

          @Override
          public byte[] unwrapKey(String wrapped, String name) {
            return KeyToolkit.decryptKeyLocally(wrapped, masterKey(keys, name), name.getBytes());
          }
        }
        """,
    "LabWrapKms": """
        import org.apache.parquet.crypto.keytools.LocalWrapKmsClient;

        public class LabWrapKms extends LocalWrapKmsClient {
          @Override
          protected void initializeInternal() {}

          @Override
          protected byte[] getMasterKeyFromServer(String name) {
            return LabKms.masterKey(hadoopConfiguration.get("parquet.encryption.key.list"), name);
          }
        }
        """,
}

# What a job says about encryption, but for what it encrypts.
PROPERTIES = {
    "spark.hadoop.parquet.crypto.factory.class": (
        "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
    ),
    "spark.hadoop.parquet.encryption.kms.client.class": "LabKms",
    "spark.hadoop.parquet.encryption.key.list": ",".join(
        f"{name}:{base64.b64encode(key).decode()}" for name, key in MASTER_KEYS.items()
    ),
}

ROWS, ROW_GROUP = 400, 100
# Even ids. Each row group has some from the whole range: only a filter tells where a value is not.
ROWS_BY_SQL = f"""
    SELECT id, CONCAT('user ', id) AS name, id / 4 AS amount,
           NAMED_STRUCT('city', CONCAT('city ', id)) AS place,
           IF(id % 5 = 0, NULL, ARRAY(CONCAT('tag ', id), NULL)) AS tags
    FROM (SELECT 2 * (id % {ROW_GROUP} * {ROWS // ROW_GROUP} + id DIV {ROW_GROUP}) AS id
          FROM RANGE(0, {ROWS}, 1, 1))
    """

# For a machine on which much else is going on.
DEADLINE = 600

_session: Any = None


@contextmanager
def spark(folder: Path) -> Iterator[Callable[..., Any]]:
    """Compile the clients and start Spark; a function and its arguments are then called there."""
    for name, source in CLIENTS.items():
        (folder / f"{name}.java").write_text(source)
    compile_java(folder, *(folder / f"{name}.java" for name in CLIENTS))
    with ProcessPoolExecutor(1, get_context("spawn"), _start, (str(folder),)) as pool:
        yield lambda function, *arguments: pool.submit(_call, function, arguments).result(DEADLINE)
        pool.submit(_stop).result(DEADLINE)


def _start(folder: str) -> None:
    global _session
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    # Behind Spark's own jars, which are then those of the archive.
    os.environ["SPARK_DIST_CLASSPATH"] = folder
    builder = SparkSession.builder.master("local[2]").appName("parquet_bloom")
    options = {
        "spark.driver.extraJavaOptions": " ".join(QUICK),
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **PROPERTIES,
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    _session = builder.getOrCreate()
    _session.sparkContext.setLogLevel("OFF")


def _stop() -> None:
    _session.stop()


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return function(*arguments)
    except (Py4JError, PySparkException) as error:
        # They hold on to objects of the JVM, and cannot come back.
        raise RuntimeError(str(error)) from None


# ------------------------------------------------------------------------------------------------
# Called over there


def write(path: Path, options: Mapping[str, str]) -> None:
    """Write the rows as one more file of the table."""
    limits = {"parquet.block.row.count.limit": str(ROW_GROUP), "parquet.enable.dictionary": "false"}
    frame = _session.sql(ROWS_BY_SQL)
    frame.write.mode("append").options(**limits, **options).parquet(str(path))


def sql(text: str) -> list[str]:
    """Rows, in order."""
    return sorted(map(repr, _session.sql(text).collect()))


def open_view(paths: Sequence[Path], options: Mapping[str, str]) -> None:
    """Open the tables as a view, as a job that runs on has them; with the file of each row."""
    frame = _read(paths, options).selectExpr("*", "INPUT_FILE_NAME() AS file")
    frame.createOrReplaceTempView("view")


def look_up(
    paths: Sequence[Path], where: str, options: Mapping[str, str]
) -> tuple[list[tuple[str, int]], int]:
    """Tables and ids of the rows, and how many rows were scanned for them."""
    frame = _read(paths, options).where(where).selectExpr("id", "INPUT_FILE_NAME() AS file")
    found = [(Path(row.file).parent.name, row.id) for row in frame.collect()]
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    return sorted(found), scan.metrics().get("numOutputRows").get().value()


def _read(paths: Sequence[Path], options: Mapping[str, str]) -> Any:
    return _session.read.options(**options).parquet(*map(str, paths))
