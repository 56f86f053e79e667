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
#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* For positions x < 2^31, x / num_bits is exactly x * multiplier >> shift. The multiplier is
 * 2^shift / num_bits, rounded up, and fits 32 bits.
 * Source: Granlund, Montgomery, "Division by Invariant Integers using Multiplication". */
struct divisor {
    uint32_t num_bits, multiplier, shift;
};

static struct divisor divisor_of(uint32_t num_bits) {
    uint32_t log = 0;
    while (((uint64_t)1 << log) < num_bits) log++;
    uint64_t multiplier = ((uint64_t)1 << (31 + log)) / num_bits + 1;
    return (struct divisor){num_bits, (uint32_t)multiplier, 31 + log};
}

/* The current positions of up to BATCH hashes, and the bit of each: its 32-bit word, and the bit in that
 * word. To find them in vectors leaves only a load and an OR for each bit that is set. */
struct walk {
    uint32_t at[BATCH], step[BATCH], word[BATCH], mask[BATCH];
};

/* The words of filters, which are little-endian, as twice as many. */
typedef uint32_t half_word __attribute__((may_alias));

static void start(struct walk *walk, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        walk->at[i] = (uint32_t)hashes[i];
        walk->step[i] = (uint32_t)(hashes[i] >> 32);
    }
}

/* Advance all hashes by one step at a time: half the time of one hash after the other. A negative
 * number is replaced by its complement. */
static void next_any(struct walk *walk, struct divisor by) {
    uint32_t bit[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        uint32_t c = walk->at[i] += walk->step[i];
        c ^= (uint32_t)((int32_t)c >> 31);
        bit[i] = c - (uint32_t)((uint64_t)c * by.multiplier >> by.shift) * by.num_bits;
    }
    for (size_t i = 0; i < BATCH; i++) {
        walk->word[i] = bit[i] >> 5;
        walk->mask[i] = (uint32_t)1 << (bit[i] & 31);
    }
}

#if defined(__x86_64__)
/* The same, eight at a time. Products have 64 bits: those of even and of odd numbers by themselves. Left
 * to the compiler, the numbers are moved about for that, which takes as long again. */
__attribute__((target("avx2"))) static void next_avx2(struct walk *walk, struct divisor by) {
    const __m256i multiplier = _mm256_set1_epi32((int)by.multiplier);
    const __m256i num_bits = _mm256_set1_epi32((int)by.num_bits);
    const __m128i shift = _mm_cvtsi32_si128((int)by.shift);
    const __m128i shift_high = _mm_cvtsi32_si128((int)by.shift - 32);
    for (size_t i = 0; i < BATCH; i += 8) {
        __m256i c = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(walk->at + i)),
                                     _mm256_loadu_si256((const __m256i *)(walk->step + i)));
        _mm256_storeu_si256((__m256i *)(walk->at + i), c);
        c = _mm256_xor_si256(c, _mm256_srai_epi32(c, 31));
        __m256i even = _mm256_srl_epi64(_mm256_mul_epu32(c, multiplier), shift);
        __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(c, 32), multiplier);
        __m256i quotient = _mm256_blend_epi32(even, _mm256_srl_epi32(odd, shift_high), 0xaa);
        __m256i multiple = _mm256_mullo_epi32(quotient, num_bits);
        __m256i bit = _mm256_sub_epi32(c, multiple);
        __m256i mask = _mm256_sllv_epi32(_mm256_set1_epi32(1),
                                         _mm256_and_si256(bit, _mm256_set1_epi32(31)));
        _mm256_storeu_si256((__m256i *)(walk->word + i), _mm256_srli_epi32(bit, 5));
        _mm256_storeu_si256((__m256i *)(walk->mask + i), mask);
    }
}
/* The same, sixteen at a time. */
__attribute__((target("avx512f,avx512dq,avx512vl"))) static void next_avx512(struct walk *walk,
                                                                             struct divisor by) {
    const __m512i multiplier = _mm512_set1_epi32((int)by.multiplier);
    const __m512i num_bits = _mm512_set1_epi32((int)by.num_bits);
    const __m128i shift = _mm_cvtsi32_si128((int)by.shift);
    const __m128i shift_high = _mm_cvtsi32_si128((int)by.shift - 32);
    for (size_t i = 0; i < BATCH; i += 16) {
        __m512i c = _mm512_add_epi32(_mm512_loadu_si512(walk->at + i),
                                     _mm512_loadu_si512(walk->step + i));
        _mm512_storeu_si512(walk->at + i, c);
        c = _mm512_xor_si512(c, _mm512_srai_epi32(c, 31));
        __m512i even = _mm512_srl_epi64(_mm512_mul_epu32(c, multiplier), shift);
        __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(c, 32), multiplier);
        __m512i quotient = _mm512_mask_srl_epi32(even, 0xaaaa, odd, shift_high);
        __m512i multiple = _mm512_mullo_epi32(quotient, num_bits);
        __m512i bit = _mm512_sub_epi32(c, multiple);
        __m512i mask = _mm512_sllv_epi32(_mm512_set1_epi32(1),
                                         _mm512_and_si512(bit, _mm512_set1_epi32(31)));
        _mm512_storeu_si512(walk->word + i, _mm512_srli_epi32(bit, 5));
        _mm512_storeu_si512(walk->mask + i, mask);
    }
}
#else
static void next_avx2(struct walk *walk, struct divisor by) { next_any(walk, by); }
static void next_avx512(struct walk *walk, struct divisor by) { next_any(walk, by); }
#endif

/* The fastest way on this machine; numbers of several at a time are shifted by 32 or more. */
static void (*next_for(struct divisor by))(struct walk *, struct divisor) {
    if (by.shift < 32 || code_path() < WITH_AVX2) return next_any;
    return code_path() == WITH_AVX512 ? next_avx512 : next_avx2;
}

/* A filter into which hashes go. */
struct inserter {
    half_word *words;
    uint32_t num_hashes;
    struct divisor by;
    void (*next)(struct walk *, struct divisor);
    struct walk walk;
};

static struct inserter inserter_of(uint64_t *words, uint32_t num_bits, uint32_t num_hashes) {
    struct divisor by = divisor_of(num_bits);
    return (struct inserter){
        .words = (half_word *)words, .num_hashes = num_hashes, .by = by, .next = next_for(by)};
}

/* Insert up to BATCH hashes. */
static void insert_some(struct inserter *to, const uint64_t *hashes, size_t count) {
    struct walk *walk = &to->walk;
    half_word *words = to->words;
    start(walk, hashes, count);
    for (uint32_t k = 0; k < to->num_hashes; k++) {
        to->next(walk, to->by);
        if (count == BATCH) {
#pragma GCC unroll 8
            for (size_t i = 0; i < BATCH; i++) words[walk->word[i]] |= walk->mask[i];
        } else {
            for (size_t i = 0; i < count; i++) words[walk->word[i]] |= walk->mask[i];
        }
    }
}

/* The size of the batch that begins at value `i`. */
INLINE size_t batch_at(size_t i, size_t count) { return count - i < BATCH ? count - i : BATCH; }

void k_hash_insert(uint64_t *words, uint32_t num_bits, uint32_t num_hashes, const uint64_t *hashes,
                   size_t count) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    for (size_t i = 0; i < count; i += BATCH) insert_some(&to, hashes + i, batch_at(i, count));
}

void k_hash_insert_numbers(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                           const int64_t *values, size_t count) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        wang(values + i, batch_at(i, count), hashes);
        insert_some(&to, hashes, batch_at(i, count));
    }
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
}

void k_hash_insert_decimals(uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                            const uint8_t *values, size_t count, int scale, uint64_t seed) {
    struct inserter to = inserter_of(words, num_bits, num_hashes);
    uint64_t hashes[BATCH];
    for (size_t i = 0; i < count; i += BATCH) {
        hive64_decimals(values + 16 * i, batch_at(i, count), scale, seed, hashes);
        insert_some(&to, hashes, batch_at(i, count));
    }
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
}

uint64_t k_hash_bits_set(const uint64_t *words, size_t count) {
    const size_t words_of_block = WORDS_PER_BLOCK / 2;
    /* Not every processor counts bits by itself; whoever counts those of blocks has found out. */
    uint64_t bits = split_block_popcount((const uint32_t *)words, count / words_of_block);
    for (size_t i = count - count % words_of_block; i < count; i++)
        bits += (uint64_t)__builtin_popcountll(words[i]);
    return bits;
}

/* Add to `missing` the bits of a step that are clear. The words that have them are fetched first: so
 * vectors do the rest. */
INLINE void add_missing(const half_word *words, struct walk *walk, size_t count,
                        uint32_t *missing) {
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i++) walk->word[i] = words[walk->word[i]];
    for (size_t i = 0; i < count; i++) missing[i] |= walk->mask[i] & ~walk->word[i];
}

void k_hash_check(const uint64_t *words, uint32_t num_bits, uint32_t num_hashes,
                  const uint64_t *hashes, size_t count, uint8_t *found) {
    struct divisor by = divisor_of(num_bits);
    void (*next)(struct walk *, struct divisor) = next_for(by);
    const half_word *halves = (const half_word *)words;
    struct walk walk = {0};
    for (size_t n; count > 0; hashes += n, found += n, count -= n) {
        n = batch_at(0, count);
        uint32_t missing[BATCH] = {0};
        start(&walk, hashes, n);
        for (uint32_t k = 0; k < num_hashes; k++) {
            next(&walk, by);
            if (n == BATCH)
                add_missing(halves, &walk, BATCH, missing);
            else
                add_missing(halves, &walk, n, missing);
        }
        for (size_t i = 0; i < n; i++) found[i] = missing[i] == 0;
    }
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
