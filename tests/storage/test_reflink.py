"""Copies that share blocks: asked of the system first, and done without where it cannot."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from make.commands import files_in, outcome

import parquet_bloom as pb
from parquet_bloom.storage import local_output
from parquet_bloom.storage.local_copy import FICLONE

Calls = list[tuple[int, int]]


@pytest.fixture
def cloning(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], Calls]:
    """Makes the system clone, or fail with an error; tells the sizes of both files after it."""

    def make(error: int | None) -> Calls:
        calls: Calls = []

        def ioctl(copy: int, request: int, source: int) -> int:
            assert (request, os.fstat(copy).st_size) == (FICLONE, 0)
            if error is not None:
                raise OSError(error, os.strerror(error))
            os.pwrite(copy, os.pread(source, 1 << 20, 0), 0)
            calls.append((os.fstat(copy).st_size, os.fstat(source).st_size))
            return 0

        def copy_range(*_: object) -> int:
            calls.append((0, 0))
            return 0

        monkeypatch.setattr(fcntl, "ioctl", ioctl)
        monkeypatch.setattr(local_output, "copy_range", copy_range)
        return calls

    return make


@pytest.mark.parametrize("in_place", [True, False])
def test_the_prefix_is_cloned(
    source: Path, expected: bytes, cloning: Callable[[int | None], Calls], in_place: bool
) -> None:
    """Whole, and cut before anything is appended: the new file is as it is without."""
    size = source.stat().st_size
    calls = cloning(None)
    output = source if in_place else source.with_name("out.parquet")
    pb.build(source, None if in_place else output, in_place=in_place, columns=["a"])
    assert output.read_bytes() == expected
    assert calls == [(size, size)]


@pytest.mark.parametrize(
    "error", ["EOPNOTSUPP", "EXDEV", "EINVAL", "ENOTTY", "ENOSYS", "EPERM", "ETXTBSY"]
)
def test_a_file_system_that_cannot(
    source: Path, expected: bytes, cloning: Callable[[int | None], Calls], error: str
) -> None:
    calls = cloning(getattr(errno, error))
    pb.build(source, in_place=True, columns=["a"])
    assert source.read_bytes() == expected
    assert calls == [(0, 0)]


def test_a_disk_that_fails(
    source: Path, plain: bytes, cloning: Callable[[int | None], Calls]
) -> None:
    cloning(errno.EIO)
    result = outcome("build", source, "-c", "a", "--in-place")
    assert (result.code, result.complaint) == (2, f"{source}: Input/output error")
    assert files_in(source.parent) == {source.name: plain}
