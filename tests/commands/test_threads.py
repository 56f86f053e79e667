"""--threads of the verbs that read no values: really several at a time, and the same answers."""

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import PATIENCE_SECONDS, outcome
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.source import LocalSource
from parquet_bloom.threads import (
    SMALL_CHUNK,
    SMALL_FILTER,
    threads_for_values,
    threads_to_read,
)

ROWS, PARTS, FILES = 30_000, 3, 4
COLUMNS = ("id", "other")


@pytest.fixture(params=["parquet", "orc"])
def ending(request, tmp_path, monkeypatch):
    """Files of three parts, with other filters in each; one file is none."""
    monkeypatch.chdir(tmp_path)
    Path("lake").mkdir()
    for number in range(FILES):
        ids = np.arange(ROWS, dtype=np.int64) + number * ROWS
        table = pa.table(dict.fromkeys(COLUMNS, ids))
        path = f"lake/{number}.{request.param}"
        if request.param == "parquet":
            pq.write_table(table, path, row_group_size=ROWS // PARTS, use_dictionary=False)
        else:
            with orc.ORCWriter(path, stripe_size=1, batch_size=ROWS // PARTS) as writer:
                for part in range(PARTS):
                    writer.write(table.slice(part * ROWS // PARTS, ROWS // PARTS))
        pb.build(path, in_place=True, columns=COLUMNS[: 1 + number % 2])
    Path(f"lake/bad.{request.param}").write_bytes(b"nothing of the kind")
    return request.param


MANY = {
    "inspect": ["inspect", "lake"],
    "inspect verbose": ["inspect", "lake", "--verbose"],
    "inspect json": ["inspect", "lake", "--json"],
    "summary": ["inspect", "lake", "--summary"],
    "probe": ["probe", "lake", "-c", "id,other", "-v", "7", "-v", "-7"],
    "probe json": ["probe", "lake", "-c", "id", "-v", "7", "-v", "-7", "--json"],
    "explain": ["probe", "lake", "-c", "id", "-v", "7", "--explain"],
    "strip": ["strip", "lake", "--dry-run"],
}
ONE = {
    "inspect": ["inspect", "lake/1.{}"],
    "inspect json": ["inspect", "lake/1.{}", "--json"],
    "histogram": ["inspect", "lake/1.{}", "--histogram"],
    "probe json": ["probe", "lake/1.{}", "-c", "id", "-v", "7", "-v", "40000", "--json"],
    "explain": ["probe", "lake/1.{}", "-c", "id", "-v", "7", "--explain"],
    "diff": ["diff", "lake/0.{}", "lake/1.{}", "--all"],
    "diagnosis": ["diff", "lake/0.{}", "lake/1.{}", "--diagnose"],
}


@pytest.mark.parametrize("arguments", MANY.values(), ids=MANY)
def test_many_files_get_the_same_answers_in_order(ending, arguments):
    expected = outcome(*arguments, "--threads", 1)
    assert "bad" in expected.stderr
    assert expected.stdout.count("lake/") >= 3 or "--summary" in arguments
    assert outcome(*arguments, "--threads", 3) == expected
    assert outcome(*arguments) == expected


@pytest.mark.parametrize("arguments", ONE.values(), ids=ONE)
def test_one_file_gets_the_same_answer(ending, arguments):
    arguments = [each.format(ending) for each in arguments]
    expected = outcome(*arguments, "--threads", 1)
    assert expected.stdout or "--histogram" in arguments
    assert outcome(*arguments, "--threads", 3) == expected


def test_stripped_files_are_the_same(ending):
    files = [f"lake/{number}.{ending}" for number in range(FILES)]
    assert outcome("strip", *files, "--output-dir", "one", "--threads", 1).code == 0
    assert outcome("strip", *files, "--output-dir", "three", "--threads", 3).code == 0
    for file in files:
        name = Path(file).name
        assert Path("one", name).read_bytes() == Path("three", name).read_bytes()


class Meeting:
    """Lets the threads of a pool read only once so many of them want to."""

    def __init__(self, num_threads):
        self._barrier = threading.Barrier(num_threads, timeout=PATIENCE_SECONDS)
        self._met = threading.local()
        self.num_met = 0

    def read_at(self, read):
        def met(source, offset, length):
            if threading.current_thread().name.startswith("pbloom") and not hasattr(
                self._met, "done"
            ):
                self._met.done = True
                self._barrier.wait()
                self.num_met += 1
            return read(source, offset, length)

        return met


@pytest.mark.parametrize("arguments", [
    ["inspect", "lake/1.{}"],
    ["inspect", "lake/1.{}", "lake/2.{}"],
    ["inspect", "lake/1.{}", "lake/2.{}", "--summary"],
    ["probe", "lake/1.{}", "-c", "id", "-v", "7"],
    ["probe", "lake/1.{}", "lake/2.{}", "-c", "id", "-v", "7"],
    ["diff", "lake/1.{}", "lake/1.{}"],
    ["strip", "lake/1.{}", "lake/2.{}", "--dry-run"],
])  # fmt: skip
def test_threads_work_at_the_same_time(ending, arguments, monkeypatch):
    meeting = Meeting(2)
    monkeypatch.setattr(LocalSource, "read_at", meeting.read_at(LocalSource.read_at))
    ran = outcome(*(each.format(ending) for each in arguments), "--threads", 2)
    assert ran.stderr == ""
    assert meeting.num_met == 2


@pytest.mark.parametrize("call", [
    lambda path, **more: pb.inspect(path, **more),
    lambda path, **more: pb.probe(path, "id", [7, 8], **more),
    lambda path, **more: pb.diff(path, path, **more),
], ids=["inspect", "probe", "diff"])  # fmt: skip
def test_functions_take_them_too(ending, call, monkeypatch):
    path = f"lake/1.{ending}"
    expected = call(path)
    meeting = Meeting(2)
    monkeypatch.setattr(LocalSource, "read_at", meeting.read_at(LocalSource.read_at))
    assert call(path, threads=2) == expected
    assert meeting.num_met == 2


def test_files_behind_urls_are_read_at_the_same_time(ending, monkeypatch):
    """Without being told to: they wait for each other's network."""
    from parquet_bloom.commands.inputs import Inputs

    inputs = Inputs(expand(["lake"]))
    assert inputs.threads_for(None) == (1, None)
    assert inputs.threads_for(3) == (3, 1)
    monkeypatch.setattr("parquet_bloom.threads.is_url", lambda path: True)
    assert inputs.threads_for(None) == (16, 1)
    assert Inputs(expand([f"lake/1.{ending}"])).threads_for(5) == (1, 5)


def test_small_filters_are_read_by_one_thread(tmp_path):
    """However many they are, unless more are asked for, or they are to be waited for."""
    (tmp_path / "file").touch()
    source = LocalSource(str(tmp_path / "file"))

    def threads(number, size, asked=None):
        source.size = number * size
        return threads_to_read(asked, [source], range(number), lambda _: size)

    assert [threads(each, 32) for each in (1, 1_000, 10**8)] == [1, 1, 1]
    assert [threads(each, SMALL_FILTER + 1) for each in (1, 512, 100_000)] == [1, None, None]
    assert threads(10**8, 32, 2) == 2
    source.path = "s3://lake/file"
    assert threads(1, 32) == 16
    source.close()


def test_values_of_small_chunks_are_read_by_one_thread(tmp_path):
    """Unless more are asked for, or they are to be waited for."""
    (tmp_path / "file").touch()
    source = LocalSource(str(tmp_path / "file"))
    source.size = 10 * SMALL_CHUNK
    assert [threads_for_values(None, source, chunks) for chunks in (1, 9, 10, 1_000)] == [
        *(None, None),
        *(1, 1),
    ]
    assert threads_for_values(2, source, 1_000) == 2
    source.path = "s3://lake/file"
    assert threads_for_values(None, source, 1_000) is None
    source.close()
