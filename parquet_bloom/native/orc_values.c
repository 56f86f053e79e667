/* Values of ORC columns from their decoded streams: decimals, timestamps, and text by its index in a
 * dictionary.
 *
 * Spec: apache/orc-format, specification/ORCv1.md "Column Encodings".
 */
#include "kernel.h"

/* ---- decimals: zigzag numbers in base 128 of any length, and the scale of each ------------------- */

/* No writer stores more bytes for 128 bits. */
enum { MOST_DECIMAL_BYTES = 32 };

int64_t orc_decimals(const uint8_t *data, size_t size, int64_t *at, orc_decimal *values, int64_t room) {
    const uint8_t *next = data + *at, *end = data + size;
    int64_t decoded = 0;
    for (; decoded < room; decoded++) {
        const uint8_t *byte = next;
        unsigned __int128 number = 0;
        int shift = 0, is_last = 0;
        for (; byte < end && !is_last; byte++, shift += 7) {
            if (byte - next == MOST_DECIMAL_BYTES) return ORC_DAMAGED;
            unsigned bits = *byte & 0x7f;
            is_last = !(*byte & 0x80);
            if (shift > 121 && bits >> (shift < 128 ? 128 - shift : 0)) return ORC_TOO_LARGE;
            if (shift < 128) number |= (unsigned __int128)bits << shift;
        }
        if (!is_last) break;
        values[decoded] = (__int128)((number >> 1) ^ (0 - (number & 1)));
        next = byte;
    }
    *at = next - data;
    return decoded;
}

/* As many digits always fit 128 bits. */
enum { MOST_DIGITS = 38 };

static __int128 power_of_ten(int64_t exponent) {
    __int128 power = 1;
    while (exponent-- > 0) power *= 10;
    return power;
}

int orc_rescale(orc_decimal *values, const int64_t *scales, size_t count, int64_t scale) {
    const __int128 limit = power_of_ten(MOST_DIGITS);
    __int128 factor = 1;
    int64_t last = scale;
    for (size_t i = 0; i < count; i++) {
        if (scales[i] != last) {
            last = scales[i];
            if (last < 0 || last > MOST_DIGITS) return ORC_DAMAGED;
            factor = power_of_ten(last < scale ? scale - last : last - scale);
        }
        __int128 value = values[i];
        if (last > scale)
            value /= factor;
        else if (__builtin_mul_overflow(value, factor, &value))
            return ORC_TOO_LARGE;
        if (value <= -limit || value >= limit) return ORC_TOO_LARGE;
        values[i] = value;
    }
    return 0;
}

/* ---- integers ----------------------------------------------------------------------------------- */

void orc_narrow(int64_t *values, size_t count, int bits) {
    for (size_t i = 0; i < count; i++)
        values[i] = (int64_t)((uint64_t)values[i] << (64 - bits)) >> (64 - bits);
}

int64_t orc_bits(const uint8_t *packed, size_t first, size_t count, uint8_t *bits) {
    int64_t num_set = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        num_set += bits[i] = packed[at / 8] >> (7 - at % 8) & 1;
    }
    return num_set;
}

/* ---- timestamps --------------------------------------------------------------------------------- */

enum { BILLION = 1000000000 };

/* No branches, so that compilers use vectors: what is wrong is only looked at behind the loops. */

/* Seconds are less than 2^53, so that milliseconds fit 64 bits. */
INLINE int shift_all(int64_t *seconds, size_t count, int64_t by) {
    const int64_t limit = (int64_t)1 << 53;
    uint64_t is_large = 0;
    for (size_t i = 0; i < count; i++) {
        is_large |= (uint64_t)(seconds[i] <= -limit) | (uint64_t)(seconds[i] >= limit);
        seconds[i] = (int64_t)((uint64_t)seconds[i] + (uint64_t)by);
    }
    return is_large ? ORC_TOO_LARGE : 0;
}

INLINE uint64_t is_no_fraction(int64_t nano) {
    return (uint64_t)(nano <= -BILLION) | (uint64_t)(nano >= BILLION);
}

/* Nanoseconds are stored without their trailing zeros, if there are two or more; the lowest 3 bits are
 * the number of those less one, or 0. Writers of today store some times before 1970 with negative ones:
 * pyarrow. What has more than a millisecond of fraction before 1970 is a second earlier: as ORC C++
 * reads it. */
INLINE int settle_all(int64_t *seconds, int64_t *nanos, size_t count) {
    static const uint64_t powers[] = {1, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t is_damaged = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t nano = nanos[i] >> 3;
        is_damaged |= is_no_fraction(nano);
        nano = (int64_t)((uint64_t)nano * powers[nanos[i] & 7]);
        is_damaged |= is_no_fraction(nano);
        uint64_t is_earlier = (uint64_t)(seconds[i] < 0) & (uint64_t)(nano > 999999);
        uint64_t is_negative = (uint64_t)(nano < 0);
        seconds[i] = (int64_t)((uint64_t)seconds[i] - is_earlier - is_negative);
        nanos[i] = (int64_t)((uint64_t)nano + ((0 - is_negative) & BILLION));
    }
    return is_damaged ? ORC_DAMAGED : 0;
}

INLINE int millis_all(const int64_t *seconds, const int64_t *nanos, size_t count, int64_t low,
                      int64_t high, int64_t *millis) {
    uint64_t is_near = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t milli = (int64_t)((uint64_t)seconds[i] * 1000 + (uint32_t)nanos[i] / 1000000);
        is_near |= (uint64_t)(milli >= low) & (uint64_t)(milli < high) & (uint64_t)(nanos[i] != 0);
        millis[i] = milli;
    }
    return is_near != 0;
}

/* Compile the three for a kind of processor. */
#define TIMES_PATH(name, attribute)                                                                \
    attribute static int shift_##name(int64_t *seconds, size_t count, int64_t by) {                \
        return shift_all(seconds, count, by);                                                      \
    }                                                                                              \
    attribute static int settle_##name(int64_t *seconds, int64_t *nanos, size_t count) {           \
        return settle_all(seconds, nanos, count);                                                  \
    }                                                                                              \
    attribute static int millis_##name(const int64_t *seconds, const int64_t *nanos, size_t count, \
                                       int64_t low, int64_t high, int64_t *millis) {               \
        return millis_all(seconds, nanos, count, low, high, millis);                               \
    }

TIMES_PATH(any, )

#if defined(__x86_64__)
TIMES_PATH(avx2, __attribute__((target("avx2"))))
TIMES_PATH(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#else
TIMES_PATH(avx2, )
TIMES_PATH(avx512, )
#endif

/* The function of this name for this machine. */
#define CHOSEN(name)                                                                               \
    (code_path() == WITH_AVX512 ? name##_avx512 : code_path() == WITH_AVX2 ? name##_avx2 : name##_any)

int orc_shift(int64_t *seconds, size_t count, int64_t by) {
    return CHOSEN(shift)(seconds, count, by);
}

int orc_settle(int64_t *seconds, int64_t *nanos, size_t count) {
    return CHOSEN(settle)(seconds, nanos, count);
}

int orc_millis(const int64_t *seconds, const int64_t *nanos, size_t count, int64_t low, int64_t high,
               int64_t *millis) {
    return CHOSEN(millis)(seconds, nanos, count, low, high, millis);
}

/* ---- text --------------------------------------------------------------------------------------- */

int64_t orc_starts(const int64_t *lengths, size_t count, int64_t limit, int64_t *starts) {
    int64_t end = starts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] < 0) return ORC_DAMAGED;
        if (lengths[i] > limit - end) return ORC_TOO_LARGE;
        starts[i + 1] = end += lengths[i];
    }
    return end;
}

int64_t orc_picked_starts(const int64_t *starts, int64_t num_entries, const int64_t *picks,
                          size_t count, int64_t limit, int64_t *picked) {
    int64_t end = picked[0] = 0;
    for (size_t i = 0; i < count; i++) {
        if (picks[i] < 0 || picks[i] >= num_entries) return ORC_DAMAGED;
        int64_t length = starts[picks[i] + 1] - starts[picks[i]];
        if (length > limit - end) return ORC_TOO_LARGE;
        picked[i + 1] = end += length;
    }
    return end;
}

int64_t orc_used(const int64_t *picks, size_t count, uint8_t *is_used, int64_t num_entries,
                 int64_t *used) {
    for (size_t i = 0; i < count; i++) {
        if (picks[i] < 0 || picks[i] >= num_entries) return ORC_DAMAGED;
        is_used[picks[i]] = 1;
    }
    int64_t num_used = 0;
    for (int64_t entry = 0; entry < num_entries; entry++)
        if (is_used[entry]) used[num_used++] = entry;
    return num_used;
}

void orc_pick(const uint8_t *data, const int64_t *starts, const int64_t *picks, size_t count,
              uint8_t *picked) {
    for (size_t i = 0; i < count; i++) {
        size_t length = (size_t)(starts[picks[i] + 1] - starts[picks[i]]);
        if (length) memcpy(picked, data + starts[picks[i]], length);
        picked += length;
    }
}

/* A text, and its first eight bytes as a number, with zeros behind a shorter one: mostly these tell the order. */
typedef struct {
    const uint8_t *bytes;
    size_t length;
    uint64_t head;
} headed_text;

static inline headed_text text_at(const uint8_t *data, const int64_t *starts, size_t count, size_t i) {
    headed_text text = {data + starts[i], (size_t)(starts[i + 1] - starts[i]), 0};
    size_t in_head = text.length < 8 ? text.length : 8;
    if (starts[count] - starts[i] >= 8) {
        uint64_t loaded;
        memcpy(&loaded, text.bytes, 8);
        if (in_head) text.head = __builtin_bswap64(loaded) & ~UINT64_C(0) << (64 - 8 * in_head);
    } else {
        for (size_t at = 0; at < in_head; at++)
            text.head |= (uint64_t)text.bytes[at] << (56 - 8 * at);
    }
    return text;
}

/* Whether the first of two comes before the other. */
static inline int comes_first(headed_text one, headed_text other) {
    if (one.head != other.head) return one.head < other.head;
    size_t common = one.length < other.length ? one.length : other.length;
    int order = common > 8 ? memcmp(one.bytes + 8, other.bytes + 8, common - 8) : 0;
    return order < 0 || (order == 0 && one.length < other.length);
}

void orc_extremes(const uint8_t *data, const int64_t *starts, size_t count, int64_t *least,
                  int64_t *greatest) {
    headed_text low = text_at(data, starts, count, 0), high = low;
    *least = *greatest = 0;
    for (size_t i = 1; i < count; i++) {
        headed_text text = text_at(data, starts, count, i);
        if (comes_first(text, low)) {
            low = text;
            *least = (int64_t)i;
        } else if (comes_first(high, text)) {
            high = text;
            *greatest = (int64_t)i;
        }
    }
}
