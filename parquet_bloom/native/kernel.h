/* The native kernel: everything that touches every value or every footer byte.
 *
 * No Python in here. `_kernel.pyx` checks shapes, releases the global lock and calls; each function
 * reads only inside the buffers that it is given, and reports damage by a negative return value.
 */
#ifndef PARQUET_BLOOM_KERNEL_H
#define PARQUET_BLOOM_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Parquet is little-endian, and the kernel reads it without swapping bytes"
#endif

#define INLINE static inline __attribute__((always_inline))

/* ---- xxh64.c: XXH64 with seed 0 ------------------------------------------------------------- */

uint64_t xxh64(const uint8_t *data, size_t size);

/* Hash `count` values of `width` bytes that lie one after the other. */
void xxh64_fixed(const uint8_t *values, size_t count, size_t width, uint64_t *hashes);

/* Hash values i = data[offsets[i] .. offsets[i + 1]); the caller has checked the offsets. */
void xxh64_slices(const uint8_t *data, const int64_t *offsets, size_t count, uint64_t *hashes);

/* ---- murmur3.c: MurmurHash3 x64_128, and Hive's variant -------------------------------------- */

/* The first 64 bits, and the last. */
struct murmur3_hash {
    uint64_t low, high;
};

struct murmur3_hash murmur3(const uint8_t *data, size_t size, uint32_t seed);

/* Values i = data[starts[i] .. starts[i + 1] - gap); the caller has checked the starts. */
void murmur3_slices(const uint8_t *data, const int64_t *starts, size_t count, int64_t gap,
                    uint32_t seed, struct murmur3_hash *hashes);
void murmur3_fixed(const uint8_t *values, size_t count, size_t width, uint32_t seed,
                   struct murmur3_hash *hashes);

/* The variant with one lane, of Hive and ORC. */
uint64_t hive64(const uint8_t *data, size_t size, uint64_t seed);
void hive64_slices(const uint8_t *data, const int64_t *starts, size_t count, int64_t gap,
                   uint64_t seed, uint64_t *hashes);

/* ---- decimal_text.c: the same of DECIMALs ----------------------------------------------------- */

/* Of `count` unscaled numbers of 16 bytes, little-endian, as text with `scale` (0 to 38) digits behind
 * the point. */
void hive64_decimals(const uint8_t *values, size_t count, int scale, uint64_t seed,
                     uint64_t *hashes);

/* ---- k_hash.c: filters as arrays of (num_bits + 63) / 64 words ------------------------------- */

void k_hash_insert(uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint64_t *hashes,
                   size_t count);
void k_hash_check(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                  const uint64_t *hashes, size_t count, uint8_t *found);
void k_hash_insert_wide(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                        const struct murmur3_hash *hashes, size_t count);
void k_hash_check_wide(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                       const struct murmur3_hash *hashes, size_t count, uint8_t *found);

/* Thomas Wang's hash of integers, with arithmetic shifts and with logical ones. */
void wang(const int64_t *values, size_t count, uint64_t *hashes);
void wang_logical(const int64_t *values, size_t count, uint64_t *hashes);

/* ---- split_block.c: filters as arrays of 8 * num_blocks words ------------------------------- */

enum { WORDS_PER_BLOCK = 8, BATCH = 64 };

/* The high half of the hash picks the block; the multiply-shift replaces a modulo. */
static inline uint64_t block_index(uint64_t hash, uint64_t num_blocks) {
    return ((hash >> 32) * num_blocks) >> 32;
}

/* Filters outgrow the near caches: ask for a block some hashes before it is used. */
static inline void split_block_prefetch(const uint32_t *words, uint64_t num_blocks, uint64_t hash) {
    __builtin_prefetch(words + WORDS_PER_BLOCK * block_index(hash, num_blocks), 1);
}

/* Insert hashes whose blocks have been asked for. */
void split_block_insert_prefetched(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                   size_t count);

void split_block_insert(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count);
void split_block_check(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                       size_t count, uint8_t *found);

/* OR every `factor` neighbouring blocks of `words` into one of `folded`. */
void split_block_fold(const uint32_t *words, uint64_t num_blocks, uint64_t factor,
                      uint32_t *folded);

/* Number of bits that are set. */
uint64_t split_block_popcount(const uint32_t *words, uint64_t num_blocks);

/* Probability that a random hash is found: mean over blocks of the product of the words' fills. */
double split_block_fpp(const uint32_t *words, uint64_t num_blocks);

/* Select the code path: 0 = any processor, 1 = AVX2. Returns 0, or -1 if this machine lacks it. */
int split_block_use_avx2(int wanted);
int split_block_uses_avx2(void);

/* ---- plain_pages.c: values of PLAIN pages straight into a filter ---------------------------- */

/* Insert `count` values of `width` bytes. */
void plain_insert_fixed(const uint8_t *values, size_t count, size_t width, uint32_t *words,
                        uint64_t num_blocks);

/* Insert the length-prefixed values that fill `data`. Returns their number, or -1 - (position of
 * the first value that does not fit). */
int64_t plain_insert_byte_array(const uint8_t *data, size_t size, uint32_t *words,
                                uint64_t num_blocks);

/* Only count them; same return value. */
int64_t plain_count_byte_array(const uint8_t *data, size_t size);

/* Hash `count` length-prefixed values, which plain_count_byte_array has counted. */
void plain_hash_byte_array(const uint8_t *data, size_t count, uint64_t *hashes);

/* Where each of them begins, behind its length, and where one after the last would: count + 1. */
void plain_byte_array_starts(const uint8_t *data, size_t count, int64_t *starts);

/* Floating point values that are equal or unordered although their bytes differ. */
enum { HAS_ZERO = 1, HAS_NAN = 2 };
int plain_float_specials(const uint8_t *values, size_t count, size_t width);

/* ---- levels.c: definition levels and dictionary indices ------------------------------------- */

/* How many of `count` levels equal `level`, in the RLE / bit-packing hybrid (`data` without its
 * length prefix). -1 if the data ends too early or a run is impossible. */
int64_t levels_count_hybrid(const uint8_t *data, size_t size, int bit_width, int64_t count,
                            uint32_t level);

/* The same in the deprecated BIT_PACKED encoding (most significant bit first). */
int64_t levels_count_bit_packed(const uint8_t *data, size_t size, int bit_width, int64_t count,
                                uint32_t level);

enum {
    INDICES_DAMAGED = -1, /* the data ends too early or a run is impossible */
    INDICES_OUTSIDE = -2  /* an index has no place in `used` */
};

/* Set used[i] for each of `count` dictionary indices i, in the hybrid of 0 to 32 bits (`data` without
 * the byte that says how many). Returns 0 or an INDICES_ error. */
int indices_mark(const uint8_t *data, size_t size, int bit_width, int64_t count, uint8_t *used,
                 size_t num_used);

/* ---- delta.c: DELTA_BINARY_PACKED ----------------------------------------------------------- */

/* Where a decoder is: `left` of `count` values are to come, at byte `at`, after the value `last`. */
struct delta_state {
    int64_t block, miniblocks, count, left, at;
    uint64_t last;
};

/* Read the header. -1 if it is impossible. */
int delta_start(const uint8_t *data, size_t size, struct delta_state *state);

/* Decode up to `room` more values (at least a block and one), modulo 2^64. Returns their number, or
 * -1 if the data ends too early. */
int64_t delta_next(const uint8_t *data, size_t size, struct delta_state *state, uint64_t *values,
                   int64_t room);

/* ---- thrift_scan.c: byte spans in the compact protocol -------------------------------------- */

enum {
    SCAN_TRUNCATED = -1, /* the bytes end inside a value */
    SCAN_MALFORMED = -2, /* no such type, a number too long, a size that cannot be */
    SCAN_TOO_DEEP = -3,  /* structs nested deeper than any footer */
    SCAN_FULL = -4       /* more fields or elements than there is room for */
};

/* One field of a struct. `start` is its header, `value` its first byte after that, `end` is past. */
struct field_span {
    int64_t id, type, start, value, end;
};

/* Where the struct that begins at `start` ends (past its STOP byte), or a SCAN_ error with the
 * position of the damage in *where. */
int64_t thrift_struct_end(const uint8_t *data, int64_t size, int64_t start, int64_t *where);

/* The fields of one struct; returns their number or a SCAN_ error. */
int64_t thrift_fields(const uint8_t *data, int64_t size, int64_t start, struct field_span *fields,
                      int64_t room, int64_t *where);

/* The elements of the list that begins at `start`: `room + 1` boundaries at most, the last one the
 * end of the list. Returns the number of elements or a SCAN_ error. */
int64_t thrift_elements(const uint8_t *data, int64_t size, int64_t start, int64_t *boundaries,
                        int64_t room, int64_t *where);

/* Length of the list that begins at `start` (or a SCAN_ error), and the type of its elements. */
int64_t thrift_list_size(const uint8_t *data, int64_t size, int64_t start, int64_t *type,
                         int64_t *where);

/* What is known of a column chunk without decoding it. Absent numbers are ABSENT. */
#define ABSENT INT64_MIN
struct chunk_span {
    int64_t start, end;           /* the ColumnChunk struct */
    int64_t has_file_path;
    int64_t offset_index_offset, offset_index_length;
    int64_t column_index_offset, column_index_length;
    int64_t has_crypto_metadata;
    int64_t meta_start, meta_end; /* its ColumnMetaData, and what follows is in there */
    int64_t type, codec, num_values;
    int64_t total_uncompressed_size, total_compressed_size;
    int64_t data_page_offset, index_page_offset, dictionary_page_offset;
    int64_t bloom_filter_offset, bloom_filter_length;
};

/* Every column chunk of one RowGroup.columns list at `start`; counts as thrift_elements. */
int64_t thrift_chunks(const uint8_t *data, int64_t size, int64_t start, struct chunk_span *chunks,
                      int64_t room, int64_t *where);

#endif
