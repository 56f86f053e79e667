/* The native kernel: all code that touches every value or every footer byte.
 *
 * No Python here. `_kernel.pyx` checks shapes, releases the GIL and calls these functions, which read
 * only inside the buffers that they are given and report damage by a negative return value.
 */
#ifndef PARQUET_BLOOM_KERNEL_H
#define PARQUET_BLOOM_KERNEL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Parquet is little-endian, and the kernel reads it without swapping bytes"
#endif

/* What only some processors use is unused on others. */
#define INLINE static inline __attribute__((always_inline, unused))

/* ---- processor.c: which instructions are used ------------------------------------------------ */

/* A path has what the paths before it have. On aarch64 there is one: every processor has NEON. */
enum code_path { ANY_PROCESSOR, WITH_AVX2, WITH_AVX512, NUM_CODE_PATHS };

/* Values that WITH_AVX512 hashes at a time. */
enum { LANES = 8 };

/* The last one that this machine has, until another is chosen. */
enum code_path code_path(void);

/* Returns 0, or -1 if this machine lacks it. */
int choose_code_path(enum code_path wanted);

/* Whether it multiplies without carries, as some of x86-64 do. */
int machine_has_clmul(void);

/* Have the allocator keep blocks of up to `size` bytes that are freed, as far as it can be told. Nothing
 * is written to. */
void keep_freed_memory(size_t size);

/* ---- xxh64.c: XXH64 with seed 0 ------------------------------------------------------------- */

uint64_t xxh64(const uint8_t *data, size_t size);

/* Hash `count` consecutive values of `width` bytes. */
void xxh64_fixed(const uint8_t *values, size_t count, size_t width, uint64_t *hashes);

/* Hash the values data[offsets[i] .. offsets[i + 1]); the caller has checked the offsets. `size`: of all
 * data. */
void xxh64_slices(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                  uint64_t *hashes);

/* ---- siphash.c: SipHash-2-4 ------------------------------------------------------------------ */

uint64_t siphash(const uint8_t *data, size_t size, const uint8_t key[16]);

/* Hash `count` numbers, each as its eight bytes. */
void siphash_words(const uint64_t *words, size_t count, const uint8_t key[16], uint64_t *hashes);

/* ---- asked_hashes.c: hashes that are asked for, among many others ---------------------------------- */

/* `count` ascending hashes, and where those with the same first `bits` bits begin: 2^bits + 1 of it. */
struct asked_hashes {
    const uint64_t *hashes;
    int64_t count, *begins;
    int bits;
};

/* Set where they begin. */
void asked_hashes_index(struct asked_hashes *asked);

/* The hash at `position` is the one that is `asked`. */
struct found_hash {
    int64_t position, asked;
};

/* Find which hashes are asked for, as often as they are. Returns how many pairs there are, ascending, of which the
 * first `room` were written. */
int64_t asked_hashes_find(const struct asked_hashes *asked, const uint64_t *hashes, int64_t count,
                          struct found_hash *found, int64_t room);

/* ---- murmur3.c: MurmurHash3 x64_128, and Hive's variant -------------------------------------- */

/* The first and the last 64 bits. */
struct murmur3_hash {
    uint64_t low, high;
};

struct murmur3_hash murmur3(const uint8_t *data, size_t size, uint32_t seed);

/* Hash the values data[starts[i] .. starts[i + 1] - gap); the caller has checked the starts. */
void murmur3_slices(const uint8_t *data, const int64_t *starts, size_t count, int64_t gap,
                    uint32_t seed, struct murmur3_hash *hashes);
void murmur3_fixed(const uint8_t *values, size_t count, size_t width, uint32_t seed,
                   struct murmur3_hash *hashes);

/* The single-lane variant of Hive and ORC; `size`: of all data. */
uint64_t hive64(const uint8_t *data, size_t size, uint64_t seed);
void hive64_slices(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                   int64_t gap, uint64_t seed, uint64_t *hashes);

/* The same, each value padded with blanks to `characters` of UTF-8. */
void hive64_padded(const uint8_t *data, const int64_t *starts, size_t count, int64_t characters,
                   uint64_t seed, uint64_t *hashes);

/* ---- decimal_text.c: the same for DECIMALs ---------------------------------------------------- */

/* Hash `count` 16-byte little-endian unscaled numbers as text with `scale` (0 to 38) digits after the
 * point. */
void hive64_decimals(const uint8_t *values, size_t count, int scale, uint64_t seed,
                     uint64_t *hashes);

/* ---- k_hash.c: filters as arrays of (num_bits + 63) / 64 words ------------------------------- */

void k_hash_insert(uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint64_t *hashes,
                   size_t count);
void k_hash_check(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                  const uint64_t *hashes, size_t count, uint8_t *found);

/* Insert values as ORC hashes them: integers by wang; text, data[starts[i] .. starts[i + 1]), and
 * decimals by hive64; floats of 4 or 8 bytes as the bits of doubles, with both zeros for one of them,
 * and the canonical NaN for any. */
void k_hash_insert_numbers(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                           const int64_t *values, size_t count);
void k_hash_insert_texts(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                         const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                         uint64_t seed);
void k_hash_insert_decimals(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                            const uint8_t *values, size_t count, int scale, uint64_t seed);
void k_hash_insert_floats(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                          const uint8_t *values, size_t count, size_t width);

/* The number of bits that are set in `count` words. */
uint64_t k_hash_bits_set(const uint64_t *words, size_t count);
void k_hash_insert_wide(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                        const struct murmur3_hash *hashes, size_t count);
void k_hash_check_wide(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                       const struct murmur3_hash *hashes, size_t count, uint8_t *found);

/* Thomas Wang's hash of integers, with arithmetic or with logical shifts. */
void wang(const int64_t *values, size_t count, uint64_t *hashes);
void wang_logical(const int64_t *values, size_t count, uint64_t *hashes);

/* ---- split_block.c: filters as arrays of 8 * num_blocks words ------------------------------- */

enum { WORDS_PER_BLOCK = 8, BATCH = 64 };

void split_block_insert(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count);
void split_block_check(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                       size_t count, uint8_t *found);

/* OR every `factor` adjacent blocks of `words` into one of `folded`. */
void split_block_fold(const uint32_t *words, uint64_t num_blocks, uint64_t factor,
                      uint32_t *folded);

/* Set in `words` also the bits of `others`, as many blocks. */
void split_block_unite(uint32_t *words, const uint32_t *others, uint64_t num_blocks);

/* The same where several threads insert: each a few hundred hashes in its turn. NULL for one thread. */
void split_block_insert_in_turn(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                size_t count, pthread_mutex_t *turn);

/* Number of bits set. */
uint64_t split_block_popcount(const uint32_t *words, uint64_t num_blocks);
/* The number of bits set in `words` and not in `others`, as many. */
uint64_t split_block_outside(const uint32_t *words, const uint32_t *others, uint64_t num_blocks);

/* Probability that a random hash is found: the mean over blocks of the product of the words' fills. */
double split_block_fpp(const uint32_t *words, uint64_t num_blocks);

/* The same after split_block_fold by a factor of 2; or any more than `most`, once it must be more. */
double split_block_halved_fpp(const uint32_t *words, uint64_t num_blocks, double most);

/* The bit, 0 to 31, that a hash has in each word of its block. */
void split_block_bits(uint64_t hash, uint32_t bits[WORDS_PER_BLOCK]);

/* ---- plain_pages.c: values of PLAIN pages straight into a filter, or checked ----------------- */

/* Insert `count` values of `width` bytes; `turn`: as for split_block_insert_in_turn. */
void plain_insert_fixed(const uint8_t *values, size_t count, size_t width, uint32_t *words,
                        uint64_t num_blocks, pthread_mutex_t *turn);

/* Insert the length-prefixed values that fill `data`, or the first `most` of them, whatever follows. Returns
 * their number, or -1 - (position of the first value that runs past the end). */
int64_t plain_insert_byte_array(const uint8_t *data, size_t size, int64_t most, uint32_t *words,
                                uint64_t num_blocks, pthread_mutex_t *turn);

/* Whether each value is found; the slices are those of xxh64_slices. For length-prefixed values, `found`
 * has room for `most` or size / 4 answers, more than which cannot be, and what the insert does is returned. */
void plain_check_fixed(const uint8_t *values, size_t count, size_t width, const uint32_t *words,
                       uint64_t num_blocks, uint8_t *found);
void slices_check(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                  const uint32_t *words, uint64_t num_blocks, uint8_t *found);
int64_t plain_check_byte_array(const uint8_t *data, size_t size, int64_t most,
                               const uint32_t *words, uint64_t num_blocks, uint8_t *found);

/* Only count them; returns the same. */
int64_t plain_count_byte_array(const uint8_t *data, size_t size, int64_t most);

/* Hash up to `room` length-prefixed values from byte *start on, which advances. Returns their number,
 * less than `room` only at the end of `data` or before a value that runs past it. */
size_t plain_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                             uint64_t *hashes);

/* The starts of `count` values, counted by plain_count_byte_array, after their lengths, and the start of
 * the value that would come next: count + 1. */
void plain_byte_array_starts(const uint8_t *data, size_t count, int64_t *starts);

/* Floating-point values that are equal or unordered although their bytes differ. */
enum { HAS_ZERO = 1, HAS_NAN = 2 };
int plain_float_specials(const uint8_t *values, size_t count, size_t width);

/* ---- levels.c: definition levels and dictionary indices ------------------------------------- */

/* The number of levels, out of `count` in the RLE / bit-packing hybrid, that equal `level` (`data`
 * without its length prefix). -1 if the data ends too early or a run is impossible. */
int64_t levels_count_hybrid(const uint8_t *data, size_t size, int bit_width, int64_t count,
                            uint32_t level);

/* The same in the deprecated BIT_PACKED encoding (most significant bit first). */
int64_t levels_count_bit_packed(const uint8_t *data, size_t size, int bit_width, int64_t count,
                                uint32_t level);

enum {
    INDICES_DAMAGED = -1, /* the data ends too early or a run is impossible */
    INDICES_OUTSIDE = -2  /* an index is outside of `used` */
};

/* Set used[i] for each of `count` dictionary indices i, in the hybrid of 0 to 32 bits (`data` without
 * the byte for the bit width). Returns 0 or an INDICES_ error. */
int indices_mark(const uint8_t *data, size_t size, int bit_width, int64_t count, uint8_t *used,
                 size_t num_used);

/* The first `count` numbers of a hybrid of 0 to 32 bits. -1 if the data ends too early or a run is impossible; what
 * was decoded by then has been written. */
int hybrid_decode(const uint8_t *data, size_t size, int bit_width, int64_t count, uint32_t *numbers);

/* ---- delta.c: DELTA_BINARY_PACKED ----------------------------------------------------------- */

/* The state of a decoder: `left` of `count` values remain, from byte `at`, after the value `last`. */
struct delta_state {
    int64_t block, miniblocks, count, left, at;
    uint64_t last;
};

/* Read the header. -1 if it is impossible. */
int delta_start(const uint8_t *data, size_t size, struct delta_state *state);

/* Decode up to `room` more values (at least one more than a block), modulo 2^64. Returns their number,
 * or -1 if the data ends too early. */
int64_t delta_next(const uint8_t *data, size_t size, struct delta_state *state, uint64_t *values,
                   int64_t room);

/* With AVX-512, decode up to `count` deltas of `width` bits, each relative to `least`, to a value before it,
 * the first one to `last`. Returns their number, at most as many as end well before `end`. */
int64_t lanes_unpack(const uint8_t *packed, const uint8_t *end, int width, int64_t count,
                     uint64_t least, uint64_t last, uint64_t *values);

/* The end of the integers that `data` begins with: of DELTA_LENGTH_BYTE_ARRAY, where the bytes of the
 * values begin. -1 if the header is impossible or the data ends too early. */
int64_t delta_end(const uint8_t *data, size_t size);

/* Put `count` values together, each of as many bytes of the one before it as `prefix_lengths` says and
 * its own from `suffixes`; where they start, and where the last one ends: count + 1. Returns the end, or
 * -1 if a prefix is longer than the value before, or a value runs past the end of `suffixes` or does not
 * fit `room`. */
int64_t delta_join(const uint8_t *suffixes, size_t size, const int64_t *prefix_lengths,
                   const int64_t *suffix_lengths, size_t count, uint8_t *values, size_t room,
                   int64_t *starts);

/* ---- alp.c: ALP, of FLOAT and DOUBLE ---------------------------------------------------------- */

/* The state of a decoder: `left` of `count` values of `width` bytes remain, from byte `at`, in vectors of `vector`
 * values each but for the last one. */
struct alp_state {
    int64_t vector, width, count, left, at;
};

/* Read the header, for values of 4 or 8 bytes. -1 if it is impossible, or has a mode that is not defined. */
int alp_start(const uint8_t *data, size_t size, size_t width, struct alp_state *state);

/* Decode up to `room` more values (at least a vector). Returns their number, or -1 for damage. */
int64_t alp_next(const uint8_t *data, size_t size, struct alp_state *state, uint8_t *values,
                 int64_t room);

/* ---- checksum.c: CRC-32 ----------------------------------------------------------------------- */

/* Whether this machine has what makes it several times as quick as zlib's, which takes its place
 * otherwise. */
int checksum_is_quick(void);

/* Only where it is quick. */
uint32_t checksum(const uint8_t *data, size_t size);

/* ---- byte_streams.c: BYTE_STREAM_SPLIT -------------------------------------------------------- */

/* Put `count` values of `width` bytes together from as many streams of a byte of each, which begin `stride`
 * bytes after each other. */
void join_streams(const uint8_t *streams, size_t stride, size_t count, size_t width,
                  uint8_t *values);

/* ---- orc_runs.c: the run-length encodings of ORC --------------------------------------------- */

enum {
    ORC_DAMAGED = -1,
    ORC_TOO_LARGE = -2, /* a number or a size that we do not take */
    ORC_MOST_RUN = 512,
    ORC_MOST_RUN_BYTES = 4356
};

/* The state of a decoder: the part is decoded up to byte `at`; of the `count` values of a run, those
 * from `next` on remain. `version` is 1 or 2. */
struct orc_integer_runs {
    int version, is_signed;
    int64_t at, next, count;
    uint64_t values[ORC_MOST_RUN];
};

/* The same: `left` bytes of a run remain, which follow in the data if `is_literal`, or else are
 * `value`. */
struct orc_byte_runs {
    int64_t at, left;
    int is_literal;
    uint8_t value;
};

/* Decode up to `room` values from the part `data`. Returns their number, less than `room` only at the
 * end of the part or before a run that it cuts, or ORC_DAMAGED. */
int64_t orc_integers(const uint8_t *data, size_t size, struct orc_integer_runs *runs,
                     uint64_t *values, int64_t room);
int64_t orc_bytes(const uint8_t *data, size_t size, struct orc_byte_runs *runs, uint8_t *values,
                  int64_t room);

/* ---- orc_values.c: values of ORC columns ----------------------------------------------------- */

/* Numbers in arrays of 64-bit words. */
typedef __int128 orc_decimal __attribute__((aligned(8)));

/* The same for zigzag numbers in base 128, from byte *at on. ORC_TOO_LARGE: more than 128 bits. */
int64_t orc_decimals(const uint8_t *data, size_t size, int64_t *at, orc_decimal *values, int64_t room);

/* Make all numbers those of `scale` (0 to 38), cutting off further digits. Returns 0, ORC_DAMAGED for a
 * scale outside of 0 to 38, or ORC_TOO_LARGE for more than 38 digits. */
int orc_rescale(orc_decimal *values, const int64_t *scales, size_t count, int64_t scale);

/* Make numbers those of their lowest 1 to 64 bits, in place. */
void orc_narrow(int64_t *values, size_t count, int bits);

/* The bits from `first` on, the highest of each byte first, as one byte each. Returns how many are
 * set. */
int64_t orc_bits(const uint8_t *packed, size_t first, size_t count, uint8_t *bits);

/* Add to all seconds. Returns 0, or ORC_TOO_LARGE for 2^53 or more before that. */
int orc_shift(int64_t *seconds, size_t count, int64_t by);

/* Seconds, and nanoseconds as they are stored, as times: 0 to 999,999,999 nanoseconds after the second.
 * Returns 0, or ORC_DAMAGED for nanoseconds that are a second or more. */
int orc_settle(int64_t *seconds, int64_t *nanos, size_t count);

/* Such times in milliseconds, rounded down. Returns whether any that is not a whole second lies in
 * [low, high). */
int orc_millis(const int64_t *seconds, const int64_t *nanos, size_t count, int64_t low, int64_t high,
               int64_t *millis);

/* Where values of these lengths start, and where the last one ends: count + 1. Returns the end, or
 * ORC_DAMAGED for a negative length, or ORC_TOO_LARGE for an end beyond `limit`. */
int64_t orc_starts(const int64_t *lengths, size_t count, int64_t limit, int64_t *starts);

/* The same for the entries `picks` of a dictionary, whose entries start at `starts`; ORC_DAMAGED if it
 * lacks one of them. */
int64_t orc_picked_starts(const int64_t *starts, int64_t num_entries, const int64_t *picks,
                          size_t count, int64_t limit, int64_t *picked);

/* The entries that `picks` name, each once and in order, by marking them in `is_used`, all zeros before.
 * Returns their number, or ORC_DAMAGED if the dictionary lacks one. */
int64_t orc_used(const int64_t *picks, size_t count, uint8_t *is_used, int64_t num_entries,
                 int64_t *used);

/* Copy these entries one after the other, after orc_picked_starts. */
void orc_pick(const uint8_t *data, const int64_t *starts, const int64_t *picks, size_t count,
              uint8_t *picked);

/* The positions of the first and the last of these texts by their bytes, of which there is at least one. */
void orc_extremes(const uint8_t *data, const int64_t *starts, size_t count, int64_t *least,
                  int64_t *greatest);

/* ---- thrift_scan.c: byte spans in the compact protocol -------------------------------------- */

enum {
    SCAN_TRUNCATED = -1, /* the bytes end inside a value */
    SCAN_MALFORMED = -2, /* unknown type, overlong number or impossible size */
    SCAN_TOO_DEEP = -3,  /* structs nested deeper than in any footer */
    SCAN_FULL = -4       /* more fields or elements than there is room for */
};

/* One field of a struct: its header begins at `start`, its value is [value, end). */
struct field_span {
    int64_t id, type, start, value, end;
};

/* The end of the struct at `start` (after its STOP byte), or a SCAN_ error with the position of the
 * damage in *where. */
int64_t thrift_struct_end(const uint8_t *data, int64_t size, int64_t start, int64_t *where);

/* Far more fields than any struct of the format has, unknown ones included. */
enum { MAX_FIELDS = 1024 };

/* The fields of the struct at `start`; returns their number or a SCAN_ error. */
int64_t thrift_fields(const uint8_t *data, int64_t size, int64_t start, struct field_span *fields,
                      int64_t room, int64_t *where);

/* The elements of the list at `start`: at most `room + 1` boundaries, the last one the end of the
 * list. Returns the number of elements or a SCAN_ error. */
int64_t thrift_elements(const uint8_t *data, int64_t size, int64_t start, int64_t *boundaries,
                        int64_t room, int64_t *where);

/* The length of the list at `start` (or a SCAN_ error), and the type of its elements. */
int64_t thrift_list_size(const uint8_t *data, int64_t size, int64_t start, int64_t *type,
                         int64_t *where);

/* The numbers read from a column chunk without decoding it; missing ones are ABSENT. */
#define ABSENT INT64_MIN
struct chunk_span {
    int64_t start, end;           /* the ColumnChunk struct */
    int64_t has_file_path;
    int64_t offset_index_offset, offset_index_length;
    int64_t column_index_offset, column_index_length;
    int64_t has_crypto_metadata;
    int64_t meta_start, meta_end; /* its ColumnMetaData, which has the fields below */
    int64_t type, codec, num_values;
    int64_t total_uncompressed_size, total_compressed_size;
    int64_t data_page_offset, index_page_offset, dictionary_page_offset;
    int64_t bloom_filter_offset, bloom_filter_length;
    int64_t null_count, struct_in_statistics; /* of its Statistics; 1 if any field of them is a struct */
    int64_t foreign_pointer;      /* the first of the fields 14 and 15 that is no integer */
};

/* Every column chunk of the RowGroup.columns list at `start`; returns as thrift_elements does. */
int64_t thrift_chunks(const uint8_t *data, int64_t size, int64_t start, struct chunk_span *chunks,
                      int64_t room, int64_t *where);

/* Of the RowGroup at each of `starts`: where its list of columns begins, its num_rows and its ordinal;
 * ABSENT for what is missing, but no rows. A field of another type is as good as missing. Returns 0 or a
 * SCAN_ error. */
int64_t thrift_row_groups(const uint8_t *data, int64_t size, const int64_t *starts, int64_t count,
                          int64_t *columns, int64_t *num_rows, int64_t *ordinals, int64_t *where);

/* Of types of columns and of pages, and of encodings. */
enum { INT32 = 1, INT64 = 2, BYTE_ARRAY = 6, FIXED_LEN_BYTE_ARRAY = 7 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2, DATA_PAGE_V2 = 3 };
enum {
    PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, DELTA_LENGTH_BYTE_ARRAY = 6, DELTA_BYTE_ARRAY = 7,
    BYTE_STREAM_SPLIT = 9, ALP = 10
};

/* The struct in a PageHeader that belongs to its type. */
struct page_details {
    int64_t num_values, encoding;
    int64_t definition_level_encoding, repetition_level_encoding;         /* of DATA_PAGE */
    int64_t definition_levels_byte_length, repetition_levels_byte_length; /* of DATA_PAGE_V2 */
    int64_t is_compressed;
};
#define NO_PAGE_DETAILS (struct page_details){ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT}

/* A PageHeader; ABSENT for what is not there. */
struct page_header {
    int64_t type, uncompressed_page_size, compressed_page_size, crc;
    struct page_details details;
};

/* The header of a page at `start`. Returns its end, or a SCAN_ error. */
int64_t thrift_page_header(const uint8_t *data, int64_t size, int64_t start,
                           struct page_header *header, int64_t *where);

/* ---- whole_pages.c: whole data pages ---------------------------------------------------------- */

/* What the pages of a chunk have in common. `width`: the bytes of a value, 0 for BYTE_ARRAY; it is that of
 * `type`. */
struct page_column {
    int64_t type, width, is_float, max_repetition_level, max_definition_level;
};

/* A page whose body begins with `levels_size` bytes of levels that are not compressed, as in v2; `data` is
 * the rest, decompressed. */
struct whole_page {
    const struct page_header *header;
    const uint8_t *levels, *data;
    size_t levels_size, size;
};

/* Whether pages of such a column in this encoding can be inserted. */
int whole_page_is_known(const struct page_column *column, int64_t encoding);

/* Insert the values of a page whose encoding is known, in turn with other threads, and add HAS_ZERO and
 * HAS_NAN to *specials if they are floats. Returns their number, or -1 if anything about the page is unusual
 * or damaged. */
int64_t whole_page_insert(const struct page_column *column, const struct whole_page *page,
                          uint32_t *words, uint64_t num_blocks, pthread_mutex_t *turn,
                          int *specials);

/* ---- layout.c: byte ranges in order of their starts, and which overlap ------------------------- */

struct byte_range {
    int64_t start, end;
    int64_t reach; /* the greatest end of all ranges up to this one */
};

/* The ranges of pages (at most one per chunk), page indexes (two) and filters (one) that the footer at
 * `end` names; return their number. Sizes and offsets that cannot be give ranges past the end. */
int64_t layout_pages(const struct chunk_span *chunks, int64_t count, int64_t end,
                     struct byte_range *ranges);
int64_t layout_indexes(const struct chunk_span *chunks, int64_t count, int64_t end,
                       struct byte_range *ranges);
int64_t layout_filters(const struct chunk_span *chunks, int64_t count, int64_t end,
                       struct byte_range *ranges);

/* Sort, and set `reach`. */
void layout_order(struct byte_range *ranges, int64_t count);

/* The number of ranges that start before `at`. */
int64_t layout_before(const struct byte_range *ranges, int64_t count, int64_t at);

/* Whether any range but [start, end) itself, which is one of them, overlaps it. */
int layout_overlap_another(const struct byte_range *ranges, int64_t count, int64_t start,
                           int64_t end);

/* ---- ordinary_filters.c ----------------------------------------------------------------------- */

/* `header_bytes` is 0, and nothing else counts, for what is no such filter of its full length. */
struct ordinary_filter {
    int64_t header_bytes, num_bytes, bits_set;
    double fpp;
};

/* Look at what is stored at data[starts[i] .. starts[i] + lengths[i]); the caller has checked these.
 * Returns -1 if there is no memory. */
int ordinary_filters(const uint8_t *data, const int64_t *starts, const int64_t *lengths,
                     int64_t count, struct ordinary_filter *filters);

/* ---- sorted_keys.c: the keys of an index, | hash | place |, ascending -------------------------- */

/* What a page of `count` keys takes at most while it is written. */
int64_t sorted_keys_room(int64_t count);

/* Write a page of `count` >= 1 ascending keys of at most 63 bits; returns its size. */
int64_t sorted_keys_page(const uint64_t *keys, int64_t count, uint8_t *out);

/* The places of hashes but for the first of each, as lists: whether a level repeats the list of the one before and
 * whether it has a place, a bit each; `levels` and `listed` are how many there are. */
struct key_lists {
    uint8_t *repeats, *is_there;
    uint64_t *places;
    int64_t levels, listed;
};

/* Take the first key of each hash, and make lists of the others, for which there is as much room as for keys. Returns
 * how many are first. */
int64_t sorted_keys_fold(const uint64_t *keys, int64_t count, int place_bits, uint64_t *firsts,
                         struct key_lists *lists);

/* Write the page of the lists of so many rows, within twice the room that keys take; returns its size. */
int64_t sorted_keys_lists_page(const struct key_lists *lists, int64_t rows, uint8_t *out);

/* Drop the lowest `drop` bits of the hashes, and give places `place_bits` for the `from_bits` that they had. */
void sorted_keys_narrow(const uint64_t *wide, int64_t count, int from_bits, int drop, int place_bits,
                        uint64_t *keys);

/* Keep each of ascending keys once; returns how many are left. */
int64_t sorted_keys_distinct(uint64_t *keys, int64_t count);

/* Decode a page, up to a key greater than `until`; returns the number of keys, or -1 if it is damaged or has more
 * than `room` - 128. */
int64_t sorted_keys_decode(const uint8_t *page, size_t size, uint64_t until, uint64_t *keys,
                           int64_t room);

/* All keys, of the first ones and the page of their lists, which is decoded to `listed`, of as much room as `keys`.
 * Returns their number, or -1 if the page is damaged or has more. */
int64_t sorted_keys_unfold(const uint64_t *firsts, int64_t rows, const uint8_t *page, size_t size,
                           int place_bits, uint64_t *listed, uint64_t *keys, int64_t room);

/* Have a page at hand soon, which is to be decoded then. */
void sorted_keys_fetch(const uint8_t *page, size_t size);

struct found_key {
    int64_t asked, place;
};

/* Find all places of asked[from .. to), keys without a place, among `count` ascending keys. Returns how many there
 * are, of which the first `room` were written. */
int64_t sorted_keys_find(const uint64_t *keys, int64_t count, const uint64_t *asked, int64_t from,
                         int64_t to, int place_bits, struct found_key *found, int64_t room);

/* The same among the first keys of `rows` hashes and the page of their lists, which is decoded to `listed`; -1 if
 * that is damaged or has more than `listed_room`. Only the lists of what is asked are looked at. */
int64_t sorted_keys_find_folded(const uint64_t *firsts, int64_t rows, const uint8_t *page, size_t size,
                                uint64_t *listed, int64_t listed_room, const uint64_t *asked,
                                int64_t from, int64_t to, int place_bits, struct found_key *found,
                                int64_t room);

/* ---- key_parts.c: keys in parts, by their highest bits ------------------------------------------ */

/* 2^bits parts of `keys`, | hash | place_bits |: where each begins, up to where the last one ends, and where it ends
 * by now. `lines` are the last keys of each. */
enum { KEYS_IN_LINE = 8 };
struct key_parts {
    int bits, place_bits;
    const int64_t *starts;
    int64_t *ends;
    uint64_t *lines, *keys;
};

/* Add how many hashes are in each part. */
void key_parts_count(const uint64_t *hashes, int64_t count, int bits, int64_t *of_parts);

/* Put the keys of hashes in one place behind the others of their parts, which have room for them. */
void key_parts_deal(const uint64_t *hashes, int64_t count, uint64_t place, struct key_parts *parts);

/* Put there what is still in lines. */
void key_parts_end(struct key_parts *parts);

/* ---- slices.c: the same bit of many split block filters side by side ---------------------------- */

/* Of a block, each of (count + 7) / 8 bytes for so many filters, of which filter k is bit 7 - k % 8 of byte k / 8. */
enum { SLICE_ROWS = 256 };

/* The rows of blocks first .. first + num_blocks of `count` filters. Bits of no filter are clear. */
void slices_turn(const uint8_t *const *filters, int64_t count, int64_t first, int64_t num_blocks,
                 uint8_t *pages);

/* Copy slots from_slot .. from_slot + count of each row to those from to_slot on of another. */
void slices_copy(const uint8_t *from, size_t from_width, int64_t from_slot, uint8_t *to,
                 size_t to_width, int64_t to_slot, int64_t count, size_t rows);

struct found_slot {
    int64_t asked, slot;
};

/* Find the slots below `num_slots` whose bits are set in all of these rows. Returns how many there are, of which the
 * first `room` were written. */
int64_t slices_find(const uint8_t *const rows[WORDS_PER_BLOCK], size_t width, int64_t num_slots,
                    int64_t asked, struct found_slot *found, int64_t room);

#endif
