/* Hive's Murmur3 (see murmur3.c) of eight values at a time. */
#include "murmur3.h"

#if defined(__x86_64__)
#include "lanes.h"

LANES_INLINE lanes scramble(lanes word) { return times(rotl(times(word, C1), 31), C2); }

LANES_INLINE lanes finish(lanes hash) {
    hash = times(xor(hash, _mm512_srli_epi64(hash, 33)), C3);
    hash = times(xor(hash, _mm512_srli_epi64(hash, 33)), C4);
    return xor(hash, _mm512_srli_epi64(hash, 33));
}

LANES_INLINE lanes hive_eight(const struct eight *values, lanes length, uint64_t seed) {
    const uint8_t *at[LANES];
    memcpy(at, values->at, sizeof at);
    lanes hash = all(seed), words[4];
    load_stripes(at, words);
    lanes rest = words[0];
    __mmask8 in = at_least(length, 8);
    for (uint64_t i = 0; in; in = at_least(length, 8 * (i + 1))) {
        lanes mixed = rotl(xor(hash, scramble(words[i % 4])), 27);
        mixed = plus(plus(mixed, _mm512_slli_epi64(mixed, 2)), all(0x52dce729));
        hash = where(in, mixed, hash);
        if (++i % 4 == 0) {
            for (int k = 0; k < LANES; k++) at[k] += STRIPE;
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
        lanes lengths = set_slices(&values, data, starts + n, gap);
        if (!are_short(&values, lengths, data + size)) break;
        _mm512_storeu_si512(hashes + n, hive_eight(&values, lengths, seed));
    }
    return n;
}

#else

size_t lanes_hive64(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                    int64_t gap, uint64_t seed, uint64_t *hashes) {
    (void)data, (void)size, (void)starts, (void)count, (void)gap, (void)seed, (void)hashes;
    return 0;
}

#endif
