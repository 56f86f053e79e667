"""Whether nothing but negative numbers is missing."""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.diagnosis.evidence import MAX_LOG_LUCK, MIN_TRIED, Trial
from parquet_bloom.diagnosis.key_forms import INTEGERS
from parquet_bloom.diagnosis.samples import StoredValue, stored_values
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.values.types import LeafType


def only_negative(
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
