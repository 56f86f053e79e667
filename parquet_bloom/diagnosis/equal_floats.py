"""Zeros of both signs, and NaNs, that were made equal before they were hashed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isnan

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.hashes import XXH64, hashed
from parquet_bloom.diagnosis.samples import StoredValue, stored_among
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters.membership import ChunkMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.values.types import FLOAT_FORMAT, canonical_nan, zeros

CLAUSES = {
    "zero-sign": "each zero with the other sign",
    "nan-payload": "each NaN as the canonical NaN",
}

# Even one value found by luck would be taken for evidence.
MAX_FPP = 0.1


def made_equal(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
    missing: Sequence[StoredValue],
) -> Diagnosis | None:
    """Whether nothing is missing but zeros and NaNs whose equals are found, and are not stored, which would be why.
    Raises as chunk_runs."""
    is_float = chunk.leaf.type.is_float
    if not is_float or not missing or membership.missing == membership.num_values:
        return None
    if filter.fpp > MAX_FPP:
        return None
    names, equals = set(), set()
    for value in missing:
        name, equal = _equal(value.plain)
        if equal is None or not filter.check_value(equal):
            return None
        names.add(name)
        equals.add(equal)
    if stored_among(file, chunk, hashed([*equals], XXH64)).any():
        return None
    clauses = " and ".join(CLAUSES[name] for name in sorted(names))
    explanation = f"the writer hashed {clauses}"
    return Diagnosis("+".join(sorted(names)), explanation, len(missing), len(missing))


def _equal(plain: bytes) -> tuple[str, bytes | None]:
    """What can have been hashed for this value, and the name for that."""
    width = len(plain)
    plus, minus = zeros(width)
    if plain in (plus, minus):
        return "zero-sign", minus if plain == plus else plus
    (number,) = struct.unpack(FLOAT_FORMAT[width], plain)
    return "nan-payload", canonical_nan(width) if isnan(number) else None
