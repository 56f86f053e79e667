/* Bloom filters of num_bits bits with k positions per value, all derived from one hash.
 *
 *   filter = num_bits bits, 64 per word, bit 0 the lowest of word 0
 *   32-bit positions   c starts with the low half, c += high half modulo 2^32; ~c if negative
 *   64-bit positions   c starts with the first 64 bits, then c += the last 64 bits; without sign bit
 *   bit                c mod num_bits
 *
 * Sources: orc-core, org.apache.orc.util.BloomFilter; Guava, BloomFilterStrategies, which calls the two
 * MURMUR128_MITZ_32 and MURMUR128_MITZ_64; Kirsch and Mitzenmacher, "Less Hashing, Same Performance".
 */
#include "k_hash_bits.h"

/* The words of filters, which are little-endian, as twice as many. */
typedef uint32_t half_word __attribute__((may_alias));

/* Bits are found this many rows before they are set: what finds them has long latencies, and what sets
 * them waits for nothing but its turn to store, once in a cycle. */
enum { ROWS_AHEAD = 8 };

/* A filter into which hashes go. The next row of bits to be set, and to be found thereafter, is `next`. */
struct inserter {
    half_word *words;
    uint32_t num_hashes;
    struct divisor by;
    size_t next;
    struct row_bits ahead[ROWS_AHEAD];
};

/* The rows ahead set no bit. */
static struct inserter inserter_of(uint64_t *words, uint32_t num_bits, uint32_t num_hashes) {
    return (struct inserter){
        .words = (half_word *)words, .num_hashes = num_hashes, .by = divisor_of(num_bits)};
}

INLINE void set_row(half_word *words, const struct row_bits *bits) {
#pragma GCC unroll 16
    for (size_t i = 0; i < ROW; i++) words[bits->word[i]] |= bits->mask[i];
}

/* Add to `missing` the bits that are clear. The words that have them are fetched first: so vectors do the
 * rest. */
INLINE void add_missing(const half_word *words, struct row_bits *bits, uint32_t *missing) {
#pragma GCC unroll 16
    for (size_t i = 0; i < ROW; i++) bits->word[i] = words[bits->word[i]];
    for (size_t i = 0; i < ROW; i++) missing[i] |= bits->mask[i] & ~bits->word[i];
}

/* The hashes from `i` on, where a row is: there, or in `room` the last ones, and the first of them in place
 * of those that are not there. */
INLINE const uint64_t *row_at(const uint64_t *hashes, size_t i, size_t count, uint64_t *room) {
    if (count - i >= ROW) return hashes + i;
    for (size_t j = 0; j < ROW; j++) room[j] = hashes[i + j < count ? i + j : i];
    return room;
}

/* Insert hashes but for the bits ahead, and look hashes up. */
#define K_HASH_PATH(path, attribute)                                                               \
    attribute static void insert_##path(struct inserter *to, const uint64_t *hashes,               \
                                        size_t count) {                                            \
        const struct divisor by = to->by;                                                          \
        half_word *words = to->words;                                                              \
        size_t next = to->next;                                                                    \
        uint64_t room[ROW];                                                                        \
        for (size_t i = 0; i < count; i += ROW) {                                                  \
            struct row row = row_##path(row_at(hashes, i, count, room));                           \
            for (uint32_t k = 0; k < to->num_hashes; k++) {                                        \
                set_row(words, to->ahead + next);                                                  \
                next_##path(&row, by, to->ahead + next);                                           \
                next = (next + 1) % ROWS_AHEAD;                                                    \
            }                                                                                      \
        }                                                                                          \
        to->next = next;                                                                           \
    }                                                                                              \
    attribute static void check_##path(const half_word *words, struct divisor by,                  \
                                       uint32_t num_hashes, const uint64_t *hashes, size_t count,  \
                                       uint8_t *found) {                                           \
        struct row_bits bits;                                                                      \
        uint64_t room[ROW];                                                                        \
        for (size_t i = 0; i < count; i += ROW) {                                                  \
            size_t n = count - i < ROW ? count - i : ROW;                                          \
            struct row row = row_##path(row_at(hashes, i, count, room));                           \
            uint32_t missing[ROW] = {0};                                                           \
            for (uint32_t k = 0; k < num_hashes; k++) {                                            \
                next_##path(&row, by, &bits);                                                      \
                add_missing(words, &bits, missing);                                                \
            }                                                                                      \
            for (size_t j = 0; j < n; j++) found[i + j] = missing[j] == 0;                         \
        }                                                                                          \
    }

K_HASH_PATH(any, )

#if defined(__x86_64__)
K_HASH_PATH(avx2, __attribute__((target("avx2"))))
K_HASH_PATH(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#else
#define insert_avx2 insert_any
#define insert_avx512 insert_any
#define check_avx2 check_any
#define check_avx512 check_any
#endif

static void insert_some(struct inserter *to, const uint64_t *hashes, size_t count) {
    static void (*const paths[])(struct inserter *, const uint64_t *, size_t) = {
        insert_any, insert_avx2, insert_avx512};
    paths[code_path()](to, hashes, count);
}

/* Set the bits ahead, after the last hash. */
static void finish(struct inserter *to) {
    for (size_t i = 0; i < ROWS_AHEAD; i++) set_row(to->words, to->ahead + i);
}

/* The size of the batch that begins at value `i`. */
INLINE size_t batch_at(size_t i, size_t count) { return count - i < BATCH ? count - i : BATCH; }

void k_hash_insert(uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint64_t *hashes,
                   size_t count) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    insert_some(&to, hashes, count);
    finish(&to);
}

void k_hash_insert_numbers(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                           const int64_t *values, size_t count) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        wang(values + i, batch_at(i, count), hashes);
        insert_some(&to, hashes, batch_at(i, count));
    }
    finish(&to);
}

void k_hash_insert_texts(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                         const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                         uint64_t seed) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        hive64_slices(data, size, starts + i, batch_at(i, count), 0, seed, hashes);
        insert_some(&to, hashes, batch_at(i, count));
    }
    finish(&to);
}

void k_hash_insert_decimals(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                            const uint8_t *values, size_t count, int scale, uint64_t seed) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        hive64_decimals(values + 16 * i, batch_at(i, count), scale, seed, hashes);
        insert_some(&to, hashes, batch_at(i, count));
    }
    finish(&to);
}

void k_hash_insert_floats(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                          const uint8_t *values, size_t count, size_t width) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    int64_t keys[BATCH];
    uint64_t hashes[BATCH];
    int specials = 0;
    for (size_t i = 0; i < count; i += BATCH) {
        size_t n = batch_at(i, count);
        specials |= plain_float_specials(values + width * i, n, width);
        if (width == 4) {
            for (size_t j = 0; j < n; j++) {
                float narrow;
                memcpy(&narrow, values + 4 * (i + j), sizeof narrow);
                double wide = narrow;
                memcpy(keys + j, &wide, sizeof wide);
            }
        } else {
            memcpy(keys, values + 8 * i, 8 * n);
        }
        wang(keys, n, hashes);
        insert_some(&to, hashes, n);
    }
    /* Both zeros are one value, and what is not a number is the canonical NaN for Java. */
    static const int64_t others[] = {0, INT64_MIN, 0x7ff8000000000000};
    size_t first = specials & HAS_ZERO ? 0 : 2, end = specials & HAS_NAN ? 3 : 2;
    if (first < end) {
        wang(others + first, end - first, hashes);
        insert_some(&to, hashes, end - first);
    }
    finish(&to);
}

uint64_t k_hash_bits_set(const uint64_t *words, size_t count) {
    const size_t words_of_block = WORDS_PER_BLOCK / 2;
    /* Not every processor counts bits by itself; whoever counts those of blocks has found out. */
    uint64_t bits = split_block_popcount((const uint32_t *)words, count / words_of_block);
    for (size_t i = count - count % words_of_block; i < count; i++)
        bits += (uint64_t)__builtin_popcountll(words[i]);
    return bits;
}

void k_hash_check(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                  const uint64_t *hashes, size_t count, uint8_t *found) {
    static void (*const paths[])(const half_word *, struct divisor, uint32_t, const uint64_t *,
                                 size_t, uint8_t *) = {check_any, check_avx2, check_avx512};
    paths[code_path()]((const half_word *)words, divisor_of(num_bits), num_hashes, hashes, count,
                       found);
}

void k_hash_insert_wide(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                        const struct murmur3_hash *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t c = hashes[i].low;
        for (uint32_t k = 0; k < num_hashes; k++, c += hashes[i].high) {
            uint64_t bit = (c & INT64_MAX) % num_bits;
            words[bit >> 6] |= (uint64_t)1 << (bit & 63);
        }
    }
}

void k_hash_check_wide(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                       const struct murmur3_hash *hashes, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++) {
        uint64_t c = hashes[i].low;
        uint32_t k = 0;
        for (; k < num_hashes; k++, c += hashes[i].high) {
            uint64_t bit = (c & INT64_MAX) % num_bits;
            if (!(words[bit >> 6] >> (bit & 63) & 1)) break;
        }
        found[i] = k == num_hashes;
    }
}

/* Thomas Wang's 64-bit hash as in Hive and ORC Java: with arithmetic shifts, since Java's numbers are
 * signed. No instruction of x86 before AVX-512 shifts several such numbers at once, but these do. */
INLINE uint64_t arithmetic(uint64_t x, int by) {
    const uint64_t sign = (uint64_t)1 << (63 - by);
    return ((x >> by) ^ sign) - sign;
}

INLINE uint64_t signed_shift(uint64_t x, int by) { return (uint64_t)((int64_t)x >> by); }

/* With the logical shifts of the original, as in ORC C++ 1.6 and 1.7.0 (ORC-1024). */
INLINE uint64_t logical(uint64_t x, int by) { return x >> by; }

#define WANG_PATH(name, shifted, attribute)                                                        \
    attribute static void name(const int64_t *values, size_t count, uint64_t *hashes) {            \
        for (size_t i = 0; i < count; i++) {                                                       \
            uint64_t x = (uint64_t)values[i];                                                      \
            x = ~x + (x << 21);                                                                    \
            x ^= shifted(x, 24);                                                                   \
            x += (x << 3) + (x << 8);                                                              \
            x ^= shifted(x, 14);                                                                   \
            x += (x << 2) + (x << 4);                                                              \
            x ^= shifted(x, 28);                                                                   \
            hashes[i] = x + (x << 31);                                                             \
        }                                                                                          \
    }

WANG_PATH(wang_logical_any, logical, )

#if defined(__x86_64__)
WANG_PATH(wang_any, arithmetic, )
WANG_PATH(wang_avx2, arithmetic, __attribute__((target("avx2"))))
WANG_PATH(wang_logical_avx2, logical, __attribute__((target("avx2"))))
WANG_PATH(wang_avx512, signed_shift, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#else
/* NEON has such shifts. */
WANG_PATH(wang_any, signed_shift, )
#define wang_avx2 wang_any
#define wang_avx512 wang_any
#define wang_logical_avx2 wang_logical_any
#endif

void wang(const int64_t *values, size_t count, uint64_t *hashes) {
    static void (*const paths[])(const int64_t *, size_t, uint64_t *) = {wang_any, wang_avx2, wang_avx512};
    paths[code_path()](values, count, hashes);
}

void wang_logical(const int64_t *values, size_t count, uint64_t *hashes) {
    (code_path() >= WITH_AVX2 ? wang_logical_avx2 : wang_logical_any)(values, count, hashes);
}
