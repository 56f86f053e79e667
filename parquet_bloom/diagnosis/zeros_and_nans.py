"""Floating point values that were made alike before they were hashed: zeros, NaNs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.samples import StoredValue
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.membership import ChunkMembership
from parquet_bloom.values.types import LeafType, canonical_nan, zeros

NUMPY_FLOATS = {2: "<f2", 4: "<f4", 8: "<f8"}

ZERO_SIGN, NAN_PAYLOAD = "zero-sign", "nan-payload"
CLAUSES = {
    ZERO_SIGN: "each zero is hashed with the other sign",
    NAN_PAYLOAD: "each NaN is hashed as the canonical NaN",
}

# One value that is found by luck would be taken for evidence.
MAX_FPP = 0.1


def made_alike(
    leaf: LeafType,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
    missing: Sequence[StoredValue],
) -> Diagnosis | None:
    """Whether nothing is missing but zeros of one sign, or NaNs, whose likes are found."""
    if not leaf.is_float or not missing or membership.missing == membership.num_values:
        return None
    if filter.fpp > MAX_FPP:
        return None
    names = set()
    for value in missing:
        name, like = _like(value.plain)
        if like is None or not filter.check_value(like):
            return None
        names.add(name)
    clauses = " and ".join(CLAUSES[name] for name in sorted(names))
    return Diagnosis(
        "+".join(sorted(names)),
        f"the missing values are found if {clauses}",
        hits=len(missing),
        tried=len(missing),
    )


def _like(plain: bytes) -> tuple[str, bytes | None]:
    """What can have been hashed for this value, and the name for that."""
    plus, minus = zeros(len(plain))
    if plain in (plus, minus):
        return ZERO_SIGN, minus if plain == plus else plus
    number = np.frombuffer(plain, NUMPY_FLOATS[len(plain)])[0]
    return NAN_PAYLOAD, canonical_nan(len(plain)) if np.isnan(number) else None
