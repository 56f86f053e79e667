"""What compact merges, and that it takes no more memory for more keys."""

import random
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.index_lakes import write_file

import parquet_bloom as pb
from parquet_bloom.index.building import NewSegment
from parquet_bloom.index.collecting import KeyCollector, KeyRoom
from parquet_bloom.index.compaction import merges
from parquet_bloom.index.keys import KeyBits, bits_for
from parquet_bloom.index.manifest import IndexedColumn, Manifest, Segment
from parquet_bloom.index.sorted_map import MapFile
from parquet_bloom.index.units import Unit, UnitsFile
from parquet_bloom.storage import open_folder


def segment(
    name: str, keys: int, dead: int = 0, kind: str = "k", column: str = "c", places: int = 100
) -> Segment:
    units = UnitsFile(f"{name}.units.parquet", 1, 100, places, ())
    map = MapFile(f"{name}.map.parquet", 1, keys, KeyBits(32, 7), ())
    return Segment(name, column, kind, units, 100 - dead, map, ((0, dead),) if dead else ())


def merged(*segments: Segment, everything: bool = False) -> list[str]:
    found = merges(Manifest(("c", "d"), segments=segments), everything)
    return [" ".join(segment.id for segment in group) for group in found]


def test_small_segments_are_merged_and_large_ones_stay():
    assert merged(segment("a", 100), segment("b", 90)) == ["b a"]
    assert merged(segment("a", 10_000), segment("b", 90), segment("c", 80)) == ["c b"]
    # Together, the small ones are no longer far smaller.
    assert merged(segment("a", 600), segment("b", 90), segment("c", 80)) == ["c b a"]
    assert merged(segment("a", 1000), segment("b", 999), segment("c", 2)) == ["b a"]
    assert merged(segment("a", 1000), segment("b", 2)) == []
    assert merged(segment("a", 1000), segment("b", 2), everything=True) == ["b a"]


def test_other_columns_and_kinds_are_others():
    alike = [segment("a", 5), segment("b", 5, kind="l"), segment("c", 5, column="d")]
    assert merged(*alike) == merged(*alike, everything=True) == []


def test_segments_of_which_much_is_gone_are_written_anew():
    assert merged(segment("a", 1000, dead=25)) == []
    assert merged(segment("a", 1000, dead=26)) == ["a"]
    assert merged(segment("a", 1000, dead=1), everything=True) == ["a"]
    assert merged(segment("a", 1000), everything=True) == []


def test_no_segment_gets_more_places_than_a_key_can_have():
    some = [segment(name, 10, places=1 << 25) for name in "abc"]
    assert merged(*some, everything=True) == ["a b"]


def test_small_maps_keep_what_large_ones_need():
    """Bits of hashes that were left out never come back."""
    assert bits_for(1000, 10).hash == bits_for(300_000_000, 10).hash == 31
    assert bits_for(1_000_000_000, 10).hash == 33
    assert bits_for(1_000_000_000, 10, at_most=31).hash == 31


@pytest.mark.parametrize("most", [1 << 30, 40, 7])
def test_ranges_of_hashes_that_fit_the_memory(tmp_path, monkeypatch, most):
    source, lake = random.Random(5), tmp_path / "lake"
    lake.mkdir()
    with pb.Index.build(tmp_path / "index", make(lake, 0, source), ["n", "s"]) as index:
        for number in range(1, 6):
            index.add(make(lake, number, source))
        make(lake, 2, source)
        index.add()
        room = KeyRoom(0)
        room.most = most
        monkeypatch.setattr(KeyRoom, "within_budget", lambda: room)
        kinds = {(each.column, each.kind) for each in index._asked.manifest.segments}
        assert index.compact(everything=True).segments == len(kinds)
        assert index.check(deep=True).findings == ()
        for each in index._asked.manifest.segments:
            if each.map is not None:
                rows = pq.read_table(tmp_path / "index" / each.map.name).to_pylist()
                keys = np.array([key for row in rows for key in keys_of(row, each.map.bits)])
                assert keys.size == each.map.num_keys
                assert (np.diff(keys) > 0).all()


@pytest.mark.parametrize("most", [1 << 30, 700])
def test_keys_that_do_not_fit_the_memory(most):
    """Also those that come twice, and hashes in several places."""
    random, file = np.random.default_rng(6), BytesIO()
    hashes = random.integers(0, 1 << 64, 9000, np.uint64)
    in_place = [hashes[800 * place :][:1500] for place in range(10)]
    with KeyRoom(0) as room:
        room.most = most
        collector = KeyCollector(room)
        for place, some in enumerate(in_place):
            collector.add(some, place)
            collector.add(some[:100], place)
        written = collector.write(file, "map", 10)
    expected = [
        key | place
        for place, some in enumerate(in_place)
        for key in written.bits.keys(some).tolist()
    ]
    keys = [key for row in pq.read_table(file).to_pylist() for key in keys_of(row, written.bits)]
    assert keys == sorted(expected)


def keys_of(row: dict, bits: KeyBits) -> list[int]:
    """Of a row of a map, folded or not."""
    hash = row["k"] >> bits.place << bits.place
    return [row["k"], *sorted(hash | place for place in row.get("others", ()))]


def make(lake: Path, number: int, source: random.Random) -> Path:
    path = lake / f"{number}.parquet"
    write_file(path, source)
    return path


def test_a_file_that_failed_twice_hides_no_other(tmp_path):
    """Its units are dead, and those of the next failed file as well."""
    new = NewSegment(IndexedColumn("c", "k"), KeyCollector(KeyRoom(1 << 20)))
    for at, path in enumerate(["good", "bad", "better", "worse"]):
        new.units.append(Unit(path, 1, "1", 0, at, 1, 1))
        new.keys.add(np.array([at << 60], np.uint64), at)
        if path in ("bad", "worse"):
            new.forget_last(path)
            new.forget_last(path)
    written = new.written(open_folder(str(tmp_path)))
    assert (written.dead, written.num_files) == (((1, 2), (3, 4)), 2)
    assert [written.is_dead(number) for number in range(4)] == [False, True, False, True]


def test_what_is_dropped_is_not_told_as_what_is_there(tmp_path):
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    make(lake, 0, random.Random(5))
    outcome("index", "build", "--index", index, "-c", "n", lake)
    path = make(lake, 1, random.Random(6))
    outcome("index", "add", "--index", index)
    path.unlink()
    outcome("index", "add", "--index", index)
    told = outcome("index", "compact", "--index", index).stdout.splitlines()[0]
    assert told == f"{index}: 1 of 2 segments removed, of files that are gone, 1 now"


def test_segments_that_stay_are_told(tmp_path):
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    make(lake, 0, random.Random(5))
    outcome("index", "build", "--index", index, "-c", "n,s", lake)
    told = {
        " ".join(options): outcome("index", "compact", "--index", index, *options).stdout.split(
            "\n"
        )[0]
        for options in ((), ("--all",))
    }
    assert told == {
        "": (
            f"{index}: 2 segments, nothing to merge: too different in size, or of other columns or"
            " types"
        ),
        "--all": f"{index}: 2 segments, nothing to merge: of other columns or types",
    }
