"""Filters inside Statistics: the bits of each strategy and type, against Guava itself and against
Hive's code in plain Python."""

import random
import struct
from math import log

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.statistics_files import with_filters
from oracle import hashing

from parquet_bloom.files import open_file
from parquet_bloom.legacy.statistics.dialect import Expected, StatisticsFilter
from parquet_bloom.legacy.statistics.stored import fitting, read_stored, said, usable
from parquet_bloom.legacy.statistics.strategies import STRATEGIES

RANDOM = random.Random(6)
NUM_ROWS = 300


def texts(number):
    return [RANDOM.randbytes(RANDOM.randrange(40)).hex() for _ in range(number)]


# The columns of a file with a value of each physical type, and how a value is stored.
VALUES = {
    "int32": (pa.int32(), [RANDOM.randrange(-(2**31), 2**31) for _ in range(NUM_ROWS)], "<i"),
    "int64": (pa.int64(), [RANDOM.randrange(-(2**63), 2**63) for _ in range(NUM_ROWS)], "<q"),
    "float": (pa.float32(), [float(RANDOM.randrange(1, 2**24)) for _ in range(NUM_ROWS)], "<f"),
    "double": (pa.float64(), [-RANDOM.random() for _ in range(NUM_ROWS)], "<d"),
    "text": (pa.string(), texts(NUM_ROWS), None),
    "fixed": (pa.binary(7), [RANDOM.randbytes(7) for _ in range(NUM_ROWS)], None),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("statistics") / "source.parquet"
    columns = {name: pa.array(values, kind) for name, (kind, values, _) in VALUES.items()}
    columns["int96"] = pa.array(np.arange(NUM_ROWS) * 10**15, pa.timestamp("ns"))
    columns["some"] = pa.array([None if i % 3 else i for i in range(NUM_ROWS)], pa.int32())
    columns["none"] = pa.nulls(NUM_ROWS, pa.int32())
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=True)
    return path


def stored_bytes(name):
    _, values, form = VALUES[name]
    if form:
        return [struct.pack(form, value) for value in values]
    return [value.encode() if isinstance(value, str) else value for value in values]


def filter_of(path, column):
    """The first row group's, as its struct says."""
    with open_file(path) as file:
        chunk = file.chunk(0, column)
        return said(read_stored(file.footer, chunk), chunk.leaf.type)


def recognised_of(path, column):
    """The same, as the data say."""
    with open_file(path) as file:
        chunk = file.chunk(0, column)
        return fitting(file, chunk, read_stored(file.footer, chunk))


# ------------------------------------------------------------------------------------------------
# Hive


def hive_hash(name, plain):
    """parquet-java pull request 215: numbers with their sign, FLOAT by its 32 bits."""
    if name in ("int32", "float"):
        return hashing.wang(struct.unpack("<i", plain)[0])
    if name in ("int64", "double"):
        return hashing.wang(struct.unpack("<q", plain)[0])
    return hashing.hive64(plain)


def hive_numbers(entries, fpp):
    needed = int(-entries * log(fpp) / log(2) ** 2)
    num_bits = needed + 64 - needed % 64
    return num_bits, max(1, round(num_bits / entries * log(2)))


@pytest.mark.parametrize(("entries", "fpp"), [(300, 0.05), (40, 0.01), (1000, 0.05), (64, 0.05)])
def test_hive_filters_are_those_of_its_code(source, tmp_path, entries, fpp):
    output = tmp_path / "out.parquet"
    with_filters(source, output, StatisticsFilter("hive", entries, fpp), list(VALUES))
    num_bits, num_hashes = hive_numbers(entries, fpp)
    for name in VALUES:
        filter = filter_of(output, name)
        bits = [
            bit
            for plain in stored_bytes(name)
            for bit in hashing.k_hash_bits(hive_hash(name, plain), num_bits, num_hashes)
        ]
        words = hashing.long_words(bits, num_bits // 64)
        assert (filter.bits.num_bits, filter.bits.num_hashes) == (num_bits, num_hashes)
        assert filter.bits.words.tolist() == words, name


# ------------------------------------------------------------------------------------------------
# Guava

GUAVA = {"guava-32": "MURMUR128_MITZ_32", "guava-64": "MURMUR128_MITZ_64"}
SIZES = [(300, 0.05), (300, 0.01), (1000, 0.001), (1, 0.05), (64, 0.03), (17, 0.9)]


@pytest.fixture(scope="module")
def guava(parquet_java):
    """What Guava writes, by strategy, column, entries and FPP."""
    kinds = {"int32": "int", "int64": "long", "text": "bytes", "fixed": "bytes"}
    jobs = {
        (strategy, name, entries, fpp): (
            GUAVA[strategy],
            kinds[name],
            str(entries),
            str(fpp),
            ",".join(
                map(str, VALUES[name][1])
                if kinds[name] != "bytes"
                else (plain.hex() for plain in stored_bytes(name))
            ),
        )
        for strategy in GUAVA
        for name in kinds
        for entries, fpp in SIZES
    }
    answers = parquet_java.answers("Guava", jobs.values())
    return {job: bytes.fromhex(answer) for job, (answer,) in zip(jobs, answers, strict=True)}


@pytest.mark.parametrize("strategy", GUAVA)
@pytest.mark.parametrize(("entries", "fpp"), SIZES)
def test_guava_filters_are_guavas(source, tmp_path, guava, strategy, entries, fpp):
    output = tmp_path / "out.parquet"
    columns = sorted({name for _, name, *_ in guava})
    with_filters(source, output, StatisticsFilter(strategy, entries, fpp), columns)
    for name in columns:
        theirs = guava[strategy, name, entries, fpp]
        filter = filter_of(output, name)
        num_longs = filter.bits.num_bits // 64
        assert theirs[:1] == bytes([strategy == "guava-64"])
        assert theirs[1:6] == struct.pack(">BI", filter.bits.num_hashes, num_longs)
        assert theirs[6:] == struct.pack(f">{num_longs}Q", *filter.bits.words.tolist()), name


# ------------------------------------------------------------------------------------------------
# All of them


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("encoding", ["list", "binary", "java"])
def test_every_type_but_boolean(source, tmp_path, strategy, encoding):
    """The document says Integer; a chunk without a value gets none."""
    output = tmp_path / "out.parquet"
    columns = [*VALUES, "int96", "some", "none"]
    built = with_filters(source, output, StatisticsFilter(strategy, encoding=encoding), columns)
    assert [filter.column for filter in built.filters] == [*VALUES, "int96", "some"]
    assert [(each.column, each.reason) for each in built.skipped] == [
        ("none", "no non-null values")
    ]
    for name in VALUES:
        filter, recognised = filter_of(output, name), recognised_of(output, name)
        assert (filter.hash, filter.layout, filter.dialect) == (strategy, encoding, "statistics")
        assert (recognised.reading.hash, recognised.found) == (strategy, recognised.sample)
        assert all(map(filter.check, stored_bytes(name)))


def test_the_rate_is_what_was_asked_for(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": np.arange(20_000)}), path)
    for strategy in STRATEGIES:
        output = tmp_path / f"{strategy}.parquet"
        with_filters(path, output, StatisticsFilter(strategy, fpp=0.05))
        filter = filter_of(output, "x")
        absent = range(10**6, 10**6 + 20_000)
        found = sum(filter.check(struct.pack("<q", value)) for value in absent)
        # Four standard deviations: 4 * sqrt(20,000 * 0.05 * 0.95).
        assert abs(found - 1000) < 124
        assert abs(filter.bits.fpp - 0.05) < 0.003


def test_without_expected_entries_distinct_values_are_counted(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": np.arange(9000) % 100}), path, use_dictionary=False)
    for strategy, size in (("hive", 640), ("guava-32", 640), ("guava-64", 640)):
        output = tmp_path / f"{strategy}.parquet"
        with_filters(path, output, StatisticsFilter(strategy))
        assert filter_of(output, "x").bits.num_bits == size


def test_columns_may_expect_another_number_of_values(source, tmp_path):
    output = tmp_path / "out.parquet"
    dialect = StatisticsFilter(expected_entries=300, of_columns={"text": Expected(600, 0.01)})
    with_filters(source, output, dialect, ["int32", "text"])
    assert filter_of(output, "int32").bits.num_bits == hive_numbers(300, 0.05)[0]
    assert filter_of(output, "text").bits.num_bits == hive_numbers(600, 0.01)[0]


def test_of_a_zero_both_are_there(tmp_path):
    path, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"x": [1.0, -0.0]}), path)
    with_filters(path, output, StatisticsFilter(expected_entries=1000))
    filter = filter_of(output, "x")
    assert filter.check(struct.pack("<d", 0.0))
    assert filter.check(struct.pack("<d", -0.0))


def test_a_filter_too_large_for_a_footer_is_not_built(source, tmp_path):
    dialect = StatisticsFilter(expected_entries=20_000_000)
    built = with_filters(source, tmp_path / "out.parquet", dialect, ["int32"])
    assert [each.reason for each in built.skipped] == [
        "1948508 longs for 20000000 values, expected at most 1000000 in a footer"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "murmur3"}, "strategy: murmur3, expected hive, guava-32, guava-64"),
        ({"encoding": "json"}, "encoding: json, expected list, binary, java"),
        ({"field_id": 6}, "field_id: 6, expected 31420, 7, 5"),
        ({"fpp": 1.0}, "fpp: 1.0, expected more than 0 and less than 1"),
        ({"expected_entries": 0}, "expected_entries: 0, expected 1 or more"),
        ({"expected_entries": -3}, "expected_entries: -3, expected 1 or more"),
    ],
)
def test_options_that_have_no_meaning(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        StatisticsFilter(**options)


def test_usable_is_what_the_struct_says(source, tmp_path):
    """No page is read for it."""
    output = tmp_path / "out.parquet"
    with_filters(source, output, StatisticsFilter(), ["int64"])
    with open_file(output) as file:
        before = file.source.bytes_read
        chunk = file.chunk(0, "int64")
        filter = usable(file, chunk, read_stored(file.footer, chunk))
        assert filter.hash == "hive"
        assert file.source.bytes_read == before
