"""A file system in memory, and the calls of the system that lead to it while a search runs.

Whatever is below /sim is there, and nowhere else; descriptors from FIRST on are of it. All other paths and
descriptors are those of the system. What it cannot do is what file systems cannot do: see Can.
"""

import builtins
import errno
import fcntl
import io
import os
import stat
import time
from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self
from unittest import mock

from interleavings.search import READ, WRITE, Killed, Process, Touch, Touched, running, step

from parquet_bloom.storage import rename
from parquet_bloom.storage.temporary_files import is_temporary

ROOT = "/sim"
FIRST = 1 << 24
# When everything began, in seconds since 1970.
BEGAN = 1_700_000_000
DEVICE = 7 << 8


@dataclass(frozen=True)
class Can:
    """What a file system can do."""

    exchange: bool = True
    reflink: bool = False
    sync_folders: bool = True
    cases: bool = True
    locks: bool = True
    links: bool = True


USUAL = Can()


@dataclass(eq=False)
class Inode:
    """A file, by whatever names. `written` and `changed`: how often its content and its names were;
    `lock`: the descriptor that has it locked; `made_by`: number of the process and of its files;
    `is_known`: whether it ever had a name that others look at; `born`: its size by then; `synced`: what
    is on disk for sure."""

    made_by: tuple[int, int]
    data: bytes = b""
    mode: int = 0o644
    links: int = 0
    written: int = 0
    changed: int = 0
    modified: int | None = None
    lock: int | None = None
    is_known: bool = False
    born: int = 0
    synced: bytes = b""

    @property
    def number(self) -> int:
        return (self.made_by[0] + 2) * 1000 + self.made_by[1]

    def status(self) -> os.stat_result:
        modified = (BEGAN + self.written) * 10**9 if self.modified is None else self.modified
        changed = (BEGAN + self.changed) * 10**9
        return _status(
            stat.S_IFREG | self.mode, self.number, self.links, len(self.data), modified, changed
        )

    def facts(self) -> Hashable:
        """All that anybody can find out about it."""
        lock = None if self.lock is None else self.lock // FIRST
        return (self.made_by, self.data, self.mode, self.links, self.written, self.modified, lock)


def _status(
    mode: int, number: int, links: int, size: int, modified: int, changed: int
) -> os.stat_result:
    seconds = (modified // 10**9, modified // 10**9, changed // 10**9)
    whole = (mode, number, DEVICE, links, os.getuid(), os.getgid(), size, *seconds)
    nanoseconds = {"st_atime_ns": modified, "st_mtime_ns": modified, "st_ctime_ns": changed}
    return os.stat_result(whole, nanoseconds)


@dataclass
class Opened:
    """A descriptor; of a folder if it has no inode."""

    inode: Inode | None
    process: Process | None
    folder: str | None = None
    at: int = 0


def failed(code: int, path: object = None) -> OSError:
    return OSError(code, os.strerror(code), path)


class FileSystem:
    """A World. `files`: by path, what is there at first."""

    def __init__(self, touched: Touched, files: dict[str, bytes], can: Can = USUAL) -> None:
        self.can = can
        self._touched = touched
        self.entries: dict[str, Inode] = {}
        self._folders = {ROOT}
        self._opened: dict[int, Opened] = {}
        self._made: dict[int, int] = {}
        self._random: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._patches = ExitStack()
        # What each folder has on disk for sure.
        self._on_disk: dict[str, Inode] = {}
        # After so many changes the machine goes down; None if it does not.
        self.steps_left: int | None = None
        for path, data in sorted(files.items()):
            self.put(path, data)

    def _with_entries(self, folders: Container[str]) -> dict[str, Inode]:
        """What is on disk, if these folders are there as they are."""
        kept = {e: i for e, i in self._on_disk.items() if os.path.dirname(e) not in folders}
        return kept | {e: i for e, i in self.entries.items() if os.path.dirname(e) in folders}

    def go_down(self, folders: Container[str], written: Callable[[Inode], bytes]) -> None:
        """The machine goes down: these folders came to the disk as they are, and of each file what
        `written` says."""
        self.entries = self._with_entries(folders)
        for inode in self.entries.values():
            inode.data = inode.synced = written(inode)
            inode.lock = None
        self._on_disk, self.steps_left = dict(self.entries), None
        self._opened.clear()

    # Looking, without a step.

    def put(self, path: str, data: bytes) -> None:
        """A file, and its folders, of nobody."""
        above = os.path.dirname(path)
        while above != "/":
            self._folders.add(self._key(above))
            above = os.path.dirname(above)
        inode = self._inode(data)
        self._enter(path, inode)
        inode.links, inode.synced = 1, data
        self._on_disk[self._key(path)] = inode

    def contents(self) -> dict[str, bytes]:
        return {path: inode.data for path, inode in sorted(self.entries.items())}

    def state(self) -> Hashable:
        return hash(tuple((path, inode.facts()) for path, inode in sorted(self.entries.items())))

    def bury(self, process: Process) -> None:
        for number, opened in list(self._opened.items()):
            if opened.process is process:
                self._forget(number)

    def _forget(self, number: int) -> None:
        opened = self._opened.pop(number, None)
        if opened is not None and opened.inode is not None and opened.inode.lock == number:
            opened.inode.lock = None

    def _key(self, path: Any) -> str:
        name = os.path.normpath(os.fsdecode(path))
        return name if self.can.cases else name.casefold()

    def _inode(self, data: bytes = b"", mode: int = 0o644) -> Inode:
        process = running()
        number = -1 if process is None else process.number
        self._made[number] = self._made.get(number, 0) + 1
        return Inode((number, self._made[number]), data, mode)

    # Steps

    def _step(self, touches: Callable[[], Sequence[Touch]]) -> None:
        if self.steps_left == 0:
            raise Killed
        step(self._touched, touches)

    def _change(self, touches: Callable[[], Sequence[Touch]]) -> None:
        """A step after which something else may be on disk."""
        self._step(touches)
        if self.steps_left is not None:
            self.steps_left -= 1

    def _entry(self, path: Any, how: str) -> list[Touch]:
        key = self._key(path)
        if is_temporary(os.path.basename(key)):
            return []
        touches: list[Touch] = [(("entry", key), how)]
        if how == WRITE:
            touches.append((("folder", os.path.dirname(key)), WRITE))
        return touches

    def _of(self, path: Any, what: str, how: str) -> list[Touch]:
        inode = self.entries.get(self._key(path))
        return [] if inode is None else self._inside(inode, what, how)

    def _inside(self, inode: Inode, what: str, how: str) -> list[Touch]:
        return [((what, inode.made_by), how)] if inode.is_known else []

    def _enter(self, path: Any, inode: Inode) -> None:
        self.entries[self._key(path)] = inode
        if not inode.is_known and not is_temporary(os.path.basename(self._key(path))):
            inode.is_known, inode.born = True, len(inode.data)

    def _saw(self, *found: Hashable) -> None:
        process = running()
        if process is not None:
            process.sees(*found)

    def _at(self, path: Any) -> Inode:
        inode = self.entries.get(self._key(path))
        if inode is None:
            code = errno.EISDIR if self._key(path) in self._folders else errno.ENOENT
            self._saw(code)
            raise failed(code, path)
        return inode

    def open(self, path: Any, flags: int, mode: int = 0o777, **_: Any) -> int:
        makes = flags & os.O_CREAT
        (self._change if makes else self._step)(lambda: self._entry(path, WRITE if makes else READ))
        key = self._key(path)
        inode = self.entries.get(key)
        if inode is None and key in self._folders:
            return self._descriptor(None, key)
        if inode is not None and makes and flags & os.O_EXCL:
            self._saw(errno.EEXIST)
            raise failed(errno.EEXIST, path)
        if inode is None:
            if not makes or os.path.dirname(key) not in self._folders:
                self._saw(errno.ENOENT)
                raise failed(errno.ENOENT, path)
            inode = self._inode(mode=mode & 0o644)
            self._enter(path, inode)
            inode.links = 1
        self._saw(inode.made_by)
        return self._descriptor(inode)

    def _descriptor(self, inode: Inode | None, folder: str | None = None) -> int:
        process = running()
        owner = 0 if process is None else process.number + 1
        self._next[owner] = self._next.get(owner, 0) + 1
        number = (owner + 1) * FIRST + self._next[owner]
        self._opened[number] = Opened(inode, process, folder)
        return number

    def close(self, number: int) -> None:
        opened = self._opened.get(number)
        process = running()
        is_dead = self.steps_left == 0 if process is None else process.is_dead
        if opened is None or is_dead:
            return
        if opened.inode is not None and opened.inode.lock == number and process is opened.process:
            self._step(lambda: self._inside(opened.inode, "lock", WRITE))
        self._forget(number)

    def _file(self, number: int) -> Inode:
        opened = self._opened.get(number)
        if opened is None:
            raise failed(errno.EBADF)
        if opened.inode is None:
            raise failed(errno.EISDIR)
        return opened.inode

    def fstat(self, number: int) -> os.stat_result:
        opened = self._opened[number]
        if opened.inode is None:
            return self._folder_status()
        inode = opened.inode
        self._step(
            lambda: [*self._inside(inode, "size", READ), *self._inside(inode, "names", READ)]
        )
        return self._status_of(inode)

    def _status_of(self, inode: Inode) -> os.stat_result:
        status = inode.status()
        self._saw(inode.made_by, len(inode.data), inode.written, inode.changed, inode.links)
        return status

    def _folder_status(self) -> os.stat_result:
        return _status(stat.S_IFDIR | 0o755, 1, 2, 0, BEGAN * 10**9, BEGAN * 10**9)

    def stat(self, path: Any, **_: Any) -> os.stat_result:
        if isinstance(path, int):
            return self.fstat(path)
        self._step(
            lambda: [
                *self._entry(path, READ),
                *self._of(path, "size", READ),
                *self._of(path, "names", READ),
            ]
        )
        if self._key(path) in self._folders:
            return self._folder_status()
        return self._status_of(self._at(path))

    def lstat(self, path: Any, **_: Any) -> os.stat_result:
        """But for a temporary file, only asked whether there is one, and whether it is a link."""
        if is_temporary(os.path.basename(path)):
            return self.stat(path)
        self._step(lambda: self._entry(path, READ))
        if self._key(path) in self._folders:
            return self._folder_status()
        inode = self._at(path)
        self._saw(True)
        return inode.status()

    def _bytes(self, inode: Inode, start: int, end: int, how: str) -> list[Touch]:
        """What lies behind the file as it first was is another thing than that."""
        found = []
        if start < inode.born:
            found += self._inside(inode, "data", how)
        if end > inode.born:
            found += self._inside(inode, "end", how)
        return found

    def pread(self, number: int, length: int, offset: int) -> bytes:
        inode = self._file(number)
        self._step(lambda: self._bytes(inode, offset, offset + length, READ))
        found = inode.data[offset : offset + length]
        self._saw(found)
        return found

    def preadv(self, number: int, buffers: Sequence[Any], offset: int) -> int:
        done = 0
        for buffer in buffers:
            found = self.pread(number, len(buffer), offset + done)
            buffer[: len(found)] = found
            done += len(found)
        return done

    def pwrite(self, number: int, data: Any, offset: int) -> int:
        inode = self._file(number)
        data = bytes(data)
        if not data:
            return 0
        self._change(
            lambda: [
                *self._bytes(inode, offset, offset + len(data), WRITE),
                *self._inside(inode, "size", WRITE),
            ]
        )
        old = inode.data.ljust(offset, b"\0")
        inode.data = old[:offset] + data + old[offset + len(data) :]
        self._was_written(inode)
        return len(data)

    def _was_written(self, inode: Inode) -> None:
        inode.written += 1
        inode.changed += 1
        inode.modified = None

    def write(self, number: int, data: Any) -> int:
        opened = self._opened[number]
        done = self.pwrite(number, data, opened.at)
        opened.at += done
        return done

    def ftruncate(self, number: int, size: int) -> None:
        inode = self._file(number)
        self._change(
            lambda: [
                *self._bytes(inode, size, len(inode.data), WRITE),
                *self._inside(inode, "size", WRITE),
            ]
        )
        inode.data = inode.data[:size].ljust(size, b"\0")
        self._was_written(inode)

    def fchmod(self, number: int, mode: int) -> None:
        inode = self._file(number)
        self._change(lambda: self._inside(inode, "names", WRITE))
        inode.mode = mode
        inode.changed += 1

    def utime(self, place: Any, ns: tuple[int, int]) -> None:
        inode = self._file(place)
        self._change(lambda: self._inside(inode, "size", WRITE))
        inode.modified = ns[1]
        inode.changed += 1

    def fsync(self, number: int) -> None:
        self._change(list)
        opened = self._opened[number]
        if opened.inode is not None:
            opened.inode.synced = opened.inode.data
            if not self.can.sync_folders:
                # Then there is no other way for its name to come to the disk.
                named = {e: i for e, i in self.entries.items() if i is opened.inode}
                self._on_disk = self._on_disk | named
        elif self.can.sync_folders:
            self._on_disk = self._with_entries({opened.folder or ROOT})
        else:
            raise failed(errno.EINVAL)

    fdatasync = fsync

    def listxattr(self, path: Any, **_: Any) -> list[str]:
        self._step(lambda: self._entry(path, READ))
        self._at(path)
        return []

    def copy_file_range(self, *_: Any, **__: Any) -> int:
        raise failed(errno.EOPNOTSUPP)

    def ioctl(self, number: int, request: int, source: int) -> int:
        """FICLONE."""
        if not self.can.reflink:
            raise failed(errno.EOPNOTSUPP)
        old, new = self._file(source), self._file(number)
        self._change(lambda: [*self._inside(old, "data", READ), *self._inside(new, "data", WRITE)])
        new.data = old.data
        self._was_written(new)
        return 0

    def flock(self, place: Any, operation: int) -> None:
        number = place if isinstance(place, int) else place.fileno()
        if not self.can.locks:
            raise failed(errno.ENOLCK)
        inode = self._file(number)
        if operation == fcntl.LOCK_UN:
            if inode.lock == number:
                self._step(lambda: self._inside(inode, "lock", WRITE))
                inode.lock = None
            return
        self._step(lambda: self._inside(inode, "lock", WRITE))
        is_free = inode.lock in (None, number)
        self._saw(is_free)
        if not is_free:
            raise failed(errno.EWOULDBLOCK)
        inode.lock = number

    def _renames(self, *paths: Any) -> Callable[[], list[Touch]]:
        def touches() -> list[Touch]:
            if self._key(paths[0]) not in self.entries:
                return self._entry(paths[0], READ)
            found = []
            for path in paths:
                found += [*self._entry(path, WRITE), *self._of(path, "names", WRITE)]
            return found

        return touches

    def rename(self, old: Any, new: Any, **_: Any) -> None:
        self._change(self._renames(old, new))
        self._move(old, new)

    replace = rename

    def _move(self, old: Any, new: Any) -> None:
        inode = self._at(old)
        del self.entries[self._key(old)]
        if (there := self.entries.get(self._key(new))) is not None:
            there.links -= 1
            there.changed += 1
        self._enter(new, inode)
        inode.changed += 1

    def renameat2(self, old: Any, new: Any, flag: int) -> bool:
        if flag == rename.RENAME_EXCHANGE and not self.can.exchange:
            return False
        self._change(self._renames(old, new))
        if flag == rename.RENAME_EXCHANGE:
            one, other = self._at(old), self._at(new)
            self._enter(old, other)
            self._enter(new, one)
            one.changed += 1
            other.changed += 1
        elif self._key(new) in self.entries:
            self._saw(errno.EEXIST)
            raise failed(errno.EEXIST, new)
        else:
            self._move(old, new)
        return True

    def link(self, old: Any, new: Any, **_: Any) -> None:
        self._change(self._renames(old, new))
        if not self.can.links:
            raise failed(errno.EPERM)
        inode = self._at(old)
        if self._key(new) in self.entries:
            self._saw(errno.EEXIST)
            raise failed(errno.EEXIST, new)
        self._enter(new, inode)
        inode.links += 1
        inode.changed += 1

    def unlink(self, path: Any, **_: Any) -> None:
        self._change(self._renames(path))
        inode = self._at(path)
        del self.entries[self._key(path)]
        inode.links -= 1
        inode.changed += 1

    remove = unlink

    def _names(self, folder: Any) -> list[str]:
        key = self._key(folder)
        self._step(lambda: [(("folder", key), READ)])
        if key not in self._folders:
            raise failed(errno.ENOENT, folder)
        names = sorted(os.path.basename(e) for e in self.entries if os.path.dirname(e) == key)
        self._saw(*(name for name in names if not is_temporary(name)))
        return names

    def listdir(self, folder: Any) -> list[str]:
        return self._names(folder)

    def scandir(self, folder: Any) -> "Scan":
        key = self._key(folder)
        return Scan([Found(self, name, os.path.join(key, name)) for name in self._names(folder)])

    def open_file(self, path: Any, mode: str = "r", *_: Any, **__: Any) -> Any:
        flags = {
            "rb": os.O_RDONLY,
            "xb": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
        }[mode]
        file = File(self, self.open(path, flags))
        return io.BufferedWriter(file) if mode == "xb" else io.BufferedReader(file)

    def urandom(self, length: int) -> bytes:
        process = running()
        number = -1 if process is None else process.number
        self._random[number] = self._random.get(number, 0) + 1
        return (number + 2).to_bytes(1) + self._random[number].to_bytes(length - 1)

    # In place of the system

    def __enter__(self) -> Self:
        for name in (
            *("open", "close", "fstat", "stat", "lstat", "pread", "preadv", "pwrite", "write"),
            *("ftruncate", "fchmod", "utime", "fsync", "fdatasync", "listxattr", "copy_file_range"),
            *("rename", "replace", "link", "unlink", "remove", "listdir", "scandir"),
        ):
            self._patch(os, name, getattr(self, name))
        self._patch(fcntl, "flock", self.flock)
        self._patch(fcntl, "ioctl", self.ioctl)
        self._patch(io, "open", self.open_file)
        self._patch(rename, "_rename", self.renameat2)
        self._patch(builtins, "open", self.open_file)
        self._patches.enter_context(mock.patch.object(os, "urandom", self.urandom))
        self._patches.enter_context(mock.patch.object(time, "time", return_value=BEGAN))
        return self

    def _patch(self, module: Any, name: str, ours: Callable[..., Any]) -> None:
        real = getattr(module, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if arguments and _is_ours(arguments[0]):
                return ours(*arguments, **named)
            return real(*arguments, **named)

        self._patches.enter_context(mock.patch.object(module, name, call))

    def __exit__(self, *_: object) -> None:
        self._patches.close()


def _is_ours(place: Any) -> bool:
    if isinstance(place, int):
        return place >= FIRST
    if isinstance(place, bytes):
        return place.startswith(b"/sim/") or place == b"/sim"
    if isinstance(place, str | os.PathLike):
        text = os.fspath(place)
        return isinstance(text, str) and (text.startswith("/sim/") or text == ROOT)
    return False


class Found:
    """What scandir finds."""

    def __init__(self, files: FileSystem, name: str, path: str) -> None:
        self._files, self.name, self.path = files, name, path

    def is_file(self, **_: Any) -> bool:
        return True

    def stat(self, **_: Any) -> os.stat_result:
        return self._files.stat(self.path)


class Scan:
    def __init__(self, found: list[Found]) -> None:
        self._found = found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __iter__(self) -> Iterator[Found]:
        return iter(self._found)


class File(io.RawIOBase):
    """What open() returns."""

    def __init__(self, files: FileSystem, number: int) -> None:
        self._files, self._number, self._at = files, number, 0

    def fileno(self) -> int:
        return self._number

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._files.pread(self._number, len(buffer), self._at)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def write(self, data: Any) -> int:
        done = self._files.pwrite(self._number, data, self._at)
        self._at += done
        return done

    def close(self) -> None:
        if not self.closed:
            self._files.close(self._number)
        super().close()
