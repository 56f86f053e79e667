"""Leaves of a shredded VARIANT.

    v (VARIANT) | metadata | value | typed_value | a | value | typed_value
                                                   b | value | typed_value | list | element | …

A value that has the type of a `typed_value` is there; all others are encoded in the `value` beside it,
the residual, and so may be the same number in another type. A filter of a `typed_value` therefore never
tells alone that no value of the VARIANT is equal to another.

Spec: parquet-format, VariantShredding.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from parquet_bloom.parquet.footer.schema import BARE_VARIANT

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn

TYPED: Final = "typed_value"
RESIDUAL: Final = "value"


def is_in_variant(leaf: LeafColumn) -> bool:
    return "VARIANT" in leaf.groups or is_bare(leaf)


def is_bare(leaf: LeafColumn) -> bool:
    """Whether the file does not say that it is a VARIANT: who does not know it takes it for a struct."""
    return BARE_VARIANT in leaf.groups


def is_typed(leaf: LeafColumn) -> bool:
    """Whether the leaf of a VARIANT holds values of one type, and not encoded ones or their names."""
    return leaf.path[-1] == TYPED


def is_field(leaf: LeafColumn) -> bool:
    """Whether the leaf has the typed values of a field of an object, neither those of an array's elements
    nor those of the VARIANT itself."""
    depth = len(leaf.path) + 1 - _top(leaf)
    return is_typed(leaf) and not leaf.max_repetition_level and depth > 2


def caveat(leaf: LeafColumn) -> str:
    """What an answer about a leaf of a VARIANT is not about."""
    whole = field_of(leaf)
    if not is_typed(leaf):
        return f"about the encoded bytes of {leaf.name} only, not about values of {whole}"
    others = " and ".join(residuals_of(leaf))
    return f"about the typed part of {whole} only: other values of it can be in {others}"


def field_of(leaf: LeafColumn) -> str:
    """The part of a VARIANT that a typed leaf has values of: `v.a`, `v.b[…]`, or `v`."""
    return ".".join(leaf.path[: _top(leaf)]) + "".join(field for _, field in _typed(leaf))


def residuals_of(leaf: LeafColumn) -> tuple[str, ...]:
    """The columns that may have other values of that part."""
    return tuple(".".join((*leaf.path[:at], RESIDUAL)) for at, _ in _typed(leaf))


def _top(leaf: LeafColumn) -> int:
    """How much of the path leads to the VARIANT."""
    return leaf.groups.index(BARE_VARIANT if is_bare(leaf) else "VARIANT") + 1


def _typed(leaf: LeafColumn) -> Iterator[tuple[int, str]]:
    """Where each `typed_value` is in the path, and what follows: `.a`, `[…]`, or nothing."""
    at = _top(leaf)
    while at < len(leaf.path):
        if at + 1 == len(leaf.path):
            yield at, ""
            return
        is_array = leaf.groups[at] == "LIST"
        yield at, "[…]" if is_array else f".{leaf.path[at + 1]}"
        at += 3 if is_array else 2
