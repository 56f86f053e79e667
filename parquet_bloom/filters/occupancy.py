"""The bits set per block of a filter, and the distribution to expect of uniform hashes.

A block receives k values (see sizing). With P(k, i) the probability that k values set i bits of one
of its eight words,

    P(0, 0) = 1,    P(k + 1, i) = P(k, i) * i / 32 + P(k, i - 1) * (33 - i) / 32

the number of bits set in the block is the sum over eight words that share their k: the mean over k
of the eightfold convolution of P(k, .). A writer that selects blocks or bits differently, or stops
halfway, produces another shape.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import ceil, exp, inf, isinf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.sizing import BLOCK_BITS, WORD_BITS, WORDS_PER_BLOCK, estimate_ndv
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel

# Enough to tell 1.0 % from 1.2 %; takes a millisecond.
FPP_PROBES = 1 << 16
PROBE_BYTES = 17

# Bits that can be set in a block: 0 to 256.
BINS = BLOCK_BITS + 1

# A spread this many standard errors from 1 is not chance.
STANDARD_ERRORS = 6

# Below this is rounding error: all blocks have the same number of bits.
SMALLEST_VARIANCE = 1e-9


def bits_per_block(filter: SplitBlockBloomFilter) -> NDArray[np.uint16]:
    """The bits set in each block, shape (num_blocks,), dtype uint16, 0 to 256."""
    bits = np.bitwise_count(filter.words).reshape(-1, WORDS_PER_BLOCK)
    return np.asarray(bits.sum(axis=1, dtype=np.uint16))


def histogram(bits: NDArray[np.uint16]) -> NDArray[np.int64]:
    """The number of blocks with 0, 1, ..., 256 bits set: shape (257,), dtype int64."""
    return np.bincount(bits, minlength=BINS).astype(np.int64)


def occupancy_map(bits: NDArray[np.uint16], cells: int) -> NDArray[np.float64]:
    """The mean fill, 0 to 1, of each of `cells` (>= 1) runs of adjacent blocks, in order: shape
    (min(cells, num_blocks),). Run i begins at block i * num_blocks // cells."""
    cells = min(cells, bits.size)
    starts = np.arange(cells + 1, dtype=np.int64) * bits.size // cells
    sums = np.add.reduceat(bits, starts[:-1], dtype=np.int64)
    return np.asarray(sums / (np.diff(starts) * BLOCK_BITS), np.float64)


def expected_histogram(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The histogram to expect of a sound filter of the same size and fill: shape (257,), float64."""
    num_blocks = int(counts.sum())
    load = estimate_ndv(int(counts @ np.arange(BINS)), num_blocks) / num_blocks
    if isinf(load):
        return np.asarray(np.eye(1, BINS, BLOCK_BITS)[0] * num_blocks)
    return _bits_in_block(load) * num_blocks


def _bits_in_block(load: float) -> NDArray[np.float64]:
    """The probability of 0 to 256 bits set at `load` values per block."""
    log_load = log(load) if load > 0 else -inf
    # In logarithms, because e^-load can underflow.
    log_poisson = -load
    poisson = []
    for k in range(ceil(load + 12 * sqrt(load) + 40)):
        poisson.append(exp(log_poisson))
        log_poisson += log_load - log(k + 1)
    # Convolutions are products of transforms, so that their mean needs only one inverse transform.
    # The threads of matrix products take longer to start than so small a one.
    transforms = _transforms(1 << (len(poisson) - 1).bit_length())[: len(poisson)]
    total = np.einsum("k,kf->f", poisson, transforms)
    return np.maximum(np.fft.irfft(total, BINS), 0)


@cache
def _transforms(count: int) -> NDArray[np.complex128]:
    """Those of the bits set in a block by 0 to `count` - 1 values, whatever the load: shape (count, 129)."""
    bit = np.arange(WORD_BITS + 1)
    words = np.zeros((count, WORD_BITS + 1))
    words[0, 0] = 1
    for before, word in pairwise(words):
        word[:] = (before * bit + np.append(0, before[:-1]) * (WORD_BITS + 1 - bit)) / WORD_BITS
    return np.asarray(np.fft.rfft(words, BINS) ** WORDS_PER_BLOCK)


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of the bits per block relative to the expected variance, and its standard error
    in a sound filter."""

    ratio: float
    error: float

    @property
    def is_even(self) -> bool:
        """Whether chance explains the deviation from 1."""
        return abs(self.ratio - 1) <= STANDARD_ERRORS * self.error


def spread(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> Spread | None:
    """Compare a histogram with the expected one; None for a single block, and if no variance is
    expected, as in an empty or full filter."""
    num_blocks = int(counts.sum())
    usual = _moment(expected, 2)
    if num_blocks == 1 or usual < SMALLEST_VARIANCE:
        return None
    error = sqrt((_moment(expected, 4) - usual**2) / num_blocks) / usual
    return Spread(ratio=_moment(counts, 2) / usual, error=error)


def _moment(counts: NDArray[np.int64] | NDArray[np.float64], order: int) -> float:
    """The central moment of the bits per block."""
    bits = np.arange(BINS)
    mean = counts @ bits / counts.sum()
    return float(counts @ (bits - mean) ** order / counts.sum())


def measured_fpp(filter: SplitBlockBloomFilter) -> float:
    """The share of FPP_PROBES seeded random values that is found. They are in no column: they are
    longer than any number, and there are 2^136 such values."""
    return float(filter.check_hashes(_probe_hashes()).mean())


@cache
def _probe_hashes() -> NDArray[np.uint64]:
    values = np.random.default_rng(0).bytes(FPP_PROBES * PROBE_BYTES)
    return _kernel.xxh64_fixed(values, PROBE_BYTES)
