"""What is in a filter whose header does not say how values were hashed.

@dsnp/parquetjs, as read in 1.8.9 (sbbf.js, xxhasher.js): all blocks are one array, into which each
value is inserted; numbers are hashed as text, bytes as what they are in UTF-8.
"""

from __future__ import annotations

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import UNREADABLE, too_few, too_full
from parquet_bloom.diagnosis.hypotheses import HashSearch, Hypothesis
from parquet_bloom.diagnosis.key_forms import key_forms
from parquet_bloom.diagnosis.layouts import as_bitset
from parquet_bloom.diagnosis.samples import stored_values
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.filters.rates import percent
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import located


def diagnose_unnamed(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Diagnosis | str:
    """How values seem to have been inserted, or why nobody can tell."""
    try:
        return _diagnose_unnamed(file, chunk, stored)
    except (EncryptionError, FormatError, UnsupportedError):
        return UNREADABLE


def _diagnose_unnamed(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Diagnosis | str:
    is_whole = stored.num_bytes % BLOCK_BYTES == 0 and stored.end <= file.footer.start
    if not is_whole or not 0 < stored.num_bytes <= MAX_BYTES:
        return "no diagnosis: there is no whole number of blocks"
    filter = bloom.read_bitset(file.source, stored)
    with located(file.footer, chunk):
        values = stored_values(file, chunk)
    search = HashSearch(values, as_bitset(filter))
    forms = list(key_forms(chunk.leaf.type))
    found = search.convincing([Hypothesis(), *map(Hypothesis, forms)])
    alike = _identical_blocks(filter)
    if not found and not alike:
        return (
            too_full(filter.fpp)
            or too_few(len(values), "value")
            or f"nothing explains it; tried on {number_of(len(values), 'value')}: as they are"
            f" stored, and {number_of(len(forms), 'other form')}"
        )
    if not found:
        return Diagnosis("blocks-alike", alike, 0, 0)
    hypothesis, trial = found[0]
    name = hypothesis.key_form.name or "as-stored"
    clause = hypothesis.key_form.clause or "as it is stored"
    return Diagnosis(
        f"blocks-alike+{name}" if alike else name,
        f"{f'{alike}, and ' if alike else ''}the writer hashed each value {clause}",
        trial.hits,
        trial.tried,
    )


def _identical_blocks(filter: SplitBlockBloomFilter) -> str:
    """Whether all blocks are the same, in words; else empty."""
    words = filter.words.reshape(filter.num_blocks, -1)
    if filter.num_blocks < 2 or (words != words[0]).any():
        return ""
    return (
        f"all {filter.num_blocks:,} blocks are the same, with the bits of all values, so"
        f" {percent(filter.fpp)} of absent values pass the filter"
    )
