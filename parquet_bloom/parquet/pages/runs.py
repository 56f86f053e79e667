"""Runs of values of one type, in the layouts of pages and decoders."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import eq
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from parquet_bloom.container import number_of
from parquet_bloom.errors import PageError
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np

if TYPE_CHECKING:
    from parquet_bloom.filters.hashers import Hasher, Hashes

MILLIS_PER_DAY = 86_400_000
NANOS_PER_DAY = 86_400_000_000_000
DAYS_PER_MONTH = 30

P = ParamSpec("P")
T = TypeVar("T")

# | nanoseconds of the day (8) | Julian day (4) |
INT96 = [("nanos", "<i8"), ("day", "<i4")]

# The length before each value of a PLAIN BYTE_ARRAY.
LENGTH_BYTES = 4

# How many values `parts` has in one, if they take more than so many bytes.
PART_VALUES = 1 << 20
PART_BYTES = 16 << 20


class Run(ABC):
    """Non-null values; `len` is their number. Methods raise PageError for damage."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def insert_into(self, filter: SplitBlockBloomFilter) -> int:
        """Insert every value; returns their number."""

    @abstractmethod
    def found_in(self, filter: SplitBlockBloomFilter) -> NDArray[np.bool_]:
        """For each value, in order: False if it was certainly never inserted."""

    @abstractmethod
    def hashes(self) -> NDArray[np.uint64]:
        """The XXH64 of every value, in order."""

    @abstractmethod
    def hashed_by(self, hasher: Hasher) -> Hashes:
        """The hash of every value by another function."""

    @abstractmethod
    def take(self, positions: Iterable[int], most: int | None = None) -> Iterator[bytes]:
        """The stored bytes of the values at these positions, 0 to len - 1; BYTE_ARRAY without the
        length. No more than the first `most` of each."""

    def equal(
        self, positions: NDArray[np.intp], other: Run, others: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Whether the value at each of `positions` has the bytes of that of `other` at the same of `others`."""
        both = self.take(positions.tolist()), other.take(others.tolist())
        return np.fromiter(map(eq, *both), np.bool_, positions.size)

    def parts(self) -> Iterator[Run]:
        """The same values, few at a time."""
        yield self

    def values(self) -> Iterator[bytes]:
        """The stored bytes of every value, in order."""
        return self.take(range(len(self)))

    def float_specials(self) -> int:
        """HAS_ZERO | HAS_NAN, if the values are floating point numbers."""
        return 0

    def kept(self, is_kept: NDArray[np.bool_], width: int | None) -> Run:
        """The values at whose places `is_kept` is true; `width`: see run_of."""
        return run_of([*self.take(is_kept.nonzero()[0].tolist())], width)

    def lengths(self) -> NDArray[np.int64]:
        """The bytes that each value takes: shape (len,)."""
        return np.fromiter(map(len, self.values()), np.int64, len(self))


class FixedRun(Run):
    """Consecutive values of `width` bytes."""

    def __init__(self, data: memoryview, width: int) -> None:
        if width <= 0 or len(data) % width:
            raise PageError(f"{len(data)} bytes of values, expected a multiple of {width}")
        self._data = data
        self._width = width

    @property
    def data(self) -> memoryview:
        """All values, one after the other."""
        return self._data

    def __len__(self) -> int:
        return len(self._data) // self._width

    def insert_into(self, filter: SplitBlockBloomFilter) -> int:
        return filter.insert_fixed(self._data, self._width)

    def found_in(self, filter: SplitBlockBloomFilter) -> NDArray[np.bool_]:
        return filter.check_fixed(self._data, self._width)

    def hashes(self) -> NDArray[np.uint64]:
        return _kernel.xxh64_fixed(self._data, self._width)

    def hashed_by(self, hasher: Hasher) -> Hashes:
        return hasher.fixed(self._data, self._width)

    def take(self, positions: Iterable[int], most: int | None = None) -> Iterator[bytes]:
        for position in positions:
            start = position * self._width
            yield bytes(self._data[start : start + self._width][:most])

    def equal(
        self, positions: NDArray[np.intp], other: Run, others: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        if not isinstance(other, FixedRun) or other._width != self._width:
            return super().equal(positions, other, others)
        ours, theirs = (np.frombuffer(run._data, f"V{self._width}") for run in (self, other))
        return np.asarray(ours[positions] == theirs[others], np.bool_)

    def parts(self) -> Iterator[Run]:
        step = PART_VALUES * self._width
        for start in range(0, len(self._data), step):
            yield FixedRun(self._data[start : start + step], self._width)

    def float_specials(self) -> int:
        return _kernel.float_specials(self._data, self._width)

    def numbers(self, kind: str) -> NDArray[Any]:
        """The values as they are, of that dtype: shape (len,)."""
        return np.frombuffer(self._data, kind)

    def widened_halves(self) -> FixedRun:
        """FLOAT16 values as FLOAT."""
        floats = np.frombuffer(self._data, "<f2").astype("<f4")
        return FixedRun(memoryview(floats.tobytes()), 4)

    def normalized_intervals(self) -> FixedRun:
        """INTERVAL values with whole days carried over from the milliseconds, and then whole months
        of 30 days from the days.

        Source: duckdb pull request 24277; bit for bit equal to DuckDB 2.0's filters.
        """
        months, days, millis = np.frombuffer(self._data, "<u4").reshape(-1, 3).T
        days = days + millis // MILLIS_PER_DAY
        months = months + days // DAYS_PER_MONTH
        parts = (months, days % DAYS_PER_MONTH, millis % MILLIS_PER_DAY)
        return FixedRun(memoryview(np.stack(parts, axis=1).astype("<u4").tobytes()), 12)

    def carried_int96(self) -> FixedRun:
        """The INT96 values whose nanoseconds lie outside their day, with whole days carried over to
        the day; without those whose day would not fit 32 bits."""
        stored = np.frombuffer(self._data, INT96)
        days = stored["day"] + stored["nanos"] // NANOS_PER_DAY
        is_other = (days != stored["day"]) & (days == days.astype(np.int32))
        carried = stored[is_other]
        carried["nanos"] %= NANOS_PER_DAY
        carried["day"] = days[is_other]
        return FixedRun(memoryview(carried.tobytes()), self._width)

    def narrowed(self, bit_width: int, signed: bool) -> FixedRun:
        """The INT32 values that do not fit 8 or 16 bits, cut to that as readers do."""
        stored = np.frombuffer(self._data, "<i4")
        narrow = stored.astype(f"{'i' if signed else 'u'}{bit_width // 8}").astype("<i4")
        return FixedRun(memoryview(narrow[narrow != stored].tobytes()), self._width)


def checked(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Call a function of the kernel, whose ValueError is a PageError."""
    try:
        return work(*args, **named)
    except ValueError as error:
        raise PageError(str(error)) from None


class PrefixedRun(Run):
    """PLAIN values of BYTE_ARRAY, each after its length: those that fill `data`, or the first `count`,
    whatever follows. If there are fewer, that is an error in `where`."""

    def __init__(
        self, data: memoryview, count: int | None = None, where: str = "BYTE_ARRAY"
    ) -> None:
        self._data = data
        self._count = count
        self._most = sys.maxsize if count is None else count
        self._where = where

    def __len__(self) -> int:
        return self._all(checked(_kernel.count_byte_array, self._data, self._most))

    def insert_into(self, filter: SplitBlockBloomFilter) -> int:
        return self._all(checked(filter.insert_byte_array, self._data, self._most))

    def found_in(self, filter: SplitBlockBloomFilter) -> NDArray[np.bool_]:
        found = checked(filter.check_byte_array, self._data, self._most)
        self._all(found.size)
        return found

    def hashes(self) -> NDArray[np.uint64]:
        hashes = checked(_kernel.hash_byte_array, self._data, self._most)
        self._all(hashes.size)
        return hashes

    def hashed_by(self, hasher: Hasher) -> Hashes:
        return hasher.slices(self._data, self._starts(), LENGTH_BYTES)

    def _starts(self) -> NDArray[np.int64]:
        """Where each value starts, without its length, and where one more would."""
        starts = np.asarray(checked(_kernel.byte_array_starts, self._data, self._most))
        self._all(starts.size - 1)
        return starts

    def _all(self, found: int) -> int:
        """The number of values, if these are all."""
        if self._count is not None and found != self._count:
            raise PageError(f"{self._where}: {number_of(found, 'value')}, expected {self._count}")
        return found

    def take(self, positions: Iterable[int], most: int | None = None) -> Iterator[bytes]:
        starts, at = self._starts(), np.asarray(positions, np.intp)
        return _cut(self._data, starts[at], starts[at + 1] - LENGTH_BYTES, most)

    def parts(self) -> Iterator[Run]:
        if len(self._data) <= PART_BYTES:
            yield self
            return
        left, at = len(self), 0
        while left:
            starts = checked(_kernel.byte_array_starts, self._data[at:], min(PART_VALUES, left))
            end = at + int(starts[-1]) - LENGTH_BYTES
            yield PrefixedRun(self._data[at:end])
            left, at = left - len(starts) + 1, end

    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self._starts()) - LENGTH_BYTES


def _cut(
    data: memoryview, starts: NDArray[np.int64], ends: NDArray[np.int64], most: int | None
) -> Iterator[bytes]:
    """The bytes from each start to its end, no more than the first `most`."""
    if most is not None:
        ends = np.minimum(ends, starts + most)
    return (bytes(data[start:end]) for start, end in zip(starts.data, ends.data, strict=True))


def run_of(values: Sequence[bytes], width: int | None) -> Run:
    """A run of these stored bytes, each of `width` bytes unless that is None."""
    data = memoryview(b"".join(values))
    if width:
        return FixedRun(data, width)
    return SlicedRun(data, np.cumsum([0, *map(len, values)], dtype=np.int64))


class SlicedRun(Run):
    """Values data[offsets[i]:offsets[i + 1]], the layout of Arrow's variable-length binary."""

    def __init__(self, data: memoryview, offsets: NDArray[np.int64]) -> None:
        self._data = data
        self._offsets = offsets

    def __len__(self) -> int:
        return self._offsets.size - 1

    def insert_into(self, filter: SplitBlockBloomFilter) -> int:
        filter.insert_hashes(self.hashes())
        return len(self)

    def found_in(self, filter: SplitBlockBloomFilter) -> NDArray[np.bool_]:
        return filter.check_slices(self._data, self._offsets)

    def hashes(self) -> NDArray[np.uint64]:
        return _kernel.xxh64_slices(self._data, self._offsets)

    def hashed_by(self, hasher: Hasher) -> Hashes:
        return hasher.slices(self._data, self._offsets, 0)

    def take(self, positions: Iterable[int], most: int | None = None) -> Iterator[bytes]:
        at = np.asarray(positions, np.intp)
        return _cut(self._data, self._offsets[at], self._offsets[at + 1], most)

    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self._offsets)
