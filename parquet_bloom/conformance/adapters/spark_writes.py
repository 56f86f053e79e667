"""Let Spark write, by parquet-java, what it reads of a file by pyarrow."""

import pathlib
import re
import shutil

import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession
from writing import Column, answer

OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
}
builder = SparkSession.builder.master("local[1]")
for name, setting in OPTIONS.items():
    builder = builder.config(name, setting)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")


def write(column: Column, output: str) -> None:
    source, folder = f"{output}.source", pathlib.Path(f"{output}.folder")
    pq.write_table(column.table, source, store_schema=False)
    # A chunk that is all dictionary gets no filter, and one of unknown cardinality the largest: of each leaf it is
    # said how many values it has at most.
    filters = {"parquet.bloom.filter.enabled": "true", "parquet.enable.dictionary": "false"}
    group = pq.read_metadata(source).row_group(0)
    for chunk in map(group.column, range(group.num_columns)):
        filters[f"parquet.bloom.filter.expected.ndv#{chunk.path_in_schema}"] = str(chunk.num_values)
    frame = session.read.parquet(source).coalesce(1)
    frame.write.options(**filters).parquet(str(folder))
    (found,) = folder.glob("*.parquet")
    found.rename(output)
    shutil.rmtree(folder)


jars = sorted(pathlib.Path(pyspark.__file__).parent.glob("jars/parquet-hadoop-*.jar"))
answer(
    "Spark",
    pyspark.__version__,
    write,
    re.sub(r"parquet-hadoop-(.*)\.jar", r"parquet-java \1", jars[0].name),
)
