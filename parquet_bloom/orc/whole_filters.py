"""The filters of a chunk that are read whole, for those who compare them with others."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from parquet_bloom.container import FilterDescription, ReadFilter

if TYPE_CHECKING:
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.orc.bloom import StoredIndex


def described(stored: StoredIndex) -> tuple[ReadFilter, ...]:
    """One for each index group. Two are the same if their keys were made in one way, too: in
    streams of one kind, with one bloomEncoding."""
    says = {"the stream": stored.stream.name, "bloomEncoding": str(stored.bloom_encoding)}
    return tuple(ReadFilter(bits, _description(stored, bits), says) for bits in stored.filters)


def _description(stored: StoredIndex, bits: KHashFilter) -> FilterDescription:
    """Of one index group, but for its place: that is known of the whole stream."""
    fpp, ndv_estimate = bits.fpp, bits.ndv_estimate
    return FilterDescription(
        dialect="orc",
        offset=stored.stream.offset,
        length=stored.stream.length,
        stored_bytes=stored.stream.length,
        num_filters=1,
        num_bytes=bits.num_bytes,
        fill=bits.fill,
        fpp=fpp,
        worst_fpp=fpp,
        ndv_estimate=ndv_estimate if isfinite(ndv_estimate) else None,
        stream=stored.stream.name,
        bloom_encoding=stored.bloom_encoding,
        num_hashes=bits.num_hashes,
        num_bits=bits.num_bits,
        marked=stored.is_marked,
    )
