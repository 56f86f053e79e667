"""Compare two filters of one kind: which bits are set in only one of them.

The larger of two split block filters is folded to the size of the other, if its size is a multiple
of it. K-hash filters can be compared only if they have the same number of bits.
"""

from __future__ import annotations

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.split_block import SplitBlockBloomFilter


@dataclass(frozen=True, slots=True)
class Difference:
    """`only_a`: the number of bits set only in `a`, once both have the same size; None if they
    cannot. `fold`: the ratio of the sizes, if it is whole. `reasons`: the differences in words."""

    only_a: int | None = None
    only_b: int | None = None
    fold: int | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_folded(self) -> bool:
        """Whether one filter is exactly the other, folded."""
        return self.fold is not None and self.fold > 1 and not self.only_a and not self.only_b


def difference(a: object, b: object) -> Difference:
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
    a_folded, b_folded = (
        each if each.num_blocks == small.num_blocks else each.fold(fold) for each in (a, b)
    )
    only_a, only_b = a_folded.bits_outside(b_folded), b_folded.bits_outside(a_folded)
    reason = _bits_apart(only_a, only_b)
    if fold > 1:
        in_small, in_large = ("b", "a") if a is large else ("a", "b")
        reason = (
            f"{in_large} is {fold} times as large as {in_small}: folded by {fold}, {reason}"
            if reason
            else f"{in_small} is {in_large}, folded by {fold}"
        )
    return Difference(only_a, only_b, fold, (reason,) if reason else ())


def _bits_apart(only_a: int, only_b: int) -> str:
    return f"bits set only in a: {only_a}, only in b: {only_b}" if only_a or only_b else ""


def _compare_k_hashes(a: KHashFilter, b: KHashFilter) -> Difference:
    numbers = (("bits", a.num_bits, b.num_bits), ("hashes", a.num_hashes, b.num_hashes))
    reasons = [
        f"the number of {what} is {in_a} in a, {in_b} in b"
        for what, in_a, in_b in numbers
        if in_a != in_b
    ]
    if a.num_bits != b.num_bits:
        return Difference(reasons=tuple(reasons))
    only_a, only_b = a.bits_outside(b), b.bits_outside(a)
    if reason := _bits_apart(only_a, only_b):
        reasons.append(reason)
    return Difference(only_a, only_b, reasons=tuple(reasons))
