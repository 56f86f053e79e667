/* Split block Bloom filters (parquet-format, BloomFilter.md).
 *
 *   filter = num_blocks blocks      block = 8 words      word = 32 bits
 *   hash   = [ high half: the block | low half: the bit in each of the block's words ]
 */
#include "kernel.h"

/* A block is eight 32-bit words. The compiler lowers this type to one AVX2 register or two SSE2
 * registers, at -O2 and -O3 alike; a plain loop over the words is 4x slower at -O3 (GCC 12). */
typedef uint32_t block __attribute__((vector_size(32), aligned(4), may_alias));

static const block ONE = {1, 1, 1, 1, 1, 1, 1, 1};
static const block SALT = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                           0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/* One bit set in each word: bit (low half * salt) >> 27. */
#define MASK(hash) (ONE << (((uint32_t)(hash) * SALT) >> 27))

/* Filters outgrow the near caches, so a block is prefetched AHEAD values before it is used. The blocks of
 * a GROUP are found together, which compilers do in vectors. */
enum { GROUP = 8, AHEAD = 64 };

/* With AVX-512, so few instructions insert a value that processors come to the blocks of as many others
 * meanwhile. Up to this size, that is early enough, and prefetching them takes a third longer. */
enum { NEAR_BLOCKS = (2 << 20) / sizeof(block) };

/* Where the block of a hash lies, in bytes. The high half selects it, by multiply-shift instead of modulo;
 * with a number of 32 bits, vectors multiply once instead of three times. */
INLINE uint64_t block_at(uint64_t hash, uint32_t num_blocks) {
    return ((hash >> 32) * num_blocks >> 32) * sizeof(block);
}

INLINE void find_blocks(const char *blocks, uint32_t num_blocks, const uint64_t *hashes,
                        uint64_t *found, int is_written) {
    for (int k = 0; k < GROUP; k++) found[k] = block_at(hashes[k], num_blocks);
    /* It takes longer to pick them out of a vector than to load them again. */
    __asm__ volatile("" ::: "memory");
    for (int k = 0; k < GROUP; k++) {
        if (is_written)
            __builtin_prefetch(blocks + found[k], 1);
        else
            __builtin_prefetch(blocks + found[k], 0);
    }
}

/* Call use(i, place of the block) for every hash i. */
#define FOR_ALL_BLOCKS(words, num_blocks, hashes, count, is_written, use)                          \
    do {                                                                                           \
        char *blocks = (char *)(words);                                                            \
        uint64_t ahead[AHEAD];                                                                     \
        size_t whole = (count) - (count) % GROUP, before = whole < AHEAD ? whole : AHEAD;          \
        for (size_t i = 0; i < before; i += GROUP)                                                 \
            find_blocks(blocks, num_blocks, (hashes) + i, ahead + i, is_written);                  \
        for (size_t i = 0; i < whole; i += GROUP) {                                                \
            uint64_t *group = ahead + i % AHEAD;                                                   \
            for (int k = 0; k < GROUP; k++) use(i + (size_t)k, (block *)(blocks + group[k]));      \
            if (i + AHEAD < whole)                                                                 \
                find_blocks(blocks, num_blocks, (hashes) + i + AHEAD, group, is_written);          \
        }                                                                                          \
        for (size_t i = whole; i < (count); i++)                                                   \
            use(i, (block *)(blocks + block_at((hashes)[i], num_blocks)));                         \
    } while (0)

INLINE void insert_all(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count) {
#define INSERT(i, stored) *(stored) |= MASK(hashes[i])
    FOR_ALL_BLOCKS(words, (uint32_t)num_blocks, hashes, count, 1, INSERT);
}

INLINE uint8_t has_mask_any(block stored, block mask) {
    block clear = mask & ~stored;
    uint64_t quarter[4];
    memcpy(quarter, &clear, sizeof clear);
    return (quarter[0] | quarter[1] | quarter[2] | quarter[3]) == 0;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Every processor with AVX2 also has popcnt. */
#define AVX2 __attribute__((target("avx2,popcnt")))

/* An instruction that compilers do not think of. */
AVX2 INLINE uint8_t has_mask_avx2(block stored, block mask) {
    return (uint8_t)_mm256_testc_si256((__m256i)stored, (__m256i)mask);
}
#else
#define AVX2
#define has_mask_avx2 has_mask_any
#endif

INLINE uint64_t popcount_all(const uint32_t *words, uint64_t num_blocks) {
    uint64_t bits = 0;
    for (uint64_t i = 0; i < num_blocks * WORDS_PER_BLOCK; i++)
        bits += (uint64_t)__builtin_popcount(words[i]);
    return bits;
}

INLINE double block_product(const uint32_t *words) {
    uint64_t product = 1;
    for (uint64_t k = 0; k < WORDS_PER_BLOCK; k++) product *= (uint64_t)__builtin_popcount(words[k]);
    return (double)product;
}

/* What is found of random hashes in `num_blocks` blocks whose products have this sum. */
INLINE double share_found(double sum, uint64_t num_blocks) {
    return sum / (double)num_blocks / 1099511627776.0 /* 32^8 */;
}

INLINE double fpp_all(const uint32_t *words, uint64_t num_blocks) {
    double sum = 0;
    for (uint64_t i = 0; i < num_blocks; i++) sum += block_product(words + i * WORDS_PER_BLOCK);
    return share_found(sum, num_blocks);
}

INLINE double halved_fpp_all(const uint32_t *words, uint64_t num_blocks, double most) {
    const block *blocks = (const block *)words;
    double sum = 0;
    for (uint64_t i = 0; i < num_blocks; i += 2) {
        uint32_t joined[WORDS_PER_BLOCK];
        block both = blocks[i] | blocks[i + 1];
        memcpy(joined, &both, sizeof joined);
        sum += block_product(joined);
        if (i % 1024 == 0 && share_found(sum, num_blocks / 2) > most) break;
    }
    return share_found(sum, num_blocks / 2);
}

/* Compile each of the five for any processor and for those with AVX2. */
#define PATH(name, attribute)                                                                      \
    attribute static void insert_##name(uint32_t *w, uint64_t z, const uint64_t *h, size_t n) {    \
        insert_all(w, z, h, n);                                                                    \
    }                                                                                              \
    attribute static void check_##name(const uint32_t *w, uint64_t z, const uint64_t *h, size_t n, \
                                       uint8_t *found) {                                           \
        FOR_ALL_BLOCKS(w, (uint32_t)z, h, n, 0, CHECK_##name);                                     \
    }                                                                                              \
    attribute static uint64_t popcount_##name(const uint32_t *w, uint64_t z) {                     \
        return popcount_all(w, z);                                                                 \
    }                                                                                              \
    attribute static double fpp_##name(const uint32_t *w, uint64_t z) { return fpp_all(w, z); }    \
    attribute static double halved_fpp_##name(const uint32_t *w, uint64_t z, double most) {        \
        return halved_fpp_all(w, z, most);                                                         \
    }

#define CHECK_any(i, stored) found[i] = has_mask_any(*(stored), MASK(h[i]))
#define CHECK_avx2(i, stored) found[i] = has_mask_avx2(*(stored), MASK(h[i]))
PATH(any, )
PATH(avx2, AVX2)

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#define ALL_512(x) _mm512_set1_epi64((long long)(x))

/* Find the blocks of a group, in one vector. */
AVX512 INLINE void find_group(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                              block **found, int is_far) {
    __m512i high = _mm512_srli_epi64(_mm512_loadu_si512(hashes), 32);
    __m512i at = _mm512_srli_epi64(_mm512_mul_epu32(high, ALL_512(num_blocks)), 27);
    at = _mm512_and_si512(at, ALL_512(0 - sizeof(block)));
    _mm512_storeu_si512(found, _mm512_add_epi64(at, ALL_512((uintptr_t)words)));
    /* It takes longer to pick them out of a vector than to load them again. */
    __asm__ volatile("" ::: "memory");
    for (int k = 0; is_far && k < GROUP; k++) __builtin_prefetch(found[k]);
}

/* The masks of the hashes k and k + 1 of a group. */
AVX512 INLINE __m512i two_masks(__m512i hashes, int k) {
    const __m512i pair = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
    __m512i salt = _mm512_broadcast_i64x4((__m256i)SALT);
    __m512i low = _mm512_permutexvar_epi32(_mm512_add_epi32(pair, _mm512_set1_epi32(2 * k)), hashes);
    __m512i bits = _mm512_srli_epi32(_mm512_mullo_epi32(low, salt), 27);
    return _mm512_sllv_epi32(_mm512_set1_epi32(1), bits);
}

/* Call use(i, block, mask) for every hash i of whole groups. */
#define FOR_ALL_GROUPS(words, num_blocks, hashes, whole, is_far, use)                              \
    do {                                                                                           \
        block *ahead[AHEAD];                                                                       \
        for (size_t i = 0; i < (whole) && i < AHEAD; i += GROUP)                                   \
            find_group(words, num_blocks, (hashes) + i, ahead + i, is_far);                        \
        for (size_t i = 0; i < (whole); i += GROUP) {                                              \
            block **group = ahead + i % AHEAD;                                                     \
            __m512i some = _mm512_loadu_si512((hashes) + i);                                       \
            for (int k = 0; k < GROUP; k += 2) {                                                   \
                __m512i masks = two_masks(some, k);                                                \
                use(i + (size_t)k, group[k], (block)_mm512_castsi512_si256(masks));                \
                use(i + (size_t)k + 1, group[k + 1], (block)_mm512_extracti64x4_epi64(masks, 1));  \
            }                                                                                      \
            if (i + AHEAD < (whole))                                                               \
                find_group(words, num_blocks, (hashes) + i + AHEAD, group, is_far);                \
        }                                                                                          \
    } while (0)

AVX512 INLINE void insert_groups(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                 size_t whole, int is_far) {
#define INSERT_MASK(i, stored, mask) *(stored) |= (mask)
    FOR_ALL_GROUPS(words, num_blocks, hashes, whole, is_far, INSERT_MASK);
}

AVX512 INLINE void check_groups(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                size_t whole, uint8_t *found, int is_far) {
#define CHECK_MASK(i, stored, mask) found[i] = has_mask_avx2(*(stored), mask)
    FOR_ALL_GROUPS(words, num_blocks, hashes, whole, is_far, CHECK_MASK);
}

AVX512 static void insert_avx512(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                 size_t count) {
    size_t whole = count - count % GROUP;
    if (num_blocks > NEAR_BLOCKS)
        insert_groups(words, num_blocks, hashes, whole, 1);
    else
        insert_groups(words, num_blocks, hashes, whole, 0);
    insert_avx2(words, num_blocks, hashes + whole, count - whole);
}

AVX512 static void check_avx512(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                size_t count, uint8_t *found) {
    size_t whole = count - count % GROUP;
    if (num_blocks > NEAR_BLOCKS)
        check_groups(words, num_blocks, hashes, whole, found, 1);
    else
        check_groups(words, num_blocks, hashes, whole, found, 0);
    check_avx2(words, num_blocks, hashes + whole, count - whole, found + whole);
}
#else
#define insert_avx512 insert_avx2
#define check_avx512 check_avx2
#endif

/* The function of this name for this machine. */
#define CHOSEN(name) (code_path() >= WITH_AVX2 ? name##_avx2 : name##_any)

void split_block_insert(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                        size_t count) {
    if (code_path() == WITH_AVX512)
        insert_avx512(words, num_blocks, hashes, count);
    else
        CHOSEN(insert)(words, num_blocks, hashes, count);
}

void split_block_check(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                       size_t count, uint8_t *found) {
    if (code_path() == WITH_AVX512)
        check_avx512(words, num_blocks, hashes, count, found);
    else
        CHOSEN(check)(words, num_blocks, hashes, count, found);
}

void split_block_fold(const uint32_t *words, uint64_t num_blocks, uint64_t factor,
                      uint32_t *folded) {
    const block *blocks = (const block *)words;
    block *out = (block *)folded;
    for (uint64_t i = 0; i < num_blocks / factor; i++) {
        block joined = blocks[i * factor];
        for (uint64_t k = 1; k < factor; k++) joined |= blocks[i * factor + k];
        out[i] = joined;
    }
}

void split_block_unite(uint32_t *words, const uint32_t *others, uint64_t num_blocks) {
    block *blocks = (block *)words;
    const block *more = (const block *)others;
    for (uint64_t i = 0; i < num_blocks; i++) blocks[i] |= more[i];
}

uint64_t split_block_popcount(const uint32_t *words, uint64_t num_blocks) {
    return CHOSEN(popcount)(words, num_blocks);
}

double split_block_fpp(const uint32_t *words, uint64_t num_blocks) {
    return CHOSEN(fpp)(words, num_blocks);
}

double split_block_halved_fpp(const uint32_t *words, uint64_t num_blocks, double most) {
    return CHOSEN(halved_fpp)(words, num_blocks, most);
}
