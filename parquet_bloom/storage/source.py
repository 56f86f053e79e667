"""Files that are read in ranges, and how paths and URLs are told apart."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from parquet_bloom.errors import FormatError, RewriteError

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.storage.store_kinds import Store
    from parquet_bloom.storage.traffic import Requests

_WILDCARD = re.compile(r"[*?[]")
_BEFORE_WILDCARD = re.compile(r"[^*?\[]*")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

# Folders are searched for these; a file that is named may have any suffix.
SUFFIXES = (".parquet", ".parq", ".pq", ".orc")
_OF_INDEX: Final = re.compile(r"[0-9a-f]{16}\.(map|units|slices-\d+)\.parquet")

# What a Window reads at once. Costs little more than the header of a filter alone.
WINDOW_BYTES = 32 << 10


class Source(Protocol):
    """A file that is read in ranges. `bytes_read` counts the bytes that `read_at` returned, and those that were asked
    for where the file is mapped into memory; `successor`: the version that was put in its place from here, None if
    there is none or nobody tells."""

    path: str
    size: int
    bytes_read: int
    successor: str | None

    @property
    def is_remote(self) -> bool:
        """Whether reads wait for requests, so that nothing is read that can be done without."""

    @property
    def held_ahead(self) -> int:
        """The most bytes that all sources of this kind together hold ahead of whoever reads."""

    @property
    def version(self) -> str:
        """What changes with the content, as far as whoever stores it tells."""

    @property
    def requests(self) -> Requests | None:
        """What was asked of an object store; None where nobody counts."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`. Raises FormatError if the file ends before that."""

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Say which ranges [start, end) will be read by `read_at`, in which order; those said before
        are forgotten. A remote source fetches them ahead, in few requests; what is read is the same
        without. Raises OSError."""

    def window(self) -> Source:
        """The same file for one thread that reads small neighbours."""

    def check_unchanged(self) -> None:
        """Raise RewriteError if the file was changed or replaced since it was opened."""

    def check_one_version(self) -> None:
        """Raise RewriteError if what was read may be of several versions of the file."""

    def close(self) -> None: ...


class naming:
    """Make OSErrors name `path`: those of descriptors name no file, others a temporary one."""

    __slots__ = ("_path",)

    def __init__(self, path: object) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(self._path), None


class NoStoreError(OSError):
    """What answers in the place of an object store is none."""


def check_can_be_folder(path: str | os.PathLike[str]) -> None:
    """Raise NotADirectoryError if a file or a broken link is where a local folder would be, or on the way to it."""
    there = os.fspath(path)
    while there and not os.path.lexists(there):
        there = os.path.dirname(there)
    if there and not os.path.isdir(there):
        what = "a file" if os.path.exists(there) else "a broken link"
        raise NotADirectoryError(errno.ENOTDIR, f"{what}, expected a folder", there)


class making_in:
    """Make PermissionErrors name the folder that takes no new file, or folder, instead of the file that would be in
    it: `folder`, or what is there of the way to it."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, PermissionError):
            there = self._folder
            while there and not os.path.isdir(there):
                there = os.path.dirname(there)
            error.strerror = f"{error.strerror}: nothing new can be made in {there or os.curdir}"


class tolerating:
    """Ignore OSErrors whose errno is one of `errors`."""

    __slots__ = ("_errors",)

    def __init__(self, errors: set[int]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return isinstance(error, OSError) and error.errno in self._errors


def is_url(path: str) -> bool:
    """Whether `path` is a remote URL, `scheme://…`; `file:` URLs are local."""
    # Most paths are none, and a search is quicker than a pattern.
    return "://" in path and _URL.match(path) is not None and not path.startswith("file:")


def is_object(path: str) -> bool:
    """Whether `path` is the URL of an object, see `address`."""
    return _store_of(path) is not None


def is_in_store(path: str) -> bool:
    """Whether `path` is the URL of an object in a store that has folders, and whose objects change: not
    that of a web server, which is only read."""
    store = _store_of(path)
    return store is not None and store.has_folders


def _store_of(path: str) -> Store | None:
    """The kind of store that has the object with this URL; None for anything else."""
    scheme, mark, _ = path.partition("://")
    if not mark:
        return None
    from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME

    return STORE_BY_SCHEME.get(scheme.lower())


def has_wildcard(path: str) -> bool:
    """Whether `path` is a glob, unless there is a file with this name."""
    return _WILDCARD.search(path) is not None


def before_wildcard(glob: str) -> str:
    """What all names begin with that a glob matches."""
    return _BEFORE_WILDCARD.match(glob)[0]  # type: ignore[index]


def is_data_file(name: str) -> bool:
    """Whether a file with this name is looked at if it is found in a folder:
    an index in a lake is none of its data."""
    return has_data_suffix(name) and not is_of_index(name)


def has_data_suffix(name: str) -> bool:
    """In any case: other systems write `A.PARQUET`, and engines that take a folder read it."""
    name = name.lower()
    return name.endswith(SUFFIXES) and name not in SUFFIXES


def is_of_index(path: str) -> bool:
    """Whether the files of an index over a lake have such names."""
    name = path[path.rfind("/") + 1 :]
    return name[16:17] == "." and _OF_INDEX.fullmatch(name) is not None


def is_hidden(segment: str) -> bool:
    """Whether this part of a path hides what is below: metadata and temporary files do, but not a
    partition by a column whose name begins with an underscore."""
    return segment.startswith((".", "_")) and "=" not in segment


def local_path(path: str | os.PathLike[str]) -> Path:
    """As local_name, as a Path."""
    from pathlib import Path

    return Path(local_name(path))


def local_name(path: str | os.PathLike[str]) -> str:
    """The local path for `path`, which may be `file://…`, or `file:/…` as Spark writes it. Raises
    OSError for a URL with a host, which in `file://a/b` is `a`, and for what no path can have."""
    text = os.fspath(path)
    if text.startswith("file:"):
        text = _of_file_url(text)
    if "\0" in text or not text.isascii():
        _check_characters(text)
    # As a Path has it: `a.parquet/` is `a.parquet`, and an empty name is the folder.
    if text and text[-1] != "/":
        return text
    from pathlib import Path

    return str(Path(text))


def _of_file_url(text: str) -> str:
    """The path of a URL, or `text` if it is none. Raises OSError for one with a host."""
    if text.startswith("file://"):
        from urllib.parse import unquote

        host, _, rest = text[7:].partition("/")
        if host not in ("", "localhost"):
            what = f"is on the host {host}, expected file:///PATH"
            raise OSError(errno.EINVAL, what, text)
        return "/" + unquote(rest, errors="surrogateescape")
    return text.removeprefix("file:") if text.startswith("file:/") else text


def _check_characters(name: str) -> None:
    """Raise OSError for a name that Python would not even give to the system, which is not all ASCII without NUL."""
    if "\0" not in name:
        with suppress(UnicodeEncodeError):
            os.fsencode(name)
            return
    what = "has a character that no path can have, expected a path"
    raise OSError(errno.EINVAL, what, ascii(name)[1:-1])


def check_length(path: str, offset: int, expected: int, found: int) -> None:
    """Raise FormatError for a short read."""
    if found != expected:
        raise FormatError(
            f"{path}: bytes {offset} to {offset + expected}: expected {expected} bytes,"
            f" found {found}"
        )


def changed(path: str, before: int, now: int) -> RewriteError:
    """The error for a file of `before` bytes when it was opened, and `now` bytes now."""
    return RewriteError(
        f"{path}: changed while it was read: {before} bytes when opened, {now} bytes now; nothing"
        " was written"
    )


# In place of the descriptor of a closed file: the number may be that of another file by now.
_CLOSED: Final = -1


class LocalSource:
    """A local file, read with pread so that threads can share it. The page cache reads ahead."""

    descriptor = _CLOSED
    is_remote: Final = False
    held_ahead: Final = 0
    requests: Final = None

    def __init__(self, file: str | os.PathLike[str], path: str | None = None) -> None:
        self.path = path or str(file)
        self.file = file
        self.bytes_read = 0
        self.successor: str | None = None
        self._counting = Lock()
        # Without O_NONBLOCK, opening a named pipe waits for a writer.
        self.descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self.status = os.fstat(self.descriptor)
        self.size = self.status.st_size
        if not stat.S_ISREG(self.status.st_mode):
            self.close()
            if stat.S_ISDIR(self.status.st_mode):
                raise OSError(errno.EISDIR, "is a folder, expected a file", self.path)
            raise OSError(errno.EINVAL, "is a pipe or device, expected a file", self.path)

    def read_at(self, offset: int, length: int) -> bytes:
        data = self._read(length, offset)
        if len(data) != length:
            data = self._with_rest(data, offset, length)
        with self._counting:
            self.bytes_read += length
        return data

    def _with_rest(self, data: bytes, offset: int, length: int) -> bytes:
        """What a read returned, and what it left to further ones."""
        while len(data) < length and (more := self._read(length - len(data), offset + len(data))):
            data += more
        check_length(self.path, offset, length, len(data))
        return data

    def _read(self, length: int, offset: int) -> bytes:
        # Without `naming`, as nothing is called as often.
        try:
            return os.pread(self.descriptor, length, offset)
        except OSError as error:
            if self.descriptor == _CLOSED:
                raise ValueError(f"{self.path}: is closed, expected an open file") from None
            error.filename = self.path
            raise

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        return

    def window(self) -> Window:
        return Window(self)

    @property
    def version(self) -> str:
        return version_of(self.status)

    def check_unchanged(self) -> None:
        now = os.stat(self.file)
        if identity_of(now) != identity_of(self.status):
            raise changed(self.path, self.size, now.st_size)

    # Whoever writes in place is not noticed before.
    check_one_version = check_unchanged

    def check_moved(self, place: str) -> None:
        """Raise RewriteError unless the file, unchanged, is at `place` now."""
        now = os.lstat(place)
        # A rename sets st_ctime.
        if identity_of(now)[:-1] != identity_of(self.status)[:-1]:
            raise changed(self.path, self.size, now.st_size)

    def close(self) -> None:
        descriptor, self.descriptor = self.descriptor, _CLOSED
        if descriptor == _CLOSED:
            return
        # Nothing that was written to it could be lost, and by now a new version may have its name.
        try:
            os.close(descriptor)
        except OSError:
            return

    def __del__(self) -> None:
        # As with Python's own files, `pb.open(path).columns` leaves none open.
        self.close()


def version_of(status: os.stat_result) -> str:
    """What changes with the content of a local file, as a listing tells it."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """What tells a version of a local file. Content can change under the same size and st_mtime;
    st_ctime cannot be set back."""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_dev, status.st_ino, status.st_size, *times)


class DelegatingSource:
    """What a Source has that reads `size` bytes of another one in its own way."""

    def __init__(self, source: Source, size: int) -> None:
        self.path = source.path
        self.size = size
        self.bytes_read = 0
        self.successor: str | None = None
        self._source = source

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._source.will_read(ranges)

    @property
    def is_remote(self) -> bool:
        return self._source.is_remote

    @property
    def held_ahead(self) -> int:
        return self._source.held_ahead

    @property
    def version(self) -> str:
        return self._source.version

    @property
    def requests(self) -> Requests | None:
        return self._source.requests

    def check_unchanged(self) -> None:
        self._source.check_unchanged()

    def check_one_version(self) -> None:
        self._source.check_one_version()

    def close(self) -> None:
        self._source.close()


class Cut(DelegatingSource):
    """The first `size` bytes of a Source."""

    def read_at(self, offset: int, length: int) -> bytes:
        check_length(self.path, offset, length, max(0, min(length, self.size - offset)))
        self.bytes_read += length
        return self._source.read_at(offset, length)

    def window(self) -> Window | Cut:
        return self if self.is_remote else Window(self)


class FileEnd(NamedTuple):
    """Bytes from `start` on, in place of those that a file has there."""

    start: int
    data: bytes


class Ended(DelegatingSource):
    """A Source with another end."""

    def __init__(self, source: Source, end: FileEnd) -> None:
        super().__init__(source, end.start + len(end.data))
        self._end = end

    def read_at(self, offset: int, length: int) -> bytes:
        check_length(self.path, offset, length, max(0, min(length, self.size - offset)))
        start, data = self._end.start, self._end.data
        behind = max(0, offset + length - start)
        before = self._source.read_at(offset, length - behind) if behind < length else b""
        at = max(0, offset - start)
        return bytes(before) + data[at : at + min(behind, length)]

    def window(self) -> Ended:
        return self


class Window(DelegatingSource):
    """A Source that reads neighbouring bytes together and keeps the last of them: filters are small
    and side by side. Not for several threads."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.size)
        self._start = 0
        self._data = b""

    def read_at(self, offset: int, length: int) -> bytes:
        self.bytes_read += length
        at = offset - self._start
        if not 0 <= at <= len(self._data) - length:
            if length >= WINDOW_BYTES or offset + length > self.size:
                return self._source.read_at(offset, length)
            self._data = self._source.read_at(offset, min(WINDOW_BYTES, self.size - offset))
            self._start, at = offset, 0
        return self._data[at : at + length]

    def window(self) -> Window:
        return self
