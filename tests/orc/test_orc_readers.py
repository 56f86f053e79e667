"""Other readers of ORC on files in which `build` has put filters: they read the same rows, lose none,
and skip the index groups that do not have a value, as they do with filters of the file's writer."""

import datetime
import decimal

import pyarrow as pa
import pytest
from make.orc_files import LEAVES, ROWS, STRIDE, all_types
from make.spark_session import scanned
from pyarrow import orc
from pyorc import Reader, TypeKind
from pyorc.predicates import PredicateColumn

import parquet_bloom as pb
from parquet_bloom.files import open_file

pytestmark = pytest.mark.interop

FPP = 0.0001

# What ORC C++ and Java are asked about a column, and how the latter reads the literal.
KINDS = {
    "byte": (TypeKind.BYTE, "LONG"),
    "short": (TypeKind.SHORT, "LONG"),
    "int": (TypeKind.INT, "LONG"),
    "long": (TypeKind.LONG, "LONG"),
    "float": (TypeKind.FLOAT, "FLOAT"),
    "double": (TypeKind.DOUBLE, "FLOAT"),
    "string": (TypeKind.STRING, "STRING"),
    "date": (TypeKind.DATE, "DATE"),
    "timestamp": (TypeKind.TIMESTAMP, "TIMESTAMP"),
    "decimal9": (TypeKind.DECIMAL, "DECIMAL"),
    "decimal30": (TypeKind.DECIMAL, "DECIMAL"),
    "decimal12": (TypeKind.DECIMAL, "DECIMAL"),
}
# What ORC C++ hashes as something else than it stores; see test_orc_native.py.
DEFECTIVE = ("byte", "timestamp")
SOUND = [name for name in KINDS if name not in DEFECTIVE]


@pytest.fixture(scope="module")
def table():
    # pyarrow writes moments before 1970 in a way of its own, which ORC Java does not read.
    table = all_types()
    moments = pa.array([m and abs(m) for m in table["timestamp"].cast(pa.int64()).to_pylist()])
    index = table.column_names.index("timestamp")
    return table.set_column(index, "timestamp", moments.cast(pa.timestamp("us")))


@pytest.fixture(scope="module")
def files(tmp_path_factory, table):
    """A file without filters, with the writer's, and with ours."""
    folder = tmp_path_factory.mktemp("orc")
    paths = {name: folder / f"{name}.orc" for name in ("plain", "native", "built", "both")}
    orc.write_table(table, paths["plain"], row_index_stride=STRIDE)
    orc.write_table(
        table, paths["native"], row_index_stride=STRIDE, bloom_filter_columns=list(range(1, 23)),
        bloom_filter_fpp=FPP,
    )  # fmt: skip
    pb.build(paths["plain"], paths["built"], columns=LEAVES, fpp=FPP)
    pb.build(paths["plain"], paths["both"], columns=LEAVES, fpp=FPP, orc_streams="both")
    return paths


def asked(table):
    """(column, value, rows of the index groups that have it): values that are there, and others."""
    others = all_types(seed=2)
    for name in KINDS:
        stored = table[name].to_pylist()
        some = [value for value in stored[:: ROWS // 4] if value is not None]
        strange = [value for value in others[name].to_pylist() if value is not None][:4]
        if name == "timestamp":
            strange = [max(value, datetime.datetime(1971, 1, 1)) for value in strange]
        for value in some + strange:
            groups = [stored[at : at + STRIDE] for at in range(0, ROWS, STRIDE)]
            yield name, value, sum(len(group) for group in groups if value in group)


def is_within(table, name, value):
    """Whether no minimum or maximum tells that a value is not there."""
    for at in range(0, ROWS, STRIDE):
        group = [each for each in table[name].to_pylist()[at : at + STRIDE] if each is not None]
        if not min(group) <= value <= max(group):
            return False
    return True


def test_the_rows_are_the_same(files):
    tables = {name: orc.read_table(path) for name, path in files.items()}
    assert all(found.equals(tables["plain"]) for found in tables.values())
    rows = {}
    for name, path in files.items():
        with path.open("rb") as file:
            rows[name] = list(Reader(file))
    assert all(found == rows["plain"] for found in rows.values())


def rows_of_cpp(path, name, value):
    kind, _ = KINDS[name]
    options = {}
    if kind == TypeKind.DECIMAL:
        precision, scale = {"decimal9": (9, 2), "decimal30": (30, 10), "decimal12": (12, 0)}[name]
        options = {"precision": precision, "scale": scale}
    with path.open("rb") as file:
        return len(list(Reader(file, predicate=PredicateColumn(kind, name, **options) == value)))


def test_orc_cpp_skips_index_groups(files, table):
    counted = 0
    for name, value, rows in asked(table):
        if name == "timestamp":
            value = value.replace(tzinfo=datetime.UTC)
        found = rows_of_cpp(files["built"], name, value)
        assert found == rows, (name, value)
        if name in SOUND:
            assert rows_of_cpp(files["native"], name, value) == found, (name, value)
        counted += 1
    assert counted > 80


def test_elements_are_asked_by_who_names_their_column(parquet_java, files, table):
    """No engine does, but programs may."""
    keys = [entries[0][0] for entries in table["map"].to_pylist() if entries]
    queries = [
        (str(files[file]), "map._key", "STRING", key)
        for file in ("plain", "built") for key in (keys[0], keys[0] + "0")
    ]  # fmt: skip
    everything = [str(ROWS)] * 2
    assert [rows for (rows,) in parquet_java.answers("OrcSearch", queries)] == [
        *everything,
        str(STRIDE),
        "0",
    ]
    with open_file(files["built"]) as file:
        key = file.column("map._key").id
    with files["built"].open("rb") as file:
        wanted = PredicateColumn(TypeKind.STRING, index=key) == keys[0]
        assert len(list(Reader(file, predicate=wanted))) == STRIDE


def java_literal(name, value):
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    return repr(value) if isinstance(value, float) else str(value)


def test_orc_java_skips_index_groups(parquet_java, files, table):
    """With either kind of streams, and without any it reads all that minimum and maximum leave."""
    questions = list(asked(table))
    queries = (
        (str(files[file]), name, KINDS[name][1], java_literal(name, value))
        for file in ("plain", "native", "built", "both")
        for name, value, _ in questions
    )
    answers = [int(rows) for (rows,) in parquet_java.answers("OrcSearch", queries)]
    count = len(questions)
    plain, native, built, both = (answers[at : at + count] for at in range(0, 4 * count, count))
    for question, *found in zip(questions, plain, native, built, both, strict=True):
        name, value, rows = question
        assert found[2:] == [rows, rows], question
        if name in SOUND:
            assert found[1] == rows, question
        if is_within(table, name, value):
            assert found[0] == ROWS, question


CODECS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")


def test_every_codec(parquet_java, tmp_path):
    """Filters that compress well, of few values, and such that do not: both in chunks that other
    readers expand."""
    ids = [n * 7919 % ROWS for n in range(ROWS)]
    table = pa.table({"few": [f"k{n // STRIDE}" for n in range(ROWS)], "many": ids})
    queries = []
    for codec in CODECS:
        path = tmp_path / f"{codec}.orc"
        orc.write_table(table, path, row_index_stride=STRIDE, compression=codec)
        report = pb.build(path, columns=["few", "many"], fpp=FPP, in_place=True)
        few, many = report.filters
        plain_bytes = few.num_filters * few.num_bits // 8
        assert (few.length < plain_bytes // 4) == (codec != "uncompressed")
        assert many.length > 0.8 * plain_bytes
        assert orc.read_table(path).equals(table)
        for name, kind, value in (("few", "STRING", "k1"), ("many", "LONG", ids[1500])):
            queries.append((str(path), name, kind, str(value)))
            type_kind = TypeKind.STRING if name == "few" else TypeKind.LONG
            with path.open("rb") as file:
                wanted = PredicateColumn(type_kind, name) == value
                assert len(list(Reader(file, predicate=wanted))) == STRIDE
    assert parquet_java.answers("OrcSearch", queries) == [[str(STRIDE)]] * len(queries)


# The value in row {id}: in one index group only, and no minimum or maximum tells in which.
SPARK_COLUMNS = {
    "big": "{id} * 7919 % 3300 * 1000000007",
    "float": "CAST({id} * 7919 % 3300 / 8 AS FLOAT)",
    "text": "CONCAT('v', {id} * 7919 % 3300)",
    "day": "DATE_ADD(DATE '2020-01-01', CAST({id} * 7919 % 3300 AS INT))",
    "moment": "TIMESTAMP_MILLIS({id} * 7919 % 3300 * 86399999)",
    "money": "CAST({id} * 7919 % 3300 / 4 AS DECIMAL(12, 2))",
}


def test_spark_skips_index_groups(spark, tmp_path):
    """By the metric of its scan, and as with filters that it has written itself."""
    frame = spark.range(0, ROWS, 1, 1).selectExpr(
        *(f"{value.format(id='id')} AS {name}" for name, value in SPARK_COLUMNS.items())
    )
    options = {"orc.row.index.stride": str(STRIDE), "orc.bloom.filter.fpp": str(FPP)}
    frame.write.options(**options).orc(str(tmp_path / "built"))
    options["orc.bloom.filter.columns"] = ",".join(SPARK_COLUMNS)
    frame.write.options(**options).orc(str(tmp_path / "native"))
    before = spark.read.orc(str(tmp_path / "built")).collect()
    (path,) = (tmp_path / "built").glob("*.orc")
    report = pb.build(path, columns=list(SPARK_COLUMNS), fpp=FPP, in_place=True)
    assert len(report.filters) == len(SPARK_COLUMNS)
    assert report.notes == ()
    built = spark.read.orc(str(tmp_path / "built"))
    assert built.collect() == before
    counts = {}
    for name, value in SPARK_COLUMNS.items():
        condition = f"{name} = {value.format(id='1500L')}"
        found = [
            scanned(spark.read.orc(str(tmp_path / folder)).where(condition))
            for folder in ("built", "native")
        ]
        assert found[0] == found[1]
        assert len(found[0][0]) == 1
        counts[name] = found[0][1]
    # Of moments Spark 4.3 takes minimum and maximum alone, whoever built the filters.
    assert counts == dict.fromkeys(SPARK_COLUMNS, STRIDE) | {"moment": ROWS}
    for folder in ("built", "native"):
        rows, count = scanned(spark.read.orc(str(tmp_path / folder)).where("text = 'v1.5'"))
        assert (rows, count) == ([], 0)
