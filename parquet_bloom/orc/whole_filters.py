"""The filters of a chunk that are read whole, for those who compare them with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.container import ReadFilter
from parquet_bloom.orc.describe import filter_description

if TYPE_CHECKING:
    from parquet_bloom.orc.bloom import StoredIndex


def described(stored: StoredIndex) -> tuple[ReadFilter, ...]:
    """One for each index group. Two are the same if their keys were made in one way, too: in
    streams of one kind, with one bloomEncoding."""
    says = {"the stream": stored.stream.name, "bloomEncoding": str(stored.bloom_encoding)}
    return tuple(
        ReadFilter(bits, filter_description(stored, (bits,), stored.stream.length), says)
        for bits in stored.filters
    )
