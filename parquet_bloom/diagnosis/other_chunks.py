"""Filters that belong to another column chunk, in another row group or of another column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, product

import numpy as np

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import Trial
from parquet_bloom.diagnosis.hashes import XXH64, hashed
from parquet_bloom.diagnosis.hypotheses import FIRST_SHARE, FIRST_VALUES
from parquet_bloom.diagnosis.layouts import STANDARD, Bitset, as_bitset
from parquet_bloom.diagnosis.samples import SAMPLE_VALUES, StoredValue, stored_among
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.sizing import MAX_BYTES
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import chunk_runs

MAX_ROW_GROUPS = 16
MAX_COLUMNS = 32
MAX_ELSEWHERE = 64
MAX_PAGES = 8
MAX_CHUNK_BYTES = 256 << 20


def filter_of_another(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, missing: Sequence[StoredValue]
) -> Diagnosis | None:
    """Whether the filter belongs to another chunk, or another chunk has this one's filter.

    Values that both chunks store prove nothing and are left out, as are chunks that cannot be read.
    """
    hashes = hashed([value.plain for value in missing], XXH64)
    for others in _others(file, chunk):
        # Of filters that all moved on by one, each is said to belong to the next, though most are also at the last.
        for other in others:
            with suppress(ParquetBloomError):
                if trial := _trial_of_values(file, chunk, bitset, other):
                    return Diagnosis(
                        "filter-of-another-chunk",
                        f"the filter belongs to {other.where}: the values stored there are found",
                        trial.hits,
                        trial.tried,
                    )
        for other in others:
            with suppress(ParquetBloomError):
                if trial := _trial_of_filter(file, other, hashes):
                    return Diagnosis(
                        "filter-at-another-chunk",
                        f"the missing values are found in the filter of {other.where}",
                        trial.hits,
                        trial.tried,
                    )
    return None


def _others(file: ParquetContainer, chunk: ColumnChunk) -> Iterator[list[ColumnChunk]]:
    """The same column in the nearest row groups, in the first and in the last; then the nearest columns of the row
    group; then these columns in the nearest row groups."""
    # The nearest is the chunk's own.
    groups = sorted(range(file.num_row_groups), key=lambda group: abs(group - chunk.row_group))[1:]
    leaves = sorted(file.footer.leaves, key=lambda leaf: abs(leaf.index - chunk.leaf.index))[1:]
    # Bits have no stored bytes to hash.
    leaves = [leaf for leaf in leaves if leaf.type.physical != "BOOLEAN"][:MAX_COLUMNS]
    ends = {0, file.num_row_groups - 1} - {chunk.row_group}
    near = dict.fromkeys((*groups[:MAX_ROW_GROUPS], *sorted(ends)))
    yield [file.footer.chunk(group, chunk.leaf) for group in near]
    yield [file.footer.chunk(chunk.row_group, leaf) for leaf in leaves]
    elsewhere = islice(product(groups, leaves), MAX_ELSEWHERE)
    yield [file.footer.chunk(group, leaf) for group, leaf in elsewhere]


def _trial_of_values(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, other: ColumnChunk
) -> Trial | None:
    """Values of the other chunk in this filter, where the chunk's own are found only by luck."""
    trial = _confirmed(file, chunk, bitset, _some_hashes(file, other))
    if trial is None:
        return None
    own = _some_hashes(file, chunk)
    own = own[~stored_among(file, other, own)]
    return trial if STANDARD.look_up(bitset, own).is_luck else None


def _trial_of_filter(file: ParquetContainer, other: ColumnChunk, missing: Hashes) -> Trial | None:
    """Missing values in the filter of the other chunk, even if the two filters share bytes."""
    stored = bloom.read_header(file.source, file.footer, other)
    if stored is None or not 0 < stored.num_bytes <= MAX_BYTES:
        return None
    if _is_refuted(file, stored, missing[:FIRST_VALUES]):
        return None
    return _confirmed(file, other, as_bitset(bloom.read_bitset(file.source, stored)), missing)


def _is_refuted(file: ParquetContainer, stored: bloom.StoredFilter, hashes: Hashes) -> bool:
    """Whether the first few hashes are not found; reads no more of the filter than their blocks."""
    found = 0
    read = bloom.bits(file.source, stored)
    for hash in hashes:
        _, block = bloom.read_block(read, stored, int(hash))
        found += int(block.check_hashes(hash.reshape(1)).sum())
    return found < FIRST_SHARE * hashes.size


def _some_hashes(file: ParquetContainer, chunk: ColumnChunk) -> Hashes:
    """Hashes of values of the first page that has any, if it is one of the first few."""
    for part in islice(chunk_runs(file.source, file.footer, chunk), MAX_PAGES):
        hashes = np.unique(part.run.hashes())
        if hashes.size:
            return np.random.default_rng(0).permutation(hashes)[:SAMPLE_VALUES]
    return np.empty(0, np.uint64)


def _confirmed(
    file: ParquetContainer, owner: ColumnChunk, bitset: Bitset, hashes: Hashes
) -> Trial | None:
    """The trial of the hashes that `owner` does not store, if it is convincing."""
    is_too_large = (owner.total_uncompressed_size or 0) > MAX_CHUNK_BYTES
    if is_too_large or not STANDARD.look_up(bitset, hashes).is_convincing:
        return None
    trial = STANDARD.look_up(bitset, hashes[~stored_among(file, owner, hashes)])
    return trial if trial.is_convincing else None
