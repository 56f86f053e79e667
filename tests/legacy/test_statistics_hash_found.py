"""Filters inside Statistics that do not say how their values were hashed: the values do, or nobody."""

from dataclasses import replace
from math import log

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.statistics_files import with_field, with_struct

from parquet_bloom.errors import FilterError
from parquet_bloom.files import open_file
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct
from parquet_bloom.legacy.statistics.stored import fitting, read_stored, usable
from parquet_bloom.legacy.statistics.strategies import STRATEGIES
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.runs import FixedRun

VALUES = np.arange(1, 601, dtype=np.int64) * 7


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("recognised") / "source.parquet"
    pq.write_table(
        pa.table(
            {
                "x": VALUES,
                "none": pa.nulls(VALUES.size, pa.int64()),
                "one": np.full(VALUES.size, 5, np.int64),
            }
        ),
        path,
    )
    return path


def foreign(strategy, values=VALUES, entries=600, num_bits=None, num_hashes=None, number=0):
    """The struct of a writer that gives no name to what it did."""
    chosen = STRATEGIES[strategy]
    size = chosen.size(entries, 0.05)
    filter = chosen.filter_class.empty(num_bits or size[0], num_hashes or size[1])
    run = FixedRun(memoryview(np.ascontiguousarray(values)).cast("B"), 8)
    filter.insert_hashes(run.hashed_by(chosen.hasher(LEAF)))
    return StatisticsStruct(
        "list", bytes(filter.bitset), filter.num_bits, filter.num_hashes, number
    )


class LEAF:
    physical = "INT64"


def read(source, tmp_path, struct, column="x", how=usable, field_id=7):
    path = tmp_path / "foreign.parquet"
    with_struct(source, path, struct, column, field_id)
    with open_file(path) as file:
        chunk = file.chunk(0, column)
        return how(file, chunk, read_stored(file.footer, chunk))


@pytest.mark.parametrize("field_id", [7, 5, 31420])
@pytest.mark.parametrize(
    ("strategy", "number"),
    [
        ("hive", 0),
        ("hive", None),
        ("guava-32", 0),
        ("guava-32", None),
        ("guava-64", 1),
        ("guava-64", None),
    ],
)
def test_the_values_tell_the_strategy(source, tmp_path, strategy, number, field_id):
    """0 was meant for Guava's first, and the only writer computed Hive's; the first draft had no
    field for it."""
    struct = foreign(strategy, number=number)
    filter = read(source, tmp_path, struct, field_id=field_id)
    assert (filter.hash, filter.pointer) == (strategy, f"Statistics field {field_id}")
    assert all(filter.check(value.tobytes()) for value in VALUES)
    absent = np.arange(10**6, 10**6 + 1000)
    assert sum(filter.check(value.tobytes()) for value in absent) < 100


def test_guava_divides_by_all_bits_of_its_longs(source, tmp_path):
    """Where numBits is what was needed, before Guava rounded it."""
    needed = int(-600 * log(0.05) / log(2) ** 2)
    assert needed % 64
    filter = read(source, tmp_path, replace(foreign("guava-64", number=1), num_bits=needed))
    assert filter.bits.num_bits == 64 * len(filter.bits.words)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_modulus_is_found_too(source, tmp_path, strategy):
    struct = foreign(strategy, num_bits=3700, number=None)
    filter = read(source, tmp_path, struct)
    assert (filter.hash, filter.bits.num_bits) == (strategy, 3700)


HASHED_AS = "the chunk's values are not found by the hash of"


@pytest.mark.parametrize(
    ("struct", "column", "message"),
    [
        pytest.param(
            foreign("guava-64", number=0), "x", f"{HASHED_AS} hive or guava-32", id="wrong number"
        ),
        pytest.param(
            foreign("hive", values=VALUES + 1), "x", f"{HASHED_AS} hive or guava-32", id="others"
        ),
        pytest.param(
            StatisticsStruct("list", bytes(800), 6400, 4, 0),
            "x",
            f"{HASHED_AS} hive or guava-32",
            id="empty",
        ),
        pytest.param(
            StatisticsStruct("list", b"\xff" * 800, 6400, 4, 1),
            "x",
            f"{HASHED_AS} guava-64",
            id="all bits set: nothing can be told",
        ),
        pytest.param(
            foreign("hive"),
            "none",
            "no stored values to identify its hash by",
            id="no values",
        ),
        pytest.param(
            foreign("hive", number=2), "x", "bloomFilterStrategy is 2, expected 0 or 1", id="2"
        ),
        pytest.param(
            foreign("hive", number=-1), "x", "bloomFilterStrategy is -1, expected 0 or 1", id="-1"
        ),
        pytest.param(
            replace(foreign("hive"), name="hive\n2"),
            "x",
            r"strategy 'hive\n2', expected hive, guava-32, guava-64",
            id="a name that a later version may give",
        ),
        pytest.param(
            foreign("hive", values=VALUES[:-10]),
            "x",
            "some stored values are not in the filter",
            id="some are missing",
        ),
    ],
)
def test_when_in_doubt_there_is_no_filter(source, tmp_path, struct, column, message):
    with pytest.raises(FilterError) as found:
        read(source, tmp_path, struct, column)
    where = f"{tmp_path / 'foreign.parquet'}: row group 0, column {column}: Statistics field 7"
    assert str(found.value) == f"{where}: {message}"


def test_one_value_tells_if_few_bits_are_set(source, tmp_path):
    struct = foreign("hive", values=np.array([5]), entries=5000)
    assert read(source, tmp_path, struct, "one").hash == "hive"


def test_one_value_does_not_tell_if_many_are(source, tmp_path):
    with pytest.raises(FilterError, match=HASHED_AS):
        read(source, tmp_path, foreign("hive", values=np.arange(500), entries=500), "one")


def test_how_many_are_missing_is_known(source, tmp_path):
    found = read(source, tmp_path, foreign("hive", values=VALUES[:500]), how=fitting)
    assert not found.is_complete
    assert found.sample == 600
    assert 500 <= found.found < 520


def test_a_filter_with_more_positions_than_numbers_can_say(source, tmp_path):
    """The hash of 0 sets one bit; the probability of any other value is too small for a float."""
    path = tmp_path / "zero.parquet"
    pq.write_table(pa.table({"x": np.zeros(10, np.int64)}), path)
    struct = foreign("hive", values=np.zeros(1, np.int64), num_bits=1 << 20, num_hashes=1000)
    filter = read(path, tmp_path, struct)
    assert filter.bits.fpp == 0
    assert filter.check(bytes(8))


# ------------------------------------------------------------------------------------------------
# Fields that are none


@pytest.mark.parametrize(
    ("field_id", "field"),
    [
        (7, (1, b"")),
        (7, (2, b"")),
        (5, (compact.TYPE_BINARY, b"\x01x")),
        (31420, (compact.TYPE_BINARY, b"\x01x")),
        (31420, (compact.TYPE_I32, b"\x02")),
        (100, (compact.TYPE_STRUCT, b"\x00")),
    ],
)
def test_a_field_of_another_type_is_no_filter(source, tmp_path, field_id, field):
    path = tmp_path / "strange.parquet"
    with_field(source, path, "x", field_id, field)
    with open_file(path) as file:
        assert read_stored(file.footer, file.chunk(0, "x")) is None


@pytest.mark.parametrize("field_id", [5, 7, 31420])
def test_a_struct_that_is_no_filter_is_an_error(source, tmp_path, field_id):
    path = tmp_path / "strange.parquet"
    with_field(source, path, "x", field_id, (compact.TYPE_STRUCT, b"\x00"))
    with open_file(path) as file, pytest.raises(FilterError) as found:
        read_stored(file.footer, file.chunk(0, "x"))
    assert str(found.value) == (
        f"{path}: row group 0, column x: Statistics field {field_id}: the filter in Statistics has"
        " no bitSet"
    )
