"""Maps whose hashes have lists of places are the keys that they were made of, to us and to others."""

import json
import random
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.index import manifest
from parquet_bloom.index.keys import KeyBits
from parquet_bloom.index.map_writer import MapWriter, are_to_fold
from parquet_bloom.native import _kernel

BITS = KeyBits(31, 17)


def some_keys(source: random.Random, count: int) -> np.ndarray:
    """Ascending, of hashes with one place, with a few, and with more than a page has."""
    found: set[int] = set()
    while len(found) < count:
        hash, places = source.getrandbits(BITS.hash), source.choice([1, 1, 2, 3, 16, 200, 9000])
        neighbours = source.random() < 0.3
        first = source.randrange(1 << BITS.place)
        for at in range(places):
            place = (
                (first + at) % (1 << BITS.place) if neighbours else source.getrandbits(BITS.place)
            )
            found.add(hash << BITS.place | place)
    return np.array(sorted(found), np.uint64)


@pytest.mark.parametrize("seed", range(4))
def test_pages_are_the_keys_that_they_are_made_of(seed):
    source = random.Random(seed)
    keys = some_keys(source, 12_000)
    per_page = [7, 128, 4096, 4096][seed]
    pages, sizes, lists, list_sizes, rows, levels, last = _kernel.folded_pages(
        keys, per_page, BITS.place
    )
    at = there = 0
    for number, (size, list_size) in enumerate(zip(sizes, list_sizes, strict=True)):
        both = pages[at : at + size], lists[there : there + list_size]
        expected = keys[number * per_page :][:per_page]
        assert (_kernel.keys_in_page(*both, BITS.place) == expected).all()
        firsts = _kernel.keys_in_page(both[0], None, BITS.place)
        assert (len(firsts), firsts[-1]) == (rows[number], last[number])
        assert levels[number] >= rows[number]
        hash = int(source.choice(expected)) >> BITS.place << BITS.place
        asked = _kernel.find_in_page(*both, hash, BITS.place)
        assert asked == [
            key - hash for key in expected.tolist() if key >> BITS.place << BITS.place == hash
        ]
        assert found_of_many(both, expected) == expected.tolist()
        at, there = at + size, there + list_size
    assert (at, there) == (len(pages), len(lists))


def found_of_many(both: tuple[bytes, bytes], keys: np.ndarray) -> list[int]:
    """All keys of a page, by their hashes, which are asked with others before and behind each."""
    asked = np.unique([key >> BITS.place << BITS.place for key in keys.tolist()])
    near = [asked + (1 << BITS.place), asked[1:] - (1 << BITS.place)]
    every = np.sort(np.concatenate([asked, *near]).astype(np.uint64))
    search = _kernel.KeySearch(every, BITS.place)
    first, second = (
        np.array([[at, len(page), crc32(page)]], np.int64)
        for at, page in zip((0, len(both[0])), both, strict=True)
    )
    search.look_in(b"".join(both), np.array([[0, every.size]], np.int64), first, second)
    return sorted({int(every[at]) + place for at, place in search.found.tolist()})


def written(keys: np.ndarray) -> bytes:
    file = BytesIO()
    writer = MapWriter(file, "map", BITS, keys.size, is_folded=True)
    writer.add(keys)
    writer.close()
    return file.getvalue()


def test_others_read_the_same_keys():
    keys = some_keys(random.Random(7), 100_000)
    table = pq.read_table(BytesIO(written(keys)))
    found = table["k"].to_numpy() >> BITS.place << BITS.place
    counts = np.array(pa.compute.list_value_length(table["others"]))
    others = np.repeat(found, counts) | pa.compute.list_flatten(table["others"]).to_numpy()
    assert (np.sort(np.concatenate([table["k"].to_numpy(), others])) == keys).all()


def test_a_fifth_less_of_values_in_sixteen_places():
    random = np.random.default_rng(1)
    hashes = random.integers(0, 1 << 20, 4000, np.uint64).repeat(16) << np.uint64(BITS.place)
    keys = np.unique(hashes | random.integers(0, 100_000, hashes.size, np.uint64))
    assert are_to_fold(keys, BITS)
    assert not are_to_fold(keys[::16], BITS)
    plain = BytesIO()
    writer = MapWriter(plain, "map", BITS, keys.size, is_folded=False)
    writer.add(keys)
    assert len(written(keys)) < 0.8 * writer.close().size


def test_damaged_pages_are_refused_or_read():
    source = random.Random(3)
    keys = some_keys(source, 400)
    pages, _, lists, *_ = _kernel.folded_pages(keys, 4096, BITS.place)
    for _ in range(3000):
        both = [bytearray(pages), bytearray(lists)]
        damaged = source.choice(both)
        for _ in range(source.randint(1, 4)):
            damaged[source.randrange(min(len(damaged), 120))] = source.randrange(256)
        if source.random() < 0.3:
            del damaged[source.randrange(len(damaged)) :]
        with suppress(ValueError):
            assert _kernel.keys_in_page(*both, BITS.place).size
        with suppress(ValueError):
            _kernel.find_in_page(*both, source.randrange(1 << 31) << BITS.place, BITS.place)
        with suppress(ValueError):
            found_of_many((bytes(both[0]), bytes(both[1])), keys)


def lake_of(folder: Path, files: int, first: int) -> Path:
    folder.mkdir()
    for number in range(files):
        ids = np.arange(300) + first * number
        pq.write_table(pa.table({"id": ids}), folder / f"{number}.parquet")
    return folder


def test_who_knows_no_folded_maps_refuses_them_in_a_line(tmp_path, monkeypatch):
    alike, index = lake_of(tmp_path / "alike", 3, 0), tmp_path / "index"
    pb.Index.build(index, alike, "id").close()
    monkeypatch.setattr(manifest, "VERSION", 2)
    with pytest.raises(UnsupportedError, match="an index of version 3, expected 2: a newer pbloom"):
        pb.Index(index)


def test_an_index_from_before_there_were_any(tmp_path):
    index = tmp_path / "index"
    lake = lake_of(tmp_path / "lake", 3, 300)
    pb.Index.build(index, lake, "id").close()
    (newest,) = index.glob("manifest-*")
    body = json.loads(newest.read_text())["index"]
    assert body["version"] == 1
    for segment in body["segments"]:
        assert segment["map"].pop("is_folded") is False
    text = json.dumps(body)
    newest.write_text(f'{{"crc32": "{crc32(text.encode()):08x}", "index": {text}}}')
    with pb.Index(index) as found:
        assert [file.path for file in found.probe("id", [299]).results[0].files] == [
            str(lake / "0.parquet")
        ]
        found.add(lake_of(tmp_path / "alike", 3, 0))
        found.compact(everything=True)
        assert found.check(deep=True).findings == ()
        assert len(found.probe("id", [299]).results[0].files) == 4
