"""A new end that is appended to a file where it is, without a copy.

    | the old file, which nothing overwrites | filters | footer, but for its last bytes | those |

Until the end is complete, no reader can open the file, and a journal beside it says what it was. The
last bytes, without which no reader takes the file for whole, are written once all others are on disk:
where there is a footer, there is what it points to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from types import TracebackType
from typing import Final

from parquet_bloom.errors import RewriteError, complaint
from parquet_bloom.storage import journal
from parquet_bloom.storage.folder_sync import sync_folder
from parquet_bloom.storage.journal import Journal
from parquet_bloom.storage.local_output import LocalOutput
from parquet_bloom.storage.source import LocalSource, Source, changed, naming

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
        self._journal_place = journal.place_of(self.path)
        self._last = b""

    def _create(self) -> int:
        descriptor = journal.lock(self.path, self._target)
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
            journal.write(self._journal, self._journal_place)
        except FileExistsError:
            raise RewriteError(
                f"{self._target}: a build that was killed left a journal,"
                f" {self._journal_place}: run `pbloom recover {self._target}`"
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
                    journal.remove(self._journal_place)
        except (OSError, RewriteError) as problem:
            first = f"{complaint(error)}; " if isinstance(error, Exception) else ""
            first = first.removeprefix(f"{self._target}: ")
            why = problem.strerror if isinstance(problem, OSError) else problem
            raise RewriteError(
                f"{self._target}: {first}its unfinished end could not be cut back ({why}): run"
                f" `pbloom recover {self._target}`"
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
            os.fdatasync(self._descriptor)
            self._write_last()
            os.fsync(self._descriptor)

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
