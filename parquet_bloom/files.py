"""Open a file, whichever format it has: the only place that chooses one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_bloom.errors import NotSupportedFileError, UnsupportedError
from parquet_bloom.legacy import kind as legacy
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.tail import check_may_be_plain
from parquet_bloom.storage import open_source

if TYPE_CHECKING:
    from parquet_bloom.container import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.orc.file import OrcFile


def open(path: str | os.PathLike[str], keys: Keys | None = None) -> ParquetFile | OrcFile:
    """Open a local path or URL, with the keys of what is encrypted in it, a Parquet file's.

    Raises OSError, FormatError if it is no Parquet and no ORC file, EncryptionError if it is
    encrypted and does not open.
    """
    source = open_source(path)
    try:
        keys = None if keys is None else keys.for_file(source.path)
        try:
            return ParquetFile(source, keys, legacy)
        except NotSupportedFileError:
            from parquet_bloom.orc.file import OrcFile
            from parquet_bloom.orc.tail import is_orc

            if not is_orc(source):
                raise
        file = OrcFile(source)
        check_may_be_plain(keys, source.path)
        return file
    except BaseException:
        source.close()
        raise


def check_comparable(a: Container, b: Container) -> None:
    """Raise UnsupportedError for files whose filters have nothing in common."""
    if a.format != b.format:
        raise UnsupportedError(
            f"{a.path} and {b.path}: {a.format} and {b.format}, expected files of one format"
        )


def open_parquet(path: str | os.PathLike[str], keys: Keys | None = None) -> ParquetFile:
    """As open, for those who take nothing but Parquet: an ORC file is an UnsupportedError."""
    file = open(path, keys)
    if file.format == "parquet":
        return file
    file.close()
    raise UnsupportedError(f"{file.path}: an ORC file, expected a Parquet file")
