/* Eight values at a time with AVX-512: one to a lane of 64 bits. What the hashes have in common.
 *
 *   value    | stripe of 32 bytes | ... | words of 8 bytes | 4 bytes | single bytes |
 *
 * The steps of a hash are those of one value at a time. Values of different lengths take different numbers
 * of them: a mask says which lanes take part in a step. That is quicker than a branch for each value,
 * because lengths that vary cannot be predicted.
 */
#ifndef PARQUET_BLOOM_LANES_H
#define PARQUET_BLOOM_LANES_H

#include <immintrin.h>

#include "kernel.h"

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#define LANES_INLINE AVX512 INLINE

typedef __m512i lanes;

enum { STRIPE = 32 };

LANES_INLINE lanes all(uint64_t x) { return _mm512_set1_epi64((long long)x); }

/* On processors from Golden Cove on, VPMULLQ waits for the register that it writes to, as if that were
 * an operand, and then values cannot be hashed side by side. So this writes to an operand. */
LANES_INLINE lanes times(lanes x, uint64_t factor) {
    __asm__("vpmullq %1, %0, %0" : "+v"(x) : "v"(all(factor)));
    return x;
}

LANES_INLINE lanes plus(lanes x, lanes y) { return _mm512_add_epi64(x, y); }
LANES_INLINE lanes xor (lanes x, lanes y) { return _mm512_xor_si512(x, y); }

/* The count has to be a constant. */
#define rotl(x, count) _mm512_rol_epi64(x, count)

/* The lanes that `in` names from `changed`, and the others from `old`. */
LANES_INLINE lanes where(__mmask8 in, lanes changed, lanes old) {
    return _mm512_mask_mov_epi64(old, in, changed);
}

LANES_INLINE __mmask8 at_least(lanes x, uint64_t least) {
    return _mm512_cmpge_epu64_mask(x, all(least));
}

/* Eight values: where each starts, and its length. Where both have just been stored one by one, a load of
 * all lengths would wait until they are in the cache, so `lengths` of them are handed over beside this. */
struct eight {
    const uint8_t *at[LANES];
    uint64_t length[LANES];
};

/* Set the eight values data[starts[i] .. starts[i + 1] - gap), and return their lengths. */
LANES_INLINE lanes set_slices(struct eight *values, const uint8_t *data, const int64_t *starts,
                              int64_t gap) {
    for (size_t i = 0; i < LANES; i++) {
        values->at[i] = data + starts[i];
        values->length[i] = (uint64_t)(starts[i + 1] - gap - starts[i]);
    }
    lanes ends = _mm512_sub_epi64(_mm512_loadu_si512(starts + 1), all((uint64_t)gap));
    return _mm512_sub_epi64(ends, _mm512_loadu_si512(starts));
}

/* Values of so many bytes, a power of two, are hashed as quickly by themselves. */
enum { LONG = 256 };

/* Whether values of these lengths, in the order in which they lie in a buffer up to `end`, can be hashed
 * together: none is long, and stripes can be loaded behind the last one as if it were. */
LANES_INLINE int are_short(const struct eight *values, lanes lengths, const uint8_t *end) {
    return !at_least(lengths, LONG) && end - values->at[LANES - 1] >= LONG + STRIPE;
}

/* The four words of each of eight stripes: words[k] has the k-th of all. */
LANES_INLINE void load_stripes(const uint8_t *const at[LANES], lanes words[4]) {
    lanes pair[4];
    for (int i = 0; i < 4; i++) {
        const __m256i *low = (const __m256i *)at[i], *high = (const __m256i *)at[i + 4];
        pair[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(low)),
                                     _mm256_loadu_si256(high), 1);
    }
    lanes even01 = _mm512_unpacklo_epi64(pair[0], pair[1]);
    lanes even23 = _mm512_unpacklo_epi64(pair[2], pair[3]);
    lanes odd01 = _mm512_unpackhi_epi64(pair[0], pair[1]);
    lanes odd23 = _mm512_unpackhi_epi64(pair[2], pair[3]);
    const lanes first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const lanes second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    words[0] = _mm512_permutex2var_epi64(even01, first, even23);
    words[1] = _mm512_permutex2var_epi64(odd01, first, odd23);
    words[2] = _mm512_permutex2var_epi64(even01, second, even23);
    words[3] = _mm512_permutex2var_epi64(odd01, second, odd23);
}

#endif
