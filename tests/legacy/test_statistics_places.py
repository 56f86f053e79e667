"""Filters inside Statistics: what becomes of the rest of the file, and what readers make of it."""

from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import missing
from make.encrypting import Recipe, encrypt
from make.statistics_files import statistics_of, with_edits, with_filters, with_struct
from oracle.arrow import pyarrow_rows
from oracle.engines import spark_rows

from parquet_bloom.encryption.keys import Keys
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.files import open_file
from parquet_bloom.legacy.statistics.build import StatisticsBuild
from parquet_bloom.legacy.statistics.dialect import MAX_WORDS, StatisticsFilter
from parquet_bloom.legacy.statistics.edits import removed
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct
from parquet_bloom.legacy.statistics.stored import read_stored
from parquet_bloom.native import _kernel
from parquet_bloom.options import BuildOptions
from parquet_bloom.parquet.footer import compact

ROWS = 200
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "name": [f"name {i}" for i in range(ROWS)],
        "score": [i / 7 for i in range(ROWS)],
        "bare": pa.array(range(ROWS), pa.int32()),
    }
)
ENCODINGS = ("list", "binary", "java")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Two row groups, max_value and is_max_value_exact in their Statistics; `bare` has none."""
    path = tmp_path_factory.mktemp("places") / "source.parquet"
    pq.write_table(TABLE, path, row_group_size=100, write_statistics=["id", "name", "score"])
    return path


def stripped(path, output):
    def edits(file):
        chunks = [
            file.footer.chunk(group, leaf)
            for group in range(file.num_row_groups)
            for leaf in file.footer.leaves
        ]
        return {chunk.key: removed(file.footer, chunk) for chunk in chunks}

    with_edits(path, output, edits, verify=True)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("field_id", [31420, 7, 5])
def test_a_filter_comes_and_goes_without_a_trace(source, tmp_path, encoding, field_id):
    """max_value and is_max_value_exact come back where it had their place."""
    filtered, bare = tmp_path / "filtered.parquet", tmp_path / "bare.parquet"
    with_filters(source, filtered, StatisticsFilter(encoding=encoding, field_id=field_id))
    assert filtered.read_bytes() != source.read_bytes()
    stripped(filtered, bare)
    assert bare.read_bytes() == source.read_bytes()


def test_all_but_the_footer_stays(source, tmp_path):
    output = tmp_path / "out.parquet"
    with_filters(source, output, StatisticsFilter())
    with open_file(source) as file:
        start = file.footer.start
    assert output.read_bytes()[:start] == source.read_bytes()[:start]
    assert pq.read_metadata(output).created_by == pq.read_metadata(source).created_by


def fields_of(path, column):
    """Ids and values of the chunk's Statistics."""
    with open_file(path) as file:
        statistics = statistics_of(file, file.chunk(0, column))
    return {field[0]: statistics[field[3] : field[4]] for field in _kernel.fields(statistics)}


def test_what_statistics_had_they_have_still(source, tmp_path):
    output = tmp_path / "out.parquet"
    with_filters(source, output, StatisticsFilter())
    before, after = fields_of(source, "id"), fields_of(output, "id")
    assert set(before) == {1, 2, 3, 5, 6, 7, 8}
    assert after == before | {31420: after[31420]}


def test_statistics_begin_to_exist_where_there_were_none(source, tmp_path):
    output = tmp_path / "out.parquet"
    with_filters(source, output, StatisticsFilter(), ["bare"])
    assert set(fields_of(output, "bare")) == {31420}
    assert not pq.read_metadata(output).row_group(0).column(3).statistics.has_min_max


def test_another_filter_takes_the_place_of_the_first(source, tmp_path):
    """In another field, and what that had is back."""
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    with_filters(source, first, StatisticsFilter(field_id=5), ["id"])
    assert 31420 not in fields_of(first, "id")
    with_filters(first, second, StatisticsFilter("guava-64"), ["id"])
    before, after = fields_of(source, "id"), fields_of(second, "id")
    assert after == before | {31420: after[31420]}
    with open_file(second) as file:
        assert read_stored(file.footer, file.chunk(0, "id")).struct.name == "guava-64"


def test_fields_that_nobody_knows_stay(source, tmp_path):
    """In the ColumnMetaData, and in its Statistics."""
    strange, output, bare = (
        tmp_path / name for name in ("in.parquet", "out.parquet", "bare.parquet")
    )
    unknown = {999: (compact.TYPE_BINARY, b"\x03abc")}

    def edits(file):
        chunk = file.chunk(1, "name")
        statistics = compact.splice(statistics_of(file, chunk), 0, unknown)
        return {chunk.key: unknown | {12: (compact.TYPE_STRUCT, statistics)}}

    with_edits(source, strange, edits)
    with_filters(strange, output, StatisticsFilter())
    stripped(output, bare)
    assert bare.read_bytes() == strange.read_bytes()


def test_a_new_version_that_differs_is_not_written(source, tmp_path, monkeypatch):
    output = tmp_path / "out.parquet"

    def footer(change):
        return change.file.footer.with_fields(change.edits).replace(b"name", b"nemo")

    monkeypatch.setattr("parquet_bloom.legacy.statistics.build.StatisticsBuild.footer", footer)
    message = "verification failed, not written: the footer differs in more than the filters"
    with pytest.raises(RewriteError, match=message):
        with_filters(source, output, StatisticsFilter())
    assert not output.exists()


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_file_is_refused(source, tmp_path, plaintext_footer):
    """Bits in its footer would tell what is stored."""
    path = tmp_path / "encrypted.parquet"
    recipe = Recipe(plaintext_footer=plaintext_footer)
    path.write_bytes(encrypt(source.read_bytes(), recipe).data)
    with (
        open_file(path, Keys(footer=recipe.footer_key)) as file,
        pytest.raises(UnsupportedError) as found,
    ):
        StatisticsBuild(file, StatisticsFilter(), BuildOptions(columns=("id",)))
    assert str(found.value) == (
        f"{path}: is encrypted: legacy filters are only written to unencrypted files"
    )


# ------------------------------------------------------------------------------------------------
# Readers


@pytest.fixture(scope="module", params=ENCODINGS)
def private(request, source, tmp_path_factory):
    """With filters in the private field, in each encoding."""
    output = tmp_path_factory.mktemp("private") / "out.parquet"
    with_filters(source, output, StatisticsFilter(encoding=request.param))
    return output


@pytest.fixture(scope="module", params=[7, 5])
def historic(request, source, tmp_path_factory):
    output = tmp_path_factory.mktemp("historic") / "out.parquet"
    with_filters(source, output, StatisticsFilter(field_id=request.param))
    return output


def test_pyarrow_reads_what_was_there(source, private):
    assert pyarrow_rows(private) == pyarrow_rows(source)
    before = pq.read_metadata(source).row_group(1).column(0).statistics
    after = pq.read_metadata(private).row_group(1).column(0).statistics
    assert after.to_dict() == before.to_dict()


def engine(name):
    try:
        return import_module(name)
    except ImportError:
        missing(name)


def duckdb_rows(path, where="true"):
    duckdb = engine("duckdb")
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT * FROM '{path}' WHERE {where}").fetchall()


def polars_rows(path):
    return engine("polars").read_parquet(path).rows()


def datafusion_rows(path, where="true"):
    context = engine("datafusion").SessionContext()
    context.register_parquet("t", str(path))
    return context.sql(f"SELECT * FROM t WHERE {where}").to_pylist()


@pytest.mark.parametrize("rows", [duckdb_rows, polars_rows, datafusion_rows])
def test_engines_read_what_was_there(source, private, rows):
    assert rows(private) == rows(source)


@pytest.mark.parametrize("rows", [duckdb_rows, datafusion_rows])
def test_engines_find_a_row(source, private, rows):
    """By the statistics around the filter, too."""
    assert len(rows(private, "id = 150")) == 1
    assert rows(private, "id > 1000") == []


def test_spark_reads_what_was_there(source, private, spark):
    assert spark_rows(spark, private) == spark_rows(spark, source)


@pytest.mark.every(2)
def test_readers_of_historic_fields(source, historic, parquet_java):
    """What the warning says: these do not care, and those below do not open the file."""
    assert pyarrow_rows(historic) == pyarrow_rows(source)
    assert duckdb_rows(historic, "id = 150") == duckdb_rows(source, "id = 150")
    found = parquet_java.rows(source, historic)
    assert found[historic] == found[source]


@pytest.mark.parametrize("rows", [polars_rows, datafusion_rows])
def test_who_does_not_open_historic_fields(historic, rows):
    with pytest.raises(Exception, match=r"parquet|Parquet"):
        rows(historic)


def test_the_warning_names_them():
    polars = "DataFusion and Polars fail to open the file; readers of today find no"
    assert StatisticsFilter().notes == ()
    for field_id, name in ((5, "max_value"), (7, "is_max_value_exact")):
        assert StatisticsFilter(field_id=field_id).notes == (
            f"field {field_id} of Statistics: {polars} {name} there",
        )


def test_arrow_opens_no_file_with_a_longer_list(source, tmp_path):
    """Why a filter has at most a million longs."""
    for num_words in (MAX_WORDS, MAX_WORDS + 1):
        struct = StatisticsStruct("list", bytes(8 * num_words), 64 * num_words, 4, 0, "hive")
        with_struct(source, tmp_path / f"{num_words}.parquet", struct, "id")
    assert pq.read_metadata(tmp_path / f"{MAX_WORDS}.parquet").num_rows == ROWS
    with pytest.raises(OSError, match="Exceeded size limit"):
        pq.read_metadata(tmp_path / f"{MAX_WORDS + 1}.parquet")
