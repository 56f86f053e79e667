# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Python bindings of the kernel: check shapes, release the GIL, call (see kernel.h).

Importing numpy takes longer than building most files, so only functions that return arrays do it.
"""

from array import array

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, UINT32_MAX, UINT64_MAX
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_mutexattr_t:
        pass
    int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
    int pthread_mutex_destroy(pthread_mutex_t *mutex)

cdef extern from "kernel.h" nogil:
    ctypedef enum code_path_t "enum code_path":
        NUM_CODE_PATHS
    code_path_t c_code_path "code_path"()
    int c_choose_code_path "choose_code_path"(code_path_t wanted)
    void c_keep_freed_memory "keep_freed_memory"(size_t size)
    uint64_t c_xxh64 "xxh64"(const uint8_t *data, size_t size)
    void c_xxh64_fixed "xxh64_fixed"(
        const uint8_t *values, size_t count, size_t width, uint64_t *hashes)
    void c_xxh64_slices "xxh64_slices"(
        const uint8_t *data, size_t size, const int64_t *offsets, size_t count, uint64_t *hashes)
    uint64_t c_siphash "siphash"(const uint8_t *data, size_t size, const uint8_t *key)
    void c_siphash_words "siphash_words"(
        const uint64_t *words, size_t count, const uint8_t *key, uint64_t *hashes)
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
    void split_block_unite(uint32_t *words, const uint32_t *others, uint64_t num_blocks)
    uint64_t split_block_popcount(const uint32_t *words, uint64_t num_blocks)
    uint64_t split_block_outside(
        const uint32_t *words, const uint32_t *others, uint64_t num_blocks)
    double split_block_fpp(const uint32_t *words, uint64_t num_blocks)
    double split_block_halved_fpp(const uint32_t *words, uint64_t num_blocks, double most)
    void plain_insert_fixed(
        const uint8_t *values, size_t count, size_t width, uint32_t *words, uint64_t num_blocks,
        pthread_mutex_t *turn)
    int64_t plain_insert_byte_array(
        const uint8_t *data, size_t size, int64_t most, uint32_t *words, uint64_t num_blocks,
        pthread_mutex_t *turn)
    void plain_check_fixed(
        const uint8_t *values, size_t count, size_t width, const uint32_t *words,
        uint64_t num_blocks, uint8_t *found)
    void slices_check(
        const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
        const uint32_t *words, uint64_t num_blocks, uint8_t *found)
    int64_t plain_check_byte_array(
        const uint8_t *data, size_t size, int64_t most, const uint32_t *words,
        uint64_t num_blocks, uint8_t *found)
    int64_t plain_count_byte_array(const uint8_t *data, size_t size, int64_t most)
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
    int hybrid_decode(
        const uint8_t *data, size_t size, int bit_width, int64_t count, uint32_t *numbers)
    struct delta_state:
        int64_t count, left
    int delta_start(const uint8_t *data, size_t size, delta_state *state)
    int64_t delta_next(
        const uint8_t *data, size_t size, delta_state *state, uint64_t *values, int64_t room)
    int64_t c_delta_end "delta_end"(const uint8_t *data, size_t size)
    int64_t c_delta_join "delta_join"(
        const uint8_t *suffixes, size_t size, const int64_t *prefix_lengths,
        const int64_t *suffix_lengths, size_t count, uint8_t *values, size_t room, int64_t *starts)
    struct alp_state:
        int64_t vector, width, count, left
    int alp_start(const uint8_t *data, size_t size, size_t width, alp_state *state)
    int64_t alp_next(
        const uint8_t *data, size_t size, alp_state *state, uint8_t *values, int64_t room)
    void c_join_streams "join_streams"(
        const uint8_t *streams, size_t stride, size_t count, size_t width, uint8_t *values)
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
    void c_orc_extremes "orc_extremes"(
        const uint8_t *data, const int64_t *starts, size_t count, int64_t *least, int64_t *greatest)
    int64_t thrift_struct_end(
        const uint8_t *data, int64_t size, int64_t start, int64_t *where)
    int64_t thrift_list_size(
        const uint8_t *data, int64_t size, int64_t start, int64_t *type, int64_t *where)
    int64_t thrift_elements(
        const uint8_t *data, int64_t size, int64_t start, int64_t *boundaries, int64_t room,
        int64_t *where)
    int64_t thrift_row_groups(
        const uint8_t *data, int64_t size, const int64_t *starts, int64_t count, int64_t *columns,
        int64_t *num_rows, int64_t *ordinals, int64_t *where)
    enum:
        MAX_FIELDS
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
    struct page_column:
        int64_t type, width, is_float, max_repetition_level, max_definition_level
    struct whole_page:
        const page_header_t *header
        const uint8_t *levels
        const uint8_t *data
        size_t levels_size, size
    int whole_page_is_known(const page_column *column, int64_t encoding)
    int64_t whole_page_insert(
        const page_column *column, const whole_page *page, uint32_t *words, uint64_t num_blocks,
        pthread_mutex_t *turn, int *specials)
    enum: DATA_PAGE, DATA_PAGE_V2, INT32, INT64, BYTE_ARRAY
    bint checksum_is_quick()
    uint32_t checksum(const uint8_t *data, size_t size)
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
    int64_t sorted_keys_room(int64_t count)
    int64_t sorted_keys_page(const uint64_t *keys, int64_t count, uint8_t *out)
    void sorted_keys_narrow(
        const uint64_t *wide, int64_t count, int from_bits, int drop, int place_bits,
        uint64_t *keys)
    int64_t sorted_keys_distinct(uint64_t *keys, int64_t count)
    struct key_lists:
        uint8_t *repeats
        uint8_t *is_there
        uint64_t *places
        int64_t levels, listed
    int64_t sorted_keys_fold(
        const uint64_t *keys, int64_t count, int place_bits, uint64_t *firsts, key_lists *lists)
    int64_t sorted_keys_lists_page(const key_lists *lists, int64_t rows, uint8_t *out)
    int64_t sorted_keys_decode(
        const uint8_t *page, size_t size, uint64_t until, uint64_t *keys, int64_t room)
    int64_t sorted_keys_unfold(
        const uint64_t *firsts, int64_t rows, const uint8_t *page, size_t size, int place_bits,
        uint64_t *listed, uint64_t *keys, int64_t room)
    void sorted_keys_fetch(const uint8_t *page, size_t size)
    struct found_key:
        int64_t asked, place
    int64_t sorted_keys_find(
        const uint64_t *keys, int64_t count, const uint64_t *asked, int64_t begin, int64_t end,
        int place_bits, found_key *found, int64_t room)
    int64_t sorted_keys_find_folded(
        const uint64_t *firsts, int64_t rows, const uint8_t *page, size_t size, uint64_t *listed,
        int64_t listed_room, const uint64_t *asked, int64_t begin, int64_t end, int place_bits,
        found_key *found, int64_t room)
    struct asked_hashes:
        const uint64_t *hashes
        int64_t count
        int64_t *begins
        int bits
    void asked_hashes_index(asked_hashes *asked)
    struct found_hash:
        int64_t position, asked
    int64_t asked_hashes_find(
        const asked_hashes *asked, const uint64_t *hashes, int64_t count, found_hash *found,
        int64_t room)
    enum: KEYS_IN_LINE
    struct key_parts:
        int bits, place_bits
        const int64_t *starts
        int64_t *ends
        uint64_t *lines
        uint64_t *keys
    void key_parts_count(const uint64_t *hashes, int64_t count, int bits, int64_t *of_parts)
    void key_parts_deal(
        const uint64_t *hashes, int64_t count, uint64_t place, key_parts *parts)
    void key_parts_end(key_parts *parts)
    void split_block_bits(uint64_t hash, uint32_t *bits)
    enum: SLICE_ROWS
    void slices_turn(
        const uint8_t **filters, int64_t count, int64_t first, int64_t num_blocks, uint8_t *pages)
    void slices_copy(
        const uint8_t *source, size_t source_width, int64_t source_slot, uint8_t *to,
        size_t to_width, int64_t to_slot, int64_t count, size_t rows)
    struct found_slot:
        int64_t asked, slot
    int64_t slices_find(
        const uint8_t **rows, size_t width, int64_t num_slots, int64_t asked, found_slot *found,
        int64_t room)
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
    "foreign_pointer",
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
    # The high half of a hash selects a block.
    if words.shape[0] // 8 > UINT32_MAX:
        raise ValueError(f"words: {words.shape[0]}, expected at most {8 * <uint64_t>UINT32_MAX}")
    return words.shape[0] // 8


# In the order of enum code_path.
CODE_PATHS = ("any", "AVX2", "AVX-512")
if len(CODE_PATHS) != NUM_CODE_PATHS:
    raise ImportError("parquet_bloom.native._kernel: CODE_PATHS and kernel.h disagree")


def code_path():
    return CODE_PATHS[c_code_path()]


def keep_freed_memory(size_t size):
    c_keep_freed_memory(size)


def choose_code_path(name):
    if c_choose_code_path(<code_path_t><int>CODE_PATHS.index(name)) != 0:
        raise ValueError(f"{name}: this processor lacks it")


include "hashes.pxi"
include "k_hash.pxi"
include "split_block.pxi"
include "pages.pxi"
include "orc.pxi"
include "footers.pxi"
include "sorted_keys.pxi"
include "slices.pxi"
include "room.pxi"
