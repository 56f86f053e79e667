/* Insert the values of whole data pages (parquet-format, Encodings.md).
 *
 *   PLAIN                     | value | value | ...                     see plain_pages.c
 *   DELTA_BINARY_PACKED       | numbers |                               see delta.c
 *   DELTA_LENGTH_BYTE_ARRAY   | numbers: lengths | bytes |
 *   DELTA_BYTE_ARRAY          | numbers: bytes of the value before | numbers: lengths of the rest | rests |
 *   BYTE_STREAM_SPLIT         | first bytes | second bytes | ...        see byte_streams.c
 *   ALP                       | vector | vector | ...                   see alp.c
 *
 * A few values are decoded at a time, and inserted while they are in the nearest cache.
 */
#include "xxh64.h"

/* The value section of a page: its levels of both kinds are cut off. */
struct section {
    const uint8_t *definition, *values;
    size_t definition_size, size;
};

/* Cut the levels of a v1 page off: | length (4) | levels |. Returns their size, or -1. */
static int64_t cut_levels(struct section *from, int64_t encoding, int64_t highest,
                          const uint8_t **levels) {
    uint32_t length;
    *levels = from->values;
    if (highest == 0) return 0;
    if (encoding != RLE || from->size < sizeof length) return -1;
    memcpy(&length, from->values, sizeof length);
    if (length > from->size - sizeof length) return -1;
    *levels += sizeof length;
    from->values += sizeof length + length;
    from->size -= sizeof length + length;
    return length;
}

static int find_section(const struct page_column *column, const struct whole_page *page,
                        struct section *found) {
    const struct page_details *details = &page->header->details;
    const uint8_t *repetition;
    *found = (struct section){page->levels, page->data, 0, page->size};
    if (page->header->type == DATA_PAGE_V2) {
        int64_t before = details->repetition_levels_byte_length;
        if (before == ABSENT) before = 0;
        if (before < 0 || (size_t)before > page->levels_size) return 0;
        found->definition += before;
        found->definition_size = page->levels_size - (size_t)before;
        return 1;
    }
    if (cut_levels(found, details->repetition_level_encoding, column->max_repetition_level,
                   &repetition) < 0)
        return 0;
    int64_t size = cut_levels(found, details->definition_level_encoding,
                              column->max_definition_level, &found->definition);
    found->definition_size = (size_t)size;
    return size >= 0;
}

/* The number of values that are stored, of `count` with nulls; -1 if the levels are damaged. */
static int64_t num_stored(const struct page_column *column, int64_t count,
                          const struct section *section) {
    int64_t highest = column->max_definition_level;
    if (highest == 0) return count;
    return levels_count_hybrid(section->definition, section->definition_size,
                               64 - __builtin_clzll((uint64_t)highest), count, (uint32_t)highest);
}

/* Where values go. */
struct target {
    uint32_t *words;
    uint64_t num_blocks;
    pthread_mutex_t *turn;
    int *specials;
};

enum { NEAR_BYTES = 16 << 10 };

static void insert_fixed(const struct page_column *column, const uint8_t *values, size_t count,
                         const struct target *to) {
    size_t width = (size_t)column->width;
    if (column->is_float) *to->specials |= plain_float_specials(values, count, width);
    plain_insert_fixed(values, count, width, to->words, to->num_blocks, to->turn);
}

/* What follows the values is padding. */
static int64_t insert_plain(const struct page_column *column, int64_t count,
                            const struct section *found, const struct target *to) {
    if (column->width == 0) {
        int64_t inserted = plain_insert_byte_array(found->values, found->size, count, to->words,
                                                   to->num_blocks, to->turn);
        return inserted == count ? count : -1;
    }
    size_t width = (size_t)column->width, num_values = (size_t)count, step = NEAR_BYTES / width + 1;
    if (found->size / width < num_values) return -1;
    for (size_t i = 0; i < num_values; i += step)
        insert_fixed(column, found->values + i * width,
                     num_values - i < step ? num_values - i : step, to);
    return count;
}

/* Numbers that are decoded a block or more at a time; those of `values` up to `have` are there, and `next`
 * of them were taken. */
enum { MOST_BLOCK = 2048 };
struct numbers {
    const uint8_t *data;
    size_t size;
    struct delta_state state;
    int64_t next, have;
    uint64_t values[MOST_BLOCK + 1];
};

/* Returns 0 for damage, for another number than `count`, and for larger blocks than any writer's. */
static int start_numbers(struct numbers *from, const uint8_t *data, size_t size, int64_t count) {
    from->data = data;
    from->size = size;
    from->next = from->have = 0;
    return delta_start(data, size, &from->state) == 0 && from->state.count == count &&
           from->state.block <= MOST_BLOCK;
}

/* Decode some if all that were decoded are taken; there are more. Returns 0 for damage. */
static int decode_numbers(struct numbers *from) {
    if (from->next < from->have) return 1;
    from->next = 0;
    from->have = delta_next(from->data, from->size, &from->state, from->values, MOST_BLOCK + 1);
    return from->have > 0;
}

static int64_t insert_numbers(const struct page_column *column, int64_t count,
                              const struct section *found, const struct target *to) {
    struct numbers from;
    uint32_t narrow[MOST_BLOCK + 1];
    if (!start_numbers(&from, found->values, found->size, count)) return -1;
    for (int64_t left = count; left > 0; left -= from.have) {
        from.next = from.have;
        if (!decode_numbers(&from)) return -1;
        const uint8_t *values = (const uint8_t *)from.values;
        if (column->width == sizeof *narrow) {
            for (int64_t i = 0; i < from.have; i++) narrow[i] = (uint32_t)from.values[i];
            values = (const uint8_t *)narrow;
        }
        insert_fixed(column, values, (size_t)from.have, to);
    }
    return count;
}

/* Insert data[starts[i] .. starts[i + 1]). */
static void insert_slices(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                          const struct target *to) {
    uint64_t hashes[MOST_BLOCK + 1];
    xxh64_slices(data, size, starts, count, hashes);
    split_block_insert_in_turn(to->words, to->num_blocks, hashes, count, to->turn);
}

static int64_t insert_lengths(int64_t count, const struct section *found, const struct target *to) {
    struct numbers from;
    int64_t starts[MOST_BLOCK + 2], end = delta_end(found->values, found->size);
    if (end < 0 || !start_numbers(&from, found->values, found->size, count)) return -1;
    starts[0] = end;
    for (int64_t left = count; left > 0; left -= from.have) {
        from.next = from.have;
        if (!decode_numbers(&from)) return -1;
        for (int64_t i = 0; i < from.have; i++) {
            if (from.values[i] > found->size - (size_t)starts[i]) return -1;
            starts[i + 1] = starts[i] + (int64_t)from.values[i];
        }
        insert_slices(found->values, found->size, starts, (size_t)from.have, to);
        starts[0] = starts[from.have];
    }
    return count;
}

/* Of longer values, and of pages that become larger than encodings.py takes, none is decoded here. */
enum { MOST_VALUE = 32 << 10, MOST_REPEATED = 128 << 20 };

/* Values one after the other; `count` of them, which begin at `starts`, are not inserted yet. The last one
 * of all begins at `before` and ends at `end`. */
struct joined {
    int64_t before, end;
    size_t count;
    int64_t starts[MOST_BLOCK + 1];
    uint8_t bytes[2 * MOST_VALUE];
};

/* Insert them; what remains is the last one, of which the next may repeat some. */
static void flush(struct joined *values, const struct target *to) {
    insert_slices(values->bytes, (size_t)values->end, values->starts, values->count, to);
    memmove(values->bytes, values->bytes + values->before, (size_t)(values->end - values->before));
    values->end -= values->before;
    values->before = 0;
    values->count = 0;
    values->starts[0] = values->end;
}

static int64_t insert_joined(const struct page_column *column, int64_t count,
                             const struct section *found, const struct target *to) {
    struct numbers prefixes, suffixes;
    struct joined values;
    uint64_t repeated = 0;
    values.before = values.end = values.starts[0] = 0;
    values.count = 0;
    int64_t middle = delta_end(found->values, found->size);
    if (middle < 0 || !start_numbers(&prefixes, found->values, found->size, count)) return -1;
    const uint8_t *rest = found->values + middle;
    size_t left = found->size - (size_t)middle;
    int64_t end = delta_end(rest, left);
    if (end < 0 || !start_numbers(&suffixes, rest, left, count)) return -1;
    rest += end;
    left -= (size_t)end;
    for (int64_t i = 0; i < count; i++) {
        if (!decode_numbers(&prefixes) || !decode_numbers(&suffixes)) return -1;
        uint64_t prefix = prefixes.values[prefixes.next++], suffix = suffixes.values[suffixes.next++];
        if (prefix > (uint64_t)(values.end - values.before) || suffix > left ||
            prefix + suffix > MOST_VALUE || (repeated += prefix) > MOST_REPEATED ||
            (column->width && prefix + suffix != (uint64_t)column->width))
            return -1;
        if (values.count == MOST_BLOCK ||
            prefix + suffix > sizeof values.bytes - (size_t)values.end)
            flush(&values, to);
        memcpy(values.bytes + values.end, values.bytes + values.before, prefix);
        memcpy(values.bytes + values.end + prefix, rest, suffix);
        rest += suffix;
        left -= suffix;
        values.before = values.end;
        values.end += (int64_t)(prefix + suffix);
        values.starts[++values.count] = values.end;
    }
    flush(&values, to);
    return count;
}

/* Longer values are not joined here. */
enum { MOST_STREAMS = 1024 };

static int64_t insert_streams(const struct page_column *column, int64_t count,
                              const struct section *found, const struct target *to) {
    uint8_t values[NEAR_BYTES];
    size_t width = (size_t)column->width, num_values = (size_t)count;
    if (width > MOST_STREAMS || found->size != num_values * width) return -1;
    size_t step = NEAR_BYTES / width;
    for (size_t i = 0; i < num_values; i += step) {
        size_t some = num_values - i < step ? num_values - i : step;
        join_streams(found->values + i, num_values, some, width, values);
        insert_fixed(column, values, some, to);
    }
    return count;
}

/* Larger vectors than any writer's are not decoded here. */
enum { MOST_VECTOR = 2048 };

static int64_t insert_decimals(const struct page_column *column, int64_t count,
                               const struct section *found, const struct target *to) {
    struct alp_state state;
    uint64_t values[MOST_VECTOR];
    const uint8_t *decoded = (const uint8_t *)values;
    if (alp_start(found->values, found->size, (size_t)column->width, &state) != 0 ||
        state.count != count || state.vector > MOST_VECTOR)
        return -1;
    for (int64_t some; state.left > 0;) {
        some = alp_next(found->values, found->size, &state, (uint8_t *)values, MOST_VECTOR);
        if (some < 0) return -1;
        insert_fixed(column, decoded, (size_t)some, to);
    }
    return count;
}

int whole_page_is_known(const struct page_column *column, int64_t encoding) {
    switch (encoding) {
    case PLAIN: return 1;
    case DELTA_BINARY_PACKED: return column->type == INT32 || column->type == INT64;
    case DELTA_LENGTH_BYTE_ARRAY: return column->type == BYTE_ARRAY;
    case DELTA_BYTE_ARRAY:
        return column->type == BYTE_ARRAY || column->type == FIXED_LEN_BYTE_ARRAY;
    case BYTE_STREAM_SPLIT: return column->width > 0;
    case ALP: return column->is_float != 0;
    default: return 0;
    }
}

int64_t whole_page_insert(const struct page_column *column, const struct whole_page *page,
                          uint32_t *words, uint64_t num_blocks, pthread_mutex_t *turn,
                          int *specials) {
    const struct target to = {words, num_blocks, turn, specials};
    struct section found;
    if (!find_section(column, page, &found)) return -1;
    int64_t count = num_stored(column, page->header->details.num_values, &found);
    if (count < 0) return -1;
    switch (page->header->details.encoding) {
    case PLAIN: return insert_plain(column, count, &found, &to);
    case DELTA_BINARY_PACKED: return insert_numbers(column, count, &found, &to);
    case DELTA_LENGTH_BYTE_ARRAY: return insert_lengths(count, &found, &to);
    case DELTA_BYTE_ARRAY: return insert_joined(column, count, &found, &to);
    case ALP: return insert_decimals(column, count, &found, &to);
    default: return insert_streams(column, count, &found, &to);
    }
}
