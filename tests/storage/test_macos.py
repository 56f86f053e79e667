"""What Linux has and macOS has not: each call has another way there, and files change as they do here."""

import ctypes
import errno
import fcntl
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT

ABSENT = ("copy_file_range", "fdatasync", "getxattr", "listxattr", "sched_getaffinity", "setxattr")
F_FULLFSYNC = 51

# Run before anything of ours is imported. No other processor, but all that Python knows of the system.
AS_ON_MACOS = f"""
import ctypes, errno, fcntl, os, sys
for name in {ABSENT}:
    delattr(os, name)
del errno.ENOKEY
fcntl.F_FULLFSYNC = {F_FULLFSYNC}
class Library:
    def __init__(self, *names, **options): pass
    def fcopyfile(self, source, copy, state, flags): return 0
ctypes.CDLL = Library
sys.platform = "darwin"
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of `storage` as it is there."""
    for name in ABSENT:
        monkeypatch.delattr(os, name)
    monkeypatch.delattr(errno, "ENOKEY")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", F_FULLFSYNC, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")

    def load(name: str) -> SimpleNamespace:
        return SimpleNamespace(
            **runpy.run_path(str(ROOT / "parquet_bloom" / "storage" / f"{name}.py"))
        )

    return load


def test_syncs_reach_the_disk(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    failing: list[int] = []

    def asking(descriptor: int, command: int) -> None:
        asked.append((descriptor, command))
        if failing:
            raise OSError(failing[0], "")

    monkeypatch.setattr(fcntl, "fcntl", asking)
    monkeypatch.setattr(os, "fsync", lambda descriptor: asked.append((descriptor, 0)))
    disk_sync = module("disk_sync")
    disk_sync.sync_data(7)
    disk_sync.sync_file(8)
    assert asked == [(7, F_FULLFSYNC), (8, F_FULLFSYNC)]

    asked.clear()
    failing.append(errno.ENOTSUP)
    disk_sync.sync_file(9)
    assert asked == [(9, F_FULLFSYNC), (9, 0)]

    failing[0] = errno.EIO
    with pytest.raises(OSError, match=rf"\[Errno {errno.EIO}\]"):
        disk_sync.sync_file(9)


def test_attributes_are_copied(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, asked = tmp_path / "old", []
    path.write_bytes(b"")

    def fcopyfile(source: int, copy: int, state: None, flags: int) -> int:
        asked.append((os.readlink(f"/proc/self/fd/{source}"), copy, flags))
        return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(fcopyfile=fcopyfile))
    module("attributes").copy_attributes(str(path), 7)
    # COPYFILE_ACL, COPYFILE_XATTR.
    assert asked == [(str(path), 7, 1 | 4)]


def test_renames_that_lose_nothing(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    failing: list[int] = []

    def renamex_np(old: bytes, new: bytes, flags: int) -> int:
        asked.append((old, new, flags))
        ctypes.set_errno(failing[0] if failing else 0)
        return -1 if failing else 0

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(renamex_np=renamex_np))
    rename = module("rename")
    assert rename.rename_to_free("a", "b")
    assert rename.exchange("a", "b")
    # RENAME_EXCL, RENAME_SWAP.
    assert asked == [(b"a", b"b", 4), (b"a", b"b", 2)]
    failing.append(errno.ENOTSUP)
    assert not rename.exchange("a", "b")
    failing[0] = errno.EEXIST
    with pytest.raises(FileExistsError):
        rename.rename_to_free("a", "b")


def test_copies(module: Any, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(bytes(range(256)) * 4000)
    copying = module("local_copy")
    with (tmp_path / "old").open("rb") as old, (tmp_path / "new").open("wb") as new:
        assert not copying.clone(old.fileno(), new.fileno(), 10)
        assert copying.copy_range(old.fileno(), 3, new.fileno(), 0, 900_000) == 900_000
    assert (tmp_path / "new").read_bytes() == (tmp_path / "old").read_bytes()[3:900_003]


def test_files_are_changed(tmp_path: Path) -> None:
    """In the place of another, in a new file, and by appending."""
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"id": list(range(10_000)), "name": list(range(10_000))}), path)
    work = f"""{AS_ON_MACOS}
import parquet_bloom as pb
pb.build("events.parquet", "new.parquet", columns="id")
pb.build("events.parquet", columns="id", in_place=True)
pb.build("events.parquet", columns="name", append_in_place=True)
for name in ("new.parquet", "events.parquet"):
    checked = pb.validate(name)
    print(checked.checked.filters, len(checked.findings))
"""
    done = subprocess.run(
        [sys.executable, "-c", work],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1 0\n2 0\n", "")
