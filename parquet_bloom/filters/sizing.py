"""The size of a split block Bloom filter.

A block receives k values, k ~ Poisson(NDV / num_blocks), and each value sets one of the 32 bits in
each of its eight words. A random hash is found if its bit is set in all eight, so the false positive
probability is

    FPP = sum over k of  Poisson(k; NDV / num_blocks) * (1 - (31/32)^k)^8

The closed formula -8 / ln(1 - p^(1/8)), which the specification gives and most writers use, takes k
to be its mean and undersizes: a target of 1 % gives 1.46 %.

Source: Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", eq. 3;
parquet-format issue 547.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, inf, lgamma, log, log1p, log2, sqrt
from typing import Protocol

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.rates import exact_percent, percent

WORD_BITS = 32
WORDS_PER_BLOCK = 8
BLOCK_BYTES = 32
BLOCK_BITS = 256

# Impala mis-indexes filters below 64 bytes; Arrow C++ and parquet-java refuse more than 128 MiB.
MIN_BYTES = 64
MAX_BYTES = 128 << 20

# A page of memory is not worth mentioning.
NEGLIGIBLE_BYTES = 4 << 10

# Where a given number of values decides on the size, bad luck with hashes explains up to this many times the target.
TOLERANCE = 2.0

# A filter that more absent values pass excludes little, and beyond the other, hardly anything.
HIGH_FPP = 0.1
USELESS_FPP = 0.5

# All filters of a file take that much of it at the most; readers fetch so many bytes together with the footer.
LARGE_SHARE = 0.25
NEGLIGIBLE_SHARE_BYTES = 64 << 10

# Filters that take more of the bytes of their column than that are said to be large, and those that could do with
# that much of their room what would make them smaller.
LARGE_SHARE_OF_COLUMN = 0.2
MUCH_LESS_ROOM = 0.5

# As ls, dd and du of GNU take them.
_UNITS = {"": 1, "B": 1}
for _power, _unit in enumerate("KMGT", 1):
    _UNITS |= {_unit: 1024**_power, f"{_unit}IB": 1024**_power, f"{_unit}B": 1000**_power}

# What each spelling means, for whoever writes one.
SIZES = "bytes, or a number with KiB, MiB, GiB or TiB (of 1024; also K, M, G, T), or KB, MB, GB or TB (of 1000)"


def outweighs(num_bytes: int, data_bytes: int) -> bool:
    """Whether a filter is larger than the data that it could save readers from reading."""
    return num_bytes > max(data_bytes, NEGLIGIBLE_BYTES)


def dominates(num_bytes: int, file_bytes: int) -> bool:
    """Whether all filters of a file are large beside what they could save readers from reading."""
    return num_bytes > max(LARGE_SHARE * file_bytes, NEGLIGIBLE_SHARE_BYTES)


def room_for_fewer(ndv: int, entries: float) -> int | None:
    """Of filters with room for so many `entries`, of which none has more than `ndv` values: an NDV, rounded up to two
    digits, that makes them much smaller; None if none does."""
    step: int = 10 ** max(0, len(str(ndv)) - 2)
    needed = -(-ndv // step) * step
    return needed if 0 < needed <= MUCH_LESS_ROOM * entries else None


def bytes_with_room(num_bytes: float, needed: int, entries: float) -> int:
    """The size of the bits of a filter of ORC with room for `needed` values, in words of 64 bits; those of one with
    room for so many `entries` take `num_bytes`."""
    return 8 * ceil(num_bytes * needed / entries / 8)


def expected_fpp(ndv: float, num_blocks: int) -> float:
    """The FPP to expect of `ndv` distinct values in `num_blocks` blocks."""
    load = ndv / num_blocks
    spread = 12 * sqrt(load) + 40
    first = max(0, int(load - spread))
    log_p = -load + first * log(load) - lgamma(first + 1) if load > 0 else -inf
    total = 0.0
    for k in range(first, int(load + spread) + 1):
        total += exp(log_p) * (1 - (1 - 1 / WORD_BITS) ** k) ** WORDS_PER_BLOCK
        log_p += log(load) - log(k + 1) if load > 0 else 0.0
    return min(total, 1.0)


@lru_cache(maxsize=64)
def bits_per_value(fpp: float) -> float:
    """The bits per distinct value needed for `fpp` (0 < fpp < 1)."""
    if not 0 < fpp < 1:
        raise ValueError(f"fpp: {fpp}, expected a number between 0 and 1")
    low, high = 1e-3, 1e4
    while high / low > 1 + 1e-9:
        middle = sqrt(low * high)
        # One block stands for any number: only the ratio matters.
        low, high = (middle, high) if expected_fpp(BLOCK_BITS / middle, 1) > fpp else (low, middle)
    return high


def growth_of_size(usual: float, rate: float) -> int:
    """How many times as large a filter of a lower rate is at most; sizes are powers of two."""
    return 1 if rate >= usual else 1 << ceil(log2(bits_per_value(rate) / bits_per_value(usual)))


def min_blocks(ndv: int, fpp: float) -> int:
    """The fewest blocks with an expected FPP of at most `fpp` for `ndv` distinct values."""
    return max(1, ceil(ndv * bits_per_value(fpp) / BLOCK_BITS))


def largest_power_of_two(limit: int) -> int:
    """The largest power of two up to `limit` (>= 1)."""
    return 1 << (limit.bit_length() - 1)


def estimate_ndv(bits_set: int, num_blocks: int) -> float:
    """The NDV that best explains `bits_set` bits; infinite if every bit is set."""
    # A word of Poisson(NDV / num_blocks) values leaves a bit clear with the probability
    # exp(-NDV / (32 num_blocks)).
    fill = bits_set / (num_blocks * BLOCK_BITS)
    return inf if fill >= 1 else -WORD_BITS * num_blocks * log1p(-fill)


def parse_size(text: str) -> int:
    """The bytes of `64`, of `1GiB` or `1G`, 1024^3, or of `1GB`, 1000^3; of `1.5MiB`,
    without what is less than a byte.
    Raises ValueError for anything else: see SIZES."""
    digits = text.rstrip("bBiIkKmMgGtT ")
    unit = text[len(digits) :].strip().upper()
    whole, point, part = digits.partition(".")
    # Bytes have no parts.
    is_part = part.isdecimal() and unit not in ("", "B")
    is_number = text.isascii() and whole.isdecimal() and (is_part or not point)
    if not is_number or unit not in _UNITS:
        raise ValueError(f"{text!r}: not a size: expected {SIZES}")
    return int(Fraction(digits) * _UNITS[unit])


def parse_share(text: str) -> Fraction:
    """The share of `1%`, or of `0.5 %`: more than 0, and at most 1. Raises ValueError for anything else."""
    whole, point, part = text.removesuffix("%").rstrip().partition(".")
    is_number = text.isascii() and whole.isdecimal() and (part.isdecimal() or not point)
    is_share = is_number and text.endswith("%")
    share = Fraction(f"{whole}{point}{part}") / 100 if is_share else Fraction(0)
    if not 0 < share <= 1:
        raise ValueError(
            f"{text!r}: not a share: expected more than 0% and at most 100%, such as 0.5%"
        )
    return share


class MeasuredFilter(Protocol):
    """A filter in memory, of any kind."""

    @property
    def num_bytes(self) -> int: ...
    @property
    def fpp(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Size:
    """The target FPP and the size limits of a filter.

    `max_bytes`: 64 to 128 MiB. `ndv`: distinct values to size for, instead of folding.
    `exact_blocks`: allow block counts that are not powers of two. Raises ValueError.
    """

    fpp: float = 0.01
    max_bytes: int = MAX_BYTES
    ndv: int | None = None
    exact_blocks: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.fpp < 1:
            raise ValueError(f"fpp: {self.fpp}, expected more than 0 and less than 1")
        if self.ndv is not None and self.ndv < 1:
            raise ValueError(f"ndv: {self.ndv}, expected 1 or more")
        if not MIN_BYTES <= self.max_bytes <= MAX_BYTES:
            raise ValueError(f"max_bytes: {self.max_bytes}, expected {MIN_BYTES} to {MAX_BYTES}")

    @property
    def max_blocks(self) -> int:
        limit = self.max_bytes // BLOCK_BYTES
        return limit if self.exact_blocks else largest_power_of_two(limit)

    def blocks_for(self, ndv: int) -> int:
        """The number of blocks for `ndv` values at the target FPP, within the limits."""
        needed = min_blocks(ndv, self.fpp)
        if not self.exact_blocks:
            needed = 1 << (needed - 1).bit_length()
        return max(MIN_BYTES // BLOCK_BYTES, min(needed, self.max_blocks))

    def is_met_by(self, fpp: float) -> bool:
        """Whether a filter with this FPP is as good as was wanted."""
        return fpp <= (self.fpp if self.ndv is None else TOLERANCE * self.fpp)

    def reason_against(self, filter: MeasuredFilter) -> str:
        """Why a filter of this size should not be written; empty if it should."""
        if self.is_met_by(filter.fpp):
            return ""
        return (
            f"FPP {percent(filter.fpp, 3)} at {filter.num_bytes} bytes, {self._reason_for(filter)}:"
            f" misses the target of {exact_percent(self.fpp)}"
        )

    def _reason_for(self, filter: MeasuredFilter) -> str:
        """Why a filter is no larger."""
        largest = self.max_blocks * BLOCK_BYTES
        if self.ndv is not None and filter.num_bytes < largest:
            return f"sized for an NDV of {self.ndv}"
        return f"the most {'possible' if largest == MAX_BYTES else 'allowed'}"
