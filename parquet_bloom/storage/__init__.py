"""Where files are: read in ranges from paths and URLs, and written atomically."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from parquet_bloom.arguments import mapping_given
from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage.source import LocalSource, Source, is_object, is_url, local_name

if TYPE_CHECKING:
    from types import ModuleType

    from parquet_bloom.storage.address import Address
    from parquet_bloom.storage.folder import Folder

# The extra that brings what reads there; web servers need nothing more than any of them.
_EXTRAS = {"s3": "s3", "gs": "gcs", "az": "azure", "http": "s3"}
# Each store's own library, which changes its objects.
_LIBRARIES = {"s3": "boto3", "gs": "google-auth", "az": "azure-storage-blob"}


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a path, the URL of an object (see `address`), or another URL that pyarrow supports, such
    as `hdfs://`. Raises OSError, UnsupportedError if what reads objects is not installed, TypeError
    for anything but one path."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path: {path!r}, expected one path or URL, as str or os.PathLike")
    text = os.fspath(path)
    if is_object(text):
        # Only whoever reads objects needs what that takes.
        from parquet_bloom.storage.address import Address

        address = Address.of(text)
        try:
            from parquet_bloom.storage.objects.object_source import ObjectSource
        except ImportError as error:
            raise not_installed(address, error) from None
        return ObjectSource(address)
    if is_url(text):
        # Lazily: importing pyarrow takes longer than building most files.
        from parquet_bloom.storage.remote import RemoteSource

        return RemoteSource(text)
    return LocalSource(local_name(text), text)


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """The folder at a path, or the URL of one in an object store. Raises UnsupportedError for other URLs,
    behind which nobody can make a file only if there is none, OSError."""
    text = os.fspath(path)
    if is_object(text):
        from parquet_bloom.storage.address import Address

        address = Address.of(text)
        if address.kind != "http":
            try:
                from parquet_bloom.storage.objects.folders import ObjectFolder
            except ImportError as error:
                raise not_installed(address, error) from None
            return ObjectFolder(address)
    if is_url(text):
        scheme = text.partition("://")[0]
        raise UnsupportedError(
            f"{text}: a table behind {scheme}:// is not supported, expected a local folder, s3://, gs://"
            " or az://"
        )
    from parquet_bloom.storage.folder import LocalFolder

    return LocalFolder(text)


def with_options(
    path: str | os.PathLike[str], options: Mapping[str, str] | None
) -> str | os.PathLike[str]:
    """The URL of an object with the options of its store, which it does not show; any other `path` as
    it is. Raises TypeError for options that are not text."""
    if options is None:
        return path
    for name, value in mapping_given("storage_options", options, "text").items():
        if not isinstance(value, str):
            raise TypeError(f"storage_options: {name!r}: expected text for text")
    if not isinstance(path, str) or not is_object(path):
        return path
    from parquet_bloom.storage.address import Address

    return Address.of(path, options)


def addressed(url: str) -> str:
    """The Address of an object, any other URL as it is."""
    if not is_object(url):
        return url
    from parquet_bloom.storage.address import Address

    return Address.of(url)


def reached_like(path: str, other: str) -> str:
    """The path or URL `other`, with the options of the store of `path`."""
    if not is_object(other):
        return other
    from parquet_bloom.storage.address import Address

    return path.other(other) if isinstance(path, Address) else other


def not_installed(address: str, error: ImportError) -> Exception:
    """The error for an object that nothing here can read; `error` itself if it has another reason."""
    if (error.name or "").partition(".")[0] != "obstore":
        return error
    from parquet_bloom.storage.address import Address

    extra = _EXTRAS[Address.of(address).kind]
    return UnsupportedError(
        f"{address}: needs obstore, which is not installed: pip install 'parquet_bloom[{extra}]'"
    )


def own_module(address: Address, name: str, why: str) -> ModuleType:
    """The module `name` of `objects`, which takes the own library of the store of `address`. Raises
    UnsupportedError, which says `why`, if that is not installed."""
    try:
        return import_module(f"parquet_bloom.storage.objects.{name}")
    except ImportError as error:
        # Some libraries say it in their own words when one that they need is missing.
        if (error.name or "").startswith("parquet_bloom"):
            raise
        if (error.name or "").startswith("obstore"):
            raise not_installed(address, error) from None
        raise UnsupportedError(
            f"{address}: {why}, needs {_LIBRARIES[address.kind]}, which is not installed:"
            f" pip install 'parquet_bloom[{_EXTRAS[address.kind]}]'"
        ) from None
