"""How a file changes: what storage.new_version asks of whoever knows the format.

It imports nothing that writes, as who only reads a file meets these classes, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source


class Version(Protocol):
    """A new version while it is written, from front to back: `size` bytes so far."""

    size: int

    def append(self, data: bytes | memoryview) -> int:
        """Write `data`; returns its offset."""

    def append_from(self, source: Source, start: int, end: int) -> None:
        """Write the bytes [start, end) of `source`."""

    def will_append_from(self, source: Source, ranges: Iterable[tuple[int, int]]) -> None:
        """Say which ranges `append_from` will be called for, in order, and that nothing else will be
        read meanwhile but what is in them: what has to be fetched is fetched ahead."""


class Change(ABC):
    """What becomes of a file: its first `prefix` bytes stay, except for the `erased`, and what
    `compose` writes follows them."""

    prefix: int = 0

    @property
    @abstractmethod
    def is_idle(self) -> bool:
        """Whether nothing changes, so that nothing needs to be written in place. Asked before and
        after `compose`, which may find that nothing comes of the plan."""

    @abstractmethod
    def compose(self, version: Version) -> None:
        """Write everything after the prefix."""

    def erased(self) -> Iterable[tuple[int, int]]:
        """Ranges of the prefix to overwrite with zeros; asked after `compose`."""
        return ()

    def beside(self, output: str, overwrite: bool) -> AbstractContextManager[object]:
        """A context in which the files that `output`, a new path, needs beside it are there. Raises
        RewriteError at once if others are, and `overwrite` is not set."""
        return nullcontext()

    @abstractmethod
    def verify(self, written: Source) -> None:
        """Raise RewriteError unless `written` is the old file with just this change."""
