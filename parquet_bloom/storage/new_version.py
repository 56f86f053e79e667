"""A new version of a file: where it goes, and how it is written, verified and committed.

    old   | prefix                    | ...
    new   | prefix, partly zeros now  | what the change composes |

The prefix is copied by a thread of its own while the rest is composed, and then by both threads. The new
version takes the target's name only after it has been opened again and found to be right.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import REPLACE, REPLACE_OR_RESUME, ParquetBloomError, RewriteError
from parquet_bloom.interruptions import hold, undisturbed
from parquet_bloom.storage import address_of
from parquet_bloom.storage.change import Change
from parquet_bloom.storage.journal import recover_first
from parquet_bloom.storage.local_output import AppendedEnd, Output, mode_like, output_to
from parquet_bloom.storage.ownership import (
    check_overwritable,
    check_replaceable,
    check_takes_new,
    lost_owners,
)
from parquet_bloom.storage.paths import check_folder_for_output, with_parent
from parquet_bloom.storage.source import (
    LocalSource,
    Source,
    check_can_be_folder,
    is_in_store,
    is_object,
    is_url,
    local_name,
    local_path,
    naming,
    tolerating,
)
from parquet_bloom.storage.table_formats import check_not_in_table

# A thread of its own copies more than that.
COPIED_AT_ONCE = 1 << 20

# Errors of paths where there is no file.
_NO_FILE = {errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP}


class ImaginedVersion:
    """A Version that only counts, from `size` bytes of the old file on."""

    def __init__(self, size: int) -> None:
        self.size = size

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self.size += len(data)
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        self.size += end - start

    def will_append_from(self, source: Source, ranges: Iterable[tuple[int, int]]) -> None:
        """Nothing is fetched."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the new version goes: a path or URL, or None for a dry run; whether it may `overwrite`
    another file, or is to replace its source. `is_appended`: of that, only the new end is written.
    `unconditional`: also in an object store that cannot make sure that the source is still what was
    read, or on a file system without locks. `in_folder`: with the outputs of others, in a folder that may not be
    there yet."""

    name: str | None
    overwrite: bool = False
    in_place: bool = False
    is_appended: bool = False
    unconditional: bool = False
    in_folder: bool = False

    def recover_first(self) -> None:
        """Undo what a build that was killed has appended to the file that is replaced. Raises as recover."""
        if self.name is not None and not is_url(self.name) and self.overwrite:
            recover_first(Path(self.name))

    def output(self, mode: int, prefix: int) -> Output:
        """A file at `name` that starts with `prefix` bytes of another. `mode`: of a new file. Raises RewriteError,
        OSError if its folder cannot be made."""
        name = self.name or ""
        if is_url(name):
            from parquet_bloom.storage.remote import RemoteReplacement

            return RemoteReplacement(name, prefix)
        if self.in_folder:
            with_parent(Path(name))
        return output_to(name, self.overwrite, mode, prefix, self.unconditional)


def write_version(source: Source, target: Target, change: Change, verify: bool = True) -> int:
    """Write what `change` makes of `source` to `target`; returns its size.

    In place, nothing is written if nothing changes. Raises RewriteError if the result is not as it
    should be or `source` was changed in the meantime, OSError, and what `change` raises; then
    nothing is left of the new version.
    """
    if target.in_place and change.is_idle:
        return source.size
    if target.name is None:
        imagined = ImaginedVersion(change.prefix)
        change.compose(imagined)
        if not target.in_place:
            return imagined.size
        if change.is_idle:
            return source.size
        if isinstance(source, LocalSource):
            check_replaceable(source.path)
            check_takes_new(source.path)
        elif is_in_store(source.path):
            from parquet_bloom.storage.objects.object_source import ObjectSource
            from parquet_bloom.storage.objects.replacement import adapter_of

            assert isinstance(source, ObjectSource)
            adapter_of(source.address)
        return imagined.size
    if target.in_place and not is_url(target.name):
        check_replaceable(target.name)
    beside: AbstractContextManager[object] = nullcontext()
    if not target.in_place:
        beside = change.beside(target.name, target.overwrite)
    with _output(source, target, change.prefix) as written:
        with _prefix_copied(source, written):
            change.compose(written)
        if target.in_place and change.is_idle:
            return source.size
        for start, end in change.erased():
            written.erase(start, end)
        written.flush()
        if verify:
            try:
                _verify(change, target.name, written)
            except (ParquetBloomError, OSError):
                # What was copied may be of another version: then that is what is wrong.
                if not target.is_appended:
                    source.check_unchanged()
                raise
        if not is_url(target.name):
            # A store may take long.
            hold()
        if target.in_place:
            written.commit(source)
            return written.size
        source.check_unchanged()
        with beside:
            written.commit()
        return written.size


def _output(source: Source, target: Target, prefix: int) -> Output:
    if target.is_appended:
        if not isinstance(source, LocalSource) or prefix != source.size:
            raise RewriteError(f"{source.path}: expected a local file to append to")
        return AppendedEnd(target.name or "", source)
    if target.in_place and is_object(source.path):
        from parquet_bloom.storage.objects.object_source import ObjectSource
        from parquet_bloom.storage.objects.replacement import ObjectReplacement

        assert isinstance(source, ObjectSource)
        return ObjectReplacement(source, prefix, target.unconditional)
    return target.output(mode_like(source), prefix)


@contextmanager
def _prefix_copied(source: Source, written: Output) -> Iterator[None]:
    """Copy the prefix in the meantime; it is there when the context ends."""
    if not written.prefix or written.share_prefix(source):
        yield
        return
    if written.prefix <= COPIED_AT_ONCE:
        written.copy_prefix(source)
        yield
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, thread_name_prefix="pbloom-copy") as copier:
        try:
            with undisturbed():
                copied = copier.submit(written.copy_meanwhile, source).result
        except RuntimeError:
            # The system starts no more threads.
            copied = partial(written.copy_meanwhile, source)
        try:
            yield
        except BaseException:
            written.copy_no_more()
            raise
        # Two copy in less time than one.
        written.copy_prefix(source)
        copied()


def not_kept(source: Source, target: Target, change: Change) -> Iterator[str]:
    """What to say of a file that is replaced: its other names keep the old version, and the new one may belong to
    somebody else."""
    is_replaced = target.in_place and not target.is_appended
    if not is_replaced or change.is_idle or not isinstance(source, LocalSource):
        return
    others = source.status.st_nlink - 1
    if others:
        links = "another hard link" if others == 1 else f"{others:,} other hard links"
        keep = (
            "keeps the old version, unless it is"
            if others == 1
            else "keep the old version, unless they are"
        )
        yield f"{links} to this file {keep} changed, too"
    if target.name is not None:
        yield from lost_owners(source.status, target.name)


def _verify(change: Change, name: str, written: Output) -> None:
    """Open what was written and compare. Errors name the target, which is as it was."""
    try:
        with naming(name), closing(written.opened()) as found:
            if found.size != written.size:
                raise RewriteError(f"{found.size} bytes, expected {written.size}")
            change.verify(found)
    except ParquetBloomError as error:
        problem = str(error).removeprefix(f"{written.temporary}: ")
        raise RewriteError(f"{name}: verification failed, not written: {problem}") from None


def resolve_target(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    unconditional: bool = False,
    in_table: bool = False,
    in_folder: bool = False,
) -> Target:
    """Where to write: to `output`, or None for in place. Raises RewriteError for a place that must not be written.
    `in_table`: in place, by somebody who tells the table. `in_folder`: with the outputs of others."""
    where = os.fspath(source)
    if output is None:
        if is_url(where):
            url = address_of(where) if is_object(where) else where
            _check_written_to(url)
            if not in_table:
                check_not_in_table(url)
            return Target(url, overwrite=True, in_place=True, unconditional=unconditional)
        target = local_path(where)
        if not in_table:
            check_not_in_table(target)
        return Target(str(target), overwrite=True, in_place=True, unconditional=unconditional)
    sources = [] if is_url(where) else [local_name(where)]
    return output_target(output, sources, overwrite, ", or in_place=True", in_folder)


def can_be_foreseen(source: str | os.PathLike[str], output: str | os.PathLike[str] | None) -> bool:
    """Whether a look at the place tells what resolve_target would refuse: in an object store that takes requests."""
    return output is not None or not is_url(os.fspath(source))


def check_appendable(source: str | os.PathLike[str]) -> None:
    """Raise RewriteError for a URL, behind which nothing can be appended."""
    where = os.fspath(source)
    if is_url(where):
        raise RewriteError(
            f"{where}: expected a local file to append to in place: use in_place=True"
        )


def _check_written_to(url: str) -> None:
    """Raise RewriteError for what is only read."""
    if is_object(url) and not is_in_store(url):
        raise RewriteError(
            f"{url}: not changed in place: web servers are read-only: write a local copy with an"
            " output, and upload it"
        )


def output_target(
    output: str | os.PathLike[str],
    sources: Iterable[str | Path],
    overwrite: bool,
    instead: str = "",
    in_folder: bool = False,
) -> Target:
    """The path `output`, which must not be one of the local `sources`. `instead`: what else one of them can be
    expected; `in_folder`: see Target. Raises RewriteError as resolve_target, FileNotFoundError if there is no
    such folder, NotADirectoryError if none can be there, PermissionError if it takes nothing new."""
    if is_url(os.fspath(output)):
        raise RewriteError(
            f"{os.fspath(output)}: expected a local path to write to: behind URLs, files are only"
            " changed in place"
        )
    path = local_path(output)
    found = None
    with tolerating(_NO_FILE):
        found = os.stat(path)
    if found is None and in_folder:
        check_can_be_folder(path.parent)
    elif found is None:
        check_folder_for_output(path.parent)
    if found is not None:
        if stat.S_ISDIR(found.st_mode):
            raise RewriteError(f"{path}: is a folder, expected a file to write")
        if not stat.S_ISREG(found.st_mode):
            raise RewriteError(f"{path}: is a pipe or device, expected a file to write")
        if any(os.path.samestat(found, os.stat(source)) for source in sources):
            raise RewriteError(f"{path}: is the input itself, expected another file{instead}")
        if not overwrite:
            way_out = REPLACE_OR_RESUME if in_folder else REPLACE
            raise RewriteError(f"{path}: already exists: {way_out}")
        check_not_in_table(path)
        check_overwritable(str(path))
    check_takes_new(str(path))
    return Target(str(path), overwrite, in_folder=in_folder)
