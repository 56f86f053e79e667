"""The hashes of the values of a Parquet file, for an index: what is stored, and with it what stands for unusual
values, as build inserts it into filters. Or its filters as they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.errors import (
    FormatError,
    MissingKeyError,
    ParquetBloomError,
    TamperedError,
    UnsupportedError,
)
from parquet_bloom.index.kinds import parquet_kind
from parquet_bloom.index.values_reader import FoundFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.clear import NO_BIT_SET, are_clear
from parquet_bloom.parquet.filters.insertion import is_stored_unusually, with_specials
from parquet_bloom.parquet.filters.legacy_kind import private_or_reason
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.footer.shredded import ShreddedField
from parquet_bloom.parquet.pages.chunk_values import is_known_to_be_null
from parquet_bloom.parquet.pages.pages import (
    ChunkRun,
    PageRows,
    check_readable,
    chunk_runs,
    located,
    page_rows,
    pages_room,
)
from parquet_bloom.parquet.pages.runs import Run, run_of
from parquet_bloom.parquet.sealed.modules import PlainModules
from parquet_bloom.storage.source import Source
from parquet_bloom.values.types import LeafType

# One block without a bit.
_OF_NOTHING = FoundFilter(32, lambda: bytes(32))


class ParquetValues:
    """Reads one file; see values_reader.ValuesReader."""

    def __init__(self, file: ParquetContainer) -> None:
        """Raises FooterError if row groups are missing from the footer."""
        file.footer.check_row_counts()
        self.file = file

    def kind(self, leaf: LeafColumn) -> str:
        return parquet_kind(leaf.type)

    def is_encrypted(self, leaf: LeafColumn) -> bool:
        parts = range(self.file.num_parts)
        chunks = (chunk for part in parts for chunk in self.file.chunks(part, [leaf]))
        return any(
            chunk.is_locked or not isinstance(chunk.modules, PlainModules) for chunk in chunks
        )

    def reason_for_none(self, leaf: LeafColumn) -> str:
        """Why a column cannot be indexed; empty if it can."""
        if leaf.type.physical == "BOOLEAN":
            return "BOOLEAN: two values need no index"
        if isinstance(leaf, ShreddedField):
            return (
                "a field of a VARIANT can have values outside its typed leaf, which are not indexed"
            )
        return ""

    def room(self, chunk: ColumnChunk) -> int:
        # Values, and 16 bytes for the hash of each and its key.
        return pages_room(self.file.source, self.file.footer, chunk) + 16 * (chunk.num_values or 0)

    def hashes(self, chunk: ColumnChunk) -> Iterator[NDArray[np.uint64]]:
        """The XXH64 of everything that is to be found in a chunk. Raises PageError, UnsupportedError,
        EncryptionError, OSError."""
        file = self.file
        with located(file.footer, chunk):
            _check_readable(file, chunk)
            runs = chunk_runs(file.source, file.footer, chunk, only_used=True)
            for run in with_specials(runs, chunk.leaf.type):
                for part in run.parts():
                    yield part.hashes()

    def hashes_by_page(self, chunk: ColumnChunk) -> Iterator[NDArray[np.uint64]]:
        """The same of each data page in turn, also of those without values; of a dictionary, what the page refers
        to."""
        file, pages, done = self.file, _PageHashes(chunk.leaf.type), 0
        with located(file.footer, chunk):
            _check_readable(file, chunk)
            found = page_rows(file.source, file.footer, chunk)
            for page, parts in groupby(found, key=lambda part: part.page):
                for _ in range(page - done):
                    yield np.empty(0, np.uint64)
                done = page + 1
                yield np.concatenate([each for part in parts for each in pages.hashes(part)])

    def filters(self, leaf: LeafColumn) -> list[FoundFilter | str]:
        """The filters where readers look for them, as far as these can be believed."""
        self.file.will_read_filters(None, [leaf])
        parts = range(self.file.num_parts)
        return [self._filter(chunk) for part in parts for chunk in self.file.chunks(part, [leaf])]

    def _filter(self, chunk: ColumnChunk) -> FoundFilter | str:
        source, footer = self.file.source, self.file.footer
        if chunk.has_file_path:
            return "the column chunk is in another file"
        try:
            stored = bloom.read_usable_header(source, footer, chunk)
        except MissingKeyError:
            return chunk.no_key
        except ParquetBloomError as error:
            return str(error).removeprefix(f"{footer.where}: {chunk.where}: ")
        if stored is None:
            if bloom.has_no_rows(footer, chunk) or is_known_to_be_null(source, footer, chunk):
                return _OF_NOTHING
            older, reason = private_or_reason(self.file, chunk, bloom.no_filter_reason(chunk))
            return f"only a filter of the dialect {older.dialect}" if older else reason
        return FoundFilter(stored.num_bytes, lambda: _bitset(source, stored))


def _bitset(source: Source, stored: bloom.StoredFilter) -> bytes | str:
    """The bits, or why they cannot be believed."""
    try:
        found = bloom.bits(source, stored)(0, stored.num_bytes)
    except TamperedError as error:
        return str(error).removeprefix(f"{stored.where}: ")
    return NO_BIT_SET if stored.chunk.may_have_values and are_clear(found) else found


class _PageHashes:
    """The hashes of what pages of one chunk hold. Entries of its dictionary are hashed once."""

    def __init__(self, leaf: LeafType) -> None:
        self._leaf = leaf
        self._is_plain = not (leaf.is_float or is_stored_unusually(leaf))
        self._run: Run | None = None
        self._entries = np.empty(0, np.uint64)

    def hashes(self, part: PageRows) -> Iterator[NDArray[np.uint64]]:
        run = part.run
        if part.indices is not None:
            used = np.unique(part.indices)
            if self._is_plain:
                yield self._of_entries(run)[used]
                return
            run = run_of(list(run.take(used.tolist())), self._leaf.width)
        for each in with_specials([ChunkRun(part.page, run)], self._leaf):
            yield each.hashes()

    def _of_entries(self, run: Run) -> NDArray[np.uint64]:
        if self._run is not run:
            self._run, self._entries = run, run.hashes()
        return self._entries


def _check_readable(file: ParquetContainer, chunk: ColumnChunk) -> None:
    if chunk.is_locked:
        raise MissingKeyError(chunk.no_key)
    try:
        check_readable(file.footer, chunk)
    except FormatError as error:
        raise UnsupportedError(str(error)) from None
