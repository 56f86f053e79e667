/* XXH64 of eight values at a time; the steps are those of xxh64.c. */
#include "xxh64.h"

#if defined(__x86_64__)
#include "lanes.h"

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

/* ---- any lengths ------------------------------------------------------------------------------ */

/* The hash so far of values that begin with a whole stripe, all of which are `words`. Lanes that have come
 * to their end go on reading, to no effect. */
LANES_INLINE lanes hash_stripes(const uint8_t *const at[LANES], lanes lengths, lanes words[4]) {
    lanes a = all(P1 + P2), b = all(P2), c = all(0), d = all(0 - P1);
    const uint8_t *next[LANES];
    memcpy(next, at, sizeof next);
    __mmask8 in = at_least(lengths, STRIPE);
    for (uint64_t end = 2 * STRIPE; in; end += STRIPE) {
        a = where(in, lane_round(a, words[0]), a);
        b = where(in, lane_round(b, words[1]), b);
        c = where(in, lane_round(c, words[2]), c);
        d = where(in, lane_round(d, words[3]), d);
        in = at_least(lengths, end);
        for (int i = 0; i < LANES; i++) next[i] += STRIPE;
        load_stripes(next, words);
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

LANES_INLINE lanes hash_eight(const struct eight *values, lanes lengths) {
    lanes words[4], hash = all(P5), left = lengths;
    load_stripes(values->at, words);
    __mmask8 has_stripes = at_least(lengths, STRIPE);
    if (has_stripes) {
        hash = where(has_stripes, hash_stripes(values->at, lengths, words), hash);
        left = _mm512_and_si512(lengths, all(STRIPE - 1));
        const uint8_t *rest[LANES];
        for (int i = 0; i < LANES; i++)
            rest[i] = values->at[i] + (values->length[i] & ~(uint64_t)(STRIPE - 1));
        load_stripes(rest, words);
    }
    return avalanche(hash_rest(plus(hash, lengths), left, words));
}

/* ---- values after their lengths ----------------------------------------------------------------- */

/* Where lengths vary, processors do not see early enough what will be read: this is so far ahead. */
enum { LINE = 64, AHEAD = 4096 };

/* Values up to AHEAD bytes before the end. A loop that nearly always has as many rounds is predicted. */
LANES_INLINE void prefetch(const uint8_t *data, size_t size, size_t start, size_t end) {
    if (size - end < AHEAD + 4 * LINE) return;
    for (const uint8_t *at = data + start + AHEAD; at < data + end + AHEAD; at += 4 * LINE)
        for (int i = 0; i < 4; i++) __builtin_prefetch(at + i * LINE);
}

/* Whether eight values from data[at] on have room, whatever their lengths, if they are short. */
LANES_INLINE int has_room(size_t size, size_t at) {
    return size - at >= LANES * (sizeof(uint32_t) + LONG) + LONG + STRIPE;
}

/* Whether eight values from data[at] on, which have room, have the length of the first one. */
LANES_INLINE int have_length(const uint8_t *data, uint32_t length) {
    uint32_t difference = 0;
    for (size_t i = 1; i < LANES; i++) {
        uint32_t other;
        memcpy(&other, data + i * (sizeof other + length), sizeof other);
        difference |= other ^ length;
    }
    return difference == 0;
}

/* Hash values as long as the first of them, as far as there are eight together. */
LANES_INLINE size_t hash_even(const uint8_t *data, size_t size, size_t *start, size_t room,
                              uint64_t *hashes) {
    size_t n = 0, next;
    for (; room - n >= LANES && has_room(size, *start); n += LANES, *start = next) {
        struct eight values;
        uint32_t length;
        memcpy(&length, data + *start, sizeof length);
        if (length >= LONG || !have_length(data + *start, length)) break;
        next = *start + LANES * (sizeof length + length);
        for (size_t i = 0; i < LANES; i++) {
            values.at[i] = data + *start + i * (sizeof length + length) + sizeof length;
            values.length[i] = length;
        }
        prefetch(data, size, *start, next);
        _mm512_storeu_si512(hashes + n, hash_eight(&values, all(length)));
    }
    return n;
}

/* Find the next eight values. Returns where they end, or 0 if one is long or they may lack room. */
LANES_INLINE size_t find_eight(const uint8_t *data, size_t size, size_t at, struct eight *values) {
    uint32_t bits = 0;
    size_t start = at;
    if (!has_room(size, at)) return 0;
    for (int i = 0; i < LANES; i++) {
        uint32_t length;
        memcpy(&length, data + at, sizeof length);
        at += sizeof length;
        values->at[i] = data + at;
        values->length[i] = length;
        bits |= length;
        /* Of a long value, which ends this, as much as there is room for. */
        at += length % LONG;
    }
    prefetch(data, size, start, at);
    return bits < LONG ? at : 0;
}

/* A value begins where the one before it ends, which takes time to find out: so values are found while
 * others, found before, are hashed. */
enum { FOUND = 4 };

/* Hash values of any lengths, up to eight of which one is long. */
LANES_INLINE size_t hash_mixed(const uint8_t *data, size_t size, size_t *start, size_t room,
                               uint64_t *hashes) {
    struct eight found[FOUND];
    size_t ends[FOUND], num_found = 0, n = 0, most = room / LANES, next = *start;
    for (;; n++) {
        for (; next != 0 && num_found < most && num_found < n + FOUND; num_found++) {
            next = find_eight(data, size, next, &found[num_found % FOUND]);
            if (next == 0) break;
            ends[num_found % FOUND] = next;
        }
        if (n == num_found) return n * LANES;
        const struct eight *values = &found[n % FOUND];
        lanes lengths = _mm512_loadu_si512(values->length);
        _mm512_storeu_si512(hashes + n * LANES, hash_eight(values, lengths));
        *start = ends[n % FOUND];
    }
}

AVX512 size_t lanes_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                                    uint64_t *hashes) {
    size_t n = hash_even(data, size, start, room, hashes);
    return n + hash_mixed(data, size, start, room - n, hashes + n);
}

AVX512 size_t lanes_hash_slices(const uint8_t *data, size_t size, const int64_t *offsets,
                                size_t count, uint64_t *hashes) {
    size_t n = 0;
    for (; count - n >= LANES; n += LANES) {
        struct eight values;
        lanes lengths = set_slices(&values, data, offsets + n, 0);
        if (!are_short(&values, lengths, data + size)) break;
        _mm512_storeu_si512(hashes + n, hash_eight(&values, lengths));
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

/* Between two batches of values, others are inserted, and processors forget that these are read in order.
 * Nothing is read behind the last value, which this may name. */
LANES_INLINE void prefetch_behind(const uint8_t *values) {
    __builtin_prefetch((const void *)((uintptr_t)values + AHEAD));
}

#define HASH_ALL(width)                                                                            \
    for (; count - n >= LANES; n += LANES) {                                                       \
        prefetch_behind(values + n * width);                                                       \
        _mm512_storeu_si512(hashes + n, avalanche(hash_##width(values + n * width)));              \
    }

static AVX512 size_t hash_any_width(const uint8_t *first, size_t count, size_t width,
                                    uint64_t *hashes) {
    size_t n = 0;
    for (; count - n >= LANES; n += LANES) {
        struct eight values;
        for (size_t i = 0; i < LANES; i++) {
            values.at[i] = first + (n + i) * width;
            values.length[i] = width;
        }
        if (!are_short(&values, all(width), first + count * width)) break;
        _mm512_storeu_si512(hashes + n, hash_eight(&values, all(width)));
    }
    return n;
}

AVX512 size_t lanes_hash_fixed(const uint8_t *values, size_t count, size_t width,
                               uint64_t *hashes) {
    size_t n = 0;
    switch (width) {
    case 4:
        HASH_ALL(4)
        return n;
    case 8:
        HASH_ALL(8)
        return n;
    case 12:
        HASH_ALL(12)
        return n;
    case 16:
        HASH_ALL(16)
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

size_t lanes_hash_slices(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                         uint64_t *hashes) {
    (void)data, (void)size, (void)offsets, (void)count, (void)hashes;
    return 0;
}

size_t lanes_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                             uint64_t *hashes) {
    (void)data, (void)size, (void)start, (void)room, (void)hashes;
    return 0;
}

#endif
