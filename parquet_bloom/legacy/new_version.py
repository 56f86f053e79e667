"""A new version of a file that is written from front to back: old ranges, and new bytes between them.

Nothing has the target's name before the new version was opened again and found to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from parquet_bloom.errors import RewriteError
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.writer import commit, material_for
from parquet_bloom.storage.new_version import Target, mode_of, verifying
from parquet_bloom.storage.open_source import open_source
from parquet_bloom.storage.source import Source

# Raises ParquetBloomError unless the new version is what it should be.
Check = Callable[[ParquetFile], None]


class Version(Protocol):
    """What has been written so far: `size` bytes. An Output is one."""

    size: int

    def append(self, data: bytes | memoryview) -> int:
        """Write `data`; returns its offset."""

    def append_from(self, source: Source, start: int, end: int) -> None:
        """Write the bytes [start, end) of `source`."""


class ImaginedVersion:
    """Sizes and offsets as they would be, from `prefix` bytes of the old file on."""

    def __init__(self, prefix: int) -> None:
        self.size = prefix

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self.size += len(data)
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        self.size += end - start


def unchecked(new: ParquetFile) -> None:
    """Takes what was written for granted."""


def write_version(
    file: ParquetFile,
    target: Target | None,
    prefix: int,
    compose: Callable[[Version], None],
    check: Check,
    erased: Iterable[Range] = (),
) -> int:
    """Write `file` to `target`: its first `prefix` bytes, but for those that are to be `erased`, and
    what `compose` writes behind them.

    Returns the size. Without a target the file is only imagined. Raises RewriteError if `check`
    finds something wrong, and for a file that was changed meanwhile.
    """
    if target is None:
        imagined = ImaginedVersion(prefix)
        compose(imagined)
        return imagined.size
    material = material_for(file, target)
    with target.output(mode_of(file.source), prefix) as written:
        written.copy_prefix(file.source)
        compose(written)
        for start, end in erased:
            written.erase(start, end)
        written.flush()
        with (
            verifying(target.name, written),
            ParquetFile(open_source(written.temporary), file.keys) as new,
        ):
            if new.source.size != written.size:
                raise RewriteError(f"{new.source.size} bytes, expected {written.size}")
            check(new)
        commit(file, written, material)
        return written.size
