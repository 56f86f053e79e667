/* Hash DECIMALs as Hive and ORC do: as text, without an exponent or trailing zeros.
 *
 *   unscaled, scale    -5, 2  "-0.05"      150, 2  "1.5"      100, 0  "100"      0, 9  "0"
 *
 * Source: hive-storage-api, HiveDecimal.toString, which ORC Java hashes.
 */
#include "kernel.h"

enum {
    MOST_DIGITS = 39, /* in 128 bits */
    CHUNK_DIGITS = 19 /* in 64 bits */
};

static const uint64_t CHUNK = 10000000000000000000u; /* 10^19 */

/* Two digits at a time need half as many divisions. */
static const char PAIRS[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

/* Write the digits of `number` so that they end at `end`, at least `least`; returns their start. */
static char *digits_before(char *end, unsigned __int128 number, int least) {
    char *at = end;
    while (number > 0) {
        /* Nearly all fit one chunk, and a 128-bit division takes longer than everything else. */
        int is_last = number < CHUNK;
        uint64_t chunk = is_last ? (uint64_t)number : (uint64_t)(number % CHUNK);
        number = is_last ? 0 : number / CHUNK;
        char *before = at;
        for (; chunk >= 10; chunk /= 100) {
            at -= 2;
            memcpy(at, PAIRS + 2 * (chunk % 100), 2);
        }
        if (chunk > 0) *--at = (char)('0' + chunk);
        while (!is_last && before - at < CHUNK_DIGITS) *--at = '0';
    }
    while (end - at < least) *--at = '0';
    return at;
}

/* Write the text to `text`, which has 2 * MOST_DIGITS bytes; returns its length. */
static size_t decimal_text(__int128 unscaled, int scale, char *text) {
    int is_negative = unscaled < 0;
    unsigned __int128 number = (unsigned __int128)unscaled;
    char digits[MOST_DIGITS + 1];
    char *end = digits + sizeof digits;
    char *first = digits_before(end, is_negative ? 0 - number : number, scale + 1);
    char *point = end - scale;
    while (end > point && end[-1] == '0') end--;
    char *at = text;
    if (is_negative) *at++ = '-';
    memcpy(at, first, (size_t)(point - first));
    at += point - first;
    if (end > point) {
        *at++ = '.';
        memcpy(at, point, (size_t)(end - point));
        at += end - point;
    }
    return (size_t)(at - text);
}

void hive64_decimals(const uint8_t *values, size_t count, int scale, uint64_t seed,
                     uint64_t *hashes) {
    char text[2 * MOST_DIGITS];
    for (size_t i = 0; i < count; i++) {
        __int128 unscaled;
        memcpy(&unscaled, values + i * sizeof unscaled, sizeof unscaled);
        size_t size = decimal_text(unscaled, scale, text);
        hashes[i] = hive64((const uint8_t *)text, size, seed);
    }
}
