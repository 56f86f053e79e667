"""URLs: the same answers through pyarrow's file systems, in which a folder stands for a bucket."""

from types import SimpleNamespace

import pyarrow.fs
import pytest
from conftest import FIXTURES
from make.commands import outcome

import parquet_bloom as pb

FIXTURE = FIXTURES / "pyarrow_filters.parquet"
URL = "hdfs://bucket/pyarrow_filters.parquet"


@pytest.fixture(autouse=True)
def bucket(monkeypatch):
    def from_uri(url):
        return pyarrow.fs.LocalFileSystem(), url.replace("hdfs://bucket", str(FIXTURES))

    monkeypatch.setattr(pyarrow.fs, "FileSystem", SimpleNamespace(from_uri=from_uri))


def test_inspect_reads_the_same():
    remote, local = pb.inspect(URL), pb.inspect(FIXTURE)
    assert remote.path == URL
    assert remote.row_groups == local.row_groups


def test_probe_reads_the_same_bytes_but_for_the_head():
    remote, local = (pb.probe(path, "int64", [5, 7]) for path in (URL, FIXTURE))
    assert remote.results == local.results
    assert remote.bytes_read == local.bytes_read - len(b"PAR1")


def test_build_makes_a_local_copy(tmp_path):
    options = {"columns": ["int64", "string"], "existing": "replace"}
    pb.build(URL, tmp_path / "remote.parquet", **options)
    pb.build(FIXTURE, tmp_path / "local.parquet", **options)
    assert (tmp_path / "remote.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()


def test_outputs_are_local(tmp_path):
    output = "hdfs://bucket/out.parquet"
    with pytest.raises(pb.RewriteError) as error:
        pb.build(FIXTURE, output, columns=["int64"])
    assert str(error.value) == (
        f"{output}: expected a local path to write to: behind URLs, files are only changed in place"
    )


def test_a_missing_object_is_an_os_error():
    with pytest.raises(OSError, match=r"does not exist|No such file"):
        pb.open("hdfs://bucket/nothing.parquet")


def test_an_unknown_scheme_is_an_os_error(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(OSError, match="no store is known by gopher://; expected s3, gs"):
        pb.open("gopher://bucket/f.parquet")


@pytest.mark.parametrize(
    "name", ["hdfs://nn:8020/lake/", "hdfs://nn/lake/*.parquet", "hdfs://nn/lake/day=[12]/a.orc"]
)
def test_folders_and_globs_are_not_listed(name):
    run = outcome("inspect", name, URL)
    assert run.code == 2
    assert run.stdout.startswith(f"{URL}: 600 rows")
    assert run.stderr == (
        f"pbloom: {name}: folders and globs are not listed on hdfs://: name each file\n"
    )


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "Unable to load libjvm\\ndlopen(/a) failed\\n",
            "needs Java, which is not found: set JAVA_HOME",
        ),
        (
            "Unable to load libhdfs: ./libhdfs.so: no such file",
            "needs libhdfs of Hadoop, which is not found: set HADOOP_HOME or ARROW_LIBHDFS_DIR",
        ),
        ("HDFS connection failed\\nmore", "HDFS connection failed"),
    ],
)
def test_what_is_missing_is_said_in_a_line(monkeypatch, said, line):
    def from_uri(url):
        raise OSError(said)

    monkeypatch.setattr(pyarrow.fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    run = outcome("inspect", URL)
    assert (run.code, run.complaint) == (2, f"{URL}: {line}")
