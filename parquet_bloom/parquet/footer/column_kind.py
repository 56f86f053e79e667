"""What a leaf column is to an engine: the kind of its values, and where in the schema it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.engines.reading import (
    BARE_FIELDS,
    ELEMENTS,
    FIELDS,
    IN_VARIANT,
    KEYS,
    MEMBERS,
    ColumnKind,
    kind_of,
)
from parquet_bloom.parquet.footer import shredded
from parquet_bloom.parquet.footer.inner_names import KEY

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn


def column_kind(leaf: LeafColumn) -> ColumnKind:
    digits = leaf.type.logical.precision if leaf.type.logical else 0
    return ColumnKind(kind_of(leaf.type), nesting_of(leaf), digits, leaf.type.length)


def nesting_of(leaf: LeafColumn) -> str:
    """In the words of the catalogue; empty for a column of its own."""
    if shredded.is_in_variant(leaf):
        of_field = BARE_FIELDS if shredded.is_bare(leaf) else FIELDS
        return of_field if shredded.is_field(leaf) else IN_VARIANT
    if KEY in leaf.groups:
        return KEYS
    if leaf.max_repetition_level:
        return ELEMENTS
    return MEMBERS if len(leaf.path) > 1 else ""
