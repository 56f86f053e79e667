/* BYTE_STREAM_SPLIT (parquet-format, Encodings.md).
 *
 *   | the first byte of each value | the second byte of each value | ...
 */
#include "kernel.h"

enum { VECTOR = 16 };

/* The bytes of two vectors by turns: of their lower halves, and of their upper halves. */
#if defined(__x86_64__)
#include <immintrin.h>
typedef __m128i bytes;
#define LOW_BY_TURNS _mm_unpacklo_epi8
#define HIGH_BY_TURNS _mm_unpackhi_epi8
#elif defined(__aarch64__)
#include <arm_neon.h>
typedef uint8x16_t bytes;
#define LOW_BY_TURNS vzip1q_u8
#define HIGH_BY_TURNS vzip2q_u8
#endif

static void join_some(const uint8_t *streams, size_t stride, size_t from, size_t count,
                      size_t width, uint8_t *values) {
    for (size_t i = from; i < count; i++)
        for (size_t k = 0; k < width; k++) values[i * width + k] = streams[k * stride + i];
}

#if defined(LOW_BY_TURNS)
/* Byte j of the first half of all vectors, byte j of the second half, byte j + 1 of the first, ... */
INLINE void by_turns(const bytes *from, size_t width, bytes *to) {
    for (size_t k = 0; k < width / 2; k++) {
        to[2 * k] = LOW_BY_TURNS(from[k], from[k + width / 2]);
        to[2 * k + 1] = HIGH_BY_TURNS(from[k], from[k + width / 2]);
    }
}

/* Join whole vectors, and return how many values these were. `width`, a constant: 2, 4 or 8. Byte i of stream k, at
 * place k * VECTOR + i in all vectors, has to come to place i * width + k. That turns the bits of the place by those
 * of k, and each step by one. */
INLINE size_t join_vectors(const uint8_t *streams, size_t stride, size_t count, size_t width,
                           uint8_t *values) {
    size_t whole = count - count % VECTOR;
    for (size_t i = 0; i < whole; i += VECTOR) {
        bytes some[8], turned[8];
        for (size_t k = 0; k < width; k++) memcpy(&some[k], streams + k * stride + i, VECTOR);
        by_turns(some, width, turned);
        if (width > 2) by_turns(turned, width, some);
        if (width > 4) by_turns(some, width, turned);
        const bytes *joined = width == 4 ? some : turned;
        for (size_t k = 0; k < width; k++)
            memcpy(values + i * width + k * VECTOR, &joined[k], VECTOR);
    }
    return whole;
}
#else
#define join_vectors(streams, stride, count, width, values) 0
#endif

void join_streams(const uint8_t *streams, size_t stride, size_t count, size_t width,
                  uint8_t *values) {
    size_t joined = 0;
    if (width == 2)
        joined = join_vectors(streams, stride, count, 2, values);
    else if (width == 4)
        joined = join_vectors(streams, stride, count, 4, values);
    else if (width == 8)
        joined = join_vectors(streams, stride, count, 8, values);
    join_some(streams, stride, joined, count, width, values);
}
