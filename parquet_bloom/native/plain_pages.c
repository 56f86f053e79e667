/* Insert PLAIN values (parquet-format, Encodings.md) straight from a page into a filter, or check them.
 *
 *   fixed width   | value | value | ...                          INT32 ... FIXED_LEN_BYTE_ARRAY
 *   BYTE_ARRAY    | uint32 length | bytes | uint32 length | ...  hashed without the length
 */
#include "xxh64.h"

/* So many values are hashed before they are inserted or checked: their hashes stay in the nearest cache, and
 * those that have been fetched for the next time as well. */
enum { HASHED = 512, MOST_PAUSE = 64 };

void plain_insert_fixed(const uint8_t *values, size_t count, size_t width, uint32_t *words,
                        uint64_t num_blocks, pthread_mutex_t *turn) {
    uint64_t hashes[HASHED];
    for (size_t n; count > 0; values += n * width, count -= n) {
        n = count < HASHED ? count : HASHED;
        xxh64_fixed(values, n, width, hashes);
        split_block_insert_in_turn(words, num_blocks, hashes, n, turn);
    }
}

void plain_check_fixed(const uint8_t *values, size_t count, size_t width, const uint32_t *words,
                       uint64_t num_blocks, uint8_t *found) {
    uint64_t hashes[HASHED];
    for (size_t n; count > 0; values += n * width, found += n, count -= n) {
        n = count < HASHED ? count : HASHED;
        xxh64_fixed(values, n, width, hashes);
        split_block_check(words, num_blocks, hashes, n, found);
    }
}

void slices_check(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                  const uint32_t *words, uint64_t num_blocks, uint8_t *found) {
    uint64_t hashes[HASHED];
    for (size_t n; count > 0; offsets += n, found += n, count -= n) {
        n = count < HASHED ? count : HASHED;
        xxh64_slices(data, size, offsets, n, hashes);
        split_block_check(words, num_blocks, hashes, n, found);
    }
}

/* Sets the length of the value at data[at]; returns 0 if it runs past the end. */
INLINE int value_fits(const uint8_t *data, size_t size, size_t at, uint32_t *length) {
    if (size - at < 4) return 0;
    memcpy(length, data + at, 4);
    return size - at - 4 >= *length;
}

int64_t plain_count_byte_array(const uint8_t *data, size_t size, int64_t most) {
    int64_t count = 0;
    uint32_t length;
    for (size_t at = 0; at < size && count < most; at += 4 + (size_t)length, count++)
        if (!value_fits(data, size, at, &length)) return -1 - (int64_t)at;
    return count;
}

size_t plain_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                             uint64_t *hashes) {
    int has_lanes = code_path() == WITH_AVX512;
    uint32_t length;
    size_t n = 0, pause = LANES, next;
    do {
        /* Where lanes are of no use, try them less and less often. */
        size_t hashed = 0;
        if (has_lanes) hashed = lanes_hash_byte_array(data, size, start, room - n, hashes + n);
        pause = hashed > 0 ? LANES : pause < MOST_PAUSE ? 2 * pause : pause;
        n += hashed;
        next = room - n < pause ? room : n + pause;
        for (; n < next && value_fits(data, size, *start, &length); *start += 4 + (size_t)length)
            hashes[n++] = xxh64(data + *start + 4, length);
    } while (n < room && n == next);
    return n;
}

void plain_byte_array_starts(const uint8_t *data, size_t count, int64_t *starts) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t length;
        memcpy(&length, data + at, 4);
        starts[i] = (int64_t)at + 4;
        at += 4 + (size_t)length;
    }
    starts[count] = (int64_t)at + 4;
}

/* Do `use` with each `n` hashes of the first `most` values, `total` of which came before. */
#define FOR_BYTE_ARRAYS(data, size, most, use)                                                     \
    do {                                                                                           \
        uint64_t hashes[HASHED];                                                                   \
        size_t at = 0, n = 0, wanted = 0;                                                          \
        int64_t total = 0;                                                                         \
        for (; n == wanted && total < (most); total += (int64_t)n) {                               \
            wanted = (most) - total < HASHED ? (size_t)((most) - total) : HASHED;                  \
            n = plain_hash_byte_array(data, size, &at, wanted, hashes);                            \
            use;                                                                                   \
        }                                                                                          \
        return at < (size) && total < (most) ? -1 - (int64_t)at : total;                           \
    } while (0)

int64_t plain_insert_byte_array(const uint8_t *data, size_t size, int64_t most, uint32_t *words,
                                uint64_t num_blocks, pthread_mutex_t *turn) {
    FOR_BYTE_ARRAYS(data, size, most, split_block_insert_in_turn(words, num_blocks, hashes, n, turn));
}

int64_t plain_check_byte_array(const uint8_t *data, size_t size, int64_t most,
                               const uint32_t *words, uint64_t num_blocks, uint8_t *found) {
    FOR_BYTE_ARRAYS(data, size, most, split_block_check(words, num_blocks, hashes, n, found + total));
}

/* Without its sign bit, a float is zero if no bit is set, and NaN if it exceeds infinity. */
#define SPECIALS(type, magnitude, infinity)                                                        \
    do {                                                                                           \
        type zero = 0, nan = 0;                                                                    \
        for (size_t i = 0; i < count; i++) {                                                       \
            type x;                                                                                \
            memcpy(&x, values + i * sizeof x, sizeof x);                                           \
            x &= (type)(magnitude);                                                                \
            zero |= x == 0;                                                                        \
            nan |= x > (type)(infinity);                                                           \
        }                                                                                          \
        return (zero ? HAS_ZERO : 0) | (nan ? HAS_NAN : 0);                                        \
    } while (0)

INLINE int specials_all(const uint8_t *values, size_t count, size_t width) {
    if (width == 2) SPECIALS(uint16_t, 0x7fffu, 0x7c00u);
    if (width == 4) SPECIALS(uint32_t, 0x7fffffffu, 0x7f800000u);
    SPECIALS(uint64_t, 0x7fffffffffffffffu, 0x7ff0000000000000u);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int specials_avx2(const uint8_t *values, size_t count,
                                                         size_t width) {
    return specials_all(values, count, width);
}
#else
#define specials_avx2 specials_all
#endif

int plain_float_specials(const uint8_t *values, size_t count, size_t width) {
    if (code_path() >= WITH_AVX2) return specials_avx2(values, count, width);
    return specials_all(values, count, width);
}
