"""Ask Sail, which is DataFusion behind the interface of Spark."""

from typing import Any

from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
from table_asking import Question, answer_from

OPTIONS = {"delta": "versionAsOf", "iceberg": "snapshotId"}


def ask(question: Question) -> list[dict[str, Any]]:
    reader = session.read.format(question.table)
    frame = reader.option(OPTIONS[question.table], str(question.version)).load(question.path)
    if question.name:
        frame = frame.where(f"id = '{question.name}'")
    return [row.asDict() for row in frame.collect()]


server = SparkConnectServer()
server.start()
address, port = server.listening_address
session = SparkSession.builder.remote(f"sc://{address}:{port}").getOrCreate()
answer_from("pysail", ask)
