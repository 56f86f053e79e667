"""No false negative anywhere: every value that pyarrow reads is found in the filter of its chunk.

On every fixture and every public test file, for every column that pyarrow can read.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, SHARED, missing
from oracle.arrow import leaf_array

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.files import open_file

PUBLIC = SHARED / "data" / "parquet-testing"

# INT32 with deltas of 33 bits: DuckDB reads them, pyarrow does not. test_interop asks DuckDB.
UNREADABLE = {("duckdb_delta_wide", "int32"), ("duckdb_delta_wide", "uint32")}

# What the build refuses, and why (each is a test of its own elsewhere, or below).
REFUSED = {
    "datapage_v1-corrupt-checksum.parquet": "checksum",
    "encrypt_columns_plaintext_footer.parquet.encrypted": "the footer is signed",
    "encrypt_columns_and_footer.parquet.encrypted": "the footer is encrypted",
    "encrypt_columns_and_footer_aad.parquet.encrypted": "the footer is encrypted",
    "encrypt_columns_and_footer_bloom_filter.parquet.encrypted": "the footer is encrypted",
    "encrypt_columns_and_footer_ctr.parquet.encrypted": "the footer is encrypted",
    "uniform_encryption.parquet.encrypted": "the footer is encrypted",
}

PUBLIC_NAMES = [
    "alltypes_dictionary.parquet",
    "alltypes_plain.parquet",
    "alltypes_plain.snappy.parquet",
    "alltypes_tiny_pages_plain.parquet",
    "binary.parquet",
    "byte_array_decimal.parquet",
    "byte_stream_split.zstd.parquet",
    "column_chunk_key_value_metadata.parquet",
    "data_index_bloom_encoding_stats.parquet",
    "data_index_bloom_encoding_with_length.parquet",
    "datapage_v2.snappy.parquet",
    "delta_byte_array.parquet",
    "delta_length_byte_array.parquet",
    "fixed_length_byte_array.parquet",
    "fixed_length_decimal.parquet",
    "fixed_length_decimal_legacy.parquet",
    "float16_nonzeros_and_nans.parquet",
    "int32_decimal.parquet",
    "int64_decimal.parquet",
    "int96_from_spark.parquet",
    "list_columns.parquet",
    "lz4_raw_compressed.parquet",
    "nan_in_stats.parquet",
    "nation.dict-malformed.parquet",
    "nested_lists.snappy.parquet",
    "nested_maps.snappy.parquet",
    "nested_structs.rust.parquet",
    "non_hadoop_lz4_compressed.parquet",
    "nulls.snappy.parquet",
    "rle-dict-snappy-checksum.parquet",
    "sort_columns.parquet",
    "unknown-logical-type.parquet",
]


def arrow_bytes(path):
    """All rows as bytes: NaN, which equals nothing, is compared too."""
    sink = pa.BufferOutputStream()
    table = pq.read_table(path)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def stored(array, physical):
    """Values as check_many takes them; dates and times as their stored numbers."""
    kind = array.type
    if physical == "INT96":
        # What INT96 can hold and no calendar can name is left out.
        return [
            value for value in array.to_numpy() if value.astype("datetime64[Y]").astype(int) > -1970
        ]
    if pa.types.is_dictionary(kind):
        return stored(array.dictionary_decode(), physical)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_date64(kind):
        return array.cast(pa.int64()).to_pylist()
    return array.to_pylist()


def check_every_value(original, built):
    """How many values were checked; fails on the first column that lost one."""
    checked = 0
    # Nanoseconds reach from 1677 to 2262 only, and one file goes beyond.
    unit = "us" if original.name == "int96_from_spark.parquet" else "ns"
    reader = pq.ParquetFile(original, coerce_int96_timestamp_unit=unit)
    with open_file(built) as file:
        for group in range(file.num_row_groups):
            for leaf in file.footer.leaves:
                chunk = file.chunk(group, leaf.name)
                if chunk.bloom_filter_offset is None or (original.stem, leaf.name) in UNREADABLE:
                    continue
                top = reader.read_row_group(group, columns=[leaf.path[0]]).column(0)
                values = stored(leaf_array(top, list(leaf.path[1:])), leaf.type.physical)
                found = file.bloom_filter(OneFilter(group, leaf.name)).check_many(values)
                assert found.all(), f"{leaf.name}: {values[int((~found).argmax())]!r} is lost"
                verdicts = DataFile(file).probe(leaf.name, values[0]) if values else ()
                assert not verdicts or verdicts[group].verdict in ("maybe", "unknown")
                checked += len(values)
    return checked


@pytest.mark.every(4)
@pytest.mark.parametrize("fixture", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_fixtures(fixture, tmp_path):
    out = tmp_path / "out.parquet"
    with pb.open(fixture) as file:
        columns = file.columns
    report = pb.build(fixture, out, columns=columns, existing="replace")
    checked = check_every_value(fixture, out)
    assert checked > 0 or not [item for item in report.filters if item.num_values]


@pytest.mark.every(2)
@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_files(name, tmp_path):
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    original, out = PUBLIC / name, tmp_path / "out.parquet"
    with pb.open(original) as file:
        columns = file.columns
    report = pb.build(original, out, columns=columns, existing="replace")
    check_every_value(original, out)
    assert {item.reason for item in report.skipped} <= {
        "BOOLEAN: two values need no filter",
        "no non-null values",
    }
    for item in report.filters:
        pb.inspect(out, columns=[item.column])
    assert arrow_bytes(out) == arrow_bytes(original)


def build_all(source, output):
    with pb.open(source) as file:
        columns = file.columns
    pb.build(source, output, columns=columns)


@pytest.mark.parametrize("name", REFUSED)
def test_public_files_that_are_refused(name, tmp_path):
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    with pytest.raises(pb.ParquetBloomError, match=REFUSED[name]):
        build_all(PUBLIC / name, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_every_public_file_is_tested():
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    there = {path.name for path in PUBLIC.iterdir() if ".parquet" in path.name}
    assert there == {*PUBLIC_NAMES, *REFUSED}
