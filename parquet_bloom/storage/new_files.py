"""Local files that are made only if there is none of their name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.storage.disk_sync import sync_file
from parquet_bloom.storage.folder_sync import sync_folder
from parquet_bloom.storage.local_output import NO_LINKS
from parquet_bloom.storage.rename import rename_to_free
from parquet_bloom.storage.source import making_in, naming, tolerating
from parquet_bloom.storage.temporary_files import hidden_name


def made_if_absent(target: str, data: bytes) -> bool:
    """Make a file, whole or not at all; False if there is one. Raises OSError, UnsupportedError."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, hidden_name(name))
    with naming(target):
        try:
            _write(temporary, data)
            is_made = _link(temporary, target)
        except BaseException:
            # Report the first error, not this one.
            with suppress(OSError):
                _remove(temporary)
            raise
        if not is_made:
            _remove(temporary)
            return False
        with _afterwards(f"{temporary} could not be removed"):
            _remove(temporary)
        with _afterwards("its folder could not be synced"):
            sync_folder(folder)
    return True


@contextmanager
def making(target: str) -> Iterator[BinaryIO]:
    """A file to be written from its start, of which nothing is left if that fails.
    Raises FileExistsError, OSError."""
    folder = os.path.dirname(target)
    with naming(target):
        with making_in(folder):
            os.makedirs(folder, exist_ok=True)
            new = open(target, "xb", buffering=1 << 20)  # noqa: SIM115 -- closed below
        try:
            with new as file:
                yield file
                file.flush()
                sync_file(file.fileno())
        except BaseException:
            _remove(target)
            raise
        sync_folder(folder)


def _write(temporary: str, data: bytes) -> None:
    with making_in(os.path.dirname(temporary)):
        file = open(temporary, "xb")  # noqa: SIM115 -- closed below
    with file:
        file.write(data)
        file.flush()
        sync_file(file.fileno())


def _link(temporary: str, target: str) -> bool:
    try:
        with tolerating(NO_LINKS):
            os.link(temporary, target)
            return True
        if rename_to_free(temporary, target):
            return True
    except FileExistsError:
        return False
    raise UnsupportedError(
        f"{target}: not written: the file system has neither hard links nor renames that never"
        " overwrite, so a concurrent write could be lost"
    )


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


@contextmanager
def _afterwards(what: str) -> Iterator[None]:
    """Make OSErrors say that the file was written nevertheless, and `what` could not be done."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"was written, but {what}: {error.strerror}") from None
