"""A new version of a file that is written from front to back: old ranges, and new bytes between them.

Nothing has the target's name before the new version was opened again and found to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.files import ParquetFile
from parquet_bloom.rewrite import Target, mode_of
from parquet_bloom.sources import open_source
from parquet_bloom.storage import COPY_CHUNK, Output, Source

# Raises ParquetBloomError unless the new version is what it should be.
Check = Callable[[ParquetFile], None]


class Version(Protocol):
    """What has been written so far: `size` bytes."""

    size: int

    def append(self, data: bytes | memoryview) -> int:
        """Write `data`; returns its offset."""

    def copy(self, start: int, end: int) -> None:
        """Write the old file's bytes from `start` to `end`."""


class ImaginedVersion:
    """Sizes and offsets as they would be, from `prefix` bytes of the old file on."""

    def __init__(self, prefix: int) -> None:
        self.size = prefix

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self.size += len(data)
        return offset

    def copy(self, start: int, end: int) -> None:
        self.size += end - start


class WrittenVersion:
    """The new version in a temporary file."""

    def __init__(self, source: Source, written: Output) -> None:
        written.copy_prefix(source)
        self._source = source
        self._written = written
        self.size = written.size

    def append(self, data: bytes | memoryview) -> int:
        offset = self._written.append(data)
        self.size = self._written.size
        return offset

    def copy(self, start: int, end: int) -> None:
        for at, length in pieces(start, end):
            self.append(self._source.read_at(at, length))


def pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The range in pieces that are read at once: their starts and lengths."""
    for at in range(start, end, COPY_CHUNK):
        yield at, min(COPY_CHUNK, end - at)


def unchecked(new: ParquetFile) -> None:
    """Takes what was written for granted."""


def write_version(
    file: ParquetFile,
    target: Target | None,
    prefix: int,
    compose: Callable[[Version], None],
    check: Check,
) -> int:
    """Write `file` to `target`: its first `prefix` bytes, and what `compose` writes behind them.

    Returns the size. Without a target the file is only imagined. Raises RewriteError if `check`
    finds something wrong, and for a file that was changed meanwhile.
    """
    if target is None:
        imagined = ImaginedVersion(prefix)
        compose(imagined)
        return imagined.size
    with target.output(mode_of(file.source), prefix) as written:
        compose(WrittenVersion(file.source, written))
        written.flush()
        try:
            with ParquetFile(open_source(written.temporary), file.keys) as new:
                if new.source.size != written.size:
                    raise RewriteError(f"{new.source.size} bytes, expected {written.size}")
                check(new)
        except ParquetBloomError as error:
            found = str(error).removeprefix(f"{written.temporary}: ")
            raise RewriteError(
                f"{target.name}: verification failed, not written: {found}"
            ) from None
        file.source.check_unchanged()
        written.commit()
        return written.size
