"""Filters rebuilt from the values of a file are bit for bit those that its writer made: ORC Java,
through Spark, for every type that it writes, and ORC C++ where what it hashes is what it stores."""

import datetime

import pyarrow.parquet as pq
import pyorc
import pytest
from make.orc_files import LEAVES, STRIDE, all_types, differing
from pyarrow import orc

from parquet_bloom.files import open_file
from parquet_bloom.verbs.validate import validate

pytestmark = pytest.mark.interop

COLUMNS = (*LEAVES, "list", "map")
GROUPS = 4


@pytest.fixture(scope="module")
def table():
    return all_types()


def test_orc_cpp_through_pyarrow(tmp_path, table):
    path = tmp_path / "cpp.orc"
    orc.write_table(
        table, path, row_index_stride=STRIDE, bloom_filter_columns=list(range(1, 23)),
        bloom_filter_fpp=0.01,
    )  # fmt: skip
    with open_file(path) as file:
        found = differing(file, COLUMNS)
    # Bytes are hashed after they were narrowed in place; moments before 1970 are rounded up.
    wrong = {"byte": (GROUPS, GROUPS), "timestamp": (GROUPS, GROUPS)}
    assert found == dict.fromkeys(COLUMNS, (0, GROUPS)) | wrong


@pytest.fixture
def in_zone(spark):
    """Makes the JVM take its clock from a zone, as ORC Java writes it."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    yield lambda name: zones.setDefault(zones.getTimeZone(name))
    zones.setDefault(before)


@pytest.mark.parametrize("streams", ["utf8", "original"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_orc_java_through_spark(spark, in_zone, tmp_path, table, zone, streams):
    """`original`: BLOOM_FILTER streams, with moments in the writer's zone, beside the others."""
    in_zone(zone)
    pq.write_table(table, tmp_path / "in.parquet")
    names = [*(name for name in table.column_names if name != "timestamp"), "ntz"]
    frame = spark.read.parquet(str(tmp_path / "in.parquet")).selectExpr(
        *table.drop_columns("timestamp").column_names,
        "CAST(timestamp AS TIMESTAMP) AS timestamp",
        "timestamp AS ntz",
    )
    frame.coalesce(1).write.options(**{
        "orc.bloom.filter.columns": ",".join([*names, "timestamp"]),
        "orc.bloom.filter.fpp": "0.01",
        "orc.bloom.filter.write.version": streams,
        "orc.row.index.stride": str(STRIDE),
    }).orc(str(tmp_path / "out"))  # fmt: skip
    (path,) = (tmp_path / "out").glob("*.orc")
    columns = (*COLUMNS, "ntz")
    with open_file(path) as file:
        assert file.stripe(0).writer_timezone == zone
        count = 1 if streams == "utf8" else 2
        assert differing(file, columns) == dict.fromkeys(columns, (0, count * GROUPS))
    # Nobody asks those of some columns; twice as many filters take much of so small a file.
    report = validate(path, ignore=["PB309"])
    assert {each.rule for each in report.findings} == {"PB621", "PB628"}
    unasked = {each.column for each in report.findings if each.rule == "PB621"}
    assert unasked >= {"binary", "list", "map", "struct"}
    assert not unasked & {"byte", "char", "timestamp", "ntz", "decimal9", "list._elem"}


def test_orc_java_of_other_types(parquet_java, tmp_path):
    """CHAR is hashed with its blanks, as many as make up the characters."""
    texts = ["", "ab", "äöü", "abcdef", "  b", "äöüßäöü and more"]
    lines = [f"{texts[n % 6]}\t{(n - 2000) * 86_399_999 * 7}" for n in range(3500)]
    (tmp_path / "in.tsv").write_text("\n".join(lines))
    path = tmp_path / "out.orc"
    parquet_java.run("OrcWrite", path, tmp_path / "in.tsv")
    with open_file(path) as file:
        assert [column.type for column in file.select(None)] == [
            "CHAR(6)", "VARCHAR(6)", "TIMESTAMP_INSTANT",
        ]  # fmt: skip
        assert differing(file, ("c", "v", "i")) == dict.fromkeys(("c", "v", "i"), (0, GROUPS))


def test_orc_cpp_through_pyorc(tmp_path):
    """CHAR is hashed as it was before it was padded, FLOAT as the double that was given."""
    schema = "struct<c:char(6),f:float,v:varchar(6),i:timestamp with local time zone>"
    path = tmp_path / "cpp.orc"
    with path.open("wb") as out, pyorc.Writer(
        out, schema, row_index_stride=STRIDE, bloom_filter_columns=[1, 2, 3, 4],
        bloom_filter_fpp=0.01,
    ) as writer:  # fmt: skip
        for n in range(3500):
            moment = datetime.datetime.fromtimestamp(86_399.999 * n, datetime.UTC)
            writer.write((f"{n}", n / 7, f"v{n}", moment))
    with open_file(path) as file:
        found = differing(file, ("c", "f", "v", "i"))
    assert found == {"c": (4, 4), "f": (4, 4), "v": (0, 4), "i": (0, 4)}
