"""Replace an object by pieces of itself and a new end, without moving what stays.

What is new is collected in a local file and verified together with the old object. Then the store is
told to put both together, and to do so only if the object is still the one that was read. Until its
last request readers see the old version, and after it the new one. Whatever happens, what is told is
what became of the object: when the answer to that request is lost, the object is looked at.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Final, Self

from parquet_bloom.errors import RewriteError, UnsupportedError
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.local_output import Output
from parquet_bloom.storage.objects.commit import Commit, NewObject
from parquet_bloom.storage.objects.object_source import ObjectSource
from parquet_bloom.storage.objects.pieces import Piece, PiecedSource, Pieces
from parquet_bloom.storage.source import LocalSource, Source, naming

# What replaces objects in a store: the module, its class, what it needs, and the extra that has it.
_COMMITS: Final = {
    "s3": ("s3_commit", "S3Commit", "boto3", "s3"),
    "az": ("azure_commit", "AzureCommit", "azure-storage-blob", "azure"),
    "gs": ("gcs_commit", "GoogleCommit", "google-auth", "gcs"),
}


def _commit_to(address: Address, old: ObjectSource, unconditional: bool) -> Commit:
    """Raises UnsupportedError without the store's own library."""
    module, name, library, extra = _COMMITS[address.kind]
    try:
        found = import_module(f"parquet_bloom.storage.objects.{module}")
    except ImportError as error:
        # Some libraries say it in their own words when one that they need is missing.
        if (error.name or "").startswith("parquet_bloom"):
            raise
        raise UnsupportedError(
            f"{address}: to be replaced, needs {library}, which is not installed:"
            f" pip install 'parquet_bloom[{extra}]'"
        ) from None
    commit: Commit = getattr(found, name)(address, old, unconditional)
    return commit


class ObjectReplacement(Output):
    """An output that replaces the object that `old` has read. Its local file has no name, so that none
    is left behind."""

    def __init__(self, old: ObjectSource, prefix: int, unconditional: bool) -> None:
        address = old.address
        super().__init__(f"{address}: temporary file in {tempfile.gettempdir()}", prefix)
        if old.etag is None or old.etag.startswith("W/"):
            raise RewriteError(
                f"{address}: not changed in place: the store gives it no ETag, by which to tell"
                " whether others have changed it"
            )
        self._old, self._etag = old, old.etag
        self._commit = _commit_to(address, old, unconditional)
        self._pieces = Pieces()
        self._pieces.add(Piece(0, prefix, is_old=True))
        self._new_bytes = 0

    def __enter__(self) -> Self:
        # What it raises names the object, not the local file.
        self._commit.check()
        return super().__enter__()

    def _create(self) -> int:
        descriptor, name = tempfile.mkstemp(prefix="pbloom-")
        os.unlink(name)
        self.temporary = f"/dev/fd/{descriptor}"
        return descriptor

    def _clean_up(self, *, failed: bool) -> None:
        """The file has no name."""

    def copy_prefix(self, source: Source) -> None:
        """The store does."""

    def append(self, data: bytes | memoryview) -> int:
        offset = self.size
        self._pieces.add(self._written(data))
        self.size = self._pieces.size
        return offset

    def append_from(self, source: Source, start: int, end: int) -> None:
        if source is self._old:
            self._pieces.add(Piece(start, end, is_old=True))
            self.size = self._pieces.size
            return
        at = self._new_bytes
        self._copy(source, start, end - start, at)
        self._new_bytes += end - start
        self._pieces.add(Piece(at, self._new_bytes, is_old=False))
        self.size = self._pieces.size

    def will_append_from(self, source: Source, ranges: Iterable[tuple[int, int]]) -> None:
        """The store copies what is in the old version."""
        if source is not self._old:
            super().will_append_from(source, ranges)

    def erase(self, start: int, end: int) -> None:
        end = min(end, self.prefix)
        if start < end:
            self._pieces.replace(start, end, self._written(bytes(end - start)))

    def _written(self, data: bytes | memoryview) -> Piece:
        start = self._new_bytes
        self._write_at(start, data)
        self._new_bytes += memoryview(data).nbytes
        return Piece(start, self._new_bytes, is_old=False)

    def flush(self) -> None:
        """The local file is only read by this process."""

    def opened(self) -> Source:
        return PiecedSource(self._pieces, self._old, self._end())

    def _end(self) -> LocalSource:
        with naming(self._target):
            return LocalSource(self.temporary)

    def commit(self, replaced: Source | None = None) -> None:
        end = self._end()
        try:
            self._commit.commit(
                NewObject(self._old.address, self._old, self._etag, self._pieces, end)
            )
        finally:
            with suppress(OSError):
                end.close()
