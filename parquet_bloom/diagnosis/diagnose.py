"""Why stored values are missing from a filter.

In stages, each tried only if the ones before explain nothing: zeros and NaNs; another choice of one of two
blocks; one deviation from how the format hashes and places a value; all in one block, or in two; the filter of
another chunk; blocks that were lost, or changed; pages whose values were not inserted; other salts, and bits
that no word has; two deviations; rare forms of a text, or as a text; first or last rows whose values were not
inserted. Nothing is claimed that luck could explain (see evidence).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parquet_bloom.container import number_of
from parquet_bloom.container.missing_rows import FEW_MISSING
from parquet_bloom.diagnosis.accidents import blocks_changed, blocks_lost, changed_bytes
from parquet_bloom.diagnosis.diagnosis import TRIED_ON, Diagnosis
from parquet_bloom.diagnosis.equal_floats import made_equal
from parquet_bloom.diagnosis.evidence import (
    MAX_LOG_LUCK,
    MIN_TRIED,
    UNREADABLE,
    Trial,
    too_few,
    too_full,
)
from parquet_bloom.diagnosis.hashes import MURMUR3_SEEDS, OTHER_HASHES, SEEDS
from parquet_bloom.diagnosis.hypotheses import (
    Explanation,
    HashSearch,
    Hypothesis,
    double,
    explanations,
    nearest_in_words,
    of_two_blocks,
    single,
    whose_bits,
)
from parquet_bloom.diagnosis.key_forms import INTEGERS, key_forms
from parquet_bloom.diagnosis.layouts import as_bitset, bitset_choices, layouts, other_counts
from parquet_bloom.diagnosis.moved import moved
from parquet_bloom.diagnosis.one_block import one_block
from parquet_bloom.diagnosis.other_chunks import filter_of_another
from parquet_bloom.diagnosis.ranges import ranges
from parquet_bloom.diagnosis.rare_key_forms import rare_key_forms
from parquet_bloom.diagnosis.samples import PageNumber, StoredValue, missing_values, stored_values
from parquet_bloom.diagnosis.uninserted import cut_off, left_out, partial_insertion
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import ChunkMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import located
from parquet_bloom.values.types import LeafType


def diagnose(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
) -> Diagnosis | str | None:
    """What the writer of this filter did instead, or why nobody can tell; None if nothing is missing.

    `membership`: of check_membership.
    """
    found = explained(file, chunk, stored, membership)
    return found.diagnosis if isinstance(found, Explanation) else found


def explained(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
) -> Explanation | Diagnosis | str | None:
    """The same; if a hypothesis explains it, which one."""
    if not membership.missing:
        return None
    try:
        with located(file.footer, chunk):
            return _explained(file, chunk, stored, membership)
    except (EncryptionError, FormatError, UnsupportedError):
        # Pages or indexes that only this needs.
        return UNREADABLE


def _explained(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
) -> Explanation | Diagnosis | str:
    filter = bloom.read_bitset(file.source, stored)
    bitset = as_bitset(filter)
    missing = missing_values(file, chunk, filter, lacking_pages(membership))
    share_missing = membership.missing / membership.num_values
    are_few = share_missing < FEW_MISSING
    search = HashSearch(missing, bitset)
    leaf = chunk.leaf.type
    forms, places = list(key_forms(leaf)), list(layouts(bitset.num_blocks))
    counts = list(other_counts(bitset.num_blocks))
    rare_forms = list(rare_key_forms(leaf, chunk.leaf.name))
    choices = list(bitset_choices(file, stored, filter))
    return (
        made_equal(file, chunk, filter, membership, missing)
        # Of a bitset that may begin a block later, nobody knows the second one.
        or next(of_two_blocks(file, chunk, filter, (*places, *moved(bitset.num_blocks))), None)
        or _best(file, chunk, search, single(forms, places, choices, bitset.num_blocks))
        or one_block(file, chunk, filter)
        or filter_of_another(file, chunk, bitset, missing)
        or blocks_lost(file, chunk, filter, missing)
        or blocks_changed(filter, missing)
        or partial_insertion(file, chunk, filter, membership)
        or _best(file, chunk, search, search.shown_by_bits(share_missing))
        or _best(file, chunk, search, double(forms, (*places, *counts)))
        or _best(file, chunk, search, map(Hypothesis, rare_forms))
        or cut_off(file, chunk, filter, membership)
        or too_full(filter.fpp)
        or (
            too_few(len(missing))
            or f"none of {number_of(search.num_tried, 'combination')} explains it;"
            f" {_what_else(file, chunk, search, filter, membership, missing)}"
            f"{'; all missing values are negative, unlike others' * _are_only_negative(file, chunk, missing)}"
            f"{TRIED_ON}{number_of(len(missing), 'missing value')}"
            f" [{number_of(len(forms) + len(rare_forms), 'other form')} of the values,"
            f" {len(OTHER_HASHES)} other hashes ({_hashes_tried()}),"
            f" {number_of(len(places) + len(counts), 'other layout')} of the bits,"
            f" pairs of these, {number_of(len(choices), 'other place')} of the bitset, other salts,"
            f" filters of other chunks, lost or changed blocks, pages, first and last rows that were not inserted]"
        )
        + (changed_bytes(bitset, missing) if are_few else "")
    )


def _what_else(
    file: ParquetContainer,
    chunk: ColumnChunk,
    search: HashSearch,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
    missing: Sequence[StoredValue],
) -> str:
    """Of a filter that no hypothesis explains: which comes nearest, and what the bits say. Raises as chunk_runs."""
    share_missing = membership.missing / membership.num_values
    if share_missing >= FEW_MISSING and (
        uninserted := left_out(file, chunk, filter, membership, missing)
    ):
        return f"{nearest_in_words(file, chunk, search, '')}{uninserted}"
    return nearest_in_words(file, chunk, search, whose_bits(filter, share_missing))


def lacking_pages(membership: ChunkMembership) -> list[PageNumber]:
    """Those with values that are not found."""
    return [page.page for page in membership.pages if page.missing]


def _hashes_tried() -> str:
    """Which OTHER_HASHES are."""
    of_xxh64, of_murmur3 = (", ".join(ranges(seeds)) for seeds in (SEEDS, MURMUR3_SEEDS))
    return (
        f"XXH64 with the seeds {of_xxh64}; Murmur3 x64_128 with {of_murmur3}; XXH64 of XXH64, XXH32, XXH3,"
        " FNV-1a, djb2"
    )


def _best(
    file: ParquetContainer, chunk: ColumnChunk, search: HashSearch, hypotheses: Iterable[Hypothesis]
) -> Explanation | None:
    return next(explanations(file, chunk, search, hypotheses), None)


def _are_only_negative(
    file: ParquetContainer, chunk: ColumnChunk, missing: Sequence[StoredValue]
) -> bool:
    """Whether all of the missing values are negative, and so many that luck cannot be the reason. Raises as
    chunk_runs."""
    leaf = chunk.leaf.type
    if len(missing) < MIN_TRIED or not all(_is_negative(leaf, each.plain) for each in missing):
        return False
    stored = stored_values(file, chunk)
    negative = sum(_is_negative(leaf, each.plain) for each in stored)
    chance = max(1, negative) / max(1, len(stored))
    return Trial(len(missing), len(missing), chance).log_luck <= MAX_LOG_LUCK


def _is_negative(leaf: LeafType, plain: bytes) -> bool:
    """Whether the highest bit is set, of a type whose numbers have a sign there."""
    if leaf.is_float or leaf.physical in INTEGERS:
        is_signed = leaf.logical is None or leaf.logical.signed
        return is_signed and plain[-1] >= 0x80
    return leaf.logical_name == "DECIMAL" and plain[:1] >= b"\x80"
