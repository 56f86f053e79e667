"""Every report says what it asked of object stores: both formats, and nothing about local files."""

import json
from dataclasses import asdict

import pyarrow as pa
import pytest
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.storage.traffic import Requests, in_all

VERBS = {
    "advise": lambda path, **store: pb.advise(path, **store),
    "build": lambda path, **store: pb.build(
        path, columns=["i"], existing="replace", in_place=True, dry_run=True, **store
    ),
    "diff": lambda path, **store: pb.diff(path, path, **store),
    "dump": lambda path, **store: pb.dump(path, "i", 0, **store),
    "dump_footer": lambda path, **store: pb.dump_footer(path, **store),
    "inspect": lambda path, **store: pb.inspect(path, **store),
    "probe": lambda path, **store: pb.probe(path, "i", [5], **store),
    "repair": lambda path, **store: pb.repair(path, in_place=True, dry_run=True, **store),
    "report": lambda path, **store: pb.report(path, **store),
    "strip": lambda path, **store: pb.strip(path, in_place=True, dry_run=True, **store),
    "validate": lambda path, **store: pb.validate(path, **store),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table = pa.table({"i": range(2000), "s": [f"user-{row}" for row in range(2000)]})
    pa.parquet.write_table(table, folder / "p.parquet", row_group_size=1000)
    orc.write_table(table, folder / "p.orc")
    for name in ("parquet", "orc"):
        pb.build(folder / f"p.{name}", folder / f"a.{name}", columns=["i", "s"])
    return folder


# A page and a Thrift footer are about Parquet files.
CASES = [
    *((verb, "parquet") for verb in VERBS),
    *((verb, "orc") for verb in VERBS.keys() - {"dump_footer", "report"}),
]


@pytest.mark.parametrize(("verb", "suffix"), sorted(CASES))
def test_a_report_says_what_was_asked(server, files, verb, suffix):
    path = files / f"a.{suffix}"
    server.put(f"lake/a.{suffix}", path.read_bytes())
    there = VERBS[verb](f"s3://lake/a.{suffix}", storage_options=server.options)
    assert there.requests == Requests(get=server.count(), bytes_down=server.bytes_down)
    assert server.count() == len(server.asked) > 0
    assert there.to_dict()["requests"] == asdict(there.requests)
    here = VERBS[verb](path)
    assert here.requests is None
    assert "requests" not in here.to_dict()


def test_a_table_is_about_filters_alone(server, files):
    server.put("lake/a.parquet", (files / "a.parquet").read_bytes())
    there = pb.dump("s3://lake/a.parquet", "i", 0, storage_options=server.options)
    here = pb.dump(files / "a.parquet", "i", 0)
    assert there.to_arrow().column_names == here.to_arrow().column_names


def test_a_report_says_it_once(server, files):
    server.put("lake/a.parquet", (files / "a.parquet").read_bytes())
    document = pb.report("s3://lake/a.parquet", storage_options=server.options).to_dict()
    parts = [document[name] for name in ("inspection", "validation", "advice")]
    assert not any("requests" in part for part in parts)


def test_advice_on_many_files_says_it_of_each(server, files):
    for name in ("a", "b"):
        server.put(f"lake/d/{name}.parquet", (files / "a.parquet").read_bytes())
    words = [f"--storage-option={name}={value}" for name, value in server.options.items()]
    result = outcome("advise", "s3://lake/d/", "--json", *words)
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["requests"]["get"] for each in documents] == [1, 1]
    assert server.count() == 2


def test_a_summary_counts_all_files(server, files):
    for name in ("a", "b"):
        server.put(f"lake/d/{name}.parquet", (files / "a.parquet").read_bytes())
    found = pb.inspect_summary(
        ["s3://lake/d/", files / "a.parquet"], storage_options=server.options
    )
    assert (found.files, found.requests) == (3, Requests(get=2, bytes_down=server.bytes_down))
    assert pb.inspect_summary(files / "a.parquet").requests is None


def test_one_of_two_files_is_in_a_store(server, files):
    server.put("lake/a.parquet", (files / "a.parquet").read_bytes())
    found = pb.diff("s3://lake/a.parquet", files / "a.parquet", storage_options=server.options)
    assert (found.same, found.requests.get) == (True, 1)


def test_what_nobody_counts_adds_nothing():
    assert in_all([]) is in_all([None, None]) is None
    assert in_all([None, Requests(get=1), Requests(get=2, put=1)]) == Requests(get=3, put=1)
