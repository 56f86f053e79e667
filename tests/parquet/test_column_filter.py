"""A filter that is asked about values: one by one, and all of a list, a numpy or a pyarrow array."""

import math
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from make.leaves import leaf
from oracle import specification as spec

from parquet_bloom.container import Place
from parquet_bloom.container.column_filter import ColumnFilter
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.filters.asked import stored_of

NUM_BLOCKS = 3
"""So few that some of the answers are false positives."""

Pack = Callable[[Any], bytes]


def packed(form: str) -> Pack:
    return lambda value: struct.pack(form, value)


def filter_of(spelling: str, stored: list[bytes]) -> tuple[ColumnFilter, spec.Filter]:
    """A filter of these stored bytes, and the oracle's."""
    oracle = spec.filter_of(map(xxhash.xxh64_intdigest, stored), NUM_BLOCKS)
    bits = SplitBlockBloomFilter(spec.words(oracle))

    def ask(values: Any) -> np.ndarray:
        stored = stored_of(leaf(spelling), values)
        return stored.found(bits.check_hashes(stored.hashes))

    return ColumnFilter(Place(0), "a", "xxhash", bits, ask), oracle


def found(oracle: spec.Filter, *stored: bytes) -> bool:
    return any(spec.filter_check(oracle, xxhash.xxh64_intdigest(plain)) for plain in stored)


def assert_same_answers(filter: ColumnFilter, values: Any, items: list[Any]) -> np.ndarray:
    """check_many of `values` is check of each of `items`; returns the answers."""
    answers = filter.check_many(values)
    assert isinstance(answers, np.ndarray)
    assert (answers.dtype, answers.shape) == (np.bool_, (len(items),))
    assert answers.tolist() == [filter.check(item) for item in items]
    return answers


# --- numpy integers -------------------------------------------------------------------------------

INTEGERS = {
    "INT32": "<i",
    "INT64": "<q",
    "INT32 INTEGER(8,true)": "<i",
    "INT32 INTEGER(16,true)": "<i",
    "INT32 INTEGER(32,true)": "<i",
    "INT64 INTEGER(64,true)": "<q",
    "INT32 INTEGER(8,false)": "<I",
    "INT32 INTEGER(16,false)": "<I",
    "INT32 INTEGER(32,false)": "<I",
    "INT64 INTEGER(64,false)": "<Q",
    "INT32 DATE": "<i",
    "INT32 TIME(MILLIS,true)": "<i",
    "INT64 TIMESTAMP(MICROS,true)": "<q",
}


@pytest.mark.parametrize("spelling", INTEGERS)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8"])
def test_integers(spelling: str, dtype: str) -> None:
    """Whatever the array's own width, what is hashed has the column's."""
    generator = np.random.default_rng(0)
    values = generator.integers(0, 128, 200).astype(dtype)
    pack = packed(INTEGERS[spelling])
    filter, oracle = filter_of(spelling, [pack(int(value)) for value in values[:40]])
    answers = assert_same_answers(filter, values, values.tolist())
    assert answers.tolist() == [found(oracle, pack(value)) for value in values.tolist()]
    assert answers[:40].all()
    assert not answers.all()


@pytest.mark.parametrize(
    ("spelling", "dtype", "extremes"),
    [
        ("INT32", "i8", [-(2**31), -1, 0, 2**31 - 1]),
        ("INT64", "i8", [-(2**63), -1, 0, 2**63 - 1]),
        ("INT64", "u8", [0, 1, 2**63 - 1]),
        ("INT32 INTEGER(8,true)", "i8", [-128, -1, 127]),
        ("INT32 INTEGER(8,true)", "i1", [-128, -1, 127]),
        ("INT32 INTEGER(16,true)", "i4", [-(2**15), 2**15 - 1]),
        ("INT32 INTEGER(32,false)", "u4", [0, 2**31, 2**32 - 1]),
        ("INT32 INTEGER(32,false)", "i8", [0, 2**31, 2**32 - 1]),
        ("INT32 INTEGER(8,false)", "u1", [0, 128, 255]),
        ("INT64 INTEGER(64,false)", "u8", [0, 2**63, 2**64 - 1]),
        ("INT64 INTEGER(64,false)", "i8", [0, 2**63 - 1]),
    ],
)
def test_extreme_integers(spelling: str, dtype: str, extremes: list[int]) -> None:
    pack = packed(INTEGERS[spelling])
    for inserted in extremes:
        filter, oracle = filter_of(spelling, [pack(inserted)])
        values = np.array(extremes, dtype)
        answers = assert_same_answers(filter, values, extremes)
        assert answers.tolist() == [found(oracle, pack(value)) for value in extremes]
        assert answers[extremes.index(inserted)]


@pytest.mark.parametrize(
    "view",
    [
        lambda values: values[::2],
        lambda values: values[::-1],
        lambda values: values.reshape(20, 10)[:, 3],
        lambda values: values[:0],
        lambda values: np.frombuffer(values.tobytes(), values.dtype),
        lambda values: memoryview(values),
        list,
        tuple,
        iter,
    ],
    ids=[
        "strided",
        "reversed",
        "column",
        "empty",
        "read-only",
        "view",
        "list",
        "tuple",
        "iterator",
    ],
)
@pytest.mark.parametrize(("spelling", "dtype"), [("INT64", "i8"), ("DOUBLE", "f8")])
def test_arrays_of_every_layout(spelling: str, dtype: str, view: Callable[[Any], Any]) -> None:
    values = np.random.default_rng(1).integers(0, 1000, 200).astype(dtype)
    filter, _ = filter_of(spelling, [value.tobytes() for value in values[:40]])
    assert_same_answers(filter, view(values), list(view(values)))


@pytest.mark.parametrize(
    ("spelling", "values", "message"),
    [
        ("INT32 INTEGER(8,false)", np.array([-1], "i1"), "-1: cannot be a value of INT32 INT"),
        ("INT64 INTEGER(64,false)", np.array([5, -1]), "-1: cannot be a value of INT64 INT"),
        ("INT32 DATE", np.array([2**31]), "2147483648: cannot be a value of INT32 DATE"),
        ("INT64", np.array([1.5]), "1.5: cannot be a value of INT64: expected an integer"),
        ("INT64", np.array([True]), "True: cannot be a value of INT64: expected an integer"),
        ("INT64", np.array(["1"]), "'1': cannot be a value of INT64: expected an integer"),
        ("INT64", np.array([[1, 2]]), "[1 2]: cannot be a value of INT64: expected an integer"),
        ("BYTE_ARRAY STRING", np.array([1]), "1: cannot be a value of BYTE_ARRAY STRING"),
        ("INT32 DECIMAL(9,2)", np.array([10**7]), "10000000: cannot be a value of INT32 DECIMAL"),
        ("FLOAT", np.array(["1"]), "'1': cannot be a value of FLOAT: expected a number"),
        ("DOUBLE", np.array([1j]), "1j: cannot be a value of DOUBLE: expected a number"),
        ("FLOAT", np.array([0.5, 1e39]), "1e+39: cannot be a value of FLOAT: expected a number"),
        ("FLOAT", np.array([-1e300]), "-1e+300: cannot be a value of FLOAT: expected a number"),
        ("FIXED_LEN_BYTE_ARRAY(2) FLOAT16", np.array([7e4]), "70000.0: cannot be a value of FIXED"),
        ("BYTE_ARRAY", ["text", 5], "5: cannot be a value of BYTE_ARRAY: expected text or bytes"),
        ("FIXED_LEN_BYTE_ARRAY(2)", [b"ab", b"a"], "0x61: cannot be a value of FIXED_LEN_BYTE"),
        ("INT64", pa.array(["1"]), "'1': cannot be a value of INT64: expected an integer"),
        ("BYTE_ARRAY STRING", pa.array([1]), "1: cannot be a value of BYTE_ARRAY STRING"),
        ("INT32", [1, "2"], "'2': cannot be a value of INT32: expected an integer"),
    ],
)
def test_one_value_that_the_column_cannot_hold_is_an_error(
    spelling: str, values: Any, message: str
) -> None:
    filter, _ = filter_of(spelling, [])
    with pytest.raises(ValueTypeError) as refused:
        filter.check_many(values)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("count", [1, 300])
@pytest.mark.parametrize(
    ("spelling", "beyond"),
    [("INT32", 2**31), ("INT64", 2**63), ("INT32 INTEGER(32,false)", 2**32)],
)
def test_an_integer_of_more_bits_is_not_in_it(spelling: str, beyond: int, count: int) -> None:
    filter, _ = filter_of(spelling, [struct.pack("<q", 7)[: 8 if "64" in spelling else 4]])
    assert filter.check(beyond) is False
    values = np.array([7, beyond] * count, "u8")
    assert filter.check_many(values).tolist() == [True, False] * count
    assert filter.check_many(pa.array(values)).tolist() == [True, False] * count


def test_text_that_is_no_utf8_is_an_error() -> None:
    filter, _ = filter_of("BYTE_ARRAY STRING", [])
    with pytest.raises(ValueTypeError):
        filter.check_many(["text", "\udcff"])


# --- floating point numbers -----------------------------------------------------------------------

FLOATS = {"FLOAT": "<f", "DOUBLE": "<d", "FIXED_LEN_BYTE_ARRAY(2) FLOAT16": "<e"}
SOME_FLOATS = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, 2.0**-24, -(2.0**-24), 65_504.0]


@pytest.mark.parametrize("spelling", FLOATS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8"])
def test_floats(spelling: str, dtype: str) -> None:
    """Each is a half, so that its number is the same in every width."""
    pack = packed(FLOATS[spelling])
    generator = np.random.default_rng(2)
    values = np.concatenate([SOME_FLOATS, generator.normal(0, 10, 200).astype("f2")]).astype(dtype)
    for inserted in (values[9:49].tolist(), [0.0], [-0.0], [math.inf], []):
        filter, oracle = filter_of(spelling, list(map(pack, inserted)))
        answers = assert_same_answers(filter, values, values.tolist())
        zero = found(oracle, pack(0.0), pack(-0.0))
        assert answers.tolist() == [
            zero if value == 0 else found(oracle, pack(value)) for value in values.tolist()
        ]


@pytest.mark.parametrize("spelling", FLOATS)
@pytest.mark.parametrize("inserted", [0.0, -0.0])
def test_one_zero_is_as_good_as_the_other(spelling: str, inserted: float) -> None:
    filter, _ = filter_of(spelling, [struct.pack(FLOATS[spelling], inserted)])
    for zero in (0.0, -0.0, 0, np.float32(-0.0)):
        assert filter.check(zero)
    assert filter.check_many(np.array([0.0, -0.0, 1.0])).tolist() == [True, True, False]


@pytest.mark.parametrize("spelling", FLOATS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nan_is_never_excluded(spelling: str, dtype: str) -> None:
    filter, _ = filter_of(spelling, [])
    values = np.array([math.nan, 1.0, -math.nan, 0.0], dtype)
    assert filter.check_many(values).tolist() == [True, False, True, False]
    assert filter.check(math.nan)
    assert not filter.check(1.0)


@pytest.mark.parametrize("spelling", ["FLOAT", "FIXED_LEN_BYTE_ARRAY(2) FLOAT16"])
def test_doubles_are_rounded_to_the_columns_width(spelling: str) -> None:
    pack = packed(FLOATS[spelling])
    values = np.random.default_rng(3).normal(0, 10, 200)
    filter, oracle = filter_of(spelling, list(map(pack, values[:40])))
    answers = assert_same_answers(filter, values, values.tolist())
    assert answers.tolist() == [found(oracle, pack(value)) for value in values.tolist()]
    assert answers[:40].all()


def test_a_double_too_small_for_a_float_is_a_zero() -> None:
    filter, _ = filter_of("FLOAT", [struct.pack("<f", -0.0)])
    assert filter.check(1e-60)
    assert filter.check_many(np.array([1e-60, -1e-60, 1.0])).tolist() == [True, True, False]


def test_integers_are_numbers_too() -> None:
    filter, _ = filter_of("DOUBLE", [struct.pack("<d", 7)])
    assert_same_answers(filter, np.arange(100), list(range(100)))
    assert filter.check_many(np.array([7, 8])).tolist() == [True, False]


# --- lists of everything else ---------------------------------------------------------------------

SOME_UUIDS = [uuid.UUID(int=number << 90 | number) for number in range(60)]
SOME_TEXTS = ["", "a", "naïve", "🙂", "x" * 100, *(f"text {number}" for number in range(60))]
SOME_DECIMALS = [Decimal(number).scaleb(-2) for number in range(-300, 300, 7)]
SOME_DATES = [date(1969, 12, 1) + timedelta(days=number) for number in range(60)]
SOME_TIMES = [time(10, 0, second, 123_000) for second in range(60)]
SOME_TIMESTAMPS = [datetime(1969, 12, 31, 23, 59) + timedelta(seconds=n) for n in range(0, 120, 2)]
EPOCH = datetime(1970, 1, 1)


def millis(value: time) -> int:
    return (value.hour * 3600 + value.minute * 60 + value.second) * 1000 + value.microsecond // 1000


def int96(value: datetime) -> bytes:
    days, rest = divmod(value - EPOCH, timedelta(days=1))
    return struct.pack("<qi", rest // timedelta(microseconds=1) * 1000, days + 2_440_588)


def days(value: date) -> bytes:
    return struct.pack("<i", (value - EPOCH.date()).days)


def unscaled(value: Decimal) -> int:
    return int(value * 100)


# (column, values, how one of them is stored)
LISTS: list[tuple[str, list[Any], Pack]] = [
    ("BYTE_ARRAY STRING", SOME_TEXTS, str.encode),
    ("BYTE_ARRAY", [text.encode() for text in SOME_TEXTS], bytes),
    ("BYTE_ARRAY", [bytearray(text.encode()) for text in SOME_TEXTS], bytes),
    ("BYTE_ARRAY ENUM", SOME_TEXTS, str.encode),
    ("FIXED_LEN_BYTE_ARRAY(4)", [struct.pack(">i", n) for n in range(60)], bytes),
    ("FIXED_LEN_BYTE_ARRAY(16) UUID", SOME_UUIDS, lambda value: value.bytes),
    ("INT32 DECIMAL(9,2)", SOME_DECIMALS, lambda value: struct.pack("<i", unscaled(value))),
    ("INT64 DECIMAL(18,2)", SOME_DECIMALS, lambda value: struct.pack("<q", unscaled(value))),
    (
        "FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)",
        SOME_DECIMALS,
        lambda value: unscaled(value).to_bytes(4, "big", signed=True),
    ),
    (
        "BYTE_ARRAY DECIMAL(9,2)",
        SOME_DECIMALS,
        lambda value: unscaled(value).to_bytes(7, "big", signed=True),
    ),
    ("INT32 DATE", SOME_DATES, days),
    ("INT32 TIME(MILLIS,true)", SOME_TIMES, lambda value: struct.pack("<i", millis(value))),
    (
        "INT64 TIMESTAMP(MICROS,false)",
        SOME_TIMESTAMPS,
        lambda value: struct.pack("<q", (value - EPOCH) // timedelta(microseconds=1)),
    ),
    ("INT96", SOME_TIMESTAMPS, int96),
    ("INT64", list(range(-30, 30)), packed("<q")),
    ("DOUBLE", [number / 7 for number in range(1, 60)], packed("<d")),
]


@pytest.mark.parametrize(("spelling", "values", "stored"), LISTS)
def test_lists(spelling: str, values: list[Any], stored: Pack) -> None:
    filter, _ = filter_of(spelling, [stored(value) for value in values[:15]])
    answers = assert_same_answers(filter, values, values)
    assert answers[:15].all()
    assert not answers.all() or "BYTE_ARRAY DECIMAL" in spelling
    with_null = [None, *values[::-1], None]
    assert assert_same_answers(filter, with_null, with_null)[[0, -1]].all()
    assert assert_same_answers(filter, (value for value in values), values).any()
    assert assert_same_answers(filter, np.array([*values, None], object)[:-1], values).any()
    assert assert_same_answers(filter, [], []).tolist() == []


def test_text_and_bytes_may_be_mixed() -> None:
    filter, _ = filter_of("BYTE_ARRAY STRING", [b"text 1", b"text 2"])
    values = ["text 1", b"text 2", "text 3", b"text 4"]
    assert assert_same_answers(filter, values, values).tolist() == [True, True, False, False]


@pytest.mark.parametrize("dtype", [object, "U10", "S10"])
def test_numpy_text(dtype: Any) -> None:
    values = np.array(["text 1", "text 2", "text 3"], dtype)
    filter, _ = filter_of("BYTE_ARRAY STRING", [b"text 1", b"text 3"])
    assert assert_same_answers(filter, values, list(values)).tolist() == [True, False, True]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=50), st.data())
def test_any_text(texts: list[str], data: st.DataObject) -> None:
    inserted = data.draw(st.lists(st.sampled_from(texts), max_size=10)) if texts else []
    filter, oracle = filter_of("BYTE_ARRAY STRING", [text.encode() for text in inserted])
    answers = assert_same_answers(filter, texts, texts)
    assert answers.tolist() == [found(oracle, text.encode()) for text in texts]


def test_decimals_of_every_length_are_found() -> None:
    """A BYTE_ARRAY decimal is padded as its writer likes."""
    for length in range(2, 17):
        stored = (1234).to_bytes(length, "big", signed=True)
        filter, _ = filter_of("BYTE_ARRAY DECIMAL(9,2)", [stored])
        assert filter.check(Decimal("12.34"))
        assert filter.check_many([Decimal("12.34")]).tolist() == [True]


# --- numpy and pyarrow times ----------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("column_unit", ["MILLIS", "MICROS", "NANOS"])
def test_numpy_timestamps(unit: str, column_unit: str) -> None:
    per_second = {"MILLIS": 10**3, "MICROS": 10**6, "NANOS": 10**9}[column_unit]
    seconds = np.arange(-30, 30)
    values = seconds.astype("datetime64[s]").astype(f"datetime64[{unit}]")
    stored = [struct.pack("<q", int(second) * per_second) for second in seconds]
    filter, oracle = filter_of(f"INT64 TIMESTAMP({column_unit},true)", stored[:15])
    answers = assert_same_answers(filter, values, list(values))
    assert answers.tolist() == [found(oracle, plain) for plain in stored]


NANOS = [-1, 0, 1, 7, 1_706_695_200_000_000_007, 999, 1000]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_pyarrow_timestamps_keep_their_nanoseconds(zone: str | None) -> None:
    utc = str(zone is not None).lower()
    array = pa.array(NANOS, pa.timestamp("ns", zone))
    for inserted in NANOS:
        filter, oracle = filter_of(f"INT64 TIMESTAMP(NANOS,{utc})", [struct.pack("<q", inserted)])
        expected = [found(oracle, struct.pack("<q", nanos)) for nanos in NANOS]
        assert filter.check_many(array).tolist() == expected


def test_pyarrow_times_keep_their_nanoseconds() -> None:
    nanos = [0, 1, 7, 999, 1000, 86_399_999_999_999]
    array = pa.array(nanos, pa.time64("ns"))
    for inserted in nanos:
        filter, oracle = filter_of("INT64 TIME(NANOS,true)", [struct.pack("<q", inserted)])
        expected = [found(oracle, struct.pack("<q", number)) for number in nanos]
        assert filter.check_many(array).tolist() == expected


# --- pyarrow arrays -------------------------------------------------------------------------------

WITH_NULLS = [1, None, 5, 100, None, 7]
WORDS = ["text 1", None, "text 2", "text 3"]

# (column, array, values that were inserted, how one of them is stored)
ARRAYS: list[tuple[str, Any, list[Any], Pack]] = [
    ("INT32", pa.array(WITH_NULLS, pa.int32()), [1, 5], packed("<i")),
    ("INT64", pa.array(WITH_NULLS, pa.int8()), [1, 5], packed("<q")),
    ("INT32 INTEGER(32,false)", pa.array([1, 2**32 - 1], pa.uint32()), [2**32 - 1], packed("<I")),
    ("INT64 INTEGER(64,false)", pa.array([1, 2**64 - 1], pa.uint64()), [2**64 - 1], packed("<Q")),
    ("FLOAT", pa.array([0.5, 0.1, None, 7], pa.float32()), [0.5, 0.1], packed("<f")),
    ("DOUBLE", pa.array([0.5, 0.1, None, 7], pa.float64()), [0.5, 0.1], packed("<d")),
    (
        "FIXED_LEN_BYTE_ARRAY(2) FLOAT16",
        pa.array(np.array([0.5, 7], "f2")),
        [0.5],
        packed("<e"),
    ),
    ("BYTE_ARRAY STRING", pa.array(WORDS, pa.string()), ["text 1", "text 2"], str.encode),
    ("BYTE_ARRAY STRING", pa.array(WORDS, pa.large_string()), ["text 1"], str.encode),
    ("BYTE_ARRAY STRING", pa.array(WORDS, pa.string_view()), ["text 1"], str.encode),
    ("BYTE_ARRAY STRING", pa.array(WORDS).dictionary_encode(), ["text 1"], str.encode),
    ("BYTE_ARRAY STRING", pa.array(WORDS)[1:], ["text 3"], str.encode),
    ("BYTE_ARRAY STRING", pa.chunked_array([WORDS, [], WORDS]), ["text 3"], str.encode),
    ("BYTE_ARRAY", pa.array([b"a", b"", None], pa.binary()), [b"a"], bytes),
    ("FIXED_LEN_BYTE_ARRAY(2)", pa.array([b"ab", b"cd", None], pa.binary(2)), [b"ab"], bytes),
    (
        "FIXED_LEN_BYTE_ARRAY(16) UUID",
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([value.bytes for value in SOME_UUIDS[:4]], pa.binary(16))
        ),
        SOME_UUIDS[:2],
        lambda value: value.bytes,
    ),
    ("INT32 DATE", pa.array(SOME_DATES, pa.date32()), SOME_DATES[:5], days),
    (
        "INT32 TIME(MILLIS,true)",
        pa.array(SOME_TIMES, pa.time32("ms")),
        SOME_TIMES[:5],
        lambda value: struct.pack("<i", millis(value)),
    ),
    (
        "INT64 TIMESTAMP(MICROS,false)",
        pa.array(SOME_TIMESTAMPS, pa.timestamp("ms")),
        SOME_TIMESTAMPS[:5],
        lambda value: struct.pack("<q", (value - EPOCH) // timedelta(microseconds=1)),
    ),
    (
        "INT32 DECIMAL(9,2)",
        pa.array(SOME_DECIMALS, pa.decimal128(9, 2)),
        SOME_DECIMALS[:5],
        lambda value: struct.pack("<i", unscaled(value)),
    ),
]


@pytest.mark.parametrize(("spelling", "array", "inserted", "stored"), ARRAYS)
def test_pyarrow_arrays(spelling: str, array: Any, inserted: list[Any], stored: Pack) -> None:
    filter, oracle = filter_of(spelling, [stored(value) for value in inserted])
    answers = assert_same_answers(filter, array, array.to_pylist())
    assert answers.tolist() == [
        value is None or found(oracle, stored(value)) for value in array.to_pylist()
    ]
    assert not answers.all()


def test_pyarrow_timestamps_with_a_zone() -> None:
    values = [datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))), None]
    array = pa.array(values, pa.timestamp("us", "Europe/Berlin"))
    stored = struct.pack("<q", 1_706_695_200_000_000)
    filter, _ = filter_of("INT64 TIMESTAMP(MICROS,true)", [stored])
    assert filter.check_many(array).tolist() == [True, True]
    assert filter.check(datetime(2024, 1, 31, 10, tzinfo=UTC))


def test_a_zone_where_the_column_has_none() -> None:
    filter, _ = filter_of("INT64 TIMESTAMP(MICROS,false)", [])
    array = pa.array([1], pa.timestamp("us", "UTC"))
    for values in (array, array.to_pylist(), array.dictionary_encode()):
        with pytest.raises(ValueTypeError, match=r"expected a local timestamp, without a zone$"):
            filter.check_many(values)


# --- single values --------------------------------------------------------------------------------


def test_what_cannot_be_excluded_is_true() -> None:
    for spelling in ("INT32", "DOUBLE", "BYTE_ARRAY STRING", "INT96"):
        filter, _ = filter_of(spelling, [])
        assert filter.check(None) is True
        assert filter.check_many([None, None]).tolist() == [True, True]
    filter, _ = filter_of("BOOLEAN", [])
    assert filter.check(True) is True
    assert filter.check_many([True, False]).tolist() == [True, True]


def test_check_is_a_bool() -> None:
    filter, _ = filter_of("INT32", [struct.pack("<i", 7)])
    assert filter.check(7) is True
    assert filter.check(8) is False


@pytest.mark.parametrize("value", ["7", 7.5, True, b"1234"])
def test_check_refuses_what_the_column_cannot_hold(value: Any) -> None:
    filter, _ = filter_of("INT32", [])
    with pytest.raises(ValueTypeError, match=r"cannot be a value of INT32: expected"):
        filter.check(value)


def test_it_has_the_bits() -> None:
    filter, oracle = filter_of("INT32", [struct.pack("<i", 7)])
    assert filter.bits.to_bytes() == bytes(filter.bitset) == spec.bitset(oracle)
    assert filter.words.tolist() == spec.words(oracle).tolist()
    assert (filter.num_bytes, filter.bits_set, filter.fill) == (96, 8, 8 / 768)
    assert (filter.fpp, filter.ndv_estimate) == (filter.bits.fpp, filter.bits.ndv_estimate)
    assert repr(filter) == (
        "<xxhash filter of column a in row group 0: 96 bytes, 1 % full, FPP < 0.0001 %>"
    )
