"""Which split block filters of before parquet-format 2.7.0 to write."""

from __future__ import annotations

from math import log
from typing import Final

from parquet_bloom.arguments import flag_given
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_note
from parquet_bloom.legacy.murmur3.headers import MAX_BYTES, MIN_BYTES
from parquet_bloom.legacy.murmur3.schemes import MAX_SEED, PARQUET_SEED, Scheme
from parquet_bloom.vocabulary import HeaderLayout, Placement, check_word

# Of one word: 1 minus anything smaller is 1, and the formula fails.
_LEAST_RATE: Final = 2.0**-53


@dataclass(frozen=True, slots=True)
class Murmur3:
    """Split block filters of MurmurHash3, as parquet-mr and parquet-cpp wrote them until 2019.

    header_layout: what stands before the bits; `12-byte` is what they wrote, `thrift` and `page` are
    what the specification said then. seed: of the hash, 32 bits. placement: `footer`, before the
    footer, or `chunk`, before the chunk's first page, which moves everything behind it.
    publish_offset: point bloom_filter_offset to the filters, although readers of today expect another
    kind there; otherwise only a note leads to them, which readers ignore.

    Raises ValueError for anything else.
    """

    header_layout: HeaderLayout = "12-byte"
    seed: int = PARQUET_SEED
    placement: Placement = "footer"
    publish_offset: bool = False

    def __post_init__(self) -> None:
        check_word("header_layout", self.header_layout, HeaderLayout)
        check_word("placement", self.placement, Placement)
        if type(self.seed) is not int or not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"seed: {self.seed}, expected 0 to {MAX_SEED}")
        flag_given("publish_offset", self.publish_offset)

    @property
    def scheme(self) -> Scheme:
        return Scheme("MURMUR3", self.seed, "mask")

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of today do with published filters."""
        if not self.publish_offset:
            return ()
        told = engine_note("a published murmur3 filter")
        return (f"bloom_filter_offset leads to a filter of a legacy dialect: {told}",)


def num_bytes_for(ndv: int, fpp: float, max_bytes: int = MAX_BYTES) -> int:
    """The size that parquet-mr gave a filter of `ndv` distinct values, at most `max_bytes`.

    It is too small for `fpp` (see filters.sizing), unless rounding makes up for it.
    """
    of_word = min(max(fpp ** (1 / 8), _LEAST_RATE), 1 - _LEAST_RATE)
    num_bits = int(-8 * ndv / log(1 - of_word))
    rounded = 1 << max(0, num_bits - 1).bit_length()
    largest = 1 << (min(max_bytes, MAX_BYTES).bit_length() - 1)
    return max(MIN_BYTES, min(rounded // 8, largest))
