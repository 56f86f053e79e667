/* XXH64 and Hive's Murmur3 of eight values at a time with AVX-512: one value to a lane of 64 bits.
 *
 *   value    | stripe of 32 bytes | ... | words of 8 bytes | 4 bytes | single bytes |
 *
 * The steps are those of xxh64.c and murmur3.c. Values of different lengths take different numbers of
 * them: a mask says which lanes take part in a step. That is quicker than a branch for each value,
 * because lengths that vary cannot be predicted.
 */
#include "murmur3.h"
#include "xxh64.h"

enum { STRIPE = 32 };

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#define LANES_INLINE AVX512 INLINE

typedef __m512i lanes;

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

LANES_INLINE lanes lane_round(lanes lane, lanes input) {
    return times(rotl(plus(lane, times(input, P2)), 31), P1);
}

LANES_INLINE lanes merge_lane(lanes hash, lanes lane) {
    return plus(times(xor(hash, lane_round(all(0), lane)), P1), all(P4));
}

LANES_INLINE lanes mix8(lanes hash, lanes input) {
    return plus(times(rotl(xor(hash, lane_round(all(0), input)), 27), P1), all(P4));
}

LANES_INLINE lanes mix4(lanes hash, lanes input) {
    return plus(times(rotl(xor(hash, times(input, P1)), 23), P2), all(P3));
}

LANES_INLINE lanes mix1(lanes hash, lanes input) {
    return times(rotl(xor(hash, times(input, P5)), 11), P1);
}

LANES_INLINE lanes avalanche(lanes hash) {
    hash = times(xor(hash, _mm512_srli_epi64(hash, 33)), P2);
    hash = times(xor(hash, _mm512_srli_epi64(hash, 29)), P3);
    return xor(hash, _mm512_srli_epi64(hash, 32));
}

/* Eight values: where each starts, and its length. */
struct eight {
    const uint8_t *at[LANES];
    uint64_t length[LANES];
};

/* ---- any lengths ------------------------------------------------------------------------------ */

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

/* The lanes that `in` names from `changed`, and the others from `old`. */
LANES_INLINE lanes where(__mmask8 in, lanes changed, lanes old) {
    return _mm512_mask_mov_epi64(old, in, changed);
}

LANES_INLINE __mmask8 at_least(lanes x, uint64_t least) {
    return _mm512_cmpge_epu64_mask(x, all(least));
}

/* The hash so far of values that begin with a whole stripe; advances `at` and `left` behind all such. */
LANES_INLINE lanes hash_stripes(const uint8_t *at[LANES], lanes *left, lanes words[4]) {
    lanes a = all(P1 + P2), b = all(P2), c = all(0), d = all(0 - P1);
    for (__mmask8 in = at_least(*left, STRIPE); in; in = at_least(*left, STRIPE)) {
        a = where(in, lane_round(a, words[0]), a);
        b = where(in, lane_round(b, words[1]), b);
        c = where(in, lane_round(c, words[2]), c);
        d = where(in, lane_round(d, words[3]), d);
        *left = where(in, _mm512_sub_epi64(*left, all(STRIPE)), *left);
        for (int i = 0; i < LANES; i++) at[i] += in >> i & 1 ? STRIPE : 0;
        load_stripes(at, words);
    }
    lanes hash = plus(plus(rotl(a, 1), rotl(b, 7)), plus(rotl(c, 12), rotl(d, 18)));
    return merge_lane(merge_lane(merge_lane(merge_lane(hash, a), b), c), d);
}

/* Mix in the last `left` bytes of each, less than a stripe, of which `words` has the words. */
LANES_INLINE lanes hash_rest(lanes hash, lanes left, const lanes words[4]) {
    lanes rest = words[0];
    for (int i = 0; i < 3; i++) {
        __mmask8 in = at_least(left, 8 * (uint64_t)(i + 1));
        if (!in) break;
        hash = where(in, mix8(hash, words[i]), hash);
        rest = where(in, words[i + 1], rest);
    }
    __mmask8 in = _mm512_test_epi64_mask(left, all(4));
    hash = where(in, mix4(hash, _mm512_and_si512(rest, all(UINT32_MAX))), hash);
    rest = where(in, _mm512_srli_epi64(rest, 32), rest);
    left = _mm512_and_si512(left, all(3));
    for (uint64_t i = 1; i <= 3; i++) {
        in = at_least(left, i);
        if (!in) break;
        hash = where(in, mix1(hash, _mm512_and_si512(rest, all(UINT8_MAX))), hash);
        rest = _mm512_srli_epi64(rest, 8);
    }
    return hash;
}

LANES_INLINE lanes hash_all(const struct eight *values) {
    const uint8_t *at[LANES];
    memcpy(at, values->at, sizeof at);
    lanes length = _mm512_loadu_si512(values->length), left = length, words[4], hash = all(P5);
    load_stripes(at, words);
    __mmask8 has_stripes = at_least(length, STRIPE);
    if (has_stripes) hash = where(has_stripes, hash_stripes(at, &left, words), hash);
    return avalanche(hash_rest(plus(hash, length), left, words));
}

/* Values of so many bytes, a power of two, are hashed as quickly by themselves. */
enum { LONG = 256 };

/* Where lengths vary, processors do not see early enough what will be read: this is so far ahead. */
enum { LINE = 64, AHEAD = 2048 };

LANES_INLINE void prefetch(const uint8_t *data, size_t size, size_t start, size_t end) {
    for (size_t at = start + AHEAD; at < end + AHEAD && at < size; at += LINE)
        __builtin_prefetch(data + at);
}

/* Whether eight values, in the order in which they lie in a buffer up to `end`, can be hashed together:
 * none is long, or so close to `end` that no stripe can be loaded behind its last whole one. Nothing
 * else is read. */
LANES_INLINE int are_short(const struct eight *values, const uint8_t *end) {
    uint64_t bits = 0, room = (uint64_t)(end - values->at[LANES - 1]);
    for (int i = 0; i < LANES; i++) bits |= values->length[i];
    return bits < LONG && room >= values->length[LANES - 1] + STRIPE;
}

/* Hash such values, or return 0 for others. */
LANES_INLINE int hash_eight(const struct eight *values, const uint8_t *end, uint64_t *hashes) {
    if (!are_short(values, end)) return 0;
    _mm512_storeu_si512(hashes, hash_all(values));
    return 1;
}

/* Whether eight values from data[at] on, which are there, have the length of the first one. */
LANES_INLINE int have_length(const uint8_t *data, uint32_t length) {
    uint32_t difference = 0;
    for (size_t i = 1; i < LANES; i++) {
        uint32_t other;
        memcpy(&other, data + i * (sizeof other + length), sizeof other);
        difference |= other ^ length;
    }
    return difference == 0;
}

/* Set the next eight values. Returns where they end, or 0 if one is long or runs past the end. A value
 * begins where the one before it ends, which takes time to find out; if the last eight all had the same
 * length, that is tried first. */
LANES_INLINE size_t next_eight(const uint8_t *data, size_t size, size_t at, struct eight *values,
                               int *is_even) {
    uint32_t length = 0, first;
    if (size - at < sizeof length) return 0;
    memcpy(&first, data + at, sizeof first);
    if (*is_even && first < LONG && size - at >= LANES * (sizeof first + LONG) &&
        have_length(data + at, first)) {
        for (size_t i = 0; i < LANES; i++) {
            values->at[i] = data + at + i * (sizeof first + first) + sizeof first;
            values->length[i] = first;
        }
        return at + LANES * (sizeof first + first);
    }
    uint32_t difference = 0;
    for (int i = 0; i < LANES; i++) {
        if (size - at < sizeof length) return 0;
        memcpy(&length, data + at, sizeof length);
        at += sizeof length;
        if (length >= LONG || size - at < length) return 0;
        values->at[i] = data + at;
        values->length[i] = length;
        at += length;
        difference |= length ^ first;
    }
    *is_even = difference == 0;
    return at;
}

AVX512 size_t lanes_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                                    uint64_t *hashes) {
    struct eight values;
    int is_even = 1;
    size_t n = 0, next;
    for (; room - n >= LANES; n += LANES, *start = next) {
        next = next_eight(data, size, *start, &values, &is_even);
        if (next == 0) break;
        if (!is_even) prefetch(data, size, *start, next);
        if (!hash_eight(&values, data + size, hashes + n)) break;
    }
    return n;
}

AVX512 size_t lanes_hash_slices(const uint8_t *data, const int64_t *offsets, size_t count,
                                uint64_t *hashes) {
    size_t n = 0;
    for (; count - n >= LANES; n += LANES) {
        struct eight values;
        for (size_t i = 0; i < LANES; i++) {
            values.at[i] = data + offsets[n + i];
            values.length[i] = (uint64_t)(offsets[n + i + 1] - offsets[n + i]);
        }
        if (!hash_eight(&values, data + offsets[count], hashes + n)) break;
    }
    return n;
}

/* ---- Hive's Murmur3 of any lengths --------------------------------------------------------------- */

LANES_INLINE lanes scramble(lanes word) { return times(rotl(times(word, C1), 31), C2); }

LANES_INLINE lanes finish(lanes hash) {
    hash = times(xor(hash, _mm512_srli_epi64(hash, 33)), C3);
    hash = times(xor(hash, _mm512_srli_epi64(hash, 33)), C4);
    return xor(hash, _mm512_srli_epi64(hash, 33));
}

/* Of values less than LONG, with room for a stripe behind the last whole one of each. */
LANES_INLINE lanes hive_all(const struct eight *values, uint64_t seed) {
    const uint8_t *at[LANES];
    memcpy(at, values->at, sizeof at);
    lanes length = _mm512_loadu_si512(values->length), hash = all(seed), words[4];
    load_stripes(at, words);
    lanes rest = words[0];
    __mmask8 in = at_least(length, 8);
    for (uint64_t i = 0; in; in = at_least(length, 8 * (i + 1))) {
        lanes mixed = rotl(xor(hash, scramble(words[i % 4])), 27);
        mixed = plus(plus(mixed, _mm512_slli_epi64(mixed, 2)), all(0x52dce729));
        hash = where(in, mixed, hash);
        if (++i % 4 == 0) {
            __mmask8 whole = at_least(length, 8 * i);
            for (int k = 0; k < LANES; k++) at[k] += whole >> k & 1 ? STRIPE : 0;
            load_stripes(at, words);
        }
        rest = where(in, words[i % 4], rest);
    }
    lanes left = _mm512_slli_epi64(_mm512_and_si512(length, all(7)), 3);
    lanes bits = _mm512_sub_epi64(_mm512_sllv_epi64(all(1), left), all(1));
    hash = xor(hash, scramble(_mm512_and_si512(rest, bits)));
    return finish(xor(hash, length));
}

AVX512 size_t lanes_hive64(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                           int64_t gap, uint64_t seed, uint64_t *hashes) {
    size_t n = 0;
    for (; count - n >= LANES; n += LANES) {
        struct eight values;
        for (size_t i = 0; i < LANES; i++) {
            values.at[i] = data + starts[n + i];
            values.length[i] = (uint64_t)(starts[n + i + 1] - gap - starts[n + i]);
        }
        if (!are_short(&values, data + size)) break;
        _mm512_storeu_si512(hashes + n, hive_all(&values, seed));
    }
    return n;
}

/* ---- one width -------------------------------------------------------------------------------- */

LANES_INLINE lanes load(const uint8_t *p) { return _mm512_loadu_si512(p); }

LANES_INLINE lanes hash_4(const uint8_t *p) {
    lanes words = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)p));
    return mix4(all(P5 + 4), words);
}

LANES_INLINE lanes hash_8(const uint8_t *p) { return mix8(all(P5 + 8), load(p)); }

/* 24 numbers of 32 bits; those from the 16th on are in the second half of the second 16. */
LANES_INLINE lanes hash_12(const uint8_t *p) {
    const lanes words =
        _mm512_setr_epi32(0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 24, 26, 27, 29, 30);
    const lanes rest = _mm512_setr_epi32(2, 0, 5, 0, 8, 0, 11, 0, 14, 0, 25, 0, 28, 0, 31, 0);
    lanes low = load(p), high = load(p + 32);
    lanes hash = mix8(all(P5 + 12), _mm512_permutex2var_epi32(low, words, high));
    return mix4(hash, _mm512_maskz_permutex2var_epi32(0x5555, low, rest, high));
}

LANES_INLINE lanes hash_16(const uint8_t *p) {
    const lanes even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const lanes odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    lanes low = load(p), high = load(p + 64);
    lanes hash = mix8(all(P5 + 16), _mm512_permutex2var_epi64(low, even, high));
    return mix8(hash, _mm512_permutex2var_epi64(low, odd, high));
}

#define HASH_ALL(width)                                                                            \
    for (; count - n >= LANES; n += LANES)                                                         \
    _mm512_storeu_si512(hashes + n, avalanche(hash_##width(values + n * width)))

static AVX512 size_t hash_any_width(const uint8_t *first, size_t count, size_t width,
                                    uint64_t *hashes) {
    size_t n = 0;
    for (; count - n >= LANES; n += LANES) {
        struct eight values;
        for (size_t i = 0; i < LANES; i++) {
            values.at[i] = first + (n + i) * width;
            values.length[i] = width;
        }
        if (!hash_eight(&values, first + count * width, hashes + n)) break;
    }
    return n;
}

AVX512 size_t lanes_hash_fixed(const uint8_t *values, size_t count, size_t width,
                               uint64_t *hashes) {
    size_t n = 0;
    switch (width) {
    case 4:
        HASH_ALL(4);
        return n;
    case 8:
        HASH_ALL(8);
        return n;
    case 12:
        HASH_ALL(12);
        return n;
    case 16:
        HASH_ALL(16);
        return n;
    default:
        return hash_any_width(values, count, width, hashes);
    }
}

#else

size_t lanes_hash_fixed(const uint8_t *values, size_t count, size_t width, uint64_t *hashes) {
    (void)values, (void)count, (void)width, (void)hashes;
    return 0;
}

size_t lanes_hash_slices(const uint8_t *data, const int64_t *offsets, size_t count,
                         uint64_t *hashes) {
    (void)data, (void)offsets, (void)count, (void)hashes;
    return 0;
}

size_t lanes_hive64(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                    int64_t gap, uint64_t seed, uint64_t *hashes) {
    (void)data, (void)size, (void)starts, (void)count, (void)gap, (void)seed, (void)hashes;
    return 0;
}

size_t lanes_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                             uint64_t *hashes) {
    (void)data, (void)size, (void)start, (void)room, (void)hashes;
    return 0;
}

#endif
