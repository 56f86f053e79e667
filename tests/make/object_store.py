"""A stand-in for an object store: names and bytes, uploads that appear when their stream is closed.

As those of Arrow's S3 do, also after an error. What is asked of it is in `requests`, and `faults`
are called with each request before it is answered.
"""

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self

import pyarrow as pa
import pytest
from conftest import FIXTURES
from pyarrow import fs

from parquet_bloom.storage import table_formats as tables

BUCKET = "hdfs://bucket"
OPTIONS = "?endpoint_override=127.0.0.1:1&scheme=http"

# The object that is there, and what is done to it.
FIXTURE = FIXTURES / "pyarrow_filters.parquet"
NAME = "bucket/lake/day=1/x.parquet"
URL = f"hdfs://{NAME}{OPTIONS}"
BUILD = {"columns": ["int64", "string"], "existing": "replace", "layout": "replace"}

# When the first object was written, in nanoseconds since 1970.
STARTED = 1_700_000_000_000_000_000

Fault = Callable[[str, str], None]


class Stored:
    """An open object: its size and ETag, if the store has such, are those of then. What is read is
    there now."""

    def __init__(self, store: "ObjectStore", path: str) -> None:
        self._store, self._path = store, path
        self._size, self._etag = len(store.known(path)), store.etags[path]

    def size(self) -> int:
        return self._size

    def read_at(self, length: int, offset: int) -> bytes:
        return self._store.known(self._path)[offset : offset + length]

    def metadata(self) -> dict[str, bytes]:
        return {} if self._etag is None else {"Content-Type": b"x", "ETag": self._etag}

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Upload:
    """An upload; each piece is a request."""

    def __init__(self, store: "ObjectStore", path: str) -> None:
        self._store, self._path, self._data = store, path, b""

    def write(self, data: bytes) -> None:
        self._store.ask("write", self._path)
        self._data += data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._store.put(self._path, self._data)


def forget_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which folders are tables' has not been asked, and is asked once: no test has a minute's end in it."""
    tables._remote_table.cache_clear()
    monkeypatch.setattr(tables, "time", SimpleNamespace(monotonic=lambda: 0.0))


class ObjectStore:
    """What is at `bucket/...`; install() it in the place of pyarrow's file systems."""

    def __init__(self, has_etags: bool) -> None:
        self.objects: dict[str, bytes] = {}
        self.modified: dict[str, int] = {}
        self.etags: dict[str, bytes | None] = {}
        self.requests: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self.urls: list[str] = []
        self._has_etags = has_etags
        self._clock = itertools.count(STARTED, 1_000_000_000)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        forget_tables(monkeypatch)
        monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=self.from_uri))

    def from_uri(self, url: str) -> tuple["ObjectStore", str]:
        self.urls.append(url)
        place, mark, options = url.partition("?")
        assert mark + options in ("", OPTIONS)
        if set(place) & set(" {}[]"):
            raise pa.ArrowInvalid(f"Cannot parse URI: '{url}'\nmore")
        return self, place.removeprefix("hdfs://")

    def ask(self, verb: str, path: str) -> None:
        self.requests.append((verb, path))
        for fault in self.faults:
            fault(verb, path)

    def put(self, path: str, data: bytes) -> None:
        self.objects[path] = bytes(data)
        self.modified[path] = next(self._clock)
        self.etags[path] = str(self.modified[path]).encode() if self._has_etags else None

    def known(self, path: str) -> bytes:
        if path not in self.objects:
            raise FileNotFoundError(f"Path does not exist '{path}'")
        return self.objects[path]

    def open_input_file(self, path: str) -> Stored:
        self.ask("open", path)
        return Stored(self, path)

    def open_output_stream(self, path: str) -> Upload:
        self.ask("upload", path)
        return Upload(self, path)

    def copy_file(self, source: str, target: str) -> None:
        self.ask("copy", target)
        self.put(target, self.known(source))

    def delete_file(self, path: str) -> None:
        self.ask("delete", path)
        self.known(path)
        del self.objects[path]

    def get_file_info(self, what: Any) -> Any:
        if not isinstance(what, fs.FileSelector):
            self.ask("info", what)
            return self._info(what)
        assert what.allow_not_found
        self.ask("list", what.base_dir)
        if what.base_dir in self.objects:
            raise NotADirectoryError(20, "Not a directory")
        below = f"{what.base_dir}/"
        names = {
            path[len(below) :].partition("/")[0] for path in self.objects if path.startswith(below)
        }
        return [self._info(below + name) for name in sorted(names)]

    def _info(self, path: str) -> Any:
        if path in self.objects:
            return fs.FileInfo(
                path, fs.FileType.File, size=len(self.objects[path]), mtime_ns=self.modified[path]
            )
        is_folder = any(name.startswith(f"{path}/") for name in self.objects)
        return fs.FileInfo(path, fs.FileType.Directory if is_folder else fs.FileType.NotFound)


def raising(verb: str, error: BaseException, at: int = 1) -> Fault:
    """A fault: the request number `at` of a kind fails."""
    left = iter(range(1, 1000))

    def fault(asked: str, path: str) -> None:
        if asked == verb and next(left) == at:
            raise error

    return fault


def check_untouched(store: ObjectStore, expected: bytes | None = None) -> None:
    assert store.objects == {NAME: expected or FIXTURE.read_bytes()}
