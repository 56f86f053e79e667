"""A new version of a file: where it goes, and the one place that writes, verifies and commits it.

    old   | prefix                     | ...
    new   | prefix, in part zeros now  | what the change composes |

The prefix is copied by a thread of its own while the rest is composed. Nothing has the target's name
before the new version has been opened again and found to be right.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.storage.local_output import Output, default_mode, output_to
from parquet_bloom.storage.open_source import open_source
from parquet_bloom.storage.source import LocalSource, Source, is_url, local_path, naming
from parquet_bloom.storage.table_of_file import check_not_in_remote_table, check_not_in_table


class Version(Protocol):
    """A new version while it is written from front to back: `size` bytes so far."""

    size: int

    def append(self, data: bytes | memoryview) -> int:
        """Write `data`; returns its offset."""

    def append_from(self, source: Source, start: int, end: int) -> None:
        """Write the bytes [start, end) of `source`."""


class ImaginedVersion:
    """Sizes and offsets as they would be, from `size` bytes of the old file on."""

    def __init__(self, size: int) -> None:
        self.size = size

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self.size += len(data)
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        self.size += end - start


class Change(ABC):
    """What becomes of a file: its first `prefix` bytes stay, but for those that are `erased`, and
    what `compose` writes follows them."""

    prefix: int = 0

    @property
    @abstractmethod
    def is_idle(self) -> bool:
        """Whether nothing changes, so that a file in its place need not be written. Asked before
        and after `compose`: what was planned need not come true."""

    @abstractmethod
    def compose(self, version: Version) -> None:
        """Write everything behind the prefix."""

    def erased(self) -> Iterable[tuple[int, int]]:
        """Ranges of the prefix to overwrite with zeros; asked once it is composed."""
        return ()

    def beside(self, output: Path, overwrite: bool) -> AbstractContextManager[object]:
        """In the context, what has to stand beside `output`, another file, is there. Raises
        RewriteError at once if something else is, and `overwrite` is not set."""
        return nullcontext()

    @abstractmethod
    def verify(self, written: Source) -> None:
        """Raise RewriteError unless what was written is the old file but for this change."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the new version goes, a path or URL, and whether it may replace what is there; without a
    `name` it is only imagined."""

    name: str | None
    overwrite: bool = False
    in_place: bool = False

    def output(self, mode: int, prefix: int) -> Output:
        """A file at `name` that begins with `prefix` bytes of another; a new one gets `mode`."""
        name = self.name or ""
        if is_url(name):
            from parquet_bloom.storage.remote import RemoteReplacement

            return RemoteReplacement(name, prefix)
        return output_to(Path(name), self.overwrite, mode, prefix)


def write_version(source: Source, target: Target, change: Change, verify: bool = True) -> int:
    """Write what `change` makes of `source` to `target`; returns its size.

    A file in its place of which nothing changes is not written. Raises RewriteError if what was
    written is not what was meant, or `source` was changed meanwhile, OSError, and what `change`
    raises; then nothing is left of the new version.
    """
    if target.in_place and change.is_idle:
        return source.size
    if target.name is None:
        imagined = ImaginedVersion(change.prefix)
        change.compose(imagined)
        return source.size if target.in_place and change.is_idle else imagined.size
    beside: AbstractContextManager[object] = (
        nullcontext()
        if target.in_place
        else change.beside(Path(target.name).resolve(), target.overwrite)
    )
    with target.output(_mode_of(source), change.prefix) as written:
        with _prefix_copied(source, written):
            change.compose(written)
        if target.in_place and change.is_idle:
            return source.size
        for start, end in change.erased():
            written.erase(start, end)
        written.flush()
        if verify:
            _verify(change, target.name, written)
        source.check_unchanged()
        with beside:
            written.commit()
        return written.size


@contextmanager
def _prefix_copied(source: Source, written: Output) -> Iterator[None]:
    """The prefix is copied meanwhile, and there when the context is left."""
    if not written.prefix:
        yield
        return
    with ThreadPoolExecutor(1, thread_name_prefix="pbloom-copy") as copier:
        copied = copier.submit(written.copy_prefix, source)
        yield
        copied.result()


def _mode_of(source: Source) -> int:
    """The mode of a new file: the old one's, or the default where that has none."""
    return source.status.st_mode if isinstance(source, LocalSource) else default_mode()


def _verify(change: Change, name: str, written: Output) -> None:
    """Open what was written and compare; what is wrong says that the target, `name`, is as it was."""
    try:
        with naming(name), closing(open_source(written.temporary)) as found:
            if found.size != written.size:
                raise RewriteError(f"{found.size} bytes, expected {written.size}")
            change.verify(found)
    except ParquetBloomError as error:
        problem = str(error).removeprefix(f"{written.temporary}: ")
        raise RewriteError(f"{name}: verification failed, not written: {problem}") from None


def resolve_target(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    in_place: bool,
    overwrite: bool,
) -> Target:
    """Where to write. Raises RewriteError for anything that nobody has asked for."""
    where = os.fspath(source)
    if (output is None) == (not in_place):
        raise RewriteError(f"{where}: expected either an output or in_place")
    if output is None:
        return _in_place(where)
    if is_url(os.fspath(output)):
        raise RewriteError(
            f"{os.fspath(output)}: expected a local path to write to: behind URLs, files are only"
            " changed in place"
        )
    path = local_path(output)
    if path.is_dir():
        raise RewriteError(f"{path}: is a folder, expected a file to write")
    if path.exists() and not path.is_file():
        raise RewriteError(f"{path}: is a pipe or device, expected a file to write")
    if path.exists():
        _check_may_overwrite(source, path, overwrite)
    return Target(str(path), overwrite)


def _in_place(source: str) -> Target:
    if is_url(source):
        check_not_in_remote_table(source)
        return Target(source, overwrite=True, in_place=True)
    path = local_path(source)
    check_not_in_table(path)
    return Target(str(path), overwrite=True, in_place=True)


def _check_may_overwrite(source: str | os.PathLike[str], path: Path, overwrite: bool) -> None:
    if not is_url(os.fspath(source)) and path.samefile(local_path(source)):
        raise RewriteError(f"{path}: is the input itself, expected another file")
    if not overwrite:
        raise RewriteError(f"{path}: exists already: use overwrite to replace it")
    check_not_in_table(path)
