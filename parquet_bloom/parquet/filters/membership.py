"""Whether every stored value of a column chunk is found in its filter.

All values of the pages are inserted into a second filter of the same size. If the stored one has
all of its bits, no value is missing; if not, the values are looked up one by one. Bits that only
the stored one has come from values that the chunk does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import filterfalse
from typing import Any

from parquet_bloom.container.missing_rows import MissingRows, missing_rows
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError, FooterError, FormatError, UnsupportedError
from parquet_bloom.filters.look_up import Membership
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parquet.filters.insertion import (
    has_other_forms,
    other_forms,
    special_forms,
    special_values,
)
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.value_order import key_of, number_kind
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.codecs import ChunkBuffers
from parquet_bloom.parquet.pages.pages import (
    chunk_runs,
    located,
    page_rows,
    runs_to_insert,
    used_entries,
)
from parquet_bloom.parquet.pages.runs import Run
from parquet_bloom.parquet.pages.whole_pages import WholePages
from parquet_bloom.values.types import LeafType, canonical_nan, zeros

MAX_EXAMPLES = 5
_LOOKED_AT = 100

# Writers that cut bounds and do not say so leave 64 bytes, less a part of a character.
_LEAST_CUT = 60


@dataclass(frozen=True, slots=True)
class PageMembership:
    """How many values of one data page are `missing`, or used entries of the dictionary if `page`,
    which counts from 0, is None."""

    page: int | None
    num_values: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkMembership(Membership):
    """What the values of a column chunk say about its filter.

    Each entry of a dictionary counts once; if one is not found, only those that rows refer to
    count. `pages`: the pages with values of their own, empty if nothing is missing; `examples`: the
    stored bytes of some missing values; `missing_form_bits`: clear bits of other forms that readers
    look for (see build.other_forms); `specials`: _kernel.HAS_ZERO | HAS_NAN of the stored values;
    `bounds_are_values`: False if the minimum or maximum, as the footer has it and not cut, is none of them.
    """

    pages: tuple[PageMembership, ...] = ()
    examples: tuple[bytes, ...] = ()
    missing_form_bits: int
    specials: int
    bounds_are_values: bool = True


def check_membership(
    file: OpenFile, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> ChunkMembership:
    """Look up every stored value of `chunk` in `filter`.

    Raises PageError for damaged pages, UnsupportedError for those that cannot be read.
    """
    with located(file.footer, chunk):
        leaf, num_blocks = chunk.leaf.type, filter.num_blocks
        stored = SplitBlockBloomFilter.empty(num_blocks)
        others = SplitBlockBloomFilter.empty(num_blocks) if has_other_forms(leaf) else None
        num_values = specials = missing_form_bits = 0
        runs = chunk_runs if has_other_forms(leaf) else runs_to_insert
        for part in runs(file.source, file.footer, chunk, ChunkBuffers()):
            if isinstance(part, WholePages):
                num_values += part.insert_into(stored)
                specials |= part.float_specials
                continue
            num_values += part.run.insert_into(stored)
            if leaf.is_float:
                specials |= part.run.float_specials()
            if others is not None:
                for form in other_forms(part.run, leaf):
                    form.insert_into(others)
        is_complete = stored.bits_outside(filter) == 0
        bounds_are_values = not num_values or _bounds_are_values(file, chunk, stored)
        # From here on, `stored` has all that a filter may have.
        if others is not None:
            missing_form_bits = others.bits_outside(filter)
            stored.unite(others)
        for plain in (*special_values(specials, leaf), *special_forms(specials, leaf)):
            stored.insert_value(plain)
        lacks_nan = specials & _kernel.HAS_NAN and not filter.check_value(
            canonical_nan(leaf.width or 0)
        )
        membership = ChunkMembership(
            num_values=num_values,
            missing=0,
            foreign_bits=filter.bits_outside(stored),
            lone_zero=_lone_zero(filter, leaf) if specials & _kernel.HAS_ZERO else None,
            lacks_nan=bool(lacks_nan),
            explained_fpp=stored.fpp,
            missing_form_bits=missing_form_bits,
            specials=specials,
            bounds_are_values=bounds_are_values,
        )
        return membership if is_complete else _with_missing(membership, file, chunk, filter)


def _bounds_are_values(file: OpenFile, chunk: ColumnChunk, values: SplitBlockBloomFilter) -> bool:
    """Whether minimum and maximum are among the values, or none that can be: text that was cut, zeros, whose sign
    writers choose, and NaN."""
    leaf, footer = chunk.leaf, file.footer
    # What is wrong with statistics is nothing against the filter.
    with suppress(FooterError):
        bounds = footer.stored_bounds(chunk.row_group, leaf, takes_deprecated=False)
        foreign = [*filterfalse(values.check_value, bounds or ())]
        key = key_of(leaf.type) if foreign else None
        if key is None or not any(map(key, foreign)):
            return True
        if number_kind(leaf.type) is not None:
            return False
        is_cut = max(map(len, foreign)) >= _LEAST_CUT
        return is_cut or footer.says_bound_is_cut(chunk.row_group, leaf)
    return True


def _lone_zero(filter: SplitBlockBloomFilter, leaf: LeafType) -> str | None:
    """The zero that is found if the other one is not."""
    has_plus, has_minus = map(filter.check_value, zeros(leaf.width or 0))
    return None if has_plus == has_minus else "0.0" if has_plus else "-0.0"


def membership_room(num_bytes: int) -> int:
    """The most that check_membership takes for a filter of `num_bytes`: the filter, one or two more
    with the values, and a page."""
    return 4 * num_bytes


def stores_values(file: OpenFile, chunk: ColumnChunk) -> bool:
    """Whether the pages of `chunk` have a value; also true if they cannot be read."""
    if chunk.leaf.type.physical == "BOOLEAN":
        return True
    try:
        runs = chunk_runs(file.source, file.footer, chunk)
        return any(len(part.run) for part in runs)
    except (EncryptionError, FormatError, UnsupportedError):
        return True


def _with_missing(
    membership: ChunkMembership, file: OpenFile, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> ChunkMembership:
    # Values and missing ones by page, which can have several runs.
    counts: dict[int | None, tuple[int, int]] = {}
    examples: list[bytes] = []
    for part in chunk_runs(file.source, file.footer, chunk, ChunkBuffers()):
        # The entries of a dictionary are numbered.
        for run in (part.run,) if part.is_dictionary else part.run.parts():
            is_missing = ~run.found_in(filter)
            num_values = is_missing.size
            if part.is_dictionary and is_missing.any():
                # Entries that no row refers to need not be found.
                found = used_entries(file.source, file.footer, chunk, num_values)
                used = np.frombuffer(found, np.bool_)
                is_missing &= used
                num_values = int(used.sum())
            before = counts.get(part.page, (0, 0))
            counts[part.page] = before[0] + num_values, before[1] + int(is_missing.sum())
            add_examples(examples, run, is_missing)
    pages = tuple(PageMembership(page, *count) for page, count in counts.items())
    missing = sum(page.missing for page in pages)
    return replace(
        membership,
        num_values=sum(page.num_values for page in pages),
        missing=missing,
        pages=pages if missing else (),
        examples=tuple(examples),
    )


def add_examples(examples: list[bytes], run: Run, is_missing: NDArray[np.bool_]) -> None:
    """The first distinct values that are missing, of those of few places: one value can be in all rows of a page."""
    for value in run.take(np.flatnonzero(is_missing)[:_LOOKED_AT].tolist()):
        if len(examples) == MAX_EXAMPLES:
            return
        if value not in examples:
            examples.append(value)


def rows_of_missing(
    file: OpenFile, chunk: ColumnChunk, is_found: Callable[[Run], NDArray[np.bool_]]
) -> MissingRows | None:
    """The rows whose values `is_found` does not find, None if there are none. Reads and decodes
    every page again, so only for chunks that lack values. Raises as check_membership."""
    footer = file.footer
    first_row = sum(map(footer.row_group_num_rows, range(chunk.row_group)))

    def pages() -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.bool_]]]:
        entries: Any = None
        for part in page_rows(file.source, footer, chunk):
            if part.indices is None:
                is_missing = ~is_found(part.run)[: part.rows.size]
            else:
                entries = ~is_found(part.run) if entries is None else entries
                is_missing = entries[part.indices]
            yield part.page, first_row + part.rows, is_missing

    with located(footer, chunk):
        return missing_rows(pages())
