"""Files where our storage finds them, as a file system of pyarrow: URLs, with the options and credentials that all
verbs take. It can be sent to other processes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa
from pyarrow import fs

from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.source import Ended, FileEnd, Source, is_url

# A path or URL, and the options of its store. Unlike an Address, it keeps them in another process.
Place: TypeAlias = tuple[str, Mapping[str, str] | None]


class _Opened(io.RawIOBase):
    """A source that is read from where it stands."""

    def __init__(self, place: Place, end: FileEnd | None = None) -> None:
        super().__init__()
        self._source: Source = open_source(with_options(*place))
        if end is not None:
            self._source = Ended(self._source, end)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        self._at = start + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._source.size - self._at)
        length = left if size < 0 else min(size, left)
        data = bytes(self._source.read_at(self._at, length)) if length else b""
        self._at += length
        return data

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()


class SourceFileSystem(fs.FileSystemHandler):  # type: ignore[misc]
    """For reading alone. `options`: of the stores of all files but those that have `places`, by their names;
    `ends`: of files that have others than they are to have."""

    def __init__(
        self,
        options: Mapping[str, str] | None,
        places: Mapping[str, Place] | None = None,
        ends: Mapping[str, FileEnd] | None = None,
    ) -> None:
        self._options, self._places = options, dict(places or {})
        self._ends = dict(ends or {})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SourceFileSystem)
            and self._options == other._options
            and self._places == other._places
            and self._ends == other._ends
        )

    def __hash__(self) -> int:
        return hash(SourceFileSystem)

    def get_type_name(self) -> str:
        return "parquet_bloom"

    def normalize_path(self, path: str) -> str:
        return path

    def open_input_file(self, path: str) -> Any:
        return pa.PythonFile(self._opened(path), mode="r")

    def _opened(self, path: str) -> _Opened:
        return _Opened(self._places.get(path, (path, self._options)), self._ends.get(path))

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def get_file_info(self, paths: Sequence[str]) -> list[Any]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> Any:
        try:
            with self._opened(path) as file:
                return fs.FileInfo(path, fs.FileType.File, size=file.seek(0, io.SEEK_END))
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise NotImplementedError("files are only read here")

    get_file_info_selector = _refuse
    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


def file_system(paths: Iterable[str], are_local: bool, ends: Mapping[str, FileEnd]) -> Any:
    """What reads files that are all local, or not."""
    if are_local and not ends:
        return fs.LocalFileSystem()
    places = {str(path): _place_of(path) for path in paths if is_url(path)}
    _, options = next(iter(places.values()), ("", None))
    # Mostly one says it for all.
    own = {name: place for name, place in places.items() if place != (name, options)}
    return fs.PyFileSystem(SourceFileSystem(options, own, ends))


def _place_of(path: str) -> Place:
    return path.in_full if isinstance(path, Address) else (path, None)
