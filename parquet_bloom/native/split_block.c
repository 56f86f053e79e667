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

void split_block_bits(uint64_t hash, uint32_t bits[WORDS_PER_BLOCK]) {
    block found = ((uint32_t)hash * SALT) >> 27;
    memcpy(bits, &found, sizeof found);
}

INLINE void insert_all(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count) {
#define INSERT(i, stored) *(stored) |= MASK(hashes[i])
    FOR_ALL_BLOCKS(words, (uint32_t)num_blocks, hashes, count, 1, INSERT);
}

/* Takes no block by value: without AVX2, clang warns of an ABI that no inlined function has. */
INLINE uint8_t has_mask_any(const block *stored, uint64_t hash) {
    block clear = MASK(hash) & ~*stored;
    uint64_t quarter[4];
    memcpy(quarter, &clear, sizeof clear);
    return (quarter[0] | quarter[1] | quarter[2] | quarter[3]) == 0;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Every processor with AVX2 also has popcnt. What is inlined needs no more than what it is inlined into. */
#define AVX2_PARTS "avx2,popcnt"
#define AVX2 __attribute__((target(AVX2_PARTS)))

/* An instruction that compilers do not think of. */
AVX2 INLINE uint8_t has_mask_avx2(block stored, block mask) {
    return (uint8_t)_mm256_testc_si256((__m256i)stored, (__m256i)mask);
}
#endif

/* Two words at a time: processors count the bits of both as quickly. */
typedef uint64_t word_pair __attribute__((aligned(4), may_alias));

INLINE uint64_t popcount_all(const uint32_t *words, uint64_t num_blocks) {
    const word_pair *pairs = (const word_pair *)words;
    uint64_t bits = 0;
    for (uint64_t i = 0; i < num_blocks * WORDS_PER_BLOCK / 2; i++)
        bits += (uint64_t)__builtin_popcountll(pairs[i]);
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

#define CHECK_any(i, stored) found[i] = has_mask_any(stored, h[i])
#define CHECK_avx2(i, stored) found[i] = has_mask_avx2(*(stored), MASK(h[i]))

/* CHOSEN: the function of this name for this machine; CHOSEN_WIDE, also one with AVX-512. */
#if defined(__aarch64__)
#include "split_block_neon.h"
#define CHOSEN(name) name##_neon
#define CHOSEN_WIDE CHOSEN
#elif defined(__x86_64__)
PATH(any, )
PATH(avx2, AVX2)
#include "split_block_avx512.h"
#define CHOSEN(name) (code_path() >= WITH_AVX2 ? name##_avx2 : name##_any)
#define CHOSEN_WIDE(name) (code_path() >= WITH_AVX512 ? name##_avx512 : CHOSEN(name))
#else
PATH(any, )
#define CHOSEN(name) name##_any
#define CHOSEN_WIDE CHOSEN
#endif

void split_block_insert(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                        size_t count) {
    CHOSEN_WIDE(insert)(words, num_blocks, hashes, count);
}

/* So often a turn is asked for before the thread goes to sleep: others take half a microsecond, which
 * waking up takes many times. */
enum { TRIES = 200 };

INLINE void wait_a_moment(void) {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void split_block_insert_in_turn(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                size_t count, pthread_mutex_t *turn) {
    int is_taken = turn == NULL || pthread_mutex_trylock(turn) == 0;
    for (int i = 0; !is_taken && i < TRIES; i++) {
        wait_a_moment();
        is_taken = pthread_mutex_trylock(turn) == 0;
    }
    if (!is_taken) pthread_mutex_lock(turn);
    split_block_insert(words, num_blocks, hashes, count);
    if (turn != NULL) pthread_mutex_unlock(turn);
}

void split_block_check(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                       size_t count, uint8_t *found) {
    CHOSEN_WIDE(check)(words, num_blocks, hashes, count, found);
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

/* Blocks that are made at a time, to be counted in the nearest cache. */
enum { COUNTED = 64 };

uint64_t split_block_outside(const uint32_t *words, const uint32_t *others, uint64_t num_blocks) {
    const block *blocks = (const block *)words, *more = (const block *)others;
    block outside[COUNTED];
    uint64_t bits = 0;
    for (uint64_t i = 0; i < num_blocks; i += COUNTED) {
        uint64_t some = num_blocks - i < COUNTED ? num_blocks - i : COUNTED;
        for (uint64_t k = 0; k < some; k++) outside[k] = blocks[i + k] & ~more[i + k];
        bits += split_block_popcount((const uint32_t *)outside, some);
    }
    return bits;
}

double split_block_fpp(const uint32_t *words, uint64_t num_blocks) {
    return CHOSEN(fpp)(words, num_blocks);
}

double split_block_halved_fpp(const uint32_t *words, uint64_t num_blocks, double most) {
    return CHOSEN(halved_fpp)(words, num_blocks, most);
}
