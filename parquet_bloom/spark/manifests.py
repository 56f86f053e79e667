"""The files that a manifest lists, as the work of a run: no folder is listed.

    one task     reads the manifest from front to back, and passes on what it says of each file
    many tasks   of those that are next to each other, look for the size and version of files of which it does
                 not say both

It is read and looked up where executors are, with their credentials. The driver has none of the names.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final, NamedTuple, cast

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.spark.listing import as_lake_file, names_for_executors, opened_in
from parquet_bloom.spark.plan import LakeFile
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.storage.listing import find_file, find_local, version_in_listing
from parquet_bloom.storage.manifest import batches_in
from parquet_bloom.storage.source import is_url
from parquet_bloom.storage.stream import open_stream

# Standard input, on the command line.
_STDIN: Final = "-"

# Files that are looked for at once, each of which waits for a store, and how many before they are passed on.
_AT_ONCE: Final = 16
_TOGETHER: Final = 1024


@dataclass(frozen=True, slots=True)
class GivenManifest:
    """`path`: as executors open it; `folder`: in which relative paths in it start."""

    path: str
    folder: str


class Listing(NamedTuple):
    """A file, and when it was last changed, in seconds since 1970; None where nobody says."""

    file: LakeFile
    modified: float | None = None

    def is_since(self, moment: float | None) -> bool:
        """Whether it was changed then or later, as far as anybody knows."""
        return moment is None or self.modified is None or self.modified >= moment


def manifest_named(name: str) -> GivenManifest:
    """Raises FileNotFoundError for an empty name, UnsupportedError for standard input."""
    if not name:
        # An unset shell variable must not mean the current folder.
        raise FileNotFoundError(errno.ENOENT, "manifest: an empty name, expected a file")
    if name == _STDIN:
        raise UnsupportedError(
            "manifest: -: executors cannot read the standard input of this process, expected a file"
        )
    ((_, path),) = names_for_executors([name])
    return GivenManifest(path, os.getcwd())


def size_of(manifest: GivenManifest) -> int:
    """In bytes. Raises OSError, FileNotFoundError if there is none."""
    found = find_file(manifest.path) if is_url(manifest.path) else find_local(manifest.path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), manifest.path)
    return found.size


def listed_in(manifest: GivenManifest) -> Iterator[Listing]:
    """The files of a manifest, in its order, of which nobody has looked whether they are there. Raises
    FormatError, OSError."""
    with open_stream(manifest.path) as stream:
        for paths, listed in batches_in(manifest.path, stream):
            for index, given in enumerate(paths):
                path = opened_in(manifest.folder, given)
                said = listed(index)
                version = version_in_listing(path, said)
                known = LakeFile(path, None if version is None else said.size, version)
                yield Listing(known, said.modified.timestamp() if said.modified else None)


def looked_up(listing: Listing) -> Listing:
    """The same with what nobody has said of the file yet; whoever opens it will say if it is not there."""
    path = listing.file.path
    if listing.file.version is not None:
        return listing
    try:
        found = find_file(path) if is_url(path) else find_local(path)
    except OSError:
        return listing
    return listing if found is None else Listing(as_lake_file(found), found.modified)


def completed(rows: Iterator[RowFields], since: float | None) -> Iterator[RowFields]:
    """Rows of SEEN, those of the manifest with sizes and versions, and only those changed since then."""

    def complete(row: RowFields) -> RowFields | None:
        if row["is_earlier"] or row["status"] is not None or row["version"] is not None:
            return row
        found = looked_up(Listing(LakeFile(row["path"])))
        if not found.is_since(since):
            return None
        return row | {"size": found.file.size, "version": found.file.version}

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pbloom-look") as threads:
        while chunk := list(islice(rows, _TOGETHER)):
            yield from cast(Iterator[RowFields], filter(None, threads.map(complete, chunk)))
