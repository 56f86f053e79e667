"""The keys of a map: | hash | place |, the highest bits of a value's hash and where the value is.

While an index is built, nobody knows yet how many bits its places and hashes will need, so that all keys are
wide. When they are written, only bits remain that are worth their space:

    wide     38 bits of the hash, 26 of the place
    narrow   so much of the hash that few others have the same, and what the greatest place takes

Bits of hashes that were left out never come back, not even where maps are merged: so a small map has some more of
them than it needs itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np

HASH_BITS: Final = 64
WIDE_PLACE_BITS: Final = 26
WIDE_HASH_BITS: Final = HASH_BITS - WIDE_PLACE_BITS
MOST_PLACES: Final = 1 << WIDE_PLACE_BITS

# In how many places too many each value is found, at most: of n keys, n / 2^bits.
_TOO_MANY: Final = 0.18
# Enough for 380 million keys, to which maps may be merged.
_LEAST_HASH_BITS: Final = 31
# Keys are INT64, and never negative.
_MOST_BITS: Final = 63


@dataclass(frozen=True, slots=True)
class KeyBits:
    """How many bits of a narrow key are a hash's and a place's."""

    hash: int
    place: int

    @property
    def are_possible(self) -> bool:
        """Whether a map can have such keys."""
        return 1 <= self.hash <= WIDE_HASH_BITS and 0 <= self.place <= min(
            WIDE_PLACE_BITS, _MOST_BITS - self.hash
        )

    @property
    def end(self) -> int:
        """Behind all keys."""
        return 1 << (self.hash + self.place)

    def key(self, hash: int) -> int:
        """The key of a hash of 64 bits, without a place: the first that such a value can have."""
        return hash >> (HASH_BITS - self.hash) << self.place

    def keys(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The same of many."""
        return (hashes >> np.uint64(HASH_BITS - self.hash)) << np.uint64(self.place)

    def narrow(self, wide: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """Wide keys, in any order, as these: ascending, and each once."""
        drop = WIDE_HASH_BITS - self.hash
        return _kernel.narrow_keys([*wide], WIDE_PLACE_BITS, drop, self.place)

    def widen(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The hashes of narrow keys where wide keys have them, and their places."""
        hashes = (keys >> np.uint64(self.place)) << np.uint64(HASH_BITS - self.hash)
        return hashes, keys & np.uint64((1 << self.place) - 1)


WIDE: Final = KeyBits(WIDE_HASH_BITS, WIDE_PLACE_BITS)


def bits_for(num_keys: int, num_places: int, at_most: int = WIDE_HASH_BITS) -> KeyBits:
    """What keys need: `at_most` so many bits of hashes are known."""
    place = max(0, num_places - 1).bit_length()
    wanted = max(_LEAST_HASH_BITS, int(num_keys / _TOO_MANY).bit_length())
    return KeyBits(min(wanted, at_most, WIDE_HASH_BITS, _MOST_BITS - place), place)
