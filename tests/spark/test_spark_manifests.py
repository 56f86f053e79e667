"""Runs over the files that a manifest lists: no folder is listed, and each file is there once."""

import json
import os
from datetime import UTC, datetime
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.object_server import SECRET

from parquet_bloom import spark as lake
from parquet_bloom.errors import FormatError, SparkError, UnsupportedError
from parquet_bloom.spark import job
from parquet_bloom.spark.failures import raise_told
from parquet_bloom.spark.manifests import GivenManifest, manifest_named
from parquet_bloom.spark.plan import LakeFile, Plan, planned
from parquet_bloom.spark.planning import LEFT_SO, Planning, Search, begin, leave_complete
from parquet_bloom.spark.planning import listed_files as rows_listed
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.spark.schemas import SEEN
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.storage.listing import find_local, list_objects
from parquet_bloom.storage.objects import stores


@pytest.fixture
def files(tmp_path):
    """Two files of a lake."""
    for name in ("a", "b c"):
        place = tmp_path / "lake" / f"day={name[0]}" / f"{name}.parquet"
        place.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": range(1000)}), place)
    return [tmp_path / "lake/day=a/a.parquet", tmp_path / "lake/day=b/b c.parquet"]


def documents(batches):
    return [json.loads(each) for batch in batches for each in batch.column(0).to_pylist()]


@pytest.fixture
def begun(tmp_path):
    def begun(data, asked="asked", run_id="run", **search):
        """What the first step of a run says, and what it was sent."""
        place = tmp_path / "manifest"
        place.write_bytes(data if isinstance(data, bytes) else "".join(data).encode())
        run = LakeRun(str(tmp_path / "audit"), run_id, "build", asked, datetime.now(UTC))
        search = {"manifest": GivenManifest(str(place), str(tmp_path))} | search
        request = Planning(run, Search(**search))
        (said,) = documents(begin(request, []))
        raise_told(said)
        return said, request

    return begun


@pytest.fixture
def plan_of(begun):
    def plan_of(data, **search):
        """What is in the sheets, and what stands for no file."""
        said, request = begun(data, **search)
        plan = Plan.of(said["plan"])
        if not said["is_settled"]:
            numbers = pa.record_batch({"id": range(plan.num_sheets + 1)})
            rows = [row for batch in rows_listed(request, [numbers]) for row in batch.to_pylist()]
            rows.sort(key=lambda row: (row["folder"], row["path"], -row["is_earlier"]))
            sorted_rows = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(SEEN))
            (done,) = documents(leave_complete(request, [sorted_rows]))
            plan = Plan.of(done["plan"])
        account = Account(request.run)
        sheets = [planned(account, plan.sheet(number)) for number in range(plan.num_sheets)]
        return [each for sheet in sheets for each in sheet], plan.missing

    return plan_of


def known(path):
    found = find_local(str(path))
    return LakeFile(found.path, found.size, found.version)


# ------------------------------------------------------------------------------------------------
# The plan


def test_each_file_once_however_it_is_spelled(plan_of, files, tmp_path):
    a, b = files
    lines = [
        "lake/day=a/a.parquet\n",
        f"{b}\n",
        "\n",
        f"{a}\n",
        f"file:{a}\n",
        "./lake//day=a/a.parquet",
    ]
    found, missing = plan_of(lines)
    assert [each.file for each in found] == [known(a), known(b)]
    assert {each.status for each in found} == {None}
    assert missing == ()


def test_files_that_are_not_there_are_for_whoever_opens_them(plan_of, tmp_path):
    (tmp_path / "folder").mkdir()
    found, _ = plan_of("none.parquet\nfolder\n")
    assert [each.file for each in found] == [
        LakeFile(f"{tmp_path}/folder"),
        LakeFile(f"{tmp_path}/none.parquet"),
    ]


@pytest.mark.parametrize("search", [{}, {"most_files": 9}], ids=["all", "trial"])
def test_names_that_are_not_utf_8_are_named(plan_of, files, tmp_path, search):
    found, missing = plan_of(b"lake/day=a/a.parquet\n\xff.parquet\n", **search)
    name = f"{tmp_path}/\\xff.parquet"
    said = "its name is not UTF-8, so that Spark cannot pass it on"
    if search:
        assert missing == ((name, said),)
    else:
        (error,) = (each for each in found if each.status)
        assert (error.file, error.status) == (LakeFile(name), "error")
        assert error.message == f"{name}: {said}"
    assert known(files[0]) in [each.file for each in found]


@pytest.mark.parametrize("search", [{}, {"most_files": 9}], ids=["all", "trial"])
def test_only_files_changed_since_then(plan_of, files, search):
    os.utime(files[0], (1000, 1000))
    os.utime(files[1], (1001, 1001))
    lines = [f"{file}\n" for file in files]
    found, _ = plan_of(lines, since=1001.0, **search)
    assert [each.file.path for each in found] == [str(files[1])]


def test_only_the_first_files(plan_of, files):
    a, b = files
    lines = [f"{b}\n", f"{b}\n", f"{a}\n"]
    found, _ = plan_of(lines, most_files=1)
    assert [each.file for each in found] == [known(b)]
    found, _ = plan_of(lines, most_bytes=b.stat().st_size)
    assert [each.file for each in found] == [known(b)]


def test_a_line_that_is_wrong_is_named_and_nothing_planned(begun):
    _, request = begun('{"path": "a"}\n{"path": 1}\n')
    with pytest.raises(
        FormatError, match="manifest: line 2: path: expected that of a file, found 1"
    ):
        list(rows_listed(request, [pa.record_batch({"id": [0]})]))


def test_a_manifest_that_lists_nothing(begun):
    _, request = begun("\n")
    with pytest.raises(FileNotFoundError, match="lists no files"):
        list(rows_listed(request, [pa.record_batch({"id": [0]})]))


def test_an_id_stands_for_one_manifest(begun, tmp_path):
    begun("a.parquet\n")
    begun("b.parquet\n")
    other = GivenManifest(str(tmp_path / "manifest"), "/")
    begun("b.parquet\n", manifest=other)
    (tmp_path / "second").write_text("b.parquet\n")
    with pytest.raises(SparkError, match="run run was asked for something else, build that began"):
        begun("", manifest=GivenManifest(str(tmp_path / "second"), "/"))


# ------------------------------------------------------------------------------------------------
# In an object store


@pytest.fixture
def bucket(s3, monkeypatch):
    for name, value in {
        "ENDPOINT_URL": s3.endpoint,
        "REGION": "us-east-1",
        "ACCESS_KEY_ID": "KEY",
        "SECRET_ACCESS_KEY": SECRET,
        "ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    stores._opened.cache_clear()
    for name in ("a b%", "c"):
        s3.put(f"lake/day=1/{name}.parquet", b"data")
    yield s3
    stores._opened.cache_clear()


PATHS = ["s3://lake/day=1/a%20b%25.parquet", "s3a://lake/day=1/c.parquet"]


def test_what_a_manifest_says_is_not_asked_for(plan_of, bucket):
    listed = [LakeFile(each.path, each.size, each.version) for each in list_objects("s3://lake")]
    etags = [each.version.partition(":")[2].strip('"') for each in listed]
    bucket.forget()
    lines = [
        json.dumps({"path": path, "size": 4, "etag": etag}) + "\n"
        for path, etag in zip(PATHS, etags, strict=True)
    ]
    found, _ = plan_of(lines)
    assert [each.file for each in found] == listed
    assert bucket.kinds() == []


@pytest.mark.parametrize("lacking", ["size", "etag", "both"])
def test_what_it_does_not_say_is_looked_up(plan_of, bucket, lacking):
    listed = [LakeFile(each.path, each.size, each.version) for each in list_objects("s3://lake")]
    bucket.forget()
    said = {"size": 4, "etag": "stale"}
    said = {} if lacking == "both" else {name: said[name] for name in said if name != lacking}
    found, _ = plan_of([json.dumps({"path": path, **said}) + "\n" for path in PATHS])
    assert [each.file for each in found] == listed
    assert bucket.kinds() == ["HEAD", "HEAD"]


def test_times_that_it_says_are_not_asked_for(plan_of, bucket):
    about = {"size": 4, "etag": "x"}
    bucket.forget()
    lines = [
        json.dumps({"path": path, "modified": f"2026-11-2{day}T00:00Z", **about}) + "\n"
        for day, path in enumerate(PATHS)
    ]
    since = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
    found, _ = plan_of(lines, since=since)
    assert [each.file for each in found] == [LakeFile("s3://lake/day=1/c.parquet", 4, '4:"x"')]
    assert bucket.kinds() == []


# ------------------------------------------------------------------------------------------------
# What is refused


def test_names_of_manifests(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert manifest_named("x y.txt") == GivenManifest(f"{tmp_path}/x y.txt", str(tmp_path))
    assert manifest_named("s3a://b/x y.csv").path == "s3://b/x%20y.csv"
    with pytest.raises(FileNotFoundError, match="an empty name, expected a file"):
        manifest_named("")
    with pytest.raises(UnsupportedError, match="executors cannot read the standard input"):
        manifest_named("-")


@pytest.mark.parametrize(
    "given", [{}, {"paths": "lake", "manifest": "files"}], ids=["none", "both"]
)
def test_one_of_paths_and_manifest(spark, given):
    with pytest.raises(TypeError, match="paths, manifest: expected one of them"):
        lake.inspect(spark, **given)


def test_on_a_cluster_the_account_needs_a_place():
    spark = SimpleNamespace(conf={"spark.master": "spark://host:7077"})
    search = Search(manifest=GivenManifest("s3://inventory/files.txt", "/"))
    with pytest.raises(SparkError) as raised:
        job._account_place(spark, search, None)
    assert str(raised.value) == (
        "s3://inventory/files.txt: a manifest on a cluster: expected an audit (--audit), the folder in"
        " which executors keep their account"
    )
    assert job._account_place(spark, search, "/audit") == ("/audit", True)


# ------------------------------------------------------------------------------------------------
# On Spark


@pytest.mark.long
def test_a_run_and_the_next_one_with_another_manifest(spark, files, tmp_path):
    manifests = [tmp_path / name for name in ("monday.txt", "tuesday.txt")]
    for manifest in manifests:
        manifest.write_text("".join(f"{file}\n" for file in [*files, files[0]]))
    options = {"columns": ["id"], "audit": tmp_path / "audit"}
    first = lake.build(spark, manifest=manifests[0], **options)
    assert (first.counts, first.filters) == ({"added": 2}, 2)
    again = lake.build(spark, manifest=manifests[1], **options)
    assert {each.message for each in again.outcomes} == {LEFT_SO}


def test_the_command(spark, files, tmp_path):
    manifest = tmp_path / "files.txt"
    manifest.write_text(f"{files[0]}\n")
    run = outcome("spark", "inspect", "--manifest", manifest, "--json")
    assert (run.code, run.stderr) == (0, "")
    (line,) = run.stdout.splitlines()
    assert json.loads(line)["path"] == str(files[0])
    for arguments, said in (
        (("--manifest", manifest, files[0]), "expected PATH or --manifest, not both"),
        ((), "expected PATH; see pbloom spark inspect --help"),
    ):
        refused = outcome("spark", "inspect", *arguments)
        assert refused.code == 2
        assert said in refused.stderr
