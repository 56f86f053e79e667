"""Where files are: read in ranges from paths and URLs, and written atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from parquet_bloom.arguments import PATH_OR_URL, mapping_given, path_given
from parquet_bloom.errors import UnsupportedError, lacking
from parquet_bloom.storage.source import (
    LocalSource,
    Source,
    is_in_store,
    is_object,
    is_url,
    local_name,
)

if TYPE_CHECKING:
    from parquet_bloom.storage.address import Address
    from parquet_bloom.storage.folder import LocalFolder, WritableFolder
    from parquet_bloom.storage.objects.folders import ObjectFolder
    from parquet_bloom.storage.remote import RemoteFolder

__all__ = [
    "address_if_any",
    "address_of",
    "discard_folder",
    "file_in_commands",
    "folder_at",
    "name_in_commands",
    "not_installed",
    "open_folder",
    "open_source",
    "own_library",
    "store_arguments",
    "with_options",
    "without_options",
    "writable_folder",
]

# What is imported in functions here and elsewhere in `storage` is for URLs: `objects` imports obstore, and
# `remote` pyarrow, which takes longer than building most files.


def address_of(url: str, options: Mapping[str, str] | None = None) -> Address:
    """Where the object with this URL is. `options`: of its store; those in the URL go before them. Raises
    OSError for what is no URL."""
    from parquet_bloom.storage.address import Address

    return Address.of(url, options)


def address_if_any(name: str) -> Address | None:
    """The same for what may be the name of anything else: None for that."""
    with suppress(OSError):
        return address_of(name) if is_object(name) else None
    return None


def without_options(name: str) -> str:
    """A name as it is shown: what is behind the question mark of an object's URL, or before its host,
    may be secret."""
    return address_if_any(name) or name


def name_in_commands(name: str) -> str:
    """A name, also as it is shown, as a command has it that is printed: with nothing that may be secret either."""
    address = address_if_any(name)
    return name if address is None else address.in_commands


def file_in_commands(name: str) -> str:
    """The same of a file, which no command takes for an option."""
    return f"./{name}" if name.startswith("-") else name_in_commands(name)


def store_arguments(*names: str) -> tuple[str, ...]:
    """The options with which files were read from stores, for a command about them; none if they are not the same."""
    addresses = filter(None, map(address_if_any, names))
    found = {each.options.arguments for each in addresses}
    return found.pop() if len(found) == 1 else ()


def with_options(
    path: str | os.PathLike[str], options: Mapping[str, str] | None
) -> str | os.PathLike[str]:
    """The URL of an object with the options of its store, which it does not show; any other `path` as
    it is. Raises TypeError for options that are not text."""
    if options is None:
        return path
    for name, value in mapping_given("storage_options", options, "text").items():
        if not isinstance(value, str):
            raise TypeError(
                f"storage_options: {name!r}: expected text, found {type(value).__name__}"
            )
    return address_of(path, options) if isinstance(path, str) and is_object(path) else path


def open_source(path: str | os.PathLike[str], size: int | None = None) -> Source:
    """Open a path, the URL of an object (see `address`), or another URL that pyarrow supports, such
    as `hdfs://`. `size`: what an object that is never replaced is known to have, see ObjectSource.

    Raises OSError, UnsupportedError if what reads objects is not installed, TypeError for anything but
    one path."""
    text = path_given("path", path, PATH_OR_URL)
    if is_object(text):
        address = address_of(text)
        try:
            from parquet_bloom.storage.objects.object_source import ObjectSource
        except ImportError as error:
            raise not_installed(address, error) from None
        return ObjectSource(address, size)
    if is_url(text):
        from parquet_bloom.storage.remote import RemoteSource

        return RemoteSource(text)
    return LocalSource(local_name(text), text)


def open_folder(path: str | os.PathLike[str]) -> WritableFolder:
    """The folder at a path, or the URL of one in an object store. Raises UnsupportedError for other URLs,
    behind which nobody can make a file only if there is none, OSError."""
    text = os.fspath(path)
    if is_in_store(text):
        return _object_folder(text)
    if is_url(text):
        scheme = text.partition("://")[0]
        raise UnsupportedError(
            f"{text}: a folder behind {scheme}:// is not supported, expected a local folder, s3://, gs://"
            " or az://"
        )
    from parquet_bloom.storage.folder import LocalFolder

    return LocalFolder(text)


def writable_folder(path: str) -> LocalFolder | RemoteFolder | ObjectFolder:
    """A folder, by path or URL, in which small files are made. Raises OSError, UnsupportedError."""
    if is_url(path):
        return folder_at(path)
    from parquet_bloom.storage.folder import LocalFolder

    return LocalFolder(path)


def discard_folder(path: str) -> None:
    """Remove a folder, by path or URL, with all that is in it. Raises OSError, UnsupportedError."""
    if is_url(path):
        folder_at(path).discard()
    else:
        from shutil import rmtree

        rmtree(path)


def folder_at(url: str) -> RemoteFolder | ObjectFolder:
    """A folder behind any URL. Raises OSError, UnsupportedError."""
    if is_object(url):
        return _object_folder(url)
    from parquet_bloom.storage.remote import RemoteFolder

    return RemoteFolder(url)


def _object_folder(url: str) -> ObjectFolder:
    address = address_of(url)
    try:
        from parquet_bloom.storage.objects.folders import ObjectFolder
    except ImportError as error:
        raise not_installed(address, error) from None
    return ObjectFolder(address)


def not_installed(address: Address, error: ImportError) -> Exception:
    """The error for an object that nothing here can read; `error` itself if it has another reason."""
    if (error.name or "").partition(".")[0] != "obstore":
        return error
    return lacking(address, "obstore", address.store.extra)


def own_library(address: Address, name: str, why: str) -> object:
    """What is called `name` in the module that takes the own library of the store of `address`. Raises
    UnsupportedError, which says `why`, if that is not installed."""
    store = address.store
    assert store.adapter is not None
    try:
        module = import_module(f"parquet_bloom.storage.objects.{store.adapter[0]}")
    except ImportError as error:
        # Some libraries say it in their own words when one that they need is missing.
        if (error.name or "").startswith("parquet_bloom"):
            raise
        if (error.name or "").startswith("obstore"):
            raise not_installed(address, error) from None
        raise lacking(f"{address}: {why}", store.library, store.extra) from None
    found: object = getattr(module, name)
    return found
