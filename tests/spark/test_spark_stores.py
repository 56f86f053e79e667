"""What a run leaves in an object store is known to the next one, which opens none of it."""

import json
import re
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.executors_here import IndexingHere
from make.object_server import SECRET, Fault
from make.spark_requests import build_request, strip_request

import parquet_bloom as pb
from parquet_bloom import spark as lake
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.plan import LakeFile, Plan, planned
from parquet_bloom.spark.planning import LEFT_SO, Planning, Search, leave_complete
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.spark.schemas import SEEN
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.spark.worker import work_on_file
from parquet_bloom.storage.listing import list_objects
from parquet_bloom.storage.objects import replacement, stores

OLD = (FIXTURES / "pyarrow_types.parquet").read_bytes()


SCHEMES = {"s3": "s3", "azure": "az"}


def in_s3(server):
    return {
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "KEY",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ALLOW_HTTP": "true",
    }


def in_azure(server):
    return {f"AZURE_STORAGE_{name.upper()}": value for name, value in server.options.items()}


@pytest.fixture(params=["s3", "azure"])
def there(request, monkeypatch):
    """The folder of an object in a store that executors reach by their environment."""
    server = request.getfixturevalue(request.param)
    for name, value in {"s3": in_s3, "azure": in_azure}[request.param](server).items():
        monkeypatch.setenv(name, value)
    stores._opened.cache_clear()
    monkeypatch.setitem(replacement._ignored_in, (server.endpoint, "lake"), "")
    server.put("lake/day=1/x.parquet", OLD)
    yield f"{SCHEMES[request.param]}://lake/day=1"
    stores._opened.cache_clear()


def listed(folder):
    (found,) = list_objects(folder)
    return LakeFile(found.path, found.size, found.version)


def next_plan(tmp_path, file: LakeFile, outcome: Outcome):
    """What the next run is to do with a file, of which an earlier one has this outcome."""
    about = {"folder": "", "path": file.path}
    earlier = about | {
        "is_earlier": 1,
        "size": outcome.size,
        "version": outcome.version,
        "status": outcome.status,
        "message": outcome.message,
    }
    now = about | {"is_earlier": 0, "size": file.size, "version": file.version}
    run = LakeRun(str(tmp_path / "audit"), "run", "build", "asked", datetime.now(UTC))
    rows = pa.RecordBatch.from_pylist([earlier, now], schema=arrow_schema(SEEN))
    (batch,) = leave_complete(Planning(run, Search()), [rows])
    plan = Plan.of(json.loads(batch.column("document")[0].as_py())["plan"])
    (found,) = planned(Account(run), plan.sheet(0))
    return found.status, found.message


@pytest.mark.parametrize(
    "verb", [build_request(["int64"]), strip_request()], ids=["build", "strip"]
)
def test_a_file_that_was_changed_is_not_opened_again(there, tmp_path, verb):
    if verb.verb == "strip":
        assert work_on_file(build_request(["int64"]), listed(there)).status == "added"
    outcome = work_on_file(verb, before := listed(there))
    assert outcome.status == ("added" if verb.verb == "build" else "removed")
    after = listed(there)
    assert (outcome.size_before, outcome.version_before) == (before.size, before.version)
    assert (outcome.size, outcome.version) == (after.size, after.version)
    assert next_plan(tmp_path, after, outcome) == ("unchanged", LEFT_SO)


def test_a_file_that_was_left_alone_is_not_opened_again(there, tmp_path):
    work_on_file(build_request(["int64"]), listed(there))
    outcome = work_on_file(build_request(["int64"]), listed(there))
    assert (outcome.status, outcome.message) == ("unchanged", "has a filter already")
    assert next_plan(tmp_path, listed(there), outcome) == (outcome.status, outcome.message)


@pytest.mark.parametrize("there", ["s3"], indirect=True)
def test_a_refusal_names_what_executors_take(s3, there):
    s3.faults.append(Fault(403, times=9))
    outcome = work_on_file(build_request(["int64"]), LakeFile(f"{there}/x.parquet"))
    assert (outcome.status, outcome.error_class) == ("error", "PermissionError")
    assert re.sub(r"at \S+ gives", "at HOST gives", outcome.message) == (
        "s3://lake/day=1/x.parquet: reading was refused (403 Forbidden): the keys that are set are not known there, and"
        " what answers at HOST gives no code of a store; the executors' variable AWS_ENDPOINT=URL names another host"
    )


def test_an_index_of_a_lake_and_in_a_store(there, tmp_path, monkeypatch):
    """Executors write segments there; what the index knows, is not opened again."""
    IndexingHere(monkeypatch)
    lake_folder, index = there.rpartition("/")[0], f"{there.rpartition('/')[0]}/_types.index"
    terms = {"audit": str(tmp_path / "audit"), "index": index}
    made = lake.index(None, there, columns=["int64"], run_id="first", **terms)
    assert (made.index, made.generation, made.files, made.new) == (index, 1, 1, 1)
    values = pq.read_table(pa.BufferReader(OLD))["int64"].to_pylist()
    (value, *_) = [each for each in values if each is not None]
    with pb.Index(index) as found:
        (file,) = found.probe("int64", value).results[0].files
        assert (file.path, file.verdict) == (f"{there}/x.parquet", "maybe")
        assert found.check(deep=True).findings == ()
        assert found.add().generation == 1
    again = lake.index(None, lake_folder, run_id="second", **terms)
    # It is about the folder above now, too.
    assert (again.generation, again.files, again.new) == (2, 1, 0)
    assert lake.index(None, run_id="third", **terms).generation == 2
