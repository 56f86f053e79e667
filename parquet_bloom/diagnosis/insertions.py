"""Pages whose values were inserted, and pages whose values were not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import comb, log

import numpy as np

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.bitsets import as_bitset
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import MAX_CHANCE, MAX_LOG_LUCK
from parquet_bloom.diagnosis.layouts import STANDARD
from parquet_bloom.diagnosis.samples import SAMPLE_PAGES, Page, page_hashes, spread, stored_among
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filters.membership import ChunkMembership, PageMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

# Fewer values can be missing for any reason.
MIN_MISSING = 8

# As many as one sentence can bear.
MAX_RANGES = 8


def partial_insertion(
    file: ParquetFile,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
) -> Diagnosis | None:
    """Whether all values of some pages are found, and those of the others only by luck. Raises as
    chunk_runs."""
    found = [page for page in membership.pages if not page.missing and page.num_values]
    lacking = [page for page in membership.pages if page.missing]
    if not found or not lacking or not filter.bits_set:
        return None
    sampled = spread([page.page for page in found], SAMPLE_PAGES)
    others = spread([page.page for page in lacking], SAMPLE_PAGES)
    hashes = page_hashes(file, chunk, [*sampled, *others])
    # How likely a filter that has nothing to do with the values finds all of so many pages.
    chance = filter.fpp
    num_hashes = sum(hashes[page].size for page in sampled)
    by_luck = log(comb(len(membership.pages), len(sampled))) + num_hashes * log(chance)
    if chance > MAX_CHANCE or by_luck > MAX_LOG_LUCK:
        return None
    own = np.unique(np.concatenate([hashes[page] for page in others]))
    own = own[~stored_among(file, chunk, own, {page.page for page in found})]
    trial = STANDARD.look_up(as_bitset(filter), own)
    if trial.tried - trial.hits < MIN_MISSING or not trial.is_luck:
        return None
    return _diagnosis(membership, found)


def _diagnosis(membership: ChunkMembership, found: Sequence[PageMembership]) -> Diagnosis:
    pages = [page.page for page in found]
    everything = {page.page for page in membership.pages}
    num_values = sum(page.num_values for page in found)
    if pages == [None]:
        name = "only-dictionary-inserted"
        clause = "only the dictionary was inserted, not the values of pages without it"
    elif everything - set(pages) == {None}:
        name = "dictionary-not-inserted"
        clause = "the values of the dictionary were not inserted, only those of pages without it"
    else:
        name = "pages-not-inserted"
        last = max(page for page in everything if page is not None)
        clause = f"only the values of {spelled(pages)} of {last + 1} were inserted"
    return Diagnosis(name, clause, num_values, num_values)


def spelled(pages: Collection[Page]) -> str:
    """Such as `the dictionary and data pages 0 to 3, 7`."""
    numbers = {page for page in pages if page is not None}
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    ranges = [
        str(start) if start == end else f"{start} to {end}"
        for start, end in zip(starts, ends, strict=True)
    ]
    words = f"data page{'s' if len(numbers) > 1 else ''} {', '.join(ranges[:MAX_RANGES])}"
    if len(ranges) > MAX_RANGES:
        words += f" and {number_of(len(ranges) - MAX_RANGES, 'more range')}"
    return f"the dictionary and {words}" if None in pages else words
