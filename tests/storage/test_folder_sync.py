"""A folder is synced after each new name in it; threads that wait for that share a sync."""

import errno
import os
import stat
import threading
import time

import pytest

from parquet_bloom.storage import folder_sync
from parquet_bloom.storage.folder import LocalFolder
from parquet_bloom.storage.folder_sync import sync_folder

NUM_WAITING = 5


class Disk:
    """Says when a sync begins, and goes on when it is told to."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.errors = []
        self.num_syncs = 0

    def fsync(self, descriptor):
        self.num_syncs += 1
        self.begun.release()
        assert self.may_end.acquire(timeout=20)
        if self.errors:
            raise self.errors.pop()


@pytest.fixture
def disk(monkeypatch):
    found = Disk()
    monkeypatch.setattr(os, "fsync", found.fsync)
    return found


def asking(folder, failed):
    def ask():
        try:
            sync_folder(folder)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def wait_for(num_asked, folder):
    end = time.monotonic() + 20
    while folder_sync._waited_for[os.fspath(folder)].asked < num_asked:
        assert time.monotonic() < end


def test_those_that_wait_meanwhile_share_the_next_sync(tmp_path, disk):
    """The one that has begun is not enough for them: it may have read the folder already."""
    failed = []
    threads = [asking(tmp_path, failed)]
    assert disk.begun.acquire(timeout=20)
    threads += [asking(tmp_path, failed) for _ in range(NUM_WAITING)]
    wait_for(1 + NUM_WAITING, tmp_path)
    disk.may_end.release()
    assert disk.begun.acquire(timeout=20)
    threads[0].join()
    assert sum(thread.is_alive() for thread in threads) == NUM_WAITING
    disk.may_end.release()
    for thread in threads:
        thread.join()
    assert (disk.num_syncs, failed, folder_sync._waited_for) == (2, [], {})


def test_a_sync_that_fails_is_good_for_nobody(tmp_path, disk):
    failed = []
    disk.errors = [OSError(errno.EIO, os.strerror(errno.EIO))]
    first = asking(tmp_path, failed)
    assert disk.begun.acquire(timeout=20)
    second = asking(tmp_path, failed)
    wait_for(2, tmp_path)
    disk.may_end.release()
    first.join()
    assert [error.errno for error in failed] == [errno.EIO]
    disk.may_end.release()
    second.join()
    assert (disk.num_syncs, len(failed), folder_sync._waited_for) == (2, 1, {})


def test_folders_do_not_wait_for_each_other(tmp_path, disk):
    failed = []
    threads = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        threads.append(asking(tmp_path / name, failed))
        assert disk.begun.acquire(timeout=20)
    disk.may_end.release(2)
    for thread in threads:
        thread.join()
    assert (disk.num_syncs, failed) == (2, [])


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_a_file_system_that_cannot(tmp_path, disk, number):
    disk.errors = [OSError(number, os.strerror(number))]
    disk.may_end.release()
    sync_folder(tmp_path)
    assert disk.num_syncs == 1


def test_the_folder_of_a_bare_name(disk):
    disk.may_end.release()
    sync_folder("")
    assert disk.num_syncs == 1


def test_a_record_and_its_name_are_on_disk(tmp_path, monkeypatch):
    """Of a table: whoever is told of a commit finds it after the machine went down."""
    calls, fsync, link = [], os.fsync, os.link

    def synced(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def linked(*paths):
        calls.append("name")
        link(*paths)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    assert LocalFolder(str(tmp_path)).put_if_absent("record", b"{}")
    assert calls == ["file", "name", "folder"]
