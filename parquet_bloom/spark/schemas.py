"""The rows that go to the executors and come back, as Spark's types."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

OUTCOME = StructType(
    [
        StructField("path", StringType(), False),
        StructField("status", StringType(), False),
        StructField("filters", IntegerType(), False),
        StructField("bytes", LongType(), False),
        StructField("seconds", DoubleType(), False),
        StructField("attempt", IntegerType(), False),
        StructField("message", StringType()),
        StructField("document", StringType()),
    ]
)
"""What became of one file, one row each; see Outcome."""

WORK = StructType(
    [
        StructField("path", StringType(), False),
        StructField("part", IntegerType(), False),
        StructField("parts", IntegerType(), False),
        StructField("file", IntegerType(), False),
        StructField("task", IntegerType(), False),
    ]
)
"""What to do: part `part` of `parts` of a file, in task `task`. `file` numbers those in parts."""

SHARE = StructType(
    [
        StructField("path", StringType(), False),
        StructField("share", DoubleType(), False),
    ]
)
"""Which part of a file's bytes is to be read for its filters, 0 to 1; 0 if it is not to be built
in parts."""

BUILT = StructType(
    [
        StructField("file", IntegerType(), False),
        StructField("path", StringType(), False),
        StructField("row_group", IntegerType(), False),
        StructField("column", IntegerType(), False),
        StructField("bits", BinaryType()),
        StructField("message", StringType()),
    ]
)
"""The filter of one column chunk of a file in parts, or the `message` why it gets none; row group
-1: why the file cannot be built in parts."""

FILTER = StructType(
    [
        StructField("path", StringType(), False),
        StructField("row_group", IntegerType()),
        StructField("num_rows", LongType()),
        StructField("column", StringType()),
        StructField("physical_type", StringType()),
        StructField("logical_type", StringType()),
        StructField("num_values", LongType()),
        StructField("chunk_bytes", LongType()),
        StructField("offset", LongType()),
        StructField("length", LongType()),
        StructField("header_bytes", IntegerType()),
        StructField("num_bytes", LongType()),
        StructField("num_blocks", LongType()),
        StructField("algorithm", StringType()),
        StructField("hash", StringType()),
        StructField("compression", StringType()),
        StructField("fill", DoubleType()),
        StructField("fpp", DoubleType()),
        StructField("ndv_estimate", DoubleType()),
        StructField("dialect", StringType()),
        StructField("stored_bytes", LongType()),
        StructField("encrypted", BooleanType()),
        StructField("reason", StringType()),
        StructField("error", StringType()),
        StructField("format", StringType()),
        StructField("num_filters", IntegerType()),
        StructField("worst_fpp", DoubleType()),
        StructField("stripe", IntegerType()),
        StructField("stream", StringType()),
        StructField("num_hashes", IntegerType()),
        StructField("num_bits", LongType()),
        StructField("notes", StringType()),
    ]
)
"""One column chunk and its filter, or the `reason` why it has none; of an ORC file, one column of
a stripe and its filters; or the `error` why a file cannot be read, with nothing else but its path.
See ChunkDescription and FilterDescription."""
