"""What runs on the executors to ask an index about the values of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

import numpy as np
import pyarrow as pa

from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.spark.rows import RowFields, record_batch
from parquet_bloom.spark.schemas import ANSWER, Batches
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.storage import open_folder
from parquet_bloom.values.given import list_values
from parquet_bloom.values.types import CANNOT_BE
from parquet_bloom.verbs.index_probe import IndexedValue, probe_asked

# Which files have rows without a value, no index tells; nobody is to take that for none.
_OF_NULL: Final = {
    "path": None,
    "row_group": None,
    "verdict": "unknown",
    "reason": "null: cannot be looked for",
}


@dataclass(frozen=True, slots=True)
class IndexQuestion:
    """What is asked of the index `place`, as executors open it. `hash_key`: where they find its key."""

    place: str
    column: str
    union_by_name: bool
    hash_key: str | None


def answer(question: IndexQuestion, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Batches of one column of values to batches of the value and ANSWER. Raises what Index.probe raises."""
    folder, answers = open_folder(question.place), arrow_schema(ANSWER)
    with closing(AskedIndex(folder, question.hash_key)) as asked:
        for batch in batches:
            values = batch.column(0)
            are_null = values.is_null().to_numpy(zero_copy_only=False)
            rows: list[RowFields] = [_OF_NULL] * int(are_null.sum())
            of_value = np.flatnonzero(are_null).tolist()
            for number, result in zip(
                np.flatnonzero(~are_null).tolist(),
                _results(asked, folder.path, question, values.drop_null()),
                strict=True,
            ):
                found = list(_rows(result))
                rows += found
                of_value += [number] * len(found)
            columns = record_batch(rows, answers).columns
            taken = values.take(pa.array(np.array(of_value, np.int64)))
            schema = pa.schema([batch.schema.field(0), *answers])
            yield pa.RecordBatch.from_arrays([taken, *columns], schema=schema)


def _results(
    asked: AskedIndex, index: str, question: IndexQuestion, values: pa.Array
) -> Sequence[IndexedValue]:
    """About values of which none is null."""
    if not len(values):
        return ()
    given, by_name = list_values(values), question.union_by_name
    return probe_asked(asked, index, question.column, given, None, None, by_name).results


def _rows(result: IndexedValue) -> Iterator[RowFields]:
    if not result.files:
        yield {"path": None, "row_group": None, "verdict": result.verdict, "reason": None}
    for file in result.files:
        reason = None if file.reason is None else _without_value(file.reason)
        for part in file.row_groups or (None,):
            yield {
                "path": file.path,
                "row_group": part,
                "verdict": file.verdict,
                "reason": reason,
            }


def _without_value(reason: str) -> str:
    """Why a column cannot hold a value, which has a column of its own: the same for all values."""
    _, cannot_be, why = reason.rpartition(CANNOT_BE)
    return f"{cannot_be.removeprefix(': ')}{why}"
