"""Room that is reserved for what will be written."""

import os
from contextlib import closing

import pytest

from parquet_bloom.storage import reserve as reserving
from parquet_bloom.storage.local_output import NewFile
from parquet_bloom.storage.reserve import reserve
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
    """What fallocate is asked for: nothing is reserved."""
    asked = []

    def refuse(*arguments):
        asked.append(arguments)
        return -1

    monkeypatch.setattr(reserving, "_fallocate", lambda: refuse)
    return asked


def supported(file):
    """By the file system of temporary files."""
    call = reserving._fallocate()
    return call is not None and call(file, 1, 0, 1) == 0


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
    reserve(file, 0, LENGTH // 2 - 1)
    assert calls == []
    reserve(file, 7, LENGTH // 2)
    assert calls == [(file, 1, 7, LENGTH // 2)]


def test_a_c_library_without_it(file, monkeypatch):
    monkeypatch.setattr(reserving, "_fallocate", lambda: None)
    reserve(file, 0, LENGTH)
    assert os.fstat(file).st_blocks == 0


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
        assert [each[1:] for each in calls] == [(1, 0, LENGTH)]
        new.flush()
        new.commit()
    assert (tmp_path / "new").stat().st_size == LENGTH


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
