"""End to end: Spark writes a partitioned ORC table without filters, lake.build adds them, and Spark
skips the index groups that do not have a value, as those of a table with filters of its own. Runs on
classic, and once more on Connect."""

import pytest
from conftest import IS_LONG
from make import lake_tables
from make.lake_tables import COLUMNS, condition, look_up

from parquet_bloom import spark as lake
from parquet_bloom.files import open_file

pytestmark = pytest.mark.interop

# The least rows that ORC's writer gives an index group.
GROUPS, STRIDE = 2, 1000
ROWS = 2 * GROUPS * STRIDE
N = 403
FPP = 0.0001
WRITING = {"orc.row.index.stride": str(STRIDE)}
NATIVE = {
    "orc.bloom.filter.columns": ",".join(name for name in COLUMNS if "." not in name),
    "orc.bloom.filter.fpp": str(FPP),
}

# Of a TIMESTAMP, Spark asks for a range of nanoseconds; see docs/spark.md for the others.
NOT_PRUNED = ("binary", "micros", "char", "list", "map")
PRUNED = tuple(name for name in COLUMNS if name not in NOT_PRUNED and name != "st")
# Those that are asked for, also of the table that has filters of its own.
ASKED = COLUMNS if IS_LONG else ("byte", "string", "binary", "ntz", "decimal18", "list", "st.b.c")
KINDS = {
    "byte": "BYTE", "short": "SHORT", "int": "INT", "long": "LONG", "float": "FLOAT",
    "double": "DOUBLE", "string": "STRING", "varchar": "STRING", "char": "STRING",
    "binary": "BINARY", "date": "DATE", "micros": "TIMESTAMP", "ntz": "LONG",
    "decimal9": "DECIMAL", "decimal18": "DECIMAL", "decimal38": "DECIMAL", "list._elem": "LONG",
    "map._key": "STRING", "map._value": "LONG", "st.a": "LONG", "st.b.c": "STRING",
}  # fmt: skip


def write(spark, folder, settings):
    return lake_tables.write(
        spark, folder, COLUMNS, file_format="orc", settings=WRITING | settings, groups=GROUPS,
        group_rows=STRIDE,
    )  # fmt: skip


@pytest.fixture
def _catalogue(spark):
    """The tables are gone afterwards."""
    yield
    for table in ("plain", "native"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")


def leaves_of(path):
    with open_file(path) as file:
        assert (file.num_stripes, file.tail.row_index_stride) == (1, STRIDE)
        return {column.name: column.kind for column in file.tail.columns if not column.children}


@pytest.mark.usefixtures("_catalogue")
def test_end_to_end(spark, tmp_path):
    files = write(spark, tmp_path / "plain", {})
    write(spark, tmp_path / "native", NATIVE)
    assert leaves_of(files[0]) == KINDS
    checksums = [path.with_name(f".{path.name}.crc") for path in files]
    assert all(path.exists() for path in checksums)
    rows = sorted(map(repr, spark.table("plain").collect()))
    assert look_up(spark, "plain", "long", condition("long", N), {})[1] == ROWS

    report = lake.build(spark, tmp_path / "plain", columns=list(KINDS), fpp=FPP)
    assert report.counts == {"added": 2}
    assert report.filters == 2 * GROUPS * len(KINDS)
    # Hadoop's checksums are those of the old files.
    assert not any(path.exists() for path in checksums)

    assert sorted(map(repr, spark.table("plain").collect())) == rows
    for column in (name for name in ASKED if name != "st"):
        found, count = look_up(spark, "plain", column, condition(column, N), {})
        assert len(found) == (33 if column == "byte" else 1), column
        assert count == (STRIDE if column in PRUNED else ROWS), column
        there = look_up(spark, "native", column, condition(column, N), {})
        assert there == (found, count), column

    assert lake.strip(spark, tmp_path / "plain").counts == {"removed": 2}
    assert look_up(spark, "plain", "long", condition("long", N), {})[1] == ROWS


@pytest.mark.long
@pytest.mark.usefixtures("_catalogue")
def test_conditions(spark, tmp_path):
    """What is asked beside `=`."""
    write(spark, tmp_path / "plain", {})
    lake.build(spark, tmp_path / "plain", columns=["long", "string"], fpp=FPP)
    values = [(N + 2 * GROUPS * each) * 10_000_000_000 for each in range(50)]
    listed = ", ".join(map(str, values))
    conditions = {
        f"long <=> {values[0]}": (1, STRIDE),
        f"long IN ({listed})": (50, STRIDE),
        f"long = {values[0]} OR string = 'value {N}'": (1, STRIDE),
        f"long = {values[0]} AND string LIKE 'v%'": (1, STRIDE),
        f"UPPER(string) = 'VALUE {N}'": (1, ROWS),
        f"long = {values[0]}.5D": (0, ROWS),
    }
    found = {}
    for where in conditions:
        rows, count = look_up(spark, "plain", "long", where, {})
        found[where] = len(rows), count
    assert found == conditions
