"""Objects in the folders of tables, which are not changed; and temporary objects that are left."""

import pytest
from make.object_store import BUCKET, BUILD, FIXTURE, NAME, OPTIONS, URL, check_untouched, raising

import parquet_bloom as pb
from parquet_bloom.spark.cleaning import CleanOptions, sweep
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.request import Request
from parquet_bloom.storage import table_formats as tables

MARKS = [
    ("Delta Lake", "_delta_log/00000000000000000000.json"),
    ("Hudi", ".hoodie/hoodie.properties"),
    ("Iceberg", "metadata/version-hint.text"),
    ("Iceberg", "metadata/v1.metadata.json"),
]


@pytest.mark.parametrize("root", ["bucket", "bucket/lake", "bucket/lake/day=1"])
@pytest.mark.parametrize(("kind", "mark"), MARKS, ids=[mark for _, mark in MARKS])
@pytest.mark.parametrize("verb", [pb.build, pb.strip, pb.repair])
def test_files_of_tables_are_refused(store, root, kind, mark, verb):
    store.put(f"{root}/{mark}", b"{}")
    before = dict(store.objects)
    options = {"columns": ["int64"]} if verb is pb.build else {}
    with pytest.raises(pb.RewriteError) as raised:
        verb(URL, in_place=True, **options)
    assert str(raised.value).startswith(
        f"hdfs://{NAME}?QUERY: belongs to the {kind} table hdfs://{root}?QUERY, which records the size of its"
        " files: not changed in place; "
    )
    assert store.objects == before


@pytest.mark.parametrize(
    "name", ["lake/_delta_log", "lake/metadata", "lake/metadata/x.json", "lakes/_delta_log/0"]
)
def test_what_is_no_table_is_changed(store, name):
    store.put(f"bucket/{name}", b"{}")
    pb.build(URL, in_place=True, **BUILD)
    assert store.objects[NAME] != FIXTURE.read_bytes()


def test_a_folder_is_looked_into_once(store):
    urls = [URL.replace("x.parquet", f"{number}.parquet") for number in range(20)]
    for url in urls:
        store.put(url.removeprefix("hdfs://").removesuffix(OPTIONS), FIXTURE.read_bytes())
        pb.build(url, columns=["int64"], in_place=True)
    folders = ["bucket/lake/day=1", "bucket/lake", "bucket"]
    assert [path for verb, path in store.requests if verb == "list"] == [
        f"{folder}/metadata" for folder in folders
    ]
    assert len([path for _, path in store.requests if path.endswith("/_delta_log")]) == 3


def test_a_folder_that_becomes_a_table_is_noticed(store, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(tables.time, "monotonic", lambda: now)
    pb.build(URL, columns=["int64"], in_place=True)
    store.put("bucket/lake/_delta_log/0.json", b"{}")
    now += tables.KNOWN_FOR
    with pytest.raises(pb.RewriteError, match="belongs to the Delta Lake table"):
        pb.build(URL, columns=["int64"], in_place=True)


@pytest.mark.parametrize(
    ("verb", "what"), [("info", "looking for _delta_log"), ("list", "listing bucket/lake/metadata")]
)
def test_what_cannot_be_looked_into_may_be_a_table(store, verb, what):
    def fault(asked, path):
        if asked == verb and path.startswith(("bucket/lake/_", "bucket/lake/m")):
            raise OSError("AWS Error ACCESS_DENIED")

    store.faults.append(fault)
    with pytest.raises(OSError, match=what) as raised:
        pb.build(URL, in_place=True, **BUILD)
    assert raised.value.filename == f"{BUCKET}/lake{OPTIONS}"
    assert raised.value.strerror == f"{what}: AWS Error ACCESS_DENIED"
    check_untouched(store)


# ------------------------------------------------------------------------------------------------
# What is left


def swept(folder, older_than=0.0):
    return list(sweep(Request("clean_temp", CleanOptions(older_than)), [LakeFile(folder)]))


def test_leftovers_are_swept(store):
    folder = NAME.rpartition("/")[0]
    left = f".x.parquet.{'0' * 16}.pbloom-tmp"
    others = [f"{folder}/.x.parquet.pbloom-tmp", f"{folder}/deeper/{left}", f"{folder}/x{left}"]
    for path in [*others, f"{folder}/{left}"]:
        store.put(path, b"half")
    (done,) = swept(f"hdfs://{folder}{OPTIONS}")
    assert (done.path, done.status, done.bytes) == (f"hdfs://{folder}/{left}", "removed", -4)
    assert set(store.objects) == {NAME, *others}


def test_what_somebody_may_still_write_is_not_swept(store, monkeypatch):
    left = f"{NAME.rpartition('/')[0]}/.x.parquet.{'0' * 16}.pbloom-tmp"
    store.put(left, b"half")
    written = store.modified[left] / 1e9
    monkeypatch.setattr("time.time", lambda: written + 59)
    assert [done.status for done in swept(f"{BUCKET}/lake/day=1", 60)] == ["unchanged"]
    assert left in store.objects
    monkeypatch.setattr("time.time", lambda: written + 60)
    assert [done.status for done in swept(f"{BUCKET}/lake/day=1", 60)] == ["removed"]


@pytest.mark.parametrize(
    "folder", [f"{BUCKET}/nothing", f"hdfs://{NAME}", f"{BUCKET}/lake/*", f"{BUCKET}/{{a,[b]"]
)
def test_where_no_folder_is_nothing_is_swept(store, folder):
    assert swept(folder) == []


def test_a_folder_that_cannot_be_listed_has_an_outcome(store):
    store.faults.append(raising("list", OSError("AWS Error ACCESS_DENIED")))
    (done,) = swept(f"{BUCKET}/lake")
    assert (done.status, done.message) == (
        "error", f"{BUCKET}/lake: listing bucket/lake: AWS Error ACCESS_DENIED"
    )  # fmt: skip
