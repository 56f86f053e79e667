"""Types and contracts of the compiled kernel.

Every buffer must be contiguous and of exactly the given type; nothing is copied, and the GIL is
released for long-running work. `words` are 8 * num_blocks uint32, `hashes` uint64. Raises ValueError
for a buffer that violates its contract and for values that run past the end of their buffer.
"""

from array import array
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]
_Words: TypeAlias = memoryview | NDArray[np.uint32]
_LongWords: TypeAlias = memoryview | NDArray[np.uint64]
_Numbers: TypeAlias = memoryview | NDArray[np.int64]
_Counts: TypeAlias = array[int]

ABSENT: int
"""The value in chunks() of a field that the footer lacks."""
HAS_ZERO: int
HAS_NAN: int
CHUNK_FIELDS: tuple[str, ...]
"""The numbers that chunks() returns for each column chunk, in order."""

class ScanError(ValueError):
    problem: str
    position: int

def xxh64(data: _Bytes) -> int:
    """XXH64 with seed 0."""

def xxh64_fixed(values: _Bytes, width: int) -> NDArray[np.uint64]:
    """The hash of each run of `width` bytes."""

def xxh64_slices(data: _Bytes, offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The hash of each data[offsets[i]:offsets[i + 1]]."""

def siphash(data: _Bytes, key: _Bytes) -> int:
    """SipHash-2-4; the key has 16 bytes."""

def siphash_words(words: NDArray[np.uint64], key: _Bytes) -> NDArray[np.uint64]:
    """The same of each number, as its eight bytes, little-endian."""

class HashSearch:
    """Looks for many hashes, ascending, among others."""

    def __init__(self, hashes: NDArray[np.uint64]) -> None: ...
    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Which of these are asked for: shape (n, 2), the position here and in what is asked, ascending; as often as
        they are asked for."""

def murmur3(data: _Bytes, seed: int = 0) -> int:
    """The first 64 bits of MurmurHash3 x64_128; `seed` is 32 bits."""

def murmur3_128(data: _Bytes, seed: int = 0) -> tuple[int, int]:
    """The first and the last 64 bits of MurmurHash3 x64_128; `seed` is 32 bits."""

def murmur3_slices(
    data: _Bytes, starts: NDArray[np.int64], gap: int, seed: int
) -> NDArray[np.uint64]:
    """Both halves of the hash of each data[starts[i]:starts[i + 1] - gap]: shape (n, 2), first 64
    bits first."""

def murmur3_fixed(values: _Bytes, width: int, seed: int) -> NDArray[np.uint64]:
    """The same for each run of `width` bytes."""

HIVE_SEED: int
"""The seed of Hive and ORC for hive64."""

def hive64(data: _Bytes, seed: int = ...) -> int:
    """The single-lane Murmur3 of Hive and ORC; `seed` is 64 bits."""

def hive64_slices(data: _Bytes, starts: _Numbers, gap: int, seed: int = ...) -> NDArray[np.uint64]:
    """The same for each data[starts[i]:starts[i + 1] - gap]."""

def hive64_padded(
    data: _Bytes, starts: _Numbers, characters: int, seed: int = ...
) -> NDArray[np.uint64]:
    """The same for text padded with blanks to so many characters of UTF-8."""

def hive64_decimals(values: _Bytes, scale: int, seed: int = ...) -> NDArray[np.uint64]:
    """The same for the text of DECIMALs: `values` are 16-byte little-endian unscaled numbers with
    `scale` (0 to 38) digits after the point; no exponent, no trailing zeros."""

def wang(values: _Numbers) -> NDArray[np.uint64]:
    """Thomas Wang's hash of integers with arithmetic shifts, as in Hive and ORC Java."""

def wang_logical(values: _Numbers) -> NDArray[np.uint64]:
    """The same with logical shifts, as in ORC C++ 1.6."""

def k_hash_insert(
    words: _LongWords, num_bits: int, num_hashes: int, hashes: NDArray[np.uint64]
) -> None:
    """Insert hashes, shape (n,), into 64-bit words."""

# Into filters side by side, as many as `counts`, which are the values of each and add up to all values.

def k_hash_insert_numbers(
    words: _LongWords, num_bits: int, num_hashes: int, values: _Numbers, counts: _Counts
) -> None:
    """Insert integers by wang."""

def k_hash_insert_texts(
    words: _LongWords,
    num_bits: int,
    num_hashes: int,
    data: _Bytes,
    starts: _Numbers,
    counts: _Counts,
) -> None:
    """Insert each data[starts[i]:starts[i + 1]] by hive64."""

def k_hash_insert_decimals(
    words: _LongWords, num_bits: int, num_hashes: int, values: _Bytes, scale: int, counts: _Counts
) -> None:
    """Insert DECIMALs by hive64_decimals."""

def k_hash_insert_floats(
    words: _LongWords, num_bits: int, num_hashes: int, values: _Bytes, width: int, counts: _Counts
) -> None:
    """Insert floats of 4 or 8 bytes by wang of a DOUBLE's bits; for a zero both zeros, and for any NaN
    the canonical one, too."""

def k_hash_bits_set(words: _LongWords) -> int: ...
def k_hash_check(
    words: _LongWords, num_bits: int, num_hashes: int, hashes: NDArray[np.uint64]
) -> NDArray[np.bool_]: ...
def k_hash_insert_wide(
    words: _LongWords, num_bits: int, num_hashes: int, hashes: NDArray[np.uint64]
) -> None:
    """Insert 128-bit hashes, shape (n, 2)."""

def k_hash_check_wide(
    words: _LongWords, num_bits: int, num_hashes: int, hashes: NDArray[np.uint64]
) -> NDArray[np.bool_]: ...
def clear_words(num_blocks: int) -> memoryview:
    """The words of a filter without bits, uint32, at a multiple of 64 bytes in memory: a block is in
    one line of the cache."""

def insert_value(words: _Words, value: _Bytes) -> None:
    """Insert the hash of one value's stored bytes."""

def check_value(words: _Words, value: _Bytes) -> bool: ...
def insert(words: _Words, hashes: NDArray[np.uint64] | array[int]) -> None: ...
def check(words: _Words, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]: ...
def fold(words: _Words, factor: int, folded: _Words) -> None:
    """OR every `factor` adjacent blocks of `words` into one of `folded`; `factor` must divide the
    number of blocks."""

def unite(words: _Words, others: _Words) -> None:
    """Set in `words` also the bits of `others`, as many."""

def popcount(words: _Words) -> int: ...
def outside(words: _Words, others: _Words) -> int:
    """The number of bits set in `words` and not in `others`, as many."""

def fpp(words: _Words) -> float:
    """The share of random hashes that the filter finds, computed from its bits."""

CODE_PATHS: tuple[str, ...]
"""`any` processor, `AVX2`, `AVX-512`: each has what those before it have. On aarch64 `any` has NEON."""

def code_path() -> str:
    """The one that is used: the last one that this processor has, until another is chosen."""

def reserve(file: int, start: int, length: int) -> bool:
    """Reserve room for `length` bytes from `start` in the file with that descriptor, whose size stays;
    False if the system cannot. Source: man 2 fallocate."""

def keep_freed_memory(size: int) -> None:
    """Have the allocator keep blocks of up to `size` bytes that are freed, where it is glibc's."""

def choose_code_path(name: str) -> None:
    """Use this one in the whole process (tests, benchmarks). Raises ValueError if the processor lacks
    it."""

def halved_fpp(words: _Words, most: float) -> float:
    """The FPP after a fold by 2; or any that is more than `most`, once it must be more."""

def insert_fixed(words: _Words, values: _Bytes, width: int) -> int:
    """Insert PLAIN values of `width` bytes; returns their number."""

def insert_byte_array(words: _Words, data: _Bytes, most: int = ...) -> int:
    """Insert the length-prefixed values that fill `data`, or the first `most` of them, whatever follows;
    returns their number."""

def check_fixed(words: _Words, values: _Bytes, width: int) -> NDArray[np.bool_]:
    """For each PLAIN value of `width` bytes: False if it was certainly never inserted."""

def check_slices(words: _Words, data: _Bytes, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The same for the values data[offsets[i]:offsets[i + 1]]."""

def check_byte_array(words: _Words, data: _Bytes, most: int = ...) -> NDArray[np.bool_]:
    """The same for length-prefixed values, as many as insert_byte_array takes."""

def count_byte_array(data: _Bytes, most: int = ...) -> int:
    """The number of these values."""

def hash_byte_array(data: _Bytes, most: int = ...) -> NDArray[np.uint64]:
    """Their hashes."""

def byte_array_starts(data: _Bytes, most: int = ...) -> memoryview:
    """The starts of these n values, after their lengths, and of the value that would come next: shape
    (n + 1,). A value ends 4 bytes before the next one starts."""

def texts_at(data: _Bytes, starts: memoryview, numbers: list[int]) -> list[str]:
    """Those of these values, by what byte_array_starts returned, as UTF-8 with surrogates for what is none."""

def float_specials(values: _Bytes, width: int) -> int:
    """HAS_ZERO | HAS_NAN over IEEE floats of 2, 4 or 8 bytes."""

def count_levels(data: _Bytes, bit_width: int, count: int, level: int) -> int:
    """The number of levels, out of `count` in the RLE / bit-packing hybrid, that equal `level`."""

def count_bit_packed_levels(data: _Bytes, bit_width: int, count: int, level: int) -> int:
    """The same in the deprecated BIT_PACKED encoding."""

def mark_indices(
    data: _Bytes, bit_width: int, count: int, used: bytearray | memoryview | NDArray[np.uint8]
) -> None:
    """Set used[i] to 1 for each of `count` dictionary indices i in the RLE / bit-packing hybrid of
    0 to 32 bits, in `data` without the bit width. Raises ValueError also for an index outside of
    `used`, which is then only partly marked."""

def decode_hybrid(data: _Bytes, bit_width: int, count: int) -> NDArray[np.uint32]:
    """The first `count` numbers in the RLE / bit-packing hybrid of 0 to 32 bits: shape (count,). Raises ValueError if
    there are fewer, or others are impossible."""

class DeltaDecoder:
    """DELTA_BINARY_PACKED integers, modulo 2^64, in arrays of at most about 200,000."""

    def __init__(self, data: _Bytes) -> None: ...
    @property
    def count(self) -> int:
        """The number of values in the header."""

    def __iter__(self) -> Iterator[NDArray[np.uint64]]: ...
    def __next__(self) -> NDArray[np.uint64]: ...

class AlpDecoder:
    """ALP: the bytes of values of `width` 4 or 8, in arrays of at most 1 MiB."""

    def __init__(self, data: _Bytes, width: int) -> None: ...
    @property
    def count(self) -> int:
        """The number of values in the header."""

    def __iter__(self) -> Iterator[NDArray[np.uint8]]: ...
    def __next__(self) -> NDArray[np.uint8]: ...

def delta_end(data: _Bytes) -> int:
    """The end of the DELTA_BINARY_PACKED integers that `data` begins with."""

def delta_join(
    suffixes: _Bytes,
    prefix_lengths: NDArray[np.int64],
    suffix_lengths: NDArray[np.int64],
    room: int,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The values of DELTA_BYTE_ARRAY one after the other, in `room` bytes; and their starts, and the
    end of the last one."""

def join_streams(streams: _Bytes, width: int) -> bytearray:
    """The values of BYTE_STREAM_SPLIT, of `width` bytes each."""

class OrcIntegers:
    """ORC's run-length encoding of integers, `version` 1 or 2, over the parts of a stream."""

    def __init__(self, version: int, is_signed: bool) -> None: ...
    def decode(self, data: _Bytes, start: int, values: _Numbers) -> tuple[int, int]:
        """Fill `values` from byte `start` of a part. Returns how many there were, fewer than asked for
        only at the end of the part, and the byte from which on to prepend the rest to the next
        part. Raises ValueError for a damaged run, as do the functions below for theirs."""

class OrcBytes:
    """The same for bytes."""

    def __init__(self) -> None: ...
    def decode(self, data: _Bytes, start: int, values: _Bytes) -> tuple[int, int]: ...

def orc_decimals(data: _Bytes, start: int, words: _LongWords) -> tuple[int, int]:
    """The same for zigzag numbers in base 128, each of which becomes two words, the low one first."""

def orc_rescale(words: _LongWords, scales: _Numbers, scale: int) -> None:
    """Make these numbers of two words each, with a scale each, those of one scale, in place."""

def orc_narrow(values: _Numbers, bits: int) -> None:
    """Make numbers those of their lowest bits, in place."""

def orc_bits(packed: _Bytes, first: int, count: int) -> tuple[memoryview, int]:
    """`count` bits from bit `first` on, the highest of each byte first, as booleans, and how many are
    set."""

def orc_shift(seconds: _Numbers, by: int) -> None:
    """Add to each, in place. Raises OverflowError for 2^53 and more."""

def orc_settle(seconds: _Numbers, nanos: _Numbers) -> None:
    """Seconds, and nanoseconds as they are stored, as times, see arrays.Times, in place."""

def orc_millis(seconds: _Numbers, nanos: _Numbers, low: int, high: int) -> tuple[memoryview, bool]:
    """Milliseconds, rounded down, and whether any time with a fraction of a second is in [low, high)
    of them."""

def orc_starts(lengths: _Numbers, limit: int) -> memoryview:
    """The starts of values of these lengths, and the end of the last one, at most `limit`."""

def orc_used(picks: _Numbers, num_entries: int) -> memoryview:
    """The entries of a dictionary that `picks` name, each once and in order."""

def orc_picked(
    data: _Bytes, starts: _Numbers, picks: _Numbers, limit: int
) -> tuple[memoryview, memoryview]:
    """Entries of a dictionary one after the other, at most `limit` bytes, and their starts."""

def orc_extremes(data: _Bytes, starts: _Numbers) -> tuple[int, int]:
    """The positions of the first and the last of some texts by their bytes; there must be one."""

def struct_end(data: _Bytes, start: int = 0) -> int:
    """The end of the Thrift struct at `start`. Raises ScanError, as do all functions below."""

def crc32(data: _Bytes) -> int:
    """The checksum of zlib.crc32."""

PAGE_HEADER_FIELDS: tuple[str, ...]

def page_header(data: _Bytes, start: int = 0) -> tuple[list[int | None], int]:
    """The PAGE_HEADER_FIELDS of the PageHeader at `start`, None for what is not there, and its end. From
    num_values on, they are those of the struct that belongs to its type."""

class Turns:
    """In which several threads insert into one filter."""

class WholePages:
    """Inserts the values of data pages. Of the last call: the `num_bytes` of the pages, the
    `num_values` that their headers count, and how many were `inserted`; the `room` that the largest takes
    when it is decompressed, after `find`."""

    num_bytes: int
    num_pages: int
    num_values: int
    inserted: int
    room: int

    def __init__(
        self,
        column: tuple[int, int, bool, int, int],
        largest: int,
        compresses_always: bool,
        codec: tuple[Callable[[memoryview, Any], int] | None, type[Exception], int],
    ) -> None:
        """`column`: the physical type; the bytes of a value, 0 for BYTE_ARRAY; whether it is a float; the
        highest repetition and definition levels. `largest`: the most bytes of a page. `codec`: what
        decompresses into memory, None if nothing is compressed; its error; the most bytes that it makes
        of one. Raises ValueError for impossible widths and levels."""

    @property
    def specials(self) -> int:
        """HAS_ZERO | HAS_NAN of all calls, if the values are floats."""

    def find(self, data: memoryview, wanted: int, most: int) -> int:
        """Walk the headers of whole pages, the first of which begins `data`, until they count `wanted`
        values; stops before one that is unusual or takes more room than `most`. How many bytes the next
        page takes at least if it does not end within `data`, else 0."""

    def insert(
        self, words: _Words, data: memoryview, room: memoryview, wanted: int, turns: Turns
    ) -> None:
        """Insert them, each decompressed into `room`; stops also before one that is damaged. Threads that
        insert into the same words share `turns`."""

def fields(data: _Bytes, start: int = 0) -> list[tuple[int, int, int, int, int]]:
    """The fields of the struct at `start`: (id, type, start of the header, start of the value,
    end)."""

def elements(data: _Bytes, start: int) -> array[int]:
    """The n + 1 boundaries of the elements of the list at `start`."""

def row_groups(data: _Bytes, starts: array[int]) -> tuple[array[int], array[int], array[int]]:
    """Of the RowGroup at each of `starts`: where its list of columns begins, its num_rows, 0 if that is
    missing, and its ordinal; ABSENT for what is missing of the others. A field of another type is as
    good as missing."""

def chunks(data: _Bytes, starts: array[int], expected: int) -> array[int]:
    """CHUNK_FIELDS of each of the `expected` ColumnChunks in the list at each of `starts`."""

class Ranges:
    """The byte ranges that CHUNK_FIELDS of all chunks name, for a footer at `end`, in order of their
    starts. `kinds`: of "pages", "indexes" and "filters"; impossible pages reach past the end."""

    def __init__(self, chunks: array[int], end: int, *kinds: str) -> None: ...
    @property
    def last(self) -> int:
        """The greatest end; 0 if there are no ranges."""

    def overlap(self, start: int, end: int) -> bool:
        """Whether any range overlaps [start, end)."""

    def overlap_another(self, start: int, end: int) -> bool:
        """Whether any range but [start, end) itself, which is one of them, overlaps it."""

    def sharing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The ranges that overlap [start, end)."""

    def num_at(self, start: int) -> int:
        """The number of ranges that begin at `start`."""

def ordinary_filters(
    data: _Bytes, base: int, offsets: array[int], lengths: array[int], everything: Ranges
) -> list[tuple[int, int, int, float] | None]:
    """For the bytes at each of `offsets`, counted from `base` where `data` begins: the size of the
    header, numBytes, the number of bits set and the FPP of the filter that is there if it is as most
    writers write it, exactly `lengths` long, and overlaps nothing else in `everything`; else None.
    Raises ValueError for bytes outside of `data`."""

def key_pages(keys: NDArray[np.uint64], per_page: int) -> tuple[bytes, array[int]]:
    """Pages of Parquet with `per_page` (up to 65,536) of these ascending keys of 63 bits each, one after the
    other in DELTA_BINARY_PACKED, and the size of each in bytes."""

def folded_pages(
    keys: NDArray[np.uint64], per_page: int, place_bits: int
) -> tuple[bytearray, array[int], bytearray, array[int], array[int], array[int], array[int]]:
    """The same with the first key of each | hash | of a page alone, and pages with the lists of their other places
    beside them: both with their sizes; the rows of each page, the levels in its lists, and its last key."""

def narrow_keys(
    wide: list[NDArray[np.uint64]], from_bits: int, drop: int, place_bits: int
) -> NDArray[np.uint64]:
    """All | hash | place | of several arrays, in any order, without the lowest `drop` bits of their hashes and with
    `place_bits` for places, which have `from_bits`: ascending, and each once."""

def parted_keys(
    runs: list[tuple[NDArray[np.uint64], int]],
    place_bits: int,
    bits: int,
    room: Callable[[int], NDArray[np.uint64]],
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The keys | hash | place | of all runs, which are hashes in one place each, whose lowest `place_bits` are left
    out: in 2^bits parts, by their highest bits (up to 16), in no order within these; and where each part begins, up
    to where the last one ends. `room`: gives the array for so many keys."""

def keys_in_page(page: _Bytes, lists: _Bytes | None, place_bits: int) -> NDArray[np.uint64]:
    """All keys of a page, with the page of its lists if it is folded. Raises ValueError for damage, as the following
    do."""

def find_in_page(page: _Bytes, lists: _Bytes | None, key: int, place_bits: int) -> list[int]:
    """The places of the keys in a page that are `key` without its `place_bits`, which are 0."""

class KeySearch:
    """Looks for many keys, `asked` without their places and ascending, in one page after the other."""

    def __init__(self, asked: NDArray[np.uint64], place_bits: int) -> None: ...
    def look_in(
        self,
        data: _Bytes,
        asked: NDArray[np.int64],
        pages: NDArray[np.int64],
        lists: NDArray[np.int64] | None,
    ) -> None:
        """Look for what was asked from asked[i, 0] up to asked[i, 1], at least one key, in the page of `data` whose
        start, size and CRC-32 are pages[i], and if there are lists, lists[i]. Raises ValueError also for a page whose
        CRC-32 is another."""

    @property
    def found(self) -> NDArray[np.int64]:
        """What was found so far: shape (n, 2), the position in `asked` and the place."""

def hash_rows(hash: int) -> list[int]:
    """The rows of a page of slices, 32 * word + bit, in which a hash has its bits."""

class FilterPages:
    """Bitsets of `num_blocks` blocks each, which are kept, and the pages of their slices: 256 rows of a bit for each
    filter, the first in the highest bit."""

    num_slots: int
    num_blocks: int

    def __init__(self, filters: list[bytes], num_blocks: int) -> None: ...
    def write(self, first: int, end: int, pages: bytearray | memoryview) -> None:
        """Write the pages of blocks first .. end, one after the other, to all of `pages`."""

def copy_slots(
    rows: _Bytes,
    num_slots: int,
    slot: int,
    to: bytearray | memoryview,
    to_slots: int,
    to_slot: int,
    count: int,
) -> None:
    """Copy the bits of `count` filters from `slot` on in each row of `num_slots` to those from `to_slot` on in each
    row, of as many, of `to_slots`."""

def checksums(data: _Bytes, each: int) -> array[int]:
    """The CRC-32 of every `each` bytes."""

class SliceSearch:
    """Looks for many hashes in one page of slices after the other. `rows_at_once`: that have one CRC-32, 1 or 256."""

    def __init__(self, num_slots: int, rows_at_once: int) -> None: ...
    def look_in(
        self,
        data: _Bytes,
        start: int,
        sums: int,
        hashes: NDArray[np.uint64],
        first: int,
        end: int,
    ) -> None:
        """Look for hashes[first:end] in the page at `start`, whose checksums are at `sums`. Raises ValueError also if
        one of them is wrong."""

    @property
    def found(self) -> NDArray[np.int64]:
        """What was found so far: shape (n, 2), the position in the hashes and the number of the filter."""

def slots_in_rows(data: _Bytes, num_slots: int) -> list[int]:
    """The numbers of the filters that have a bit in each of these eight rows."""
