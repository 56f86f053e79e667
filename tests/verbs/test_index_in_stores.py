"""An index in an object store, over files there."""

import io
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make import delta_tables
from make.object_server import Fault

import parquet_bloom as pb
from parquet_bloom.index import asking, slices
from parquet_bloom.index.kinds import asked_hashes
from parquet_bloom.index.manifest import IndexForm, existing
from parquet_bloom.index.opened import OpenSegment
from parquet_bloom.index.sorted_map import SortedMap
from parquet_bloom.storage import open_folder
from parquet_bloom.storage.address import Address
from parquet_bloom.vocabulary import words

FILES = 5
INDEX = "s3://lake/users.index"


def data(number: int) -> bytes:
    out = io.BytesIO()
    ids = pa.array(range(1000 * number, 1000 * number + 400), pa.int64())
    pq.write_table(pa.table({"id": ids}), out, row_group_size=100)
    return out.getvalue()


def filtered(number: int, folder: Path) -> bytes:
    plain, path = folder / "plain", folder / "filtered"
    plain.write_bytes(data(number))
    pb.build(plain, path, columns=["id"], fpp=1e-6, overwrite=True)
    return path.read_bytes()


def names(value: pb.IndexedValue) -> list[str]:
    return [file.path.rpartition("/")[2] for file in value.files]


@pytest.mark.parametrize("form", words(IndexForm))
def test_build_add_compact_and_check(s3, tmp_path, monkeypatch, form):
    if form == "slices":
        # As if there were so many filters that rows are read by themselves.
        monkeypatch.setattr(slices, "_SMALL_PAGE", 1)
    for number in range(FILES):
        s3.put(f"lake/in/{number}.parquet", filtered(number, tmp_path))
    with pb.Index.build(
        INDEX, "s3://lake/in", "id", form=form, storage_options=s3.options
    ) as index:
        assert index.add().generation == 1
        s3.put("lake/in/0.parquet", filtered(90, tmp_path))
        del s3.objects["lake/in/1.parquet"]
        s3.put("lake/in/new.parquet", filtered(91, tmp_path))
        assert [finding.problem for finding in index.check().findings] == ["new", "changed", "gone"]
        change = index.add()
        assert (change.added, change.changed, change.removed) == (1, 1, 1)
        for _ in range(2):
            assert index.check(deep=True).findings == ()
            found = index.probe("id", [0, 1000, 2000, 90_000, 91_399], files="s3://lake/in")
            assert [each.verdict for each in found.results] == ["absent"] * 2 + ["maybe"] * 3
            assert names(found.results[3]) == ["0.parquet"]
            assert [file.row_groups for file in found.results[4].files] == [(3,)]
            many = index.probe("id", list(range(90_000, 90_300)), files="s3://lake/in")
            assert {(each.verdict, *names(each)) for each in many.results} == {
                ("maybe", "0.parquet")
            }
            report = index.compact(everything=True, older_than=0)
        assert report.segments == 1
        assert index.check(deep=True).unneeded == 0


def test_asking_takes_few_requests_for_each_segment(s3):
    for number in range(FILES):
        s3.put(f"lake/in/{number}.parquet", data(number))
        if not number:
            pb.Index.build(INDEX, "s3://lake/in", "id", storage_options=s3.options).close()
        else:
            with pb.Index(INDEX, s3.options) as index:
                index.add()
    s3.forget()
    with pb.Index(INDEX, s3.options) as index:
        # Which manifest, and what is in it.
        assert s3.kinds() == ["LIST", "GET"]
        s3.forget()
        (result,) = index.probe("id", 3001).results
    assert names(result) == ["3.parquet"]
    assert s3.count("LIST") == 0
    # Small files come whole.
    asked = [each.path.rpartition("/")[2] for each in s3.asked]
    assert sum(name.endswith(".map.parquet") for name in asked) == FILES
    assert sum(name.endswith(".units.parquet") for name in asked) == 1
    # The file that may hold it is still the same.
    assert asked.count("3.parquet") == 1
    assert len(asked) == FILES + 2


def test_a_deep_check_of_twice_the_files_reads_twice_as_much(s3, tmp_path):
    """Of maps that are too large to come whole."""
    random, path, costs = np.random.default_rng(7), tmp_path / "a.parquet", []
    for end in (60, 120):
        for number in range(end // 2 if costs else 0, end):
            ids = pa.array(random.integers(0, 1 << 60, 3000))
            pq.write_table(pa.table({"id": ids}), path)
            s3.put(f"lake/in/{number}.parquet", path.read_bytes())
        with pb.Index.build(
            INDEX, "s3://lake/in", "id", storage_options=s3.options, overwrite=True
        ) as index:
            s3.forget()
            found = index.check(deep=True)
        assert (found.ok, found.files) == (True, end)
        costs.append((s3.count(), s3.bytes_down))
    for before, now in zip(*costs, strict=True):
        assert now <= 2.2 * before, costs


def test_a_file_that_is_not_there_is_known_by_the_listing(s3):
    s3.put("lake/in/0.parquet", data(0))
    pb.Index.build(INDEX, "s3://lake/in", "id", storage_options=s3.options).close()
    (units,) = (path for path in s3.objects if path.endswith(".units.parquet"))
    del s3.objects[units]
    s3.forget()
    with pb.Index(INDEX, s3.options) as index:
        with pytest.raises(pb.FormatError, match=r"\.units\.parquet: is not there$"):
            index.probe("id", 3001)
        # It might have come since the listing.
        assert s3.kinds() == ["LIST", "GET", "HEAD"]
        ((problem, told),) = [(each.problem, each.message) for each in index.check().findings]
    assert (problem, told) == ("damaged", f"s3://{units}: is not there")


def test_segments_are_asked_at_once(s3, monkeypatch):
    for number in range(FILES):
        s3.put(f"lake/in/{number}.parquet", data(number))
        if number:
            with pb.Index(INDEX, s3.options) as index:
                index.add()
        else:
            pb.Index.build(INDEX, "s3://lake/in", "id", storage_options=s3.options).close()
    everybody, hits = threading.Barrier(FILES), asking._hits

    def hits_of(*asked: object) -> object:
        everybody.wait(timeout=60)
        return hits(*asked)

    monkeypatch.setattr(asking, "_hits", hits_of)
    with pb.Index(INDEX, s3.options) as index:
        assert [names(each) for each in index.probe("id", [5, 3001]).results] == [
            ["0.parquet"],
            ["3.parquet"],
        ]


def test_a_large_segment_takes_a_request_for_each_of_three_reads(s3, tmp_path):
    rows = 400_000
    source = tmp_path / "many.parquet"
    pq.write_table(pa.table({"id": pa.array(range(rows), pa.int64())}), source)
    with pb.Index.build(INDEX, source, "id", storage_options=s3.options) as index:
        s3.forget()
        (result,) = index.probe("id", rows - 1).results
        assert names(result) == ["many.parquet"]
    # A directory and, at the same time, the page of keys that it should name; and the units, which are few.
    asked = [each.path.rpartition("/")[2] for each in s3.asked]
    kinds = sorted(name.partition(".")[2] for name in asked)
    assert kinds == ["map.parquet"] * 2 + ["units.parquet"]


class Announced:
    """A map in a store: every read has to be of what was announced, whole."""

    is_remote = True

    def __init__(self, path: str) -> None:
        self.path, self.size = path, Path(path).stat().st_size
        self.announced: list[tuple[int, int]] = []
        self.times = self.reads = 0

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        self.announced, self.times = list(ranges), self.times + 1

    def read_at(self, offset: int, length: int) -> bytes:
        assert any(start <= offset and offset + length <= end for start, end in self.announced)
        self.reads += 1
        return Path(self.path).read_bytes()[offset : offset + length]


def test_a_page_of_keys_is_fetched_with_the_directory_that_names_it(tmp_path):
    rows = 900_000
    source = tmp_path / "many.parquet"
    pq.write_table(pa.table({"id": pa.array(range(rows), pa.int64())}), source)
    pb.Index.build(tmp_path / "index", source, "id").close()
    (segment,) = existing(open_folder(str(tmp_path / "index"))).segments
    assert len(segment.map.groups) == 4
    hashes = asked_hashes(segment.kind, [*range(0, rows, 9001)]).hashes
    # And behind all of them.
    for hash in [*hashes, 2**64 - 1]:
        map_file = Announced(str(tmp_path / "index" / segment.map.name))
        places = SortedMap(map_file, segment.map).places(hash)
        assert places == ([0] if hash in hashes else [])
        assert (map_file.times, map_file.reads) == (1, 2)
        (_, end), (start, behind) = map_file.announced
        assert end <= map_file.size
        assert behind - start < 40_000


def test_units_are_asked_for_while_a_lone_segment_is(s3, tmp_path, monkeypatch):
    source = tmp_path / "many.parquet"
    pq.write_table(pa.table({"id": pa.array(range(400_000), pa.int64())}), source)
    both, places, opened = threading.Barrier(2), SortedMap.places, OpenSegment._opened_units

    def places_of(*asked: object) -> object:
        both.wait(timeout=60)
        return places(*asked)

    def opened_units(*asked: object) -> object:
        both.wait(timeout=60)
        return opened(*asked)

    with pb.Index.build(INDEX, source, "id", storage_options=s3.options) as index:
        monkeypatch.setattr(SortedMap, "places", places_of)
        monkeypatch.setattr(OpenSegment, "_opened_units", opened_units)
        assert names(index.probe("id", 77).results[0]) == ["many.parquet"]
        # Once they are open, nothing is asked for again.
        monkeypatch.setattr(SortedMap, "places", places)
        s3.forget()
        assert names(index.probe("id", 77).results[0]) == ["many.parquet"]
    assert s3.kinds() == []


def test_a_segment_of_another_size_than_the_manifest_says_is_damaged(s3, tmp_path):
    source = tmp_path / "many.parquet"
    pq.write_table(pa.table({"id": pa.array(range(400_000), pa.int64())}), source)
    pb.Index.build(INDEX, source, "id", storage_options=s3.options).close()
    (name,) = [name for name in s3.objects if name.endswith(".map.parquet")]
    s3.put(name, s3.objects[name][:-1])
    with pb.Index(INDEX, s3.options) as index:
        with pytest.raises(OSError, match="changed"):
            index.probe("id", 5)
        (finding,) = index.check().findings
    assert finding.message == f"s3://{name}: is another file than the manifest names"


def test_a_table_is_known_by_its_log(s3, tmp_path):
    """No file is asked for its state until it may hold a value; then a changed one is no longer believed."""
    table = delta_tables.make_table(tmp_path / "events", commits=4, partition_by=["day"])
    where, value = "s3://lake/events", str(delta_tables.rows_of(5, 1)["id"][0])

    def upload() -> None:
        for path in table.rglob("*"):
            name = f"lake/events/{path.relative_to(table)}"
            if path.is_file() and name not in s3.objects:
                s3.put(name, path.read_bytes())

    upload()
    with pb.Index.build(INDEX, where, "id", table="auto", storage_options=s3.options) as index:
        s3.forget()
        report = index.probe("id", "nobody", files=where, table="delta")
        assert (report.num_files, report.is_absent) == (8, True)
        assert not [
            each for each in s3.asked if each.path.endswith(".parquet") and "day=" in each.path
        ]
        (file,) = index.probe("id", value, files=where, table="delta").results[0].files
        assert file.verdict == "maybe"
        heads = [each.path for each in s3.asked if "day=" in each.path]
        assert heads == [file.path.removeprefix("s3://")]
        (row,) = pb.find(None, "id", value, index=INDEX, storage_options=s3.options).rows
        assert row.path == file.path
        s3.forget()
        assert index.add().generation == 1
        assert not [each for each in s3.asked if "day=" in each.path]

        write_deltalake(table, delta_tables.rows_of(5000, 10), mode="append", partition_by=["day"])
        upload()
        s3.forget()
        assert index.add().added == 2
        assert len({each.path for each in s3.asked if "day=" in each.path}) == 2
        assert index.check(deep=True).findings == ()

        # Somebody puts another file in its place, which no table does.
        s3.put(file.path.removeprefix("s3://"), data(3))
        (found,) = index.probe("id", value, files=where, table="delta").results[0].files
        assert (found.verdict, found.reason) == ("unknown", "not in the index as it is now")
        (found,) = index.probe("id", value).results[0].files
        assert found.verdict == "unknown"


def test_a_store_that_refuses_makes_nothing_gone(s3, tmp_path):
    """Of a local folder beside it, all is done as ever."""
    for number in range(2):
        s3.put(f"lake/in/{number}.parquet", data(number))
    (tmp_path / "in").mkdir()
    for number in (7, 8):
        (tmp_path / "in" / f"{number}.parquet").write_bytes(data(number))
    sources = ["s3://lake/in", str(tmp_path / "in")]
    with pb.Index.build(tmp_path / "index", sources, "id", storage_options=s3.options) as index:
        (tmp_path / "in" / "8.parquet").unlink()
        s3.faults += [Fault(403, times=99, kind=kind) for kind in ("LIST", "HEAD")]
        problems = [
            (each.problem, "s3://lake/in" in each.message) for each in index.check().findings
        ]
        assert problems == [("unlisted", True), ("gone", False)]
        change = index.add()
        assert (change.removed, change.files, len(change.not_listed)) == (1, 3, 1)
        report = index.probe("id", [1, 1001, 7001, -5])
        verdicts = [each.verdict for each in report.results]
        assert verdicts == ["unknown", "unknown", "maybe", "absent"]
        assert names(report.results[0]) == ["0.parquet"]
        named = index.probe("id", [1, 7001, -5], files=sources)
        assert [each.verdict for each in named.results] == ["unknown", "maybe", "unknown"]
        assert [file.path for file in named.files_unknown] == ["s3://lake/in"]
        s3.faults.clear()
        assert index.check(deep=True).findings == ()


@pytest.mark.parametrize("size", [(5 << 20) - 1, 5 << 20, (10 << 20) + 1])
def test_each_part_of_a_segment_is_counted(s3, size):
    folder = open_folder(Address.of(INDEX, s3.options))
    s3.forget()
    with folder.making("segment") as file:
        file.write(bytes(size))
    assert (folder.requests.put, folder.requests.bytes_up) == (len(s3.asked), size)
    assert len(s3.objects["lake/users.index/segment"]) == size
