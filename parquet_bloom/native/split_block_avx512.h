/* Split blocks with AVX-512: two masks in a vector, and where eight blocks lie in another. Only for split_block.c.
 *
 * Blocks beyond the nearest caches are fetched ahead.
 */
#ifndef PBLOOM_SPLIT_BLOCK_AVX512_H
#define PBLOOM_SPLIT_BLOCK_AVX512_H

#define AVX512 __attribute__((target(AVX2_PARTS ",avx512f,avx512dq,avx512vl")))
#define ALL_512(x) _mm512_set1_epi64((long long)(x))

/* Find the blocks of a group, in one vector. */
AVX512 INLINE void find_group(const uint32_t *words, uint64_t num_blocks, const uint64_t *hashes,
                              block **found, int is_far) {
    __m512i high = _mm512_srli_epi64(_mm512_loadu_si512(hashes), 32), factor = ALL_512(num_blocks);
    /* If clang knows that it is small, it multiplies all 64 bits, which takes three times as long. */
    __asm__("" : "+v"(factor));
    __m512i at = _mm512_srli_epi64(_mm512_mul_epu32(high, factor), 27);
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

#endif
