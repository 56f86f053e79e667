/* Numbers packed with as many bits each, from the lowest bit of each byte on (parquet-format, Encodings.md).
 *
 *   eight of w bits   | w bytes |      number i: from bit i * w on
 */
#ifndef PARQUET_BLOOM_PACKED_H
#define PARQUET_BLOOM_PACKED_H

#include "kernel.h"

INLINE uint64_t mask_of(int width) {
    return width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

/* Numbers of so many bits lie within 8 bytes, at whichever bit they begin. */
enum { NARROW = 57 };

/* One that may not, or ends too close to `end` for more to be loaded. */
__attribute__((noinline, unused)) static uint64_t awkward_number(const uint8_t *at, const uint8_t *end,
                                                                 int skipped, uint64_t mask) {
    uint8_t bytes[9] = {0};
    uint64_t low;
    memcpy(bytes, at, end - at < (int64_t)sizeof bytes ? (size_t)(end - at) : sizeof bytes);
    memcpy(&low, bytes, sizeof low);
    /* Shifting by 64 is undefined. */
    return (low >> skipped | (uint64_t)bytes[8] << 1 << (63 - skipped)) & mask;
}

/* The number of `width` bits that begins at a bit, and ends by `end`; up to there, more is loaded. */
INLINE uint64_t packed_number(const uint8_t *packed, const uint8_t *end, int64_t bit, int width,
                              uint64_t mask) {
    const uint8_t *at = packed + (bit >> 3);
    uint64_t word;
    if (width > NARROW || end - at < (int64_t)sizeof word)
        return awkward_number(at, end, (int)(bit & 7), mask);
    memcpy(&word, at, sizeof word);
    return word >> (bit & 7) & mask;
}

/* The same of one that is known to lie in the 8 bytes that it begins in, and these before the end. */
INLINE uint64_t narrow_number(const uint8_t *packed, int64_t bit, uint64_t mask) {
    uint64_t word;
    memcpy(&word, packed + (bit >> 3), sizeof word);
    return word >> (bit & 7) & mask;
}

/* Of the first `count` numbers, how many are: to know it once is quicker than to look at each. */
INLINE int64_t num_narrow(const uint8_t *packed, const uint8_t *end, int width, int64_t count) {
    int64_t bits = (end - packed - (int64_t)sizeof(uint64_t)) * 8 + 7;
    if (width > NARROW || bits < 0) return 0;
    return width == 0 || bits / width >= count ? count : bits / width + 1;
}

#if defined(__x86_64__)
#include "lanes.h"

/* Where numbers of a width lie in their 64 bytes: each in up to three words of 32 bits, of which these are the first
 * two and the last one, and at which bit of the first. */
struct cut {
    lanes first, last, bit, rest, mask;
};

LANES_INLINE struct cut cut_of(int width) {
    const lanes order = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    lanes start = _mm512_mullo_epi64(order, all((uint64_t)width));
    lanes word = _mm512_srli_epi64(start, 5), bit = _mm512_and_si512(start, all(31));
    return (struct cut){
        /* Each of the two halves of a lane is a word of its own. */
        .first = xor(_mm512_slli_epi64(plus(word, all(1)), 32), word),
        .last = plus(word, all(2)),
        .bit = bit,
        .rest = _mm512_sub_epi64(all(64), bit),
        .mask = all(mask_of(width)),
    };
}

/* 64 bytes are loaded. */
LANES_INLINE lanes eight_packed(const uint8_t *packed, const struct cut *cut) {
    lanes words = _mm512_loadu_si512(packed);
    lanes low = _mm512_permutexvar_epi32(cut->first, words);
    lanes high = _mm512_permutexvar_epi32(cut->last, words);
    /* Shifts by 64 leave nothing. */
    low = _mm512_srlv_epi64(low, cut->bit);
    high = _mm512_sllv_epi64(high, cut->rest);
    return _mm512_and_si512(_mm512_or_si512(low, high), cut->mask);
}

#define AVX2 __attribute__((target("avx2")))

/* Where four of eight numbers of at most NARROW bits lie: each pair in 16 bytes from `pairs` on, in which `bytes` are
 * the 8 of each number, and at which bit of them it begins. `needed`: bytes that are loaded, from the first number
 * on. */
struct half_cut {
    __m256i bytes, bit, mask;
    int64_t pairs[2], needed;
};

AVX2 INLINE struct half_cut half_cut_of(int width, int from) {
    struct half_cut cut = {.mask = _mm256_set1_epi64x((int64_t)mask_of(width))};
    int64_t bits[4];
    uint8_t bytes[32];
    for (int i = 0; i < 4; i++) {
        int start = (from + i) * width;
        if (i % 2 == 0) cut.pairs[i / 2] = start >> 3;
        bits[i] = start & 7;
        for (int k = 0; k < 8; k++) bytes[8 * i + k] = (uint8_t)((start >> 3) - cut.pairs[i / 2] + k);
    }
    cut.bit = _mm256_loadu_si256((const __m256i *)bits);
    cut.bytes = _mm256_loadu_si256((const __m256i *)bytes);
    cut.needed = cut.pairs[1] + 16;
    return cut;
}

AVX2 INLINE __m256i four_packed(const uint8_t *packed, const struct half_cut *cut) {
    __m128i low = _mm_loadu_si128((const __m128i *)(packed + cut->pairs[0]));
    __m128i high = _mm_loadu_si128((const __m128i *)(packed + cut->pairs[1]));
    __m256i words = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), cut->bytes);
    return _mm256_and_si256(_mm256_srlv_epi64(words, cut->bit), cut->mask);
}
#endif

#endif
