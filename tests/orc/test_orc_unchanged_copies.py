"""A new version in which no filter is another is the old file, byte for byte."""

import pyarrow as pa
import pytest
from pyarrow import orc

import parquet_bloom as pb

ROWS = 3000


@pytest.fixture(params=["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def path(request, tmp_path):
    path = tmp_path / "in.orc"
    table = pa.table({"id": range(ROWS), "flag": [n % 3 == 0 for n in range(ROWS)]})
    orc.write_table(table, path, compression=request.param, row_index_stride=1000)
    return path


def test_strip_where_there_is_nothing(path):
    out = path.with_name("out.orc")
    assert pb.strip(path, out).bytes_removed == 0
    assert out.read_bytes() == path.read_bytes()


def test_build_where_nothing_gets_filters(path):
    out = path.with_name("out.orc")
    assert pb.build(path, columns=["flag"], dry_run=True).bytes_added == 0
    assert pb.build(path, out, columns=["flag"]).bytes_added == 0
    assert out.read_bytes() == path.read_bytes()


def test_with_filters_it_is_another(path):
    out = path.with_name("out.orc")
    report = pb.build(path, out, columns=["id"])
    assert len(path.read_bytes()) + report.bytes_added == len(out.read_bytes())
    assert report.bytes_added > 3000
