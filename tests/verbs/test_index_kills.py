"""A change of an index that is killed at any step: there is the old index or the new one, the next run makes the new
one, and compact leaves nothing of the killed one behind."""

import errno
import os
import random
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG
from make.dying import builds
from make.index_lakes import write_file, write_filtered

import parquet_bloom as pb
from parquet_bloom.index import building, collecting

MOST_STEPS = 200
# Odd: a process dies before some calls and after others.
STRIDE = 1 if IS_LONG else 11


@pytest.fixture(params=["map", "slices", "auto"])
def original(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """An index of several segments, over a lake that has changed since."""
    source, lake, index = random.Random(4), tmp_path / "lake", tmp_path / "original"

    def write(name: str) -> None:
        if request.param == "map":
            write_file(lake / name, source)
        else:
            write_filtered(lake / name, source, 150, source.choice([0.5, 1]))

    lake.mkdir()
    for number in range(4):
        write(f"{number}.parquet")
    column = "n" if request.param == "map" else "id"
    pb.Index.build(index, lake, column, form=request.param).close()
    with pb.Index(index) as opened:
        for number in (1, 2):
            write(f"{number}.parquet")
            opened.add()
    write("0.parquet")
    write("new.parquet")
    (lake / "3.parquet").unlink()
    return index


@pytest.mark.every(3)
@pytest.mark.parametrize("way", ["index-add", "index-compact"])
def test_killed_at_every_step(tmp_path, original, way):
    index = tmp_path / "index"
    with pb.Index(original) as opened:
        stale = problems(opened)
    assert sorted(problem for problem, _ in stale) == ["changed", "gone", "new"]
    shutil.copytree(original, index)
    generations, found = set(), set()
    with builds(index, way=way) as dies_at:
        for step in range(0, MOST_STEPS, STRIDE):
            is_done = dies_at(step)
            with pb.Index(index) as opened:
                generations.add(opened.generation)
                found.add(problems(opened))
                opened.add()
                opened.compact(everything=True, older_than=0)
                report = opened.check(deep=True)
                assert (report.findings, report.unneeded) == ((), 0)
                named = {*opened._asked.manifest.files, f"manifest-{opened.generation:010}.json"}
                assert {path.name for path in index.iterdir()} == named
            if is_done:
                break
            shutil.rmtree(index)
            shutil.copytree(original, index)
    assert is_done
    assert step > 30
    assert found == ({stale, ()} if way == "index-add" else {stale})
    assert len(generations) >= 2


def problems(index: pb.Index) -> tuple[tuple[str, str], ...]:
    found = index.check(deep=True).findings
    return tuple((finding.problem, finding.message) for finding in found)


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("error", [FULL, MemoryError()], ids=["disk", "memory"])
@pytest.mark.parametrize("form", ["map", "slices"])
def test_what_cannot_be_spilled_ends_the_whole(tmp_path, monkeypatch, form, error):
    """Keys and filters are those of files that were read before,
    of which an index without them would say `absent`."""
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    for number in range(4):
        write_filtered(lake / f"{number}.parquet", random.Random(number), 200)

    def full(dir: str | None = None) -> None:
        raise error

    def room() -> collecting.KeyRoom:
        made = collecting.KeyRoom(0)
        made.most = 10
        return made

    monkeypatch.setattr(collecting.KeyRoom, "within_budget", room)
    monkeypatch.setattr(collecting, "TemporaryFile", full)
    with pytest.raises(type(error)) as raised:
        pb.Index.build(index, lake, "id", form=form)
    if error is FULL:
        assert (raised.value.errno, raised.value.filename) == (FULL.errno, tempfile.gettempdir())
    assert not list(index.glob("*"))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "out of memory"),
        (ValueError("not a number"), "not a number"),
    ],
    ids=["memory", "value"],
)
def test_a_file_that_fails_half_read_is_unknown(tmp_path, monkeypatch, error, reason):
    """Also where others go on, as on the executors of Spark: what was read of it is not all of it."""
    lake, parts = tmp_path / "lake", building.hashes_of_parts
    lake.mkdir()
    for number in range(3):
        table = pa.table({"id": range(100 * number, 100 * number + 100)})
        pq.write_table(table, lake / f"{number}.parquet", row_group_size=50)

    def failing(reader, *others):
        for number, part in enumerate(parts(reader, *others)):
            if number and reader.file.path.endswith("1.parquet"):
                raise error
            yield part

    monkeypatch.setattr(building, "hashes_of_parts", failing)
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        absent, there, lost = index.probe("id", [500, 250, 180]).results
    unknown = (str(lake / "1.parquet"), "unknown", reason)
    assert [(each.path, each.verdict, each.reason) for each in absent.files] == [unknown]
    assert [(each.path, each.verdict, each.reason) for each in lost.files] == [unknown]
    assert {each.path for each in there.files} == {unknown[0], str(lake / "2.parquet")}
    assert [each.verdict for each in (absent, there, lost)] == ["unknown", "maybe", "unknown"]
