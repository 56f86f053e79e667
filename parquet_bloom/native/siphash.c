/* SipHash-2-4: a hash that nobody can compute, or try values against, without its key of 128 bits.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
 */
#include "kernel.h"

typedef struct { uint64_t v[4]; } state;

INLINE uint64_t turn(uint64_t word, int by) { return word << by | word >> (64 - by); }

INLINE void mix(state *s) {
    uint64_t *v = s->v;
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turn(v[1], 13) ^ v[0];
    v[3] = turn(v[3], 16) ^ v[2];
    v[0] = turn(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = turn(v[1], 17) ^ v[2];
    v[3] = turn(v[3], 21) ^ v[0];
    v[2] = turn(v[2], 32);
}

INLINE state start(const uint8_t key[16]) {
    uint64_t low, high;
    memcpy(&low, key, sizeof low);
    memcpy(&high, key + sizeof low, sizeof high);
    return (state){{low ^ 0x736f6d6570736575u, high ^ 0x646f72616e646f6du,
                    low ^ 0x6c7967656e657261u, high ^ 0x7465646279746573u}};
}

INLINE void take(state *s, uint64_t word) {
    s->v[3] ^= word;
    mix(s);
    mix(s);
    s->v[0] ^= word;
}

INLINE uint64_t finish(state *s) {
    s->v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) mix(s);
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

uint64_t siphash(const uint8_t *data, size_t size, const uint8_t key[16]) {
    state s = start(key);
    uint64_t word, last = (uint64_t)size << 56;
    size_t at = 0;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        take(&s, word);
    }
    for (int i = 0; at < size; i += 8) last |= (uint64_t)data[at++] << i;
    take(&s, last);
    return finish(&s);
}

void siphash_words(const uint64_t *words, size_t count, const uint8_t key[16], uint64_t *hashes) {
    state keyed = start(key);
    for (size_t i = 0; i < count; i++) {
        state s = keyed;
        take(&s, words[i]);
        take(&s, (uint64_t)sizeof words[i] << 56);
        hashes[i] = finish(&s);
    }
}
