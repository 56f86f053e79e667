"""What a footer shows of encrypted columns to those who do not have their keys, and what it hides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn

# Fields of a ColumnMetaData that tell of values; readers without the key need none of them.
STATISTICS: Final = 12
BLOOM_FILTER_OFFSET: Final = 14
TELLING: Final = {13: "encoding_stats", 16: "size_statistics", 17: "geospatial_statistics"}


def shown_fields(
    footer: Footer, leaves: Sequence[LeafColumn]
) -> Iterator[tuple[LeafColumn, list[frozenset[int]]]]:
    """For each leaf column the ids of fields that its copy of the ColumnMetaData shows, for each row
    group in which it is encrypted."""
    if not footer.protection.is_encrypted:
        return
    encrypted = footer.chunks.every("has_crypto_metadata")
    width = len(footer.leaves)
    for leaf in leaves:
        yield (
            leaf,
            [
                footer.shown_fields(row_group, leaf.index)
                for row_group in range(footer.num_row_groups)
                if encrypted[row_group * width + leaf.index]
            ],
        )


def doubted_columns(footer: Footer, leaves: Sequence[LeafColumn]) -> Iterator[tuple[str, str]]:
    """Columns that the footer shows as not encrypted, and why that is doubtful."""
    encrypted = footer.chunks.every("has_crypto_metadata")
    width = len(footer.leaves)
    for leaf in leaves:
        doubt = footer.protection.doubt(leaf.path)
        if doubt and not all(encrypted[leaf.index :: width]):
            yield leaf.name, doubt


def hidden_filters(footer: Footer, leaves: Sequence[LeafColumn]) -> Iterator[tuple[str, int]]:
    """Columns of which nobody knows without a key whether they have filters, and in how many row
    groups."""
    encrypted = footer.chunks.every("has_crypto_metadata")
    offsets = footer.chunks.every("bloom_filter_offset")
    width = len(footer.leaves)
    for leaf in leaves:
        hidden = sum(
            footer.chunk(row_group, leaf).is_locked
            for row_group in range(footer.num_row_groups)
            if encrypted[row_group * width + leaf.index]
            and offsets[row_group * width + leaf.index] == _kernel.ABSENT
        )
        if hidden:
            yield leaf.name, hidden
