"""What runs on the executors to ask an index about the values of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa

from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.index.manifest import existing
from parquet_bloom.spark.rows import RowFields, record_batch
from parquet_bloom.spark.schemas import ANSWER, Batches
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.storage import open_folder
from parquet_bloom.values.given import list_values
from parquet_bloom.verbs.index_probe import IndexedValue, probe_asked


@dataclass(frozen=True, slots=True)
class IndexQuestion:
    """What is asked of the index `place`, as executors open it. `hash_key`: where they find its key."""

    place: str
    column: str
    hash_key: str | None


def answer(question: IndexQuestion, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Batches of one column of values, none null, to batches of the value and ANSWER. Raises what Index.probe
    raises."""
    folder, answers = open_folder(question.place), arrow_schema(ANSWER)
    with closing(AskedIndex(folder, existing(folder), question.hash_key)) as asked:
        for batch in batches:
            values = batch.column(0)
            if not len(values):
                continue
            report = probe_asked(
                asked, folder.path, question.column, list_values(values), None, None
            )
            rows: list[RowFields] = []
            of_value: list[int] = []
            for number, result in enumerate(report.results):
                found = list(_rows(result))
                rows += found
                of_value += [number] * len(found)
            columns = record_batch(rows, answers).columns
            taken = values.take(pa.array(np.array(of_value, np.int64)))
            schema = pa.schema([batch.schema.field(0), *answers])
            yield pa.RecordBatch.from_arrays([taken, *columns], schema=schema)


def _rows(result: IndexedValue) -> Iterator[RowFields]:
    if not result.files:
        yield {"path": None, "row_group": None, "verdict": result.verdict, "reason": None}
    for file in result.files:
        for part in file.row_groups or (None,):
            yield {
                "path": file.path,
                "row_group": part,
                "verdict": file.verdict,
                "reason": file.reason,
            }
