"""Files of Hive's transactional tables: changed in place, unless Hive is still writing them."""

from pathlib import Path

import pyorc
import pytest
from conftest import FIXTURES
from make.object_store import FIXTURE, OPTIONS

import parquet_bloom as pb
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.table_formats import check_not_in_table

DELTA = "t/delta_0000005_0000006"


@pytest.fixture
def bucket(tmp_path):
    """A file in a delta. It is Parquet, which makes no difference here."""
    path = tmp_path / DELTA / "bucket_00000"
    path.parent.mkdir(parents=True)
    path.write_bytes((FIXTURES / "pyarrow_filters.parquet").read_bytes())
    (path.parent / "_orc_acid_version").write_bytes(b"2")
    return path


def test_a_file_that_is_written_can_be_changed(bucket):
    """Rows as Hive has them, and its key index, which tells stripes by their order."""
    schema = (
        "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
        "currentTransaction:bigint,row:struct<id:bigint>>"
    )
    rows = [(0, 5, 536870912, number, 5, (number,)) for number in range(100)]
    with bucket.open("wb") as file, pyorc.Writer(file, schema) as writer:
        writer.set_user_metadata(**{"hive.acid.key.index": b"5,536870912,99;"})
        writer.writerows(rows)
    report = pb.build(bucket, columns=["row.id"], in_place=True)
    assert [each.column for each in report.filters] == ["row.id"]
    with bucket.open("rb") as file:
        reader = pyorc.Reader(file)
        assert list(reader) == rows
        assert reader.user_metadata == {"hive.acid.key.index": b"5,536870912,99;"}
    with pb.open(bucket) as file:
        assert {each.verdict for each in file.probe("row.id", 99)} == {"maybe"}


def test_files_without_a_suffix_are_found_by_a_pattern(bucket):
    table = bucket.parent.parent
    (table / "000000_0").touch()
    inputs, _ = expand([f"{table}/**/*_0*"])
    assert [Path(path) for path, _ in inputs] == [table / "000000_0", bucket]


def test_a_file_that_is_being_written_is_not_changed(bucket):
    side_file = bucket.with_name("bucket_00000_flush_length")
    side_file.write_bytes((100).to_bytes(8, "big"))
    before = bucket.read_bytes()
    with pytest.raises(pb.RewriteError) as raised:
        pb.strip(bucket, in_place=True)
    assert str(raised.value) == (
        f"{bucket}: being written by Hive, {side_file} holds its valid length: not changed in"
        " place; wait until the transactions are closed, or compact the table"
    )
    assert bucket.read_bytes() == before
    check_not_in_table(bucket.with_name("bucket_00001"))


def test_by_a_link(bucket, tmp_path):
    bucket.with_name("bucket_00000_flush_length").touch()
    (tmp_path / "x").symlink_to(bucket)
    with pytest.raises(pb.RewriteError, match="being written by Hive"):
        check_not_in_table(tmp_path / "x")


def test_the_files_of_other_writers_have_no_side_files(tmp_path):
    for name in ("x.parquet", "x.parquet_flush_length"):
        (tmp_path / name).touch()
    check_not_in_table(tmp_path / "x.parquet")


@pytest.mark.parametrize("is_being_written", [False, True])
def test_behind_a_url(store, is_being_written):
    name = f"bucket/{DELTA}/bucket_00000"
    store.put(name, FIXTURE.read_bytes())
    if is_being_written:
        store.put(f"{name}_flush_length", bytes(8))
    url = f"hdfs://{name}{OPTIONS}"
    if not is_being_written:
        pb.strip(url, in_place=True)
        assert store.objects[name] != FIXTURE.read_bytes()
        return
    with pytest.raises(
        pb.RewriteError, match=f"^{Path('hdfs:')}.*: being written by Hive, bucket_0"
    ):
        pb.strip(url, in_place=True)
    assert store.objects[name] == FIXTURE.read_bytes()
