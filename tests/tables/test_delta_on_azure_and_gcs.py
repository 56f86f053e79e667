"""Delta tables in Azure and in Google's store: commits are made only if there is none, whoever was first
keeps theirs, and a file that is shorter by now is left out."""

import json
import shutil

import pytest
from make.commands import outcome
from make.delta_tables import GROUP_ROWS, adds, make_table, rows_of, write_commit
from make.object_server import Fault
from oracle.delta_readers import rows_at

import parquet_bloom as pb
from parquet_bloom.tables.table import SHORTER, NewSize

FOLDER = "lake/a b/events"
SCHEMES = {"azure": "az", "gcs": "gs"}
# The condition under which a commit is put.
CONDITIONS = {"azure": ("if-none-match", "*"), "gcs": ("x-goog-if-generation-match", "0")}


@pytest.fixture(params=SCHEMES)
def kind(request):
    return request.param


@pytest.fixture
def store(kind, request):
    return request.getfixturevalue(kind)


@pytest.fixture
def local(tmp_path):
    return make_table(tmp_path / "events", commits=2, partition_by=["day"])


@pytest.fixture
def url(kind, store, local):
    """The table in that store."""
    for path in local.rglob("*"):
        if path.is_file():
            store.put(f"{FOLDER}/{path.relative_to(local)}", path.read_bytes())
    store.forget()
    return f"{SCHEMES[kind]}://{FOLDER}"


def download(store, folder):
    """What is there now, for readers of local files."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in store.objects.items():
        path = folder / name.removeprefix(f"{FOLDER}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def build(store, url, **options):
    usual = {"columns": ["id"], "min_file_size": 0}
    return pb.build_table(url, **{**usual, **options}, storage_options=store.options)


def commits(store):
    """The names that commits were to get, in order."""
    puts = [asked for asked in store.asked if asked.kind == "PUT" and "_delta_log" in asked.path]
    return [asked.path.rpartition("/")[2] for asked in puts]


def test_build_probe_strip_and_build(kind, store, url, local, tmp_path):
    expected = rows_at(local)
    report = build(store, url)
    assert (report.version, report.committed, report.num_filters) == (1, 2, 8)
    assert {file.action for file in report.files} == {"appended"}
    assert report.requests.num_requests == len(store.asked) - store.count("TOKEN")
    (put,) = [asked for asked in store.asked if asked.kind == "PUT" and "_delta_log" in asked.path]
    name, value = CONDITIONS[kind]
    assert {name.lower(): value for name, value in put.headers.items()}[name] == value
    there = download(store, tmp_path / "there")
    for path, add in adds(there, 2).items():
        old = (local / path).read_bytes()
        assert (there / path).read_bytes()[: len(old)] == old
        assert (there / path).stat().st_size == add["size"] > len(old)
    assert [rows_at(there, version) for version in (1, 2)] == [expected, expected]
    store.forget()
    assert build(store, url).committed is None
    assert commits(store) == []
    options = [f"--storage-option={name}={value}" for name, value in store.options.items()]
    wanted = rows_of(GROUP_ROWS + 5, 1)["id"][0].as_py()
    probed = outcome("probe", url, "--table", "auto", "-c", "id", "-v", wanted, *options)
    assert probed.code == 0, probed
    assert probed.stdout.count(": maybe row group") == 1
    stripped = pb.strip_table(url, storage_options=store.options)
    assert (stripped.committed, stripped.requests.put) == (3, 1)
    assert rows_at(download(store, tmp_path / "there")) == expected
    again = build(store, url)
    assert (again.committed, {file.action for file in again.files}) == (4, {"appended before"})


def rival(store, folder, *wanted):
    """Who commits these actions first."""

    def commit():
        there = download(store, folder)
        version = write_commit(
            there, {"commitInfo": {"operation": "WRITE", "timestamp": 1}}, *wanted
        )
        name = f"_delta_log/{version:020}.json"
        store.put(f"{FOLDER}/{name}", (there / name).read_bytes())

    return commit


def test_a_rival_is_first(store, url, local, tmp_path):
    name, add = next(iter(sorted(adds(local, 1).items())))
    remove = {"path": name, "dataChange": True, "deletionTimestamp": 1, "size": add["size"]}
    build(store, url, commit=False)
    store.faults.append(Fault(kind="PUT", do=rival(store, tmp_path / "rival", {"remove": remove})))
    store.forget()
    report = build(store, url)
    assert commits(store) == [f"{version:020}.json" for version in (2, 3)]
    assert (report.version, report.committed) == (1, 3)
    actions = {file.file: file.action for file in report.files}
    assert actions.pop(name) == "gone"
    assert {*actions.values()} == {"appended before"}
    there = download(store, tmp_path / "there")
    assert adds(there, 3).keys() == actions.keys()
    assert adds(there, 2) == {}
    assert len(rows_at(there)) == 600 - json.loads(add["stats"])["numRecords"]


def test_a_file_that_is_shorter_by_now_is_left_out(store, url, local, tmp_path):
    """Or not there; the others are committed."""
    build(store, url, commit=False)
    shorter, missing, *others = sorted(adds(local, 0) | adds(local, 1))
    table = pb.open_table(url, storage_options=store.options)
    sizes = {file.name: file.size for file in table.files()}
    new = {name: len(store.objects[f"{FOLDER}/{name}"]) for name in sizes}
    # Between the last look at the files and the commit.
    store.put(f"{FOLDER}/{shorter}", (local / shorter).read_bytes())
    del store.objects[f"{FOLDER}/{missing}"]
    done = table.commit({name: NewSize(sizes[name], new[name]) for name in sizes}, "TEST")
    assert (done.version, dict(done.left)) == (2, {shorter: SHORTER, missing: SHORTER})
    assert sorted(adds(download(store, tmp_path / "there"), 2)) == others


def test_a_commit_that_is_refused(store, url, local, tmp_path):
    """Says so, and the next run commits what is there."""
    build(store, url, commit=False)
    store.faults.append(Fault(403, kind="PUT", times=9))
    with pytest.raises(OSError, match=f"{2:020}.json"):
        build(store, url)
    store.faults.clear()
    assert rows_at(download(store, tmp_path / "there")) == rows_at(local)
    again = build(store, url)
    assert (again.committed, {file.action for file in again.files}) == (2, {"appended before"})
