/* Runs of small numbers: definition levels, to count the non-null values of a page, and dictionary
 * indices (parquet-format, Encodings.md).
 *
 *   RLE hybrid   | varint header | run |   header & 1 ? (header >> 1) groups of 8 packed numbers
 *                                                     : one number, repeated header >> 1 times
 *   BIT_PACKED   consecutive numbers, from the most significant bit of each byte
 */
#include "packed.h"

/* `length` numbers: packed, starting at `data`, from where `size` bytes can be read, or if that is NULL all
 * equal to `value`. */
struct run {
    const uint8_t *data;
    size_t size;
    int64_t length;
    uint32_t value;
};

/* Read the run at data[*at], cut to `wanted` numbers, and advance *at. -1 if the data ends too early
 * or the run is impossible. */
static int next_run(const uint8_t *data, size_t size, size_t *at, int bit_width, int64_t wanted,
                    struct run *run) {
    uint64_t header = 0;
    for (int shift = 0;; shift += 7) {
        if (*at >= size || shift > 28) return -1;
        header |= (uint64_t)(data[*at] & 0x7f) << shift;
        if (!(data[(*at)++] & 0x80)) break;
    }
    int64_t length = (int64_t)(header >> 1) * (header & 1 ? 8 : 1);
    if (length == 0) return -1;
    run->length = length < wanted ? length : wanted;
    size_t left = size - *at;
    if (header & 1) {
        /* The last group may be cut short. */
        size_t needed = ((size_t)run->length * (size_t)bit_width + 7) / 8;
        size_t whole = (size_t)(header >> 1) * (size_t)bit_width;
        if (left < needed) return -1;
        run->data = data + *at;
        run->size = left;
        *at += whole < left ? whole : left;
        return 0;
    }
    size_t run_bytes = (size_t)(bit_width + 7) / 8;
    if (left < run_bytes) return -1;
    run->data = NULL;
    run->value = 0;
    if (run_bytes) memcpy(&run->value, data + *at, run_bytes);
    *at += run_bytes;
    return 0;
}

/* A reader of packed numbers with `have` bits buffered. */
struct unpacker {
    const uint8_t *data;
    uint64_t bits;
    int have;
};

INLINE uint32_t unpack(struct unpacker *from, int bit_width) {
    for (; from->have < bit_width; from->have += 8)
        from->bits |= (uint64_t)*from->data++ << from->have;
    uint32_t number = (uint32_t)(from->bits & (((uint64_t)1 << bit_width) - 1));
    from->bits >>= bit_width;
    from->have -= bit_width;
    return number;
}

/* Packed numbers that are counted by the word: so many of `bits` each, which fill whole bytes of it; the lowest
 * bit of each, and the one that is counted in the place of each. Wider ones are counted one by one. */
enum { MOST_COUNTED = 8 };
struct counter {
    int bits, each;
    uint32_t level;
    uint64_t lowest, levels;
};

static struct counter counter(int bits, uint32_t level) {
    struct counter by = {bits, 0, level, 0, 0};
    if (bits > MOST_COUNTED || level >> bits != 0) return by;
    by.each = 8 * (MOST_COUNTED / bits);
    for (int i = 0; i < by.each; i++) by.lowest |= (uint64_t)1 << (i * bits);
    by.levels = by.lowest * level;
    return by;
}

/* Count what equals the level in a run, and take it from there: all but the last numbers, where less than a
 * word can be read. */
INLINE int64_t count_words(struct run *run, const struct counter *by) {
    int64_t equal = 0;
    while (run->length > 0 && run->size >= sizeof by->lowest) {
        uint64_t numbers, differ = 0, counted = by->lowest;
        memcpy(&numbers, run->data, sizeof numbers);
        numbers ^= by->levels;
        for (int bit = 0; bit < by->bits; bit++) differ |= numbers >> bit;
        if (run->length < by->each) counted &= ((uint64_t)1 << (run->length * by->bits)) - 1;
        equal += __builtin_popcountll(~differ & counted);
        run->data += by->each * by->bits / 8;
        run->size -= (size_t)(by->each * by->bits / 8);
        run->length -= by->each;
    }
    return equal;
}

static int64_t count_packed(struct run run, const struct counter *by) {
    int64_t equal = by->each ? count_words(&run, by) : 0;
    struct unpacker from = {run.data, 0, 0};
    for (int64_t i = 0; i < run.length; i++) equal += unpack(&from, by->bits) == by->level;
    return equal;
}

int64_t levels_count_hybrid(const uint8_t *data, size_t size, int bit_width, int64_t count,
                            uint32_t level) {
    const struct counter by = counter(bit_width, level);
    int64_t equal = 0;
    size_t at = 0;
    struct run run;
    for (; count > 0; count -= run.length) {
        if (next_run(data, size, &at, bit_width, count, &run) != 0) return -1;
        if (run.data)
            equal += count_packed(run, &by);
        else
            equal += run.value == level ? run.length : 0;
    }
    return equal;
}

static int mark_packed(const struct run *run, int bit_width, uint8_t *used, size_t num_used) {
    struct unpacker from = {run->data, 0, 0};
    for (int64_t i = 0; i < run->length; i++) {
        uint32_t index = unpack(&from, bit_width);
        if (index >= num_used) return INDICES_OUTSIDE;
        used[index] = 1;
    }
    return 0;
}

int indices_mark(const uint8_t *data, size_t size, int bit_width, int64_t count, uint8_t *used,
                 size_t num_used) {
    size_t at = 0;
    struct run run;
    for (; count > 0; count -= run.length) {
        if (next_run(data, size, &at, bit_width, count, &run) != 0) return INDICES_DAMAGED;
        if (run.data) {
            int failed = mark_packed(&run, bit_width, used, num_used);
            if (failed) return failed;
        } else if (run.value >= num_used) {
            return INDICES_OUTSIDE;
        } else {
            used[run.value] = 1;
        }
    }
    return 0;
}

static void write_packed(const struct run *run, int bit_width, uint32_t *numbers) {
    const uint8_t *packed = run->data, *end = packed + run->size;
    uint64_t mask = mask_of(bit_width);
    int64_t narrow = num_narrow(packed, end, bit_width, run->length), i = 0;
    for (; i < narrow; i++) numbers[i] = (uint32_t)narrow_number(packed, i * bit_width, mask);
    for (; i < run->length; i++)
        numbers[i] = (uint32_t)packed_number(packed, end, i * bit_width, bit_width, mask);
}

int hybrid_decode(const uint8_t *data, size_t size, int bit_width, int64_t count, uint32_t *numbers) {
    size_t at = 0;
    struct run run;
    for (; count > 0; count -= run.length, numbers += run.length) {
        if (next_run(data, size, &at, bit_width, count, &run) != 0) return -1;
        if (run.data)
            write_packed(&run, bit_width, numbers);
        else
            for (int64_t i = 0; i < run.length; i++) numbers[i] = run.value;
    }
    return 0;
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
