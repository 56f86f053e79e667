"""The rows that go to the executors and come back, as Spark's types and as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.types import StructType

from parquet_bloom.spark.rows import RowFields, held_at_once, record_batch
from parquet_bloom.spark.versions import arrow_schema

Batches = Iterable[pa.RecordBatch]

# Rows of one record batch at most.
BATCH_ROWS = 4096

Sent = TypeVar("Sent")
_Work = Callable[[Any, Batches], Iterator[Sent]]


def _schema(columns: str) -> StructType:
    """Columns by name and type; the type of one that is never null ends in `!`."""
    schema = StructType()
    for column in columns.split(","):
        name, type = column.split()
        schema.add(name, type.removesuffix("!"), nullable=not type.endswith("!"))
    return schema


OUTCOME = _schema(
    "path string!, status string!, filters integer, bytes long!, seconds double!,"
    " attempt integer!, message string, error_class string, document string, size_before long, size long,"
    " version_before string, version string, task_attempt long, requests long,"
    " ok boolean, dry_run boolean!, state string"
)
"""What became of one file, one row each; see Outcome."""

ACCOUNT = StructType([*_schema("verb string!, started_at timestamp!"), *OUTCOME])
"""The same with the verb and the start of the run: a row of the audit."""

TOTAL = _schema(
    "status string!, reason string!, files long!, filters long!, bytes long!, seconds double!,"
    " requests long!, attempt integer!, example string"
)
"""What became of the files of one task with the same outcome; see Total."""

CONTROL = _schema("document string!")
"""What a task tells the driver, as JSON."""

SEEN = _schema(
    "folder string!, path string!, is_earlier integer!, size long, version string, status string,"
    " message string"
)
"""A file that was listed, or that an earlier run has left so: `is_earlier` is 1."""

UNIT = _schema(
    "folder string!, path string!, version string!, segment string!, number long!, column string!,"
    " is_new boolean!"
)
"""A unit of a segment of an index; without a segment, a file in the state in which a run has seen it, or, once units
were found dead, a `number` of files with a change, which `column` names."""

NOT_INDEXED = _schema("path string!, has_failed boolean!")
"""A file that is unknown in every answer of an index about a column; `has_failed`: as it cannot be read."""

ANSWER = _schema("path string, row_group integer, verdict string!, reason string")
"""What an index says of a value: a row group of a file that may hold it, or a file of which it knows nothing, and the
`reason`; see files_for."""

BUILT = _schema("row_group integer!, column integer!, bits binary, message string")
"""The filter of one column chunk of a file in parts, or the `message` why it gets none."""

FILTER = _schema(
    "path string!, row_group integer, num_rows long, column string, physical_type string,"
    " logical_type string, num_values long, chunk_bytes long, offset long, length long,"
    " header_bytes integer, num_bytes long, num_blocks long, algorithm string, hash string,"
    " compression string, fill double, fpp double, ndv_estimate double, dialect string,"
    " stored_bytes long, encrypted boolean, reason string, error string, format string,"
    " num_filters integer, worst_fpp double, stripe integer, stream string, num_hashes integer,"
    " num_bits long, notes string"
)
"""One column chunk and its filter, or the `reason` why it has none; of an ORC file, one column of
a stripe and its filters; or the `error` why a file cannot be read, with nothing else but its path.
See ChunkDescription and FilterDescription."""


def giving(schema: StructType) -> Callable[[_Work[RowFields]], _Work[pa.RecordBatch]]:
    """Makes a function for mapInArrow of one that gives rows of `schema`."""
    of_batches = arrow_schema(schema)

    def in_batches(work: _Work[RowFields]) -> _Work[pa.RecordBatch]:
        @wraps(work)
        def mapped(request: Any, batches: Batches) -> Iterator[pa.RecordBatch]:
            for some in held_at_once(work(request, batches), BATCH_ROWS):
                yield record_batch(some, of_batches)

        return mapped

    return in_batches


def numbers_in(batches: Batches) -> Iterator[int]:
    """The numbers of tasks, as DataFrame `range` gives them."""
    for batch in batches:
        yield from batch.column(0).to_pylist()
