"""Delta tables in S3: what is sent, that commits are made only if there is none, and what a lost answer or
a rival makes of it."""

import shutil

import pytest
from make.commands import outcome
from make.delta_tables import GROUP_ROWS, adds, make_table, rows_of, write_commit
from make.object_server import Fault, Lost
from oracle.delta_readers import by_query_builder, rows_at

import parquet_bloom as pb
from parquet_bloom.storage.objects import replacement

URL = "s3://lake/a b/events"
FOLDER = "lake/a b/events"


@pytest.fixture
def local(tmp_path):
    return make_table(tmp_path / "events", commits=2, partition_by=["day"])


@pytest.fixture
def table(s3, local):
    """The table in S3."""
    upload(s3, local)
    replacement._ignored_in[s3.endpoint, "lake"] = ""
    s3.forget()
    return URL


def upload(s3, local):
    for path in local.rglob("*"):
        if path.is_file():
            s3.put(f"{FOLDER}/{path.relative_to(local)}", path.read_bytes())


def download(s3, folder):
    """What is there now, for readers of local files."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in s3.objects.items():
        path = folder / name.removeprefix(f"{FOLDER}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def build(s3, **options):
    usual = {"columns": ["id"], "min_file_size": 0, "sole_writer": True}
    return pb.build_table(URL, **{**usual, **options}, storage_options=s3.options)


def test_build_strip_and_build(s3, table, local, tmp_path):
    expected = rows_at(local)
    report = build(s3)
    assert (report.version, report.committed, report.num_filters) == (1, 2, 8)
    there = download(s3, tmp_path / "there")
    for path, add in adds(there, 2).items():
        old = (local / path).read_bytes()
        assert (there / path).read_bytes()[: len(old)] == old
        assert (there / path).stat().st_size == add["size"] > len(old)
    assert [rows_at(there, version) for version in (1, 2)] == [expected, expected]
    s3.forget()
    assert build(s3).committed is None
    assert not {"PUT", "CREATE", "COMPLETE"} & set(s3.kinds())
    strip = pb.strip_table(URL, sole_writer=True, storage_options=s3.options)
    assert strip.committed == 3
    assert rows_at(download(s3, tmp_path / "there")) == expected
    again = build(s3)
    assert (again.committed, {file.action for file in again.files}) == (4, {"appended before"})


def test_the_store_copies_what_stays(s3, table):
    build(s3)
    kinds = s3.kinds()
    assert kinds.count("COPY") == kinds.count("COMPLETE") == 4
    (commit,) = [asked for asked in s3.asked if asked.kind == "PUT"]
    assert commit.path == f"{FOLDER}/_delta_log/{2:020}.json"
    assert {name.lower(): value for name, value in commit.headers.items()}["if-none-match"] == "*"


def test_requests_are_counted(s3, table):
    """Those of the log and of files, by whoever sends them."""
    report = build(s3)
    kinds = s3.kinds()
    assert report.requests.num_requests == len(kinds)
    assert report.requests.list == kinds.count("LIST")
    assert report.to_dict()["requests"]["bytes_up"] > report.bytes_added
    s3.forget()
    strip = pb.strip_table(URL, sole_writer=True, storage_options=s3.options)
    assert strip.requests.num_requests == len(s3.kinds())
    assert strip.requests.retries == 0


def test_it_needs_a_sole_writer(s3, table):
    with pytest.raises(pb.RewriteError) as raised:
        build(s3, sole_writer=False)
    assert str(raised.value) == (
        f"{URL}: not changed: on S3, Spark's default log store can overwrite concurrent commits: if"
        " nobody else writes, use sole_writer=True, and unconditional=True, too, if the store ignores If-Match"
    )
    assert not {"PUT", "CREATE"} & set(s3.kinds())
    assert build(s3, sole_writer=False, dry_run=True).committed is None
    assert build(s3, sole_writer=False, commit=False).committed is None
    assert build(s3).committed == 2


def test_a_rival_is_first(s3, table, local, tmp_path):
    rows = len(by_query_builder(local))

    def rival():
        there = download(s3, tmp_path / "rival")
        version = write_commit(there, {"commitInfo": {"operation": "WRITE", "timestamp": 1}})
        name = f"_delta_log/{version:020}.json"
        s3.put(f"{FOLDER}/{name}", (there / name).read_bytes())

    s3.faults.append(Fault(kind="PUT", do=rival))
    assert build(s3).committed == 3
    there = download(s3, tmp_path / "there")
    assert len(adds(there, 3)) == 4
    assert len(by_query_builder(there)) == rows


def test_a_commit_whose_answer_is_lost_is_recognized(s3, table):
    s3.faults.append(Lost(kind="PUT"))
    assert build(s3).committed == 2
    assert f"{FOLDER}/_delta_log/{3:020}.json" not in s3.objects


def test_a_commit_that_never_arrives(s3, table, tmp_path):
    s3.faults.append(Lost(kind="PUT", before=True, times=9))
    with pytest.raises(OSError, match=f"{2:020}.json"):
        build(s3)
    s3.faults.clear()
    again = build(s3)
    assert (again.committed, {file.action for file in again.files}) == (2, {"appended before"})


def test_a_file_that_others_change_meanwhile(s3, table, tmp_path):
    """Is left, and the others are committed."""
    s3.faults.append(Fault(412, kind="COMPLETE"))
    report = build(s3)
    assert sorted(file.action for file in report.files) == ["appended"] * 3 + ["failed"]
    assert report.committed == 2
    (failed,) = [file for file in report.files if file.action == "failed"]
    assert (
        failed.reason
        == "changed by another writer while it was read: nothing was written; try again"
    )
    assert build(s3).committed == 3


def test_checkpoints_are_read(s3, local, tmp_path):
    from deltalake import DeltaTable

    DeltaTable(local).create_checkpoint()
    (local / "_delta_log" / f"{0:020}.json").unlink()
    upload(s3, local)
    replacement._ignored_in[s3.endpoint, "lake"] = ""
    assert build(s3).committed == 2


def test_reads(s3, table):
    build(s3)
    options = [f"--storage-option={name}={value}" for name, value in s3.options.items()]
    wanted = rows_of(GROUP_ROWS + 5, 1)["id"][0].as_py()
    result = outcome("probe", URL, "--table", "auto", "-c", "id", "-v", wanted, *options)
    assert result.code == 0, result
    assert result.stdout.count(": maybe row group") == 1
    old = outcome("inspect", URL, "--table", "auto", "--version", 1, "--summary", *options)
    assert "0 filters take 0 B" in old.stdout
    assert outcome("validate", URL, "--table", "auto", "--no-config", *options).code == 0


def test_the_command_needs_a_sole_writer(s3, table):
    options = [f"--storage-option={name}={value}" for name, value in s3.options.items()]
    arguments = ("build", URL, "--table", "delta", "-c", "id", "--all-sizes", *options)
    both = "use --sole-writer, and --unconditional, too, if the store ignores If-Match"
    assert outcome(*arguments).complaint.endswith(f"if nobody else writes, {both}")
    alone = outcome(*arguments, "--unconditional").complaint
    assert alone.endswith("if nobody else writes, use --sole-writer")
    promised = ("--sole-writer", "--unconditional")
    result = outcome(*arguments, *promised)
    assert result.code == 0, result
    assert "; version 2 records it, " in result.stdout
    for verb in ("repair", "strip"):
        result = outcome(verb, URL, "--table", "delta", *promised, *options)
        assert result.code == 0, result
    arguments = ("strip", URL, "--table", "delta", *options)
    assert outcome(*arguments).complaint.endswith("if nobody else writes, use --sole-writer")


@pytest.mark.parametrize("commit", [True, False])
def test_a_store_that_ignores_conditions_is_said_once(s3, table, commit):
    """Of the table, not of each file, and nothing is written."""
    replacement._ignored_in.clear()
    s3.is_lax = True
    before = dict(s3.objects)
    with pytest.raises(pb.RewriteError) as raised:
        build(s3, commit=commit)
    store = s3.endpoint.removeprefix("http://")
    assert str(raised.value) == (
        f"{URL}: not changed in place: the store at {store} ignores If-Match in PutObject, so a concurrent"
        " write could be lost: if nobody else writes, use unconditional=True"
    )
    assert s3.objects == before
    assert build(s3, unconditional=True, commit=commit).num_filters == 8
