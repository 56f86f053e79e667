"""The states that files are in, by which an index tells those that it knows from new and changed ones."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from parquet_bloom.errors import RewriteError, complaint_about
from parquet_bloom.index.names import lasting
from parquet_bloom.storage import address_of, with_options
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.listing import find_file
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.source import (
    before_wildcard,
    is_object,
    is_of_index,
    is_url,
    local_name,
    version_of,
)

if TYPE_CHECKING:
    from parquet_bloom.storage.address import Address, Listed
    from parquet_bloom.storage.left_out import LeftOut

# Requests for the states of objects.
_AT_ONCE: Final = 16
# What is said of a file that is no more: what was in it may be in one that the index does not know.
GONE: Final = "gone since it was indexed, perhaps moved: index add brings the index up to date, or says what does"
# Why a link cannot be followed.
_OF_LINKS: Final = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR)


def listed(
    names: Iterable[str],
    options: Mapping[str, str] | None,
    besides: str | None,
    look: Callable[[str], Found | None],
    left_out: LeftOut | None = None,
) -> tuple[list[Found], list[OSError]]:
    """The files that `names` mean, each once and in its state, sorted by path, but for those of the index in the
    folder `besides`; and why some mean nothing, or nobody may look. `look`: tells the state of a file, as
    state_of does. left_out: as for expand. Raises UnsupportedError, RewriteError for data in that folder."""
    named = tuple(names)
    inputs, errors = expand(named, options, left_out)
    found: dict[str, Found] = {}
    own = None if besides is None else lasting([besides])[0]
    for path, _ in inputs:
        if own is not None and is_own(path, own, besides):
            continue
        try:
            now = look(path)
        except OSError as error:
            errors.append(error)
            continue
        if now is not None:
            found[path] = now
        elif path in named:
            # What is gone from a folder meanwhile is no error.
            errors.append(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path))
    return sorted(found.values(), key=lambda file: file.path), errors


def is_own(path: str, folder: str, shown: str | None = None) -> bool:
    """Whether a file is one of those of the index in a folder, which is called `shown`. Raises RewriteError for data
    in that folder."""
    below = f"{folder.rstrip('/')}/"
    if not path.startswith(below):
        return False
    if not is_of_index(path):
        place = path.removeprefix(below)
        raise RewriteError(
            f"{shown or folder}: has data in it, {place}: expected another folder for the index"
        )
    return True


def in_stores_of(sources: Iterable[str], paths: Iterable[str]) -> list[str]:
    """The paths of the files of an index, with what its `sources` say of their stores:
    an index has only the text of a URL."""
    told = [address_of(name) for name in sources if is_object(name)]
    told = [address for address in told if address.in_full != (str(address), {})]
    if not told:
        return [*paths]
    # The nearest first.
    told.sort(key=lambda address: len(address.key), reverse=True)
    return [_in_store_of(told, path) for path in paths]


def _in_store_of(told: Sequence[Address], path: str) -> str:
    if not is_object(path):
        return path
    place = address_of(path)
    for each in told:
        is_there = (each.scheme, each.host) == (place.scheme, place.host)
        if is_there and place.key.startswith(before_wildcard(each.key)):
            return each.other(path)
    return path


def is_as_read(file: Found, size: int, version: str) -> bool:
    """Whether a file is as it was when it was read with this size and version. Of a file that a table records, and
    whose version nobody was asked for, the size counts: tables never put another file in its place."""
    if file.version is None:
        return file.size == size and version != ""
    return file.version == version


def state_of(path: str) -> Found | None:
    """A file in its state; None if it is no more. Raises OSError."""
    if is_url(path):
        return _behind_url(path)
    status = _status(path)
    if status is None:
        return None
    return Found(path, status.st_size, version_of(status), status.st_mtime)


def state_unless_asked_for(path: str) -> Found | None:
    """The same for those who open the file anyway: behind a URL,
    without a version if only a request would tell it."""
    if not is_url(path) or _listing_of(path) is not None:
        return state_of(path)
    return Found(path, 0, None, None)


def _status(path: str) -> os.stat_result | None:
    """Of a link that leads nowhere, or in circles, its own: it is there, and whoever opens it says what is wrong."""
    name = local_name(path)
    try:
        return os.stat(name)
    except OSError as error:
        if error.errno not in _OF_LINKS:
            raise
    # It is no more, either, where its folder is a file by now.
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.lstat(name)
    return None


def _behind_url(url: str) -> Found | None:
    listing = _listing_of(url)
    if listing is None or listing.size is None:
        return find_file(url)
    from parquet_bloom.storage.objects.object_source import version_told

    version = version_told(listing.size, listing.etag, listing.modified)
    modified = None if listing.modified is None else listing.modified.timestamp()
    return Found(url, listing.size, version, modified)


def _listing_of(url: str) -> Listed | None:
    """What the listing in which it was found says of it."""
    from parquet_bloom.storage.address import Address

    return url.listed if isinstance(url, Address) else None


class States(NamedTuple):
    """`versions`: of files as they are now, by path; None of one that is no more. `unseen`: why nobody could tell
    those of the others."""

    versions: dict[str, str | None]
    unseen: dict[str, OSError]

    @property
    def reasons(self) -> dict[str, str]:
        """As `unseen`, in words."""
        return {
            path: complaint_about(path, error).removeprefix(f"{path}: ")
            for path, error in self.unseen.items()
        }


def states_of(
    paths: Sequence[str], options: Mapping[str, str] | None = None
) -> dict[str, str | None]:
    """As states_seen, of all of them. Raises OSError."""
    versions, unseen = states_seen(paths, options)
    for error in unseen.values():
        raise error
    return versions


def states_seen(paths: Sequence[str], options: Mapping[str, str] | None = None) -> States:
    """The state of each file as it is now. Those behind URLs are asked for at once, more or less."""

    def version(path: str) -> str | OSError | None:
        try:
            if is_url(path):
                found = state_of(os.fspath(with_options(path, options)))
                return None if found is None else found.version
            status = _status(path)
            return status and version_of(status)
        except OSError as error:
            return error

    if any(map(is_url, paths)):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_ONCE, "pbloom-state") as pool:
            told = [*pool.map(version, paths)]
    else:
        told = [version(path) for path in paths]
    seen = States({}, {})
    for path, each in zip(paths, told, strict=True):
        if isinstance(each, OSError):
            seen.unseen[path] = each
        else:
            seen.versions[path] = each
    return seen
