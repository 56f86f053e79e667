"""End to end: Spark writes a partitioned table without filters, lake.build adds them, and Spark skips
the row groups that do not have a value, by its own count and with garbage in their place. Runs on
classic, and once more on Connect."""

import decimal
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_session import scanned

import parquet_bloom as pb
from parquet_bloom import spark as lake

pytestmark = pytest.mark.interop

# Two partitions of one file, each of four row groups; the row n = 8 * row + 2 * row group + partition
# has each of its values in its own row group only, and no minimum or maximum tells which that is.
GROUPS, ROW_GROUP = 4, 100
ROWS = 2 * GROUPS * ROW_GROUP
ROWS_BY_SQL = f"""
    SELECT 8 * (id % {ROW_GROUP}) + 2 * (id DIV {ROW_GROUP} % {GROUPS}) + id DIV {ROWS // 2} AS n,
           id DIV {ROWS // 2} AS day
    FROM RANGE(0, {ROWS}, 1, 2)"""
N = 403
WRITING = {
    "parquet.enable.dictionary": "false",
    "parquet.block.row.count.limit": str(ROW_GROUP),
}
WITHOUT_FILTERS = {"parquet.filter.bloom.enabled": "false"}

TIMESTAMP = "TIMESTAMP_MILLIS(1600000000000 + {n})"
# Type, value in row n, and what is compared if that is not the column itself.
PRUNED = {
    "byte": ("TINYINT", "CAST({n} % 120 AS TINYINT)"),
    "short": ("SMALLINT", "CAST({n} AS SMALLINT)"),
    "int": ("INT", "CAST({n} * 1000000 AS INT)"),
    "long": ("BIGINT", "{n} * 10000000000"),
    "float": ("FLOAT", "CAST({n} / 8 AS FLOAT)"),
    "double": ("DOUBLE", "{n} / 8D"),
    "string": ("STRING", "CONCAT('value ', {n})"),
    "varchar": ("VARCHAR(10)", "CAST(CONCAT('v', {n}) AS STRING)"),
    "binary": ("BINARY", "CAST(CONCAT('b', {n}) AS BINARY)"),
    "date": ("DATE", "DATE_ADD(DATE '2020-01-01', CAST({n} AS INT))"),
    "micros": ("TIMESTAMP", TIMESTAMP),
    "decimal9": ("DECIMAL(9, 2)", "CAST({n} / 4 AS DECIMAL(9, 2))"),
    "decimal18": ("DECIMAL(18, 2)", "CAST({n} / 4 AS DECIMAL(18, 2))"),
    "decimal38": ("DECIMAL(38, 2)", "CAST({n} / 4 AS DECIMAL(38, 2))"),
    "st.a": ("STRUCT<a: BIGINT, b: STRUCT<c: STRING>>", "{n}"),
    "st.b.c": (None, "CONCAT('c', {n})"),
}  # fmt: skip
NOT_PRUNED = {
    "ntz": ("TIMESTAMP_NTZ", "CAST(TIMESTAMP_MILLIS(1600000000000 + {n}) AS TIMESTAMP_NTZ)"),
    "char": ("CHAR(6)", "CAST(CONCAT('c', {n}) AS STRING)"),
    "list": ("ARRAY<BIGINT>", "ARRAY({n})"),
    "map": ("MAP<STRING, BIGINT>", "MAP('k', {n})"),
}
# How the columns that are not as simple are asked for.
CONDITIONS = {
    "list": "ARRAY_CONTAINS(list, CAST({n} AS BIGINT))",
    "map": "map['k'] = {n}",
}
STRUCT = "NAMED_STRUCT('a', {n}, 'b', NAMED_STRUCT('c', CONCAT('c', {n})))"
PHYSICAL = {
    "byte": "INT32", "short": "INT32", "int": "INT32", "long": "INT64", "float": "FLOAT",
    "double": "DOUBLE", "string": "BYTE_ARRAY", "varchar": "BYTE_ARRAY", "binary": "BYTE_ARRAY",
    "date": "INT32", "micros": "INT64", "decimal9": "INT32", "decimal18": "INT64",
    "decimal38": "FIXED_LEN_BYTE_ARRAY", "st.a": "INT64", "st.b.c": "BYTE_ARRAY", "ntz": "INT64",
    "char": "BYTE_ARRAY", "list.list.element": "INT64", "map.key_value.key": "BYTE_ARRAY",
    "map.key_value.value": "INT64",
}  # fmt: skip


def condition(column):
    """The column has the value that it has in row N."""
    pattern = CONDITIONS.get(column, f"{column} = {(PRUNED | NOT_PRUNED)[column][1]}")
    return pattern.format(n=N)


def write(spark, folder, columns):
    """The table `lake`, of columns with their types and values."""
    settings = ", ".join(f"'{name}' '{value}'" for name, value in WRITING.items())
    types = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    values = ", ".join(value.format(n="n") for _, value in columns.values())
    spark.sql("DROP TABLE IF EXISTS lake")
    spark.sql(
        f"CREATE TABLE lake ({types}, day BIGINT) USING parquet OPTIONS ({settings})"
        f" PARTITIONED BY (day) LOCATION '{folder}'"
    )
    spark.sql(f"INSERT INTO lake SELECT {values}, day FROM ({ROWS_BY_SQL})")
    files = sorted(folder.glob("day=*/*.parquet"))
    assert [path.parent.name for path in files] == ["day=0", "day=1"]
    return files


def look_up(spark, column, where, options):
    """The values in rows that Spark finds, and how many rows it scanned for them."""
    frame = spark.read.options(**options).table("lake").where(where)
    rows, count = scanned(frame.selectExpr(column))
    return sorted(repr(row) for row in rows), count


def poison(files):
    """Garbage in place of all pages but those of the row group that has N."""
    for day, path in enumerate(files):
        data = bytearray(path.read_bytes())
        with pb.open(path) as file:
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
    columns = {name: each for name, each in (PRUNED | NOT_PRUNED).items() if "." not in name}
    columns["st"] = (PRUNED["st.a"][0], STRUCT)
    files = write(spark, tmp_path / "lake", columns)
    with pb.open(files[0]) as file:
        leaves = {leaf.name: leaf.type.physical for leaf in file.leaves(None)}
    assert leaves == PHYSICAL
    before = look_up(spark, "long", condition("long"), {})
    assert (len(before[0]), before[1]) == (1, ROWS)

    report = lake.build(spark, tmp_path / "lake", columns=list(leaves), fpp=0.0001)
    assert report.counts == {"added": 2}
    assert report.filters == 2 * GROUPS * len(leaves)

    found = {}
    for column in PRUNED | NOT_PRUNED:
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


@pytest.mark.usefixtures("_catalogue")
@pytest.mark.parametrize(
    ("stored", "physical", "count"),
    [("TIMESTAMP_MILLIS", "INT64", ROW_GROUP), ("INT96", "INT96", ROWS)],
)
def test_other_timestamps(spark, tmp_path, stored, physical, count):
    """Milliseconds are pruned; INT96, which Spark writes unless told otherwise, is not."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", stored)
    files = write(spark, tmp_path / "lake", {"micros": PRUNED["micros"]})
    with pb.open(files[0]) as file:
        assert [leaf.type.physical for leaf in file.leaves(None)] == [physical]
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
