"""Kinds of values: types whose equal values have equal hashes, as text that a manifest keeps.

    parquet INT64 TIMESTAMP(MICROS,true)

What is asked of an index is encoded and hashed for each kind that a column has in its files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.values.literals import encode_given
from parquet_bloom.values.types import LeafType, LogicalType

# From here on, it pays to import numpy.
MANY: Final = 256


def parquet_kind(leaf: LeafType) -> str:
    """The kind of a leaf column of Parquet."""
    found: dict[str, Any] = {"format": "parquet", "physical": leaf.physical, "length": leaf.length}
    if leaf.logical is not None:
        found["logical"] = asdict(leaf.logical)
    return json.dumps(found)


@dataclass(frozen=True, slots=True)
class AskedHashes:
    """What is looked up: `hashes` of everything that may be stored for the values, and the position `owners[i]` of
    the value that each belongs to. `unknown`: why some values cannot be looked up."""

    hashes: list[int]
    owners: list[int]
    unknown: dict[int, str]


@dataclass(frozen=True, slots=True)
class ManyHashes:
    """The same of many values."""

    hashes: NDArray[np.uint64]
    owners: NDArray[np.intp]
    unknown: dict[int, str]


def asked_hashes(kind: str, values: Sequence[Any] | Array) -> AskedHashes | ManyHashes:
    """Values and literals as what is stored for them in columns of a kind. Raises ValueTypeError for a value that
    such a column cannot hold, FormatError for a kind that nobody knows."""
    leaf = _leaf_type(kind)
    if len(values) >= MANY:
        from parquet_bloom.parquet.filters.asked import stored_of

        stored = stored_of(leaf, values)
        owners = np.arange(len(values)) if stored.owners is None else stored.owners
        return ManyHashes(stored.hashes, owners, dict(stored.unknown))
    encodings = [encode_given(leaf, value) for value in values]
    plain = [(at, each) for at, found in enumerate(encodings) for each in found.plain]
    return AskedHashes(
        hashes=[_kernel.xxh64(each) for _, each in plain],
        owners=[at for at, _ in plain],
        unknown={at: found.unknown for at, found in enumerate(encodings) if found.unknown},
    )


def _leaf_type(kind: str) -> LeafType:
    try:
        found = json.loads(kind)
        logical = LogicalType(**found["logical"]) if "logical" in found else None
        return LeafType(found["physical"], found["length"], logical)
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{kind}: not a type of values that this version knows") from None
