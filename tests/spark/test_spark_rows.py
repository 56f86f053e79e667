"""Rows that go to executors and come back, as record batches."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from parquet_bloom.spark.rows import packed, record_batch, unpacked
from parquet_bloom.spark.schemas import (
    ACCOUNT,
    ANSWER,
    BUILT,
    CONTROL,
    FILTER,
    OUTCOME,
    SEEN,
    TOTAL,
    giving,
)
from parquet_bloom.spark.versions import arrow_schema

EARLIER = datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
ELSEWHERE = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=-7)))

# Of each type: nothing, the least, the greatest, and what takes several bytes.
VALUES = {
    "string": [None, "", "a\0b", "fünf €", "𝄞" * 300],
    "binary": [None, b"", b"\0", bytes(range(256)), b"x"],
    "bool": [None, False, True, True, False],
    "int32": [None, 0, -(2**31), 2**31 - 1, 1],
    "int64": [None, 0, -(2**63), 2**63 - 1, 1],
    "double": [None, 0.0, -1.5, float("inf"), 5e-324],
    "timestamp[us, tz=UTC]": [None, datetime(1970, 1, 1, tzinfo=UTC), EARLIER, ELSEWHERE, EARLIER],
}


def test_what_goes_through_a_pipe_is_short():
    """However long documents are: text of a batch fits 32 bits."""
    of_rows = giving(CONTROL)(lambda *_: iter([{"document": "x" * (9 << 20)}] * 5))
    assert [batch.num_rows for batch in of_rows(None, ())] == [2, 2, 1]
    of_rows = giving(CONTROL)(lambda *_: iter([{"document": "x"}] * 5000))
    assert [batch.num_rows for batch in of_rows(None, ())] == [4096, 904]


@pytest.mark.parametrize("rows", [0, 1, 5, 4000])
@pytest.mark.parametrize(
    "columns",
    [ACCOUNT, ANSWER, BUILT, CONTROL, FILTER, OUTCOME, SEEN, TOTAL],
    ids=lambda each: each[0].name,
)
def test_rows_become_what_arrow_makes_of_them(columns, rows):
    schema = arrow_schema(columns)
    wanted = [
        {each.name: VALUES[str(each.type)][(row + place) % 5] for place, each in enumerate(schema)}
        for row in range(rows)
    ]
    made = record_batch(wanted, schema)
    made.validate(full=True)
    assert made.equals(pa.RecordBatch.from_pylist(wanted, schema=schema))
    assert made.schema.equals(schema)


def test_a_field_that_a_row_lacks_is_null():
    schema = pa.schema([("a", pa.string()), ("b", pa.int64()), ("c", pa.bool_())])
    made = record_batch([{"a": "x"}, {"c": False, "other": 1}], schema)
    assert made.to_pylist() == [
        {"a": "x", "b": None, "c": None},
        {"a": None, "b": None, "c": False},
    ]


def test_nothing_is_cut_to_its_type():
    with pytest.raises(OverflowError):
        record_batch([{"a": 2**31}], pa.schema([("a", pa.int32())]))
    with pytest.raises(UnicodeEncodeError):
        record_batch([{"a": "\udcff"}], pa.schema([("a", pa.string())]))


def test_rows_are_kept_in_a_file():
    rows = [{"document": "d" * (9 << 20), "bits": b"\xff"}, {"document": None, "bits": None}] * 2
    data = packed(rows, pa.schema([("document", pa.string()), ("bits", pa.binary())]))
    assert pq.ParquetFile(pa.BufferReader(data)).num_row_groups == 2
    assert unpacked(data) == rows
    assert unpacked(data, ["bits"]) == [{"bits": row["bits"]} for row in rows]


def test_pandas_is_not_imported_for_them():
    """It takes each worker half a second."""
    code = """
import sys
import pyarrow.parquet as pq
from parquet_bloom.spark.rows import packed, unpacked
from parquet_bloom.spark.schemas import CONTROL, SEEN, giving
from parquet_bloom.spark.versions import arrow_schema
seen = {"folder": "f", "path": "p", "is_earlier": 0, "size": None}
assert unpacked(packed([seen], arrow_schema(SEEN)))[0]["path"] == "p"
(batch,) = giving(CONTROL)(lambda request, batches: iter([{"document": "d"}]))(None, [])
assert batch.to_pylist() == [{"document": "d"}]
sys.exit("pandas" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_other_thread_holds_their_bytes():
    """One that lets go of them when Python is about to end aborts the process."""
    code = """
import os
from parquet_bloom.spark.rows import packed, unpacked
from parquet_bloom.spark.schemas import SEEN
from parquet_bloom.spark.versions import arrow_schema
data = packed([{"folder": "f", "path": "p", "is_earlier": 0, "size": None}], arrow_schema(SEEN))
threads = os.listdir("/proc/self/task")
unpacked(data)
assert os.listdir("/proc/self/task") == threads
"""
    subprocess.run([sys.executable, "-c", code], check=True)
