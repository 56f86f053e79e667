"""Ask Spark, which reads with parquet-java."""

import pathlib
import re

import pyspark
from answering import Question, answer
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

# To compile each query would take longer than all the rest.
OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}
builder = SparkSession.builder.master("local[1]")
for name, setting in OPTIONS.items():
    builder = builder.config(name, setting)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")


def ask(question: Question) -> list[int]:
    # Spark 4.3 reads no VARIANT by interpretation alone.
    how = "FALLBACK" if question.type == "VARIANT" else "NO_CODEGEN"
    session.conf.set("spark.sql.codegen.factoryMode", how)

    def type() -> str:
        return session.read.parquet(question.path).schema["v"].dataType.simpleString()

    try:
        found = session.sql(question.query(f"parquet.`{question.path}`", type))
        return [row.n for row in found.collect()]
    except Py4JJavaError as error:
        # Its own text counts the calls so far.
        raise RuntimeError(error.java_exception.toString()) from error


jars = sorted(pathlib.Path(pyspark.__file__).parent.glob("jars/parquet-hadoop-*.jar"))
inside = re.sub(r"parquet-hadoop-(.*)\.jar", r"parquet-java \1", jars[0].name)
answer("Spark", pyspark.__version__, ask, "spark", inside)
