"""What somebody else wrote into an index, with right checksums, is an error in one line, or an answer."""

import json
import random
from binascii import crc32
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.errors import ParquetBloomError

ODD = [None, -1, 0, 1, 1 << 40, 1 << 70, "", [], {}, "x", 1.5, True, [1], ["a"], {"a": 1}]


@pytest.fixture(scope="module", params=["map", "slices"])
def index(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "lake").mkdir()
    for number in range(3):
        plain, path = folder / "plain.parquet", folder / "lake" / f"{number}.parquet"
        pq.write_table(pa.table({"id": range(number, 900, 2)}), plain, row_group_size=200)
        parts = [0, 1] if number == 1 else None
        pb.build(plain, path, columns=["id"], row_groups=parts, fpp=(number + 1) / 100)
    pb.Index.build(folder / "index", folder / "lake", "id", form=request.param).close()
    return folder / "index"


def paths(item: Any, path: tuple = ()) -> Iterator[tuple]:
    """Where everything in a JSON document is."""
    parts = (
        item.items()
        if isinstance(item, dict)
        else enumerate(item)
        if isinstance(item, list)
        else ()
    )
    for key, each in parts:
        yield (*path, key)
        yield from paths(each, (*path, key))


def write(manifest: Path, found: Any) -> None:
    body = json.dumps(found).encode()
    head = f'{{"crc32": "{crc32(body):08x}", "index": '
    manifest.write_bytes(head.encode() + body + b"}")


def ask(index: Path) -> None:
    """Everything that reads an index, which may raise errors of ours, of one line."""
    messages = []
    for values in ([7], [10**9], list(range(400))):
        try:
            with pb.Index(index) as found:
                found.probe("id", values)
                found.check()
        except (ParquetBloomError, OSError) as error:
            messages.append(str(error))
    assert "\n" not in "".join(messages)


@pytest.mark.parametrize("seed", range(4))
def test_any_manifest(index, seed):
    (manifest,) = index.glob("manifest-*")
    whole = manifest.read_bytes()
    found = json.loads(whole)["index"]
    places = list(paths(found))
    rng = random.Random(seed)
    for _ in range(60):
        changed = json.loads(json.dumps(found))
        *above, last = rng.choice(places)
        item = changed
        for key in above:
            item = item[key]
        if rng.random() < 0.2:
            del item[last]
        else:
            item[last] = rng.choice(ODD)
        write(manifest, changed)
        ask(index)
    manifest.write_bytes(whole)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(4))
def test_any_units_and_directories(index, seed):
    (manifest,) = index.glob("manifest-*")
    whole = manifest.read_bytes()
    rng = random.Random(seed)
    for _ in range(40):
        found = json.loads(whole)["index"]
        (segment,) = found["segments"]
        of = rng.choice(["units", "map"] if segment["map"] else ["units"])
        path = index / segment[of]["name"]
        kept = path.read_bytes()
        data = bytearray(kept)
        group = segment[of]["groups"][0]
        start, end = (group[0], group[0] + group[1]) if of == "units" else (group[2], group[2] + 16)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(start, end)] = rng.randrange(256)
        group[-1] = crc32(data[start:end])
        path.write_bytes(data)
        write(manifest, found)
        ask(index)
        path.write_bytes(kept)
    manifest.write_bytes(whole)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(4))
def test_any_slices(index, seed):
    """With the checksums of whatever is there; and anything in their footers."""
    (manifest,) = index.glob("manifest-*")
    (segment,) = json.loads(manifest.read_bytes())["index"]["segments"]
    rng = random.Random(seed)
    for found in (segment["slices"] or {"files": []})["files"] * 10:
        path, rows = index / found["name"], 256 * ((found["num_slots"] + 7) // 8)
        kept = path.read_bytes()
        data, at = bytearray(kept), found["starts"][0] + found["header"]
        sums = found["starts"][0] + found["num_blocks"] * (found["header"] + rows)
        for _ in range(5):
            data[rng.randrange(at, at + rows)] = rng.randrange(256)
        data[sums : sums + 4] = crc32(data[at : at + rows]).to_bytes(4, "little")
        for _ in range(rng.choice([0, 3])):
            data[rng.randrange(sums, len(data))] = rng.randrange(256)
        path.write_bytes(data)
        ask(index)
        path.write_bytes(kept)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(4))
def test_any_footer(index, seed):
    rng = random.Random(seed)
    for path in sorted(index.glob("*.parquet")):
        kept = path.read_bytes()
        footer = len(kept) - 8 - int.from_bytes(kept[-8:-4], "little")
        for _ in range(12):
            data = bytearray(kept)
            for _ in range(rng.randint(1, 3)):
                data[rng.randrange(footer, len(data))] = rng.randrange(256)
            path.write_bytes(data)
            ask(index)
        path.write_bytes(kept)
