"""Folders whose small files are read whole and whose new ones must not be there before: the logs of
tables, local or in an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.source import check_can_be_folder, local_name

if TYPE_CHECKING:
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

    def file_names(self, name: str) -> list[str]:
        """The names of the same, for which nobody has to look at each of them."""

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
        self._root = local_name(path)

    def has_folder(self, name: str) -> bool:
        return os.path.isdir(self.path_of(name))

    def entries(self, name: str) -> list[Entry]:
        found = []
        for each in self._files_in(name):
            # One may be removed meanwhile.
            with suppress(FileNotFoundError):
                status = each.stat()
                modified = status.st_mtime_ns // 1_000_000
                found.append(Entry(each.name, status.st_size, modified))
        return sorted(found, key=lambda entry: entry.name)

    def file_names(self, name: str) -> list[str]:
        return sorted([each.name for each in self._files_in(name)])

    def _files_in(self, name: str) -> Iterator[os.DirEntry[str]]:
        path = self.path_of(name)
        # In what is itself no folder, there is none.
        if not name or os.path.isdir(self._root):
            check_can_be_folder(path)
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as found:
            yield from (each for each in found if each.is_file())

    def read(self, name: str) -> bytes:
        with open(self.path_of(name), "rb") as file:
            return file.read()

    def put_if_absent(self, name: str, data: bytes) -> bool:
        from parquet_bloom.storage.new_files import made_if_absent

        return made_if_absent(self.path_of(name), data)

    def making(self, name: str) -> AbstractContextManager[BinaryIO]:
        from parquet_bloom.storage.new_files import making

        return making(self.path_of(name))

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path_of(name))

    def path_of(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._root, name))

    def sizes_of(self, names: Sequence[str]) -> list[int | None]:
        return [self._size_of(name) for name in names]

    def _size_of(self, name: str) -> int | None:
        try:
            return os.stat(self.path_of(name)).st_size
        except FileNotFoundError:
            return None
