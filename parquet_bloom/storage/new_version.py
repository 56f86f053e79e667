"""Where a new version of a file goes: which files may be replaced, and what is said if one fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.storage.local_output import Output, default_mode, output_to
from parquet_bloom.storage.source import LocalSource, Source, is_url, local_path, naming
from parquet_bloom.storage.table_of_file import check_not_in_remote_table, check_not_in_table


@dataclass(frozen=True, slots=True)
class Target:
    """Where the new version goes, a path or URL, and whether it may replace what is there."""

    name: str
    overwrite: bool
    in_place: bool = False

    def output(self, mode: int, prefix: int) -> Output:
        """The new version, which keeps `prefix` bytes; a new file gets `mode`."""
        if is_url(self.name):
            from parquet_bloom.storage.remote import RemoteReplacement

            return RemoteReplacement(self.name, prefix)
        return output_to(Path(self.name), self.overwrite, mode, prefix)


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


def mode_of(source: Source) -> int:
    """The mode of a new file: the old one's, or the default where that has none."""
    return source.status.st_mode if isinstance(source, LocalSource) else default_mode()


@contextmanager
def verifying(name: str | None, written: Output) -> Iterator[None]:
    """Let what is found wrong in `written` say that the target, `name`, is as it was."""
    try:
        with naming(name):
            yield
    except ParquetBloomError as error:
        found = str(error).removeprefix(f"{written.temporary}: ")
        raise RewriteError(f"{name}: verification failed, not written: {found}") from None
