"""Ask Spark, which reads with parquet-java."""

import pathlib
import re
from functools import cache

import pyspark
from asking import Question, answer
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

# To compile each query would take longer than all the rest.
OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}


@cache
def opened(path: str) -> DataFrame:
    return session.read.parquet(path)


def ask(question: Question) -> list[int]:
    try:
        return [row.n for row in answered(question).collect()]
    except Py4JJavaError as error:
        # Its own text counts the calls so far.
        raise RuntimeError(error.java_exception.toString()) from error


def answered(question: Question) -> DataFrame:
    if question.query:
        # Spark 4.3 reads no VARIANT by interpretation alone.
        session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
        return session.sql(question.about(f"parquet.`{question.path}`"))
    frame = opened(question.path)
    kind = frame.schema["v"].dataType.simpleString()
    value = f"CAST('{question.literal}' AS {kind})"
    if kind == "binary":
        value = f"X'{question.stored.hex()}'"
    return frame.where(f"v = {value}").select("n")


builder = SparkSession.builder.master("local[1]")
for name, setting in OPTIONS.items():
    builder = builder.config(name, setting)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")
jars = sorted(pathlib.Path(pyspark.__file__).parent.glob("jars/parquet-hadoop-*.jar"))
answer(re.sub(r"parquet-hadoop-(.*)\.jar", r"parquet-java \1", jars[0].name), ask)
