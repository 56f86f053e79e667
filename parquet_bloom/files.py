"""Open a file of either format: the only place that chooses one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from parquet_bloom.errors import FormatError, NotSupportedFileError, RewriteError
from parquet_bloom.parallel import set_aside
from parquet_bloom.storage import open_source, with_options
from parquet_bloom.storage.source import Cut

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.orc.file import OrcFile
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.storage.source import Source


def open(
    path: str | os.PathLike[str],
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    *,
    size: int | None = None,
) -> ParquetFile | OrcFile:
    """Open a local path or URL; `keys` for an encrypted Parquet file, `storage_options` for the
    object store behind a URL (see docs/object-stores.md). Both kinds of files have `columns`, `parts`,
    `probe` and `bloom_filter`. Leave them with `with`, or `close` them; those that nobody has any more
    are closed, too. A closed local file raises ValueError where it would have to be read.

    size: read only the first so many bytes, as readers do that go by the size that a table records.

    A local file with the unfinished end that a killed build left is cut back first.

    Raises OSError, FormatError if this is neither a Parquet nor an ORC file, EncryptionError if it
    cannot be decrypted, UnsupportedError if what reads the object store is not installed.
    """
    if keys is not None and not hasattr(keys, "for_file"):
        expected = "expected pb.Keys(…) or pb.read_keys(…)"
        raise TypeError(f"keys: a {type(keys).__name__}, {expected}")
    path = with_options(path, storage_options)
    try:
        return _open(path, keys, size)
    except FormatError:
        if not _recovered(path):
            raise
    return _open(path, keys, size)


def _recovered(path: str | os.PathLike[str]) -> bool:
    from parquet_bloom.storage.journal import recovered

    try:
        return recovered(path)
    except RewriteError as error:
        raise FormatError(str(error)) from None


def _open(
    path: str | os.PathLike[str], keys: Keys | None, size: int | None
) -> ParquetFile | OrcFile:
    source = open_source(path)
    if source.held_ahead:
        set_aside(source.held_ahead)
    try:
        if size is not None and size != source.size:
            if size > source.size:
                raise FormatError(
                    f"{source.path}: {source.size:,} bytes, expected the {size:,} of its record"
                )
            source = Cut(source, size)
        keys = None if keys is None else keys.for_file(source.path)
        return _opened(source, keys)
    except BaseException:
        source.close()
        raise


def _opened(source: Source, keys: Keys | None) -> ParquetFile | OrcFile:
    """What either format needs takes long to import, and most ORC files are named like this."""
    if source.path.endswith(".orc") and (found := _orc(source, keys)):
        return found
    import parquet_bloom.legacy.kind as legacy
    from parquet_bloom.parquet.file import ParquetFile

    try:
        return ParquetFile(source, keys, legacy)
    except NotSupportedFileError:
        found = _orc(source, keys)
        if found is None:
            raise
        return found


def _orc(source: Source, keys: Keys | None) -> OrcFile | None:
    """None if it is something else."""
    from parquet_bloom.orc.file import OrcFile
    from parquet_bloom.orc.tail import is_orc

    if not is_orc(source):
        return None
    file = OrcFile(source)
    if keys is not None:
        from parquet_bloom.parquet.footer.tail import check_may_be_plain

        check_may_be_plain(keys, source.path)
    return file
