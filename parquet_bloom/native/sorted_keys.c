/* Sorted keys of an index, in pages that any reader of Parquet understands, and how they are found again.
 *
 *   key    | hash | place |, ascending, each once
 *   page   PageHeader (v1) | keys in DELTA_BINARY_PACKED: blocks of 128, 4 miniblocks each
 *
 * Sources: parquet-format, Encodings.md and parquet.thrift; thrift, thrift-compact-protocol.md.
 */
#include "kernel.h"

enum { BLOCK = 128, MINIBLOCKS = 4, PER_MINIBLOCK = BLOCK / MINIBLOCKS };

static uint8_t *put_varint(uint8_t *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *out++ = (uint8_t)value | 0x80;
    *out++ = (uint8_t)value;
    return out;
}

/* Numbers of at most 63 bits, as all keys and their deltas are. */
static uint8_t *put_zigzag(uint8_t *out, int64_t value) {
    return put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* PER_MINIBLOCK numbers of `width` bits, which fill whole bytes. */
static uint8_t *pack(uint8_t *out, const uint64_t *values, int width) {
    uint64_t bits = 0;
    int have = 0;
    for (int i = 0; i < PER_MINIBLOCK; i++) {
        bits |= values[i] << have;
        have += width;
        if (have < 64) continue;
        memcpy(out, &bits, sizeof bits);
        out += sizeof bits;
        have -= 64;
        bits = have ? values[i] >> (width - have) : 0;
    }
    memcpy(out, &bits, (size_t)(have + 7) / 8);
    return out + (have + 7) / 8;
}

static uint8_t *put_block(uint8_t *out, const uint64_t *keys, int64_t count) {
    uint64_t deltas[BLOCK], least = UINT64_MAX;
    for (int64_t i = 0; i < count; i++) {
        deltas[i] = keys[i] - keys[i - 1];
        if (deltas[i] < least) least = deltas[i];
    }
    for (int64_t i = count; i < BLOCK; i++) deltas[i] = least;
    out = put_zigzag(out, (int64_t)least);
    uint8_t *widths = out;
    out += MINIBLOCKS;
    for (int m = 0; m < MINIBLOCKS; m++) {
        uint64_t *part = deltas + m * PER_MINIBLOCK, all = 0;
        for (int i = 0; i < PER_MINIBLOCK; i++) all |= part[i] -= least;
        widths[m] = all ? (uint8_t)(64 - __builtin_clzll(all)) : 0;
        if (widths[m]) out = pack(out, part, widths[m]);
    }
    return out;
}

int64_t sorted_keys_room(int64_t count) {
    return 64 + 10 * 4 + (count / BLOCK + 1) * (10 + MINIBLOCKS + BLOCK * 8);
}

static uint8_t *put_deltas(uint8_t *out, const uint64_t *keys, int64_t count) {
    out = put_varint(out, BLOCK);
    out = put_varint(out, MINIBLOCKS);
    out = put_varint(out, (uint64_t)count);
    out = put_zigzag(out, (int64_t)keys[0]);
    for (int64_t i = 1; i < count; i += BLOCK)
        out = put_block(out, keys + i, count - i < BLOCK ? count - i : BLOCK);
    return out;
}

/* A field of Thrift's compact protocol, one id after the last: an i32, or the start of a struct. */
static uint8_t *put_i32(uint8_t *out, int32_t value) {
    *out++ = 0x15;
    return put_zigzag(out, value);
}

enum { LONGEST_HEADER = 40 };

static uint8_t *put_header(uint8_t *out, int32_t count, int32_t size) {
    out = put_i32(out, 0);
    out = put_i32(out, size);
    out = put_i32(out, size);
    *out++ = 0x2c;
    out = put_i32(out, count);
    out = put_i32(out, DELTA_BINARY_PACKED);
    out = put_i32(out, RLE);
    out = put_i32(out, RLE);
    *out++ = 0;
    *out++ = 0;
    return out;
}

int64_t sorted_keys_page(const uint64_t *keys, int64_t count, uint8_t *out) {
    /* The header says how long the body is, so that this comes first. */
    uint8_t *body = out + LONGEST_HEADER, *end = put_deltas(body, keys, count);
    size_t size = (size_t)(end - body);
    uint8_t *start = put_header(out, (int32_t)count, (int32_t)size);
    memmove(start, body, size);
    return start - out + (int64_t)size;
}

int64_t sorted_keys_narrow(uint64_t *keys, int64_t count, int from_bits, int drop, int place_bits) {
    uint64_t places = ((uint64_t)1 << from_bits) - 1;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t key = keys[i] >> (from_bits + drop) << place_bits | (keys[i] & places);
        /* Hashes that differ only in what is dropped can leave their places out of order, by a few. */
        int64_t at = kept;
        while (at > 0 && keys[at - 1] > key) at--;
        if (at > 0 && keys[at - 1] == key) continue;
        for (int64_t j = kept++; j > at; j--) keys[j] = keys[j - 1];
        keys[at] = key;
    }
    return kept;
}

int64_t sorted_keys_decode(const uint8_t *page, size_t size, uint64_t *keys, int64_t room) {
    struct page_header header;
    struct delta_state state;
    int64_t where, body = thrift_page_header(page, size, 0, &header, &where);
    if (body < 0 || header.type != 0 || header.details.encoding != DELTA_BINARY_PACKED ||
        header.compressed_page_size < 0 || header.compressed_page_size > (int64_t)size - body ||
        delta_start(page + body, (size_t)header.compressed_page_size, &state) != 0 ||
        state.count != header.details.num_values || state.count < 1 || state.block > BLOCK ||
        state.count > room - BLOCK)
        return -1;
    int64_t count = state.count;
    int64_t decoded = delta_next(page + body, (size_t)header.compressed_page_size, &state, keys, room);
    return decoded == count ? count : -1;
}

/* The first of ascending keys that is not below `key`. */
static int64_t first_from(const uint64_t *keys, int64_t count, uint64_t key) {
    int64_t low = 0;
    while (low < count) {
        int64_t middle = (low + count) / 2;
        if (keys[middle] < key) low = middle + 1;
        else count = middle;
    }
    return low;
}

int64_t sorted_keys_find(const uint64_t *keys, int64_t count, const uint64_t *asked, int64_t from,
                         int64_t to, int place_bits, struct found_key *found, int64_t room) {
    uint64_t places = ((uint64_t)1 << place_bits) - 1;
    int64_t hits = 0;
    for (int64_t a = from; a < to; a++) {
        for (int64_t i = first_from(keys, count, asked[a]);
             i < count && keys[i] <= (asked[a] | places); i++) {
            if (hits < room) found[hits] = (struct found_key){a, (int64_t)(keys[i] & places)};
            hits++;
        }
    }
    return hits;
}
