"""How the files of a lake are called: by Spark, and by who opens them."""

import os
from datetime import UTC, datetime

import pytest

from parquet_bloom.errors import SparkError
from parquet_bloom.spark import listing
from parquet_bloom.spark.listing import LakeFile, list_files, located, opened_by_executors


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("/lake/a b.parquet", "/lake/a b.parquet"),
        ("file:/lake/a%20b.parquet", "/lake/a%20b.parquet"),
        ("file:///lake/a%20b.parquet", "/lake/a b.parquet"),
        ("dbfs:/lake/a.parquet", "/dbfs/lake/a.parquet"),
        ("s3a://lake/d=1/a%20b%25.parquet", "s3://lake/d=1/a%20b%25.parquet"),
        ("s3n://lake/a b?.parquet", "s3://lake/a%20b%3F.parquet"),
        ("gcs://lake/ä.parquet", "gs://lake/%C3%A4.parquet"),
        ("abfss://box@account/a.parquet", "abfss://box@account/a.parquet"),
    ],
)
def test_what_executors_open(name, opened):
    """Paths as they are, URLs escaped as pyarrow wants them, under pyarrow's schemes."""
    assert opened_by_executors(name) == opened


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("", ""),
        ("lake/a.parquet", "/home/[x]/lake/a.parquet"),
        ("./lake//", "/home/[x]/lake"),
        ("//lake/./a/../b*", "/lake/b*"),
        ("file:/lake//a", "/lake/a"),
        ("file:///lake/a%20b/", "/lake/a b"),
        ("s3a://lake/a%20b/", "s3a://lake/a b"),
    ],
)
def test_each_name_has_one_spelling(name, place, monkeypatch):
    monkeypatch.setattr(os, "getcwd", lambda: "/home/[x]")
    assert located(name) == place


def test_the_current_folder_is_no_glob(monkeypatch):
    monkeypatch.setattr(os, "getcwd", lambda: "/home/[x]")
    assert listing._as_pattern("lake/*.parquet") == r"/home/\[x\]/lake/*.parquet"


# ------------------------------------------------------------------------------------------------
# What Spark is asked


class FakeSpark:
    """It only knows what the JVM reads names as."""

    def __init__(self, encoding):
        self.encoding = encoding

    def sql(self, query):
        assert "sun.jnu.encoding" in query
        return self

    def collect(self):
        return [(self.encoding,)]


@pytest.fixture
def asked(monkeypatch):
    """How many names each job is asked for, where the files are those whose names begin with x, and
    names that begin with none are missing."""
    jobs = []

    def listed(_, names):
        jobs.append(len(names))
        places = [located(name) for name in names]
        if any(os.path.basename(place).startswith("none") for place in places):
            return None
        found = [place for place in places if os.path.basename(place).startswith("x")]
        return {place: LakeFile(place, 1, datetime.now(UTC)) for place in found}

    monkeypatch.setattr(listing, "_listed", listed)
    return jobs


@pytest.mark.parametrize("spelling", ["x{}.parquet", "./x{}.parquet", "//lake//x{}.parquet"])
def test_one_job_for_many_names(asked, spelling):
    names = [spelling.format(place) for place in range(2000)]
    files, nothing = list_files(FakeSpark("UTF-8"), names)
    assert (len(files), nothing, asked) == (2000, [], [2000])


def test_names_without_files_are_asked_for_once(asked):
    names = ["/lake/x", *(f"/lake/empty{place}" for place in range(63))]
    assert list_files(FakeSpark("UTF-8"), names)[1] == names[1:]
    assert asked == [64, 63]


def test_missing_names_are_not_asked_for_again(asked, tmp_path):
    """Even if every other name is missing, halves are either or."""
    names = [str(tmp_path / f"{'x' if place % 2 else 'none'}{place}") for place in range(64)]
    for name in names[1::2]:
        open(name, "w").close()
    files, nothing = list_files(FakeSpark("UTF-8"), names)
    assert (len(files), nothing) == (32, names[::2])
    assert asked[:3] == [64, 32, 32]
    assert asked.count(1) == 32


def test_a_jvm_that_cannot_read_names(asked):
    with pytest.raises(SparkError, match=r"names as ANSI_X3\.4-1968, expected UTF-8: set"):
        list_files(FakeSpark("ANSI_X3.4-1968"), ["lake/x.parquet"])
    with pytest.raises(SparkError, match="expected UTF-8"):
        list_files(FakeSpark("ANSI_X3.4-1968"), ["lake/none"])
    assert list_files(FakeSpark("ANSI_X3.4-1968"), ["s3a://lake/none"])[1] == ["s3a://lake/none"]


def test_one_file_under_two_names(asked, tmp_path):
    (tmp_path / "x.parquet").touch()
    (tmp_path / "xlink.parquet").symlink_to("x.parquet")
    (tmp_path / "loop").symlink_to(".")
    names = [f"{tmp_path}/{name}" for name in ("xlink.parquet", "x.parquet", "loop/x.parquet")]
    files, _ = list_files(FakeSpark("UTF-8"), names)
    assert [file.path for file in files] == [names[2]]


def test_a_hidden_file_that_is_named(asked, tmp_path):
    path = tmp_path / "_a.parquet"
    path.write_bytes(b"1234")
    (file,), nothing = list_files(FakeSpark("UTF-8"), [str(path)])
    assert (file.path, file.size, nothing) == (str(path), 4, [])


class FakeReader:
    """Finds these files behind whatever is loaded."""

    def __init__(self, *paths):
        self.paths = paths
        self.read = self

    def __getattr__(self, name):
        return lambda *_: self

    def collect(self):
        return [(path, 1, datetime.now(UTC)) for path in self.paths]


@pytest.mark.parametrize(
    ("name", "found"),
    [("/lake", ["x.orc", "x.parquet"]), ("/lake/x*", ["x.orc", "x.parquet", "x0"])],
)
def test_folders_are_searched_by_name(name, found):
    spark = FakeReader(*(f"file:/lake/{name}" for name in ("x.parquet", "x.orc", "x0", "y.txt")))
    assert sorted(listing._listed(spark, [name])) == [f"/lake/{each}" for each in found]
