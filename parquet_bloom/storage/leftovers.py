"""What killed runs have left at a path or URL: temporary files, and unfinished uploads."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import cast

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage import folder_at, own_library
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.source import (
    has_data_suffix,
    has_wildcard,
    is_object,
    is_url,
    local_path,
)
from parquet_bloom.storage.store_kinds import STORES
from parquet_bloom.storage.temporary_files import Leftover, is_temporary, leftovers, leftovers_below


def files_left(path: str, older_than: float) -> Iterator[Leftover]:
    """The temporary files in a folder and all below it, hidden ones too, or beside a file and for it,
    that were last written at least `older_than` seconds ago. Links are not followed. Raises OSError,
    UnsupportedError."""
    if is_url(path):
        return _behind(path, older_than)
    file = local_path(path)
    if file.is_dir():
        return leftovers_below(str(file), older_than)
    if file.is_symlink():
        # Outputs are made beside what it leads to.
        file = Path(os.path.realpath(file))
    beside = leftovers(file.parent, older_than) if file.parent.is_dir() else iter(())
    found = [*_of_file(beside, file.name)]
    if not found and not file.exists():
        raise FileNotFoundError(errno.ENOENT, "no such file or folder", path)
    return iter(found)


def left_beside(paths: Iterable[str], older_than: float) -> list[Leftover]:
    """The temporary files in the folders of these local files, for which each is listed once; what cannot be listed
    has none."""
    found: list[Leftover] = []
    for folder in dict.fromkeys(os.path.dirname(path) for path in paths if not is_url(path)):
        with suppress(OSError):
            found += leftovers(Path(folder), older_than)
    return found


def without_temporary(paths: Iterable[str]) -> list[str]:
    """Those of the paths that are no temporary files."""
    return [path for path in paths if not is_temporary(os.path.basename(path))]


def _behind(url: str, older_than: float) -> Iterator[Leftover]:
    if is_object(url):
        return _behind_object(Address.of(url), older_than)
    place = url.partition("?")[0]
    _check_no_glob(place)
    if has_data_suffix(place):
        folder, _, name = place.rpartition("/")
        return _of_file(folder_at(folder + url.removeprefix(place)).leftovers(older_than), name)
    return folder_at(url).leftovers(older_than, deep=True)


def _behind_object(address: Address, older_than: float) -> Iterator[Leftover]:
    if not address.store.has_folders:
        raise UnsupportedError(f"{address}: web servers are read-only: nothing is left there")
    _check_no_glob(address)
    # Spark gives such names to folders, too.
    below = folder_at(address).leftovers(older_than, deep=True)
    if not has_data_suffix(address.key) or (parent := address.parent) is None:
        return below
    return chain(_of_file(folder_at(parent).leftovers(older_than), Path(address.key).name), below)


def _check_no_glob(place: str) -> None:
    if has_wildcard(place):
        raise OSError(errno.EINVAL, "a glob, expected a folder or a file", place)


def _of_file(found: Iterator[Leftover], name: str) -> Iterator[Leftover]:
    """Those for the output `name`."""
    for left in found:
        path = getattr(left.path, "key", left.path)
        if is_temporary(path.rpartition("/")[2], name):
            yield left


def uploads_left(path: str, older_than: float) -> Iterator[Leftover]:
    """The uploads to an object in S3 or Azure, or to those in a folder and below it, that were begun at
    least `older_than` seconds ago, got nothing since, and can be ours. Raises OSError, UnsupportedError."""
    address = Address.of(path) if is_object(path) else None
    if address is None or not address.store.unfinished:
        where = " and ".join(store.title for store in STORES if store.unfinished)
        discards = address.store.discards if address else ""
        raise UnsupportedError(
            f"{path}: unfinished uploads are looked for in {where} only"
            + f": {discards}" * bool(discards)
        )
    _check_no_glob(address)
    found = own_library(address, address.store.unfinished, "to look for uploads")
    return cast(Callable[[Address, float], Iterator[Leftover]], found)(address, older_than)
