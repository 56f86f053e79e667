"""Values that look-ups are expected to ask for: drawn from the stored ones, or given by the user.

A stored value is drawn by its hash: the values with the smallest hashes are the same in every row
group, so one pass tells which row groups hold them, and every distinct value has the same chance.

Chunks are read by several threads, each into a part of its own (`begin`, `add`); `finish` merges a
part into the whole and is called by one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.statistics import Key, KeyOf
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.runs import Run
from parquet_bloom.values import Encodings

# Distinct stored values that are drawn from each column.
LIMIT = 4096

# Above every hash that is considered; the greatest one of all is not.
ALL_HASHES = (1 << 64) - 1


@dataclass(slots=True)
class LookUp:
    """A value that is looked up: its place in the order (None: it has none), how many row groups
    hold it, and the FPPs of their filters together."""

    key: Key | None
    held: int = 0
    held_fpp: float = 0.0

    def add(self, fpp: float) -> None:
        """Another row group holds it, whose filter has this FPP."""
        self.held += 1
        self.held_fpp += fpp


class SampledChunk(Protocol):
    """What one chunk says of the sampled values."""

    def add(self, run: Run, hashes: NDArray[np.uint64]) -> None:
        """The next values of the chunk, and their hashes in the same order."""

    def finish(self, fpp: float) -> None:
        """Merge the chunk, whose filter has this FPP, into the whole."""


class Sample(Protocol):
    """The sampled values of a column."""

    def begin(self) -> SampledChunk: ...

    def look_ups(self) -> list[LookUp]:
        """The values, once every chunk is finished."""


class StoredSample:
    """The values of a column with the smallest hashes, and which row groups hold them."""

    def __init__(self, key_of: KeyOf | None, limit: int = LIMIT) -> None:
        self._values: dict[int, LookUp] = {}
        self._key_of = key_of
        self._limit = limit
        # Values with greater hashes will not be among the smallest any more.
        self._threshold = ALL_HASHES

    def begin(self) -> SampledChunk:
        return _StoredChunk(self, self._threshold, self._key_of, self._limit)

    def merge(self, keys: dict[int, Key | None], fpp: float) -> None:
        """Add the values of a chunk by their hashes: at least its smallest, up to the limit."""
        for hash, key in keys.items():
            self._values.setdefault(hash, LookUp(key)).add(fpp)
        if len(self._values) > 2 * self._limit:
            self._shrink()

    def _shrink(self) -> None:
        """Leave the smallest. A chunk that told no more than those tells of all of these."""
        kept = sorted(self._values)[: self._limit]
        self._values = {hash: self._values[hash] for hash in kept}
        if len(kept) == self._limit:
            self._threshold = kept[-1] + 1

    def look_ups(self) -> list[LookUp]:
        """Each value once. Where there is an order, what has no place in it is not looked up."""
        self._shrink()
        values = self._values.values()
        return [value for value in values if self._key_of is None or value.key is not None]


class _StoredChunk:
    def __init__(
        self, whole: StoredSample, threshold: int, key_of: KeyOf | None, limit: int
    ) -> None:
        self._whole = whole
        self._threshold = threshold
        self._key_of = key_of
        self._limit = limit
        self._keys: dict[int, Key | None] = {}

    def add(self, run: Run, hashes: NDArray[np.uint64]) -> None:
        below = np.flatnonzero(hashes < np.uint64(self._threshold))
        found, first = np.unique(hashes[below], return_index=True)
        # A run can have millions, of which no more than the limit can be among the smallest.
        smallest, positions = found[: self._limit], below[first[: self._limit]]
        new = {
            position: hash
            for hash, position in zip(smallest.tolist(), positions.tolist(), strict=True)
            if hash not in self._keys
        }
        if self._key_of is None:
            self._keys |= dict.fromkeys(new.values())
        elif new:
            for position, stored in zip(new, run.take(new), strict=True):
                self._keys[new[position]] = self._key_of(stored)
        if len(self._keys) > 2 * self._limit:
            kept = sorted(self._keys)[: self._limit]
            self._keys = {hash: self._keys[hash] for hash in kept}
            self._threshold = kept[-1] + 1

    def finish(self, fpp: float) -> None:
        self._whole.merge(self._keys, fpp)


class GivenSample:
    """Values that the user looks up, with repetitions, and which row groups hold them."""

    def __init__(self, encodings: Sequence[Encodings], key_of: KeyOf | None) -> None:
        self._hashes, self._of_value = _distinct_hashes(encodings)
        # A filter cannot exclude a value whose stored bytes nobody knows.
        self._is_unknown = [bool(each.unknown) for each in encodings]
        self._values = [
            LookUp(key_of(each.plain[0]) if key_of and each.plain else None) for each in encodings
        ]

    def begin(self) -> SampledChunk:
        return _GivenChunk(self, self._hashes)

    def merge(self, found: NDArray[np.bool_], fpp: float) -> None:
        """Add a chunk in which these of the hashes were found."""
        for value, at, is_unknown in zip(
            self._values, self._of_value, self._is_unknown, strict=True
        ):
            if is_unknown or found[at].any():
                value.add(fpp)

    def look_ups(self) -> list[LookUp]:
        return self._values


class _GivenChunk:
    def __init__(self, whole: GivenSample, hashes: NDArray[np.uint64]) -> None:
        self._whole = whole
        self._hashes = hashes
        self._found = np.zeros(hashes.size, np.bool_)

    def add(self, run: Run, hashes: NDArray[np.uint64]) -> None:
        if self._hashes.size:
            at = np.searchsorted(self._hashes, hashes)
            at[at == self._hashes.size] = 0
            self._found[at[self._hashes[at] == hashes]] = True

    def finish(self, fpp: float) -> None:
        self._whole.merge(self._found, fpp)


def _distinct_hashes(
    encodings: Sequence[Encodings],
) -> tuple[NDArray[np.uint64], list[NDArray[Any]]]:
    """All hashes ascending, and for each value the positions of its own among them."""
    of_value = [
        np.array([_kernel.xxh64(plain) for plain in each.plain], np.uint64) for each in encodings
    ]
    hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *of_value]))
    return hashes, [np.searchsorted(hashes, each) for each in of_value]
