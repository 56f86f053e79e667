"""Positions and statistics of index groups, as they are shown."""

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from make.handmade_orc import row_index
from pyarrow import orc

from parquet_bloom.errors import FilterError, FooterError
from parquet_bloom.files import open_file
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.row_index import GroupStatistics, fits, read_row_index


def shown(**statistics):
    (entry,) = read_row_index(row_index(statistics), 1, "here")
    return entry.statistics


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ({"intStatistics": {"minimum": -5, "maximum": 7, "sum": 2}}, ("int", -5, 7, 2)),
        ({"doubleStatistics": {"minimum": -0.5, "maximum": float("inf"), "sum": float("nan")}},
         ("double", -0.5, "inf", "nan")),
        ({"stringStatistics": {"minimum": b"a\xff", "maximum": b"z", "sum": 9}},
         ("string", "a\\xff", "z", 9)),
        ({"bucketStatistics": {"count": [3]}}, ("bucket", None, None, 3)),
        ({"decimalStatistics": {"minimum": b"1.5", "maximum": b"20", "sum": b"21.5"}},
         ("decimal", "1.5", "20", "21.5")),
        ({"dateStatistics": {"minimum": -1, "maximum": 2**31 - 1}},
         ("date", "1969-12-31", 2**31 - 1, None)),
        ({"binaryStatistics": {"sum": 4}}, ("binary", None, None, 4)),
        ({"timestampStatistics": {"minimum": 1, "maximum": 2}}, ("timestamp", 1, 2, None)),
        ({"timestampStatistics": {"minimum": 1, "maximum": 2, "minimumUtc": 3, "maximumUtc": 4}},
         ("timestamp", 3, 4, None)),
        ({"collectionStatistics": {"minChildren": 0, "maxChildren": 2, "totalChildren": 8}},
         ("collection", 0, 2, 8)),
        ({"intStatistics": {}}, ("int", None, None, None)),
        ({}, (None, None, None, None)),
    ],
)  # fmt: skip
def test_statistics_of_every_kind(stored, expected):
    kind, low, high, total = expected
    assert shown(**stored) == GroupStatistics(kind, None, None, low, high, total)


def test_values_and_nulls():
    found = shown(numberOfValues=0, hasNull=True)
    assert (found.num_values, found.has_null) == (0, True)


def test_positions_and_missing_statistics():
    entry = orc_pb2.RowIndexEntry(positions=[0, 3074, 488])
    data = orc_pb2.RowIndex(entry=[entry]).SerializeToString()
    (found,) = read_row_index(data, 1, "here")
    assert (found.positions, found.statistics) == ((0, 3074, 488), None)


def test_there_is_an_entry_for_each_index_group():
    with pytest.raises(FilterError, match=r"^here: 2 entries, expected 3$"):
        read_row_index(row_index({}, {}), 3, "here")
    with pytest.raises(FooterError, match=r"^here: damaged: 1 byte, not a RowIndex$"):
        read_row_index(b"\x0a", 1, "here")


COLUMNS = {
    "i": (pa.array([3, None, 1], pa.int64()), ("int", 2, True, 1, 3, 4)),
    "f": (pa.array([0.5, 1.5, None], pa.float32()), ("double", 2, True, 0.5, 1.5, 2.0)),
    "s": (pa.array(["b", "a", "cc"]), ("string", 3, False, "a", "cc", 4)),
    "b": (pa.array([True, False, True]), ("bucket", 3, False, None, None, 2)),
    "d": (pa.array([Decimal("1.50")] * 3), ("decimal", 3, False, "1.5", "1.5", "4.5")),
    "t": (pa.array([date(1969, 12, 31)] * 3), ("date", 3, False, "1969-12-31", "1969-12-31", None)),
    "y": (pa.array([b"ab", b"c", None]), ("binary", 2, True, None, None, 3)),
    "m": (pa.array([1, 2, 3], pa.timestamp("ms")), ("timestamp", 3, False, 1, 3, None)),
}


def test_statistics_of_orc_cpp_are_those_of_the_values(tmp_path):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({name: values for name, (values, _) in COLUMNS.items()}), path)
    with open_file(path) as file:
        for name, (_, expected) in COLUMNS.items():
            (entry,) = file.row_index(0, file.column(name))
            found = entry.statistics
            assert found == GroupStatistics(*expected), name
            assert fits(found, file.column(name))
            others = {other for other in COLUMNS if fits(found, file.column(other))}
            assert others == {name}
