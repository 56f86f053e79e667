/* ALP, an encoding of FLOAT and DOUBLE: decimal numbers as integers (parquet-format, AlpEncoding.md).
 *
 *   page     | compression mode (1) | integer encoding (1) | log2 of the vector size (1) | number of values (4) |
 *            | where each vector begins, from here on (4 each) | vector | vector | ...
 *   vector   | exponent (1) | factor (1) | number of exceptions (2) | frame (4 or 8) | bit width (1) |
 *            | packed deltas | positions of exceptions (2 each) | exceptions (4 or 8 each) |
 *
 * A value is (frame + delta) * 10^factor * 10^-exponent, rounded after each step: the encoder tried the same, and
 * what did not come out bit for bit it made an exception.
 */
#include "packed.h"

/* Correctly rounded; what pow returns is not everywhere. */
static const double TENS[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                              1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
static const double TENTHS[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8, 1e-9,
                                1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18};
static const float FLOAT_TENS[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
static const float FLOAT_TENTHS[] = {1e0f,  1e-1f, 1e-2f, 1e-3f, 1e-4f, 1e-5f,
                                     1e-6f, 1e-7f, 1e-8f, 1e-9f, 1e-10f};

enum {
    HEADER = 7,
    LEAST_LOG = 3,
    MOST_LOG = 15,
    OFFSET = 4,
    POSITION = 2,
    MOST_FLOAT_EXPONENT = 10,
    MOST_EXPONENT = 18
};

/* What a vector begins with, and where its parts are. */
struct vector {
    int exponent, factor, bits;
    int64_t count, exceptions;
    uint64_t frame;
    const uint8_t *packed, *positions, *values;
};

static uint64_t number_at(const uint8_t *at, size_t width) {
    uint64_t number = 0;
    memcpy(&number, at, width);
    return number;
}

int alp_start(const uint8_t *data, size_t size, size_t width, struct alp_state *state) {
    if (size < HEADER || data[0] != 0 || data[1] != 0 || data[2] < LEAST_LOG || data[2] > MOST_LOG)
        return -1;
    int64_t count = (int32_t)number_at(data + 3, sizeof(int32_t));
    state->vector = (int64_t)1 << data[2];
    int64_t vectors = (count + state->vector - 1) / state->vector;
    if (count < 0 || vectors > (int64_t)(size - HEADER) / OFFSET) return -1;
    state->width = (int64_t)width;
    state->count = state->left = count;
    state->at = HEADER + OFFSET * vectors;
    if (vectors == 0 && size != HEADER) return -1;
    return 0;
}

/* Find the parts of the vector at `state->at`, and return where it ends; -1 if it cannot be. */
static int64_t find_parts(const uint8_t *data, size_t size, const struct alp_state *state,
                          struct vector *found) {
    size_t width = (size_t)state->width;
    int64_t number = (state->count - state->left) / state->vector, left = (int64_t)size - state->at;
    int64_t header = 5 + (int64_t)width;
    const uint8_t *at = data + state->at;
    if (number_at(data + HEADER + OFFSET * number, OFFSET) != (uint64_t)state->at - HEADER ||
        left < header)
        return -1;
    int most = width == sizeof(float) ? MOST_FLOAT_EXPONENT : MOST_EXPONENT;
    *found = (struct vector){
        .exponent = at[0],
        .factor = at[1],
        .bits = at[4 + width],
        .count = state->left < state->vector ? state->left : state->vector,
        .exceptions = (int64_t)number_at(at + 2, sizeof(uint16_t)),
        .frame = number_at(at + 4, width),
        .packed = at + header,
    };
    if (found->exponent > most || found->factor > found->exponent ||
        found->bits > 8 * (int)width || found->exceptions > found->count)
        return -1;
    int64_t packed = (found->count * found->bits + 7) / 8;
    int64_t needed = header + packed + found->exceptions * (POSITION + (int64_t)width);
    if (left < needed) return -1;
    found->positions = found->packed + packed;
    found->values = found->positions + POSITION * found->exceptions;
    return state->at + needed;
}

static double as_double(uint64_t number, double ten, double tenth) {
    return (double)(int64_t)number * ten * tenth;
}

static float as_float(uint64_t number, float ten, float tenth) {
    return (float)(int32_t)(uint32_t)number * ten * tenth;
}

#if defined(__x86_64__)
/* Eight at a time; returns how many that were. `end`: of all data. */
AVX512 static int64_t decode_eights_avx512(const struct vector *from, const uint8_t *end, size_t width,
                                           uint8_t *values) {
    const struct cut cut = cut_of(from->bits);
    const lanes frame = all(from->frame);
    const __m512d ten = _mm512_set1_pd(TENS[from->factor]);
    const __m512d tenth = _mm512_set1_pd(TENTHS[from->exponent]);
    const uint8_t *packed = from->packed;
    int64_t n = 0;
    for (; from->count - n >= LANES && end - packed >= (int64_t)sizeof(lanes);
         n += LANES, packed += from->bits, values += LANES * width) {
        lanes numbers = plus(eight_packed(packed, &cut), frame);
        if (width == sizeof(double)) {
            __m512d some = _mm512_mul_pd(_mm512_cvtepi64_pd(numbers), ten);
            _mm512_storeu_pd(values, _mm512_mul_pd(some, tenth));
        } else {
            __m256 some = _mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(numbers));
            some = _mm256_mul_ps(some, _mm256_set1_ps(FLOAT_TENS[from->factor]));
            some = _mm256_mul_ps(some, _mm256_set1_ps(FLOAT_TENTHS[from->exponent]));
            _mm256_storeu_ps((float *)values, some);
        }
    }
    return n;
}

/* Correctly rounded, as a conversion of AVX-512 is: the upper half of each as a multiple of 2^32, the lower one as an
 * integer, both in the bits of a double that is large enough, whose sum is rounded once. */
AVX2 INLINE __m256d as_doubles(__m256i numbers) {
    const __m256i low = _mm256_set1_epi64x(0x4330000000000000);              /* 2^52 */
    const __m256i high = _mm256_set1_epi64x(0x4530000080000000);             /* 2^84 + 2^63 */
    const __m256d both = _mm256_castsi256_pd(_mm256_set1_epi64x(0x4530000080100000)); /* and 2^52 */
    __m256i upper = _mm256_xor_si256(_mm256_srli_epi64(numbers, 32), high);
    __m256i lower = _mm256_blend_epi32(low, numbers, 0x55);
    __m256d some = _mm256_sub_pd(_mm256_castsi256_pd(upper), both);
    return _mm256_add_pd(some, _mm256_castsi256_pd(lower));
}

/* The same. */
AVX2 static int64_t decode_eights_avx2(const struct vector *from, const uint8_t *end, size_t width,
                                       uint8_t *values) {
    if (from->bits > NARROW) return 0;
    const struct half_cut first = half_cut_of(from->bits, 0), last = half_cut_of(from->bits, 4);
    const __m256i frame = _mm256_set1_epi64x((int64_t)from->frame);
    const __m256d ten = _mm256_set1_pd(TENS[from->factor]);
    const __m256d tenth = _mm256_set1_pd(TENTHS[from->exponent]);
    const uint8_t *packed = from->packed;
    int64_t n = 0;
    for (; from->count - n >= LANES && end - packed >= last.needed;
         n += LANES, packed += from->bits, values += LANES * width) {
        __m256i low = _mm256_add_epi64(four_packed(packed, &first), frame);
        __m256i high = _mm256_add_epi64(four_packed(packed, &last), frame);
        if (width == sizeof(double)) {
            __m256d some = _mm256_mul_pd(as_doubles(low), ten), more = _mm256_mul_pd(as_doubles(high), ten);
            _mm256_storeu_pd((double *)values, _mm256_mul_pd(some, tenth));
            _mm256_storeu_pd((double *)values + 4, _mm256_mul_pd(more, tenth));
        } else {
            /* The lower half of each lane. */
            __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
            __m256i numbers = _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
            __m256 some = _mm256_cvtepi32_ps(numbers);
            some = _mm256_mul_ps(some, _mm256_set1_ps(FLOAT_TENS[from->factor]));
            some = _mm256_mul_ps(some, _mm256_set1_ps(FLOAT_TENTHS[from->exponent]));
            _mm256_storeu_ps((float *)values, some);
        }
    }
    return n;
}

INLINE int64_t decode_eights(const struct vector *from, const uint8_t *end, size_t width, uint8_t *values) {
    if (code_path() == WITH_AVX512) return decode_eights_avx512(from, end, width, values);
    return code_path() == WITH_AVX2 ? decode_eights_avx2(from, end, width, values) : 0;
}
#else
INLINE int64_t decode_eights(const struct vector *from, const uint8_t *end, size_t width, uint8_t *values) {
    (void)from, (void)end, (void)width, (void)values;
    return 0;
}
#endif

INLINE void store_value(const struct vector *from, uint64_t delta, size_t width, uint8_t *to) {
    if (width == sizeof(double)) {
        double value = as_double(from->frame + delta, TENS[from->factor], TENTHS[from->exponent]);
        memcpy(to, &value, sizeof value);
    } else {
        float value = as_float(from->frame + delta, FLOAT_TENS[from->factor], FLOAT_TENTHS[from->exponent]);
        memcpy(to, &value, sizeof value);
    }
}

INLINE void decode_numbers(const struct vector *from, const uint8_t *end, size_t width, uint8_t *values) {
    const struct vector v = *from;
    uint64_t mask = mask_of(v.bits);
    int64_t i = decode_eights(from, end, width, values), quick = num_narrow(v.packed, end, v.bits, v.count);
    for (; i < quick; i++)
        store_value(&v, narrow_number(v.packed, i * v.bits, mask), width, values + i * (int64_t)width);
    for (; i < v.count; i++)
        store_value(&v, packed_number(v.packed, end, i * v.bits, v.bits, mask), width,
                    values + i * (int64_t)width);
}

/* Put exceptions in their places. Returns 0 if one has none. */
static int put_exceptions(const struct vector *from, size_t width, uint8_t *values) {
    for (int64_t i = 0; i < from->exceptions; i++) {
        int64_t position = (int64_t)number_at(from->positions + POSITION * i, POSITION);
        if (position >= from->count) return 0;
        memcpy(values + position * (int64_t)width, from->values + i * (int64_t)width, width);
    }
    return 1;
}

int64_t alp_next(const uint8_t *data, size_t size, struct alp_state *state, uint8_t *values,
                 int64_t room) {
    size_t width = (size_t)state->width;
    int64_t decoded = 0;
    while (state->left > 0 && room - decoded >= state->vector) {
        struct vector found;
        uint8_t *to = values + decoded * state->width;
        int64_t end = find_parts(data, size, state, &found);
        if (end < 0) return -1;
        /* Constant widths make quicker copies. */
        if (width == sizeof(double)) {
            decode_numbers(&found, data + size, sizeof(double), to);
            if (!put_exceptions(&found, sizeof(double), to)) return -1;
        } else {
            decode_numbers(&found, data + size, sizeof(float), to);
            if (!put_exceptions(&found, sizeof(float), to)) return -1;
        }
        decoded += found.count;
        state->left -= found.count;
        state->at = end;
    }
    return state->left == 0 && state->at != (int64_t)size ? -1 : decoded;
}
