"""Registers `spark.read.format("bloom")`: Spark looks through every top-level module whose name
begins with `pyspark_` for a DefaultSource.

Source: pyspark.sql.worker.lookup_data_sources
"""

from parquet_bloom.spark.data_source import BloomDataSource as DefaultSource

__all__ = ["DefaultSource"]
