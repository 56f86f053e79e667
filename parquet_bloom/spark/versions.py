"""What differs between the versions of PySpark, from 3.5 on: no other module asks which one it is.

3.5  no data sources in Python; archives are for the whole application; Connect reports no progress
4.0  data sources in Python, to which Spark pushes no filters
4.1  pushes filters
"""

from __future__ import annotations

from inspect import signature

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from parquet_bloom.errors import SparkError

_IS_3 = pyspark.__version__.startswith("3.")


def is_connect(spark: object) -> bool:
    """Whether the session is one of Connect, in any version a class apart from the classic one."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_frame(given: object) -> bool:
    """Whether something is a DataFrame, of a session of either kind."""
    return type(given).__module__.startswith("pyspark.sql") and hasattr(given, "mapInArrow")


def session_given(spark: object) -> SparkSession:
    """The session that a user gave. Raises TypeError for something else, SparkError for one that was stopped."""
    if is_connect(spark):
        is_stopped = bool(getattr(spark, "is_stopped", False))
    elif isinstance(spark, SparkSession):
        is_stopped = spark.sparkContext._jsc is None
    else:
        found = type(spark).__name__
        raise TypeError(f"spark: a {found}, expected a SparkSession as the first argument")
    if is_stopped:
        raise SparkError("spark: the session was stopped, expected one that runs")
    return spark  # type: ignore[return-value]


def add_archive(spark: SparkSession, archive: str) -> None:
    """Have a local archive unpacked where executors run: `path#folder`."""
    if _IS_3 and not is_connect(spark):
        spark.sparkContext.addArchive(archive)
    else:
        spark.addArtifacts(archive, archive=True)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Of the record batches that Spark takes for rows of `schema`; times are in UTC."""
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    # As it always was before 4.2.
    return to_arrow_schema(schema)


def reports_progress(spark: SparkSession) -> bool:
    """Whether a Connect session tells how far it is."""
    return hasattr(spark, "registerProgressHandler")


def without_data_sources() -> SparkError:
    """The error for PySpark that has no data sources in Python."""
    return SparkError(
        'format("bloom"): expected PySpark 4.0 or later, which has data sources in Python, found'
        f" {pyspark.__version__}: parquet_bloom.spark.inspect tells the same"
    )


def check_pushdown() -> None:
    """Raise ValueError if Spark does not push filters to data sources in Python."""
    from pyspark.sql.datasource import DataSourceReader

    if not hasattr(DataSourceReader, "pushFilters"):
        raise ValueError(
            f"option pushdown: expected Spark 4.1 or later, found {pyspark.__version__}"
        )
