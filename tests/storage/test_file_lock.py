"""Locks of files that are replaced: who has them, who is refused, and where there are none."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from make.commands import files_in, outcome

import parquet_bloom as pb
from parquet_bloom.errors import RewriteError
from parquet_bloom.files import open_file
from parquet_bloom.storage import local_output, rename

AT_WORK = "another build is changing it or holds its lock: wait until it is done"
NO_LOCKS = "so a concurrent change could be lost: if nobody else writes, use --unconditional"


def is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_locked_from_the_last_look_until_another_has_its_name(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def exchange(one: str, other: str) -> bool:
        found.append(is_locked(Path(other)))
        done = rename.exchange(one, other)
        found.append(is_locked(Path(one)))
        return done

    monkeypatch.setattr(local_output, "exchange", exchange)
    with open_file(source) as file:
        old = os.dup(file.source.descriptor)
        pb.build(source, in_place=True, columns=["a"])
    assert found == [True, True]
    assert not is_locked(source)
    assert not is_locked(Path(f"/proc/self/fd/{old}"))
    os.close(old)


@pytest.mark.parametrize("can_exchange", [True, False])
def test_another_build_between_look_and_rename(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    """It is refused: else one would take the other's filters away, and both would say that they are
    there."""
    complaints = []

    def exchange(one: str, other: str) -> bool:
        if not complaints:
            complaints.append("")
            again = ("build", source, "--in-place", "-c", "a", "--existing", "replace")
            complaints.append(outcome(*again, "--fpp", "0.2").complaint)
            complaints.append(outcome("strip", source, "--in-place").complaint)
        return can_exchange and rename.exchange(one, other)

    pb.build(source, in_place=True, columns=["a"])
    monkeypatch.setattr(local_output, "exchange", exchange)
    pb.strip(source, in_place=True)
    assert complaints == ["", *[f"{source}: {AT_WORK}"] * 2]
    assert files_in(source.parent) == {source.name: plain}


def test_whoever_has_it_locked(source: Path, plain: bytes) -> None:
    with source.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        result = outcome("build", source, "--in-place", "-c", "a")
    assert (result.code, result.complaint) == (2, f"{source}: {AT_WORK}")
    assert files_in(source.parent) == {source.name: plain}


def refusing(code: int, is_refused: Callable[[int], bool]) -> Callable[[Any, int], None]:
    """A flock that fails for some descriptors."""
    real = fcntl.flock

    def flock(file: Any, operation: int) -> None:
        if operation != fcntl.LOCK_UN and is_refused(file):
            raise OSError(code, os.strerror(code))
        real(file, operation)

    return flock


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(
    source: Path, plain: bytes, expected: bytes, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(code, lambda _: True))
    result = outcome("build", source, "--in-place", "-c", "a")
    assert (result.code, result.complaint) == (
        2, f"{source}: its file system does not lock it ({os.strerror(code)}), {NO_LOCKS}"
    )  # fmt: skip
    assert files_in(source.parent) == {source.name: plain}
    assert outcome("build", source, "--in-place", "-c", "a", "--unconditional").code == 0
    assert files_in(source.parent) == {source.name: expected}


def is_read_only(descriptor: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY


def test_nfs_locks_what_is_open_for_writing(
    source: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(errno.EBADF, is_read_only))
    before = len(os.listdir("/proc/self/fd"))
    pb.build(source, in_place=True, columns=["a"])
    assert files_in(source.parent) == {source.name: expected}
    assert len(os.listdir("/proc/self/fd")) == before


def test_nfs_refuses_whoever_comes_second(
    source: Path, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(errno.EBADF, is_read_only))
    with source.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RewriteError, match="another build is changing it"):
            pb.build(source, in_place=True, columns=["a"])
    assert files_in(source.parent) == {source.name: plain}
