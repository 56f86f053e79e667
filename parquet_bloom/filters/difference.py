"""Compare two filters of one kind: the bits that are set in only one of them.

The larger of two split block filters is folded to the size of the other, if its size is a multiple.
K-hash filters can be compared only if they have the same number of bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.split_block import SplitBlockBloomFilter


@dataclass(frozen=True, slots=True)
class Difference:
    """`fold`: the ratio of the sizes, None unless it is a whole number.

    `only_a`: the number of bits set only in `a`, once both have the same size; None if that is
    impossible. `reasons`: the differences in words.
    """

    only_a: int | None = None
    only_b: int | None = None
    fold: int | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_folded(self) -> bool:
        """Whether one filter is exactly the other, folded."""
        return self.fold is not None and self.fold > 1 and not self.only_a and not self.only_b


def difference(a: Any, b: Any) -> Difference:
    """Compare two SplitBlockBloomFilters or two KHashFilters."""
    if isinstance(a, SplitBlockBloomFilter) and isinstance(b, SplitBlockBloomFilter):
        return _compare_split_blocks(a, b)
    if isinstance(a, KHashFilter) and isinstance(b, KHashFilter):
        return _compare_k_hashes(a, b)
    raise TypeError(f"{type(a).__name__} and {type(b).__name__}, expected filters of one kind")


def _compare_split_blocks(a: SplitBlockBloomFilter, b: SplitBlockBloomFilter) -> Difference:
    small, large = sorted((a, b), key=lambda bits: bits.num_blocks)
    fold, rest = divmod(large.num_blocks, small.num_blocks)
    if rest:
        return Difference(reasons=(f"{a.num_bytes} bytes in a, {b.num_bytes} in b",))
    folded_a, folded_b = (
        bits if bits.num_blocks == small.num_blocks else bits.fold(fold) for bits in (a, b)
    )
    only_a, only_b = folded_a.bits_outside(folded_b), folded_b.bits_outside(folded_a)
    names = ("a", "b") if a is large else ("b", "a")
    return Difference(only_a, only_b, fold, _reasons(only_a, only_b, fold, *names))


def _reasons(only_a: int, only_b: int, fold: int, large: str, small: str) -> tuple[str, ...]:
    differing = f"bits set only in a: {only_a}, only in b: {only_b}"
    if fold == 1:
        return (differing,) if only_a or only_b else ()
    if only_a or only_b:
        return (f"{large} is {fold} times as large as {small}: folded by {fold}, {differing}",)
    return (f"{small} is {large}, folded by {fold}",)


def _compare_k_hashes(a: KHashFilter, b: KHashFilter) -> Difference:
    reasons = tuple(
        f"the number of {what} is {in_a} in a, {in_b} in b"
        for what, in_a, in_b in (
            ("bits", a.num_bits, b.num_bits),
            ("hashes", a.num_hashes, b.num_hashes),
        )
        if in_a != in_b
    )
    if a.num_bits != b.num_bits:
        return Difference(reasons=reasons)
    only_a, only_b = a.bits_outside(b), b.bits_outside(a)
    if only_a or only_b:
        reasons = (*reasons, f"bits set only in a: {only_a}, only in b: {only_b}")
    return Difference(only_a, only_b, reasons=reasons)
