"""Old split block filters that build writes: their bits, their places, and the file around them."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.encrypting import Recipe, encrypt
from make.older_files import bitset, murmur3, page_header, plain_header, thrift_header
from oracle.arrow import pyarrow_rows
from oracle.engines import spark_rows

import parquet_bloom as pb
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.files import open_file
from parquet_bloom.legacy.chunk_filters import noted, published
from parquet_bloom.legacy.murmur3 import footer as murmur3_footer
from parquet_bloom.legacy.murmur3.dialect import num_bytes_for
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

ROWS, GROUP_ROWS = 4000, 1500
COLUMNS = ["id", "name", "score"]
HEADERS = {"12-byte": lambda size: plain_header(size, 12), "thrift": thrift_header,
           "page": page_header}  # fmt: skip
EVERY = [
    pb.Murmur3(header_layout=header, placement=placement, publish_offset=publish_offset)
    for header in HEADERS
    for placement in ("footer", "chunk")
    for publish_offset in (False, True)
]
each_dialect = pytest.mark.parametrize(
    "dialect",
    EVERY,
    ids=lambda each: f"{each.header_layout}-{each.placement}-{each.publish_offset}",
)
CHUNK = pb.Murmur3(placement="chunk")


def table():
    numbers = np.arange(ROWS)
    return pa.table(
        {
            "id": numbers * 7919,
            "name": pa.array([f"name {i % 700}" if i % 3 else None for i in range(ROWS)]),
            "score": numbers / 8,
            "plain": numbers,
        }
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Three row groups of many pages, with page indexes, and with filters of today."""
    folder = tmp_path_factory.mktemp("written")
    path = folder / "source.parquet"
    pq.write_table(
        table(), path, row_group_size=GROUP_ROWS, write_page_index=True, data_page_size=1024,
        max_rows_per_page=200, use_dictionary=["name"],
    )  # fmt: skip
    pb.build(path, columns=["plain"], in_place=True)
    return path


@pytest.fixture(
    params=EVERY, ids=lambda each: f"{each.header_layout}-{each.placement}-{each.publish_offset}"
)
def written(request, source, tmp_path):
    """A file with old filters, and the dialect that they are of."""
    path = tmp_path / "out.parquet"
    pb.build(source, path, columns=COLUMNS, dialect=request.param)
    return path, request.param


def values_of(path, column, row_group):
    """The distinct values as they are stored."""
    found = pq.ParquetFile(path).read_row_group(row_group, [column]).column(0)
    values = [value for value in found.unique().to_pylist() if value is not None]
    form = {"id": "<q", "score": "<d"}.get(column)
    stored = {value.encode() if form is None else struct.pack(form, value) for value in values}
    # Both zeros are in a filter where there is one.
    return stored | ({struct.pack("<d", -0.0)} if column == "score" and 0.0 in values else set())


def test_header_and_bits_are_those_of_the_transliteration(source, written):
    path, dialect = written
    with open_file(path) as file:
        for row_group in range(file.num_row_groups):
            for column in COLUMNS:
                filter = noted(file, file.chunk(row_group, column))
                header, bits = filter.header_and_bitset()
                assert header == HEADERS[dialect.header_layout](len(bits))
                assert bits == bitset(values_of(source, column, row_group), len(bits) // 32)


def test_places_are_as_asked_for(source, written):
    path, dialect = written
    with open_file(source) as before, open_file(path) as file:
        for row_group in range(file.num_row_groups):
            for column in COLUMNS:
                chunk = file.chunk(row_group, column)
                filter = noted(file, chunk)
                end = filter.offset + filter.stored_bytes
                if dialect.placement == "chunk":
                    assert end == chunk.pages_start
                else:
                    assert filter.offset >= before.footer.start
                expected = filter.offset if dialect.publish_offset else None
                assert (chunk.bloom_filter_offset, chunk.bloom_filter_length) == (expected, None)


def test_the_file_is_validated_and_stripped(source, written, tmp_path):
    path, dialect = written
    report = pb.validate(path)
    rules = {found.rule for found in report.findings}
    assert rules == ({"PB701"} if dialect.publish_offset else set())
    assert report.checked.filters == 3 * (1 + len(COLUMNS))
    stripped = tmp_path / "stripped.parquet"
    pb.strip(path, stripped, columns=COLUMNS)
    assert pyarrow_rows(stripped) == pyarrow_rows(source)
    if dialect.placement == "footer":
        assert stripped.read_bytes() == source.read_bytes()


def test_the_filters_exclude(written):
    path, dialect = written
    absent = [number for number in range(1, 2000, 2) if number % 7919]
    asked = None if dialect.publish_offset else "murmur3"
    results = pb.probe(path, "id", [*absent, 0, 7919], dialect=asked).results
    assert sum(each.verdict == "absent" for each in results[:-2]) > 0.9 * len(absent)
    assert [each.verdict for each in results[-2:]] == ["maybe", "maybe"]


def test_every_page_is_where_the_indexes_say(source, written):
    path, _ = written
    old_data, new_data = source.read_bytes(), path.read_bytes()
    with open_file(source) as before, open_file(path) as after:
        for row_group in range(before.num_row_groups):
            for leaf in before.footer.leaves:
                pairs = [
                    list(page_bodies(data, file, row_group, leaf.index))
                    for data, file in ((old_data, before), (new_data, after))
                ]
                assert pairs[0] == pairs[1]
                assert len(pairs[0]) > 3


def page_bodies(data, file, row_group, column):
    """The bytes of each page that the offset index has, and what the column index says."""
    names = ("offset_index_offset", "column_index_offset", "column_index_length")
    found = (file.footer.chunks.one(name, row_group, column) for name in names)
    offset_index, start, length = found
    index, _ = compact.decode(ttypes.OffsetIndex, data, offset_index)
    for page in index.page_locations:
        yield data[page.offset : page.offset + page.compressed_page_size]
    yield data[start : start + length]


def test_readers_read_what_was_there(source, written, duckdb):
    import polars

    path, _ = written
    assert pyarrow_rows(path) == pyarrow_rows(source)
    assert polars.read_parquet(path).equals(polars.read_parquet(source))
    assert duckdb.rows(path) == duckdb.rows(source)
    assert datafusion_rows(path) == datafusion_rows(source)


def datafusion_rows(path, where="true"):
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("t", str(path))
    return context.sql(f"SELECT * FROM t WHERE {where} ORDER BY plain").to_arrow_table().to_pylist()


@pytest.mark.parametrize("column", ["plain", "id"])
def test_queries_find_their_rows_by_page_index(written, column):
    """DuckDB fails on what it takes for a filter of today, where one is published."""
    import polars

    path, dialect = written
    number = 2345 if column == "plain" else 2345 * 7919
    expected = [row for row in table().to_pylist() if row[column] == number]
    assert len(expected) == 1
    query = ds.field(column) == number
    assert pq.read_table(path, filters=query).to_pylist() == expected
    assert polars.scan_parquet(path).filter(polars.col(column) == number).collect().height == 1
    assert datafusion_rows(path, f"{column} = {number}") == expected
    if dialect.publish_offset and column == "id":
        with pytest.raises(Exception, match=r"Invalid data|TProtocolException"):
            duckdb_rows(path, column, number)
    else:
        assert duckdb_rows(path, column, number) == expected


def duckdb_rows(path, column, number):
    import duckdb

    found = duckdb.sql(f"FROM '{path}' WHERE {column} = {number}")
    return found.to_arrow_table().to_pylist()


def test_spark_reads_what_was_there(source, tmp_path, spark):
    path = tmp_path / "out.parquet"
    pb.build(source, path, columns=COLUMNS, dialect=pb.Murmur3("page", 4, "chunk", True))
    assert spark_rows(spark, path) == spark_rows(spark, source)
    frame = spark.read.parquet(str(path))
    assert frame.where("id = 7919 * 77").count() == 1
    assert frame.where("plain = 2345").count() == 1
    assert frame.where("name = 'name 500'").count() == frame.where("name like 'name 500'").count()


def test_a_seed_that_is_published_is_found_by_the_note(source, tmp_path):
    path = tmp_path / "out.parquet"
    dialect = pb.Murmur3(seed=99, publish_offset=True)
    pb.build(source, path, columns=["name"], dialect=dialect)
    with open_file(path) as file:
        filter = published(file, file.chunk(0, "name"))
        assert filter.hash == "MURMUR3 seed 99, mask"
        _, bits = filter.header_and_bitset()
    assert bits == bitset(values_of(source, "name", 0), len(bits) // 32, murmur3(99))


@pytest.mark.parametrize("placement", ["footer", "chunk"])
def test_a_dry_run_says_what_would_come_of_it(source, tmp_path, placement):
    path = tmp_path / "out.parquet"
    options = {"columns": COLUMNS, "dialect": pb.Murmur3(placement=placement), "ndv": 300}
    imagined = pb.build(source, dry_run=True, in_place=True, **options)
    done = pb.build(source, path, **options)
    assert imagined.filters == done.filters
    assert imagined.size_after == done.size_after == path.stat().st_size
    assert {each.num_bytes for each in done.filters} == {512}


def test_filters_that_are_there_are_kept_replaced_or_an_error(source, tmp_path):
    path = tmp_path / "out.parquet"
    pb.build(source, path, columns=COLUMNS, dialect=pb.Murmur3(publish_offset=True))
    before = path.read_bytes()
    kept = pb.build(path, columns=COLUMNS, in_place=True, dialect=pb.Murmur3())
    assert {each.reason for each in kept.skipped} == {"has a filter already"}
    assert path.read_bytes() == before
    with pytest.raises(RewriteError, match="row group 0, column id: has a filter already"):
        pb.build(path, columns=["id"], in_place=True, dialect=pb.Murmur3(), existing="error")
    again = {"columns": COLUMNS, "in_place": True, "existing": "replace"}
    pb.build(path, dialect=pb.Murmur3(seed=1), **again)
    alone = tmp_path / "alone.parquet"
    pb.build(source, alone, columns=COLUMNS, dialect=pb.Murmur3(seed=1))
    # Nothing is left of those that were the last before the footer.
    assert path.read_bytes() == alone.read_bytes()


def test_filters_of_other_chunks_stay_where_everything_moves(source, tmp_path):
    first, second = tmp_path / "first.parquet", tmp_path / "second.parquet"
    pb.build(source, first, columns=["name"], dialect=pb.Murmur3(seed=5))
    pb.build(first, second, columns=["id"], dialect=CHUNK)
    report = pb.validate(second)
    assert report.findings == ()
    assert report.checked.filters == 9
    assert pb.probe(second, "plain", [-1]).results[0].verdict == "absent"
    with open_file(second) as file:
        assert noted(file, file.chunk(1, "name")).hash == "MURMUR3 seed 5, mask"


def test_both_dialects_and_today_s_lie_side_by_side(source, tmp_path):
    path = tmp_path / "out.parquet"
    pb.build(source, path, columns=COLUMNS, dialect=pb.StatisticsFilter())
    pb.build(path, columns=COLUMNS, dialect=CHUNK, in_place=True)
    pb.build(path, columns=COLUMNS, in_place=True)
    report = pb.inspect(path, columns=["id"], row_groups=[0])
    (column,) = report.row_groups[0].columns
    assert column.filter.dialect == "xxhash"
    assert [each.dialect for each in column.legacy_filters] == ["murmur3", "statistics"]
    # Those of today are not in order: the last column had its filters first.
    assert {each.rule for each in pb.validate(path).findings} == {"PB206"}
    stripped = tmp_path / "stripped.parquet"
    assert len(pb.strip(path, stripped).removed) == 3 * (1 + 3 * len(COLUMNS))
    (column,) = pb.inspect(stripped, columns=["id"], row_groups=[0]).row_groups[0].columns
    assert (column.filter, column.legacy_filters) == (None, ())


@pytest.mark.every(4)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_files_of_every_writer(path, tmp_path):
    """Filters before the pages of all columns, and every byte of the old file is still there."""
    output = tmp_path / "out.parquet"
    with pb.open(path) as file:
        columns = list(file.columns)
    report = pb.build(path, output, columns=columns, dialect=CHUNK)
    rules = {each.rule for each in pb.validate(output).findings if each.severity == "error"}
    assert rules <= {each.rule for each in pb.validate(path).findings}
    assert pq.read_metadata(output).num_rows == pq.read_metadata(path).num_rows
    skipped = {each.reason for each in report.skipped}
    assert skipped <= {"no non-null values", "BOOLEAN: two values need no filter"}


@pytest.mark.parametrize("placement", ["footer", "chunk"])
def test_encrypted_files_are_refused(source, tmp_path, placement):
    path = tmp_path / "secret.parquet"
    recipe = Recipe(columns={"id": b"0123456789012345"}, plaintext_footer=True)
    path.write_bytes(encrypt(source.read_bytes(), recipe).data)
    before = path.read_bytes()
    keys = Keys(footer=recipe.footer_key)
    with pytest.raises(UnsupportedError, match="is encrypted: legacy filters are only"):
        pb.build(
            path,
            columns=["name"],
            in_place=True,
            keys=keys,
            dialect=pb.Murmur3(placement=placement),
        )
    assert path.read_bytes() == before


def test_a_version_that_differs_is_not_written(source, tmp_path, monkeypatch):
    monkeypatch.setattr(murmur3_footer, "moved_footer", lambda raw, moves, lengths: raw)
    with pytest.raises(RewriteError, match="verification failed, not written: "):
        pb.build(source, tmp_path / "out.parquet", columns=["id"], dialect=CHUNK)
    assert list(tmp_path.iterdir()) == []


def test_an_index_before_pages_is_refused(tmp_path):
    from make.footers import edited
    from make.pages import data_page, int64s
    from make.parquet_files import Column, forge

    page = data_page(int64s(1, 2, 3), 3)
    locations = [ttypes.PageLocation(offset=4, compressed_page_size=len(page), first_row_index=0)]
    index = compact.encode(ttypes.OffsetIndex(page_locations=locations))
    meta = {"data_page_offset": 4 + len(page) + len(index), "total_compressed_size": len(page)}
    data = forge(Column([page], 3), Column([index + page], 3, name="b", meta=meta))

    def point(footer):
        chunk = footer.row_groups[0].columns[0]
        chunk.offset_index_offset, chunk.offset_index_length = 4 + len(page), len(index)

    path = tmp_path / "in.parquet"
    path.write_bytes(edited(data, point))
    with pytest.raises(UnsupportedError, match="page indexes lie before pages"):
        pb.build(path, columns=["b"], in_place=True, dialect=CHUNK)


@pytest.mark.parametrize("placement", ["footer", "chunk"])
def test_bits_that_begin_with_zeros_are_no_longer_header(tmp_path, placement):
    """With four of them behind it, a header of 12 bytes may be one of 16."""
    path = tmp_path / "sparse.parquet"
    pq.write_table(pa.table({"id": [7]}), path)
    dialect = pb.Murmur3(placement=placement)
    pb.build(path, columns=["id"], in_place=True, ndv=1000, dialect=dialect)
    with open_file(path) as file:
        assert not any(noted(file, file.chunk(0, "id")).header_and_bitset()[1][:4])
    assert pb.validate(path).findings == ()
    results = pb.probe(path, "id", [7, 8], dialect="murmur3").results
    assert [each.verdict for each in results] == ["maybe", "absent"]


@pytest.mark.parametrize(
    ("fpp", "num_bytes"), [(5e-324, 128 << 20), (1e-200, 128 << 20), (1 - 2**-53, 32)]
)
def test_no_rate_is_too_small_or_too_large(fpp, num_bytes):
    assert num_bytes_for(100, fpp) == num_bytes


@pytest.mark.parametrize("seed", [-1, 1 << 32, 1.5, "1", True])
def test_a_seed_that_cannot_be_one(seed):
    with pytest.raises(ValueError, match=f"^seed: {seed}, expected 0 to 4294967295$"):
        pb.Murmur3(seed=seed)
