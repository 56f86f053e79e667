"""Why stored values are missing from a filter.

In stages, each tried only if the ones before explain nothing: zeros and NaNs; one deviation from how
the format hashes and places a value; the filter of another chunk; pages whose values were not
inserted; two deviations. Nothing is claimed that luck could explain (see evidence).
"""

from __future__ import annotations

from collections.abc import Iterable

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.bitsets import as_bitset, views
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import UNREADABLE, too_few, too_full
from parquet_bloom.diagnosis.hashes import OTHER_HASHES
from parquet_bloom.diagnosis.hypotheses import Hypothesis, Search, double, single
from parquet_bloom.diagnosis.insertions import partial_insertion
from parquet_bloom.diagnosis.key_forms import key_forms
from parquet_bloom.diagnosis.layouts import layouts
from parquet_bloom.diagnosis.other_chunks import filter_of_another
from parquet_bloom.diagnosis.samples import missing_values, stored_among
from parquet_bloom.diagnosis.zeros_and_nans import made_equal
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import ChunkMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import located


def diagnosis_or_reason(
    file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter, membership: ChunkMembership
) -> Diagnosis | str | None:
    """What the writer of this filter did instead, or why nobody can tell; None if nothing is missing."""
    if not membership.missing:
        return None
    of_filter = file, chunk, stored, membership
    try:
        return diagnose(*of_filter) or unexplained(*of_filter)
    except (EncryptionError, FormatError, UnsupportedError):
        # Indexes that only this needs.
        return UNREADABLE


def diagnose(
    file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter, membership: ChunkMembership
) -> Diagnosis | None:
    """What the writer of this filter did instead; None if nothing is missing, or nothing fits.

    `membership`: of check_membership. Raises PageError and UnsupportedError if the chunk's pages
    cannot be read.
    """
    if not membership.missing:
        return None
    with located(file.footer, chunk):
        return _diagnose(file, chunk, stored, membership)


def _diagnose(
    file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter, membership: ChunkMembership
) -> Diagnosis | None:
    leaf = chunk.leaf.type
    filter = bloom.read_bitset(file.source, stored)
    bitset = as_bitset(filter)
    lacking = [page.page for page in membership.pages if page.missing]
    missing = missing_values(file, chunk, filter, lacking)
    search = Search(missing, bitset)
    its_key_forms, its_layouts = list(key_forms(leaf)), list(layouts(bitset.num_blocks))
    return (
        made_equal(leaf, filter, membership, missing)
        or _best(file, chunk, search, single(its_key_forms, its_layouts, views(file, stored)))
        or filter_of_another(file, chunk, bitset, missing)
        or partial_insertion(file, chunk, filter, membership)
        or _best(file, chunk, search, double(its_key_forms, its_layouts))
    )


def unexplained(
    file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter, membership: ChunkMembership
) -> str:
    """What was tried, in words, where `diagnose` finds nothing. Raises as it does."""
    filter = bloom.read_bitset(file.source, stored)
    if doubt := too_full(filter.fpp):
        return doubt
    lacking = [page.page for page in membership.pages if page.missing]
    with located(file.footer, chunk):
        missing = len(missing_values(file, chunk, filter, lacking))
    if doubt := too_few(missing):
        return doubt
    forms = len(list(key_forms(chunk.leaf.type)))
    places = len(list(layouts(filter.num_blocks)))
    bitsets = len(list(views(file, stored)))
    return (
        f"no hypothesis explains it; tried on {number_of(missing, 'missing value')}:"
        f" {number_of(forms, 'other form')} of the values, {len(OTHER_HASHES)} other hashes,"
        f" {number_of(places, 'other layout')} of the bits, pairs of these,"
        f" {number_of(bitsets, 'other place')} of the bitset, filters of other chunks, pages that were"
        " not inserted"
    )


def _best(
    file: ParquetFile, chunk: ColumnChunk, search: Search, hypotheses: Iterable[Hypothesis]
) -> Diagnosis | None:
    for hypothesis, trial in search.convincing(hypotheses):
        if hypothesis.is_of_values_only:
            # Other bytes of a value can be another stored value, rightly found.
            is_stored = stored_among(file, chunk, search.hashes(hypothesis))
            trial = search.trial(hypothesis, is_stored)
        if trial.is_convincing:
            return hypothesis.diagnosis(trial)
    return None
