"""Min/max statistics of every type as ranges, and what cannot be one."""

import math
import random
import struct
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest

from parquet_bloom.advice.lookups import MinMax, candidates
from parquet_bloom.advice.order import Keys
from parquet_bloom.advice.parquet_survey import bounds, key_of, keys_at
from parquet_bloom.parquet.pages.runs import run_of
from parquet_bloom.parquet.thrift.ttypes import Statistics
from parquet_bloom.values.encode import encode
from parquet_bloom.values.types import LeafType, LogicalType

INT32, INT64 = LeafType("INT32"), LeafType("INT64")
UINT32 = LeafType("INT32", logical=LogicalType("INTEGER", bit_width=32, signed=False))
UINT64 = LeafType("INT64", logical=LogicalType("INTEGER", bit_width=64, signed=False))
STRING = LeafType("BYTE_ARRAY", logical=LogicalType("STRING"))
UUID = LeafType("FIXED_LEN_BYTE_ARRAY", 16, LogicalType("UUID"))
FLOAT, DOUBLE = LeafType("FLOAT"), LeafType("DOUBLE")
HALF = LeafType("FIXED_LEN_BYTE_ARRAY", 2, LogicalType("FLOAT16"))
DECIMAL_64 = LeafType("INT64", logical=LogicalType("DECIMAL", precision=18, scale=2))
DECIMAL_FIXED = LeafType("FIXED_LEN_BYTE_ARRAY", 9, LogicalType("DECIMAL", precision=20, scale=2))
DECIMAL_BYTES = LeafType("BYTE_ARRAY", logical=LogicalType("DECIMAL", precision=20, scale=2))
TIMESTAMP = LeafType("INT64", logical=LogicalType("TIMESTAMP", unit="MICROS", utc=True))
INT96, BOOLEAN = LeafType("INT96"), LeafType("BOOLEAN")
# Annotated by something that nobody here knows, or that cannot be on this type.
UNKNOWN = LeafType("INT32", is_unknown=True)
WIDE = LeafType("FIXED_LEN_BYTE_ARRAY", 12, LogicalType("TIMESTAMP", unit="NANOS", utc=True))
INTERVAL = LeafType("FIXED_LEN_BYTE_ARRAY", 12, LogicalType("INTERVAL"))
VARIANT = LeafType("BYTE_ARRAY", logical=LogicalType("GEOMETRY"))


def stored(leaf, value):
    return encode(leaf, value).plain[0]


@pytest.mark.parametrize(
    ("leaf", "ascending"),
    [
        (INT32, [-(2**31), -1, 0, 1, 2**31 - 1]),
        (INT64, [-(2**63), -256, -1, 0, 255, 256, 2**63 - 1]),
        (UINT32, [0, 1, 2**31 - 1, 2**31, 2**32 - 1]),
        (UINT64, [0, 1, 2**63, 2**64 - 1]),
        (FLOAT, [float("-inf"), -2.5, -1e-45, 0.0, 1e-45, 1.0, float("inf")]),
        (DOUBLE, [float("-inf"), -1e300, 0.0, 5e-324, 1e300]),
        (HALF, [-65504.0, -1.0, 0.0, 1.0, 65504.0]),
        (STRING, ["", "A", "Z", "a", "aa", "b", "z", "é", "日本", "\U0001f600"]),
        (STRING, ["s3://" + "a" * 1000 + name for name in ("", "1", "10", "2")]),
        (UUID, [bytes(16), b"\x00" * 15 + b"\x01", b"\x7f" * 16, b"\x80" + bytes(15)]),
        (DECIMAL_64, [Decimal("-10.00"), Decimal("-0.01"), Decimal(0), Decimal("9.99")]),
        (DECIMAL_FIXED, [Decimal("-1e17"), Decimal("-0.01"), Decimal("0.01"), Decimal("1e17")]),
        (DECIMAL_BYTES, [Decimal("-300.00"), Decimal("-1.28"), Decimal("1.27"), Decimal("3e5")]),
        (TIMESTAMP, [-1, 0, 1_700_000_000_000_000]),
        (INT96, [datetime(1969, 12, 31), datetime(1970, 1, 1), datetime(2024, 1, 1, 0, 0, 1)]),
    ],
    ids=str,
)
def test_keys_are_in_the_order_of_the_values(leaf, ascending):
    keys = [key_of(leaf)(stored(leaf, value)) for value in ascending]
    assert None not in keys
    assert all(low < high for low, high in pairwise(keys))
    run = run_of([stored(leaf, value) for value in ascending], leaf.width)
    assert keys_at(run, leaf, np.arange(len(run))).tolist() == keys


@pytest.mark.parametrize("leaf", [UNKNOWN, WIDE, BOOLEAN, INTERVAL, VARIANT], ids=str)
def test_types_without_an_order_have_no_keys(leaf):
    assert key_of(leaf) is None
    assert bounds(leaf, Statistics(min_value=b"\0" * 12, max_value=b"\xff" * 12)) is None


def test_zeros_have_one_key_and_nan_has_none():
    key = key_of(DOUBLE)
    run = run_of([struct.pack("<d", number) for number in (math.nan, 1.5)], 8)
    assert keys_at(run, DOUBLE, np.arange(2)).tolist() == [None, 1.5]
    assert key(struct.pack("<d", 0.0)) == key(struct.pack("<d", -0.0))
    assert key(struct.pack("<d", float("nan"))) is None


def test_padded_and_minimal_decimals_have_one_key():
    key = key_of(DECIMAL_BYTES)
    assert key(b"\xff\x7f") == key(b"\xff\xff\xff\x7f") == -129


def test_bounds_of_the_current_fields():
    statistics = Statistics(min_value=stored(INT64, -5), max_value=stored(INT64, 7))
    assert bounds(INT64, statistics) == MinMax(-5, 7)


def test_shortened_bounds_are_bounds():
    statistics = Statistics(
        min_value=b"user-0",
        max_value=b"user-9:",
        is_min_value_exact=False,
        is_max_value_exact=False,
    )
    assert bounds(STRING, statistics) == MinMax(b"user-0", b"user-9:")


def test_of_long_values_the_beginning_is_compared():
    low, high = b"a" * 2000, b"a" * 1999 + b"b"
    both = MinMax(b"a" * 1024, b"a" * 1024)
    assert bounds(STRING, Statistics(min_value=low, max_value=high)) == both


@pytest.mark.parametrize("leaf", [INT32, INT64, FLOAT, DOUBLE, DECIMAL_64, TIMESTAMP], ids=str)
def test_deprecated_bounds_count_where_signed_comparison_is_right(leaf):
    statistics = Statistics(min=stored(leaf, 1), max=stored(leaf, 2))
    assert bounds(leaf, statistics) is not None


@pytest.mark.parametrize("leaf", [UINT32, UINT64, STRING, UUID, DECIMAL_FIXED, HALF], ids=str)
def test_deprecated_bounds_do_not_count_elsewhere(leaf):
    width = leaf.width or 3
    assert bounds(leaf, Statistics(min=bytes(width), max=b"\x01" * width)) is None
    assert bounds(leaf, Statistics(min_value=bytes(width), max_value=b"\x01" * width)) is not None


@pytest.mark.parametrize(
    ("leaf", "low", "high"),
    [
        (INT64, b"\x01", b"\x02"),
        (INT64, bytes(8), bytes(9)),
        (INT32, b"", b""),
        (DOUBLE, bytes(4), bytes(4)),
        (DOUBLE, struct.pack("<d", float("nan")), struct.pack("<d", 1.0)),
        (HALF, b"\x00", b"\x00\x00"),
        (UUID, bytes(17), bytes(17)),
        (DECIMAL_FIXED, bytes(8), bytes(9)),
        (DECIMAL_BYTES, b"", b"\x01"),
        (DECIMAL_BYTES, b"\x00" * 1_000_000, b"\x7f" + b"\xff" * 999_999),
        (INT64, stored(INT64, 7), stored(INT64, 6)),
        (STRING, b"b", b"a"),
        (INT64, stored(INT64, 7), None),
        (INT64, None, stored(INT64, 7)),
        (STRING, None, None),
        (STRING, "text", "text"),
        (INT64, 1, 2),
    ],
)
def test_hostile_bounds_are_none(leaf, low, high):
    assert bounds(leaf, Statistics(min_value=low, max_value=high)) is None


def test_no_statistics_are_no_bounds():
    assert bounds(INT64, None) is None


def test_ranges_around_a_value():
    ranges = [MinMax(0, 9), MinMax(10, 19), MinMax(5, 14), None, MinMax(7, 7)]
    expected = {
        -1: [3],
        0: [0, 3],
        5: [0, 2, 3],
        7: [0, 2, 3, 4],
        9: [0, 2, 3],
        10: [1, 2, 3],
        19: [1, 3],
        20: [3],
    }
    weights = [0.1, 0.2, 0.4, 0.8, 1.6]
    counts, found = candidates(ranges, weights, Keys.of(list(expected)))
    assert counts.tolist() == [len(groups) for groups in expected.values()]
    sums = [sum(weights[group] for group in groups) for groups in expected.values()]
    assert found.tolist() == pytest.approx(sums)


def test_a_value_without_a_place_is_within_every_range():
    counts, weights = candidates([MinMax(0, 1), None], [0.5, 0.25], Keys.of([None, 5, None]))
    assert (counts.tolist(), weights.tolist()) == ([2, 1, 2], [0.75, 0.25, 0.75])


@pytest.mark.parametrize("seed", range(5))
def test_outside_of_all_ranges_nothing_weighs_anything(seed):
    """Not even what sums of floating point numbers in two orders leave."""
    rng = random.Random(seed)
    weights = [rng.random() for _ in range(50)]
    ranges = [MinMax(n, 100 - n) for n in range(50)]
    assert min(candidates(ranges, weights, Keys.of([-1, 101]))[1].tolist()) >= 0
