"""Files as the formats need them: ranged reads of a source, an atomic replacement of a target.

A source is a local path or a URL of a file system that pyarrow knows (`s3://`, `gs://`, …). A
target is local: a hidden temporary file in the target's own folder, complete and on disk before it
takes the target's name, so that a kill at any point leaves the old file or the new one.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from parquet_bloom.errors import FormatError, RewriteError

COPY_CHUNK = 16 << 20
TEMPORARY_SUFFIX = ".pbloom-tmp"


class Source(Protocol):
    """A file that is read by ranges. `bytes_read` counts what `read_at` returned."""

    path: str
    size: int
    bytes_read: int

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`; raises FormatError if the file ends before."""

    def close(self) -> None: ...


def is_url(path: str) -> bool:
    """Whether `path` names a file elsewhere; `file:` URLs are local."""
    return len(urlsplit(path).scheme) > 1 and not path.startswith("file:")


def local_path(path: str | os.PathLike[str]) -> Path:
    """The local path behind `path`, which may be a `file:` URL."""
    text = os.fspath(path)
    return Path(urlsplit(text).path if text.startswith("file:") else text)


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a local path or URL for ranged reads. Raises OSError if it cannot be opened."""
    text = os.fspath(path)
    return RemoteSource(text) if is_url(text) else LocalSource(local_path(text), text)


def _check_length(path: str, offset: int, expected: int, found: int) -> None:
    if found != expected:
        raise FormatError(
            f"{path}: bytes {offset} to {offset + expected}: expected {expected} bytes,"
            f" found {found}"
        )


class LocalSource:
    """A local file, read with pread so that threads can share it."""

    def __init__(self, file: Path, path: str | None = None) -> None:
        self.path = path or str(file)
        self.file = file
        self.bytes_read = 0
        self.descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        self.status = os.fstat(self.descriptor)
        if not stat.S_ISREG(self.status.st_mode):
            os.close(self.descriptor)
            code = errno.EISDIR if stat.S_ISDIR(self.status.st_mode) else errno.EINVAL
            raise OSError(code, os.strerror(code), self.path)
        self.size = self.status.st_size

    def read_at(self, offset: int, length: int) -> bytes:
        data = os.pread(self.descriptor, length, offset)
        while len(data) < length and (
            more := os.pread(self.descriptor, length - len(data), offset + len(data))
        ):
            data += more
        _check_length(self.path, offset, length, len(data))
        self.bytes_read += length
        return data

    def check_unchanged(self) -> None:
        """Raise RewriteError if the path no longer names the file as it was opened."""
        now = os.stat(self.file)
        if _identity(now) != _identity(self.status):
            raise RewriteError(
                f"{self.path}: changed while it was read: expected it as opened,"
                f" {self.status.st_size} bytes, found {now.st_size} bytes; nothing was written"
            )

    def close(self) -> None:
        os.close(self.descriptor)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class RemoteSource:
    """A file behind a URL, through pyarrow's file systems."""

    def __init__(self, url: str) -> None:
        import pyarrow as pa
        from pyarrow import fs

        self.path = url
        self.bytes_read = 0
        try:
            system, inner = fs.FileSystem.from_uri(url)
            self._file: Any = system.open_input_file(inner)
        except pa.ArrowInvalid as error:
            raise OSError(errno.EINVAL, str(error).splitlines()[0], url) from None
        self.size = self._file.size()

    def read_at(self, offset: int, length: int) -> bytes:
        data: bytes = self._file.read_at(length, offset)
        _check_length(self.path, offset, length, len(data))
        self.bytes_read += length
        return data

    def close(self) -> None:
        self._file.close()


class Replacement:
    """A temporary file that becomes `target` on commit() and disappears otherwise.

    It begins with the first `prefix` bytes of a source; what is appended follows them. Use as a
    context manager. The new file gets `mode`; a target that is a link is replaced where the link
    points.
    """

    def __init__(self, target: Path, mode: int, prefix: int) -> None:
        self.target = Path(os.path.realpath(target))
        name = f".{self.target.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
        self.temporary = self.target.with_name(name)
        self._mode = stat.S_IMODE(mode)
        self._prefix = prefix
        self.size = prefix

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor = os.open(self.temporary, flags, 0o600)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)
        self.temporary.unlink(missing_ok=True)

    def copy_prefix(self, source: Source) -> None:
        """Copy the prefix from `source`, inside the kernel where that is possible, and sync it.

        Another thread may append meanwhile; what it appends is left to flush().
        """
        done = self._copy_in_kernel(source) if isinstance(source, LocalSource) else 0
        while done < self._prefix:
            data = source.read_at(done, min(COPY_CHUNK, self._prefix - done))
            self._write_at(done, data)
            done += len(data)
        os.fdatasync(self._descriptor)

    def _copy_in_kernel(self, source: LocalSource) -> int:
        """copy_file_range, which shares the blocks on file systems that can (Btrfs, XFS)."""
        done = 0
        while done < self._prefix:
            try:
                copied = os.copy_file_range(
                    source.descriptor, self._descriptor, self._prefix - done, done, done
                )
            except OSError as error:
                if error.errno in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                    return done
                raise
            if copied == 0:
                return done
            done += copied
        return done

    def _write_at(self, offset: int, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            offset += written
            view = view[written:]

    def append(self, data: bytes | memoryview) -> int:
        """Write `data` at the end; returns its offset."""
        offset = self.size
        self._write_at(offset, data)
        self.size += len(data)
        return offset

    def flush(self) -> None:
        """Give the file its mode and bring it to the disk."""
        os.fchmod(self._descriptor, self._mode)
        os.fsync(self._descriptor)

    def commit(self, overwrite: bool) -> None:
        """Take the target's name. Raises FileExistsError if there is one and not `overwrite`.

        A Hadoop checksum beside the target would make Spark refuse the new file, so it goes first.
        """
        if overwrite:
            self.target.with_name(f".{self.target.name}.crc").unlink(missing_ok=True)
            os.replace(self.temporary, self.target)
        else:
            os.link(self.temporary, self.target)
        _sync_folder(self.target.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
