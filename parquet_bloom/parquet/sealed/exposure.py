"""What a footer reveals about encrypted columns without their keys, and what it hides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn

# Fields of a ColumnMetaData that reveal something about values; nobody needs them without the key.
STATISTICS: Final = 12
BLOOM_FILTER_OFFSET: Final = 14
TELLING: Final = {13: "encoding_stats", 16: "size_statistics", 17: "geospatial_statistics"}


def shown_fields(
    footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int]
) -> Iterator[tuple[LeafColumn, list[frozenset[int]]]]:
    """For each leaf column and each of these row groups in which it is encrypted, the ids of the fields
    that the readable copy of its ColumnMetaData has."""
    if not footer.protection.is_encrypted:
        return
    for leaf in leaves:
        groups = _encrypted_groups(footer, leaf, row_groups)
        yield leaf, [footer.shown_fields(row_group, leaf.index) for row_group in groups]


def doubted_columns(footer: Footer, leaves: Sequence[LeafColumn]) -> Iterator[tuple[str, str]]:
    """Columns that may be encrypted although the footer says that they are not, and why."""
    all_groups = range(footer.num_row_groups)
    for leaf in leaves:
        doubt = footer.protection.doubt(leaf.path)
        if doubt and len(_encrypted_groups(footer, leaf, all_groups)) < footer.num_row_groups:
            yield leaf.name, doubt


def hidden_filters(
    footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int]
) -> Iterator[tuple[str, int]]:
    """Columns whose filters, if any, cannot be seen without a key, and in how many of these row
    groups."""
    for leaf in leaves:
        hidden = sum(
            footer.chunks.one("bloom_filter_offset", row_group, leaf.index) == _kernel.ABSENT
            and footer.chunk(row_group, leaf).is_locked
            for row_group in _encrypted_groups(footer, leaf, row_groups)
        )
        if hidden:
            yield leaf.name, hidden


def _encrypted_groups(footer: Footer, leaf: LeafColumn, row_groups: Sequence[int]) -> list[int]:
    """Those of these row groups in which a leaf column is encrypted."""
    return [
        row_group
        for row_group in row_groups
        if footer.chunks.one("has_crypto_metadata", row_group, leaf.index)
    ]
