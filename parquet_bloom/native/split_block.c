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

INLINE void insert_all(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes, size_t count) {
    block *blocks = (block *)words;
    for (size_t i = 0; i < count; i++)
        blocks[block_index(hashes[i], num_blocks)] |= MASK(hashes[i]);
}

INLINE void check_all(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                      size_t count, uint8_t *found) {
    const block *blocks = (const block *)words;
    for (size_t i = 0; i < count; i++) {
        block clear = MASK(hashes[i]) & ~blocks[block_index(hashes[i], num_blocks)];
        uint64_t quarter[4];
        memcpy(quarter, &clear, sizeof clear);
        found[i] = (quarter[0] | quarter[1] | quarter[2] | quarter[3]) == 0;
    }
}

INLINE uint64_t popcount_all(const uint32_t *words, uint64_t num_blocks) {
    uint64_t bits = 0;
    for (uint64_t i = 0; i < num_blocks * WORDS_PER_BLOCK; i++)
        bits += (uint64_t)__builtin_popcount(words[i]);
    return bits;
}

INLINE double fpp_all(const uint32_t *words, uint64_t num_blocks) {
    double sum = 0;
    for (uint64_t i = 0; i < num_blocks; i++) {
        uint64_t product = 1;
        for (uint64_t k = 0; k < WORDS_PER_BLOCK; k++)
            product *= (uint64_t)__builtin_popcount(words[i * WORDS_PER_BLOCK + k]);
        sum += (double)product;
    }
    return sum / (double)num_blocks / 1099511627776.0 /* 32^8 */;
}

/* Compile each of the four for any processor and for those with AVX2. */
#define PATH(name, attribute)                                                                      \
    attribute static void insert_##name(uint32_t *w, uint64_t z, const uint64_t *h, size_t n) {    \
        insert_all(w, z, h, n);                                                                    \
    }                                                                                              \
    attribute static void check_##name(const uint32_t *w, uint64_t z, const uint64_t *h, size_t n, \
                                       uint8_t *found) {                                           \
        check_all(w, z, h, n, found);                                                              \
    }                                                                                              \
    attribute static uint64_t popcount_##name(const uint32_t *w, uint64_t z) {                     \
        return popcount_all(w, z);                                                                 \
    }                                                                                              \
    attribute static double fpp_##name(const uint32_t *w, uint64_t z) { return fpp_all(w, z); }

PATH(any, )

#if defined(__x86_64__)
/* Every processor with AVX2 also has popcnt. */
PATH(avx2, __attribute__((target("avx2,popcnt"))))
static int machine_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#else
PATH(avx2, )
static int machine_has_avx2(void) { return 0; }
#endif

/* -1 until the first call has queried the processor. Racing first calls store the same answer. */
static int use_avx2 = -1;

int split_block_use_avx2(int wanted) {
    if (wanted && !machine_has_avx2()) return -1;
    __atomic_store_n(&use_avx2, wanted != 0, __ATOMIC_RELAXED);
    return 0;
}

int split_block_uses_avx2(void) {
    int answer = __atomic_load_n(&use_avx2, __ATOMIC_RELAXED);
    if (answer < 0) {
        answer = machine_has_avx2();
        __atomic_store_n(&use_avx2, answer, __ATOMIC_RELAXED);
    }
    return answer;
}

void split_block_insert_prefetched(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                                   size_t count) {
    (split_block_uses_avx2() ? insert_avx2 : insert_any)(words, num_blocks, hashes, count);
}

static void prefetch_all(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                         size_t count) {
    for (size_t i = 0; i < count; i++) split_block_prefetch(words, num_blocks, hashes[i]);
}

void split_block_insert(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                        size_t count) {
    for (size_t n; count > 0; hashes += n, count -= n) {
        n = count < BATCH ? count : BATCH;
        prefetch_all(words, num_blocks, hashes, n);
        split_block_insert_prefetched(words, num_blocks, hashes, n);
    }
}

void split_block_check(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                       size_t count, uint8_t *found) {
    for (size_t n; count > 0; hashes += n, found += n, count -= n) {
        n = count < BATCH ? count : BATCH;
        prefetch_all(words, num_blocks, hashes, n);
        (split_block_uses_avx2() ? check_avx2 : check_any)(words, num_blocks, hashes, n, found);
    }
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

uint64_t split_block_popcount(const uint32_t *words, uint64_t num_blocks) {
    return (split_block_uses_avx2() ? popcount_avx2 : popcount_any)(words, num_blocks);
}

double split_block_fpp(const uint32_t *words, uint64_t num_blocks) {
    return (split_block_uses_avx2() ? fpp_avx2 : fpp_any)(words, num_blocks);
}
