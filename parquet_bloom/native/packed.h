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
#endif

#endif
