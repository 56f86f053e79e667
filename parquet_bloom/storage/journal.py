"""Journals: what a file was before an end is appended to it where it is.

A journal lies beside its file, and is on disk before the first byte is appended:

    {"version": 1, "size": 1048576, "end_sha256": "…", "mtime_ns": 1763…}
    SHA-256 of that line, in hexadecimal

Whoever appends, or cuts back, holds a lock on the file, which ends with its process: a journal without
that lock was left by a process that was killed. A torn journal was never complete, so nothing was
appended.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.disk_sync import sync_file
from parquet_bloom.storage.file_lock import NO_LOCKS, take
from parquet_bloom.storage.folder_sync import sync_folder
from parquet_bloom.storage.notices import notice
from parquet_bloom.storage.source import is_url, local_path, naming, tolerating
from parquet_bloom.vocabulary import RecoveryAction

SUFFIX: Final = ".pbloom-journal"
VERSION: Final = 1

# Of the end of a file: all of most footers, and the last of any other.
END_BYTES: Final = 1 << 20

# More than any journal has.
_MOST_BYTES: Final = 4096

# Errors of files whose times only their owner may set, and of paths beside which no journal can be.
_NO_TIMES = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP}
_NO_JOURNAL = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP}


def journal_of(file: str | os.PathLike[str]) -> Path:
    """The path of a file's journal: beside the file itself, if `file` is a link."""
    real = Path(os.path.realpath(file))
    return real.with_name(f".{real.name}{SUFFIX}")


def undone_by(file: object) -> str:
    """The command that cuts a file back, in backquotes."""
    import shlex

    return f"`pbloom recover {shlex.quote(str(file))}`"


@dataclass(frozen=True, slots=True)
class Journal:
    """A file as it was: its size, the SHA-256 of its last END_BYTES, and when it was modified, in
    nanoseconds since 1970."""

    size: int
    end_sha256: str
    mtime_ns: int

    @classmethod
    def of(cls, descriptor: int) -> Self:
        """Of the file as it is. Raises OSError."""
        status = os.fstat(descriptor)
        return cls(status.st_size, _end_of(descriptor, status.st_size), status.st_mtime_ns)

    @classmethod
    def parse(cls, text: bytes) -> Self | None:
        """None for a torn one. Raises ValueError for one that this version did not write."""
        line, _, rest = text.partition(b"\n")
        if rest != _sha256(line).encode() + b"\n":
            return None
        import json

        found = json.loads(line)
        wanted = {"version": int, "size": int, "end_sha256": str, "mtime_ns": int}
        is_ours = isinstance(found, dict) and found.get("version") == VERSION
        if not is_ours or {name: type(each) for name, each in found.items()} != wanted:
            raise ValueError("was not written by this version of pbloom")
        del found["version"]
        return cls(**found)

    def text(self) -> bytes:
        import json

        fields = {name: getattr(self, name) for name in self.__slots__}
        line = json.dumps({"version": VERSION, **fields}).encode()
        return line + b"\n" + _sha256(line).encode() + b"\n"

    def fits(self, descriptor: int) -> bool:
        """Whether the file still begins with what it was. Raises OSError."""
        is_long_enough = 0 <= self.size <= os.fstat(descriptor).st_size
        return is_long_enough and _end_of(descriptor, self.size) == self.end_sha256

    def restore(self, descriptor: int) -> None:
        """Cut the file back, which must fit, and sync it. Raises OSError."""
        status = os.fstat(descriptor)
        if (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns):
            return
        if status.st_size > self.size:
            os.ftruncate(descriptor, self.size)
        with tolerating(_NO_TIMES):
            os.utime(descriptor, ns=(status.st_atime_ns, self.mtime_ns))
        sync_file(descriptor)


def _end_of(descriptor: int, size: int) -> str:
    """The SHA-256 of the last END_BYTES of the first `size` bytes."""
    length = min(size, END_BYTES)
    return _sha256(_read(descriptor, size - length, length))


def _read(descriptor: int, start: int, length: int) -> bytes:
    data = b""
    while len(data) < length and (
        more := os.pread(descriptor, length - len(data), start + len(data))
    ):
        data += more
    return data


def _sha256(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


# ------------------------------------------------------------------------------------------------
# Files


def open_locked(file: str | os.PathLike[str], name: object) -> int:
    """Open a file to append to it or cut it back, which nobody else can do until the descriptor is
    closed. Raises RewriteError if somebody does, and where there are no locks; OSError."""
    with naming(name):
        # Without O_NONBLOCK, opening a named pipe waits for a reader.
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with naming(name):
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise RewriteError(f"{name}: is a pipe or device, expected a file")
        take(descriptor, name)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError) and error.errno in NO_LOCKS:
            raise RewriteError(
                f"{name}: its file system has no locks ({error.strerror}), so appending is not"
                " safe: replace the file instead"
            ) from None
        raise
    return descriptor


def write_journal(journal: Journal, place: Path) -> None:
    """Raises FileExistsError, OSError; then no journal is left."""
    mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(place, mode, 0o644)
    try:
        try:
            text = journal.text()
            if os.write(descriptor, text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            sync_file(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(place.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(place)
        raise


def remove_journal(place: Path) -> None:
    """Raises OSError."""
    os.unlink(place)
    sync_folder(place.parent)


def _text_of(place: Path) -> bytes:
    """What is in a journal. Raises OSError."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return _read(descriptor, 0, _MOST_BYTES)
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------------------------------
# Recovery


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was done about the journal of a file; sizes of the file, in bytes."""

    action: RecoveryAction
    size_before: int
    size_after: int


def is_left(file: str | os.PathLike[str]) -> bool:
    """Whether a file has a journal."""
    try:
        return stat.S_ISREG(os.lstat(journal_of(file)).st_mode)
    except OSError as error:
        if error.errno in _NO_JOURNAL:
            return False
        raise


def recover(file: Path, *, dry_run: bool = False) -> Recovery:
    """Cut `file` back to what it was, if a killed process left a journal. Raises RewriteError if that
    process is still at work, if the journal does not fit the file, which is left as it is then, and
    if it cannot be written here; OSError."""
    place = journal_of(file)
    if not is_left(file):
        status = os.stat(file)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder, expected a file", str(file))
        return Recovery("nothing", status.st_size, status.st_size)
    with _locked(file) as descriptor, naming(file):
        size = os.fstat(descriptor).st_size
        try:
            journal = Journal.parse(_text_of(place))
        except FileNotFoundError:
            # Its process was done by the time that the lock was free.
            return Recovery("nothing", size, size)
        except ValueError as error:
            raise RewriteError(f"{file}: {place}, the journal of a build, {error}") from None
        if journal is not None:
            _check_fits(journal, file, descriptor)
        if not dry_run:
            if journal is not None:
                journal.restore(descriptor)
            remove_journal(place)
        if journal is None or journal.size == size:
            return Recovery("journal removed", size, size)
        return Recovery("cut back", size, journal.size)


@contextmanager
def _locked(file: Path) -> Iterator[int]:
    try:
        descriptor = open_locked(file, file)
    except FileNotFoundError:
        raise RewriteError(
            f"{file}: no such file, but its journal is still there, {journal_of(file)}: put the file"
            " back, or delete the journal"
        ) from None
    except OSError as error:
        raise RewriteError(
            f"{file}: has the unfinished end of a build that was killed, and cannot be written"
            f" ({error.strerror}): run {undone_by(file)} where it can"
        ) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check_fits(journal: Journal, file: Path, descriptor: int) -> None:
    place = journal_of(file)
    if not journal.fits(descriptor):
        raise RewriteError(
            f"{file}: was changed or replaced after a build was killed: its journal, {place}, no"
            " longer matches: nothing was changed; delete the journal if the file is right"
        )
    # In a folder such as /tmp, others may put a journal beside a file that they could not replace.
    if os.stat(place.parent).st_mode & stat.S_ISVTX:
        owners = {os.geteuid(), os.fstat(descriptor).st_uid}
        if os.lstat(place).st_uid not in owners:
            raise RewriteError(
                f"{file}: its journal, {place}, belongs to another user: not cut back"
            )


def recover_first(file: Path) -> None:
    """The same before a file is changed or overwritten, if need be."""
    if is_left(file):
        recover(file)


def recovered(path: str | os.PathLike[str]) -> bool:
    """Whether a file that cannot be read had an unfinished end, which is cut back now. Raises as
    recover."""
    if is_url(os.fspath(path)) or not is_left(local_path(path)):
        return False
    found = recover(local_path(path))
    if found.action == "cut back":
        notice(
            f"{os.fspath(path)}: had the unfinished end of a build that was killed: cut back from"
            f" {found.size_before:,} to {found.size_after:,} bytes"
        )
    return found.action != "nothing"


def left_in(folder: str, unlisted: list[tuple[str, str]]) -> Iterator[Path]:
    """The files below a folder that have journals, hidden folders included, in order; links are not
    followed, and `unlisted` takes what cannot be listed, with the reason. Raises OSError for the folder itself."""

    def fail(error: OSError) -> None:
        if isinstance(error, PermissionError):
            unlisted.append((error.filename, os.strerror(error.errno or 0)))
        elif error.filename == folder:
            raise error

    for above, names, files in os.walk(folder, onerror=fail):
        names.sort()
        for name in sorted(files):
            if name.startswith(".") and name.endswith(SUFFIX) and len(name) > len(SUFFIX) + 1:
                yield Path(above, name.removesuffix(SUFFIX)[1:])
