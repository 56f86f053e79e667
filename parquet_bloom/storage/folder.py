"""Folders whose small files are read whole and whose new ones must not be there before: the logs of
tables, local or in an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage.folder_sync import sync_folder
from parquet_bloom.storage.local_output import NO_LINKS
from parquet_bloom.storage.rename import rename_to_free
from parquet_bloom.storage.source import local_path, naming, tolerating
from parquet_bloom.storage.temporary_files import hidden_name
from parquet_bloom.storage.traffic import Requests


@dataclass(frozen=True, slots=True)
class Entry:
    """A file directly in a folder. `modified`: in milliseconds since 1970."""

    name: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is not empty. `version`: as Source.version of the open file; None if a listing does
    not tell; `modified`: in seconds since 1970, None likewise."""

    path: str
    size: int
    version: str | None
    modified: float | None


class Folder(Protocol):
    """A folder, by path or URL. Names are relative to it, with `/` between their parts. Methods raise
    OSError."""

    path: str

    @property
    def requests(self) -> Requests | None:
        """What was asked of an object store so far; None for a local folder."""

    def has_folder(self, name: str) -> bool: ...
    def entries(self, name: str) -> list[Entry]:
        """The files in its folder `name`, sorted by name; none if there is no such folder."""

    def read(self, name: str) -> bytes:
        """A whole file. Raises FileNotFoundError."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Make a file, whole or not at all; False if there is one."""

    def path_of(self, name: str) -> str:
        """The path or URL of a file in it, to be opened."""

    def sizes_of(self, names: Sequence[str]) -> list[int | None]:
        """Of each of these files, in bytes; None if there is none of that name."""


class WritableFolder(Folder, Protocol):
    """A Folder in which larger files are made, too."""

    def making(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file of a name that nobody else gives, to be written from its start. It is there once the context
        ends, unless by an exception."""

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""


class LocalFolder:
    """A local Folder."""

    requests: Final = None

    def __init__(self, path: str) -> None:
        self.path = path
        self._root = local_path(path)

    def has_folder(self, name: str) -> bool:
        return (self._root / name).is_dir()

    def entries(self, name: str) -> list[Entry]:
        found = []
        with suppress(FileNotFoundError):
            for each in os.scandir(self._root / name):
                # One may be removed meanwhile.
                with suppress(FileNotFoundError):
                    if each.is_file():
                        status = each.stat()
                        modified = status.st_mtime_ns // 1_000_000
                        found.append(Entry(each.name, status.st_size, modified))
        return sorted(found, key=lambda entry: entry.name)

    def read(self, name: str) -> bytes:
        return (self._root / name).read_bytes()

    def put_if_absent(self, name: str, data: bytes) -> bool:
        target = self._root / name
        temporary = target.with_name(hidden_name(target.name))
        with naming(target):
            try:
                self._write(temporary, data)
                is_made = self._link(temporary, target)
            except BaseException:
                # Report the first error, not this one.
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise
            if not is_made:
                temporary.unlink(missing_ok=True)
                return False
            with _afterwards(f"{temporary} could not be removed"):
                temporary.unlink(missing_ok=True)
            with _afterwards("its folder could not be synced"):
                sync_folder(target.parent)
        return True

    def _write(self, temporary: Path, data: bytes) -> None:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _link(self, temporary: Path, target: Path) -> bool:
        try:
            with tolerating(NO_LINKS):
                os.link(temporary, target)
                return True
            if rename_to_free(temporary, target):
                return True
        except FileExistsError:
            return False
        raise UnsupportedError(
            f"{target}: not written: the file system has neither hard links nor renames that never"
            " overwrite, so a concurrent write could be lost"
        )

    @contextmanager
    def making(self, name: str) -> Iterator[BinaryIO]:
        target = self._root / name
        with naming(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with open(target, "xb", buffering=1 << 20) as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
            except BaseException:
                target.unlink(missing_ok=True)
                raise
            sync_folder(target.parent)

    def remove(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)

    def path_of(self, name: str) -> str:
        return str(self._root / name)

    def sizes_of(self, names: Sequence[str]) -> list[int | None]:
        return [self._size_of(name) for name in names]

    def _size_of(self, name: str) -> int | None:
        try:
            return os.stat(self._root / name).st_size
        except FileNotFoundError:
            return None


@contextmanager
def _afterwards(what: str) -> Iterator[None]:
    """Make OSErrors say that the file was written nevertheless, and `what` could not be done."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"was written, but {what}: {error.strerror}") from None
