"""Pages, first and last rows whose values were not inserted, and values here and there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import comb, log, sqrt

import numpy as np

from parquet_bloom.diagnosis.diagnosis import CLOSED_EARLY, OPENED_LATE, Diagnosis
from parquet_bloom.diagnosis.evidence import (
    DEVIATIONS,
    MAX_CHANCE,
    MAX_LOG_LUCK,
    MIN_MISSING,
    is_cut,
    nothing_else_is_there,
)
from parquet_bloom.diagnosis.hashes import XXH64, hashed
from parquet_bloom.diagnosis.layouts import STANDARD, as_bitset, bits_set_of
from parquet_bloom.diagnosis.ranges import ranges, some_of
from parquet_bloom.diagnosis.samples import (
    SAMPLE_PAGES,
    PageNumber,
    StoredValue,
    distance_between,
    inside_and_outside,
    missing_between,
    page_hashes,
    spread,
    stored_among,
)
from parquet_bloom.filters.rates import percent
from parquet_bloom.filters.sizing import WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters.membership import ChunkMembership, PageMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk


def partial_insertion(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
) -> Diagnosis | None:
    """Whether all values of some pages are found, and those of the others only by luck, and have left no other bits.
    Raises as chunk_runs."""
    if not nothing_else_is_there(membership.foreign_bits, WORDS_PER_BLOCK):
        return None
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
    return _insertion_diagnosis(membership, found)


def _insertion_diagnosis(membership: ChunkMembership, found: Sequence[PageMembership]) -> Diagnosis:
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


def cut_off(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
) -> Diagnosis | None:
    """Whether all values of the first rows are found, or of the last,
    and those that only the other rows have by luck, and have left no other bits.
    Raises as chunk_runs."""
    if not nothing_else_is_there(membership.foreign_bits, WORDS_PER_BLOCK):
        return None
    first, end, total = missing_between(file, chunk, filter)
    for said, found in ((CLOSED_EARLY, range(first)), (OPENED_LATE, range(end, total))):
        inside, outside = inside_and_outside(file, chunk, found)
        trial = STANDARD.look_up(as_bitset(filter), outside)
        if is_cut(len(found), inside.size, filter.fpp, trial):
            return Diagnosis(*said, len(found), len(found))
    return None


def spelled(pages: Collection[PageNumber]) -> str:
    """Such as `the dictionary and data pages 0 to 3, 7`."""
    numbers = {page for page in pages if page is not None}
    words = f"data page{'s' if len(numbers) > 1 else ''} {some_of(ranges(numbers))}"
    return f"the dictionary and {words}" if None in pages else words


# Of bits that were set and are lost, most of a value's are still there.
_LEFT_OF_LOST = (WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK


def left_out(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
    missing: Sequence[StoredValue],
) -> str:
    """That values were inserted in no form, if the bits say so: they have as many as chance sets, and hardly another
    comes from no stored value. And whether they, or the others, are at equal distances. Raises as chunk_runs."""
    if not nothing_else_is_there(membership.foreign_bits, WORDS_PER_BLOCK):
        return ""
    bits = bits_set_of(as_bitset(filter), hashed([value.plain for value in missing], XXH64))
    deviation = DEVIATIONS * sqrt(bits.tried * bits.chance * (1 - bits.chance))
    is_by_chance = abs(bits.hits - bits.tried * bits.chance) <= deviation
    if not is_by_chance or bits.tried * (_LEFT_OF_LOST - bits.chance) <= deviation:
        return ""
    share = membership.missing / membership.num_values
    said = f"; the missing {percent(share)} were inserted in no form: all bits are those of the other values"
    # Luck finds some of those that are missing, and loses none of the others.
    for is_found, at_least, done in (
        (False, 1 - MAX_CHANCE, "is missing"),
        (True, 1.0, "was inserted"),
    ):
        distance, count, at_this_distance = distance_between(file, chunk, filter, is_found)
        are_apart = distance > 1 and (1 - count) * log(distance) <= MAX_LOG_LUCK
        if are_apart and count >= at_least * at_this_distance:
            return f"{said}, and one value in {distance:,} {done}, at equal distances"
    return said
