/* The bits of k-hash filters that hashes select, sixteen hashes at a time: for k_hash.c alone.
 *
 * Each path has a function next_* of its own, with the instructions of the functions it is inlined into.
 */
#ifndef PARQUET_BLOOM_K_HASH_BITS_H
#define PARQUET_BLOOM_K_HASH_BITS_H

#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* For positions x < 2^31, x / num_bits is exactly x * multiplier >> shift. The multiplier is
 * 2^shift / num_bits, rounded up, and fits 32 bits.
 * Source: Granlund, Montgomery, "Division by Invariant Integers using Multiplication". */
struct divisor {
    uint32_t num_bits, multiplier, shift;
};

static struct divisor divisor_of(uint32_t num_bits) {
    uint32_t log = 0;
    while (((uint64_t)1 << log) < num_bits) log++;
    uint64_t multiplier = ((uint64_t)1 << (31 + log)) / num_bits + 1;
    return (struct divisor){num_bits, (uint32_t)multiplier, 31 + log};
}

enum { ROW = 16 };

/* The current positions of a row of hashes, first their low halves, and their high halves, by which each
 * is advanced. */
struct row {
    uint32_t at[ROW], step[ROW];
};

/* A bit for each of them: its 32-bit word, and the bit in that word. To find them in vectors leaves only
 * a load and an OR for each bit that is set. */
struct row_bits {
    _Alignas(64) uint32_t word[ROW];
    uint32_t mask[ROW];
};

/* row_*: Split ROW hashes into halves. next_*: Advance all hashes of a row by one step, and find their
 * bits; a negative position is replaced by its complement. Products have 64 bits: vectors multiply even
 * and odd numbers by themselves, since left to the compiler, the numbers are moved about for that, which
 * takes as long again. */

#if defined(__x86_64__)
/* Four at a time, with what every such processor has. No instruction shifts numbers by different amounts,
 * but 2^n is the exponent of a float. */
INLINE struct row row_any(const uint64_t *hashes) {
    struct row row;
    for (size_t i = 0; i < ROW; i += 4) {
        __m128 first = _mm_loadu_ps((const float *)(hashes + i));
        __m128 second = _mm_loadu_ps((const float *)(hashes + i + 2));
        _mm_storeu_ps((float *)(row.at + i), _mm_shuffle_ps(first, second, 0x88));
        _mm_storeu_ps((float *)(row.step + i), _mm_shuffle_ps(first, second, 0xdd));
    }
    return row;
}

INLINE void next_any(struct row *row, struct divisor by, struct row_bits *bits) {
    const __m128i multiplier = _mm_set1_epi32((int)by.multiplier);
    const __m128i num_bits = _mm_set1_epi32((int)by.num_bits);
    const __m128i shift = _mm_cvtsi32_si128((int)by.shift);
    const __m128i low = _mm_set_epi32(0, -1, 0, -1);
    for (size_t i = 0; i < ROW; i += 4) {
        __m128i c = _mm_add_epi32(_mm_loadu_si128((const __m128i *)(row->at + i)),
                                  _mm_loadu_si128((const __m128i *)(row->step + i)));
        _mm_storeu_si128((__m128i *)(row->at + i), c);
        c = _mm_xor_si128(c, _mm_srai_epi32(c, 31));
        __m128i even = _mm_srl_epi64(_mm_mul_epu32(c, multiplier), shift);
        __m128i odd = _mm_srl_epi64(_mm_mul_epu32(_mm_srli_epi64(c, 32), multiplier), shift);
        __m128i multiple = _mm_or_si128(_mm_and_si128(_mm_mul_epu32(even, num_bits), low),
                                        _mm_slli_epi64(_mm_mul_epu32(odd, num_bits), 32));
        __m128i bit = _mm_sub_epi32(c, multiple);
        _mm_storeu_si128((__m128i *)(bits->word + i), _mm_srli_epi32(bit, 5));
        /* 2^31 is more than an int, and becomes the least of them: the same bits. */
        __m128i exponent = _mm_slli_epi32(_mm_and_si128(bit, _mm_set1_epi32(31)), 23);
        __m128i power = _mm_add_epi32(exponent, _mm_set1_epi32(127 << 23));
        _mm_storeu_si128((__m128i *)(bits->mask + i), _mm_cvttps_epi32(_mm_castsi128_ps(power)));
    }
}

/* Eight at a time. */
__attribute__((target("avx2"))) INLINE struct row row_avx2(const uint64_t *hashes) {
    const __m256i halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    struct row row;
    for (size_t i = 0; i < ROW; i += 8) {
        __m256i first = _mm256_loadu_si256((const __m256i *)(hashes + i));
        __m256i second = _mm256_loadu_si256((const __m256i *)(hashes + i + 4));
        first = _mm256_permutevar8x32_epi32(first, halves);
        second = _mm256_permutevar8x32_epi32(second, halves);
        __m256i low = _mm256_permute2x128_si256(first, second, 0x20);
        __m256i high = _mm256_permute2x128_si256(first, second, 0x31);
        _mm256_storeu_si256((__m256i *)(row.at + i), low);
        _mm256_storeu_si256((__m256i *)(row.step + i), high);
    }
    return row;
}

__attribute__((target("avx2"))) INLINE void next_avx2(struct row *row, struct divisor by,
                                                      struct row_bits *bits) {
    const __m256i multiplier = _mm256_set1_epi32((int)by.multiplier);
    const __m256i num_bits = _mm256_set1_epi32((int)by.num_bits);
    const __m128i shift = _mm_cvtsi32_si128((int)by.shift);
    for (size_t i = 0; i < ROW; i += 8) {
        __m256i c = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(row->at + i)),
                                     _mm256_loadu_si256((const __m256i *)(row->step + i)));
        _mm256_storeu_si256((__m256i *)(row->at + i), c);
        c = _mm256_xor_si256(c, _mm256_srai_epi32(c, 31));
        __m256i even = _mm256_srl_epi64(_mm256_mul_epu32(c, multiplier), shift);
        __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(c, 32), multiplier);
        odd = _mm256_slli_epi64(_mm256_srl_epi64(odd, shift), 32);
        __m256i multiple = _mm256_mullo_epi32(_mm256_or_si256(even, odd), num_bits);
        __m256i bit = _mm256_sub_epi32(c, multiple);
        __m256i mask = _mm256_sllv_epi32(_mm256_set1_epi32(1),
                                         _mm256_and_si256(bit, _mm256_set1_epi32(31)));
        _mm256_storeu_si256((__m256i *)(bits->word + i), _mm256_srli_epi32(bit, 5));
        _mm256_storeu_si256((__m256i *)(bits->mask + i), mask);
    }
}

/* All at once. */
__attribute__((target("avx512f,avx512dq,avx512vl"))) INLINE struct row row_avx512(
    const uint64_t *hashes) {
    const __m512i low = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(1));
    __m512i first = _mm512_loadu_si512(hashes), second = _mm512_loadu_si512(hashes + 8);
    struct row row;
    _mm512_storeu_si512(row.at, _mm512_permutex2var_epi32(first, low, second));
    _mm512_storeu_si512(row.step, _mm512_permutex2var_epi32(first, high, second));
    return row;
}

__attribute__((target("avx512f,avx512dq,avx512vl"))) INLINE void next_avx512(
    struct row *row, struct divisor by, struct row_bits *bits) {
    const __m512i multiplier = _mm512_set1_epi32((int)by.multiplier);
    const __m512i num_bits = _mm512_set1_epi32((int)by.num_bits);
    const __m128i shift = _mm_cvtsi32_si128((int)by.shift);
    __m512i c = _mm512_add_epi32(_mm512_loadu_si512(row->at), _mm512_loadu_si512(row->step));
    _mm512_storeu_si512(row->at, c);
    c = _mm512_xor_si512(c, _mm512_srai_epi32(c, 31));
    __m512i even = _mm512_srl_epi64(_mm512_mul_epu32(c, multiplier), shift);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(c, 32), multiplier);
    odd = _mm512_slli_epi64(_mm512_srl_epi64(odd, shift), 32);
    __m512i multiple = _mm512_mullo_epi32(_mm512_or_si512(even, odd), num_bits);
    __m512i bit = _mm512_sub_epi32(c, multiple);
    __m512i mask = _mm512_sllv_epi32(_mm512_set1_epi32(1),
                                     _mm512_and_si512(bit, _mm512_set1_epi32(31)));
    _mm512_storeu_si512(bits->word, _mm512_srli_epi32(bit, 5));
    _mm512_storeu_si512(bits->mask, mask);
}
#else
INLINE struct row row_any(const uint64_t *hashes) {
    struct row row;
    for (size_t i = 0; i < ROW; i++) {
        row.at[i] = (uint32_t)hashes[i];
        row.step[i] = (uint32_t)(hashes[i] >> 32);
    }
    return row;
}

INLINE void next_any(struct row *row, struct divisor by, struct row_bits *bits) {
    uint32_t bit[ROW];
    for (size_t i = 0; i < ROW; i++) {
        uint32_t c = row->at[i] += row->step[i];
        c ^= (uint32_t)((int32_t)c >> 31);
        bit[i] = c - (uint32_t)((uint64_t)c * by.multiplier >> by.shift) * by.num_bits;
    }
    for (size_t i = 0; i < ROW; i++) {
        bits->word[i] = bit[i] >> 5;
        bits->mask[i] = (uint32_t)1 << (bit[i] & 31);
    }
}
#endif

#endif
