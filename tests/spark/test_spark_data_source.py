"""spark.read.format("bloom"): what it says of files is what inspect says, on classic and Connect."""

import json
import os
import pickle
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.legacy.murmur3.dialect import Murmur3
from parquet_bloom.verbs.inspect import inspect, inspect_file

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException, PythonException
from pyspark.sql.datasource import DataSourceReader, EqualTo, GreaterThan, In, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from parquet_bloom.spark import data_source
from parquet_bloom.spark.data_source import BloomDataSource, Files, SourceOptions
from parquet_bloom.spark.schemas import FILTER

NO_FILTER = "no filter"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two files of two row groups, one of them with filters for id; and one that is no Parquet."""
    folder = tmp_path / "a lake 100%"
    (folder / "d=1").mkdir(parents=True)
    table = pa.table({"id": range(2000), "a,b": [str(n) for n in range(2000)]})
    pq.write_table(table, folder / "d=1" / "plain.parquet", row_group_size=1000)
    pb.build(folder / "d=1" / "plain.parquet", folder / "d=1" / "built.parquet", columns=["id"])
    (folder / "bad.parquet").write_bytes(b"not Parquet at all")
    (folder / "_hidden.parquet").write_bytes(b"not looked at")
    return folder


def bloom(spark, *names, **options):
    path = str(names[0]) if len(names) == 1 else [str(name) for name in names]
    return spark.read.format("bloom").options(**options).load(path)


def short(frame):
    """Which chunks, whether they have filters, and what is wrong."""
    rows = frame.selectExpr("path", "row_group", "column", "fpp is not null", "reason", "error")
    return sorted((Path(path).name, *rest) for path, *rest in map(tuple, rows.collect()))


def expected_rows(path):
    """From what inspect says, named one by one."""
    for group in inspect(path).row_groups:
        for column in group.columns:
            filter = column.filter
            yield (
                str(path), group.row_group, group.num_rows, column.column, column.physical_type,
                column.logical_type, column.num_values, column.chunk_bytes,
                *((
                    filter.offset, filter.length, filter.header_bytes, filter.num_bytes,
                    filter.num_blocks, filter.algorithm, filter.hash, filter.compression,
                    filter.fill, filter.fpp, filter.ndv_estimate, filter.dialect,
                    filter.stored_bytes, filter.encrypted,
                ) if filter else [None] * 14),
                column.reason, None, "parquet", *((1, filter.fpp) if filter else [None] * 2),
                *("; ".join(column.notes) or None if name == "notes" else None
                  for name in FILTER.names[-5:]),
            )  # fmt: skip


def expected_orc_rows(path):
    """The same of an ORC file: a row is a column of a stripe."""
    for stripe in inspect(path).stripes:
        for column in stripe.columns:
            filter = column.filter
            row = {
                "path": str(path), "format": "orc", "stripe": stripe.stripe,
                "num_rows": stripe.num_rows, "column": column.column, "physical_type": column.physical_type,
                "num_values": column.num_values, "chunk_bytes": column.chunk_bytes,
                "reason": column.reason,
            }  # fmt: skip
            if filter:
                row |= {
                    "offset": filter.offset, "length": filter.length,
                    "num_bytes": filter.num_bytes, "fill": filter.fill, "fpp": filter.fpp,
                    "ndv_estimate": filter.ndv_estimate, "dialect": "orc",
                    "stored_bytes": sum(stream.length for stream in column.streams),
                    "encrypted": False, "num_filters": filter.num_filters,
                    "worst_fpp": filter.worst_fpp, "stream": filter.stream,
                    "num_hashes": filter.num_hashes, "num_bits": filter.num_bits,
                    "notes": "; ".join(column.notes) or None,
                }  # fmt: skip
            yield tuple(row.get(name) for name in FILTER.names)


def test_each_chunk_is_one_row_that_says_what_inspect_says(spark):
    paths = [
        FIXTURES / f"{name}.parquet" for name in ("java_filters", "pyarrow_empty", "pyarrow_delta")
    ]
    frame = bloom(spark, *paths)
    assert frame.schema == StructType.fromJson(json.loads(FILTER.json()))
    expected = [row for path in paths for row in expected_rows(path)]
    assert sorted(map(tuple, frame.collect()), key=repr) == sorted(expected, key=repr)
    assert {row[8] is None for row in expected} == {True, False}


@pytest.fixture
def orc_path(tmp_path):
    """Two stripes of two index groups or one; filters for id in streams of both kinds."""
    path = tmp_path / "events.orc"
    with orc.ORCWriter(path, stripe_size=1, row_index_stride=1000, batch_size=2000) as writer:
        for start, count in ((0, 1500), (1500, 1000)):
            ids = range(start, start + count)
            writer.write(pa.table({"id": ids, "st": [{"a": str(n)} for n in ids]}))
    pb.build(path, columns=["id"], in_place=True, orc_streams="both")
    return path


def test_each_column_of_a_stripe_is_one_row_that_says_what_inspect_says(spark, orc_path):
    paths = [orc_path, FIXTURES / "java_original.orc"]
    expected = [row for path in paths for row in expected_orc_rows(path)]
    frame = bloom(spark, *paths)
    assert sorted(map(tuple, frame.collect()), key=repr) == sorted(expected, key=repr)
    known = frame.where(f"path = '{orc_path}'")
    short = known.selectExpr("stripe", "column", "num_filters", "stream", "row_group", "num_rows")
    assert sorted(map(tuple, short.collect())) == [
        (0, "id", 2, "BLOOM_FILTER_UTF8", None, 1500),
        (0, "st", None, None, None, 1500),
        (0, "st.a", None, None, None, 1500),
        (1, "id", 1, "BLOOM_FILTER_UTF8", None, 1000),
        (1, "st", None, None, None, 1000),
        (1, "st.a", None, None, None, 1000),
    ]
    # Both streams take room.
    assert known.where("stored_bytes > length").count() == 2


def test_a_folder_is_searched_and_a_bad_file_is_one_row(spark, lake):
    assert short(bloom(spark, lake)) == [
        (
            "bad.parquet", None, None, False, None,
            f"{lake}/bad.parquet: not a Parquet file: does not start with PAR1",
        ),
        ("built.parquet", 0, "a,b", False, NO_FILTER, None),
        ("built.parquet", 0, "id", True, None, None),
        ("built.parquet", 1, "a,b", False, NO_FILTER, None),
        ("built.parquet", 1, "id", True, None, None),
        ("plain.parquet", 0, "a,b", False, NO_FILTER, None),
        ("plain.parquet", 0, "id", False, NO_FILTER, None),
        ("plain.parquet", 1, "a,b", False, NO_FILTER, None),
        ("plain.parquet", 1, "id", False, NO_FILTER, None),
    ]  # fmt: skip


def test_names_without_files_are_rows_as_well(spark, lake):
    (lake / "empty").mkdir()
    frame = bloom(spark, lake / "x*.parquet", lake / "empty", lake / "*/*/b*.parquet")
    (deep, error), *others = sorted(frame.select("path", "error").collect())
    assert (deep, error.partition(";")[0]) == (
        f"{lake}/*/*/b*.parquet",
        f"{lake}/*/*/b*.parquet: no Parquet or ORC files",
    )
    assert f"; there is {lake}/bad.parquet: name the folder " in error
    assert others == [
        (f"{lake}/empty", f"{lake}/empty: no Parquet or ORC files"),
        (f"{lake}/x*.parquet", f"{lake}/x*.parquet: no Parquet or ORC files"),
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no.parquet", "no such file or folder"),
        ("no/*.parquet", "no such folder"),
        ("no/a", "there is no folder"),
    ],
)
def test_what_is_not_there_fails_in_either_mode(spark, lake, name, said):
    with pytest.raises(AnalysisException, match=said):
        bloom(spark, lake, lake / name).collect()


def test_sql_reads_a_view_with_globs_and_quoted_columns(spark, lake):
    spark.sql(
        f"CREATE TEMPORARY VIEW filters USING bloom"
        f" OPTIONS (path '{lake}/d=*/*.parquet', columns '\"a,b\"', mode 'FAILFAST')"
    )
    query = "SELECT column, count(*), count(fpp) FROM filters GROUP BY column"
    rows = spark.sql(query).collect()
    spark.catalog.dropTempView("filters")
    assert [tuple(row) for row in rows] == [("a,b", 4, 0)]


def test_files_that_spark_names_are_found(spark, lake):
    """inputFiles() gives URIs with escapes."""
    frame = spark.read.parquet(str(lake / "d=1"))
    names = frame.inputFiles()
    assert "%20lake%20100%25" in names[0]
    paths = [row.path for row in bloom(spark, *names).select("path").distinct().collect()]
    assert sorted(paths) == [f"{lake}/d=1/built.parquet", f"{lake}/d=1/plain.parquet"]


def test_a_column_that_a_file_lacks_is_an_error_of_that_file(spark, lake):
    assert short(bloom(spark, lake / "d=1" / "built.parquet", columns="id,ids")) == [
        (
            "built.parquet", None, None, False, None,
            f"{lake}/d=1/built.parquet: no column ids; did you mean id?",
        )
    ]  # fmt: skip


def test_failfast_fails_with_the_first_bad_file(spark, lake):
    with pytest.raises(PythonException, match=r"bad\.parquet: not a Parquet file"):
        bloom(spark, lake, mode="failfast").collect()
    with pytest.raises(AnalysisException, match=r"no Parquet or ORC files: '.*/x\*\.parquet'"):
        bloom(spark, lake / "x*.parquet", mode="failfast").collect()


def test_a_wrong_option_fails_before_anything_is_read(spark, lake):
    with pytest.raises(
        AnalysisException, match="option mode: expected permissive or failfast, found 'strict'"
    ):
        bloom(spark, lake, mode="strict").schema  # noqa: B018


def test_what_is_wrong_is_one_line_without_the_traceback(spark, lake):
    hidden = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"
    assert f"unless `{hidden}` is `true`" in (ROOT / "docs" / "filters_table.md").read_text()
    spark.conf.set(hidden, "true")
    try:
        with pytest.raises(AnalysisException) as caught:
            bloom(spark, lake / "no").collect()
    finally:
        spark.conf.unset(hidden)
    first, _, more = str(caught.value).partition("\n")
    assert "Traceback" not in more
    assert first.endswith(f": FileNotFoundError: [Errno 2] no such file or folder: '{lake}/no'")


def test_a_schema_of_ones_own_leaves_columns_out(spark, lake):
    reader = spark.read.format("bloom").schema("fpp double, path string")
    rows = reader.load(f"{lake}/d=1/built.parquet").collect()
    assert [set(row.asDict()) for row in rows] == [{"fpp", "path"}] * 4
    assert sum(row.fpp is not None for row in rows) == 2
    with pytest.raises(AnalysisException, match="schema: fpp string: expected fpp double"):
        spark.read.format("bloom").schema("fpp string").load(str(lake)).collect()
    with pytest.raises(
        AnalysisException, match="schema: ndv int: no such column, expected some of path, "
    ):
        spark.read.format("bloom").schema("ndv int").load(str(lake)).collect()


def test_an_encrypted_file_opens_with_a_keys_file(spark, tmp_path):
    plain = (FIXTURES / "java_filters.parquet").read_bytes()
    path = tmp_path / "encrypted.parquet"
    path.write_bytes(encrypt(plain, Recipe()).data)
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"footer": f"hex:{FOOTER_KEY.hex()}"}))
    keys.chmod(0o600)
    (row,) = bloom(spark, path).collect()
    assert row.error == (
        f"{path}: the footer is encrypted: no key for the footer (the file names no key); --footer-key,"
        " --uniform-key or --keys gives it"
    )
    opened = bloom(spark, path, keysfile=str(keys))
    counts = opened.selectExpr("count(*)", "count_if(encrypted)", "count(error)").collect()
    assert [tuple(row) for row in counts] == [(36, 36, 0)]


@pytest.fixture
def pushing(spark):
    """A session that pushes filters into Python data sources, which it does not on its own."""
    setting = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "true")
    yield spark
    spark.conf.set(setting, before)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "condition",
    [
        "column = 'id'",
        "column = 'id' AND row_group = 1",
        "column IN ('id', 'no') AND fpp > 0",
        "row_group IN (1, 7)",
        "column = 'id' AND column IN ('a,b', 'x')",
        "row_group = 9",
        "reason = 'no filter' AND path LIKE '%plain%'",
        "error IS NOT NULL",
    ],
)
def test_pushed_filters_change_no_result(pushing, lake, condition):
    pushed = short(bloom(pushing, lake, pushdown="true").where(condition))
    assert pushed == short(bloom(pushing, lake).where(condition))


def test_a_file_whose_path_is_not_asked_for_is_not_read(pushing, lake):
    frame = bloom(pushing, lake, mode="failfast", pushdown="true")
    assert frame.where(f"path = '{lake}/d=1/built.parquet'").count() == 4
    assert frame.where("path = '/elsewhere'").count() == 0


def test_nothing_wanted_of_a_file_is_no_failure(pushing, lake):
    frame = bloom(pushing, lake / "d=1" / "built.parquet", mode="failfast", pushdown="true")
    assert frame.where("row_group = 9").count() == 0
    assert frame.where("column = 'no'").count() == 0


def test_pushdown_needs_what_spark_says(spark, lake):
    frame = bloom(spark, lake, pushdown="true").where("column = 'id'")
    with pytest.raises(AnalysisException, match=r"spark\.sql\.python\.filterPushdown\.enabled"):
        frame.collect()


# ------------------------------------------------------------------------------------------------
# Without a session


def reader_of(path, schema=FILTER, **options):
    return BloomDataSource({"path": str(path), **options}).reader(schema)


def rows_of(reader):
    """As Spark does it: reader and partitions are pickled on their way."""
    partitions = pickle.loads(pickle.dumps(reader.partitions()))
    reader = pickle.loads(pickle.dumps(reader))
    batches = [batch for partition in partitions for batch in reader.read(partition)]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("filters", "remaining", "columns", "row_groups"),
    [
        ([EqualTo(("column",), "id")], 0, ("id",), (0, 1)),
        ([EqualTo(("row_group",), 1)], 0, ("id", "a,b"), (1,)),
        ([In(("column",), ("a,b", None)), In(("row_group",), (0, 5))], 0, ("a,b",), (0,)),
        ([EqualTo(("column",), "id"), In(("column",), ("id", "a,b"))], 0, ("id",), (0, 1)),
        ([EqualTo(("column",), "no")], 0, (), (0, 1)),
        ([GreaterThan(("row_group",), 0), EqualTo(("fpp",), 0.5)], 2, None, None),
        ([EqualTo(("stripe",), 0)], 0, ("id", "a,b"), ()),
    ],
)
def test_only_what_is_wanted_is_inspected(
    lake, monkeypatch, filters, remaining, columns, row_groups
):
    seen = []

    def recording(file, options):
        seen.append((options.columns, options.parts))
        return inspect_file(file, options)

    monkeypatch.setattr(data_source, "inspect_file", recording)
    reader = reader_of(lake / "d=1" / "built.parquet", pushdown="true")
    assert list(reader.pushFilters(filters)) == filters[len(filters) - remaining :]
    rows_of(reader)
    assert seen == [(columns, row_groups)]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        (EqualTo(("stripe",), 1), [(1, "id"), (1, "st"), (1, "st.a")]),
        (In(("stripe",), (0, 7)), [(0, "id"), (0, "st"), (0, "st.a")]),
        (EqualTo(("column",), "st.a"), [(0, "st.a"), (1, "st.a")]),
        (EqualTo(("row_group",), 0), []),
        (EqualTo(("path",), "elsewhere"), []),
    ],
)
def test_only_what_is_wanted_of_an_orc_file_is_inspected(orc_path, monkeypatch, filter, found):
    seen = []

    def recording(file, options):
        report = inspect_file(file, options)
        seen.extend(
            (each.stripe, column.column) for each in report.stripes for column in each.columns
        )
        return report

    monkeypatch.setattr(data_source, "inspect_file", recording)
    reader = reader_of(orc_path, pushdown="true")
    assert list(reader.pushFilters([filter])) == []
    assert [(row["stripe"], row["column"]) for row in rows_of(reader)] == found
    assert seen == found


def test_a_filter_of_an_older_dialect_says_so(lake):
    """If the footer leads to it; of others only inspect tells."""
    plain = lake / "d=1" / "plain.parquet"
    for name, published in (("hidden", False), ("published", True)):
        dialect = Murmur3(publish_offset=published)
        pb.build(plain, lake / f"{name}.parquet", columns=["id"], dialect=dialect)
    found = {
        (Path(row["path"]).stem, row["dialect"], row["hash"], row["reason"])
        for name in ("hidden", "published")
        for row in rows_of(reader_of(lake / f"{name}.parquet", columns="id"))
    }
    assert found == {
        ("published", "murmur3", "MURMUR3 seed 1361930890, mask", None),
        ("hidden", None, None, NO_FILTER),
    }


def test_the_error_of_a_file_is_of_no_column(lake):
    """NULL equals nothing, NULL included, and Spark does not look again."""
    reader = reader_of(lake, pushdown="true")
    assert list(reader.pushFilters([In(("column",), ("id", None))])) == []
    assert [row["column"] for row in rows_of(reader)] == ["id"] * 4


def test_batches_are_bounded_and_of_the_declared_schema(lake, monkeypatch):
    monkeypatch.setattr(data_source, "BATCH_ROWS", 3)
    paths = [str(lake / name) for name in ("bad.parquet", "d=1/built.parquet", "d=1/plain.parquet")]
    batches = list(reader_of(lake).read(Files(paths)))
    assert [batch.num_rows for batch in batches] == [3, 3, 3]
    assert all(batch.schema.equals(to_arrow_schema(FILTER)) for batch in batches)


def test_the_declared_schema():
    """Queries that people keep are written for it."""
    assert FILTER.simpleString() == (
        "struct<path:string,row_group:int,num_rows:bigint,column:string,physical_type:string,"
        "logical_type:string,num_values:bigint,chunk_bytes:bigint,offset:bigint,length:bigint,"
        "header_bytes:int,num_bytes:bigint,num_blocks:bigint,algorithm:string,hash:string,"
        "compression:string,fill:double,fpp:double,ndv_estimate:double,dialect:string,"
        "stored_bytes:bigint,encrypted:boolean,reason:string,error:string,format:string,"
        "num_filters:int,worst_fpp:double,stripe:int,stream:string,num_hashes:int,num_bits:bigint,"
        "notes:string>"
    )
    assert [field.name for field in FILTER if not field.nullable] == ["path"]


def test_spark_makes_a_partition_of_its_own_where_there_are_none(lake):
    assert list(reader_of(lake).read(InputPartition(None))) == []


@pytest.mark.parametrize(
    ("num_files", "num_tasks"), [(1, 1), (7, 3), (100, 9), (200, 15), (2000, 96)]
)
def test_small_files_share_tasks(tmp_path, num_files, num_tasks):
    for number in range(num_files):
        (tmp_path / f"{number}.parquet").touch()
    partitions = reader_of(tmp_path).partitions()
    paths = [path for partition in partitions for path in partition.value[0]]
    assert len(partitions) == num_tasks
    assert sorted(paths) == sorted(map(str, tmp_path.iterdir()))
    sizes = [len(partition.value[0]) for partition in partitions]
    assert max(sizes) - min(sizes) <= 1


def test_many_files_get_more_tasks_than_those():
    assert data_source._num_tasks([0] * 64_000) == 1000


def test_what_is_read_of_a_large_file_counts(tmp_path):
    """2 GiB: about 32 MiB of filters."""
    for name in "ab":
        with (tmp_path / f"{name}.parquet").open("wb") as file:
            file.truncate(2 << 30)
    for number in range(6):
        (tmp_path / f"{number}.parquet").touch()
    values = [partition.value[0] for partition in reader_of(tmp_path).partitions()]
    assert [[Path(path).stem for path in paths] for paths in values] == [
        ["a"], ["b"], ["0", "1", "2", "3", "4", "5"],
    ]  # fmt: skip


def test_a_relative_path_becomes_absolute(lake, monkeypatch):
    """Executors have other working folders."""
    monkeypatch.chdir(lake)
    rows = rows_of(reader_of("d=1/../d=1/built.parquet", columns="id"))
    assert {row["path"] for row in rows} == {f"{lake}/d=1/built.parquet"}


@pytest.mark.parametrize(
    ("name", "said"), [("no.parquet", "no such file or folder"), ("no/a", "there is no folder no")]
)
def test_a_relative_path_that_is_not_there_names_the_folder(lake, monkeypatch, name, said):
    """Over Connect, nobody knows it."""
    monkeypatch.chdir(lake)
    relative = re.escape(
        f"; relative to {lake}, where Spark plans: expected an absolute path: '{name}'"
    )
    with pytest.raises(FileNotFoundError, match=said + relative):
        reader_of(name).partitions()


def test_a_relative_glob_without_files_names_the_folder(lake, monkeypatch):
    monkeypatch.chdir(lake)
    (row,) = rows_of(reader_of("x*.parquet"))
    assert (row["path"], row["error"]) == (
        "x*.parquet",
        f"x*.parquet: no Parquet or ORC files; relative to {lake}, where Spark plans: expected an absolute path",
    )


def test_names_of_hadoops_become_those_that_executors_open(lake):
    names = ["s3a://bucket/x.parquet", "dbfs:/nothing/x.parquet", f"file:{lake}/d=*/b*.parquet"]
    partitions = BloomDataSource({"paths": json.dumps(names)}).reader(FILTER).partitions()
    assert sorted(partition.value for partition in partitions) == [
        (("/dbfs/nothing/x.parquet",), ()),
        ((f"{lake}/d=1/built.parquet",), ()),
        (("s3://bucket/x.parquet",), ()),
    ]


def test_a_file_named_twice_is_read_once(lake):
    names = json.dumps([f"{lake}/d=1", f"file://{lake}/d=1/../d=1".replace("%", "%25")])
    source = BloomDataSource({"paths": names})
    assert len(rows_of(source.reader(FILTER))) == 8


def test_a_file_whose_name_is_not_utf_8_is_an_error(lake):
    """As it is to the verbs: with a question mark in it, nobody could open it."""
    os.rename(lake / "d=1" / "built.parquet", os.fsencode(lake) + b"/\xff.parquet")
    name = rf"{lake}/\xff.parquet"
    told = f"{name}: its name is not UTF-8, so that Spark cannot pass it on"
    (row,) = rows_of(reader_of(lake / "[!a-z_]*.parquet", columns="id"))
    assert {key: value for key, value in row.items() if value is not None} == {
        "path": name,
        "error": told,
    }
    with pytest.raises(pb.UnsupportedError) as failed:
        reader_of(lake / "[!a-z_]*.parquet", mode="failfast").partitions()
    assert str(failed.value) == told
    # A query for another file is not about it.
    plain = str(lake / "d=1" / "plain.parquet")
    for path, number in {plain: 4, name: 1}.items():
        reader = reader_of(lake, pushdown="true")
        assert not list(reader.pushFilters([EqualTo(("path",), path)]))
        assert [row["path"] for row in rows_of(reader)] == [path] * number


def test_only_a_reader_that_is_asked_to_takes_filters(lake):
    """Spark fails queries on those that do while it is told to push none."""
    without, with_it = reader_of(lake), reader_of(lake, pushdown="true")
    assert type(without).pushFilters is DataSourceReader.pushFilters
    assert type(with_it).pushFilters is not DataSourceReader.pushFilters


def test_a_keys_file_that_is_none_fails_in_any_mode(lake):
    (lake / "keys.json").write_text("[]")
    (lake / "keys.json").chmod(0o600)
    with pytest.raises(pb.ConfigError, match="expected a JSON object"):
        rows_of(reader_of(lake, keysfile=str(lake / "keys.json")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option path: missing, expected a file, a folder or a glob"),
        ({"paths": "[]"}, "option path: missing, expected a file, a folder or a glob"),
        ({"paths": '"a"'}, "option paths: expected names as a list in JSON, found '\"a\"'"),
        ({"paths": "a"}, "option paths: expected names as a list in JSON, found 'a'"),
        ({"path": "a", "mode": ""}, "option mode: expected permissive or failfast, found ''"),
        ({"path": "a", "pushdown": "yes"}, "option pushdown: expected false or true, found 'yes'"),
        ({"path": "a", "columns": ""}, "option columns: an empty name, expected a leaf column"),
        ({"path": "a", "columns": "b,"}, "option columns: an empty name, expected a leaf column"),
        (
            {"path": "a", "columns": '"b'},
            "option columns: expected comma-separated names: unexpected end of data",
        ),
        ({"path": "a", "column": "b"}, "option column: no such option, did you mean columns"),
        (
            {"path": "a", "keys_file": "b"},
            "option keys_file: no such option, did you mean keysfile",
        ),
    ],
)
def test_wrong_options_say_what_is_expected(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SourceOptions.parse(options)


def test_right_options_mean_what_they_say():
    options = {"PATH": "a", "paths": '["b"]', "columns": 'x.y,"a,b"', "Mode": "FailFast"}
    catalogs = {"owner": "root", "provider": "bloom"}
    assert SourceOptions.parse(
        {**options, "pushdown": "TRUE", "keysfile": "k", **catalogs}
    ) == SourceOptions(("a", "b"), ("x.y", "a,b"), True, True, "k")
    assert SourceOptions.parse({"path": "a"}) == SourceOptions(("a",), None, False, False, None)


def test_the_wheel_has_what_registers_the_source():
    """Spark imports each top-level module pyspark_…, and the wheel has those that are listed."""
    import pyspark_bloom

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["py-modules"] == [pyspark_bloom.__name__]
    assert pyspark_bloom.DefaultSource is BloomDataSource
