/* Split blocks with NEON, which every aarch64 processor has: a part of split_block.c.
 *
 * Compilers make vectors of masks and inserts by themselves. Eight hashes together find their blocks, and
 * are answered, in fewer instructions than one by one; so are the bits of a block counted.
 */
#ifndef PARQUET_BLOOM_SPLIT_BLOCK_NEON_H
#define PARQUET_BLOOM_SPLIT_BLOCK_NEON_H

#include <arm_neon.h>

/* Where the blocks of a GROUP of hashes lie, in bytes. */
INLINE void find_group(uint32_t num_blocks, const uint64_t *hashes, uint64_t *found) {
    for (int k = 0; k < GROUP; k += 4) {
        uint32x4_t first = vreinterpretq_u32_u64(vld1q_u64(hashes + k));
        uint32x4_t last = vreinterpretq_u32_u64(vld1q_u64(hashes + k + 2));
        uint32x4_t high = vuzp2q_u32(first, last);
        uint64x2_t low_pair = vmull_n_u32(vget_low_u32(high), num_blocks);
        uint64x2_t high_pair = vmull_high_n_u32(high, num_blocks);
        vst1q_u64(found + k, vshlq_n_u64(vshrq_n_u64(low_pair, 32), 5));
        vst1q_u64(found + k + 2, vshlq_n_u64(vshrq_n_u64(high_pair, 32), 5));
    }
}

INLINE void insert_group(char *blocks, const uint64_t *at, const uint64_t *hashes) {
    for (int k = 0; k < GROUP; k++) *(block *)(blocks + at[k]) |= MASK(hashes[k]);
}

/* The bits of four words of a mask that are clear in those of a block. */
INLINE uint32x4_t clear_bits(const uint32_t *words, const uint32_t *salt, uint64_t hash) {
    uint32x4_t bit = vshrq_n_u32(vmulq_n_u32(vld1q_u32(salt), (uint32_t)hash), 27);
    uint32x4_t mask = vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(bit));
    return vbicq_u32(mask, vld1q_u32(words));
}

INLINE void check_group(const char *blocks, const uint64_t *at, const uint64_t *hashes,
                        uint8_t *found) {
    const uint32_t *salt = (const uint32_t *)&SALT;
    uint32x4_t clear[GROUP];
    for (int k = 0; k < GROUP; k++) {
        const uint32_t *words = (const uint32_t *)(blocks + at[k]);
        clear[k] = vorrq_u32(clear_bits(words, salt, hashes[k]),
                             clear_bits(words + 4, salt + 4, hashes[k]));
    }
    /* The greatest words of neighbouring hashes, side by side, until there is one of each. */
    for (int left = GROUP / 2; left >= 2; left /= 2)
        for (int k = 0; k < left; k++) clear[k] = vpmaxq_u32(clear[2 * k], clear[2 * k + 1]);
    uint16x4_t low = vmovn_u32(vceqzq_u32(clear[0]));
    uint16x8_t none = vmovn_high_u32(low, vceqzq_u32(clear[1]));
    vst1_u8(found, vshr_n_u8(vmovn_u16(none), 7));
}

/* Find and prefetch the blocks of the GROUP that begins with hash i. */
#define FETCH_GROUP(i, group, is_written)                                                          \
    do {                                                                                           \
        find_group((uint32_t)num_blocks, hashes + (i), group);                                     \
        /* It takes longer to pick them out of a vector than to load them again. */                \
        __asm__ volatile("" ::: "memory");                                                         \
        for (int k = 0; k < GROUP; k++) __builtin_prefetch(blocks + (group)[k], is_written);       \
    } while (0)

/* Call use(i, where their blocks lie) for every GROUP of the first `whole` hashes. */
#define FOR_ALL_GROUPS(whole, is_written, use)                                                     \
    do {                                                                                           \
        uint64_t ahead[AHEAD];                                                                     \
        size_t before = (whole) < AHEAD ? (whole) : AHEAD;                                         \
        for (size_t i = 0; i < before; i += GROUP) FETCH_GROUP(i, ahead + i, is_written);          \
        for (size_t i = 0; i < (whole); i += GROUP) {                                              \
            uint64_t *group = ahead + i % AHEAD;                                                   \
            use(i, group);                                                                         \
            if (i + AHEAD < (whole)) FETCH_GROUP(i + AHEAD, group, is_written);                    \
        }                                                                                          \
    } while (0)

static void insert_neon(uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                        size_t count) {
    char *blocks = (char *)words;
    size_t whole = count - count % GROUP;
#define INSERT_GROUP(i, at) insert_group(blocks, at, hashes + (i))
    FOR_ALL_GROUPS(whole, 1, INSERT_GROUP);
    for (size_t i = whole; i < count; i++)
        *(block *)(blocks + block_at(hashes[i], (uint32_t)num_blocks)) |= MASK(hashes[i]);
}

static void check_neon(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                       size_t count, uint8_t *found) {
    const char *blocks = (const char *)words;
    size_t whole = count - count % GROUP;
#define CHECK_GROUP(i, at) check_group(blocks, at, hashes + (i), found + (i))
    FOR_ALL_GROUPS(whole, 0, CHECK_GROUP);
    for (size_t i = whole; i < count; i++) {
        const char *at = blocks + block_at(hashes[i], (uint32_t)num_blocks);
        found[i] = has_mask_any((const block *)at, hashes[i]);
    }
}

INLINE uint8x16_t bits_of_bytes(const uint32_t *words) {
    return vcntq_u8(vreinterpretq_u8_u32(vld1q_u32(words)));
}

static uint64_t popcount_neon(const uint32_t *words, uint64_t num_blocks) {
    uint64x2_t bits = vdupq_n_u64(0);
    for (uint64_t i = 0; i < num_blocks; i++, words += WORDS_PER_BLOCK) {
        uint8x16_t of_bytes = vaddq_u8(bits_of_bytes(words), bits_of_bytes(words + 4));
        bits = vpadalq_u32(bits, vpaddlq_u16(vpaddlq_u8(of_bytes)));
    }
    return vaddvq_u64(bits);
}

/* What the bits of a block come to: the number set in each word, multiplied. */
INLINE double product_of_popcounts(uint8x16_t low_bytes, uint8x16_t high_bytes) {
    uint32x4_t low = vpaddlq_u16(vpaddlq_u8(vcntq_u8(low_bytes)));
    uint32x4_t high = vpaddlq_u16(vpaddlq_u8(vcntq_u8(high_bytes)));
    uint32x4_t twos = vmulq_u32(low, high);
    uint32x2_t fours = vmul_u32(vget_low_u32(twos), vget_high_u32(twos));
    return (double)vgetq_lane_u64(vmull_lane_u32(fours, fours, 1), 0);
}

INLINE uint8x16_t bytes_of(const uint32_t *words) {
    return vreinterpretq_u8_u32(vld1q_u32(words));
}

static double fpp_neon(const uint32_t *words, uint64_t num_blocks) {
    double sum = 0;
    for (uint64_t i = 0; i < num_blocks; i++, words += WORDS_PER_BLOCK)
        sum += product_of_popcounts(bytes_of(words), bytes_of(words + 4));
    return share_found(sum, num_blocks);
}

static double halved_fpp_neon(const uint32_t *words, uint64_t num_blocks, double most) {
    double sum = 0;
    for (uint64_t i = 0; i < num_blocks; i += 2, words += 2 * WORDS_PER_BLOCK) {
        uint8x16_t low = vorrq_u8(bytes_of(words), bytes_of(words + 8));
        uint8x16_t high = vorrq_u8(bytes_of(words + 4), bytes_of(words + 12));
        sum += product_of_popcounts(low, high);
        if (i % 1024 == 0 && share_found(sum, num_blocks / 2) > most) break;
    }
    return share_found(sum, num_blocks / 2);
}

#endif
