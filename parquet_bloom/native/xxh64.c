/* XXH64 with seed 0, written from the xxHash specification (github.com/Cyan4973/xxHash,
 * doc/xxhash_spec.md, section "XXH64 algorithm description"). */
#include "xxh64.h"

INLINE uint64_t rotl(uint64_t x, int r) { return (x << r) | (x >> (64 - r)); }

INLINE uint64_t read64(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

INLINE uint32_t read32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

INLINE uint64_t lane_round(uint64_t lane, uint64_t input) {
    return rotl(lane + input * P2, 31) * P1;
}

INLINE uint64_t merge_lane(uint64_t hash, uint64_t lane) {
    return (hash ^ lane_round(0, lane)) * P1 + P4;
}

INLINE uint64_t mix8(uint64_t hash, uint64_t input) {
    return rotl(hash ^ lane_round(0, input), 27) * P1 + P4;
}

INLINE uint64_t mix4(uint64_t hash, uint32_t input) {
    return rotl(hash ^ (input * P1), 23) * P2 + P3;
}

INLINE uint64_t mix1(uint64_t hash, uint8_t input) { return rotl(hash ^ (input * P5), 11) * P1; }

INLINE uint64_t avalanche(uint64_t hash) {
    hash = (hash ^ (hash >> 33)) * P2;
    hash = (hash ^ (hash >> 29)) * P3;
    return hash ^ (hash >> 32);
}

/* Always inlined, so that a constant `size` compiles to code for that size only. */
INLINE uint64_t hash_bytes(const uint8_t *p, size_t size) {
    uint64_t hash = P5;
    size_t left = size;
    if (left >= 32) {
        uint64_t a = P1 + P2, b = P2, c = 0, d = 0 - P1;
        for (; left >= 32; left -= 32, p += 32) {
            a = lane_round(a, read64(p));
            b = lane_round(b, read64(p + 8));
            c = lane_round(c, read64(p + 16));
            d = lane_round(d, read64(p + 24));
        }
        hash = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
        hash = merge_lane(merge_lane(merge_lane(merge_lane(hash, a), b), c), d);
    }
    hash += size;
    for (; left >= 8; left -= 8, p += 8) hash = mix8(hash, read64(p));
    if (left >= 4) {
        hash = mix4(hash, read32(p));
        left -= 4;
        p += 4;
    }
    for (; left > 0; left--, p++) hash = mix1(hash, *p);
    return avalanche(hash);
}

uint64_t xxh64(const uint8_t *data, size_t size) { return hash_bytes(data, size); }

void xxh64_fixed(const uint8_t *values, size_t count, size_t width, uint64_t *hashes) {
    size_t i = code_path() == WITH_AVX512 ? lanes_hash_fixed(values, count, width, hashes) : 0;
    switch (width) {
    case 4:
        for (; i < count; i++) hashes[i] = hash_bytes(values + 4 * i, 4);
        return;
    case 8:
        for (; i < count; i++) hashes[i] = hash_bytes(values + 8 * i, 8);
        return;
    case 12:
        for (; i < count; i++) hashes[i] = hash_bytes(values + 12 * i, 12);
        return;
    case 16:
        for (; i < count; i++) hashes[i] = hash_bytes(values + 16 * i, 16);
        return;
    default:
        for (; i < count; i++) hashes[i] = hash_bytes(values + width * i, width);
    }
}

void xxh64_slices(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                  uint64_t *hashes) {
    int has_lanes = code_path() == WITH_AVX512;
    for (size_t i = 0; i < count;) {
        if (has_lanes) i += lanes_hash_slices(data, size, offsets + i, count - i, hashes + i);
        size_t next = count - i < LANES ? count : i + LANES;
        for (; i < next; i++)
            hashes[i] = hash_bytes(data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
    }
}
