"""Room that is reserved for what will be written."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from parquet_bloom.native import _kernel
from parquet_bloom.storage.local_copy import reserve
from parquet_bloom.storage.local_output import COPY_CHUNK, NewFile
from parquet_bloom.storage.source import LocalSource

LENGTH = 64 << 20
BLOCK = 512


@pytest.fixture
def file(tmp_path):
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def calls(monkeypatch):
    """What the kernel is asked for: nothing is reserved."""
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        return False

    monkeypatch.setattr(_kernel, "reserve", refuse)
    return asked


def supported(file):
    """By the file system of temporary files."""
    return _kernel.reserve(file, 0, 1)


def test_room_is_the_files_before_it_is_written(file):
    reserve(file, 0, LENGTH)
    found = os.fstat(file)
    assert found.st_size == 0
    if supported(file):
        assert found.st_blocks * BLOCK >= LENGTH


def test_what_is_written_first_stays(file):
    os.write(file, b"PAR1")
    reserve(file, 0, LENGTH)
    assert os.fstat(file).st_size == 4
    assert os.pread(file, 10, 0) == b"PAR1"


def test_little_is_not_worth_a_call(file, calls):
    reserve(file, 0, (1 << 20) - 1)
    assert calls == []
    reserve(file, 7, 1 << 20)
    assert calls == [(file, 7, 1 << 20)]


def test_a_system_that_cannot():
    assert not _kernel.reserve(-1, 0, 1)
    reserve(-1, 0, LENGTH)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.touch()
    os.truncate(path, LENGTH)
    with closing(LocalSource(str(path))) as opened:
        yield opened


def test_a_copy_reserves_what_it_takes(tmp_path, source, calls):
    with NewFile(str(tmp_path / "new"), 0o600, LENGTH) as new:
        new.copy_prefix(source)
        assert [each[1:] for each in calls] == [(0, LENGTH)]
        new.flush()
        new.commit()
    assert (tmp_path / "new").stat().st_size == LENGTH


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_the_parts_of_a_copy(tmp_path, threads, monkeypatch):
    length = 3 * COPY_CHUNK + 5
    data = np.random.default_rng(1).bytes(length)
    (tmp_path / "source").write_bytes(data + b"end")
    with (
        closing(LocalSource(str(tmp_path / "source"))) as source,
        NewFile(str(tmp_path / "new"), 0o600, length) as new,
        ThreadPoolExecutor(threads) as pool,
    ):
        ranges = []
        copy = new._copy

        def recorded(source, start, length, to):
            ranges.append((start, length, to))
            copy(source, start, length, to)

        monkeypatch.setattr(new, "_copy", recorded)
        for copied in [pool.submit(new.copy_prefix, source) for _ in range(threads)]:
            copied.result()
        new.flush()
        new.commit()
    assert (tmp_path / "new").read_bytes() == data
    starts = range(0, length, COPY_CHUNK)
    assert sorted(ranges) == [(at, min(COPY_CHUNK, length - at), at) for at in starts]


def test_after_an_error_nothing_more_is_copied(tmp_path, source, monkeypatch):
    with NewFile(str(tmp_path / "new"), 0o600, LENGTH) as new:
        monkeypatch.setattr(new, "_copy", fails)
        with pytest.raises(OSError, match="no"):
            new.copy_prefix(source)
        monkeypatch.setattr(new, "_copy", None)
        new.copy_prefix(source)


def fails(*_):
    raise OSError("no")


def test_what_was_not_needed_is_given_back(tmp_path, source):
    with NewFile(str(tmp_path / "new"), 0o600, 0) as new:
        new.append(b"ORC")
        new.will_append_from(source, [(0, LENGTH // 2), (LENGTH // 2, LENGTH)])
        new.append_from(source, 0, 100)
        new.flush()
        new.commit()
    found = (tmp_path / "new").stat()
    assert found.st_size == 103
    assert found.st_blocks * BLOCK <= 1 << 20
