"""Ranges copied from one file to another, inside the kernel or by way of a buffer."""

import errno
import os

import numpy as np
import pytest

from parquet_bloom.storage.local_copy import copy_range

BUFFER = 256 << 10
SIZE = 3 * BUFFER


@pytest.fixture(params=[True, False], ids=["on a disk", "elsewhere"])
def is_on_disk(request, monkeypatch):
    monkeypatch.setattr(os, "major", lambda device: int(request.param))
    return request.param


@pytest.fixture
def files(tmp_path):
    """A file of random bytes, and an empty one: their descriptors, and the bytes."""
    data = np.random.default_rng(7).bytes(SIZE)
    (tmp_path / "source").write_bytes(data)
    source = os.open(tmp_path / "source", os.O_RDONLY)
    copy = os.open(tmp_path / "copy", os.O_RDWR | os.O_CREAT)
    yield source, copy, data
    os.close(source)
    os.close(copy)


@pytest.mark.every(4)
@pytest.mark.usefixtures("is_on_disk")
@pytest.mark.parametrize("start", [0, 1, 4096, 5000])
@pytest.mark.parametrize("to", [0, 7, 4096, BUFFER - 1, BUFFER])
@pytest.mark.parametrize("length", [0, 1, 4096, BUFFER + 1, 2 * BUFFER])
def test_exactly_the_range_is_copied(files, start, to, length):
    source, copy, data = files
    os.pwrite(copy, b"\xff" * SIZE, 0)
    assert copy_range(source, start, copy, to, length) == length
    found = os.pread(copy, 2 * SIZE, 0)
    assert found == b"\xff" * to + data[start : start + length] + b"\xff" * (SIZE - to - length)


@pytest.mark.usefixtures("is_on_disk")
@pytest.mark.parametrize("to", [5000, 5001])
def test_a_file_that_ends_early(files, to):
    source, copy, data = files
    assert copy_range(source, 5000, copy, to, SIZE) == SIZE - 5000
    assert os.pread(copy, 2 * SIZE, to) == data[5000:]


@pytest.mark.parametrize("to", [5000 + 4096, 5001])
def test_who_copies(files, is_on_disk, to, monkeypatch):
    """What is on a disk is not the kernel's."""
    source, copy, _ = files
    calls = []

    def unsupported(*arguments):
        calls.append(arguments)
        raise OSError(errno.EXDEV, "of two file systems")

    monkeypatch.setattr(os, "copy_file_range", unsupported)
    assert copy_range(source, 5000, copy, to, 100) == (100 if is_on_disk else 0)
    assert bool(calls) == (not is_on_disk)


def test_writes_may_be_partial(files, monkeypatch):
    source, copy, data = files
    monkeypatch.setattr(os, "major", lambda device: 8)
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, part, at: write(file, part[:1000], at))
    assert copy_range(source, 0, copy, 1, 5000) == 5000
    assert os.pread(copy, SIZE, 1) == data[:5000]


def test_a_disk_that_takes_nothing_is_full(files, monkeypatch):
    source, copy, _ = files
    monkeypatch.setattr(os, "major", lambda device: 8)
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    with pytest.raises(OSError, match="No space left on device"):
        copy_range(source, 0, copy, 1, 5000)
