"""`pb.Cache`: the same answers in fewer requests, and never those about a file that has changed."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make.object_server import Fault
from make.s3_server import S3Server

import parquet_bloom as pb
from parquet_bloom.storage import cache as module

FILES = 5
LAKE = "s3://lake/in"


def data(number: int, folder: Path) -> bytes:
    """400 ids from 1,000 times its number on, in four row groups with filters."""
    ids = pa.array(range(1000 * number, 1000 * number + 400), pa.int64())
    plain, path = folder / "plain", folder / "filtered"
    pq.write_table(pa.table({"id": ids, "text": ids.cast(pa.string())}), plain, row_group_size=100)
    pb.build(plain, path, columns=["id"], fpp=1e-6, overwrite=True)
    return path.read_bytes()


@pytest.fixture
def lake(s3: S3Server, tmp_path: Path) -> S3Server:
    for number in range(FILES):
        s3.put(f"lake/in/{number}.parquet", data(number, tmp_path))
    s3.forget()
    return s3


def requests(server: S3Server) -> dict[str, int]:
    """What was asked since the last time."""
    found = {kind: server.count(kind) for kind in ("GET", "HEAD", "LIST") if server.count(kind)}
    server.forget()
    return found


@pytest.fixture
def is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of this moment are kept, too."""
    monkeypatch.setattr(module, "_SETTLED", -1)


def test_what_was_read_is_not_asked_for_again(lake: S3Server) -> None:
    cache = pb.Cache()

    def left(id: int) -> list[dict[str, Any]]:
        options = lake.options
        found = pb.row_groups(LAKE, {"id": id}, storage_options=options, cache=cache)
        return found.to_pylist()

    expected = [{"path": f"{LAKE}/2.parquet", "row_group": 1, "rows": 100}]
    assert left(2150) == expected
    assert requests(lake) == {"GET": FILES, "LIST": 1}
    assert left(2150) == expected
    # The listing says in which state the files are.
    assert requests(lake) == {"LIST": 1}
    # A filter that nobody has asked before; the footer is there.
    assert left(7) == [{"path": f"{LAKE}/0.parquet", "row_group": 0, "rows": 100}]
    assert requests(lake) == {"GET": 1, "LIST": 1}
    lake.put("lake/in/2.parquet", lake.objects["lake/in/3.parquet"])
    assert left(2150) == []
    assert requests(lake) == {"GET": 1, "LIST": 1}
    cache.clear()
    assert cache.num_bytes == 0
    assert left(2150) == []
    assert requests(lake) == {"GET": FILES, "LIST": 1}


def test_files_that_are_named_are_asked_for_their_state(lake: S3Server) -> None:
    cache, name = pb.Cache(), f"{LAKE}/2.parquet"
    for expected in ({"GET": 1, "HEAD": 1}, {"HEAD": 1}):
        assert (
            pb.row_groups(name, {"id": 7}, storage_options=lake.options, cache=cache).num_rows == 0
        )
        assert requests(lake) == expected


def test_of_an_index_only_the_manifest_is_read_again(lake: S3Server) -> None:
    place = "s3://lake/users.index"
    pb.Index.build(place, LAKE, "id", storage_options=lake.options).close()
    lake.forget()
    cache = pb.Cache()
    options: dict[str, Any] = {"index": place, "storage_options": lake.options, "cache": cache}
    first = pb.row_groups(None, {"id": [7, 2150]}, **options)
    assert first["row_group"].to_pylist() == [0, 1]
    requests(lake)
    assert pb.row_groups(None, {"id": [7, 2150]}, **options).equals(first)
    # The manifest, found by a listing, and the states of the files that the index knows.
    assert requests(lake) == {"GET": 1, "HEAD": FILES, "LIST": 1}


def test_pages_with_rows_are_not_kept(lake: S3Server) -> None:
    cache = pb.Cache()
    options: dict[str, Any] = {"storage_options": lake.options, "cache": cache}
    assert pb.row_groups(LAKE, {"id": [2150, 3001]}, **options).num_rows == 2
    held = cache.num_bytes
    requests(lake)
    assert pb.rows(LAKE, {"id": 3001}, **options)["text"].to_pylist() == ["3001"]
    assert cache.num_bytes == held
    # Of one file, the pages, all of which are of the version that was found.
    assert requests(lake) == {"GET": 1, "LIST": 1}


def test_probe_and_find_ask_what_is_there(lake: S3Server) -> None:
    cache = pb.Cache()
    options: dict[str, Any] = {"storage_options": lake.options, "cache": cache}
    for of_footers in ({"GET": FILES, "LIST": 1}, {"LIST": 1}):
        report = pb.probe(f"{LAKE}/", "id", [2150, 5], **options)
        assert [each.is_absent for each in report.reports] == [False, True, False, True, True]
        assert requests(lake) == of_footers
    assert pb.probe_values(f"{LAKE}/", "id", [2150, 7], **options).maybe == 2
    assert requests(lake) == {"LIST": 1}
    name = f"{LAKE}/2.parquet"
    assert not pb.probe(name, "id", 2150, **options).is_absent
    assert requests(lake) == {"HEAD": 1}
    held = cache.num_bytes
    report = pb.find(LAKE, "id", 2150, columns=["text"], **options)
    assert (report.values["text"].to_pylist(), report.files_by_statistics) == (["2150"], FILES - 1)
    # Of one file, the pages, which are not kept.
    assert (requests(lake), cache.num_bytes) == ({"GET": 1, "LIST": 1}, held)
    lake.put("lake/in/2.parquet", lake.objects["lake/in/3.parquet"])
    assert pb.find(LAKE, "id", 2150, **options).is_absent
    assert pb.probe(name, "id", 2150, **options).is_absent


def test_find_by_an_index_reads_it_once(lake: S3Server) -> None:
    place = "s3://lake/users.index"
    pb.Index.build(place, LAKE, "id", storage_options=lake.options).close()
    cache = pb.Cache()
    options: dict[str, Any] = {"index": place, "storage_options": lake.options, "cache": cache}
    counts = []
    for _ in range(2):
        lake.forget()
        assert [row.row for row in pb.find(None, "id", [7, 2150], **options).rows] == [7, 150]
        counts.append(requests(lake))
    # The manifest, found by a listing, the states of two files, and their pages.
    assert counts[1] == {"GET": 3, "HEAD": 2, "LIST": 1}
    assert counts[0]["GET"] > 3


def test_a_file_that_is_replaced_meanwhile_is_not_mixed_with_the_old_one(
    lake: S3Server, tmp_path: Path
) -> None:
    cache = pb.Cache()
    options: dict[str, Any] = {"storage_options": lake.options, "cache": cache}
    pb.row_groups(LAKE, {"id": 2150}, **options)
    other = data(5, tmp_path)
    assert len(other) == len(lake.objects["lake/in/2.parquet"])

    def replace() -> None:
        lake.put("lake/in/2.parquet", other)

    # Behind the listing, when its pages are asked for.
    lake.faults.append(Fault(do=replace, kind="GET"))
    with pytest.raises((pb.RewriteError, OSError), match=r"2\.parquet: changed while it was read"):
        pb.rows(LAKE, {"id": 2150}, **options)
    assert pb.rows(LAKE, {"id": 5003}, **options)["text"].to_pylist() == ["5003"]


def test_files_of_a_table_are_never_replaced(lake: S3Server, tmp_path: Path) -> None:
    """Their states are in the log; one to which filters were appended since is read as it is recorded."""
    write_deltalake(tmp_path / "t", pa.table({"id": range(300)}), partition_by=None)
    for path in (tmp_path / "t").rglob("*"):
        if path.is_file():
            lake.put(f"lake/t/{path.relative_to(tmp_path / 't')}", path.read_bytes())
    (name,) = [name for name in lake.objects if "lake/t/part" in name]
    lake.put(name, lake.objects[name] + b"more")
    cache, answers = pb.Cache(), []
    for _ in range(2):
        options: dict[str, Any] = {"storage_options": lake.options, "cache": cache}
        answers.append(pb.row_groups("s3://lake/t", {"id": 5}, table="delta", **options))
        read = [asked for asked in lake.asked if "/t/part" in asked.path]
        lake.forget()
    assert answers[0].equals(answers[1])
    assert answers[0]["rows"].to_pylist() == [300]
    assert read == []


@pytest.mark.usefixtures("is_settled")
@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_without_a_cache(tmp_path: Path, seed: int) -> None:
    """Whatever becomes of the files: replaced, written over in place with the same size and time, or longer."""
    chance = random.Random(seed)
    lake = tmp_path / "lake"
    lake.mkdir()
    versions = [data(number, tmp_path) for number in range(6)]
    paths = [lake / f"{number}.parquet" for number in range(3)]
    for path, version in zip(paths, versions, strict=False):
        path.write_bytes(version)
    cache = pb.Cache()
    source = pb.polars_source(str(lake), cache=cache)

    def replaced(path: Path) -> None:
        (tmp_path / "new").write_bytes(chance.choice(versions))
        os.replace(tmp_path / "new", path)

    def in_place(path: Path) -> None:
        before = path.stat()
        path.write_bytes(chance.choice(versions))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    changes: list[Callable[[Path], None]] = [replaced, in_place]
    some = 0
    for _ in range(25):
        if chance.random() < 0.5:
            chance.choice(changes)(chance.choice(paths))
        wanted = [1000 * chance.randrange(6) + chance.randrange(500) for _ in range(3)]
        expected = pb.row_groups(str(lake), {"id": wanted})
        assert pb.row_groups(str(lake), {"id": wanted}, cache=cache).equals(expected)
        rows = pb.rows(str(lake), {"id": wanted}, cache=cache)
        assert rows.equals(pb.rows(str(lake), {"id": wanted}))
        found = source.filter(pl.col("id") == wanted[0]).collect()
        assert found.height == pb.rows(str(lake), {"id": wanted[0]}).num_rows
        some += rows.num_rows > 0
    assert some > 3
    assert cache.hits > cache.misses > 0


def test_a_file_of_this_moment_is_not_kept(tmp_path: Path) -> None:
    """Its time of change would be the same after another one."""
    path = tmp_path / "a.parquet"
    path.write_bytes(data(0, tmp_path))
    cache = pb.Cache()
    assert pb.row_groups(path, {"id": 5}, cache=cache).num_rows == 1
    assert (cache.num_bytes, cache.hits) == (0, 0)


@pytest.mark.usefixtures("is_settled")
def test_it_holds_no_more_than_it_may_from_any_threads(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    version = data(0, tmp_path)
    for number in range(300):
        (lake / f"{number:03}.parquet").write_bytes(version)
    cache = pb.Cache(1 << 20)

    def asked(number: int) -> tuple[int, int]:
        found = pb.row_groups(str(lake / f"{number % 300:03}.parquet"), {"id": 150}, cache=cache)
        return found.num_rows, cache.num_bytes

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(asked, range(900)))
    assert {num_rows for num_rows, _ in found} == {1}
    assert max(num_bytes for _, num_bytes in found) < (1 << 20) + 8 * (module.BLOCK_BYTES + 1000)
    assert (1 << 20) - module.BLOCK_BYTES - 1000 < cache.num_bytes <= 1 << 20
    # What was asked for last is there, and what nobody asked for since is not.
    before = cache.misses
    asked(899)
    assert cache.misses == before
    asked(0)
    assert cache.misses > before


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"max_bytes: 5, expected 1048576 or more"):
        pb.Cache(5)
    with pytest.raises(TypeError, match=r"max_bytes: '1 GB', expected a number of bytes"):
        pb.Cache("1 GB")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"cache: a dict, expected pb\.Cache\(\)"):
        pb.row_groups("a.parquet", {"id": 5}, cache={})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"cache: a dict, expected pb\.Cache\(\)"):
        pb.probe("a.parquet", "id", 5, cache={})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"cache: a dict, expected pb\.Cache\(\)"):
        pb.find("a.parquet", "id", 5, cache={})  # type: ignore[arg-type]
    assert repr(pb.Cache()) == "<Cache: 0 of 268,435,456 bytes, 0 hits, 0 misses>"
