/* Packed deltas with AVX-512, eight at a time; the steps are those of delta.c. */
#include "packed.h"

#if defined(__x86_64__)
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
        lanes sums = running_sums(plus(eight_packed(packed, &cut), all(least)));
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
