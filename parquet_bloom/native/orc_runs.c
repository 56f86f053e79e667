/* The run-length encodings of ORC: integers in versions 1 and 2, and bytes.
 *
 *   integers 1   run      | length - 3 | step (int8) | first (varint) |
 *                literals | -length (int8) | varint | varint | ...
 *   integers 2   | kind (2 bits) | width (5) | length - 1 (9) | ...    big-endian, most significant first
 *     0  short repeat   | kind | bytes - 1 (3) | length - 3 (3) | value |
 *     1  direct         header | values of `width` bits |
 *     2  patched base   header | bytes of base - 1 (3) | patch width (5) | gap width - 1 (3) | patches (5) |
 *                       base, its highest bit the sign | values | gap and patch, ... |
 *     3  delta          header | first (varint) | first delta (zigzag) | sizes of the other deltas |
 *   bytes        run      | length - 3 | byte |
 *                literals | -length (int8) | byte | byte | ...
 *
 * Signed integers are zigzag numbers, but not a base. Sums wrap at 64 bits. A width of 5 bits is a code
 * for 1 to 24, 26, 28, 30, 32, 40, 48, 56 or 64 bits, and a gap with its patch fills one of these
 * widths.
 *
 * Bytes arrive in parts. A run of integers that does not end within its part is left for the next one,
 * which begins with it: it has at most ORC_MOST_RUN_BYTES.
 *
 * Spec: apache/orc-format, specification/ORCv1.md "Run Length Encoding".
 */
#include "kernel.h"

enum { SHORT_REPEAT, DIRECT, PATCHED_BASE, DELTA };

/* What a run comes to, beside the number of its values. */
enum { CUT = -1, DAMAGED = -2 };

struct input {
    const uint8_t *at, *end;
};

INLINE size_t left_in(const struct input *in) { return (size_t)(in->end - in->at); }

/* 0, CUT or DAMAGED. */
static int read_varint(struct input *in, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end) return CUT;
        uint8_t byte = *in->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return 0;
    }
    return DAMAGED;
}

INLINE uint64_t unzigzag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

static int read_number(struct input *in, int is_signed, uint64_t *value) {
    int failed = read_varint(in, value);
    if (is_signed) *value = unzigzag(*value);
    return failed;
}

static uint64_t read_big_endian(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    while (bytes-- > 0) value = value << 8 | *at++;
    return value;
}

INLINE uint64_t low_bits(int width) {
    return width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
}

INLINE size_t packed_bytes(size_t count, int width) { return (count * (size_t)width + 7) / 8; }

/* Numbers of whole words need no shifts: with instructions that swap the bytes of several, they take no
 * longer than to copy. */
#define WORDS(type, swapped)                                                                       \
    for (size_t i = 0; i < count; i++) {                                                           \
        type word;                                                                                 \
        memcpy(&word, packed + i * sizeof word, sizeof word);                                      \
        values[i] = swapped(word);                                                                 \
    }                                                                                              \
    return

/* Compile for a kind of processor what becomes vectors: to unpack numbers of whole words, and to make
 * signed numbers of zigzag numbers. */
#define VECTORS_PATH(path, attribute)                                                              \
    attribute static void unpack_words_##path(const uint8_t *packed, int width, size_t count,      \
                                              uint64_t *values) {                                  \
        switch (width) {                                                                           \
        case 8: WORDS(uint8_t, );                                                                  \
        case 16: WORDS(uint16_t, __builtin_bswap16);                                               \
        case 32: WORDS(uint32_t, __builtin_bswap32);                                               \
        case 64: WORDS(uint64_t, __builtin_bswap64);                                               \
        }                                                                                          \
    }                                                                                              \
    attribute static void unzigzag_all_##path(uint64_t *values, size_t count) {                    \
        for (size_t i = 0; i < count; i++) values[i] = unzigzag(values[i]);                        \
    }

VECTORS_PATH(any, )

#if defined(__x86_64__)
VECTORS_PATH(avx2, __attribute__((target("avx2"))))
#else
#define unpack_words_avx2 unpack_words_any
#define unzigzag_all_avx2 unzigzag_all_any
#endif

static void unpack_words(const uint8_t *packed, int width, size_t count, uint64_t *values) {
    (code_path() < WITH_AVX2 ? unpack_words_any : unpack_words_avx2)(packed, width, count, values);
}

static void unzigzag_all(uint64_t *values, size_t count) {
    (code_path() < WITH_AVX2 ? unzigzag_all_any : unzigzag_all_avx2)(values, count);
}

/* A window of 8 bytes, of which a number begins in the first. */
INLINE uint64_t in_window(const uint8_t *at, size_t bit, int width) {
    uint64_t window;
    memcpy(&window, at + bit / 8, sizeof window);
    return __builtin_bswap64(window) << (bit % 8) >> (64 - width);
}

/* Eights of numbers fill whole bytes: with a constant width, so are all shifts. */
INLINE void eights(const uint8_t *packed, int width, size_t count, uint64_t *values) {
    for (size_t i = 0; i < count; i += 8, packed += width, values += 8)
        for (size_t j = 0; j < 8; j++) values[j] = in_window(packed, j * (size_t)width, width);
}

#define EIGHTS(width)                                                                              \
    case width: eights(packed, width, count, values); break

/* Unpack a multiple of eight numbers, each of which has a window. */
static void unpack_eights(const uint8_t *packed, int width, size_t count, uint64_t *values) {
    switch (width) {
        EIGHTS(1); EIGHTS(2); EIGHTS(3); EIGHTS(4); EIGHTS(5); EIGHTS(6); EIGHTS(7); EIGHTS(9);
        EIGHTS(10); EIGHTS(11); EIGHTS(12); EIGHTS(13); EIGHTS(14); EIGHTS(15); EIGHTS(17);
        EIGHTS(18); EIGHTS(19); EIGHTS(20); EIGHTS(21); EIGHTS(22); EIGHTS(23); EIGHTS(24);
        EIGHTS(26); EIGHTS(28); EIGHTS(30); EIGHTS(40); EIGHTS(48); EIGHTS(56);
    }
}

/* Unpack `count` numbers of a width that has a code, the most significant bit first, from packed_bytes
 * bytes. */
static void unpack(const uint8_t *packed, int width, size_t count, uint64_t *values) {
    if (width == 8 || width == 16 || width == 32 || width == 64) {
        unpack_words(packed, width, count, values);
        return;
    }
    /* The numbers whose windows do not reach beyond the packed bytes. */
    size_t size = packed_bytes(count, width), i = 0;
    size_t near = size < 8 ? 0 : ((size - 8) * 8 + 7) / (size_t)width + 1;
    if (near > count) near = count;
    i = near & ~(size_t)7;
    unpack_eights(packed, width, i, values);
    for (; i < near; i++) values[i] = in_window(packed, i * (size_t)width, width);
    /* The last ones, of less than 8 bytes, have theirs in a copy. */
    uint8_t last[16] = {0};
    size_t bit = i * (size_t)width, first = bit / 8;
    if (i < count) memcpy(last, packed + first, size - first);
    for (; i < count; i++, bit += (size_t)width)
        values[i] = in_window(last, bit - 8 * first, width);
}

static int width_of(int code) {
    static const uint8_t wide[] = {26, 28, 30, 32, 40, 48, 56, 64};
    return code < 24 ? code + 1 : wide[code - 24];
}

/* The narrowest width with a code that has room for so many bits, 1 to 64. */
static int width_for(int bits) {
    int code = 0;
    while (width_of(code) < bits) code++;
    return width_of(code);
}

static int64_t short_repeat(struct input *in, int is_signed, uint64_t *values) {
    int bytes = (in->at[0] >> 3 & 7) + 1, count = (in->at[0] & 7) + 3;
    if (left_in(in) < 1 + (size_t)bytes) return CUT;
    uint64_t value = read_big_endian(in->at + 1, bytes);
    if (is_signed) value = unzigzag(value);
    for (int i = 0; i < count; i++) values[i] = value;
    in->at += 1 + bytes;
    return count;
}

static int64_t direct(struct input *in, int is_signed, int width, size_t count, uint64_t *values) {
    size_t size = packed_bytes(count, width);
    if (left_in(in) < 2 + size) return CUT;
    unpack(in->at + 2, width, count, values);
    if (is_signed) unzigzag_all(values, count);
    in->at += 2 + size;
    return (int64_t)count;
}

static int64_t patched_base(struct input *in, int width, size_t count, uint64_t *values) {
    if (left_in(in) < 4) return CUT;
    int base_bytes = (in->at[2] >> 5) + 1, patch_width = width_of(in->at[2] & 31);
    int gap_width = (in->at[3] >> 5) + 1;
    size_t num_patches = in->at[3] & 31;
    if (num_patches && (width == 64 || gap_width + patch_width > 64)) return DAMAGED;
    int entry = num_patches ? width_for(gap_width + patch_width) : 0;
    size_t values_size = packed_bytes(count, width), size = packed_bytes(num_patches, entry);
    if (left_in(in) < 4 + (size_t)base_bytes + values_size + size) return CUT;
    const uint8_t *at = in->at + 4;
    uint64_t base = read_big_endian(at, base_bytes), sign = (uint64_t)1 << (8 * base_bytes - 1);
    if (base & sign) base = 0 - (base ^ sign);
    at += base_bytes;
    unpack(at, width, count, values);
    at += values_size;
    uint64_t patches[31];
    unpack(at, entry, num_patches, patches);
    size_t position = 0;
    for (size_t i = 0; i < num_patches; i++) {
        uint64_t patch = patches[i] & low_bits(patch_width);
        uint64_t gap = patches[i] >> patch_width;
        if (gap > low_bits(gap_width)) return DAMAGED;
        position += gap;
        /* An empty patch only widens a gap. */
        if (patch && position >= count) return DAMAGED;
        if (patch) values[position] |= patch << width;
    }
    for (size_t i = 0; i < count; i++) values[i] += base;
    in->at = at + size;
    return (int64_t)count;
}

static int64_t delta(struct input *in, int is_signed, int width, size_t count, uint64_t *values) {
    struct input ahead = {in->at + 2, in->end};
    uint64_t last, step, sizes[ORC_MOST_RUN];
    int failed = read_number(&ahead, is_signed, &last);
    if (!failed) failed = read_number(&ahead, 1, &step);
    if (failed) return failed;
    size_t num_sizes = width && count > 2 ? count - 2 : 0, size = packed_bytes(num_sizes, width);
    if (left_in(&ahead) < size) return CUT;
    unpack(ahead.at, width, num_sizes, sizes);
    values[0] = last;
    if (count > 1) values[1] = last += step;
    uint64_t falls = (uint64_t)((int64_t)step >> 63);
    for (size_t i = 2; i < count; i++)
        values[i] = last += width ? (sizes[i - 2] ^ falls) - falls : step;
    in->at = ahead.at + size;
    return (int64_t)count;
}

static int64_t run_2(struct input *in, int is_signed, uint64_t *values) {
    int kind = in->at[0] >> 6, code = in->at[0] >> 1 & 31;
    if (kind == SHORT_REPEAT) return short_repeat(in, is_signed, values);
    if (left_in(in) < 2) return CUT;
    size_t count = ((size_t)(in->at[0] & 1) << 8 | in->at[1]) + 1;
    if (kind == DIRECT) return direct(in, is_signed, width_of(code), count, values);
    if (kind == PATCHED_BASE) return patched_base(in, width_of(code), count, values);
    return delta(in, is_signed, code ? width_of(code) : 0, count, values);
}

static int64_t run_1(struct input *in, int is_signed, uint64_t *values) {
    struct input ahead = {in->at + 1, in->end};
    int control = (int8_t)in->at[0], count = control < 0 ? -control : control + 3;
    uint64_t step = 0;
    if (control >= 0) {
        if (ahead.at == ahead.end) return CUT;
        step = (uint64_t)(int64_t)(int8_t)*ahead.at++;
    }
    for (int i = 0; i < count; i++) {
        if (control >= 0 && i > 0) {
            values[i] = values[i - 1] + step;
            continue;
        }
        int failed = read_number(&ahead, is_signed, values + i);
        if (failed) return failed;
    }
    in->at = ahead.at;
    return count;
}

int64_t orc_integers(const uint8_t *data, size_t size, struct orc_integer_runs *runs,
                     uint64_t *values, int64_t room) {
    struct input in = {data + runs->at, data + size};
    int64_t decoded = 0;
    while (decoded < room) {
        if (runs->next < runs->count) {
            int64_t n = runs->count - runs->next;
            if (n > room - decoded) n = room - decoded;
            memcpy(values + decoded, runs->values + runs->next, (size_t)n * sizeof *values);
            runs->next += n;
            decoded += n;
            continue;
        }
        if (in.at == in.end) break;
        int is_direct = room - decoded >= ORC_MOST_RUN;
        uint64_t *run = is_direct ? values + decoded : runs->values;
        int64_t count = runs->version == 1 ? run_1(&in, runs->is_signed, run)
                                           : run_2(&in, runs->is_signed, run);
        if (count == CUT) break;
        if (count < 0) return ORC_DAMAGED;
        if (is_direct) {
            decoded += count;
        } else {
            runs->next = 0;
            runs->count = count;
        }
    }
    runs->at = in.at - data;
    return decoded;
}

int64_t orc_bytes(const uint8_t *data, size_t size, struct orc_byte_runs *runs, uint8_t *values,
                  int64_t room) {
    struct input in = {data + runs->at, data + size};
    int64_t decoded = 0;
    while (decoded < room) {
        if (runs->left == 0) {
            if (left_in(&in) < 2) break;
            int control = (int8_t)*in.at++;
            runs->is_literal = control < 0;
            runs->left = control < 0 ? -control : control + 3;
            if (control >= 0) runs->value = *in.at++;
        }
        int64_t n = runs->left < room - decoded ? runs->left : room - decoded;
        if (runs->is_literal) {
            if ((int64_t)left_in(&in) < n) n = (int64_t)left_in(&in);
            if (n == 0) break;
            memcpy(values + decoded, in.at, (size_t)n);
            in.at += n;
        } else {
            memset(values + decoded, runs->value, (size_t)n);
        }
        runs->left -= n;
        decoded += n;
    }
    runs->at = in.at - data;
    return decoded;
}
