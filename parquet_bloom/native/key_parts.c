/* Keys in parts, by their highest bits.
 *
 *   lines     of each part, the last keys of it, as many as fill a line of the cache
 *   out       | part 0 | part 1 | ... |        a line is put there once it is full
 *
 * There are more parts than a processor remembers pages of memory for. A key at a time would wait for each of them;
 * and a line that is about to be written in full need not be read before.
 */
#include "kernel.h"

enum { PER_LINE = KEYS_IN_LINE, LINE = PER_LINE * (int)sizeof(uint64_t) };

#if defined(__x86_64__)
#include <immintrin.h>

/* To where a line of the cache begins, past it. */
INLINE void put_line(uint64_t *to, const uint64_t *line) {
    for (int i = 0; i < PER_LINE; i += 2)
        _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(line + i)));
}

/* Before others see them. */
INLINE void end_lines(void) { _mm_sfence(); }
#else
INLINE void put_line(uint64_t *to, const uint64_t *line) { memcpy(to, line, LINE); }

INLINE void end_lines(void) {}
#endif

void key_parts_count(const uint64_t *hashes, int64_t count, int bits, int64_t *of_parts) {
    for (int64_t i = 0; i < count; i++) of_parts[hashes[i] >> (64 - bits)]++;
}

/* Where the line begins that has key `at`; `lead` keys would fit into the first one before the first key. */
INLINE int64_t line_of(int64_t at, int64_t lead) { return at - ((at + lead) & (PER_LINE - 1)); }

static int64_t lead_of(const uint64_t *keys) { return (int64_t)((uintptr_t)keys % LINE / sizeof *keys); }

void key_parts_deal(const uint64_t *hashes, int64_t count, uint64_t place, struct key_parts *parts) {
    uint64_t places = ((uint64_t)1 << parts->place_bits) - 1;
    int64_t lead = lead_of(parts->keys);
    for (int64_t i = 0; i < count; i++) {
        uint64_t part = hashes[i] >> (64 - parts->bits);
        uint64_t *line = parts->lines + part * PER_LINE;
        int64_t at = parts->ends[part]++, in_line = (at + lead) & (PER_LINE - 1);
        line[in_line] = (hashes[i] & ~places) | place;
        if (in_line < PER_LINE - 1) continue;
        int64_t first = parts->starts[part], before = first - line_of(at, lead);
        if (before <= 0) put_line(parts->keys + line_of(at, lead), line);
        else memcpy(parts->keys + first, line + before, (size_t)(PER_LINE - before) * sizeof *line);
    }
}

void key_parts_end(struct key_parts *parts) {
    int64_t lead = lead_of(parts->keys);
    for (int64_t part = 0; part < (int64_t)1 << parts->bits; part++) {
        int64_t end = parts->ends[part], begins = line_of(end, lead), from = parts->starts[part];
        if (from < begins) from = begins;
        memcpy(parts->keys + from, parts->lines + part * PER_LINE + (from - begins),
               (size_t)(end - from) * sizeof *parts->keys);
    }
    end_lines();
}
