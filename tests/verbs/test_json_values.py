"""Values of columns as JSON has them: nothing is rounded, and nothing changes its meaning."""

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from parquet_bloom.verbs.json_values import json_rows, json_values

CASES = [
    (pa.array([2**63 - 1, None]), [2**63 - 1, None]),
    (pa.array([True, None]), [True, None]),
    (
        pa.array([0.5, float("nan"), float("inf"), -float("inf")]),
        [0.5, "NaN", "Infinity", "-Infinity"],
    ),
    (pa.array([Decimal("1234.50"), None]), ["1234.50", None]),
    (pa.array([Decimal("0E-30")], pa.decimal128(38, 30)), ["0." + "0" * 30]),
    (pa.array([date(2026, 11, 20), None]), ["2026-11-20", None]),
    (pa.array([time(12, 0, 0, 123456)]), ["12:00:00.123456"]),
    (pa.array([1], pa.timestamp("ns")), ["1970-01-01T00:00:00.000000001"]),
    (
        pa.array([datetime(2026, 1, 1, 1)], pa.timestamp("us", "Europe/Berlin")),
        ["2026-01-01T01:00:00.000000Z"],
    ),
    (pa.array([timedelta(seconds=2)], pa.duration("ms")), [2000]),
    (pa.array([b"\x1f\x8b", None]), ["0x1f8b", None]),
    (pa.array([b"ab"], pa.binary(2)), ["0x6162"]),
    (pa.array(["text", None]), ["text", None]),
    (pa.array([b"\xff"], pa.binary()).view(pa.string()), ["\udcff"]),
    (pa.array(["a", "a", None]).dictionary_encode(), ["a", "a", None]),
    (pa.array([[b"a", None], None, []]), [["0x61", None], None, []]),
    (pa.array([[1.5, float("nan")], None], pa.list_(pa.float64(), 2)), [[1.5, "NaN"], None]),
    (
        pa.array([{"a": date(2026, 1, 1), "b": [1]}, None, {"a": None, "b": None}]),
        [{"a": "2026-01-01", "b": [1]}, None, {"a": None, "b": None}],
    ),
    (
        pa.array([[("k", Decimal("1.0"))], None], pa.map_(pa.string(), pa.decimal128(3, 1))),
        [[{"key": "k", "value": "1.0"}], None],
    ),
    (pa.nulls(2), [None, None]),
]


@pytest.mark.parametrize(
    ("array", "expected"), CASES, ids=lambda case: str(getattr(case, "type", ""))
)
def test_values(array: pa.Array, expected: list[object]) -> None:
    assert json_values(array) == expected
    assert json_values(pa.concat_arrays([array, array]).slice(len(array))) == expected
    json.dumps(expected, allow_nan=False)


def test_rows() -> None:
    table = pa.concat_tables([pa.table({"a": [1], "b": ["x"]}), pa.table({"a": [2], "b": ["y"]})])
    assert [*json_rows(table)] == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
