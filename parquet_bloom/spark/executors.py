"""What runs on the executors of a session: functions of this package, one number to a task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.failures import raise_told
from parquet_bloom.spark.request import on_executor
from parquet_bloom.spark.schemas import CONTROL
from parquet_bloom.spark.shipping import shipped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    Work: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Executors:
    """Runs functions of this package on the executors of a session."""

    spark: SparkSession

    def work(self, module: str, function: str, sent: object) -> Work:
        """For mapInArrow."""
        return on_executor(module, function, sent, shipped(self.spark))

    def frame(
        self, module: str, function: str, sent: object, schema: StructType, num_tasks: int
    ) -> DataFrame:
        """What a function gives for the numbers from 0 on, one to a task. Nothing has been done yet."""
        work = self.work(module, function, sent)
        return self.spark.range(0, num_tasks, 1, num_tasks).mapInArrow(work, schema)

    def documents(self, module: str, function: str, sent: object, num_tasks: int = 1) -> list[Any]:
        """The documents that it gives. Raises what one of them tells, see failures.as_told."""
        rows = self.frame(module, function, sent, CONTROL, num_tasks).collect()
        documents = [json.loads(row.document) for row in rows]
        for document in documents:
            raise_told(document)
        return documents
