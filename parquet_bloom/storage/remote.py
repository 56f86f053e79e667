"""Files behind URLs, through pyarrow's file systems: ranged reads, and replacing an object.

Object stores cannot rename, and an upload can leave half an object: Arrow completes it when its
stream is closed, even after an error. So the new version is written to a local file, uploaded under
a hidden name beside the object, and copied onto it by the store in one request. Readers see either
the old version or the new one.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import UNESCAPED, Address
from parquet_bloom.storage.folder import Entry, Found
from parquet_bloom.storage.local_output import COPY_CHUNK, Output
from parquet_bloom.storage.source import (
    Source,
    Window,
    changed,
    check_length,
    is_data_file,
    is_hidden,
)
from parquet_bloom.storage.temporary_files import Leftover, hidden_name, is_left

# Raised by pyarrow's file systems and by the Python ones that it wraps.
FAILURES = (OSError, NotImplementedError, pa.ArrowException)


_LIBRARIES: Final = {
    "libjvm": "needs Java, which is not found: set JAVA_HOME",
    "libhdfs": "needs libhdfs of Hadoop, which is not found: set HADOOP_HOME or ARROW_LIBHDFS_DIR",
}

# What pyarrow calls the options of S3, and those that make no difference to it.
_S3_OPTIONS = {
    "access_key_id": "access_key",
    "secret_access_key": "secret_key",
    "session_token": "session_token",
    "region": "region",
}
_NO_DIFFERENCE = {"allow_http", "connect_timeout", "read_timeout", "timeout"}


def located(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it. Raises OSError if pyarrow does not support it, or
    an option of its store: what is written must not go to another store than what was read."""
    try:
        if isinstance(url, Address) and url.options:
            return _s3(url), f"{url.host}/{url.key}"
        if isinstance(url, Address) and url.store.name == "s3":
            # pyarrow does not know `s3a`.
            url = f"s3://{url.partition('://')[2]}"
        system, path = fs.FileSystem.from_uri(str(url))
    except pa.ArrowInvalid as error:
        raise OSError(errno.EINVAL, _unknown(error, url), url) from None
    except OSError as error:
        raise OSError(error.errno or errno.EIO, _missing(error), url) from None
    return system, path


def _unknown(error: pa.ArrowInvalid, url: str) -> str:
    """What pyarrow does not know."""
    if not _line(error).startswith("Unrecognized filesystem type"):
        return _line(error)
    scheme = url.partition(":")[0]
    return (
        f"no store is known by {scheme}://; expected s3, gs, az, abfss, http, https, hdfs or file"
    )


def _missing(error: OSError) -> str:
    """What is not installed, of which pyarrow lists every place where it has looked."""
    line = _line(error)
    for library, needed in _LIBRARIES.items():
        if f"Unable to load {library}" in line:
            return needed
    return line.partition("\\n")[0]


def _s3(address: Address) -> Any:
    settings: dict[str, Any] = {}
    is_s3 = address.store.name == "s3"
    for name, value in address.options.items():
        plain = name.lower().removeprefix("aws_")
        if is_s3 and plain in _S3_OPTIONS:
            settings[_S3_OPTIONS[plain]] = value
        elif is_s3 and plain in ("endpoint", "endpoint_url"):
            settings["scheme"], _, settings["endpoint_override"] = value.rpartition("://")
        elif plain not in _NO_DIFFERENCE:
            raise OSError(
                errno.ENOTSUP, f"storage option {name}: not supported where files change", address
            )
    settings["scheme"] = settings.get("scheme") or "https"
    return fs.S3FileSystem(**settings)


def _line(error: BaseException) -> str:
    """The first line of an error message."""
    message = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(message.splitlines()[0])


@contextmanager
def failing(url: str, what: str) -> Iterator[None]:
    """Turn failures into OSErrors of one line, which name `url` and `what` failed."""
    try:
        yield
    except FAILURES as error:
        code = getattr(error, "errno", None) or errno.EIO
        raise OSError(code, f"{what}: {_line(error)}", url) from None


class RemoteSource:
    """A file behind a URL, for which pyarrow does what there is to do about requests."""

    is_remote: Final = True
    held_ahead: Final = 0
    requests: Final = None

    def __init__(self, url: str) -> None:
        self.path = url
        self.bytes_read = 0
        self.successor: str | None = None
        self._counting = Lock()
        self._system, self._place = located(url)
        self._file = self._opened()
        self.size: int = self._file.size()
        self._version = self._version_of(self._file)

    def _opened(self) -> Any:
        return self._system.open_input_file(self._place)

    def _version_of(self, file: Any) -> object:
        """What changes with the content: the ETag if there is one, else the modification time."""
        for name, value in file.metadata().items():
            if name.lower() == "etag":
                return value
        return self._system.get_file_info(self._place).mtime_ns

    def read_at(self, offset: int, length: int) -> bytes:
        data: bytes = self._file.read_at(length, offset)
        check_length(self.path, offset, length, len(data))
        with self._counting:
            self.bytes_read += length
        return data

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        return

    def window(self) -> Window:
        return Window(self)

    @property
    def version(self) -> str:
        return f"{self.size}:{self._version}"

    def check_unchanged(self) -> None:
        with failing(self.path, "not opened again"), self._opened() as now:
            size, version = now.size(), self._version_of(now)
        if (size, version) != (self.size, self._version):
            raise changed(self.path, self.size, size)

    check_one_version = check_unchanged

    def close(self) -> None:
        self._file.close()


class RemoteReplacement(Output):
    """An output that replaces an object. Its local file has no name, so that none is left behind."""

    def __init__(self, url: str, prefix: int) -> None:
        super().__init__(f"{url}: temporary file in {tempfile.gettempdir()}", prefix)
        self._url = url
        self._system, self._place = located(url)
        folder, slash, name = self._place.rpartition("/")
        self._beside = f"{folder}{slash}{hidden_name(name)}"
        self._is_beside = False

    def _create(self) -> int:
        descriptor, name = tempfile.mkstemp(prefix="pbloom-")
        os.unlink(name)
        self.temporary = f"/dev/fd/{descriptor}"
        return descriptor

    def _clean_up(self, *, failed: bool) -> None:
        if self._is_beside and failed:
            # Report the first error, not this one.
            with suppress(*FAILURES):
                self._system.delete_file(self._beside)
        elif self._is_beside:
            with failing(self._url, f"replaced, but {self._beside} could not be removed"):
                self._system.delete_file(self._beside)

    def flush(self) -> None:
        """Upload under the hidden name. Raises RewriteError if not everything arrived."""
        with failing(self._url, f"not uploaded to {self._beside}"):
            self._is_beside = True
            done = 0
            with self._system.open_output_stream(self._beside) as stream:
                while data := os.pread(self._descriptor, COPY_CHUNK, done):
                    stream.write(data)
                    done += len(data)
            found = self._system.get_file_info(self._beside).size
        if found != self.size:
            raise RewriteError(f"{self._url}: uploaded: expected {self.size} bytes, found {found}")

    def commit(self, replaced: Source | None = None) -> None:
        """Copy the upload onto the object. Raises RewriteError if the store fails to."""
        if replaced is not None:
            replaced.check_unchanged()
        try:
            self._system.copy_file(self._beside, self._place)
        except FAILURES as error:
            raise RewriteError(
                f"{self._url}: not replaced, the file system could not copy: {_line(error)}"
            ) from None


def list_remote(url: str) -> tuple[list[Found], list[str]]:
    """As list_folder, of a folder behind a URL that pyarrow supports."""
    return RemoteFolder(url).listed()


def find_remote(url: str) -> Found | None:
    """As find_file."""
    system, place = located(url)
    with failing(url, "looking for it"):
        info = system.get_file_info(place)
    return _as_found(url, info) if info.is_file else None


def _as_found(url: str, info: Any) -> Found:
    return Found(url, info.size, f"{info.size}:{info.mtime_ns}", info.mtime_ns / 1e9)


class RemoteFolder:
    """A folder behind a URL; on object stores, a prefix."""

    requests: Final = None

    def __init__(self, url: str) -> None:
        self._url = url
        self._system, self._place = located(url)

    def _path_of(self, name: str) -> str:
        return f"{self._place.rstrip('/')}/{name}"

    def has_folder(self, name: str) -> bool:
        """Raises OSError."""
        return bool(self._type_of(name) == fs.FileType.Directory)

    def has_file(self, name: str) -> bool:
        """Raises OSError."""
        return bool(self._type_of(name) == fs.FileType.File)

    def _type_of(self, name: str) -> Any:
        with failing(self._url, f"looking for {name}"):
            return self._system.get_file_info(self._path_of(name)).type

    def names_in(self, name: str) -> list[str]:
        """The names in its folder `name`; none if there is no such folder. Raises OSError."""
        return [info.base_name for info in self._list(self._path_of(name))]

    def _list(self, path: str, deep: bool = False) -> list[Any]:
        selector = fs.FileSelector(path, allow_not_found=True, recursive=deep)
        with failing(self._url, f"listing {path}"):
            try:
                return list(self._system.get_file_info(selector))
            except NotADirectoryError:
                return []

    def listed(self) -> tuple[list[Found], list[str]]:
        """As list_folder."""
        place = self._url.partition("?")[0].rstrip("/")
        files, folders = [], []
        for info in sorted(self._list(self._place), key=lambda info: info.base_name):
            path = f"{place}/{quote(info.base_name, safe=UNESCAPED)}"
            if is_hidden(info.base_name):
                continue
            if info.type == fs.FileType.Directory:
                folders.append(path)
            elif is_data_file(info.base_name) and info.is_file:
                files.append(_as_found(path, info))
        return files, folders

    @property
    def path(self) -> str:
        return self._url

    def entries(self, name: str) -> list[Entry]:
        """The files in its folder `name`, sorted by name. Raises OSError."""
        found = [
            Entry(info.base_name, info.size, info.mtime_ns // 1_000_000)
            for info in self._list(self._path_of(name))
            if info.is_file
        ]
        return sorted(found, key=lambda entry: entry.name)

    def file_names(self, name: str) -> list[str]:
        """The names of the same. Raises OSError."""
        return [entry.name for entry in self.entries(name)]

    def read(self, name: str) -> bytes:
        """A whole file. Raises OSError, FileNotFoundError if there is none."""
        if not self.has_file(name):
            raise FileNotFoundError(errno.ENOENT, "no such file", f"{self._url}/{name}")
        with (
            failing(self._url, f"reading {name}"),
            self._system.open_input_file(self._path_of(name)) as file,
        ):
            data: bytes = file.read()
        return data

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Make a file, whole or not at all; False if there is one. Of two that are made at the same
        time, on file systems whose renames overwrite, either may stay; HDFS renames to free names only.
        Raises OSError."""
        if self.has_file(name):
            return False
        try:
            self._make(name, data)
        except OSError:
            # Another may have been quicker.
            if self.has_file(name):
                return False
            raise
        return True

    def _make(self, name: str, data: bytes) -> None:
        target = self._path_of(name)
        folder, _, last = target.rpartition("/")
        temporary = f"{folder}/{hidden_name(last)}"
        try:
            with failing(self._url, f"writing {name}"):
                self._system.create_dir(folder, recursive=True)
                with self._system.open_output_stream(temporary) as stream:
                    stream.write(data)
                self._system.move(temporary, target)
        except BaseException:
            # Report the first error, not this one.
            with suppress(*FAILURES):
                self._system.delete_file(temporary)
            raise

    def leftovers(self, older_than: float, deep: bool = False) -> Iterator[Leftover]:
        """The leftovers in it of at least that many seconds; `deep`: below it, too. Raises OSError."""
        place, start = self._url.partition("?")[0].rstrip("/"), self._place.rstrip("/")
        for info in self._list(self._place, deep):
            # Folders have no time.
            if not info.is_file:
                continue
            since = info.mtime_ns / 1e9
            if is_left(info.base_name, since, older_than):
                remove = partial(self._delete, info.path)
                name = f"{place}{info.path.removeprefix(start)}"
                yield Leftover(name, info.size, since, remove)

    def discard(self) -> None:
        """Remove the folder with all that is in it. Raises OSError."""
        with failing(self._url, "removing it"):
            self._system.delete_dir(self._place)

    def _delete(self, path: str) -> None:
        with failing(self._url, f"removing {path}"):
            self._system.delete_file(path)
