"""The installed package on executors that do not have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Where the session remembers what was shipped.
_SETTING = "parquet_bloom.archive"


def shipped(spark: SparkSession) -> str | None:
    """The folder on the executors in which `ship` put the package; None if it did not."""
    return spark.conf.get(_SETTING, None)
