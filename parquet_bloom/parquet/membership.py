"""Whether every stored value of a column chunk is found in its filter.

A second filter of the same size takes all that the pages hold. Where the stored one has each of its
bits, there is no false negative, whatever the values were; where not, the values are looked up one
by one. Bits that only the stored one has come from values that the chunk does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.filters.look_up import Membership
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.build import has_other_forms, other_forms, special_values
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import chunk_runs, located, used_entries
from parquet_bloom.parquet.pages.runs import Run
from parquet_bloom.values.types import LeafType, canonical_nan, zeros

MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class PageMembership:
    """Of the values of one data page (`page` counts from 0), or of the entries of the dictionary
    that are used (None), `missing` are not found."""

    page: int | None
    num_values: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkMembership(Membership):
    """What the values of a column chunk say of its filter.

    Of a dictionary's values each is looked up once, and where any entry of it is not found only
    those that rows refer to. `pages`: the pages that have values of their own, empty if nothing is
    missing; `examples`: the stored bytes of some that are missing; `missing_form_bits`: bits of
    other forms that readers look for (see build.other_forms) and that are clear; `specials`:
    _kernel.HAS_ZERO | HAS_NAN of what is stored.
    """

    pages: tuple[PageMembership, ...] = ()
    examples: tuple[bytes, ...] = ()
    missing_form_bits: int
    specials: int


def check_membership(
    file: ParquetFile, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> ChunkMembership:
    """Look up every stored value of `chunk` in `filter`.

    Raises PageError for damaged pages, UnsupportedError for those that cannot be read.
    """
    with located(file.footer, chunk):
        runs = chunk_runs(file.source, file.footer, chunk)
        inserted = _Inserted(chunk.leaf.type, filter.num_blocks)
        for part in runs:
            inserted.add(part.run)
        is_complete = inserted.stored.bits_outside(filter) == 0
        membership = inserted.compared_with(filter)
        return membership if is_complete else _with_missing(membership, file, chunk, filter)


def membership_room(num_bytes: int) -> int:
    """What check_membership takes at most for a filter of `num_bytes`: the filter, one or two of its
    size with the values, and a page."""
    return 4 * num_bytes


def stores_values(file: ParquetFile, chunk: ColumnChunk) -> bool:
    """Whether there is a value in the pages of `chunk`, as far as they can be read."""
    if chunk.leaf.type.physical == "BOOLEAN":
        return True
    try:
        runs = chunk_runs(file.source, file.footer, chunk)
        return any(len(part.run) for part in runs)
    except (EncryptionError, FormatError, UnsupportedError):
        return True


class _Inserted:
    """Filters of the values as they are stored, and in all forms together."""

    def __init__(self, leaf: LeafType, num_blocks: int) -> None:
        self._leaf = leaf
        self._num_values = self._specials = 0
        self.stored = SplitBlockBloomFilter.empty(num_blocks)
        # Another filter only where there is another form.
        self._others = SplitBlockBloomFilter.empty(num_blocks) if has_other_forms(leaf) else None

    def add(self, run: Run) -> None:
        self._num_values += run.insert_into(self.stored)
        if self._leaf.is_float:
            self._specials |= run.float_specials()
        if self._others is not None:
            for form in other_forms(run, self._leaf):
                form.insert_into(self._others)

    def compared_with(self, filter: SplitBlockBloomFilter) -> ChunkMembership:
        """As if nothing were missing. Ends the use of `stored`, which takes all forms."""
        missing_form_bits = 0
        if self._others is not None:
            missing_form_bits = self._others.bits_outside(filter)
            np.bitwise_or(self.stored.words, self._others.words, out=self.stored.words)
        for plain in special_values(self._specials, self._leaf):
            self.stored.insert_value(plain)
        return ChunkMembership(
            num_values=self._num_values,
            missing=0,
            foreign_bits=filter.bits_outside(self.stored),
            lone_zero=self._lone_zero(filter),
            lacks_nan=self._lacks_nan(filter),
            explained_fpp=self.stored.fpp,
            missing_form_bits=missing_form_bits,
            specials=self._specials,
        )

    def _lone_zero(self, filter: SplitBlockBloomFilter) -> str | None:
        if not self._specials & _kernel.HAS_ZERO:
            return None
        has_plus, has_minus = map(filter.check_value, zeros(self._leaf.width or 0))
        return None if has_plus == has_minus else "0.0" if has_plus else "-0.0"

    def _lacks_nan(self, filter: SplitBlockBloomFilter) -> bool:
        if not self._specials & _kernel.HAS_NAN:
            return False
        return not filter.check_value(canonical_nan(self._leaf.width or 0))


def _with_missing(
    membership: ChunkMembership,
    file: ParquetFile,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
) -> ChunkMembership:
    pages: dict[int | None, PageMembership] = {}
    examples: list[bytes] = []
    for part in chunk_runs(file.source, file.footer, chunk):
        is_missing = ~filter.check_hashes(part.run.hashes())
        num_values = is_missing.size
        if part.is_dictionary and is_missing.any():
            # What no row refers to need not be found.
            used = _used(file, chunk, num_values)
            is_missing &= used
            num_values = int(used.sum())
        before = pages.get(part.page, PageMembership(part.page, 0, 0))
        pages[part.page] = PageMembership(
            part.page,
            before.num_values + num_values,
            before.missing + int(is_missing.sum()),
        )
        if len(examples) < MAX_EXAMPLES and is_missing.any():
            positions = np.flatnonzero(is_missing)[: MAX_EXAMPLES - len(examples)]
            examples += part.run.take(positions.tolist())
    missing = sum(page.missing for page in pages.values())
    return replace(
        membership,
        num_values=sum(page.num_values for page in pages.values()),
        missing=missing,
        pages=tuple(pages.values()) if missing else (),
        examples=tuple(examples),
    )


def _used(file: ParquetFile, chunk: ColumnChunk, num_entries: int) -> NDArray[np.bool_]:
    used = used_entries(file.source, file.footer, chunk, num_entries)
    return np.frombuffer(used, np.bool_)
