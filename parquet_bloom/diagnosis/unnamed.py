"""What is in a filter whose header does not say how values were hashed.

@dsnp/parquetjs, as read in 1.8.9 (sbbf.js, xxhasher.js): all blocks are one array, into which each value
is inserted; numbers are hashed as text, bytes as what they are in UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.container import number_of
from parquet_bloom.diagnosis.bitsets import as_bitset
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import UNREADABLE, too_few, too_full
from parquet_bloom.diagnosis.hypotheses import Hypothesis, Search
from parquet_bloom.diagnosis.key_forms import key_forms
from parquet_bloom.diagnosis.samples import StoredValue, missing_values
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.filters.rates import percent
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import chunk_runs, located


def diagnose(file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter) -> Diagnosis | str:
    """How values seem to have been inserted, or why nobody can tell."""
    try:
        return _diagnose(file, chunk, stored)
    except (EncryptionError, FormatError, UnsupportedError):
        return UNREADABLE


def _diagnose(file: ParquetFile, chunk: ColumnChunk, stored: bloom.StoredFilter) -> Diagnosis | str:
    is_whole = stored.num_bytes % BLOCK_BYTES == 0 and stored.end <= file.footer.start
    if not is_whole or not 0 < stored.num_bytes <= MAX_BYTES:
        return "no diagnosis: there is no whole number of blocks"
    filter = bloom.read_bitset(file.source, stored)
    with located(file.footer, chunk):
        values = _values(file, chunk)
    search, forms = Search(values, as_bitset(filter)), list(key_forms(chunk.leaf.type))
    found = search.convincing([Hypothesis(), *map(Hypothesis, forms)])
    alike = _alike(filter)
    if not found and not alike:
        return (
            too_full(filter.fpp)
            or too_few(len(values), "value")
            or f"no hypothesis explains it; tried on {number_of(len(values), 'value')}: as they are"
            f" stored, and {number_of(len(forms), 'other form')}"
        )
    if not found:
        return Diagnosis("blocks-alike", alike, 0, 0)
    hypothesis, trial = found[0]
    name = hypothesis.key_form.name or "as-stored"
    clause = hypothesis.key_form.clause or "hashed as it is stored"
    return Diagnosis(
        f"blocks-alike+{name}" if alike else name,
        f"{f'{alike}, and ' if alike else ''}the stored values are found if each is {clause}",
        trial.hits,
        trial.tried,
    )


def _alike(filter: SplitBlockBloomFilter) -> str:
    """Whether all blocks are the same, in words; else empty."""
    words = filter.words.reshape(filter.num_blocks, -1)
    if filter.num_blocks < 2 or (words != words[0]).any():
        return ""
    return (
        f"all {filter.num_blocks:,} blocks are the same, with the bits of all values, and find"
        f" {percent(filter.fpp)} of others, too"
    )


def _values(file: ParquetFile, chunk: ColumnChunk) -> Sequence[StoredValue]:
    """A sample of those that are stored: of those that a filter without any value lacks."""
    pages = list(dict.fromkeys(part.page for part in chunk_runs(file.source, file.footer, chunk)))
    return missing_values(file, chunk, SplitBlockBloomFilter.empty(1), pages)
