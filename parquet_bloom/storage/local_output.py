"""Atomic outputs: a hidden temporary file, renamed to the target once it is complete.

It is created in the target's folder, so that a kill at any point leaves the old file or the new one.
From the last look at the file that it replaces, a Replacement holds its lock, so that no other of ours
comes between. Where the file system can, the file is exchanged with the new one and looked at: if somebody
else's had taken its place, that is put back. A Replacement is synced to disk before the rename, and its folder after
it, because the old content has no other copy; the old file, under the temporary name now, goes only
then. A NewFile is not synced: if the machine goes down, its source is still there. What a killed output
leaves is found by its name and age.
"""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Lock
from types import TracebackType
from typing import Final, Self

from parquet_bloom.errors import RewriteError, complaint
from parquet_bloom.storage.attributes import NO_ATTRIBUTE, copy_attributes
from parquet_bloom.storage.disk_sync import sync_data, sync_file
from parquet_bloom.storage.file_lock import held
from parquet_bloom.storage.folder_sync import sync_folder
from parquet_bloom.storage.journal import (
    SUFFIX as JOURNAL_SUFFIX,
)
from parquet_bloom.storage.journal import (
    Journal,
    journal_of,
    open_locked,
    remove_journal,
    undone_by,
    write_journal,
)
from parquet_bloom.storage.local_copy import clone, copy_range, reserve, write_at
from parquet_bloom.storage.rename import exchange, rename_to_free
from parquet_bloom.storage.source import (
    LocalSource,
    Source,
    changed,
    making_in,
    naming,
    tolerating,
    version_of,
)
from parquet_bloom.storage.temporary_files import TEMPORARY_SUFFIX, hidden_name

COPY_CHUNK = 16 << 20

# Errors of file systems that do not support hard links.
NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}


class Output(ABC):
    """A context in which a temporary file grows, from the first `prefix` bytes of a source on; it
    becomes the target on commit(), or is removed. OSErrors name `target`."""

    temporary: str

    def __init__(self, target: object, prefix: int) -> None:
        self._descriptor = -1
        self._target = target
        self.prefix = prefix
        self.size = prefix
        # Up to where there may be room that belongs to the file, written or not.
        self._reserved = 0
        self._copying = Lock()
        self._copied = 0

    def __enter__(self) -> Self:
        with naming(self._target):
            self._descriptor = self._create()
        return self

    @abstractmethod
    def _create(self) -> int:
        """Open a new file at `temporary` that only its owner can read."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._close()
        finally:
            self._clean_up(failed=kind is not None)

    def _close(self) -> None:
        """Raises OSError: network file systems may write only now."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with naming(self._target):
                os.close(descriptor)

    @abstractmethod
    def _clean_up(self, *, failed: bool) -> None:
        """Remove the temporary file, if it is still there."""

    def share_prefix(self, source: Source) -> bool:
        """Share the blocks of the prefix with `source`, before anything is appended; False if the file
        system cannot."""
        if not isinstance(source, LocalSource):
            return False
        with naming(self._target):
            return clone(source.descriptor, self._descriptor, self.prefix)

    def copy_prefix(self, source: Source) -> None:
        """Copy what is left of the prefix from `source`. Another thread may append at the same time, and
        others may help to copy: it is there when all of them are done."""
        while (start := self._next_part()) < self.prefix:
            try:
                self._copy(source, start, min(COPY_CHUNK, self.prefix - start), start)
            except BaseException:
                self.copy_no_more()
                raise

    def _next_part(self) -> int:
        """Where the next part of the prefix starts, which nobody else will copy."""
        with self._copying:
            start = self._copied
            if start == 0:
                reserve(self._descriptor, 0, self.prefix)
            self._copied = start + COPY_CHUNK
            return start

    def copy_no_more(self) -> None:
        """Leave what nobody has begun to copy: the output will not be committed."""
        with self._copying:
            self._copied = self.prefix

    def copy_meanwhile(self, source: Source) -> None:
        """What a thread of its own does while another appends: copy the prefix."""
        self.copy_prefix(source)

    def _copy(self, source: Source, start: int, length: int, to: int) -> None:
        """Copy `length` bytes from `start` in `source` to `to`."""
        done = 0
        if isinstance(source, LocalSource):
            with naming(self._target):
                done = copy_range(source.descriptor, start, self._descriptor, to, length)
        while done < length:
            data = source.read_at(start + done, min(COPY_CHUNK, length - done))
            self._write_at(to + done, data)
            done += len(data)

    def _write_at(self, offset: int, data: bytes | memoryview) -> None:
        with naming(self._target):
            write_at(self._descriptor, offset, data)

    def append(self, data: bytes | memoryview) -> int:
        """Write `data` at the end; returns its offset."""
        offset = self.size
        self._write_at(offset, data)
        self.size += len(data)
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        """Write the bytes [start, end) of `source` at the end."""
        self._copy(source, start, end - start, self.size)
        self.size += end - start

    def will_append_from(self, source: Source, ranges: Iterable[tuple[int, int]]) -> None:
        """Fetch ahead what will be appended from it, and reserve room for as much."""
        parts = list(ranges)
        source.will_read(parts)
        length = sum(end - start for start, end in parts)
        reserve(self._descriptor, self.size, length)
        self._reserved = self.size + length

    def erase(self, start: int, end: int) -> None:
        """Overwrite with zeros what was copied from the source, but nothing that was appended."""
        end = min(end, self.prefix)
        for at in range(start, end, COPY_CHUNK):
            self._write_at(at, bytes(min(COPY_CHUNK, end - at)))

    def opened(self) -> Source:
        """What was written, to be read."""
        return LocalSource(self.temporary)

    @abstractmethod
    def flush(self) -> None:
        """Prepare for commit(): nothing more will be appended."""

    @abstractmethod
    def commit(self, replaced: Source | None = None) -> None:
        """Take the target's name. Raises RewriteError unless the target still is the file `replaced`.
        If it fails afterwards, the OSError says that the target was written."""


class LocalOutput(Output):
    """An output beside its target. If the target is a link, the file that it points to is written."""

    def __init__(self, target: str, mode: int, prefix: int) -> None:
        super().__init__(target, prefix)
        # Whatever the current folder is by the time that it takes its name.
        self.path = os.path.realpath(target) if os.path.islink(target) else os.path.abspath(target)
        self._mode = stat.S_IMODE(mode)
        self._folder, name = os.path.split(self.path)
        self._checksum = os.path.join(self._folder, f".{name}.crc")
        hidden = hidden_name(name)
        self.temporary = os.path.join(self._folder, hidden)
        aside = hidden.removesuffix(TEMPORARY_SUFFIX) + ".crc" + TEMPORARY_SUFFIX
        self._aside = os.path.join(self._folder, aside)
        self._is_committed = self._keeps_temporary = False

    def _create(self) -> int:
        with making_in(self._folder):
            return os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def _clean_up(self, *, failed: bool) -> None:
        if self._keeps_temporary:
            return
        problem = self._afterwards(f"{self.temporary} could not be removed")
        with problem, suppress(FileNotFoundError):
            os.unlink(self.temporary)

    def flush(self) -> None:
        with naming(self._target):
            if self._reserved > self.size:
                os.ftruncate(self._descriptor, self.size)
            os.fchmod(self._descriptor, self._mode)

    def commit(self, replaced: Source | None = None) -> None:
        with naming(self._target):
            version = version_of(os.fstat(self._descriptor))
        self._close()
        with self._checksum_aside(), naming(self._target):
            self._take_name(replaced)
            self._is_committed = True
        if replaced is not None:
            replaced.successor = version

    @abstractmethod
    def _take_name(self, replaced: Source | None) -> None: ...

    @contextmanager
    def _afterwards(self, what: str) -> Iterator[None]:
        """Make OSErrors say that the file was written nevertheless, and `what` could not be done."""
        try:
            with naming(self._target):
                yield
        except OSError as error:
            if not self._is_committed:
                raise
            message = f"was written, but {what}: {error.strerror}"
            raise OSError(error.errno, message, str(self._target)) from None

    @contextmanager
    def _checksum_aside(self) -> Iterator[None]:
        """Remove the old file's Hadoop checksum, by which Spark would reject the new file: move it
        away before the rename, and restore it if that fails, unless there is another by then."""
        aside = self._aside
        try:
            with naming(self._target):
                os.rename(self._checksum, aside)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENAMETOOLONG):
                raise
            yield
            return
        try:
            yield
        except BaseException:
            try:
                _rename_to_free(aside, self._checksum)
            except FileExistsError:
                os.unlink(aside)
            raise
        with self._afterwards(f"{aside}, the checksum of the old file, could not be removed"):
            os.unlink(aside)


class NewFile(LocalOutput):
    """An output to a new path. commit() raises RewriteError if a file has appeared there."""

    def _take_name(self, replaced: Source | None) -> None:
        if replaced is not None:
            # It was gone when this was made, so that there was nothing to replace.
            replaced.check_unchanged()
        try:
            with tolerating(NO_LINKS):
                os.link(self.temporary, self.path)
                return
            if rename_to_free(self.temporary, self.path):
                return
            # Reserve the name with an empty file, which a kill would leave: a rename overwrites.
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            raise RewriteError(
                f"{self._target}: was created in the meantime, not overwritten"
            ) from None
        try:
            os.replace(self.temporary, self.path)
        except BaseException:
            os.unlink(self.path)
            raise


class Replacement(LocalOutput):
    """An output that replaces a file and keeps its mode, owner, group and attributes. `unconditional`: also
    where the file that was read cannot be locked."""

    def __init__(self, target: str, mode: int, prefix: int, unconditional: bool = False) -> None:
        super().__init__(target, mode, prefix)
        self._unconditional = unconditional

    def copy_meanwhile(self, source: Source) -> None:
        super().copy_meanwhile(source)
        # Sync most of the bytes while another thread still works on the rest.
        with naming(self._target):
            sync_data(self._descriptor)

    def flush(self) -> None:
        with naming(self._target):
            self._keep_owner()
            self._keep_attributes()
        super().flush()
        with naming(self._target):
            sync_file(self._descriptor)

    def _keep_owner(self) -> None:
        old = os.stat(self.path)
        new = os.fstat(self._descriptor)
        # One by one: users can give a file to a group of theirs, but rarely to another owner.
        if new.st_gid != old.st_gid:
            with tolerating(NO_ATTRIBUTE):
                os.fchown(self._descriptor, -1, old.st_gid)
        if new.st_uid != old.st_uid:
            with tolerating(NO_ATTRIBUTE):
                os.fchown(self._descriptor, old.st_uid, -1)

    def _keep_attributes(self) -> None:
        """Extended attributes include access control lists."""
        copy_attributes(self.path, self._descriptor)

    def commit(self, replaced: Source | None = None) -> None:
        lock: AbstractContextManager[None] = nullcontext()
        if isinstance(replaced, LocalSource):
            lock = held(replaced, self._unconditional)
        with lock:
            super().commit(replaced)
        with self._afterwards("its folder could not be synced"):
            sync_folder(self._folder)

    def _take_name(self, replaced: Source | None) -> None:
        if not isinstance(replaced, LocalSource):
            os.replace(self.temporary, self.path)
            return
        replaced.check_unchanged()
        self._check_no_journal()
        if not exchange(self.temporary, self.path):
            os.replace(self.temporary, self.path)
            return
        try:
            replaced.check_moved(self.temporary)
        except BaseException:
            # The temporary file is what somebody else put in place of the old one.
            self._keeps_temporary = True
            exchange(self.temporary, self.path)
            self._keeps_temporary = False
            raise

    def _check_no_journal(self) -> None:
        """Raise RewriteError if one would lie beside a file that it does not fit."""
        place = os.path.join(self._folder, f".{os.path.basename(self.path)}{JOURNAL_SUFFIX}")
        if os.path.lexists(place):
            raise RewriteError(
                f"{self._target}: another build was killed in the meantime and left a journal,"
                f" {place}: run it again"
            )


def _rename_to_free(old: str, new: str) -> None:
    """Rename, where the system can without overwriting: raises FileExistsError, OSError."""
    if rename_to_free(old, new):
        return
    with tolerating(NO_LINKS):
        os.link(old, new)
        os.unlink(old)
        return
    os.rename(old, new)


def output_to(
    target: str, overwrite: bool, mode: int, prefix: int, unconditional: bool = False
) -> LocalOutput:
    """A Replacement if there is a file that may be overwritten, else a NewFile with `mode`."""
    if overwrite:
        with suppress(FileNotFoundError):
            return Replacement(target, os.stat(target).st_mode, prefix, unconditional)
    return NewFile(target, mode, prefix)


def default_mode() -> int:
    """The mode of a file that is like no other."""
    return 0o666 & ~_umask()


def _umask() -> int:
    """That of the process. To ask for it is to set another one, which files have that other threads make
    meanwhile; Linux also tells it."""
    with suppress(OSError), open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    umask = os.umask(0)
    os.umask(umask)
    return umask


def mode_like(source: Source) -> int:
    """The mode of a file like `source`, which has none behind a URL."""
    return source.status.st_mode if isinstance(source, LocalSource) else default_mode()


# ------------------------------------------------------------------------------------------------
# A new end that is appended to a file where it is, without a copy.
#
#     | the old file, which nothing overwrites | filters | footer, but for its last bytes | those |
#
# Until the end is complete, no reader can open the file, and a journal beside it says what it was. The
# last bytes, without which no reader takes the file for whole, are written once all others are on disk:
# where there is a footer, there is what it points to.


# The length of a footer and the magic.
LAST_BYTES: Final = 8


class AppendedEnd(LocalOutput):
    """An end of the file `source`, whose path is `target`. Before it is committed, an error cuts the
    file back to what it was; if that fails, a RewriteError names the command that does it."""

    def __init__(self, target: str, source: LocalSource) -> None:
        super().__init__(target, source.status.st_mode, 0)
        self.temporary = self.path
        self.size = source.size
        self._source = source
        self._journal_place = journal_of(self.path)
        self._last = b""

    def _create(self) -> int:
        descriptor = open_locked(self.path, self._target)
        try:
            if not os.path.samestat(os.fstat(descriptor), self._source.status):
                raise changed(str(self._target), self.size, os.fstat(descriptor).st_size)
            self._source.check_unchanged()
            self._journal = Journal.of(descriptor)
            self._write_journal()
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _write_journal(self) -> None:
        try:
            write_journal(self._journal, self._journal_place)
        except FileExistsError:
            raise RewriteError(
                f"{self._target}: a build that was killed left a journal,"
                f" {self._journal_place}: run {undone_by(self._target)}"
            ) from None
        except OSError as error:
            what = f"its journal, {self._journal_place}, could not be written: {error.strerror}"
            raise OSError(error.errno, what, str(self._target)) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if not self._is_committed:
                self._cut_back(error)
        finally:
            # It is on disk already, and by now somebody else may have the lock.
            with suppress(OSError):
                os.close(self._descriptor)

    def _cut_back(self, error: BaseException | None) -> None:
        try:
            with naming(self._target):
                self._check_own()
                self._journal.restore(self._descriptor)
                # A signal may come when the journal is gone and nothing else is known of it.
                with suppress(FileNotFoundError):
                    remove_journal(self._journal_place)
        except (OSError, RewriteError) as problem:
            first = f"{complaint(error)}; " if isinstance(error, Exception) else ""
            first = first.removeprefix(f"{self._target}: ")
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise RewriteError(
                f"{self._target}: {first}its unfinished end could not be cut back ({why}): run"
                f" {undone_by(self._target)}"
            ) from None

    def _check_own(self) -> None:
        """Raise RewriteError if what is locked is not what it was any more, up to the new end."""
        if not self._journal.fits(self._descriptor):
            raise changed(str(self._target), self._journal.size, os.fstat(self._descriptor).st_size)

    def copy_prefix(self, source: Source) -> None:
        """It is there."""

    def append(self, data: bytes | memoryview) -> int:
        self._write_last()
        offset, view = self.size, memoryview(data)
        ahead = max(0, len(view) - LAST_BYTES)
        self._write_at(offset, view[:ahead])
        self._last = bytes(view[ahead:])
        self.size += len(view)
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        self._write_last()
        super().append_from(source, start, end)

    def _write_last(self) -> None:
        """Write the last bytes of what was appended."""
        last, self._last = self._last, b""
        self._write_at(self.size - len(last), last)

    def erase(self, start: int, end: int) -> None:
        raise RewriteError(
            f"{self._target}: bytes {start} to {end - 1} are a plaintext filter of an encrypted"
            " column that would have to be overwritten, and appending overwrites nothing: replace"
            " the file instead"
        )

    def flush(self) -> None:
        with naming(self._target):
            sync_data(self._descriptor)
            self._write_last()
            sync_file(self._descriptor)

    def commit(self, replaced: Source | None = None) -> None:
        """Remove the journal. Raises RewriteError if the file was changed by others, or replaced."""
        with naming(self._target):
            self._check_own()
            here, there = os.fstat(self._descriptor), os.stat(self.path)
        if (here.st_dev, here.st_ino, here.st_size) != (there.st_dev, there.st_ino, self.size):
            raise changed(str(self._target), self._journal.size, there.st_size)
        with self._checksum_aside(), naming(self._target):
            os.unlink(self._journal_place)
            self._is_committed = True
        with self._afterwards("its folder could not be synced"):
            sync_folder(self._folder)

    def _take_name(self, replaced: Source | None) -> None:
        """It has its name."""
