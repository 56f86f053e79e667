"""The rows that go to the executors and come back, as Spark's types and as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from parquet_bloom.spark.request import Request

RowFields = dict[str, Any]
Batches = Iterable[pa.RecordBatch]

Sent = TypeVar("Sent")
_Work = Callable[[Request, Batches], Iterator[Sent]]


def _schema(columns: str) -> StructType:
    """Columns by name and type; the type of one that is never null ends in `!`."""
    schema = StructType()
    for column in columns.split(","):
        name, type = column.split()
        schema.add(name, type.removesuffix("!"), nullable=not type.endswith("!"))
    return schema


OUTCOME = _schema(
    "path string!, status string!, filters integer!, bytes long!, seconds double!,"
    " attempt integer!, message string, document string"
)
"""What became of one file, one row each; see Outcome."""

WORK = _schema(
    "path string!, size long!, part integer!, parts integer!, file integer!, task integer!"
)
"""What to do: part `part` of `parts` of a file, in task `task`. `size`: as whoever listed it knows it,
in bytes; `file`: the number of the file."""

SHARE = _schema("path string!, share double!")
"""How much of a file's bytes must be read for its filters, 0 to 1; 0 if it is not to be built in
parts."""

BUILT = _schema(
    "file integer!, path string!, row_group integer!, column integer!, bits binary, message string"
)
"""The filter of one column chunk of a file in parts, or the `message` why it gets none. RowFields group -1:
the fingerprint of the file that the part has seen as `message`, None if it could not be opened."""

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
    """Makes a function for mapInArrow of one that gives rows of `schema`. Each is a batch of its own,
    so that it leaves as soon as it is done."""
    arrow_schema = to_arrow_schema(schema)

    def in_batches(work: _Work[RowFields]) -> _Work[pa.RecordBatch]:
        @wraps(work)
        def mapped(request: Request, batches: Batches) -> Iterator[pa.RecordBatch]:
            for row in work(request, batches):
                yield pa.RecordBatch.from_pylist([row], schema=arrow_schema)

        return mapped

    return in_batches


def paths_in(batches: Batches) -> Iterator[str]:
    """The paths in rows of WORK."""
    for batch in batches:
        yield from batch.column("path").to_pylist()
