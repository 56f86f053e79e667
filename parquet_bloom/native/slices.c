/* Bit slices of filters: the same bit of many of them side by side, so that a value takes eight rows.
 *
 *   filter k   | block 0 | block 1 | ... | block z - 1 |       32 bytes each
 *   page i     256 rows: row 32 * word + bit is that bit of block i of every filter
 *   row        filter k is bit 7 - k % 8 of byte k / 8, as SQL counts bits
 */
#include "kernel.h"

enum { BLOCK_BYTES = 32, ROWS = SLICE_ROWS };

/* So many filters are turned at a time that each row of them is a line of the cache. */
enum { LINE = 64, PER_LINE = 8 * LINE };

/* Filters of the same size compete for the same places in a cache: so many blocks of each are fetched together. */
enum { AT_ONCE = 8, STRIDE = AT_ONCE * BLOCK_BYTES + LINE };

/* And no prefetcher foresees where the next filter is: it is asked for so many filters before. */
enum { AHEAD = 8 };

/* Turn a block of each of so many filters, STRIDE bytes apart, into bits of each row, LINE bytes apart. */
enum { TOGETHER = 32 };

#if defined(__x86_64__)
#include <immintrin.h>

/* Bytes of 16 x 16 filters change places in four rounds, each of which moves one bit of the row's number into the
 * column's. Then x[b] has byte b of each filter, and a mask one bit of it; the least bit of a mask is that of the
 * first byte. */
#define TURN(TYPE, UNPACK_LOW, UNPACK_HIGH, ADD, MASK, MASK_TYPE)                                  \
    do {                                                                                           \
        for (int round = 0; round < 4; round++) {                                                  \
            TYPE y[16];                                                                            \
            for (int i = 0; i < 8; i++) {                                                          \
                y[2 * i] = UNPACK_LOW(x[i], x[i + 8]);                                             \
                y[2 * i + 1] = UNPACK_HIGH(x[i], x[i + 8]);                                        \
            }                                                                                      \
            memcpy(x, y, sizeof y);                                                                \
        }                                                                                          \
        for (int b = 0; b < 16; b++) {                                                             \
            for (int bit = 7; bit >= 0; bit--) {                                                   \
                MASK_TYPE found = (MASK_TYPE)MASK(x[b]);                                           \
                memcpy(rows + (8 * (16 * part + b) + bit) * LINE, &found, sizeof found);           \
                x[b] = ADD(x[b], x[b]);                                                            \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static void turn_some_any(const uint8_t *blocks, uint8_t *rows) {
    for (int half = 0; half < 2; half++, blocks += 16 * STRIDE, rows += 2) {
        for (int part = 0; part < BLOCK_BYTES / 16; part++) {
            __m128i x[16];
            for (int j = 0; j < 16; j++)
                x[j] = _mm_loadu_si128((const __m128i *)(blocks + (j ^ 7) * STRIDE + 16 * part));
            TURN(__m128i, _mm_unpacklo_epi8, _mm_unpackhi_epi8, _mm_add_epi8, _mm_movemask_epi8,
                 uint16_t);
        }
    }
}

/* The same with 16 filters in each half of a register. */
__attribute__((target("avx2"))) static void turn_some_avx2(const uint8_t *blocks, uint8_t *rows) {
    for (int part = 0; part < BLOCK_BYTES / 16; part++) {
        __m256i x[16];
        for (int j = 0; j < 16; j++) {
            const uint8_t *at = blocks + (j ^ 7) * STRIDE + 16 * part;
            __m128i low = _mm_loadu_si128((const __m128i *)at);
            __m128i high = _mm_loadu_si128((const __m128i *)(at + 16 * STRIDE));
            x[j] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
        }
        TURN(__m256i, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8, _mm256_add_epi8,
             _mm256_movemask_epi8, uint32_t);
    }
}

static void turn_some(const uint8_t *blocks, uint8_t *rows) {
    if (code_path() >= WITH_AVX2) turn_some_avx2(blocks, rows);
    else turn_some_any(blocks, rows);
}
#else
/* A matrix of 8 x 8 bytes, then each of its words as one of 8 x 8 bits, so that byte r of word b has bit 8 * b + r
 * of all.
 * Source: Hacker's Delight, 7-3. */
INLINE void turn_words(uint64_t x[8]) {
    static const uint64_t masks[] = {0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
    for (int stage = 0; stage < 3; stage++) {
        int step = 1 << stage, shift = 8 * step;
        for (int i = 0; i < 8; i++) {
            if (i & step) continue;
            uint64_t t = ((x[i] >> shift) ^ x[i + step]) & masks[stage];
            x[i + step] ^= t;
            x[i] ^= t << shift;
        }
    }
    for (int i = 0; i < 8; i++) {
        uint64_t word = x[i], t;
        t = (word ^ (word >> 7)) & 0x00aa00aa00aa00aa;
        word ^= t ^ (t << 7);
        t = (word ^ (word >> 14)) & 0x0000cccc0000cccc;
        word ^= t ^ (t << 14);
        t = (word ^ (word >> 28)) & 0x00000000f0f0f0f0;
        x[i] = word ^ t ^ (t << 28);
    }
}

static void turn_some(const uint8_t *blocks, uint8_t *rows) {
    for (int some = 0; some < TOGETHER; some += 8, blocks += 8 * STRIDE, rows++) {
        for (int part = 0; part < BLOCK_BYTES / 8; part++) {
            uint64_t x[8];
            for (int j = 0; j < 8; j++) memcpy(&x[j], blocks + (7 - j) * STRIDE + 8 * part, 8);
            turn_words(x);
            for (int b = 0; b < 8; b++)
                for (int r = 0; r < 8; r++)
                    rows[(64 * part + 8 * b + r) * LINE] = (uint8_t)(x[b] >> (8 * r));
        }
    }
}
#endif

void slices_turn(const uint8_t *const *filters, int64_t count, int64_t first, int64_t num_blocks,
                 uint8_t *pages) {
    size_t width = (size_t)(count + 7) / 8;
    uint8_t fetched[PER_LINE * STRIDE], lines[ROWS * LINE];
    for (int64_t from = 0; from < count; from += PER_LINE) {
        int64_t some = count - from < PER_LINE ? count - from : PER_LINE;
        int64_t padded = (some + TOGETHER - 1) / TOGETHER * TOGETHER;
        size_t bytes = (size_t)(some + 7) / 8;
        memset(fetched + some * STRIDE, 0, (size_t)(padded - some) * STRIDE);
        for (int64_t done = 0; done < num_blocks; done += AT_ONCE) {
            int64_t blocks = num_blocks - done < AT_ONCE ? num_blocks - done : AT_ONCE;
            int64_t at = (first + done) * BLOCK_BYTES, size = blocks * BLOCK_BYTES;
            for (int64_t k = 0; k < some; k++) {
                if (k + AHEAD < some)
                    for (int64_t line = 0; line < size; line += LINE)
                        __builtin_prefetch(filters[from + k + AHEAD] + at + line);
                memcpy(fetched + k * STRIDE, filters[from + k] + at, (size_t)size);
            }
            for (int64_t block = 0; block < blocks; block++) {
                for (int64_t k = 0; k < padded; k += TOGETHER)
                    turn_some(fetched + k * STRIDE + block * BLOCK_BYTES, lines + k / 8);
                uint8_t *page = pages + (size_t)(done + block) * ROWS * width + from / 8;
                for (size_t row = 0; row < ROWS; row++)
                    memcpy(page + row * width, lines + row * LINE, bytes);
            }
        }
    }
}

/* Copy `count` bits that are in one byte of what they are copied to. */
INLINE void copy_few(const uint8_t *from, int64_t at, uint8_t *to, int64_t there, int count) {
    const uint8_t *in = from + at / 8;
    int shift = (int)(at % 8), place = (int)(there % 8);
    uint8_t bits = (uint8_t)(in[0] << shift), mask = (uint8_t)(0xff << (8 - count));
    if (shift + count > 8) bits |= in[1] >> (8 - shift);
    uint8_t *out = to + there / 8;
    *out = (uint8_t)((*out & ~(mask >> place)) | (bits & mask) >> place);
}

static void copy_bits(const uint8_t *from, int64_t at, uint8_t *to, int64_t there, int64_t count) {
    int head = (int)(-there & 7);
    if (head > count) head = (int)count;
    if (head) copy_few(from, at, to, there, head);
    at += head, there += head, count -= head;
    int shift = (int)(at % 8);
    if (!shift) {
        memcpy(to + there / 8, from + at / 8, (size_t)(count / 8));
        at += count & ~7, there += count & ~7, count &= 7;
    }
    /* With the byte behind them, of which some bits are wanted. */
    for (; count >= 64; count -= 64, at += 64, there += 64) {
        const uint8_t *in = from + at / 8;
        uint64_t word;
        memcpy(&word, in, sizeof word);
        word = __builtin_bswap64(__builtin_bswap64(word) << shift | in[8] >> (8 - shift));
        memcpy(to + there / 8, &word, sizeof word);
    }
    for (; count > 0; count -= 8, at += 8, there += 8)
        copy_few(from, at, to, there, count < 8 ? (int)count : 8);
}

void slices_copy(const uint8_t *from, size_t from_width, int64_t from_slot, uint8_t *to,
                 size_t to_width, int64_t to_slot, int64_t count, size_t rows) {
    for (size_t row = 0; row < rows; row++)
        copy_bits(from + row * from_width, from_slot, to + row * to_width, to_slot, count);
}

int64_t slices_find(const uint8_t *const rows[WORDS_PER_BLOCK], size_t width, int64_t num_slots,
                    int64_t asked, struct found_slot *found, int64_t room) {
    int64_t hits = 0;
    for (size_t at = 0; at < width; at += 8) {
        size_t size = width - at < 8 ? width - at : 8;
        uint64_t all = UINT64_MAX;
        for (int w = 0; w < WORDS_PER_BLOCK; w++) {
            uint64_t word = 0;
            if (size == 8) memcpy(&word, rows[w] + at, 8);
            else memcpy(&word, rows[w] + at, size);
            all &= word;
        }
        if (!all) continue;
        for (all = __builtin_bswap64(all); all;) {
            int bit = __builtin_clzll(all);
            all &= ~(0x8000000000000000u >> bit);
            int64_t slot = 8 * (int64_t)at + bit;
            if (slot >= num_slots) break;
            if (hits < room) found[hits] = (struct found_slot){asked, slot};
            hits++;
        }
    }
    return hits;
}
