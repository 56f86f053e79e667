"""The verbs over a lake of Parquet and ORC files, on Spark through PySpark: classic and Connect.

    from parquet_bloom import spark as lake

    report = lake.build(spark, "s3a://lake/events", columns=["user_id"])
    print(report.summary())

Each function runs one job and returns when it is done. Extra: `parquet_bloom[spark]`.
"""

from __future__ import annotations

from parquet_bloom.spark.checks import check_executors
from parquet_bloom.spark.cleaning import clean_temp
from parquet_bloom.spark.lake_index import files_for, index
from parquet_bloom.spark.outcome import LakeIndex, Outcome, Report
from parquet_bloom.spark.schemas import ANSWER, FILTER, OUTCOME
from parquet_bloom.spark.shipping import ship
from parquet_bloom.spark.verbs import advise, build, build_table, inspect, probe, strip, validate

__all__ = [
    "ANSWER",
    "FILTER",
    "OUTCOME",
    "LakeIndex",
    "Outcome",
    "Report",
    "advise",
    "build",
    "build_table",
    "check_executors",
    "clean_temp",
    "files_for",
    "index",
    "inspect",
    "probe",
    "ship",
    "strip",
    "validate",
]
