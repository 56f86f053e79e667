/* CRC-32 of zlib and gzip, which pages carry: on x86 by multiplications without carries, on aarch64 by the
 * instructions that it has for just this polynomial.
 *
 * Source: Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction (Intel, 2009),
 * with its constants for the bit-reflected polynomial 0xedb88320.
 */
#include "kernel.h"

/* Bit by bit, for the few bytes that are left over. */
static uint32_t add_bytes(uint32_t crc, const uint8_t *data, size_t size) {
    for (; size > 0; size--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xedb88320u & (0 - (crc & 1)));
    }
    return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("sse4.1,pclmul")))

TARGET static inline __m128i load(const uint8_t *data) {
    return _mm_loadu_si128((const __m128i *)data);
}

/* What `sum` is worth before `next`, which lies as far behind it as the constants say. */
TARGET static inline __m128i fold(__m128i sum, __m128i constants, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(sum, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* `size`: a multiple of 16, and 64 at least. */
TARGET static uint32_t add_blocks(uint32_t crc, const uint8_t *data, size_t size) {
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i by_8 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i reduce = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i halves = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i sums[4];
    for (int k = 0; k < 4; k++) sums[k] = load(data + 16 * k);
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128((int)crc));
    for (data += 64, size -= 64; size >= 64; data += 64, size -= 64)
        for (int k = 0; k < 4; k++) sums[k] = fold(sums[k], by_64, load(data + 16 * k));
    __m128i sum = sums[0];
    for (int k = 1; k < 4; k++) sum = fold(sum, by_16, sums[k]);
    for (; size >= 16; data += 16, size -= 16) sum = fold(sum, by_16, load(data));
    /* From 128 bits to 64, and to 32. */
    sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, by_16, 0x10));
    sum = _mm_xor_si128(_mm_srli_si128(sum, 4),
                        _mm_clmulepi64_si128(_mm_and_si128(sum, halves), by_8, 0x00));
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, halves), reduce, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, halves), reduce, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1);
}

int checksum_is_quick(void) { return code_path() >= WITH_AVX2 && machine_has_clmul(); }
#elif defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__))
#include <arm_acle.h>

/* `size`: a multiple of 16. Processors before ARMv8.1 need not have these instructions. */
__attribute__((target("+crc"))) static uint32_t add_blocks(uint32_t crc, const uint8_t *data,
                                                           size_t size) {
    for (; size > 0; data += 16, size -= 16) {
        uint64_t words[2];
        memcpy(words, data, sizeof words);
        crc = __crc32d(__crc32d(crc, words[0]), words[1]);
    }
    return crc;
}

#if defined(__linux__)
#include <sys/auxv.h>

int checksum_is_quick(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#else
int checksum_is_quick(void) { return 1; }
#endif
#else
static uint32_t add_blocks(uint32_t crc, const uint8_t *data, size_t size) {
    return add_bytes(crc, data, size);
}

int checksum_is_quick(void) { return 0; }
#endif

uint32_t checksum(const uint8_t *data, size_t size) {
    uint32_t crc = 0xffffffffu;
    if (size >= 64) {
        size_t blocks = size & ~(size_t)15;
        crc = add_blocks(crc, data, blocks);
        data += blocks;
        size -= blocks;
    }
    return ~add_bytes(crc, data, size);
}
