"""Types and contracts of the compiled kernel.

Every buffer must be contiguous and of exactly the type that is named; nothing is copied, and the
global lock is not held while a buffer is worked on. `words` are 8 * num_blocks uint32, `hashes`
uint64. A buffer that breaks its contract, and values that run past their buffer, are a ValueError.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

ABSENT: int
"""What CHUNK_SPAN holds for a field that the footer lacks."""
HAS_ZERO: int
HAS_NAN: int
FIELD_SPAN: np.dtype[np.void]
CHUNK_SPAN: np.dtype[np.void]

class ScanError(ValueError):
    problem: str
    position: int

def xxh64(data: _Bytes) -> int:
    """XXH64 of the bytes, seed 0."""

def xxh64_fixed(values: _Bytes, width: int) -> NDArray[np.uint64]:
    """The hash of each run of `width` bytes."""

def xxh64_slices(data: _Bytes, offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The hash of each data[offsets[i]:offsets[i + 1]]."""

def insert(words: NDArray[np.uint32], hashes: NDArray[np.uint64]) -> None: ...
def check(words: NDArray[np.uint32], hashes: NDArray[np.uint64]) -> NDArray[np.bool_]: ...
def fold(words: NDArray[np.uint32], factor: int) -> NDArray[np.uint32]:
    """OR every `factor` neighbouring blocks into one; `factor` divides the number of blocks."""

def popcount(words: NDArray[np.uint32]) -> int: ...
def fpp(words: NDArray[np.uint32]) -> float:
    """The share of random hashes that the filter finds, computed from its bits."""

def uses_avx2() -> bool: ...
def use_avx2(wanted: bool) -> None:
    """Choose the code path of insert and check for the whole process (tests, benchmarks)."""

def insert_fixed(words: NDArray[np.uint32], values: _Bytes, width: int) -> int:
    """Insert PLAIN values of `width` bytes; returns their number."""

def insert_byte_array(words: NDArray[np.uint32], data: _Bytes) -> int:
    """Insert the length-prefixed values that fill `data`; returns their number."""

def count_byte_array(data: _Bytes) -> int:
    """The number of length-prefixed values that fill `data`."""

def hash_byte_array(data: _Bytes) -> NDArray[np.uint64]:
    """The hashes of the length-prefixed values that fill `data`."""

def float_specials(values: _Bytes, width: int) -> int:
    """HAS_ZERO | HAS_NAN over IEEE floats of 2, 4 or 8 bytes."""

def count_levels(data: _Bytes, bit_width: int, count: int, level: int) -> int:
    """How many of `count` levels equal `level`, in the RLE / bit-packing hybrid."""

def count_bit_packed_levels(data: _Bytes, bit_width: int, count: int, level: int) -> int:
    """The same in the deprecated BIT_PACKED encoding."""

class DeltaDecoder:
    """DELTA_BINARY_PACKED integers, modulo 2^64, in arrays of at most some 200,000."""

    def __init__(self, data: _Bytes) -> None: ...
    @property
    def count(self) -> int:
        """How many values the header announces."""

    def __iter__(self) -> Iterator[NDArray[np.uint64]]: ...
    def __next__(self) -> NDArray[np.uint64]: ...

def struct_end(data: _Bytes, start: int = 0) -> int:
    """The position past the Thrift struct at `start`. Raises ScanError, as all below."""

def fields(data: _Bytes, start: int = 0) -> np.ndarray:
    """The fields of the struct at `start`, shape (n,), dtype FIELD_SPAN."""

def elements(data: _Bytes, start: int) -> NDArray[np.int64]:
    """The n + 1 boundaries of the elements of the list at `start`."""

def chunks(data: _Bytes, start: int, expected: int) -> np.ndarray:
    """The ColumnChunks of the list at `start`, shape (expected,), dtype CHUNK_SPAN."""
