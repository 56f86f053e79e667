/* DELTA_BINARY_PACKED integers, and what DELTA_BYTE_ARRAY makes of them (parquet-format, Encodings.md).
 *
 *   header   | block size | miniblocks per block | number of values | first value (zigzag) |
 *   block    | least delta (zigzag) | bit width of each miniblock | miniblock | miniblock | ...
 *
 * Deltas add up modulo 2^64, and the caller keeps the low bits. This also decodes the 33-bit deltas
 * that DuckDB writes for INT32, which decoders limited to 32 bits refuse.
 */
#include "packed.h"

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

/* Add `count` packed deltas, each relative to `least`, to `last` in turn; returns the sum. All of them end
 * by `end`; up to there, more than a delta is loaded at a time. */
static uint64_t unpack(const uint8_t *packed, const uint8_t *end, int width, int64_t count,
                       uint64_t least, uint64_t last, uint64_t *values) {
    uint64_t mask = mask_of(width);
    int64_t i = 0;
    if (code_path() == WITH_AVX512)
        i = lanes_unpack(packed, end, width, count, least, last, values);
    if (i > 0) last = values[i - 1];
    for (int64_t narrow = num_narrow(packed, end, width, count); i < narrow; i++)
        values[i] = last += least + narrow_number(packed, i * width, mask);
    for (; i < count; i++) values[i] = last += least + packed_number(packed, end, i * width, width, mask);
    return last;
}

/* Larger blocks than any writer's could use much memory for few bytes. */
enum { MAX_BLOCK = 1 << 16 };

int delta_start(const uint8_t *data, size_t size, struct delta_state *state) {
    struct bytes b = {data, data + size, 0};
    uint64_t block = read_varint(&b), miniblocks = read_varint(&b), count = read_varint(&b);
    state->last = read_zigzag(&b);
    if (b.bad || miniblocks == 0 || block == 0 || block > MAX_BLOCK || block % miniblocks ||
        block / miniblocks % 8 || count > (uint64_t)INT32_MAX)
        return -1;
    state->block = (int64_t)block;
    state->miniblocks = (int64_t)miniblocks;
    state->left = state->count = (int64_t)count;
    state->at = b.at - data;
    return 0;
}

int64_t delta_next(const uint8_t *data, size_t size, struct delta_state *state, uint64_t *values,
                   int64_t room) {
    struct bytes b = {data + state->at, data + size, 0};
    int64_t per_miniblock = state->block / state->miniblocks;
    uint64_t *next = values;
    if (state->left > 0 && state->left == state->count) {
        *next++ = state->last;
        state->left--;
    }
    while (state->left > 0 && room - (next - values) >= state->block) {
        uint64_t least = read_zigzag(&b);
        const uint8_t *widths = b.at;
        if (b.bad || b.end - b.at < state->miniblocks) return -1;
        b.at += state->miniblocks;
        for (int64_t m = 0; m < state->miniblocks && state->left > 0; m++) {
            int64_t n = state->left < per_miniblock ? state->left : per_miniblock;
            int64_t needed = (n * widths[m] + 7) / 8, whole = per_miniblock / 8 * widths[m];
            if (widths[m] > 64 || b.end - b.at < needed) return -1;
            state->last = unpack(b.at, b.end, widths[m], n, least, state->last, next);
            b.at += whole < b.end - b.at ? whole : b.end - b.at;
            next += n;
            state->left -= n;
        }
    }
    state->at = b.at - data;
    return next - values;
}

int64_t delta_end(const uint8_t *data, size_t size) {
    struct delta_state state;
    if (delta_start(data, size, &state) != 0) return -1;
    struct bytes b = {data + state.at, data + size, 0};
    int64_t per_miniblock = state.block / state.miniblocks;
    /* The first value is in the header. */
    for (int64_t left = state.count - 1; left > 0;) {
        read_varint(&b);
        const uint8_t *widths = b.at;
        if (b.bad || b.end - b.at < state.miniblocks) return -1;
        b.at += state.miniblocks;
        for (int64_t m = 0; m < state.miniblocks && left > 0; m++, left -= per_miniblock) {
            int64_t whole = per_miniblock / 8 * widths[m];
            if (widths[m] > 64 || b.end - b.at < whole) return -1;
            b.at += whole;
        }
    }
    return b.at - data;
}

int64_t delta_join(const uint8_t *suffixes, size_t size, const int64_t *prefix_lengths,
                   const int64_t *suffix_lengths, size_t count, uint8_t *values, size_t room,
                   int64_t *starts) {
    int64_t end = 0, before = 0, left = (int64_t)size;
    for (size_t i = 0; i < count; i++) {
        int64_t prefix = prefix_lengths[i], suffix = suffix_lengths[i];
        if (prefix < 0 || prefix > end - before || suffix < 0 || suffix > left ||
            prefix + suffix > (int64_t)room - end)
            return -1;
        if (prefix) memcpy(values + end, values + before, (size_t)prefix);
        if (suffix) memcpy(values + end + prefix, suffixes + size - left, (size_t)suffix);
        starts[i] = before = end;
        end += prefix + suffix;
        left -= suffix;
    }
    return starts[count] = end;
}
