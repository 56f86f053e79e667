"""The files of a lake: how they are called, what names stand for, and what is in folders, local and in
an object store."""

import errno
import json
import os
import re
import time
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from make.object_server import SECRET, Fault
from make.object_store import BUCKET

from parquet_bloom.errors import SparkError
from parquet_bloom.spark import listing
from parquet_bloom.spark.failures import raise_told
from parquet_bloom.spark.listing import (
    FolderToList,
    listed_below,
    located,
    look_up,
    names_for_executors,
    opened_by_executors,
)
from parquet_bloom.spark.plan import Plan, planned
from parquet_bloom.spark.planning import Planning, Search, begin, list_folders, without_files
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.storage import open_source
from parquet_bloom.storage.objects import stores


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


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("s3a://lake/d=*/a b.parquet", "s3://lake/d=*/a%20b.parquet"),
        ("s3://lake/{a,b}[0-9]?.parquet", "s3://lake/{a,b}[0-9]%3F.parquet"),
        ("s3://lake/a%2A%5B1%5D%20.parquet", "s3://lake/a%2A%5B1%5D%20.parquet"),
        ("file:/lake/*", "/lake/*"),
    ],
)
def test_wildcards_stay_wildcards_unless_they_are_escaped(name, opened):
    assert names_for_executors([name, name]) == [(name, opened)]


# ------------------------------------------------------------------------------------------------
# What names stand for


def write(path, data=b"data"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def looked_up(*names):
    named = look_up(names_for_executors(map(str, names)))
    return (
        [file.path for file in named.files],
        [folder.path for folder in named.folders],
        list(named.nothing),
    )


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "lake"
    for name in ("d=1/a.parquet", "d=1/b.orc", "d=2/a.parquet", "no suffix", "x.txt"):
        write(folder / name)
    return folder


def test_files_folders_and_nothing(lake):
    write(lake / "empty.parquet", b"")
    names = [lake / "d=2" / "a.parquet", lake / "d=1", lake / "empty.parquet", lake / "gone", ""]
    assert looked_up(*names) == (
        [str(names[0]), str(names[2])],
        [str(names[1])],
        [str(names[3]), ""],
    )


def test_a_file_is_known_as_when_it_is_opened(lake):
    named = look_up(names_for_executors([str(lake / "d=1" / "a.parquet")]))
    source = open_source(named.files[0].path)
    assert (named.files[0].size, named.files[0].version) == (4, source.version)
    source.close()


def test_a_file_that_is_named_need_not_be_called_so(lake):
    write(lake / "_hidden.parquet")
    for name in ("no suffix", "x.txt", "_hidden.parquet"):
        assert looked_up(lake / name) == ([str(lake / name)], [], [])


def test_what_a_glob_matches(lake):
    """Files of any name by a part of theirs, but only by suffix where all are asked for; no hidden
    ones."""
    write(lake / "_no suffix")
    assert looked_up(f"{lake}/no*") == ([str(lake / "no suffix")], [], [])
    assert looked_up(f"{lake}/*") == ([], [str(lake / "d=1"), str(lake / "d=2")], [])
    assert looked_up(f"{lake}/d=*/*.parquet") == (
        [str(lake / "d=1" / "a.parquet"), str(lake / "d=2" / "a.parquet")],
        [],
        [],
    )
    assert looked_up(f"{lake}/d=1/*") == (
        [str(lake / "d=1" / "a.parquet"), str(lake / "d=1" / "b.orc")],
        [],
        [],
    )
    (lake / "d=1" / "gone.parquet").symlink_to("/nowhere.parquet")
    assert looked_up(f"{lake}/d=1/*.parquet")[0][1:] == [str(lake / "d=1" / "gone.parquet")]
    assert looked_up(f"{lake}/none*") == ([], [], [f"{lake}/none*"])


def test_alternatives_in_braces(lake):
    found, _, nothing = looked_up(f"{lake}/d={{1,2,3}}/{{a.par{{quet,q}},b.orc}}")
    assert found == [str(lake / name) for name in ("d=1/a.parquet", "d=1/b.orc", "d=2/a.parquet")]
    assert nothing == []
    write(lake / "{a}.parquet")
    assert looked_up(f"{lake}/{{a}}.parquet")[0] == [str(lake / "{a}.parquet")]


def test_a_name_with_wildcards_that_is_there_is_a_name(lake):
    write(lake / "a[1]*.parquet")
    write(lake / "a1.parquet")
    assert looked_up(f"{lake}/a[1]*.parquet")[0] == [f"{lake}/a[1]*.parquet"]


def test_each_file_and_folder_once(lake, monkeypatch):
    (lake / "link").symlink_to("d=1")
    monkeypatch.chdir(lake)
    names = ["d=1", lake / "d=1" / "a.parquet", f"{lake}/d=1/", (lake / "d=1").as_uri(), "link"]
    assert looked_up(*names) == ([], [str(lake / "d=1")], [])
    names = ["d=1/a.parquet", "d=1//a.parquet", "link/a.parquet"]
    assert len(looked_up(*names)[0]) == 1
    # Its folder leads to it only if it is called like a file of a lake.
    assert looked_up(lake, "no suffix") == ([str(lake / "no suffix")], [str(lake)], [])


def test_a_hidden_folder_that_is_named_is_listed(lake):
    """Beside the one that it is in, whose listing leaves it out."""
    write(lake / "_old" / "a.parquet")
    assert looked_up(lake, lake / "_old") == ([], [str(lake), str(lake / "_old")], [])
    assert looked_up(lake, lake / "_old" / "a.parquet")[0] == [str(lake / "_old" / "a.parquet")]


# ------------------------------------------------------------------------------------------------
# What is in folders


def below(folder, enough=None, most=None):
    """The names of the files below it, and of the folders that are handed back."""
    found = []

    def take(of, file):
        assert of.name == "lake"
        found.append(os.path.relpath(file.path, folder))
        return len(found) != most

    root = os.path.realpath(folder)
    left = listed_below([FolderToList(str(folder), "lake", root)], take, enough)
    return found, [os.path.relpath(each.path, folder) for each in left]


def test_files_next_to_each_other_come_together(lake):
    write(lake / "a.parquet")
    write(lake / "d=1" / "h=1" / "a.pq")
    assert below(lake) == (
        ["a.parquet", "d=1/a.parquet", "d=1/b.orc", "d=1/h=1/a.pq", "d=2/a.parquet"],
        [],
    )


def test_what_is_hidden_is_left_out_and_what_is_empty_is_not(lake):
    for name in ("_delta_log/0.parquet", ".x/a.parquet", "d=1/_a.parquet", "d=1/.b.parquet"):
        write(lake / name)
    write(lake / "d=1" / "c.parquet", b"")
    (lake / "d=3.parquet").mkdir()
    assert below(lake)[0] == ["d=1/a.parquet", "d=1/b.orc", "d=1/c.parquet", "d=2/a.parquet"]


def test_links_lead_on_but_to_what_is_found_anyway(lake, tmp_path):
    write(tmp_path / "elsewhere" / "c.parquet")
    write(lake / "_old" / "o.parquet")
    (lake / "d=1" / "loop").symlink_to("..")
    (lake / "d=1" / "twin").symlink_to("../d=2")
    (lake / "d=2" / "twin.parquet").symlink_to("a.parquet")
    (lake / "d=2" / "gone.parquet").symlink_to("nothing")
    (lake / "d=2" / "loop.parquet").symlink_to("loop.parquet")
    (lake / "d=2" / "void").symlink_to("nothing")
    (lake / "old").symlink_to("_old")
    (lake / "there").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "loop").symlink_to(".")
    assert below(lake)[0] == [
        "d=1/a.parquet", "d=1/b.orc", "d=2/a.parquet", "d=2/gone.parquet", "d=2/loop.parquet",
        "old/o.parquet", "there/c.parquet",
    ]  # fmt: skip


def test_a_folder_that_is_removed_meanwhile(lake, monkeypatch):
    list_folder = listing.list_folder

    def removing(path, root):
        found = list_folder(path, root)
        if path == str(lake):
            for name in ("a.parquet", "b.orc"):
                (lake / "d=1" / name).unlink()
            (lake / "d=1").rmdir()
        return found

    monkeypatch.setattr(listing, "list_folder", removing)
    assert below(lake)[0] == ["d=2/a.parquet"]


def test_no_more_is_listed_than_is_wanted(lake):
    assert below(lake, most=1) == (["d=1/a.parquet"], [])


def test_folders_are_handed_back_once_there_are_enough(lake):
    for hour in range(3):
        write(lake / "d=2" / f"h={hour}" / "a.parquet")
    assert below(lake, enough=1) == ([], ["."])
    assert below(lake, enough=2) == ([], ["d=1", "d=2"])
    found, left = below(lake, enough=3)
    assert (found, left) == (
        ["d=1/a.parquet", "d=1/b.orc", "d=2/a.parquet"],
        [f"d=2/h={h}" for h in range(3)],
    )
    found, left = below(lake, enough=100)
    assert (len(found), left) == (6, [])


def test_what_is_left_of_very_many_files_is_handed_back(lake, monkeypatch):
    """And nothing is lost or doubled, however often."""
    monkeypatch.setattr(listing, "MOST_FILES", 1)
    for day in range(3, 7):
        write(lake / f"d={day}" / "a.parquet")
    found, folders, rounds = [], [FolderToList(str(lake), "lake", str(lake))], 0
    while folders:
        folders = listed_below(folders, lambda _, file: not found.append(file.path))
        rounds += 1
    assert found == sorted(map(str, lake.rglob("d=*/*.*")))
    assert rounds == 6


# ------------------------------------------------------------------------------------------------
# In object stores


@pytest.fixture
def bucket(server, monkeypatch):
    """A lake in a store that executors reach by their environment."""
    variables = {
        "ENDPOINT_URL": server.endpoint,
        "REGION": "us-east-1",
        "ACCESS_KEY_ID": "KEY",
        "SECRET_ACCESS_KEY": SECRET,
        "ALLOW_HTTP": "true",
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    stores._opened.cache_clear()
    for name in ("d=1/a b.parquet", "d=1/_x.parquet", "d=2/h=1/b.orc", "_log/c.parquet", "x.txt"):
        server.put(f"bucket/lake/{name}", b"data")
    server.put("bucket/lake/d=2/empty.parquet", b"")
    # Marks of folders.
    for name in ("d=2", "d=2/", "d=3.parquet/", "d=4.parquet", "d=4.parquet/x.txt"):
        server.put(f"bucket/lake/{name}", b"")
    yield server
    stores._opened.cache_clear()


FOUND = [
    "s3://bucket/lake/d=1/a%20b.parquet",
    "s3://bucket/lake/d=2/empty.parquet",
    "s3://bucket/lake/d=2/h=1/b.orc",
]


@pytest.mark.parametrize("enough", [None, 100], ids=["all keys", "folder by folder"])
def test_what_is_in_a_bucket(bucket, enough):
    found = []
    left = listed_below(
        [FolderToList("s3://bucket/lake", "lake")], lambda _, file: not found.append(file), enough
    )
    assert ([file.path for file in found], left) == (FOUND, [])
    source = open_source(FOUND[0])
    assert (found[0].size, found[0].version) == (4, source.version)
    source.close()


def test_a_bucket_is_listed_in_pages(bucket):
    """With all that is below a folder in one listing, and not to the end if no more is wanted."""
    bucket.page = 1000
    for number in range(2500):
        bucket.put(f"bucket/big/d={number % 7}/{number:04}.parquet", b"data")
    bucket.forget()
    found = []
    listed_below(
        [FolderToList("s3://bucket/big", "big")], lambda _, file: not found.append(file.path)
    )
    assert (len(found), bucket.count("LIST")) == (2500, 3)
    assert found == sorted(set(found))
    bucket.forget()
    listed_below([FolderToList("s3://bucket/big", "big")], lambda *_: False)
    assert bucket.count("LIST") == 1


def test_folders_of_a_bucket_are_handed_back(bucket):
    left = listed_below([FolderToList("s3://bucket/lake", "lake")], lambda *_: True, 2)
    assert [(folder.path, folder.name) for folder in left] == [
        ("s3://bucket/lake/d=1", "lake"), ("s3://bucket/lake/d=2", "lake"),
        ("s3://bucket/lake/d=3.parquet", "lake"), ("s3://bucket/lake/d=4.parquet", "lake"),
    ]  # fmt: skip


def test_names_in_a_bucket(bucket):
    assert looked_up("s3a://bucket/lake/") == ([], ["s3://bucket/lake"], [])
    assert looked_up("s3a://bucket/lake/d=1/a b.parquet") == (FOUND[:1], [], [])
    assert looked_up("s3://bucket/x.parquet/")[1] == ["s3://bucket/x.parquet"]
    assert looked_up("s3://bucket/lake/x.txt")[0] == ["s3://bucket/lake/x.txt"]
    assert looked_up("s3://bucket/lake/d=*/*.parquet") == (FOUND[:2], [], [])
    assert looked_up("s3://bucket/lake/{d=1,d=2,d=3}/*.parquet") == (FOUND[:2], [], [])
    assert looked_up("s3://bucket/lake/d=2/empty.parquet")[0] == FOUND[1:2]
    assert looked_up("s3://bucket/lake/d=2")[1] == ["s3://bucket/lake/d=2"]
    assert looked_up("s3://bucket/lake/d=[34]*") == ([], [], ["s3://bucket/lake/d=[34]*"])
    assert looked_up("s3://bucket/none/*.parquet")[2] == ["s3://bucket/none/*.parquet"]
    assert looked_up("s3://bucket/lake/d=1", FOUND[0], "s3://bucket/lake") == (
        [], ["s3://bucket/lake"], [],
    )  # fmt: skip


def test_a_bucket_that_refuses(bucket):
    bucket.faults.append(Fault(403, times=2, kind="LIST"))
    with pytest.raises(PermissionError):
        listed_below([FolderToList("s3://bucket/lake", "lake")], lambda *_: True)
    with pytest.raises(PermissionError):
        look_up(names_for_executors(["s3://bucket/lake/*.parquet"]))


def told_by(url, tmp_path):
    """What the driver raises of a name."""
    run = LakeRun(str(tmp_path / "audit"), "run", "inspect", "asked", datetime.now(UTC))
    request = Planning(run, Search(tuple(names_for_executors([url]))))
    (batch,) = begin(request, [])
    with pytest.raises((FileNotFoundError, SparkError)) as raised:
        raise_told(json.loads(batch.column("document")[0].as_py()))
    return raised.value


@pytest.mark.parametrize("url", ["s3://none/events", "s3://none/x.parquet", "s3://none/d=*/*"])
def test_a_bucket_that_is_not_there(bucket, tmp_path, url):
    """Spark would try again what raises, and log each time in full."""
    body = "<Error><Code>NoSuchBucket</Code></Error>"
    bucket.faults += [Fault(404, body, times=9, kind=kind) for kind in ("LIST", "HEAD")]
    error = told_by(url, tmp_path)
    assert (type(error), error.filename, error.strerror) == (
        FileNotFoundError, url, "no bucket none",
    )  # fmt: skip


def test_a_key_that_the_store_does_not_know(bucket, tmp_path):
    """The answer to HEAD has no body to say so."""
    body = "<Error><Code>InvalidAccessKeyId</Code></Error>"
    bucket.faults += [Fault(403, times=9, kind="HEAD"), Fault(403, body, times=9, kind="LIST")]
    error = told_by("s3://bucket/lake/x.parquet", tmp_path)
    assert isinstance(error, SparkError)
    assert str(error) == (
        "s3://bucket/lake/x.parquet: reading was refused (403 InvalidAccessKeyId): the store knows no"
        " such access key"
    )


def test_an_object_that_may_not_be_read_is_no_empty_folder(bucket):
    bucket.faults.append(Fault(403, times=9, kind="HEAD"))
    with pytest.raises(PermissionError):
        look_up(names_for_executors(["s3://bucket/lake/x.parquet"]))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("s3a://bucket/none.parquet", "no such object"),
        ("s3://bucket/none", "no Parquet or ORC files"),
        ("lake/none.parquet", "no Parquet or ORC files"),
    ],
)
def test_what_names_without_files_are_called(name, problem):
    assert without_files([name], []) == ((name, problem),)


def test_other_file_systems_are_listed_folder_by_folder(store):
    store.put("bucket/lake/day=2/a b.parquet", b"data")
    store.put("bucket/lake/day=2/_c.parquet", b"data")
    store.put("bucket/lake/day=2/empty.parquet", b"")
    found = []
    left = listed_below(
        [FolderToList(f"{BUCKET}/lake", "lake")], lambda _, file: not found.append(file)
    )
    assert [file.path for file in found] == [
        f"{BUCKET}/lake/day=1/x.parquet", f"{BUCKET}/lake/day=2/a%20b.parquet",
        f"{BUCKET}/lake/day=2/empty.parquet",
    ]  # fmt: skip
    assert (left, found[1].size) == ([], 4)


# ------------------------------------------------------------------------------------------------
# The first step of a run: which files are in the plan


@pytest.fixture
def begun(tmp_path):
    """What the step tells the driver, and the paths of the files in its plan."""

    def begun(*names, **search):
        run = LakeRun(str(tmp_path / "audit"), "run", "inspect", "asked", datetime.now(UTC))
        request = Planning(run, Search(tuple(names_for_executors(map(str, names))), **search))
        (batch,) = begin(request, [])
        said = json.loads(batch.column("document")[0].as_py())
        raise_told(said)
        plan, account = Plan.of(said["plan"]), Account(run)
        sheets = [planned(account, plan.sheet(number)) for number in range(plan.num_sheets)]
        return said, [each.file.path for sheet in sheets for each in sheet]

    return begun


def test_the_plan_of_a_small_lake_is_made_at_once(begun, lake):
    write(lake / "none" / "x.txt")
    said, paths = begun(lake, lake / "no suffix", lake / "none", lake / "gone")
    assert paths == [
        str(lake / name) for name in ("no suffix", "d=1/a.parquet", "d=1/b.orc", "d=2/a.parquet")
    ]
    assert (said["is_settled"], said["left"]) == (True, [])
    assert said["plan"]["missing"] == [[str(lake / "gone"), "no such file or folder"]]


def test_a_folder_without_files_is_missing(begun, lake):
    (lake / "none").mkdir()
    assert begun(lake / "none")[0]["plan"]["missing"] == [
        [str(lake / "none"), "no Parquet or ORC files"]
    ]


def test_only_files_changed_since_then(begun, lake):
    os.utime(lake / "d=1" / "a.parquet", (1000, 1000))
    os.utime(lake / "d=1" / "b.orc", (1001, 1001))
    _, paths = begun(lake, since=1001.0)
    assert paths == [str(lake / "d=1" / "b.orc"), str(lake / "d=2" / "a.parquet")]


def test_no_files_changed_since_then(begun, lake):
    """The folder is not missing: there are files in it."""
    said, paths = begun(lake, since=time.time() + 1000)
    assert (paths, said["plan"]["missing"]) == ([], [])


@pytest.mark.parametrize(
    ("limits", "number"),
    [
        ({"most_files": 1}, 1),
        ({"most_files": 3}, 3),
        ({"most_files": 9}, 4),
        ({"most_bytes": 7}, 1),
        ({"most_bytes": 8}, 2),
        ({"most_bytes": 3}, 0),
        ({"most_files": 2, "most_bytes": 100}, 2),
    ],
    ids=str,
)
def test_only_the_first_files(begun, lake, limits, number):
    """The same ones each time: of names, and then of folders."""
    said, paths = begun(lake, lake / "no suffix", **limits)
    every = ["no suffix", "d=1/a.parquet", "d=1/b.orc", "d=2/a.parquet"]
    assert paths == [str(lake / name) for name in every[:number]]
    assert (said["is_settled"], said["plan"]["missing"]) == (True, [])


def test_names_that_are_not_utf_8_are_named(begun, lake):
    with open(os.fsencode(lake) + b"/d=1/\xff.parquet", "wb") as file:
        file.write(b"data")
    said, paths = begun(lake)
    assert len(paths) == 3
    assert said["plan"]["missing"] == [
        [f"{lake}/d=1/\\xff.parquet", "its name is not UTF-8, so that Spark cannot pass it on"]
    ]


def test_many_folders_are_listed_by_many_tasks(begun, tmp_path):
    """Each takes some folders that are next to each other; together they find every file once."""
    lake = tmp_path / "lake"
    every = [str(write(lake / f"d={day:03}" / "a.parquet")) for day in range(150)]
    said, paths = begun(lake)
    assert (paths, said["is_settled"]) == ([], False)
    assert len(said["left"]) == 19
    run = LakeRun(str(tmp_path / "audit"), "run", "inspect", "asked", datetime.now(UTC))
    request = Planning(run, Search(()), round=1, units=tuple(said["left"]))
    (batch,) = list_folders(request, [pa.record_batch({"id": range(19)})])
    listed = [json.loads(each) for each in batch.column("document").to_pylist()]
    plan = sum((Plan.of(each["plan"]) for each in listed), Plan())
    found = [
        each.file.path
        for number in range(plan.num_sheets)
        for each in planned(Account(run), plan.sheet(number))
    ]
    assert found == every
    assert {name for each in listed for name in each["found"]} == {str(lake)}
    assert not any(each["left"] for each in listed)


def test_the_folders_to_sweep(begun, lake):
    _, paths = begun(lake / "d=1" / "a.parquet", lake / "d=2", as_folders=True)
    assert paths == [str(lake / "d=1"), str(lake / "d=2")]


@pytest.mark.parametrize(
    "name", ["lake", "lake/*", "lake/*/*.parquet", "lake/**", "lake/d={0,1}/*"]
)
def test_a_folder_that_nobody_may_look_into_is_not_empty(begun, tmp_path, monkeypatch, name):
    """Globs pass over it without a word: its files would be taken for absent."""
    closed = tmp_path / "lake" / "d=1"
    for number in range(2):
        (tmp_path / "lake" / f"d={number}").mkdir(parents=True)
        (tmp_path / "lake" / f"d={number}" / "a.parquet").write_bytes(b"PAR1")
    look = os.scandir

    def refusing(path: str = "."):
        # Root would be kept from nothing.
        if os.path.realpath(path) == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return look(path)

    monkeypatch.setattr(os, "scandir", refusing)
    told = f"{closed}: a folder that cannot be listed: Permission denied"
    with pytest.raises(SparkError, match=f"^{re.escape(told)}$"):
        begun(tmp_path / name)
    _, paths = begun(tmp_path / "lake" / "d=0" / "*")
    assert paths == [str(tmp_path / "lake" / "d=0" / "a.parquet")]
