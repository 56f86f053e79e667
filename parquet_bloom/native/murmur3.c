/* MurmurHash3 x64_128, written from the definition of the algorithm, which its author Austin Appleby
 * has put into the public domain (github.com/aappleby/smhasher, MurmurHash3), and the single-lane
 * variant of Hive and ORC: it processes every 8 bytes as x64_128 does the first 8 of each 16, and
 * equals neither half of x64_128. */
#include "murmur3.h"

INLINE uint64_t rotl(uint64_t x, int r) { return (x << r) | (x >> (64 - r)); }

/* Up to 8 bytes, little-endian. A copy of a size that only the machine knows would be a call. */
INLINE uint64_t read_up_to_8(const uint8_t *p, size_t size) {
    uint64_t x = 0;
    if (size >= 8) {
        memcpy(&x, p, 8);
    } else if (size >= 4) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + size - 4, 4);
        x = low | (uint64_t)high << 8 * (size - 4);
    } else if (size) {
        x = p[0] | (uint64_t)p[size / 2] << 8 * (size / 2) | (uint64_t)p[size - 1] << 8 * (size - 1);
    }
    return x;
}

INLINE uint64_t scramble_low(uint64_t k) { return rotl(k * C1, 31) * C2; }

INLINE uint64_t scramble_high(uint64_t k) { return rotl(k * C2, 33) * C1; }

INLINE uint64_t finish(uint64_t h) {
    h = (h ^ (h >> 33)) * C3;
    h = (h ^ (h >> 33)) * C4;
    return h ^ (h >> 33);
}

struct murmur3_hash murmur3(const uint8_t *data, size_t size, uint32_t seed) {
    uint64_t low = seed, high = seed;
    size_t left = size;
    for (; left >= 16; left -= 16, data += 16) {
        low = rotl(low ^ scramble_low(read_up_to_8(data, 8)), 27) + high;
        low = low * 5 + 0x52dce729;
        high = rotl(high ^ scramble_high(read_up_to_8(data + 8, 8)), 31) + low;
        high = high * 5 + 0x38495ab5;
    }
    if (left > 8) high ^= scramble_high(read_up_to_8(data + 8, left - 8));
    low ^= scramble_low(read_up_to_8(data, left));
    low ^= size;
    high ^= size;
    low += high;
    high += low;
    low = finish(low);
    high = finish(high);
    low += high;
    return (struct murmur3_hash){low, low + high};
}

uint64_t hive64(const uint8_t *data, size_t size, uint64_t seed) {
    uint64_t hash = seed;
    size_t left = size;
    for (; left >= 8; left -= 8, data += 8)
        hash = rotl(hash ^ scramble_low(read_up_to_8(data, 8)), 27) * 5 + 0x52dce729;
    return finish(hash ^ scramble_low(read_up_to_8(data, left)) ^ size);
}

void murmur3_slices(const uint8_t *data, const int64_t *starts, size_t count, int64_t gap,
                    uint32_t seed, struct murmur3_hash *hashes) {
    for (size_t i = 0; i < count; i++)
        hashes[i] = murmur3(data + starts[i], (size_t)(starts[i + 1] - gap - starts[i]), seed);
}

void murmur3_fixed(const uint8_t *values, size_t count, size_t width, uint32_t seed,
                   struct murmur3_hash *hashes) {
    for (size_t i = 0; i < count; i++) hashes[i] = murmur3(values + width * i, width, seed);
}

void hive64_slices(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                   int64_t gap, uint64_t seed, uint64_t *hashes) {
    int has_lanes = code_path() == WITH_AVX512;
    for (size_t i = 0; i < count;) {
        if (has_lanes)
            i += lanes_hive64(data, size, starts + i, count - i, gap, seed, hashes + i);
        size_t next = count - i < LANES ? count : i + LANES;
        for (; i < next; i++)
            hashes[i] = hive64(data + starts[i], (size_t)(starts[i + 1] - gap - starts[i]), seed);
    }
}

/* All but continuation bytes begin a character. */
static int64_t count_characters(const uint8_t *text, size_t size) {
    int64_t count = 0;
    for (size_t i = 0; i < size; i++) count += (text[i] & 0xc0) != 0x80;
    return count;
}

static uint64_t hive64_with_blanks(const uint8_t *data, size_t size, size_t blanks, uint64_t seed) {
    static const uint64_t BLANKS = 0x2020202020202020u;
    uint64_t hash = seed;
    size_t left = size;
    for (; left >= 8; left -= 8, data += 8)
        hash = rotl(hash ^ scramble_low(read_up_to_8(data, 8)), 27) * 5 + 0x52dce729;
    /* The last bytes of the text and the blanks after them. */
    uint64_t next = read_up_to_8(data, left) | (left ? BLANKS << 8 * left : BLANKS);
    size_t rest = left + blanks;
    for (; rest >= 8; rest -= 8, next = BLANKS)
        hash = rotl(hash ^ scramble_low(next), 27) * 5 + 0x52dce729;
    uint64_t tail = rest ? next & (~(uint64_t)0 >> (64 - 8 * rest)) : 0;
    return finish(hash ^ scramble_low(tail) ^ (size + blanks));
}

void hive64_padded(const uint8_t *data, const int64_t *starts, size_t count, int64_t characters,
                   uint64_t seed, uint64_t *hashes) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t *text = data + starts[i];
        size_t size = (size_t)(starts[i + 1] - starts[i]);
        int64_t blanks = characters - count_characters(text, size);
        hashes[i] = hive64_with_blanks(text, size, blanks > 0 ? (size_t)blanks : 0, seed);
    }
}
