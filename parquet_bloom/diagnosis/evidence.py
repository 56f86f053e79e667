"""Whether values are found because a hypothesis is right, or by luck.

Each value that is looked up meets eight words of one block. If the bits had nothing to do with it, the
fill of just these words would be the probability that it is found. With the mean p of these
probabilities, the chance of at least `hits` of `tried` has a bound (Chernoff, Hoeffding 1956):

    P  <=  exp(-tried * KL(hits / tried || p)),  KL(q || p) = q ln(q/p) + (1-q) ln((1-q)/(1-p))
"""

from __future__ import annotations

from math import log, sqrt

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.rates import percent

# At most one wrong claim in 10^9 searches of 10^5 hypotheses each.
MAX_LOG_LUCK = log(1e-14)

# What is named as the nearest of all that explain too little must still be better than luck.
MAX_LOG_LUCK_OF_NEAREST = log(1e-9)

MIN_TRIED = 4
MIN_SHARE = 0.99

# A filter that finds half of all values proves nothing about any of them.
MAX_CHANCE = 0.5

# Fewer values can be missing for any reason.
MIN_MISSING = 8

# How many standard deviations above the mean count as luck.
DEVIATIONS = 4


UNREADABLE = "no diagnosis: pages that it needs cannot be read"


def too_few(values: int, what: str = "missing value") -> str:
    """Why so few values have no diagnosis; empty if they are enough."""
    if values >= MIN_TRIED:
        return ""
    return (
        f"no diagnosis: {number_of(values, what)}, too few to prove anything: expected {MIN_TRIED}"
    )


def too_full(fpp: float) -> str:
    """Why a filter that finds so many values has no diagnosis; empty if they are not too many."""
    if fpp <= MAX_CHANCE:
        return ""
    return (
        f"no diagnosis: {percent(fpp)} of absent values pass the filter, so a match could be luck"
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """Of `tried` distinct values, `hits` are found; `chance` is the mean probability, 0 to 1, that a
    value that was never inserted is found in their places."""

    hits: int
    tried: int
    chance: float

    @property
    def share(self) -> float:
        return self.hits / self.tried if self.tried else 0.0

    @property
    def log_luck(self) -> float:
        """The logarithm of an upper bound of the probability of so many hits by luck."""
        share, chance = self.share, self.chance
        if share <= chance:
            return 0.0
        divergence = share * log(share / chance)
        if share < 1:
            divergence += (1 - share) * log((1 - share) / (1 - chance))
        return -self.tried * divergence

    @property
    def is_luck(self) -> bool:
        """Whether no more are found than of values that were never inserted."""
        expected = self.tried * self.chance
        return self.hits <= expected + DEVIATIONS * sqrt(expected * (1 - self.chance))

    @property
    def is_convincing(self) -> bool:
        """Whether (nearly) all values are found, and luck cannot be the reason."""
        return self.is_beyond_luck and self.chance <= MAX_CHANCE

    @property
    def is_beyond_luck(self) -> bool:
        """The same where a value may be found for another reason than that the filter finds many."""
        return self.tried >= MIN_TRIED and self.share >= MIN_SHARE and self.log_luck <= MAX_LOG_LUCK


def nothing_else_is_there(foreign_bits: int, bits_of_one: int) -> bool:
    """Whether values can have been left out, and none hashed otherwise: hardly a bit of the filter comes from no
    stored value. A writer may insert one more, such as a zero for each null."""
    return foreign_bits <= bits_of_one


NOTHING_TRIED = Trial(hits=0, tried=0, chance=1.0)


def is_cut(num_found: int, distinct_found: int, fpp: float, lacking: Trial) -> bool:
    """Whether luck cannot find all of the `num_found` values before the first that is missing, or after the last, and
    finds those that only the other rows have, `lacking`. `fpp`: the filter's."""
    if distinct_found < MIN_TRIED or not 0 < fpp <= MAX_CHANCE:
        return False
    # How likely a filter that has nothing to do with the values finds all of so many.
    by_luck = log(num_found) + distinct_found * log(fpp)
    num_missing = lacking.tried - lacking.hits
    return by_luck <= MAX_LOG_LUCK and num_missing >= MIN_MISSING and lacking.is_luck
