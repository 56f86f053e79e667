/* DELTA_BINARY_PACKED integers (parquet-format, Encodings.md).
 *
 *   header   | block size | miniblocks per block | number of values | first value (zigzag) |
 *   block    | least delta (zigzag) | a bit width per miniblock | miniblock | miniblock | ...
 *
 * Deltas add up modulo 2^64 and the caller keeps the low bits. That also reads what DuckDB writes
 * for INT32, deltas of 33 bits, which decoders that insist on 32 refuse.
 */
#include "kernel.h"

struct bytes {
    const uint8_t *at, *end;
    int bad;
};

static uint64_t read_varint(struct bytes *b) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (b->at == b->end) break;
        uint8_t byte = *b->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    b->bad = 1;
    return 0;
}

static uint64_t read_zigzag(struct bytes *b) {
    uint64_t value = read_varint(b);
    return (value >> 1) ^ (0 - (value & 1));
}

/* Add `count` packed deltas, each above `least`, to the value before `values`. */
static void unpack(const uint8_t *packed, int width, int64_t count, uint64_t least,
                   uint64_t *values) {
    uint64_t mask = width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
    unsigned __int128 bits = 0;
    int have = 0;
    for (int64_t i = 0; i < count; i++) {
        for (; have < width; have += 8) bits |= (unsigned __int128)*packed++ << have;
        values[i] = values[i - 1] + least + ((uint64_t)bits & mask);
        bits >>= width;
        have -= width;
    }
}

int64_t delta_count(const uint8_t *data, size_t size) {
    struct bytes b = {data, data + size, 0};
    read_varint(&b);
    read_varint(&b);
    uint64_t count = read_varint(&b);
    return b.bad || count > (uint64_t)INT32_MAX ? -1 : (int64_t)count;
}

int64_t delta_decode(const uint8_t *data, size_t size, uint64_t *values) {
    struct bytes b = {data, data + size, 0};
    uint64_t block = read_varint(&b), miniblocks = read_varint(&b), count = read_varint(&b);
    uint64_t first = read_zigzag(&b);
    if (b.bad || miniblocks == 0 || block == 0 || block > (1u << 24) || block % miniblocks) return -1;
    int64_t per_miniblock = (int64_t)(block / miniblocks);
    if (per_miniblock % 8) return -1;
    int64_t left = (int64_t)count;
    if (left > 0) {
        *values++ = first;
        left--;
    }
    while (left > 0) {
        uint64_t least = read_zigzag(&b);
        const uint8_t *widths = b.at;
        if (b.bad || (uint64_t)(b.end - b.at) < miniblocks) return -1;
        b.at += miniblocks;
        for (uint64_t m = 0; m < miniblocks && left > 0; m++) {
            int64_t n = left < per_miniblock ? left : per_miniblock;
            int64_t needed = (n * widths[m] + 7) / 8, whole = per_miniblock / 8 * widths[m];
            if (widths[m] > 64 || b.end - b.at < needed) return -1;
            unpack(b.at, widths[m], n, least, values);
            b.at += whole < b.end - b.at ? whole : b.end - b.at;
            values += n;
            left -= n;
        }
    }
    return (int64_t)count;
}
