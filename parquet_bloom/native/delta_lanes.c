/* Packed deltas with AVX-512, eight at a time; the steps are those of delta.c.
 *
 *   eight of w bits   | w bytes |      delta i: from bit i * w on, in up to three words of 32 bits
 */
#include "kernel.h"

#if defined(__x86_64__)
#include "lanes.h"

/* Where deltas of a width lie in their 64 bytes: the words of each, and the bit in the first of these. */
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
        .mask = all(width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1),
    };
}

LANES_INLINE lanes eight_deltas(const uint8_t *packed, const struct cut *cut) {
    lanes words = _mm512_loadu_si512(packed);
    lanes low = _mm512_permutexvar_epi32(cut->first, words);
    lanes high = _mm512_permutexvar_epi32(cut->last, words);
    /* Shifts by 64 leave nothing. */
    low = _mm512_srlv_epi64(low, cut->bit);
    high = _mm512_sllv_epi64(high, cut->rest);
    return _mm512_and_si512(_mm512_or_si512(low, high), cut->mask);
}

/* Each with those before it. */
LANES_INLINE lanes running_sums(lanes deltas) {
    deltas = plus(deltas, _mm512_alignr_epi64(deltas, all(0), 7));
    deltas = plus(deltas, _mm512_alignr_epi64(deltas, all(0), 6));
    return plus(deltas, _mm512_alignr_epi64(deltas, all(0), 4));
}

AVX512 int64_t lanes_unpack(const uint8_t *packed, const uint8_t *end, int width, int64_t count,
                            uint64_t least, uint64_t last, uint64_t *values) {
    const struct cut cut = cut_of(width);
    lanes before = all(last);
    int64_t n = 0;
    for (; count - n >= LANES && end - packed >= (int64_t)sizeof(lanes); n += LANES, packed += width) {
        lanes sums = running_sums(plus(eight_deltas(packed, &cut), all(least)));
        sums = plus(sums, before);
        _mm512_storeu_si512(values + n, sums);
        before = _mm512_permutexvar_epi64(all(LANES - 1), sums);
    }
    return n;
}
#else
int64_t lanes_unpack(const uint8_t *packed, const uint8_t *end, int width, int64_t count,
                     uint64_t least, uint64_t last, uint64_t *values) {
    (void)packed, (void)end, (void)width, (void)count, (void)least, (void)last, (void)values;
    return 0;
}
#endif
