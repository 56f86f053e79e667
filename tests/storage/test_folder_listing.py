"""What a listing tells of files is what they say when they are opened; the folders in which small files
are made, and removed with all that is in them; and the version that takes the place of another."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.object_store import BUCKET, FIXTURE, NAME
from pyarrow import fs

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import BuildOptions, Destination
from parquet_bloom.storage import discard_folder, open_source, writable_folder
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.listing import find_file, list_folder, list_objects
from parquet_bloom.verbs.build import build_opened


def version_of(path):
    source = open_source(path)
    version = source.version
    source.close()
    return version


def test_a_local_folder(tmp_path):
    for name in ("b.orc", "a.parquet", "_x.parquet", "x.txt", "day=1/c.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"data")
    files, folders = list_folder(str(tmp_path))
    assert [file.path for file in files] == [str(tmp_path / "a.parquet"), str(tmp_path / "b.orc")]
    assert folders == [str(tmp_path / "day=1")]
    for file in files:
        assert file.version == version_of(file.path)


def test_a_bucket(server):
    for name in ("b.orc", "a b.parquet", "_x.parquet", "x.txt", "day=1/c.parquet", "_log/d.orc"):
        server.put(f"lake/t/{name}", b"data")
    at = Address.of("s3://lake/t", server.options)
    files, folders = list_folder(at)
    assert [file.path for file in files] == ["s3://lake/t/a%20b.parquet", "s3://lake/t/b.orc"]
    assert folders == ["s3://lake/t/day=1"]
    below = ["s3://lake/t/a%20b.parquet", "s3://lake/t/b.orc", "s3://lake/t/day=1/c.parquet"]
    assert [file.path for file in list_objects(at)] == below
    found = find_file(at.other("s3://lake/t/x.txt"))
    assert (found.path, found.size) == ("s3://lake/t/x.txt", 4)
    assert found.version == version_of(at.other(found.path))
    assert find_file(at) is None


def test_another_file_system(store):
    files, folders = list_folder(f"{BUCKET}/lake/day=1")
    assert ([file.path for file in files], folders) == ([f"hdfs://{NAME}"], [])
    assert list_folder(f"{BUCKET}/lake") == ([], [f"{BUCKET}/lake/day=1"])
    assert find_file(f"hdfs://{NAME}").size == len(FIXTURE.read_bytes())
    assert find_file(f"{BUCKET}/lake") is None


# ------------------------------------------------------------------------------------------------
# Folders of small files


class Hadoop:
    """A local file system that renames to free names only. `before_move`: gets the new name."""

    def __init__(self):
        self._local = fs.LocalFileSystem()
        self.before_move = lambda target: None

    def __getattr__(self, name):
        return getattr(self._local, name)

    def move(self, source, target):
        self.before_move(target)
        if self._local.get_file_info(target).type != fs.FileType.NotFound:
            raise OSError(f"cannot rename to {target}")
        self._local.move(source, target)


@pytest.fixture
def hadoop(monkeypatch, tmp_path):
    system = Hadoop()

    def from_uri(url):
        return system, str(tmp_path / url.removeprefix("hdfs://lake/"))

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    return system


@pytest.fixture(params=["local", "bucket", "hadoop"])
def place(request, tmp_path):
    if request.param == "hadoop":
        request.getfixturevalue("hadoop")
        return "hdfs://lake/run"
    if request.param == "local":
        (tmp_path / "run").mkdir()
        return str(tmp_path / "run")
    server = request.getfixturevalue("s3")
    return Address.of("s3://lake/run", server.options)


def test_the_first_file_stays(place):
    folder = writable_folder(place)
    assert folder.put_if_absent("b", b"one")
    assert not folder.put_if_absent("b", b"two")
    assert folder.put_if_absent("a", b"")
    assert folder.read("b") == b"one"
    assert [(entry.name, entry.size) for entry in folder.entries("")] == [("a", 0), ("b", 3)]
    with pytest.raises(FileNotFoundError):
        folder.read("c")


def test_what_is_in_a_folder_of_it(place):
    folder = writable_folder(place)
    assert folder.entries("deep") == []
    assert not folder.has_folder("deep")
    if place.startswith("/"):
        Path(place, "deep/er").mkdir(parents=True)
    assert folder.put_if_absent("deep/a b%", b"one")
    assert folder.put_if_absent("deep/er/b", b"two")
    assert [entry.name for entry in folder.entries("deep")] == ["a b%"]
    assert folder.read("deep/er/b") == b"two"
    assert folder.has_folder("deep")


def test_a_folder_is_discarded_with_all_that_is_in_it(place):
    writable_folder(place).put_if_absent("b", b"one")
    discard_folder(place)
    with pytest.raises(FileNotFoundError):
        writable_folder(place).read("b")


def test_a_file_that_was_made_is_not_hidden_by_what_fails_afterwards(tmp_path, monkeypatch):
    """As the commit of a table."""

    def fail(path):
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr("parquet_bloom.storage.new_files.sync_folder", fail)
    with pytest.raises(OSError, match="was written") as raised:
        writable_folder(str(tmp_path)).put_if_absent("a", b"one")
    assert raised.value.strerror == (
        "was written, but its folder could not be synced: Input/output error"
    )
    assert raised.value.filename == str(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"one"


def test_hdfs_when_another_is_quicker(hadoop, tmp_path):
    folder = writable_folder("hdfs://lake/run")
    hadoop.before_move = lambda target: Path(target).write_bytes(b"one")
    assert not folder.put_if_absent("a", b"two")
    assert folder.read("a") == b"one"
    assert [each.name for each in (tmp_path / "run").iterdir()] == ["a"]


def test_hdfs_when_a_file_cannot_be_made(hadoop, tmp_path):
    def fail(target):
        raise OSError(28, "No space left on device\nmore")

    hadoop.before_move = fail
    with pytest.raises(OSError, match="writing a") as raised:
        writable_folder("hdfs://lake/run").put_if_absent("a", b"two")
    assert raised.value.filename == "hdfs://lake/run"
    assert raised.value.strerror == "writing a: No space left on device"
    assert list((tmp_path / "run").iterdir()) == []


# ------------------------------------------------------------------------------------------------
# What takes the place of a file


def test_the_successor_of_a_local_file(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(100)}), path)
    with open_file(path) as file:
        before = file.source.version
        assert file.source.successor is None
        build_opened(file, BuildOptions(columns=("id",)), Destination(in_place=True))
        assert file.source.successor == version_of(path) != before


def test_a_file_that_is_left_as_it_is_has_none(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(100)}), path)
    pb.build(path, columns=["id"], in_place=True)
    with open_file(path) as file:
        build_opened(file, BuildOptions(columns=("id",)), Destination(in_place=True))
        assert file.source.successor is None
