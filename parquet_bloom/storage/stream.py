"""Files as Python reads them, mostly from front to back: local ones, pipes, those behind URLs, and what gzip
has compressed."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, cast

from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.source import is_url, local_name

if TYPE_CHECKING:
    from typing import BinaryIO

    from parquet_bloom.storage.source import Source

# What Python reads at a time from a pipe or an object.
_BUFFER: Final = 1 << 20


def open_stream(name: str, options: Mapping[str, str] | None = None) -> BinaryIO:
    """A file at a path, which may be that of a pipe, or behind a URL. Raises OSError,
    UnsupportedError."""
    if is_url(name):
        source = open_source(with_options(name, options))
        return cast("BinaryIO", io.BufferedReader(_SourceFile(source), _BUFFER))
    return open(local_name(name), "rb", buffering=_BUFFER)


def decompressed(stream: BinaryIO) -> BinaryIO:
    """What a stream has once gzip is undone, if it is compressed so."""
    if not head_of(stream).startswith(b"\x1f\x8b"):
        return stream
    return cast("BinaryIO", io.BufferedReader(gzip.GzipFile(fileobj=stream), _BUFFER))


def head_of(stream: BinaryIO) -> bytes:
    """The first bytes, which are read again; a pipe may give one of them."""
    return cast("io.BufferedReader", stream).peek(4)[:4]


class _SourceFile(io.RawIOBase):
    """A source as Python reads files."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0
        # Most are read from front to back. What is not costs the same without.
        source.will_read([(0, source.size)])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, out: Any) -> int:
        length = max(0, min(len(out), self._source.size - self._at))
        out[:length] = self._source.read_at(self._at, length)
        self._at += length
        return length

    def close(self) -> None:
        if not self.closed:
            with closing(self._source):
                super().close()
