"""How many requests it takes to read one filter and to change or remove all: both formats."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.s3_server import S3Server
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.edit.change import FieldsChange
from parquet_bloom.parquet.filters import ahead
from parquet_bloom.parquet.footer.footer import BLOOM_FILTER_LENGTH
from parquet_bloom.parquet.footer.moved import Cuts
from parquet_bloom.storage.new_version import Target, write_version
from parquet_bloom.storage.objects import s3_adapter
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.paths import expand

MIB = 1 << 20
FILTER = 256 << 10


@pytest.fixture(scope="module")
def appended(hundred_groups, tmp_path_factory) -> Path:
    """The same filters, behind a file that is whole."""
    folder = tmp_path_factory.mktemp("appended")
    pb.strip(hundred_groups, folder / "plain.parquet", verify=False)
    path = folder / "appended.parquet"
    options = {"columns": ["s"], "ndv": 100_000, "layout": "append", "verify": False}
    pb.build(folder / "plain.parquet", path, **options)
    return path


@pytest.fixture(scope="module")
def without_lengths(hundred_groups, tmp_path_factory) -> Path:
    """The same filters, whose lengths only their headers say."""
    path = tmp_path_factory.mktemp("lengths") / "groups.parquet"
    with open_file(hundred_groups) as file:
        (column,) = file.select(["s"])
        edits = {(group, column.index): {BLOOM_FILTER_LENGTH: None} for group in range(100)}
        change = FieldsChange(file, Cuts(file.footer.start), edits)
        write_version(file.source, Target(str(path)), change, verify=False)
    return path


@pytest.fixture(scope="module")
def stripes(tmp_path_factory) -> Path:
    """An ORC file of many stripes."""
    folder = tmp_path_factory.mktemp("stripes")
    rows = range(60_000)
    table = pa.table({"i": rows, "s": [f"user-{row * 7919 % 60_000}" for row in rows]})
    orc.write_table(table, folder / "p.orc", stripe_size=1 << 16, compression="uncompressed")
    pb.build(folder / "p.orc", folder / "a.orc", columns=["i", "s"], verify=False)
    return folder / "a.orc"


@pytest.fixture(scope="module")
def padded(tmp_path_factory) -> Path:
    """An ORC file of stripes that are too far apart to be read together."""
    folder = tmp_path_factory.mktemp("padded")
    table = pa.table({"i": range(12_000), "p": [bytes(700)] * 12_000})
    orc.write_table(table, folder / "p.orc", stripe_size=1 << 16, compression="uncompressed")
    pb.build(folder / "p.orc", folder / "padded.orc", columns=["i"], verify=False)
    return folder / "padded.orc"


def listed(server: S3Server, path: Path) -> str:
    """An object like the file, as a listing finds it."""
    server.put(f"lake/d/{path.name}", path.read_bytes())
    (found,), errors = expand(["s3://lake/d/"], server.options)
    assert errors == []
    server.forget()
    return found.path


def test_one_filter_takes_two_requests(server, hundred_groups, without_lengths):
    for path in (hundred_groups, without_lengths):
        server.objects.clear()
        there = listed(server, path)
        assert pb.dump(there, "s", 5).bitset == pb.dump(path, "s", 5).bitset
        assert server.count() == len(server.asked) == 2
        assert server.bytes_down <= 2 * FILTER + 100
        server.forget()
        with pb.open(there) as file:
            assert file.bloom_filter(5, "s").check("user-00001000")
            assert server.count() == len(server.asked) == 2


def test_one_filter_of_orc_takes_three(server, stripes):
    there = listed(server, stripes)
    assert pb.dump(there, "s", 1).bitset == pb.dump(stripes, "s", 1).bitset
    # The tail, the footer of the stripe, its streams.
    assert server.count() == len(server.asked) == 3
    server.forget()
    with pb.open(there) as file:
        assert file.bloom_filter(0, "i", 0).check(5)
        assert server.count() == len(server.asked) == 3


def test_filters_without_lengths_are_read_together(server, without_lengths):
    there = listed(server, without_lengths)
    assert pb.inspect(there).row_groups == pb.inspect(without_lengths).row_groups
    # Twice: earlier ends are searched for in what no length covers.
    assert server.count() == len(server.asked) <= 10
    assert server.bytes_down <= 200 * FILTER + 2 * MIB


def test_blocks_of_large_filters_are_asked_for_at_once(server, tmp_path, monkeypatch):
    """With the headers, and not one after the other when a header has come."""
    ids = np.random.default_rng(1).permutation(4000)
    pq.write_table(pa.table({"id": ids}), tmp_path / "plain", row_group_size=200)
    pb.build(tmp_path / "plain", tmp_path / "a.parquet", columns=["id"], ndv=400_000, verify=False)
    there = listed(server, tmp_path / "a.parquet")
    monkeypatch.setattr(ObjectSource, "_fetched", None)
    left = pb.row_groups(there, {"id": [5, 17]}, storage_options=server.options)
    wanted = [int(np.flatnonzero(ids == id)[0]) // 200 for id in (5, 17)]
    assert left["row_group"].to_pylist() == sorted(wanted)
    # Of 20 filters of half a MB.
    assert server.bytes_down < 2 * MIB


def test_what_follows_a_filter_without_a_length_is_not_fetched(server, tmp_path):
    """Pages of the next row group, 4 MB that no filter has."""
    plain, path = tmp_path / "p", tmp_path / "a.parquet"
    table = pa.table({"i": range(20), "b": [bytes(2 * MIB)] * 20})
    options = {"compression": "none", "use_dictionary": False, "row_group_size": 10}
    writer = {"bloom_filter_options": {"i": {"ndv": 10, "fpp": 0.01}}}
    pq.write_table(table, plain, **options, **writer)
    with open_file(plain) as file:
        edits = {(group, 0): {BLOOM_FILTER_LENGTH: None} for group in range(2)}
        change = FieldsChange(file, Cuts(file.footer.start), edits)
        write_version(file.source, Target(str(path)), change, verify=False)
    there = listed(server, path)
    assert pb.inspect(there).num_filters == 2
    assert server.bytes_down <= FILTER + MIB + 100


def test_an_appended_end_is_cut_off_without_a_look_at_filters(server, appended, tmp_path):
    there = listed(server, appended)
    report = pb.strip(there, in_place=True, dry_run=True)
    assert (len(report.removed), server.count()) == (100, len(server.asked))
    assert server.count() <= 3
    assert server.bytes_down <= MIB
    server.forget()
    pb.strip(there, tmp_path / "there")
    pb.strip(appended, tmp_path / "here")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert server.count() <= 8


def test_filters_are_removed_in_few_requests(server, hundred_groups):
    there = listed(server, hundred_groups)
    assert len(pb.strip(there, in_place=True, dry_run=True).removed) == 100
    assert server.count() == len(server.asked) <= 5
    assert server.bytes_down <= 100 * FILTER + MIB


def test_of_many_bits_only_headers_are_read(server, hundred_groups, monkeypatch):
    monkeypatch.setattr(ahead, "MOST_FOR_HEADERS", 20 * MIB)
    there = listed(server, hundred_groups)
    assert len(pb.strip(there, in_place=True, dry_run=True).removed) == 100
    assert server.count() == len(server.asked) <= 101
    assert server.bytes_down <= FILTER + 100 * 64


def test_filters_between_others_are_removed_in_few_requests(server, hundred_groups, tmp_path):
    """Each but the last is between filters of another column, which move up."""
    path = tmp_path / "two.parquet"
    options = {"ndv": 100_000, "verify": False}
    pb.strip(hundred_groups, tmp_path / "plain.parquet", verify=False)
    pb.build(tmp_path / "plain.parquet", path, columns=["c3", "s"], **options)
    there = listed(server, path)
    assert len(pb.strip(there, columns=["c3"], in_place=True, dry_run=True).removed) == 100
    assert server.count() == len(server.asked) <= 102
    assert server.bytes_down <= 101 * FILTER + MIB
    for name, where in (("there", there), ("here", path)):
        pb.strip(where, tmp_path / name, columns=["c3"])
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_lengths_are_repaired_in_few_requests(server, without_lengths, tmp_path):
    there = listed(server, without_lengths)
    report = pb.repair(there, in_place=True, dry_run=True)
    assert [each.action for each in report.repaired] == ["length set"] * 100
    assert server.count() == len(server.asked) <= 5
    for path, name in ((there, "there"), (without_lengths, "here")):
        pb.repair(path, tmp_path / name)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_an_object_is_repaired_in_few_requests(s3, without_lengths, tmp_path):
    there = listed(s3, without_lengths)
    pb.repair(there, in_place=True)
    pb.repair(without_lengths, tmp_path / "here", layout="append")
    assert s3.count() <= 20
    assert s3.objects["lake/d/groups.parquet"] == (tmp_path / "here").read_bytes()


@pytest.mark.parametrize("verb", ["strip", "repair", "build"])
def test_orc_is_changed_in_few_requests(server, stripes, tmp_path, verb):
    there = listed(server, stripes)
    change = getattr(pb, verb)
    options = {"columns": ["s"], "existing": "replace", "ndv": 1000} if verb == "build" else {}
    size = stripes.stat().st_size
    reports = [
        change(path, tmp_path / name, **options)
        for path, name in ((there, "there"), (stripes, "here"))
    ]
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert reports[0].size_after == reports[1].size_after
    # What is copied, and what of it is compared; repair looks at the filters before.
    assert server.count() <= 12
    assert server.bytes_down <= 4 * size


@pytest.mark.parametrize("verb", ["strip", "build"])
def test_orc_that_is_sent_takes_few_requests(s3, padded, tmp_path, monkeypatch, verb):
    """Its stripes are too small to be parts that the store could copy."""
    monkeypatch.setattr(s3_adapter, "LEAST_BYTES", 5 * MIB)
    there = listed(s3, padded)
    change = getattr(pb, verb)
    options = {"columns": ["i"], "existing": "replace", "ndv": 1000} if verb == "build" else {}
    change(there, in_place=True, unconditional=True, **options)
    assert s3.uploads == {}
    change(padded, tmp_path / "here", **options)
    assert s3.objects["lake/d/padded.orc"] == (tmp_path / "here").read_bytes()
    # The footers of stripes, values, what is compared, and the whole file in pieces of 8 MiB.
    stripes = pb.inspect(padded).num_parts
    pieces = padded.stat().st_size // (8 * MIB) + 1
    assert s3.count() <= (3 if verb == "build" else 2) * stripes + pieces + 1


def test_orc_is_copied_with_its_values(s3, padded, tmp_path):
    """They are not read apart."""
    there = listed(s3, padded)
    options = {"columns": ["i"], "existing": "replace", "ndv": 1000}
    for name, path in (("there", there), ("here", padded)):
        pb.build(path, tmp_path / name, **options)
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    stripes = pb.inspect(padded).num_parts
    assert s3.count() <= 2 * stripes + padded.stat().st_size // (8 * MIB) + 2
