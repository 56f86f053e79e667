"""The hash functions of legacy and ORC filters: all but XXH64. Source: see parquet_bloom.legacy."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np

# numpy takes longer to import than most files take to repair.
Hashes: TypeAlias = "NDArray[np.uint64]"


def distinct(hashes: Hashes) -> Hashes:
    """The distinct `hashes`, shape (n,), sorted. Faster than np.unique, which builds a hash table."""
    ordered = np.sort(hashes)
    is_first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


class Hasher(Protocol):
    """Hashes many values at once: shape (n,), dtype uint64; hashes of 128 bits, shape (n, 2)."""

    def fixed(self, values: memoryview, width: int) -> Hashes:
        """The hashes of consecutive values of `width` bytes."""

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        """The hashes of the values data[starts[i]:starts[i + 1] - gap]."""


@dataclass(frozen=True, slots=True)
class WideMurmur3:
    """MurmurHash3 x64_128: shape (n, 2); `seed` is 32 bits."""

    seed: int

    def fixed(self, values: memoryview, width: int) -> Hashes:
        return _kernel.murmur3_fixed(values, width, self.seed)

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        return _kernel.murmur3_slices(data, starts, gap, self.seed)


class HalfMurmur3(WideMurmur3):
    """The first 64 bits of MurmurHash3 x64_128."""

    def fixed(self, values: memoryview, width: int) -> Hashes:
        return _first_halves(super().fixed(values, width))

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        return _first_halves(super().slices(data, starts, gap))


def _first_halves(hashes: Hashes) -> Hashes:
    return np.ascontiguousarray(hashes[:, 0])


@dataclass(frozen=True, slots=True)
class HiveBytes:
    """Hive's single-lane Murmur3."""

    seed: int = _kernel.HIVE_SEED

    def fixed(self, values: memoryview, width: int) -> Hashes:
        starts = np.arange(0, len(values) + 1, width, dtype=np.int64)
        return _kernel.hive64_slices(values, starts, 0, self.seed)

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        return _kernel.hive64_slices(data, starts, gap, self.seed)


class HiveNumbers:
    """Thomas Wang's hash of the stored number, sign-extended to 64 bits."""

    def fixed(self, values: memoryview, width: int) -> Hashes:
        """`width`: 4 or 8."""
        return _kernel.wang(np.frombuffer(values, f"<i{width}").astype(np.int64))

    def slices(self, data: memoryview, starts: NDArray[np.int64], gap: int) -> Hashes:
        raise TypeError("variable-length values are not numbers")
