/* Definition levels: how many values of a page are not null (parquet-format, Encodings.md).
 *
 *   RLE hybrid   | varint header | run |   header & 1 ? (header >> 1) groups of 8 packed levels
 *                                                     : one level, repeated header >> 1 times
 *   BIT_PACKED   levels one after the other, from the most significant bit of each byte
 */
#include "kernel.h"

static int64_t count_packed(const uint8_t *data, int bit_width, int64_t count, uint32_t level) {
    int64_t equal = 0;
    uint64_t bits = 0;
    int have = 0;
    uint64_t mask = ((uint64_t)1 << bit_width) - 1;
    for (int64_t i = 0; i < count; i++) {
        for (; have < bit_width; have += 8) bits |= (uint64_t)*data++ << have;
        equal += (bits & mask) == level;
        bits >>= bit_width;
        have -= bit_width;
    }
    return equal;
}

int64_t levels_count_hybrid(const uint8_t *data, size_t size, int bit_width, int64_t count,
                            uint32_t level) {
    int64_t equal = 0;
    size_t at = 0, run_bytes = (size_t)(bit_width + 7) / 8;
    while (count > 0) {
        uint64_t header = 0;
        for (int shift = 0;; shift += 7) {
            if (at >= size || shift > 28) return -1;
            header |= (uint64_t)(data[at] & 0x7f) << shift;
            if (!(data[at++] & 0x80)) break;
        }
        int64_t length = (int64_t)(header >> 1) * (header & 1 ? 8 : 1);
        if (length == 0) return -1;
        if (length > count) length = count;
        if (header & 1) {
            /* The last group may be cut to the levels that are left. */
            size_t needed = ((size_t)length * (size_t)bit_width + 7) / 8;
            size_t whole = (size_t)(header >> 1) * (size_t)bit_width;
            if (size - at < needed) return -1;
            equal += count_packed(data + at, bit_width, length, level);
            at += whole < size - at ? whole : size - at;
        } else {
            uint32_t value = 0;
            if (size - at < run_bytes) return -1;
            memcpy(&value, data + at, run_bytes);
            at += run_bytes;
            equal += value == level ? length : 0;
        }
        count -= length;
    }
    return equal;
}

int64_t levels_count_bit_packed(const uint8_t *data, size_t size, int bit_width, int64_t count,
                                uint32_t level) {
    int64_t equal = 0;
    if ((uint64_t)count * (uint64_t)bit_width > (uint64_t)size * 8) return -1;
    for (int64_t i = 0; i < count; i++) {
        uint32_t value = 0;
        for (int64_t bit = i * bit_width; bit < (i + 1) * bit_width; bit++)
            value = value << 1 | (data[bit / 8] >> (7 - bit % 8) & 1);
        equal += value == level;
    }
    return equal;
}
