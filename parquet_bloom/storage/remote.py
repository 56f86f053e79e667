"""Files behind URLs, through pyarrow's file systems: ranged reads, and a new version of an object.

Object stores cannot rename, and whoever uploads onto a name may leave half an object there: Arrow
completes an upload when its stream is closed, also after an error. So a new version is made in a
local file, uploaded under a hidden name beside the object, and copied onto it by the store itself,
in one request: readers find the old version or the new one.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.local_output import COPY_CHUNK, Output
from parquet_bloom.storage.source import changed, check_length
from parquet_bloom.storage.temp_files import Leftover, hidden_name, is_left

# What file systems raise, those of pyarrow and those of Python that it wraps.
FAILURES = (OSError, NotImplementedError, pa.ArrowException)


class Located(NamedTuple):
    """What is behind a URL: a file system, and the path in it."""

    system: Any
    path: str

    @classmethod
    def of(cls, url: str) -> Located:
        """Raises OSError if pyarrow cannot make anything of the URL."""
        try:
            return cls(*fs.FileSystem.from_uri(url))
        except pa.ArrowInvalid as error:
            raise OSError(errno.EINVAL, _line(error), url) from None


def _line(error: BaseException) -> str:
    """The first line of what pyarrow says."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said.splitlines()[0])


@contextmanager
def failing(url: str, what: str) -> Iterator[None]:
    """Let all failures be OSErrors that name `url` and say `what` was not done, on one line."""
    try:
        yield
    except FAILURES as error:
        code = getattr(error, "errno", None) or errno.EIO
        raise OSError(code, f"{what}: {_line(error)}", url) from None


class RemoteSource:
    """A file behind a URL."""

    def __init__(self, url: str) -> None:
        self.path = url
        self.bytes_read = 0
        self._located = Located.of(url)
        self._file: Any = self._located.system.open_input_file(self._located.path)
        self.size: int = self._file.size()
        self._version = self._version_of(self._file)

    def _version_of(self, file: Any) -> object:
        """Another one for other content: the ETag, or where there is none the time of change."""
        for name, value in file.metadata().items():
            if name.lower() == "etag":
                return value
        return self._located.system.get_file_info(self._located.path).mtime_ns

    def read_at(self, offset: int, length: int) -> bytes:
        data: bytes = self._file.read_at(length, offset)
        check_length(self.path, offset, length, len(data))
        self.bytes_read += length
        return data

    def check_unchanged(self) -> None:
        """Raise RewriteError if the URL no longer names the file as it was opened."""
        with (
            failing(self.path, "not opened again"),
            self._located.system.open_input_file(self._located.path) as now,
        ):
            size, version = now.size(), self._version_of(now)
        if (size, version) != (self.size, self._version):
            raise changed(self.path, self.size, size)

    def close(self) -> None:
        self._file.close()


class RemoteReplacement(Output):
    """An output in the place of an object. Its local file has no name, so that nothing can stay."""

    def __init__(self, url: str, prefix: int) -> None:
        super().__init__(f"{url}: temporary file in {tempfile.gettempdir()}", prefix)
        self._url = url
        self._located = Located.of(url)
        folder, slash, name = self._located.path.rpartition("/")
        self._beside = f"{folder}{slash}{hidden_name(name)}"
        self._is_beside = False

    def _create(self) -> int:
        descriptor, name = tempfile.mkstemp(prefix="pbloom-")
        os.unlink(name)
        self.temporary = Path(f"/dev/fd/{descriptor}")
        return descriptor

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        if not self._is_beside:
            return
        if kind is not None:
            # What went wrong before is what counts.
            with suppress(*FAILURES):
                self._located.system.delete_file(self._beside)
            return
        with failing(self._url, f"is written, but {self._beside} could not be removed"):
            self._located.system.delete_file(self._beside)

    def flush(self) -> None:
        """Upload it under the hidden name. Raises RewriteError if not all of it arrived."""
        with failing(self._url, f"not uploaded to {self._beside}"):
            self._is_beside = True
            self._upload()
            found = self._located.system.get_file_info(self._beside).size
        if found != self.size:
            raise RewriteError(f"{self._url}: uploaded: expected {self.size} bytes, found {found}")

    def _upload(self) -> None:
        done = 0
        with self._located.system.open_output_stream(self._beside) as stream:
            while data := os.pread(self._descriptor, COPY_CHUNK, done):
                stream.write(data)
                done += len(data)

    def commit(self) -> None:
        """Copy what was uploaded onto the object. Raises RewriteError if the store does not."""
        try:
            self._located.system.copy_file(self._beside, self._located.path)
        except FAILURES as error:
            raise RewriteError(
                f"{self._url}: not replaced, the file system could not copy: {_line(error)}"
            ) from None


class RemoteFolder:
    """A folder behind a URL; on object stores, what names of objects begin with."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._located = Located.of(url)

    def _path_of(self, name: str) -> str:
        return f"{self._located.path.rstrip('/')}/{name}"

    def has_folder(self, name: str) -> bool:
        """Whether `name` is a folder in it. Raises OSError."""
        return bool(self._type_of(name) == fs.FileType.Directory)

    def has_file(self, name: str) -> bool:
        """Whether `name` is a file in it. Raises OSError."""
        return bool(self._type_of(name) == fs.FileType.File)

    def _type_of(self, name: str) -> Any:
        with failing(self._url, f"looking for {name}"):
            return self._located.system.get_file_info(self._path_of(name)).type

    def names_in(self, name: str) -> list[str]:
        """What is in the folder `name` in it; nothing if there is none. Raises OSError."""
        return [info.base_name for info in self._list(self._path_of(name))]

    def _list(self, path: str) -> list[Any]:
        with failing(self._url, f"listing {path}"):
            try:
                found = self._located.system.get_file_info(
                    fs.FileSelector(path, allow_not_found=True)
                )
            except NotADirectoryError:
                return []
        return list(found)

    def leftovers(self, older_than: float) -> Iterator[Leftover]:
        """What outputs that were killed have left in it. Raises OSError."""
        place = self._url.partition("?")[0].rstrip("/")
        for info in self._list(self._located.path):
            if info.is_file and is_left(info.base_name, info.mtime_ns / 1e9, older_than):
                remove = partial(self._located.system.delete_file, info.path)
                yield Leftover(f"{place}/{info.base_name}", info.size, remove)
