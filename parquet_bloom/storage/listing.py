"""The data files in a folder, local or behind a URL, with their sizes and versions: what is told by the
listing itself, so that no file is opened.

    local      folder by folder, in the order of names
    objects    all keys below a prefix, in pages of 1,000, or those directly in it
    others     folder by folder, as pyarrow lists them
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from parquet_bloom.storage import address_of
from parquet_bloom.storage.folder import Found
from parquet_bloom.storage.paths import not_listed
from parquet_bloom.storage.source import is_data_file, is_hidden, is_object, is_url, version_of

if TYPE_CHECKING:
    from parquet_bloom.storage.address import Listed


def list_folder(path: str, root: str | None = None) -> tuple[list[Found], list[str]]:
    """The data files directly in a folder, and its folders, both sorted; hidden ones are left out.
    Links are followed, except to what is found below the real path `root` without them. Raises
    OSError."""
    if is_object(path):
        from parquet_bloom.storage.objects.listing import found_in

        return found_in(address_of(path))
    if is_url(path):
        from parquet_bloom.storage.remote import list_remote

        return list_remote(path)
    return _list_local(path, root)


def find_file(url: str) -> Found | None:
    """The file behind a URL; None if there is none, or a folder. Raises OSError."""
    if is_object(url):
        from parquet_bloom.storage.objects.listing import found_at

        return found_at(address_of(url))
    from parquet_bloom.storage.remote import find_remote

    return find_remote(url)


def find_local(path: str) -> Found | None:
    """The local file at a path; None if there is none, or a folder. Raises OSError."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Found(path, status.st_size, version_of(status), status.st_mtime)


def find_lost_link(path: str) -> Found | None:
    """A link that leads nowhere, or in circles, as a file without bytes: whoever opens it says so.
    None for all else."""
    is_lost = os.path.islink(path) and not os.path.exists(path)
    return Found(path, 0, None, None) if is_lost else None


def version_in_listing(path: str, listed: Listed) -> str | None:
    """Source.version of a file, as a manifest says: None for one that is not an object, or of which it
    does not say size and ETag."""
    if listed.size is None or listed.etag is None or not is_object(path):
        return None
    from parquet_bloom.storage.objects.object_source import quoted, version_named

    return version_named(listed.size, quoted(listed.etag))


def match_objects(pattern: str) -> Iterator[Found]:
    """The files of an object store that a glob matches, and the data files in folders that it matches;
    hidden ones are left out. Raises OSError."""
    from parquet_bloom.storage.objects.listing import found_matching

    return found_matching(address_of(pattern))


def list_objects(url: str) -> Iterator[Found]:
    """The data files below a folder of an object store, page by page and sorted. Raises OSError."""
    from parquet_bloom.storage.objects.listing import found_below

    return found_below(address_of(url))


def _list_local(path: str, root: str | None) -> tuple[list[Found], list[str]]:
    files, folders = [], []
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except PermissionError as error:
        raise not_listed(path, os.strerror(error.errno or 0)) from None
    for entry in entries:
        if is_hidden(entry.name):
            continue
        if entry.is_symlink() and (lost := find_lost_link(entry.path)):
            if is_data_file(entry.name):
                files.append(lost)
            continue
        if entry.is_symlink() and _is_below(entry.path, root):
            continue
        # One may be removed meanwhile.
        with suppress(FileNotFoundError):
            if entry.is_dir():
                folders.append(entry.path)
            elif is_data_file(entry.name) and entry.is_file():
                status = entry.stat()
                version = version_of(status)
                files.append(Found(entry.path, status.st_size, version, status.st_mtime))
    return files, folders


def _is_below(link: str, root: str | None) -> bool:
    """Whether a link leads to what is found below `root` anyway."""
    real = os.path.realpath(link)
    if root is None or not real.startswith(os.path.join(root, "")):
        return False
    return not any(map(is_hidden, os.path.relpath(real, root).split(os.sep)))
