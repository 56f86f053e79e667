"""A file while a verb changes it: where its new version goes, how it is written, and what every report
says of it. What is to change the verb decides.

What changes the files of a table has a runner, see table_runner, whose steps come here, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, TypeVar

from parquet_bloom.container.protocols import Container
from parquet_bloom.container.room import TO_CHANGE, check_room
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import RewriteError, quoted_name
from parquet_bloom.files import open_file
from parquet_bloom.options import BuildOptions, Destination, RepairOptions, StripOptions
from parquet_bloom.storage.change import Change
from parquet_bloom.storage.new_version import Target, not_kept, write_version
from parquet_bloom.vocabulary import FORMAT_TITLES, NULL_BY_NAME

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import Format

    class FileFacts(TypedDict):
        """What the report of every verb has."""

        path: str
        format: Format
        output: str | None
        size_before: int
        size_after: int
        dry_run: bool
        seconds: float
        requests: Requests | None


OfChange = TypeVar("OfChange", BuildOptions, RepairOptions)


@dataclass(frozen=True, slots=True)
class Changing:
    """A file that is open to be changed. `target`: where its new version goes; `started`: when, as
    time.perf_counter has it."""

    file: Container
    target: Target
    verify: bool
    started: float

    def ready(self, options: OfChange) -> OfChange:
        """The options for this file, whose pages are about to be read. Raises as check_room."""
        file = self.file
        check_room(file, file.select(options.columns), options.parts, TO_CHANGE)
        if options.ignore_checksums:
            file.ignore_checksums()
        if self.target.in_place and file.source.is_remote:
            return replace(options, usual_layout="append")
        return options

    def write(self, change: Change) -> FileFacts:
        """Write the new version. Raises as write_version."""
        source = self.file.source
        size = write_version(source, self.target, change, self.verify)
        return {
            "path": self.file.path,
            "format": self.file.format,
            "output": self._written(change),
            "size_before": source.size,
            "size_after": size,
            "dry_run": self.target.name is None,
            "seconds": time.perf_counter() - self.started,
            "requests": source.requests,
        }

    def _written(self, change: Change) -> str | None:
        """The file that was written, once it is: in place, the one that was named, as its user has called it; None
        for a dry run, and for a file in which there was nothing to change."""
        if self.target.name is None or (self.target.in_place and change.is_idle):
            return None
        return self.file.path if self.target.in_place else self.target.name

    def notes(self, change: Change) -> tuple[str, ...]:
        """What to know about the file, once it is written."""
        return (*self.file.page_notes, *not_kept(self.file.source, self.target, change))


@contextmanager
def changing(
    path: str | os.PathLike[str], destination: Destination, keys: Keys | None = None
) -> Iterator[Changing]:
    """Open a file to change it. Raises RewriteError for an output that must not be written, and as
    open."""
    started = time.perf_counter()
    target = destination.target(path)
    with open_file(path, keys) as file:
        _check_ending(file, destination.output)
        yield Changing(file, target, destination.verify, started)


def changing_opened(file: Container, destination: Destination) -> Changing:
    """The same with a file that is open."""
    started = time.perf_counter()
    _check_ending(file, destination.output)
    return Changing(file, destination.target(file.path), destination.verify, started)


def take_by_name(file: Container, options: BuildOptions | StripOptions) -> None:
    """Let a file lack columns, if its user says so of all files."""
    if options.union_by_name:
        file.unite_by_name(options.columns or ())


def lacking(file: Container, options: BuildOptions | StripOptions) -> Iterator[str]:
    """Of which columns there can be no filter in the file, by what its user says of all files."""
    if options.union_by_name:
        for name in options.columns or ():
            if file.lacks(name):
                yield f"column {quoted_name(name)}: {NULL_BY_NAME}"


def _check_ending(file: Container, output: str | os.PathLike[str] | None) -> None:
    """Raise RewriteError for a new name that says another format; one that the file has already may stay."""
    if output is None:
        return
    ending = os.path.splitext(output)[1]
    others = {f".{each}" for each in FORMAT_TITLES if each != file.format}
    if ending in others and not file.path.endswith(ending):
        title = FORMAT_TITLES[file.format]
        raise RewriteError(
            f"{os.fspath(output)}: {file.path} is {title}, expected a name that ends with .{file.format}"
        )
