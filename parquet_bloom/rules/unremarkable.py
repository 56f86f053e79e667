"""Filters about which no rule has anything to say, as long as values are not looked up.

A file can have 100,000 small filters. A FilterView of each, for every rule to look at, takes longer
than all else, so a few numbers tell which of them need none. Whatever is in doubt gets one: a filter may
be looked at in vain, but is never passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from xxhash import xxh3_128_digest

from parquet_bloom.container import Place
from parquet_bloom.parquet.filters.ordinary import OrdinaryFilter, OrdinaryFilters
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.rules import portability, quality
from parquet_bloom.rules.policy import ColumnPolicy, Policy
from parquet_bloom.rules.view import Twin

# What rules look at in the footer, as in _kernel.CHUNK_FIELDS.
_FIELDS = (
    "has_file_path",
    "num_values",
    "null_count",
    "dictionary_page_offset",
    "data_page_offset",
)


def digest_of(bitset: memoryview) -> bytes:
    """16 bytes that only filters with the same bits share."""
    return xxh3_128_digest(bitset)


class _Known(NamedTuple):
    """What has to be kept of a filter: where it is, and a digest of its bits."""

    offset: int
    end: int
    digest: bytes


class UnremarkableFilters:
    """Those of one file that were found so far, by row group and column."""

    def __init__(self, footer: Footer, leaves: Sequence[LeafColumn], policy: Policy) -> None:
        self._footer = footer
        self._leaves = leaves
        self._policy = policy
        self._known: dict[ChunkKey, _Known] = {}

    @cached_property
    def _policies(self) -> dict[int, ColumnPolicy]:
        """By the index of the leaf column; of columns whose type is none to warn of."""
        return {
            leaf.index: self._policy.for_column(leaf.name)
            for leaf in self._leaves
            if not any(portability.check_type(self._footer.chunk(0, leaf)))
        }

    def take(self, row_group: int, filters: OrdinaryFilters) -> None:
        """Find those of one more row group."""
        chunks = self._footer.chunks
        fields = list(zip(*(chunks.part(field, row_group) for field in _FIELDS), strict=True))
        for column, found in filters:
            policy = self._policies.get(column)
            if policy is not None and _is_unremarkable(found, fields[column], policy):
                digest = digest_of(filters.bitset(found))
                end = found.offset + found.length
                self._known[row_group, column] = _Known(found.offset, end, digest)

    def __contains__(self, key: ChunkKey) -> bool:
        return key in self._known

    def __iter__(self) -> Iterator[ChunkKey]:
        return iter(self._known)

    def places(self) -> Iterator[tuple[ChunkKey, int, int]]:
        """Where each begins and ends."""
        for key, (offset, end, _) in self._known.items():
            yield key, offset, end

    def twins(self) -> list[Twin]:
        """What of them may be the same elsewhere."""
        names = [leaf.name for leaf in self._footer.leaves]
        places = [Place(row_group) for row_group in range(self._footer.num_row_groups)]
        return [
            Twin(key, places[key[0]], names[key[1]], digest, is_right=False)
            for key, (_, _, digest) in self._known.items()
        ]


def _is_unremarkable(found: OrdinaryFilter, fields: tuple[int, ...], policy: ColumnPolicy) -> bool:
    # A missing field is less than any number.
    is_elsewhere, num_values, num_nulls, dictionary, data = fields
    size = found.num_bytes
    return (
        quality.is_unremarkable(size, found.fpp, policy)
        and portability.is_unremarkable(size)
        # There are values, and bits of them.
        and num_values > 0
        and num_nulls != num_values
        and found.bits_set > 0
        # There is no dictionary, or a larger one.
        and (not 0 < dictionary < data or size < data - dictionary)
        and not is_elsewhere
    )
