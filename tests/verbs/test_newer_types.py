"""Types and statistics that came into the format lately, or are still to come."""

import math
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from make.footers import edited, meta_of
from make.pages import data_page
from make.parquet_files import Column, forge, written

import parquet_bloom as pb
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Type

FLOATS = {"float": pa.float32(), "double": pa.float64(), "half": pa.float16()}


def saved(tmp_path, data):
    path = tmp_path / "newer.parquet"
    path.write_bytes(data)
    return path


def verdicts(path, column, *values):
    return [each.verdict for each in pb.probe(path, column, list(values)).results]


# --- NaN ------------------------------------------------------------------------------------------


def with_nan_counts(data, *counts):
    def edit(footer):
        for number, count in enumerate(counts):
            for column in range(len(FLOATS)):
                meta_of(footer, number, column).statistics.nan_count = count

    return edited(data, edit)


@pytest.fixture
def floats(tmp_path):
    """Row groups that have no NaN, and say so; that have some; that may have some."""
    groups = [0.5, 1.5], [0.5, math.nan], [2.5, math.nan]
    table = pa.table(
        {n: pa.array(np.ravel(groups), pa.float64()).cast(t) for n, t in FLOATS.items()}
    )
    data = with_nan_counts(written(table, row_group_size=2), 0, 1, None)
    path = saved(tmp_path, data)
    pb.build(path, in_place=True, columns=list(FLOATS), force=True)
    return path


@pytest.mark.parametrize("name", FLOATS)
def test_where_none_is_counted_nan_is_absent(floats, name):
    for asked in ([math.nan], [math.nan, 9.5], [9.5] * 300 + [math.nan]):
        found = {str(each.value): each.verdicts for each in pb.probe(floats, name, asked).results}
        assert found["nan"] == ("absent", "unknown", "unknown")
    report = pb.probe(floats, name, [math.nan], explain=True)
    assert [each.reason for each in report.explanations] == [
        "nan_count is 0",
        *["NaN has many encodings"] * 2,
    ]


@pytest.mark.parametrize("name", ["float", "double"])
def test_what_is_greater_may_be_nan_where_some_are_counted(floats, name):
    for operator in (">", ">="):
        left = pb.row_groups(floats, [(name, operator, 2.0)])["row_group"].to_pylist()
        assert left == [1, 2]
    assert pb.row_groups(floats, [(name, "<", 0.5)])["row_group"].to_pylist() == []


# --- types that are not known ---------------------------------------------------------------------


def annotated(data, **fields):
    def edit(footer):
        for name, value in fields.items():
            setattr(footer.schema[1], name, value)

    return edited(data, edit)


def of_type_20(data):
    """The same file with a logical type that has no name yet."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    raw = annotated(data, logicalType=None, converted_type=None)[start:-8]
    schema = next(field[3] for field in _kernel.fields(raw) if field[0] == 2)
    _, at, *_ = _kernel.elements(raw, schema)
    # Type 20, an empty struct.
    type_20 = compact.TYPE_STRUCT, bytes([compact.TYPE_STRUCT]) + compact.zigzag(20) + b"\0\0"
    new = compact.splice(raw, at, {10: type_20})
    raw = raw[:at] + new + raw[_kernel.struct_end(raw, at) :]
    return data[:start] + raw + len(raw).to_bytes(4, "little") + b"PAR1"


# DATE needs an INT32; MAP is for groups; TIMESTAMP has a unit here that nobody knows.
UNKNOWN = {
    "type 20": of_type_20,
    "a pair": lambda data: annotated(data, converted_type=ttypes.ConvertedType.DATE),
    "a group's": lambda data: annotated(data, converted_type=ttypes.ConvertedType.MAP),
    "a number": lambda data: annotated(data, converted_type=99),
    "a unit": lambda data: annotated(
        data,
        logicalType=ttypes.LogicalType(
            TIMESTAMP=ttypes.TimestampType(isAdjustedToUTC=True, unit=ttypes.TimeUnit())
        ),
    ),
}


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_types_are_read_as_they_are_stored(tmp_path, change):
    """And nobody knows by which order the statistics were made."""
    data = written(pa.table({"a": pa.array(range(400), pa.int64())}), row_group_size=100)
    path = saved(tmp_path, change(data))
    (advice,) = pb.advise(path).columns
    assert advice.verdict == "optional", advice.reason
    assert "values of an unknown type are rarely looked up by equality" in advice.reason
    assert pb.row_groups(path, {"a": 7})["row_group"].to_pylist() == [0, 1, 2, 3]
    pb.build(path, in_place=True, columns=["a"])
    (found,) = pb.probe(path, "a", pb.literal("107")).results
    assert found.verdicts == ("absent", "maybe", "absent", "absent")
    # Nor do engines that know the type need to look up these bytes.
    assert pb.row_groups(path, {"a": 7})["row_group"].to_pylist() == [0, 1, 2, 3]


# --- timestamps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["little", "big"])
def test_timestamps_of_12_bytes_have_literals(tmp_path, order):
    """pyarrow 26 reads the one order, and the other may be meant."""
    unit = ttypes.TimeUnit(NANOS=ttypes.NanoSeconds())
    kind = ttypes.LogicalType(TIMESTAMP=ttypes.TimestampType(isAdjustedToUTC=True, unit=unit))
    moments = datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 1, 31, 10, tzinfo=UTC)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    nanos = [1000 * (1_000_000 * int((each - epoch).total_seconds())) for each in moments]
    body = b"".join(each.to_bytes(12, order, signed=True) for each in nanos)
    element = {"type_length": 12, "logicalType": kind}
    column = Column([data_page(body, 2)], 2, type=Type.FIXED_LEN_BYTE_ARRAY, element=element)
    path = saved(tmp_path, forge(column))
    pb.build(path, in_place=True, columns=["a"], force=True)
    texts = ["0001-01-01T00:00:00Z", "2024-01-31T10:00:00Z", "2024-01-31T10:00:01Z"]
    asked = [*moments, *map(pb.literal, texts), pb.literal(str(nanos[0]), "int"), nanos[1]]
    assert verdicts(path, "a", *asked) == [*["maybe"] * 4, "absent", "maybe", "maybe"]
    assert [each.row for each in pb.find(path, "a", moments[1]).rows] == [1]
    (advice,) = pb.advise(path).columns
    assert {each.reason for each in advice.engines if "TIMESTAMP" in each.reason} == {
        "not for TIMESTAMP in 12 bytes"
    }
    assert (advice.verdict, advice.reason) == (
        "skip",
        "no engine uses filters on such a column: not for TIMESTAMP in 12 bytes; 1 row group has a filter, which pbloom strip removes",
    )
    with pytest.raises(pb.ValueTypeError, match="a number that fits 12 bytes"):
        pb.probe(path, "a", 1 << 95)
    with pytest.raises(pb.ValueTypeError, match="expected a timestamp such as"):
        pb.probe(path, "a", pb.literal("tomorrow"))


@pytest.mark.parametrize("says_so", [True, False])
def test_int96_is_in_order_where_the_footer_says_so(tmp_path, says_so):
    moments = pa.array([datetime(2024, 1, day) for day in range(1, 29)], pa.timestamp("us"))
    data = written(pa.table({"a": moments}), row_group_size=7, use_deprecated_int96_timestamps=True)

    def edit(footer):
        order = ttypes.ColumnOrder(INT96_TIMESTAMP_ORDER=ttypes.Int96TimestampOrder())
        for group in range(4):
            days = [2_460_311 + 7 * group, 2_460_311 + 7 * group + 6]
            low, high = (bytes(8) + day.to_bytes(4, "little") for day in days)
            bounds = ttypes.Statistics(min_value=low, max_value=high, null_count=0)
            meta_of(footer, group, 0).statistics = bounds
        if says_so:
            footer.column_orders = [order]

    (advice,) = pb.advise(saved(tmp_path, edited(data, edit))).columns
    assert advice.groups_statistics == (1 if says_so else 4)
