"""Reports of runs, one after the other in a folder of Parquet files: food for dashboards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.spark.failures import failing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_bloom.spark.outcome import Report


def append(spark: SparkSession, report: Report, folder: str) -> None:
    """Add the rows of `report` to `folder`: those of OUTCOME, and before them run_id, verb and
    started_at. Raises SparkError."""
    from pyspark.sql import functions as f

    with failing(f"{folder}: the report is not written"):
        rows = report.to_df(spark).select(
            f.lit(report.run_id).alias("run_id"),
            f.lit(report.verb).alias("verb"),
            f.lit(report.started_at).alias("started_at"),
            "*",
        )
        rows.coalesce(1).write.mode("append").parquet(folder)
