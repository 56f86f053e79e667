# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Python bindings of the kernel: check shapes, release the GIL, call (see kernel.h).

Importing numpy takes longer than building most files, so only functions that return arrays do it.
"""

from array import array

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "kernel.h" nogil:
    ctypedef enum code_path_t "enum code_path":
        NUM_CODE_PATHS
    code_path_t c_code_path "code_path"()
    int c_choose_code_path "choose_code_path"(code_path_t wanted)
    uint64_t c_xxh64 "xxh64"(const uint8_t *data, size_t size)
    void c_xxh64_fixed "xxh64_fixed"(
        const uint8_t *values, size_t count, size_t width, uint64_t *hashes)
    void c_xxh64_slices "xxh64_slices"(
        const uint8_t *data, const int64_t *offsets, size_t count, uint64_t *hashes)
    struct murmur3_hash:
        uint64_t low, high
    murmur3_hash c_murmur3 "murmur3"(const uint8_t *data, size_t size, uint32_t seed)
    void c_murmur3_slices "murmur3_slices"(
        const uint8_t *data, const int64_t *starts, size_t count, int64_t gap, uint32_t seed,
        murmur3_hash *hashes)
    void c_murmur3_fixed "murmur3_fixed"(
        const uint8_t *values, size_t count, size_t width, uint32_t seed, murmur3_hash *hashes)
    uint64_t c_hive64 "hive64"(const uint8_t *data, size_t size, uint64_t seed)
    void c_hive64_slices "hive64_slices"(
        const uint8_t *data, size_t size, const int64_t *starts, size_t count, int64_t gap,
        uint64_t seed, uint64_t *hashes)
    void c_hive64_padded "hive64_padded"(
        const uint8_t *data, const int64_t *starts, size_t count, int64_t characters,
        uint64_t seed, uint64_t *hashes)
    void c_hive64_decimals "hive64_decimals"(
        const uint8_t *values, size_t count, int scale, uint64_t seed, uint64_t *hashes)
    void c_k_hash_insert "k_hash_insert"(
        uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint64_t *hashes,
        size_t count)
    void c_k_hash_insert_numbers "k_hash_insert_numbers"(
        uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const int64_t *values,
        size_t count)
    void c_k_hash_insert_texts "k_hash_insert_texts"(
        uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint8_t *data, size_t size,
        const int64_t *starts, size_t count, uint64_t seed)
    void c_k_hash_insert_decimals "k_hash_insert_decimals"(
        uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint8_t *values,
        size_t count, int scale, uint64_t seed)
    void c_k_hash_insert_floats "k_hash_insert_floats"(
        uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint8_t *values,
        size_t count, size_t width)
    uint64_t c_k_hash_bits_set "k_hash_bits_set"(const uint64_t *words, size_t count)
    void c_k_hash_check "k_hash_check"(
        const uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint64_t *hashes,
        size_t count, uint8_t *found)
    void c_k_hash_insert_wide "k_hash_insert_wide"(
        uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const murmur3_hash *hashes,
        size_t count)
    void c_k_hash_check_wide "k_hash_check_wide"(
        const uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const murmur3_hash *hashes,
        size_t count, uint8_t *found)
    void c_wang "wang"(const int64_t *values, size_t count, uint64_t *hashes)
    void c_wang_logical "wang_logical"(const int64_t *values, size_t count, uint64_t *hashes)
    void split_block_insert(
        uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count)
    void split_block_check(
        const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count,
        uint8_t *found)
    void split_block_fold(
        const uint32_t *words, uint64_t num_blocks, uint64_t factor, uint32_t *folded)
    uint64_t split_block_popcount(const uint32_t *words, uint64_t num_blocks)
    double split_block_fpp(const uint32_t *words, uint64_t num_blocks)
    void plain_insert_fixed(
        const uint8_t *values, size_t count, size_t width, uint32_t *words, uint64_t num_blocks)
    int64_t plain_insert_byte_array(
        const uint8_t *data, size_t size, uint32_t *words, uint64_t num_blocks)
    int64_t plain_count_byte_array(const uint8_t *data, size_t size)
    size_t plain_hash_byte_array(
        const uint8_t *data, size_t size, size_t *at, size_t room, uint64_t *hashes)
    void plain_byte_array_starts(const uint8_t *data, size_t count, int64_t *starts)
    int plain_float_specials(const uint8_t *values, size_t count, size_t width)
    int64_t levels_count_hybrid(
        const uint8_t *data, size_t size, int bit_width, int64_t count, uint32_t level)
    int64_t levels_count_bit_packed(
        const uint8_t *data, size_t size, int bit_width, int64_t count, uint32_t level)
    int indices_mark(
        const uint8_t *data, size_t size, int bit_width, int64_t count, uint8_t *used,
        size_t num_used)
    struct delta_state:
        int64_t count, left
    int delta_start(const uint8_t *data, size_t size, delta_state *state)
    int64_t delta_next(
        const uint8_t *data, size_t size, delta_state *state, uint64_t *values, int64_t room)
    int64_t c_delta_end "delta_end"(const uint8_t *data, size_t size)
    int64_t c_delta_join "delta_join"(
        const uint8_t *suffixes, size_t size, const int64_t *prefix_lengths,
        const int64_t *suffix_lengths, size_t count, uint8_t *values, size_t room, int64_t *starts)
    void c_join_streams "join_streams"(
        const uint8_t *streams, size_t count, size_t width, uint8_t *values)
    struct orc_integer_runs:
        int version, is_signed
        int64_t at, next, count
    struct orc_byte_runs:
        int64_t at, left
    int ORC_DAMAGED
    int64_t orc_integers(
        const uint8_t *data, size_t size, orc_integer_runs *runs, uint64_t *values, int64_t room)
    int64_t orc_bytes(
        const uint8_t *data, size_t size, orc_byte_runs *runs, uint8_t *values, int64_t room)
    ctypedef struct orc_decimal:
        pass
    int64_t c_orc_decimals "orc_decimals"(
        const uint8_t *data, size_t size, int64_t *at, orc_decimal *values, int64_t room)
    int c_orc_rescale "orc_rescale"(
        orc_decimal *values, const int64_t *scales, size_t count, int64_t scale)
    void c_orc_narrow "orc_narrow"(int64_t *values, size_t count, int bits)
    int64_t c_orc_bits "orc_bits"(
        const uint8_t *packed, size_t first, size_t count, uint8_t *bits)
    int c_orc_shift "orc_shift"(int64_t *seconds, size_t count, int64_t by)
    int c_orc_settle "orc_settle"(int64_t *seconds, int64_t *nanos, size_t count)
    int c_orc_millis "orc_millis"(
        const int64_t *seconds, const int64_t *nanos, size_t count, int64_t low, int64_t high,
        int64_t *millis)
    int64_t c_orc_starts "orc_starts"(
        const int64_t *lengths, size_t count, int64_t limit, int64_t *starts)
    int64_t c_orc_picked_starts "orc_picked_starts"(
        const int64_t *starts, int64_t num_entries, const int64_t *picks, size_t count,
        int64_t limit, int64_t *picked)
    int64_t c_orc_used "orc_used"(
        const int64_t *picks, size_t count, uint8_t *is_used, int64_t num_entries, int64_t *used)
    void c_orc_pick "orc_pick"(
        const uint8_t *data, const int64_t *starts, const int64_t *picks, size_t count,
        uint8_t *picked)
    int64_t thrift_struct_end(
        const uint8_t *data, int64_t size, int64_t start, int64_t *where)
    int64_t thrift_list_size(
        const uint8_t *data, int64_t size, int64_t start, int64_t *type, int64_t *where)
    int64_t thrift_elements(
        const uint8_t *data, int64_t size, int64_t start, int64_t *boundaries, int64_t room,
        int64_t *where)
    struct field_span:
        int64_t id, type, start, value, end
    struct chunk_span:
        pass
    int64_t thrift_fields(
        const uint8_t *data, int64_t size, int64_t start, field_span *fields, int64_t room,
        int64_t *where)
    int64_t thrift_chunks(
        const uint8_t *data, int64_t size, int64_t start, chunk_span *chunks, int64_t room,
        int64_t *where)
    struct page_details:
        int64_t num_values, encoding, definition_levels_byte_length, repetition_levels_byte_length
        int64_t is_compressed
    struct page_header_t "page_header":
        int64_t type, uncompressed_page_size, compressed_page_size, crc
        page_details details
    int64_t thrift_page_header(
        const uint8_t *data, int64_t size, int64_t start, page_header_t *header, int64_t *where)
    struct plain_column:
        int64_t width, is_float, max_repetition_level, max_definition_level
    struct plain_page:
        const page_header_t *header
        const uint8_t *levels
        const uint8_t *data
        size_t levels_size, size
    int64_t plain_insert_page(
        const plain_column *column, const plain_page *page, uint32_t *words, uint64_t num_blocks,
        int *specials)
    enum: DATA_PAGE, DATA_PAGE_V2, PLAIN
    struct byte_range:
        int64_t start, end, reach
    int64_t layout_pages(
        const chunk_span *chunks, int64_t count, int64_t end, byte_range *ranges)
    int64_t layout_indexes(
        const chunk_span *chunks, int64_t count, int64_t end, byte_range *ranges)
    int64_t layout_filters(
        const chunk_span *chunks, int64_t count, int64_t end, byte_range *ranges)
    void layout_order(byte_range *ranges, int64_t count)
    int64_t layout_before(const byte_range *ranges, int64_t count, int64_t at)
    int layout_overlap_another(
        const byte_range *ranges, int64_t count, int64_t start, int64_t end)
    struct ordinary_filter:
        int64_t header_bytes, num_bytes, bits_set
        double fpp
    int c_ordinary_filters "ordinary_filters"(
        const uint8_t *data, const int64_t *starts, const int64_t *lengths, int64_t count,
        ordinary_filter *filters)
    int SCAN_TRUNCATED, SCAN_MALFORMED, SCAN_TOO_DEEP, SCAN_FULL, INDICES_OUTSIDE
    int HAS_ZERO_BIT "HAS_ZERO", HAS_NAN_BIT "HAS_NAN"


ABSENT = INT64_MIN
HAS_ZERO = HAS_ZERO_BIT
HAS_NAN = HAS_NAN_BIT

# Source: hive-storage-api, org.apache.hive.common.util.Murmur3.
cdef enum:
    _HIVE_SEED = 104729
HIVE_SEED = _HIVE_SEED

# The members of struct chunk_span in order, all int64.
CHUNK_FIELDS = (
    "start", "end", "has_file_path",
    "offset_index_offset", "offset_index_length", "column_index_offset", "column_index_length",
    "has_crypto_metadata", "meta_start", "meta_end", "type", "codec", "num_values",
    "total_uncompressed_size", "total_compressed_size",
    "data_page_offset", "index_page_offset", "dictionary_page_offset",
    "bloom_filter_offset", "bloom_filter_length", "null_count", "struct_in_statistics",
)
if 8 * len(CHUNK_FIELDS) != sizeof(chunk_span):
    raise ImportError("parquet_bloom.native._kernel: CHUNK_FIELDS and kernel.h disagree")

# The members of struct page_header in order, all int64.
PAGE_HEADER_FIELDS = (
    "type", "uncompressed_page_size", "compressed_page_size", "crc", "num_values", "encoding",
    "definition_level_encoding", "repetition_level_encoding",
    "definition_levels_byte_length", "repetition_levels_byte_length", "is_compressed",
)
cdef enum:
    _PAGE_HEADER_FIELDS = 11
if len(PAGE_HEADER_FIELDS) != _PAGE_HEADER_FIELDS or 8 * _PAGE_HEADER_FIELDS != sizeof(page_header_t):
    raise ImportError("parquet_bloom.native._kernel: PAGE_HEADER_FIELDS and kernel.h disagree")

# Far more fields than any struct of the format has, unknown ones included.
cdef enum:
    _MAX_FIELDS = 1024


class ScanError(ValueError):
    """Bytes that are not Thrift compact protocol: what is wrong, and the `position` of the error."""

    def __init__(self, problem, position):
        super().__init__(f"{problem} at byte {position}")
        self.problem = problem
        self.position = position


cdef int64_t _scanned(int64_t answer, int64_t where) except? -1:
    if answer == SCAN_TRUNCATED:
        raise ScanError("ends inside a value", where)
    if answer == SCAN_MALFORMED:
        raise ScanError("no valid type, id or number", where)
    if answer == SCAN_TOO_DEEP:
        raise ScanError("structs nested too deep", where)
    if answer == SCAN_FULL:
        raise ScanError("more fields than any struct has", where)
    return answer


cdef inline const uint8_t *_bytes(const uint8_t[::1] data) noexcept nogil:
    return &data[0] if data.shape[0] else NULL


cdef uint64_t _num_blocks(const uint32_t[::1] words) except 0:
    if words.shape[0] == 0 or words.shape[0] % 8:
        raise ValueError(f"words: {words.shape[0]}, expected a positive multiple of 8")
    return words.shape[0] // 8


def xxh64(const uint8_t[::1] data not None):
    return c_xxh64(_bytes(data), data.shape[0])


cdef size_t _num_fixed(const uint8_t[::1] values, size_t width) except? 0:
    if width == 0 or values.shape[0] % width:
        raise ValueError(f"values: {values.shape[0]} bytes, expected a multiple of {width}")
    return values.shape[0] // width


def xxh64_fixed(const uint8_t[::1] values not None, size_t width):
    import numpy as np

    cdef size_t count = _num_fixed(values, width)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_xxh64_fixed(&values[0], count, width, &out[0])
    return hashes


cdef size_t _num_slices(
        const uint8_t[::1] data, const int64_t[::1] starts, int64_t gap) except? 0:
    """The number of slices; raises ValueError if one is outside of `data`."""
    cdef int64_t size = data.shape[0]
    cdef Py_ssize_t i
    if starts.shape[0] == 0 or gap < 0:
        raise ValueError("offsets: none, expected one more than values")
    cdef int64_t end = starts[starts.shape[0] - 1]
    # No difference of numbers from 0 up overflows.
    if starts[0] < 0 or (end >= 0 and end - gap > size):
        raise ValueError(f"offsets: outside the {size} bytes of data")
    for i in range(starts.shape[0] - 1):
        if starts[i + 1] < 0 or starts[i] > starts[i + 1] - gap:
            raise ValueError("offsets: not ascending")
    return starts.shape[0] - 1


def xxh64_slices(const uint8_t[::1] data not None, const int64_t[::1] offsets not None):
    import numpy as np

    cdef size_t count = _num_slices(data, offsets, 0)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_xxh64_slices(_bytes(data), &offsets[0], count, &out[0])
    return hashes


def murmur3(const uint8_t[::1] data not None, uint32_t seed=0):
    return c_murmur3(_bytes(data), data.shape[0], seed).low


def murmur3_128(const uint8_t[::1] data not None, uint32_t seed=0):
    cdef murmur3_hash hash = c_murmur3(_bytes(data), data.shape[0], seed)
    return hash.low, hash.high


def murmur3_slices(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t gap,
        uint32_t seed):
    import numpy as np

    cdef size_t count = _num_slices(data, starts, gap)
    hashes = np.empty((count, 2), np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    if count:
        with nogil:
            c_murmur3_slices(
                _bytes(data), &starts[0], count, gap, seed, <murmur3_hash *>&out[0, 0])
    return hashes


def murmur3_fixed(const uint8_t[::1] values not None, size_t width, uint32_t seed):
    import numpy as np

    cdef size_t count = _num_fixed(values, width)
    hashes = np.empty((count, 2), np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    if count:
        with nogil:
            c_murmur3_fixed(&values[0], count, width, seed, <murmur3_hash *>&out[0, 0])
    return hashes


def hive64(const uint8_t[::1] data not None, uint64_t seed=HIVE_SEED):
    return c_hive64(_bytes(data), data.shape[0], seed)


def hive64_slices(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t gap,
        uint64_t seed=HIVE_SEED):
    import numpy as np

    cdef size_t count = _num_slices(data, starts, gap)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_hive64_slices(
                _bytes(data), data.shape[0], &starts[0], count, gap, seed, &out[0])
    return hashes


def hive64_padded(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t characters,
        uint64_t seed=HIVE_SEED):
    import numpy as np

    cdef size_t count = _num_slices(data, starts, 0)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_hive64_padded(_bytes(data), &starts[0], count, characters, seed, &out[0])
    return hashes


cdef size_t _num_decimals(const uint8_t[::1] values, int scale) except? 0:
    if not 0 <= scale <= 38:
        raise ValueError(f"scale: {scale}, expected 0 to 38")
    return _num_fixed(values, 16)


def hive64_decimals(const uint8_t[::1] values not None, int scale, uint64_t seed=HIVE_SEED):
    import numpy as np

    cdef size_t count = _num_decimals(values, scale)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_hive64_decimals(&values[0], count, scale, seed, &out[0])
    return hashes


def wang(const int64_t[::1] values not None):
    import numpy as np

    hashes = np.empty(values.shape[0], np.uint64)
    cdef uint64_t[::1] out = hashes
    if values.shape[0]:
        with nogil:
            c_wang(&values[0], values.shape[0], &out[0])
    return hashes


def wang_logical(const int64_t[::1] values not None):
    import numpy as np

    hashes = np.empty(values.shape[0], np.uint64)
    cdef uint64_t[::1] out = hashes
    if values.shape[0]:
        with nogil:
            c_wang_logical(&values[0], values.shape[0], &out[0])
    return hashes


cdef int _check_k_hash(
        const uint64_t[::1] words, uint32_t num_bits, uint32_t num_hashes) except -1:
    if num_bits == 0 or num_bits > <uint64_t>words.shape[0] * 64:
        raise ValueError(f"num_bits: {num_bits}, expected 1 to {words.shape[0] * 64}")
    if num_hashes == 0:
        raise ValueError("num_hashes: 0, expected 1 or more")
    return 0


def k_hash_insert(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[::1] hashes not None):
    _check_k_hash(words, num_bits, num_hashes)
    if hashes.shape[0]:
        with nogil:
            c_k_hash_insert(&words[0], num_bits, num_hashes, &hashes[0], hashes.shape[0])


cdef Py_ssize_t _words_of_each(
        const uint64_t[::1] words, uint32_t num_bits, uint32_t num_hashes,
        const int64_t[::1] counts, size_t num_values) except -1:
    """The size of each of as many filters side by side as there are counts of values; raises
    ValueError unless these add up to all values."""
    cdef int64_t i, left = num_values, num_filters = counts.shape[0]
    if num_filters == 0 or words.shape[0] % num_filters:
        raise ValueError(f"words: {words.shape[0]}, expected as many for each of {num_filters} filters")
    cdef Py_ssize_t each = words.shape[0] // num_filters
    _check_k_hash(words[:each], num_bits, num_hashes)
    for i in range(num_filters):
        if not 0 <= counts[i] <= left:
            break
        left -= counts[i]
    else:
        if left == 0:
            return each
    raise ValueError(f"counts: expected {num_values} values in all")


def k_hash_insert_numbers(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const int64_t[::1] values not None, const int64_t[::1] counts not None):
    cdef Py_ssize_t i, at = 0, each = _words_of_each(
        words, num_bits, num_hashes, counts, values.shape[0])
    if values.shape[0]:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_numbers(
                    &words[0] + i * each, num_bits, num_hashes, &values[0] + at, counts[i])
                at += counts[i]


def k_hash_insert_texts(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint8_t[::1] data not None, const int64_t[::1] starts not None,
        const int64_t[::1] counts not None):
    cdef size_t count = _num_slices(data, starts, 0)
    cdef Py_ssize_t i, at = 0, each = _words_of_each(words, num_bits, num_hashes, counts, count)
    if count:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_texts(
                    &words[0] + i * each, num_bits, num_hashes, _bytes(data), data.shape[0],
                    &starts[0] + at, counts[i], _HIVE_SEED)
                at += counts[i]


def k_hash_insert_decimals(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint8_t[::1] values not None, int scale, const int64_t[::1] counts not None):
    cdef size_t count = _num_decimals(values, scale)
    cdef Py_ssize_t i, at = 0, each = _words_of_each(words, num_bits, num_hashes, counts, count)
    if count:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_decimals(
                    &words[0] + i * each, num_bits, num_hashes, &values[0] + 16 * at, counts[i],
                    scale, _HIVE_SEED)
                at += counts[i]


def k_hash_insert_floats(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint8_t[::1] values not None, size_t width, const int64_t[::1] counts not None):
    cdef size_t count = _num_fixed(values, width)
    if width not in (4, 8):
        raise ValueError(f"width: {width}, expected 4 or 8")
    cdef Py_ssize_t i, at = 0, each = _words_of_each(words, num_bits, num_hashes, counts, count)
    if count:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_floats(
                    &words[0] + i * each, num_bits, num_hashes, &values[0] + width * at, counts[i],
                    width)
                at += counts[i]


def k_hash_bits_set(const uint64_t[::1] words not None):
    return c_k_hash_bits_set(&words[0], words.shape[0]) if words.shape[0] else 0


def k_hash_check(
        const uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[::1] hashes not None):
    import numpy as np

    _check_k_hash(words, num_bits, num_hashes)
    found = np.empty(hashes.shape[0], np.uint8)
    cdef uint8_t[::1] out = found
    if hashes.shape[0]:
        with nogil:
            c_k_hash_check(&words[0], num_bits, num_hashes, &hashes[0], hashes.shape[0], &out[0])
    return found.view(np.bool_)


cdef int _check_wide(const uint64_t[:, ::1] hashes) except -1:
    if hashes.shape[1] != 2:
        raise ValueError(f"hashes: {hashes.shape[1]} to a value, expected 2")
    return 0


def k_hash_insert_wide(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[:, ::1] hashes not None):
    _check_k_hash(words, num_bits, num_hashes)
    _check_wide(hashes)
    if hashes.shape[0]:
        with nogil:
            c_k_hash_insert_wide(
                &words[0], num_bits, num_hashes, <const murmur3_hash *>&hashes[0, 0],
                hashes.shape[0])


def k_hash_check_wide(
        const uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[:, ::1] hashes not None):
    import numpy as np

    _check_k_hash(words, num_bits, num_hashes)
    _check_wide(hashes)
    found = np.empty(hashes.shape[0], np.uint8)
    cdef uint8_t[::1] out = found
    if hashes.shape[0]:
        with nogil:
            c_k_hash_check_wide(
                &words[0], num_bits, num_hashes, <const murmur3_hash *>&hashes[0, 0],
                hashes.shape[0], &out[0])
    return found.view(np.bool_)


# Of a line of the cache: no block lies in two of them.
cdef enum:
    _ALIGNMENT = 64


def clear_words(uint64_t num_blocks):
    memory = bytearray(32 * num_blocks + _ALIGNMENT - 1)
    cdef const uint8_t[::1] view = memory
    cdef Py_ssize_t start = -<Py_ssize_t>&view[0] % _ALIGNMENT
    return memoryview(memory)[start : start + 32 * num_blocks].cast("I")


def insert_value(uint32_t[::1] words not None, const uint8_t[::1] value not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef uint64_t hash = c_xxh64(_bytes(value), value.shape[0])
    split_block_insert(&words[0], num_blocks, &hash, 1)


def check_value(const uint32_t[::1] words not None, const uint8_t[::1] value not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef uint64_t hash = c_xxh64(_bytes(value), value.shape[0])
    cdef uint8_t found = 0
    split_block_check(&words[0], num_blocks, &hash, 1, &found)
    return bool(found)


def insert(uint32_t[::1] words not None, const uint64_t[::1] hashes not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    if hashes.shape[0]:
        with nogil:
            split_block_insert(&words[0], num_blocks, &hashes[0], hashes.shape[0])


def check(const uint32_t[::1] words not None, const uint64_t[::1] hashes not None):
    import numpy as np

    cdef uint64_t num_blocks = _num_blocks(words)
    found = np.empty(hashes.shape[0], np.uint8)
    cdef uint8_t[::1] out = found
    if hashes.shape[0]:
        with nogil:
            split_block_check(&words[0], num_blocks, &hashes[0], hashes.shape[0], &out[0])
    return found.view(np.bool_)


def fold(const uint32_t[::1] words not None, uint64_t factor, uint32_t[::1] folded not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    if factor == 0 or num_blocks % factor:
        raise ValueError(f"factor: {factor}, expected a divisor of {num_blocks} blocks")
    if folded.shape[0] * factor != <uint64_t>words.shape[0]:
        raise ValueError(f"folded: {folded.shape[0]}, expected {words.shape[0] // factor} words")
    with nogil:
        split_block_fold(&words[0], num_blocks, factor, &folded[0])


def popcount(const uint32_t[::1] words not None):
    cdef uint64_t num_blocks = _num_blocks(words), bits
    with nogil:
        bits = split_block_popcount(&words[0], num_blocks)
    return bits


def fpp(const uint32_t[::1] words not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef double answer
    with nogil:
        answer = split_block_fpp(&words[0], num_blocks)
    return answer


# In the order of enum code_path.
CODE_PATHS = ("any", "AVX2", "AVX-512")
if len(CODE_PATHS) != NUM_CODE_PATHS:
    raise ImportError("parquet_bloom.native._kernel: CODE_PATHS and kernel.h disagree")


def code_path():
    return CODE_PATHS[c_code_path()]


def choose_code_path(name):
    if c_choose_code_path(<code_path_t><int>CODE_PATHS.index(name)) != 0:
        raise ValueError(f"{name}: this processor lacks it")


def insert_fixed(uint32_t[::1] words not None, const uint8_t[::1] values not None, size_t width):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef size_t count = _num_fixed(values, width)
    if count:
        with nogil:
            plain_insert_fixed(&values[0], count, width, &words[0], num_blocks)
    return count


cdef int64_t _counted(int64_t count) except -1:
    if count < 0:
        raise ValueError(f"BYTE_ARRAY: the value at byte {-1 - count} runs past the end")
    return count


def insert_byte_array(uint32_t[::1] words not None, const uint8_t[::1] data not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef int64_t count
    with nogil:
        count = plain_insert_byte_array(_bytes(data), data.shape[0], &words[0], num_blocks)
    return _counted(count)


def count_byte_array(const uint8_t[::1] data not None):
    cdef int64_t count
    with nogil:
        count = plain_count_byte_array(_bytes(data), data.shape[0])
    return _counted(count)


def hash_byte_array(const uint8_t[::1] data not None):
    import numpy as np

    cdef int64_t count = count_byte_array(data)
    cdef size_t at = 0
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            plain_hash_byte_array(&data[0], data.shape[0], &at, count, &out[0])
    return hashes


def byte_array_starts(const uint8_t[::1] data not None):
    import numpy as np

    cdef int64_t count = count_byte_array(data)
    starts = np.empty(count + 1, np.int64)
    cdef int64_t[::1] out = starts
    with nogil:
        plain_byte_array_starts(_bytes(data), count, &out[0])
    return starts


def float_specials(const uint8_t[::1] values not None, size_t width):
    if width not in (2, 4, 8) or values.shape[0] % width:
        raise ValueError(f"values: {values.shape[0]} bytes of width {width}")
    cdef int answer
    with nogil:
        answer = plain_float_specials(_bytes(values), values.shape[0] // width, width)
    return answer


def count_levels(const uint8_t[::1] data not None, int bit_width, int64_t count, uint32_t level):
    cdef int64_t equal
    if not 1 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"levels: {count} of {bit_width} bits")
    with nogil:
        equal = levels_count_hybrid(_bytes(data), data.shape[0], bit_width, count, level)
    if equal < 0:
        raise ValueError(f"levels: the bytes end before {count} levels")
    return equal


def count_bit_packed_levels(
        const uint8_t[::1] data not None, int bit_width, int64_t count, uint32_t level):
    cdef int64_t equal
    if not 1 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"levels: {count} of {bit_width} bits")
    with nogil:
        equal = levels_count_bit_packed(_bytes(data), data.shape[0], bit_width, count, level)
    if equal < 0:
        raise ValueError(f"levels: the bytes end before {count} levels")
    return equal


def mark_indices(
        const uint8_t[::1] data not None, int bit_width, int64_t count, uint8_t[::1] used not None):
    cdef int failed
    if not 0 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"dictionary indices: {count} of {bit_width} bits")
    with nogil:
        failed = indices_mark(
            _bytes(data), data.shape[0], bit_width, count, <uint8_t *>_bytes(used), used.shape[0])
    if failed == INDICES_OUTSIDE:
        raise ValueError(f"dictionary indices: one is not below {used.shape[0]}")
    if failed:
        raise ValueError(f"dictionary indices: the bytes end before {count} of them")


_DELTA_ROOM = 1 << 17


cdef class DeltaDecoder:
    cdef const uint8_t[::1] _data
    cdef delta_state _state

    def __init__(self, const uint8_t[::1] data not None):
        self._data = data
        if delta_start(_bytes(data), data.shape[0], &self._state) != 0:
            raise ValueError("DELTA_BINARY_PACKED: impossible header")

    @property
    def count(self):
        return self._state.count

    def __iter__(self):
        return self

    def __next__(self):
        import numpy as np

        if self._state.left == 0:
            raise StopIteration
        cdef int64_t room = min(self._state.left, _DELTA_ROOM) + (1 << 16) + 1, decoded
        values = np.empty(room, np.uint64)
        cdef uint64_t[::1] out = values
        with nogil:
            decoded = delta_next(
                &self._data[0], self._data.shape[0], &self._state, &out[0], room)
        if decoded < 0:
            raise ValueError("DELTA_BINARY_PACKED: the bytes end too early")
        return values[:decoded]


def delta_end(const uint8_t[::1] data not None):
    cdef int64_t end
    with nogil:
        end = c_delta_end(_bytes(data), data.shape[0])
    if end < 0:
        raise ValueError("DELTA_BINARY_PACKED: the bytes end too early")
    return end


def delta_join(
        const uint8_t[::1] suffixes not None, const int64_t[::1] prefix_lengths not None,
        const int64_t[::1] suffix_lengths not None, int64_t room):
    import numpy as np

    cdef size_t count = prefix_lengths.shape[0]
    cdef int64_t end
    if <size_t>suffix_lengths.shape[0] != count:
        raise ValueError(f"suffix_lengths: {suffix_lengths.shape[0]}, expected {count}")
    values, starts = np.empty(room, np.uint8), np.zeros(count + 1, np.int64)
    cdef uint8_t[::1] out = values
    cdef int64_t[::1] begins = starts
    if count:
        with nogil:
            end = c_delta_join(
                _bytes(suffixes), suffixes.shape[0], &prefix_lengths[0], &suffix_lengths[0],
                count, <uint8_t *>_bytes(out), room, &begins[0])
        if end < 0:
            raise ValueError("DELTA_BYTE_ARRAY: a prefix or suffix that is not there")
    return values, starts


def join_streams(const uint8_t[::1] streams not None, size_t width):
    cdef size_t count = _num_fixed(streams, width)
    values = bytearray(streams.shape[0])
    cdef uint8_t[::1] out = values
    if count:
        with nogil:
            c_join_streams(&streams[0], count, width, &out[0])
    return values


cdef int64_t _orc(int64_t answer, str what) except -1:
    if answer == ORC_DAMAGED:
        raise ValueError(f"{what} is damaged")
    if answer < 0:
        raise OverflowError(f"{what} is too large")
    return answer


cdef class OrcIntegers:
    cdef orc_integer_runs _runs

    def __init__(self, int version, bint is_signed):
        if version not in (1, 2):
            raise ValueError(f"version: {version}, expected 1 or 2")
        self._runs.version = version
        self._runs.is_signed = is_signed
        self._runs.next = self._runs.count = 0

    def decode(
            self, const uint8_t[::1] data not None, int64_t start, int64_t[::1] values not None):
        cdef int64_t decoded = 0
        self._runs.at = _start(data, start)
        if values.shape[0]:
            with nogil:
                decoded = orc_integers(
                    _bytes(data), data.shape[0], &self._runs, <uint64_t *>&values[0],
                    values.shape[0])
        return _orc(decoded, "a run"), self._runs.at


cdef class OrcBytes:
    cdef orc_byte_runs _runs

    def __init__(self):
        self._runs.left = 0

    def decode(
            self, const uint8_t[::1] data not None, int64_t start, uint8_t[::1] values not None):
        cdef int64_t decoded = 0
        self._runs.at = _start(data, start)
        if values.shape[0]:
            with nogil:
                decoded = orc_bytes(
                    _bytes(data), data.shape[0], &self._runs, &values[0], values.shape[0])
        return decoded, self._runs.at


def orc_decimals(const uint8_t[::1] data not None, int64_t start, uint64_t[::1] words not None):
    cdef int64_t at = _start(data, start), decoded = 0
    if words.shape[0] % 2:
        raise ValueError(f"words: {words.shape[0]}, expected two for each number")
    if words.shape[0]:
        with nogil:
            decoded = c_orc_decimals(
                _bytes(data), data.shape[0], &at, <orc_decimal *>&words[0], words.shape[0] // 2)
    return _orc(decoded, "a number"), at


def orc_rescale(uint64_t[::1] words not None, const int64_t[::1] scales not None, int64_t scale):
    cdef int answer
    if words.shape[0] != 2 * scales.shape[0]:
        raise ValueError(f"words: {words.shape[0]}, scales: {scales.shape[0]}")
    if not 0 <= scale <= 38:
        raise ValueError(f"scale: {scale}, expected 0 to 38")
    if scales.shape[0]:
        with nogil:
            answer = c_orc_rescale(<orc_decimal *>&words[0], &scales[0], scales.shape[0], scale)
        _orc(answer, "a number or its scale")


def orc_narrow(int64_t[::1] values not None, int bits):
    if not 1 <= bits <= 64:
        raise ValueError(f"bits: {bits}, expected 1 to 64")
    if values.shape[0]:
        with nogil:
            c_orc_narrow(&values[0], values.shape[0], bits)


def orc_bits(const uint8_t[::1] packed not None, size_t first, size_t count):
    cdef int64_t num_set = 0
    if first > 8 * <size_t>packed.shape[0] or count > 8 * <size_t>packed.shape[0] - first:
        raise ValueError(f"bits: {first} and {count}, expected {8 * packed.shape[0]}")
    bits = PyByteArray_FromStringAndSize(NULL, count)
    cdef uint8_t[::1] out = bits
    if count:
        with nogil:
            num_set = c_orc_bits(&packed[0], first, count, &out[0])
    return memoryview(bits).cast("?"), num_set


def orc_shift(int64_t[::1] seconds not None, int64_t by):
    cdef int answer
    if seconds.shape[0]:
        with nogil:
            answer = c_orc_shift(&seconds[0], seconds.shape[0], by)
        _orc(answer, "a time")


cdef Py_ssize_t _num_times(const int64_t[::1] seconds, const int64_t[::1] nanos) except -1:
    if seconds.shape[0] != nanos.shape[0]:
        raise ValueError(f"seconds: {seconds.shape[0]}, nanoseconds: {nanos.shape[0]}")
    return seconds.shape[0]


def orc_settle(int64_t[::1] seconds not None, int64_t[::1] nanos not None):
    cdef int answer
    if _num_times(seconds, nanos):
        with nogil:
            answer = c_orc_settle(&seconds[0], &nanos[0], seconds.shape[0])
        _orc(answer, "nanoseconds")


def orc_millis(
        const int64_t[::1] seconds not None, const int64_t[::1] nanos not None, int64_t low,
        int64_t high):
    cdef bint is_near = False
    millis = _int64s(_num_times(seconds, nanos))
    cdef int64_t[::1] out = millis
    if seconds.shape[0]:
        with nogil:
            is_near = c_orc_millis(
                &seconds[0], &nanos[0], seconds.shape[0], low, high, &out[0])
    return millis, is_near


cdef object _int64s(Py_ssize_t count):
    """Room for numbers, without numpy."""
    return memoryview(PyByteArray_FromStringAndSize(NULL, 8 * count)).cast("q")


def orc_starts(const int64_t[::1] lengths not None, int64_t limit):
    cdef int64_t end
    starts = _int64s(lengths.shape[0] + 1)
    cdef int64_t[::1] out = starts
    with nogil:
        end = c_orc_starts(
            &lengths[0] if lengths.shape[0] else NULL, lengths.shape[0], limit, &out[0])
    _orc(end, "a length")
    return starts


cdef object _no_entry(int64_t num_entries):
    return ValueError(f"an entry is not among the {num_entries} of the dictionary")


def orc_used(const int64_t[::1] picks not None, int64_t num_entries):
    cdef int64_t num_used
    marks = bytearray(num_entries)
    used = _int64s(min(num_entries, picks.shape[0]))
    cdef uint8_t[::1] is_used = marks
    cdef int64_t[::1] out = used
    if not picks.shape[0]:
        return used
    with nogil:
        num_used = c_orc_used(
            &picks[0], picks.shape[0], <uint8_t *>_bytes(is_used), num_entries,
            &out[0] if out.shape[0] else NULL)
    if num_used < 0:
        raise _no_entry(num_entries)
    return used[:num_used]


def orc_picked(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None,
        const int64_t[::1] picks not None, int64_t limit):
    cdef int64_t end, num_entries = _num_slices(data, starts, 0)
    picked_starts = _int64s(picks.shape[0] + 1)
    cdef int64_t[::1] out = picked_starts
    cdef const int64_t *first = &picks[0] if picks.shape[0] else NULL
    with nogil:
        end = c_orc_picked_starts(&starts[0], num_entries, first, picks.shape[0], limit, &out[0])
    if end == ORC_DAMAGED:
        raise _no_entry(num_entries)
    _orc(end, "the size")
    picked = PyByteArray_FromStringAndSize(NULL, end)
    cdef uint8_t[::1] bytes_out = picked
    if end:
        with nogil:
            c_orc_pick(&data[0], &starts[0], first, picks.shape[0], &bytes_out[0])
    return memoryview(picked), picked_starts


cdef int64_t _start(const uint8_t[::1] data, int64_t start) except -1:
    if not 0 <= start <= data.shape[0]:
        raise ScanError("ends before the value begins", start)
    return start


def struct_end(const uint8_t[::1] data not None, int64_t start=0):
    cdef int64_t where = 0, answer
    _start(data, start)
    with nogil:
        answer = thrift_struct_end(_bytes(data), data.shape[0], start, &where)
    return _scanned(answer, where)


def page_header(const uint8_t[::1] data not None, int64_t start=0):
    cdef int64_t where = 0, answer
    cdef page_header_t header
    cdef const int64_t *fields = <const int64_t *>&header
    _start(data, start)
    answer = thrift_page_header(_bytes(data), data.shape[0], start, &header, &where)
    _scanned(answer, where)
    return [
        None if fields[i] == INT64_MIN else fields[i] for i in range(_PAGE_HEADER_FIELDS)
    ], answer


# What a page may need more of, as PlainPages.insert answers.
cdef enum:
    _NOTHING = 0
    _MORE_BYTES = 1
    _MORE_ROOM = 2
    # Statistics can make a header long.
    _LONG_HEADER = 1 << 16
NOTHING = _NOTHING
MORE_BYTES = _MORE_BYTES
MORE_ROOM = _MORE_ROOM


cdef class PlainPages:
    cdef plain_column _column
    cdef object _decompress, _errors
    cdef int64_t _most_each, _largest
    cdef bint _compresses_always
    cdef readonly int64_t num_bytes, num_pages, num_values, inserted, needed
    cdef int _specials

    def __init__(self, column, largest, compresses_always, codec):
        width, is_float, repetition, definition = column
        if not 0 <= width <= INT32_MAX or (is_float and width not in (4, 8)):
            raise ValueError(f"width: {width} bytes")
        if not 0 <= repetition <= INT32_MAX or not 0 <= definition <= INT32_MAX:
            raise ValueError(f"levels: {repetition} and {definition}")
        self._column = plain_column(width, is_float, repetition, definition)
        self._largest = largest
        self._compresses_always = compresses_always
        self._decompress, self._errors, self._most_each = codec

    @property
    def specials(self):
        return self._specials

    def insert(self, uint32_t[::1] words not None, data, room, int64_t wanted):
        cdef const uint8_t[::1] stored = data
        cdef uint8_t[::1] plain = room
        cdef uint64_t num_blocks = _num_blocks(words)
        cdef int64_t size = stored.shape[0], where = 0, body
        cdef page_header_t header
        self.num_bytes = self.num_pages = self.num_values = self.inserted = 0
        while self.num_values < wanted:
            body = thrift_page_header(
                _bytes(stored), size, self.num_bytes, &header, &where)
            if body == SCAN_TRUNCATED and size - self.num_bytes < _LONG_HEADER:
                self.needed = size - self.num_bytes + 1
                return _MORE_BYTES
            if body < 0 or not self._is_usual(&header):
                return _NOTHING
            if header.compressed_page_size > size - body:
                self.needed = body - self.num_bytes + header.compressed_page_size
                return _MORE_BYTES
            if self._decompress is not None and header.uncompressed_page_size > plain.shape[0]:
                self.needed = header.uncompressed_page_size
                return _MORE_ROOM
            if not self._insert_page(words, num_blocks, &header, data, stored, body, room, plain):
                return _NOTHING
            self.num_bytes = body + header.compressed_page_size
            self.num_pages += 1
            self.num_values += header.details.num_values
        return _NOTHING

    cdef bint _is_usual(self, const page_header_t *header) noexcept:
        """Whether it is the header of a data page with PLAIN values."""
        return (
            (header.type == DATA_PAGE or header.type == DATA_PAGE_V2)
            and header.details.encoding == PLAIN
            and header.details.num_values >= 0
            and header.compressed_page_size >= 0
            and 0 <= header.uncompressed_page_size <= self._largest
        )

    cdef bint _insert_page(
            self, uint32_t[::1] words, uint64_t num_blocks, const page_header_t *header,
            object data, const uint8_t[::1] stored, int64_t start, object room,
            uint8_t[::1] plain) except -1:
        """Whether the page is as usual, so that its values have been inserted. Its body, which begins at
        `start`, is in the data, and it fits the room."""
        cdef int64_t end = start + header.compressed_page_size, levels, inserted
        cdef plain_page page
        if header.crc != INT64_MIN and not self._has_crc(data[start:end], header.crc):
            return False
        levels = _levels_size(header)
        if levels < 0 or levels > end - start or levels > header.uncompressed_page_size:
            return False
        page.header = header
        page.levels = _bytes(stored) + start
        page.levels_size = levels
        page.data = page.levels + levels
        page.size = end - start - levels
        if self._is_compressed(header) and (page.size or header.uncompressed_page_size > levels):
            if self._decompress is None:
                if <int64_t>page.size != header.uncompressed_page_size - levels:
                    return False
            elif not self._decompressed(&page, data[start + levels:end], room):
                return False
            else:
                page.data = _bytes(plain)
        with nogil:
            inserted = plain_insert_page(
                &self._column, &page, &words[0], num_blocks, &self._specials)
        self.inserted += max(0, inserted)
        return inserted >= 0

    cdef bint _is_compressed(self, const page_header_t *header) noexcept:
        return (
            header.type == DATA_PAGE or self._compresses_always
            or header.details.is_compressed != 0
        )

    cdef bint _has_crc(self, object body, int64_t expected) except -1:
        from zlib import crc32

        return <uint32_t>crc32(body) == <uint32_t>expected

    cdef bint _decompressed(self, plain_page *page, object stored, object room) except -1:
        """Whether the data of the page is what its header says, after which `size` is that."""
        cdef int64_t size = page.header.uncompressed_page_size - <int64_t>page.levels_size
        # Before anything is written to.
        if size > (<int64_t>page.size + 1) * self._most_each:
            return False
        try:
            if self._decompress(stored, room[:size]) != size:
                return False
        except self._errors:
            return False
        page.size = size
        return True


cdef int64_t _levels_size(const page_header_t *header) noexcept:
    """The bytes of levels that are not compressed; -1 if that is impossible."""
    cdef int64_t repetition = header.details.repetition_levels_byte_length
    cdef int64_t definition = header.details.definition_levels_byte_length
    if header.type == DATA_PAGE:
        return 0
    repetition = 0 if repetition == INT64_MIN else repetition
    definition = 0 if definition == INT64_MIN else definition
    return repetition + definition if repetition >= 0 and definition >= 0 else -1


def fields(const uint8_t[::1] data not None, int64_t start=0):
    cdef int64_t where = 0, count
    cdef field_span spans[_MAX_FIELDS]
    _start(data, start)
    count = _scanned(
        thrift_fields(_bytes(data), data.shape[0], start, spans, _MAX_FIELDS, &where), where)
    return [
        (spans[i].id, spans[i].type, spans[i].start, spans[i].value, spans[i].end)
        for i in range(count)
    ]


cdef int64_t _list_size(const uint8_t[::1] data, int64_t start) except -1:
    cdef int64_t where = 0, element_type = 0
    _start(data, start)
    return _scanned(
        thrift_list_size(_bytes(data), data.shape[0], start, &element_type, &where), where)


def elements(const uint8_t[::1] data not None, int64_t start):
    cdef int64_t where = 0, answer, room = _list_size(data, start)
    boundaries = array("q", bytes(8 * (room + 1)))
    cdef int64_t[::1] out = boundaries
    with nogil:
        answer = thrift_elements(_bytes(data), data.shape[0], start, &out[0], room, &where)
    _scanned(answer, where)
    return boundaries


def chunks(const uint8_t[::1] data not None, int64_t start, int64_t expected):
    cdef int64_t where = 0, answer, room = _list_size(data, start)
    if room != expected:
        raise ScanError(f"list of {room}, expected {expected}", start)
    spans = array("q", bytes(sizeof(chunk_span) * room))
    if room == 0:
        return spans
    cdef int64_t[::1] out = spans
    with nogil:
        answer = thrift_chunks(
            _bytes(data), data.shape[0], start, <chunk_span *>&out[0], room, &where)
    _scanned(answer, where)
    return spans


cdef int64_t _position(object at):
    """No range reaches as far as a number that no int64 holds."""
    return max(INT64_MIN, min(at, INT64_MAX))


cdef class Ranges:
    cdef object _ranges
    cdef const byte_range *_first
    cdef int64_t _count

    def __init__(self, const int64_t[::1] chunks not None, int64_t end, *kinds):
        cdef int64_t num_chunks = chunks.shape[0] // len(CHUNK_FIELDS), count = 0
        # Of each chunk: its pages, the two page indexes, its filter.
        room = num_chunks * (len(kinds) + ("indexes" in kinds)) or 1
        self._ranges = array("q", bytes(sizeof(byte_range) * room))
        cdef int64_t[::1] out = self._ranges
        cdef byte_range *first = <byte_range *>&out[0]
        cdef const chunk_span *spans = <const chunk_span *>&chunks[0] if num_chunks else NULL
        for kind in dict.fromkeys(kinds):
            if kind == "pages":
                count += layout_pages(spans, num_chunks, end, first + count)
            elif kind == "indexes":
                count += layout_indexes(spans, num_chunks, end, first + count)
            elif kind == "filters":
                count += layout_filters(spans, num_chunks, end, first + count)
            else:
                raise ValueError(f"kind: {kind!r}, expected pages, indexes or filters")
        with nogil:
            layout_order(first, count)
        self._first, self._count = first, count

    @property
    def last(self):
        return self._first[self._count - 1].reach if self._count else 0

    def overlap(self, start, end):
        cdef int64_t before = layout_before(self._first, self._count, _position(end))
        return before > 0 and self._first[before - 1].reach > _position(start)

    def overlap_another(self, start, end):
        return bool(
            layout_overlap_another(self._first, self._count, _position(start), _position(end)))

    def sharing(self, start, end):
        cdef int64_t before = layout_before(self._first, self._count, _position(end)), i
        cdef int64_t after = _position(start)
        return [
            (self._first[i].start, self._first[i].end)
            for i in range(before) if self._first[i].end > after
        ]

    def num_at(self, start):
        cdef int64_t at = _position(start)
        return layout_before(self._first, self._count, _position(start + 1)) - layout_before(
            self._first, self._count, at)


def ordinary_filters(
        const uint8_t[::1] data not None, int64_t base, const int64_t[::1] offsets not None,
        const int64_t[::1] lengths not None, Ranges everything not None):
    cdef int64_t count = offsets.shape[0], size = data.shape[0], i
    if lengths.shape[0] != count:
        raise ValueError(f"lengths: {lengths.shape[0]}, expected {count}")
    if count == 0:
        return []
    starts = array("q", bytes(8 * count))
    cdef int64_t[::1] begins = starts
    for i in range(count):
        if not 0 <= base <= offsets[i] or not 0 <= lengths[i] <= size - (offsets[i] - base):
            raise ValueError(f"offsets: {offsets[i]}: outside the {size} bytes from {base}")
        begins[i] = offsets[i] - base
    room = bytearray(sizeof(ordinary_filter) * count)
    cdef uint8_t[::1] memory = room
    cdef ordinary_filter *found = <ordinary_filter *>&memory[0]
    cdef int answer
    with nogil:
        answer = c_ordinary_filters(_bytes(data), &begins[0], &lengths[0], count, found)
    if answer != 0:
        raise MemoryError
    return [
        (found[i].header_bytes, found[i].num_bytes, found[i].bits_set, found[i].fpp)
        if found[i].header_bytes and not layout_overlap_another(
            everything._first, everything._count, offsets[i], offsets[i] + lengths[i])
        else None
        for i in range(count)
    ]
