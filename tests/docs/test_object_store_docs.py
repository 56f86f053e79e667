"""docs/object-stores.md: its figures are what a server counts, its messages what is said."""

import re

import pytest
from conftest import ROOT

import parquet_bloom as pb
from parquet_bloom.render.wording import requests_text
from parquet_bloom.storage.objects import (
    failures,
    gcs_adapter,
    object_source,
    read_ahead,
    requests,
    sending,
)
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME
from parquet_bloom.storage.temporary_files import TEMPORARY_SUFFIX
from parquet_bloom.storage.traffic import Requests

PAGE = (ROOT / "docs" / "object-stores.md").read_text()

VERBS = {
    "inspect": pb.inspect,
    "probe with 1 value": lambda path: pb.probe(path, "s", ["user-00000005"]),
    "probe with 1,000 values": lambda path: pb.probe(path, "s", [f"u{n}" for n in range(1000)]),
    "validate --no-deep": lambda path: pb.validate(path, deep=False),
    "validate": pb.validate,
    "build --dry-run": lambda path: pb.build(path, columns=["c3"], dry_run=True, in_place=True),
    "dump": lambda path: pb.dump(path, "s", 5),
    "dump --footer": pb.dump_footer,
    "repair --dry-run": lambda path: pb.repair(path, dry_run=True, in_place=True),
    "strip --dry-run": lambda path: pb.strip(path, dry_run=True, in_place=True),
}


@pytest.mark.parametrize("verb", VERBS)
def test_costs(server, hundred_groups, verb):
    server.put("lake/x/groups.parquet", hundred_groups.read_bytes())
    (found,), _ = expand(["s3://lake/x/"], server.options)
    server.forget()
    report = VERBS[verb](found.path)
    costs = dict(re.findall(r"^\| (`.*?) \| (\d+) \|", PAGE, re.MULTILINE))
    assert {name.replace("`", ""): int(number) for name, number in costs.items()}[verb] == len(
        server.asked
    )
    assert report.requests.num_requests == len(server.asked)


def test_schemes():
    table = PAGE.split("## ")[0]
    assert set(re.findall(r"`(\w+)://", table)) == {*STORE_BY_SCHEME, "hdfs"}


def test_figures():
    mib = 1 << 20
    assert (object_source.TAIL_BYTES, read_ahead.GAP_BYTES) == (256 << 10, 128 << 10)
    assert (8 * mib, 128 * mib) == (read_ahead.PIECE_BYTES, read_ahead.HELD_BYTES)
    assert (requests.IN_FLIGHT, len(sending.PAUSES)) == (16, 10)
    assert 50 <= sum(sending.PAUSES) <= 52
    assert (
        set(map(int, re.findall(r"\b[45]\d\d\b", PAGE.split("## Failures")[1].split("\n## ")[0])))
        == failures.TEMPORARY
    )


def test_figures_of_google():
    said = PAGE.split("### Google Cloud Storage")[1]
    for figure in (gcs_adapter.WHOLE_BYTES, gcs_adapter.SENT_BYTES):
        assert f"{figure >> 20} MiB" in said
    assert f'"{TEMPORARY_SUFFIX}"' in said


def test_what_stats_says():
    said = requests_text(Requests(get=5, list=1, bytes_down=26_320_000))
    assert f"pbloom: {said}\n" in PAGE
