"""End to end: Spark writes a partitioned table without filters, lake.build adds them, and Spark skips
the row groups that do not have a value, by its own count and with garbage in their place. Runs on
classic, and once more on Connect."""

import decimal
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make import lake_tables
from make.lake_tables import COLUMNS
from make.spark_session import scanned

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.files import open_file

pytestmark = pytest.mark.interop

GROUPS, ROW_GROUP = 4, 100
ROWS = 2 * GROUPS * ROW_GROUP
N = 403
WRITING = {
    "parquet.enable.dictionary": "false",
    "parquet.block.row.count.limit": str(ROW_GROUP),
}
WITHOUT_FILTERS = {"parquet.filter.bloom.enabled": "false"}

NOT_PRUNED = ("ntz", "char", "list", "map")
PRUNED = tuple(name for name in COLUMNS if name not in NOT_PRUNED and name != "st")
PHYSICAL = {
    "byte": "INT32", "short": "INT32", "int": "INT32", "long": "INT64", "float": "FLOAT",
    "double": "DOUBLE", "string": "BYTE_ARRAY", "varchar": "BYTE_ARRAY", "char": "BYTE_ARRAY",
    "binary": "BYTE_ARRAY", "date": "INT32", "micros": "INT64", "ntz": "INT64",
    "decimal9": "INT32", "decimal18": "INT64", "decimal38": "FIXED_LEN_BYTE_ARRAY",
    "list.list.element": "INT64", "map.key_value.key": "BYTE_ARRAY",
    "map.key_value.value": "INT64", "st.a": "INT64", "st.b.c": "BYTE_ARRAY",
}  # fmt: skip


def write(spark, folder, names):
    """The table `lake`."""
    return lake_tables.write(
        spark, folder, names, file_format="parquet", settings=WRITING, groups=GROUPS,
        group_rows=ROW_GROUP,
    )  # fmt: skip


def look_up(spark, column, where, options):
    return lake_tables.look_up(spark, "lake", column, where, options)


def condition(column):
    return lake_tables.condition(column, N)


def poison(files):
    """Garbage in place of all pages but those of the row group that has N."""
    for day, path in enumerate(files):
        data = bytearray(path.read_bytes())
        with open_file(path) as file:
            assert file.num_row_groups == GROUPS
            for row_group in range(GROUPS):
                if (row_group, day) != (N % 8 // 2, N % 2):
                    for column in file.columns:
                        chunk = file.chunk(row_group, column)
                        start, size = chunk.data_page_offset, chunk.total_compressed_size
                        data[start : start + size] = b"\xff" * size
        path.write_bytes(data)


@pytest.fixture
def _catalogue(spark):
    """The table is gone afterwards, and so is what was set for it."""
    yield
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    spark.sql("DROP TABLE IF EXISTS lake")


@pytest.mark.usefixtures("_catalogue")
def test_end_to_end(spark, tmp_path):
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    files = write(spark, tmp_path / "lake", COLUMNS)
    with open_file(files[0]) as file:
        leaves = {leaf.name: leaf.type.physical for leaf in file.select(None)}
    assert leaves == PHYSICAL
    before = look_up(spark, "long", condition("long"), {})
    assert (len(before[0]), before[1]) == (1, ROWS)

    report = lake.build(spark, tmp_path / "lake", columns=list(leaves), fpp=0.0001)
    assert report.counts == {"added": 2}
    assert report.filters == 2 * GROUPS * len(leaves)

    found = {}
    for column in PRUNED + NOT_PRUNED:
        found[column], count = look_up(spark, column, condition(column), WITHOUT_FILTERS)
        assert (len(found[column]), count) == (7 if column == "byte" else 1, ROWS), column
    assert found["long"] == before[0]
    for column in PRUNED:
        assert look_up(spark, column, condition(column), {}) == (found[column], ROW_GROUP), column
    for column in NOT_PRUNED:
        assert look_up(spark, column, condition(column), {}) == (found[column], ROWS), column

    poison(files)
    for column in PRUNED:
        assert look_up(spark, column, condition(column), {}) == (found[column], ROW_GROUP), column
    for column, options in (("long", WITHOUT_FILTERS), ("st.b.c", WITHOUT_FILTERS), ("char", {})):
        with pytest.raises(Exception, match="FAILED_READ_FILE"):
            look_up(spark, column, condition(column), options)


@pytest.mark.every(2)
@pytest.mark.usefixtures("_catalogue")
@pytest.mark.parametrize(
    ("stored", "physical", "count"),
    [("TIMESTAMP_MILLIS", "INT64", ROW_GROUP), ("INT96", "INT96", ROWS)],
)
def test_other_timestamps(spark, tmp_path, stored, physical, count):
    """Milliseconds are pruned; INT96, which Spark writes unless told otherwise, is not."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", stored)
    files = write(spark, tmp_path / "lake", ["micros"])
    with open_file(files[0]) as file:
        assert [leaf.type.physical for leaf in file.select(None)] == [physical]
    where = condition("micros")
    before = look_up(spark, "micros", where, {})
    assert (len(before[0]), before[1]) == (1, ROWS)
    assert lake.build(spark, tmp_path / "lake", columns=["micros"], fpp=0.0001).filters == 8
    assert look_up(spark, "micros", where, {}) == (before[0], count)
    assert look_up(spark, "micros", where, WITHOUT_FILTERS) == before


# What Spark cannot write, but reads.
FOREIGN = {
    "uint32": (pa.uint32(), lambda n: 3_000_000_000 + n, "uint32 = 3000000403"),
    "uint64": (pa.uint64(), lambda n: (1 << 63) + n, f"uint64 = {(1 << 63) + N}"),
    "fixed": (
        pa.binary(16), lambda n: uuid.UUID(int=n).bytes, f"fixed = X'{uuid.UUID(int=N).hex}'",
    ),
    "known": (pa.decimal128(38, 2), lambda n: decimal.Decimal(n), f"known = {N}"),
}  # fmt: skip


def test_columns_that_spark_cannot_write(spark, tmp_path):
    """None of their types is pruned, though one that is pruned stands beside them."""
    path = tmp_path / "foreign.parquet"
    numbers = [8 * (n % ROW_GROUP) + 2 * (n // ROW_GROUP) + 1 for n in range(ROWS // 2)]
    table = pa.table(
        {name: pa.array(map(of, numbers), kind) for name, (kind, of, _) in FOREIGN.items()}
    )
    pq.write_table(table, path, row_group_size=ROW_GROUP, use_dictionary=False)
    assert lake.build(spark, path, columns=list(FOREIGN), fpp=0.0001).filters == GROUPS * 4
    counts = {}
    for name, (_, _, where) in FOREIGN.items():
        rows, counts[name] = scanned(spark.read.parquet(str(path)).where(where).select(name))
        assert len(rows) == 1
    assert counts == {"uint32": 400, "uint64": 400, "fixed": 400, "known": ROW_GROUP}


@pytest.mark.parametrize(
    ("where", "groups"),
    [
        ("a = 303.0", 1), ("a = '303'", 1), ("a = 303D", GROUPS), ("a = 303e0", GROUPS), ("a = 303 OR b = 101", 2),
    ],
)  # fmt: skip
def test_literals_and_columns_of_a_predicate(spark, tmp_path, where, groups):
    """As docs/why-not-skipped.md says."""
    path = tmp_path / "a.parquet"
    numbers = [7 * n % 401 for n in range(GROUPS * ROW_GROUP)]
    table = pa.table({"a": numbers, "b": numbers})
    pq.write_table(table, path, row_group_size=ROW_GROUP, use_dictionary=False)
    pb.build(path, columns=["a", "b"], fpp=0.0001, in_place=True)
    rows, count = scanned(spark.read.parquet(str(path)).where(where))
    assert (len(rows), count) == (where.count("="), groups * ROW_GROUP)
