/* Sorted keys of an index, in pages that any reader of Parquet understands, and how they are found again.
 *
 *   key     | hash | place |, ascending, each once
 *   page    PageHeader (v1) | keys in DELTA_BINARY_PACKED: blocks of 128, 4 miniblocks each
 *
 * Where hashes have several places, the distance to the next hash is as wide as a place and more, and makes all that
 * are packed with it as wide. Then only the first key of each hash is in the page, and the other places are a list in
 * a page beside it:
 *
 *   lists   PageHeader | repetition levels | definition levels | places in DELTA_BINARY_PACKED
 *
 * Every other list descends: so no place is far from the one before.
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

static uint8_t *put_block(uint8_t *out, const uint64_t *numbers, int64_t count) {
    uint64_t deltas[BLOCK];
    int64_t smallest = INT64_MAX;
    for (int64_t i = 0; i < count; i++) {
        deltas[i] = numbers[i] - numbers[i - 1];
        if ((int64_t)deltas[i] < smallest) smallest = (int64_t)deltas[i];
    }
    uint64_t least = (uint64_t)smallest;
    for (int64_t i = count; i < BLOCK; i++) deltas[i] = least;
    out = put_zigzag(out, smallest);
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

static uint8_t *put_deltas(uint8_t *out, const uint64_t *numbers, int64_t count) {
    out = put_varint(out, BLOCK);
    out = put_varint(out, MINIBLOCKS);
    out = put_varint(out, (uint64_t)count);
    out = put_zigzag(out, count ? (int64_t)numbers[0] : 0);
    for (int64_t i = 1; i < count; i += BLOCK)
        out = put_block(out, numbers + i, count - i < BLOCK ? count - i : BLOCK);
    return out;
}

/* Levels of one bit, of which `set` are 1: as one run, behind its size. */
static uint8_t *put_levels(uint8_t *out, const uint8_t *bits, int64_t count, int64_t set) {
    uint8_t *start = out + sizeof(uint32_t), *end;
    if (set == 0 || set == count) {
        end = put_varint(start, (uint64_t)count << 1);
        *end++ = set != 0;
    } else {
        size_t size = (size_t)(count + 7) / 8;
        end = put_varint(start, (uint64_t)size << 1 | 1);
        memcpy(end, bits, size);
        end += size;
    }
    uint32_t size = (uint32_t)(end - start);
    memcpy(out, &size, sizeof size);
    return end;
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

/* Put the header of a page before its body, which was written first: it says how long that is. */
static int64_t end_page(uint8_t *out, int64_t count, uint8_t *end) {
    uint8_t *body = out + LONGEST_HEADER;
    size_t size = (size_t)(end - body);
    uint8_t *start = put_header(out, (int32_t)count, (int32_t)size);
    memmove(start, body, size);
    return start - out + (int64_t)size;
}

int64_t sorted_keys_page(const uint64_t *keys, int64_t count, uint8_t *out) {
    return end_page(out, count, put_deltas(out + LONGEST_HEADER, keys, count));
}

INLINE void set_bit(uint8_t *bits, int64_t at) { bits[at / 8] |= (uint8_t)(1 << at % 8); }

int64_t sorted_keys_fold(const uint64_t *keys, int64_t count, int place_bits, uint64_t *firsts,
                         struct key_lists *lists) {
    uint64_t places = ((uint64_t)1 << place_bits) - 1;
    int64_t rows = 0, levels = 0, listed = 0, descends = 0;
    memset(lists->repeats, 0, (size_t)(count + 7) / 8);
    memset(lists->is_there, 0, (size_t)(count + 7) / 8);
    for (int64_t i = 0, end; i < count; i = end) {
        firsts[rows++] = keys[i];
        for (end = i + 1; end < count && (keys[end] ^ keys[i]) <= places;) end++;
        int64_t others = end - i - 1;
        for (int64_t j = 0; j < others; j++) {
            lists->places[listed++] = keys[descends ? end - 1 - j : i + 1 + j] & places;
            if (j > 0) set_bit(lists->repeats, levels);
            set_bit(lists->is_there, levels++);
        }
        if (others) descends = !descends;
        else levels++;
    }
    lists->levels = levels;
    lists->listed = listed;
    return rows;
}

int64_t sorted_keys_lists_page(const struct key_lists *lists, int64_t rows, uint8_t *out) {
    int64_t levels = lists->levels;
    uint8_t *end = out + LONGEST_HEADER;
    end = put_levels(end, lists->repeats, levels, levels - rows);
    end = put_levels(end, lists->is_there, levels, lists->listed);
    return end_page(out, levels, put_deltas(end, lists->places, lists->listed));
}

void sorted_keys_narrow(const uint64_t *wide, int64_t count, int from_bits, int drop, int place_bits,
                        uint64_t *keys) {
    uint64_t places = ((uint64_t)1 << from_bits) - 1;
    for (int64_t i = 0; i < count; i++)
        keys[i] = wide[i] >> (from_bits + drop) << place_bits | (wide[i] & places);
}

int64_t sorted_keys_distinct(uint64_t *keys, int64_t count) {
    int64_t kept = count > 0;
    while (kept < count && keys[kept] != keys[kept - 1]) kept++;
    for (int64_t i = kept + 1; i < count; i++)
        if (keys[i] != keys[kept - 1]) keys[kept++] = keys[i];
    return kept;
}

/* Where the numbers of a page are that begins with so many levels; -1 if it is damaged. */
static int64_t body_of(const uint8_t *page, size_t size, struct page_header *header, size_t *end) {
    int64_t where, body = thrift_page_header(page, size, 0, header, &where);
    if (body < 0 || header->type != 0 || header->details.encoding != DELTA_BINARY_PACKED ||
        header->compressed_page_size < 0 || header->compressed_page_size > (int64_t)size - body)
        return -1;
    *end = (size_t)(body + header->compressed_page_size);
    return body;
}

/* Decode numbers, of which the last may be greater than `until`: none are wanted behind it. Returns how many there
 * are, or -1. */
static int64_t take_deltas(const uint8_t *data, size_t size, uint64_t until, uint64_t *numbers,
                           int64_t room, int64_t *count) {
    struct delta_state state;
    int64_t done = 0;
    if (delta_start(data, size, &state) != 0 || state.block > BLOCK || state.count > room - BLOCK)
        return -1;
    *count = state.count;
    while (done < state.count && !(done && numbers[done - 1] > until)) {
        int64_t some = delta_next(data, size, &state, numbers + done, BLOCK + 1);
        if (some <= 0) return -1;
        done += some;
    }
    return done;
}

int64_t sorted_keys_decode(const uint8_t *page, size_t size, uint64_t until, uint64_t *keys,
                           int64_t room) {
    struct page_header header;
    size_t end;
    int64_t count, body = body_of(page, size, &header, &end);
    if (body < 0) return -1;
    int64_t done = take_deltas(page + body, end - (size_t)body, until, keys, room, &count);
    return count == header.details.num_values && count > 0 ? done : -1;
}

/* Levels as put_levels writes them: all of them `value`, or packed bits. */
struct one_run {
    const uint8_t *bits;
    int value;
};

INLINE int level(const struct one_run *run, int64_t at) {
    return run->bits ? run->bits[at / 8] >> at % 8 & 1 : run->value;
}

/* The first level from `from` on that is 0, or where they end. */
INLINE int64_t next_unset(const struct one_run *run, int64_t from, int64_t levels) {
    if (!run->bits) return run->value ? levels : from;
    int64_t size = (levels + 7) / 8;
    uint64_t wanted = UINT64_MAX << from % 8;
    for (int64_t at = from / 8; at < size; at += 8, wanted = UINT64_MAX) {
        uint64_t word = 0;
        if (size - at >= 8) memcpy(&word, run->bits + at, 8);
        else memcpy(&word, run->bits + at, (size_t)(size - at));
        word = ~word & wanted;
        if (!word) continue;
        int64_t found = 8 * at + __builtin_ctzll(word);
        return found < levels ? found : levels;
    }
    return levels;
}

/* Returns where they end, or NULL. */
static const uint8_t *take_levels(const uint8_t *at, const uint8_t *end, int64_t count,
                                  struct one_run *run) {
    uint32_t size, header = 0;
    if (end - at < (int64_t)sizeof size) return NULL;
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    if (end - at < (int64_t)size) return NULL;
    const uint8_t *behind = at + size;
    for (int shift = 0, more = 1; more; shift += 7) {
        if (at == behind || shift > 21) return NULL;
        more = *at >> 7;
        header |= (uint32_t)(*at++ & 0x7f) << shift;
    }
    int64_t length = header & 1 ? (int64_t)(header >> 1) * 8 : (int64_t)(header >> 1);
    int64_t needed = header & 1 ? (count + 7) / 8 : 1;
    if (length < count || behind - at < needed) return NULL;
    *run = (struct one_run){header & 1 ? at : NULL, *at & 1};
    return behind;
}

/* The lists of a page: the levels that they take, and how many places they have. */
struct taken_lists {
    struct one_run repeats, is_there;
    int64_t levels, listed;
};

/* Take the page of the lists of so many rows; returns 0, or -1 if it is damaged or has more than `room`. */
static int take_lists(const uint8_t *page, size_t size, int64_t rows, uint64_t places,
                      uint64_t *listed, int64_t room, struct taken_lists *lists) {
    struct page_header header;
    size_t end;
    int64_t body = body_of(page, size, &header, &end);
    if (body < 0 || header.details.num_values < rows || header.details.num_values > room) return -1;
    lists->levels = header.details.num_values;
    const uint8_t *at = take_levels(page + body, page + end, lists->levels, &lists->repeats);
    if (at) at = take_levels(at, page + end, lists->levels, &lists->is_there);
    if (!at || take_deltas(at, (size_t)(page + end - at), UINT64_MAX, listed, room, &lists->listed) < 0)
        return -1;
    uint64_t all = 0;
    for (int64_t i = 0; i < lists->listed; i++) all |= listed[i];
    return all > places ? -1 : 0;
}

int64_t sorted_keys_unfold(const uint64_t *firsts, int64_t rows, const uint8_t *page, size_t size,
                           int place_bits, uint64_t *listed, uint64_t *keys, int64_t room) {
    uint64_t places = ((uint64_t)1 << place_bits) - 1;
    struct taken_lists lists;
    int64_t row = 0, taken = 0, count = 0;
    if (take_lists(page, size, rows, places, listed, room, &lists) < 0) return -1;
    int64_t levels = lists.levels, num_listed = lists.listed;
    for (int64_t i = 0, next; i < levels; i = next, row++) {
        next = next_unset(&lists.repeats, i + 1, levels);
        int64_t others = level(&lists.is_there, i) ? next - i : 0;
        if (row == rows || others > num_listed - taken || others > room - count - 1) return -1;
        const uint64_t *list = listed + taken;
        uint64_t hash = firsts[row] & ~places;
        keys[count++] = firsts[row];
        if (others > 1 && list[0] > list[others - 1])
            for (int64_t j = others; j > 0; j--) keys[count++] = hash | list[j - 1];
        else
            for (int64_t j = 0; j < others; j++) keys[count++] = hash | list[j];
        taken += others;
    }
    return row == rows && taken == num_listed ? count : -1;
}

void sorted_keys_fetch(const uint8_t *page, size_t size) {
    for (size_t at = 0; at < size; at += 64) __builtin_prefetch(page + at);
}

/* The first of ascending keys from `from` on that is not below `key`: mostly, it is near. */
static int64_t next_from(const uint64_t *keys, int64_t count, int64_t from, uint64_t key) {
    int64_t low = from, step = 1;
    for (; low + step <= count && keys[low + step - 1] < key; step *= 2) low += step;
    if (low + step <= count) count = low + step - 1;
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
    int64_t hits = 0, first = 0;
    for (int64_t a = from; a < to; a++) {
        first = next_from(keys, count, first, asked[a]);
        for (int64_t i = first; i < count && keys[i] <= (asked[a] | places); i++) {
            if (hits < room) found[hits] = (struct found_key){a, (int64_t)(keys[i] & places)};
            hits++;
        }
    }
    return hits;
}

enum { WORD = 64 };

/* The levels from `at` on, a multiple of WORD, as many as fit. */
INLINE uint64_t levels_from(const struct one_run *run, int64_t at, int64_t levels) {
    int64_t left = levels - at;
    uint64_t word = run->bits || !run->value ? 0 : UINT64_MAX;
    if (run->bits) memcpy(&word, run->bits + at / 8, left < WORD ? (size_t)(left + 7) / 8 : sizeof word);
    return left < WORD ? word & (((uint64_t)1 << left) - 1) : word;
}

/* WORD levels: which of them begin a row, and which have a place; and how many did before these. */
struct some_levels {
    int64_t at, rows, listed;
    uint64_t begins, has_place;
};

INLINE struct some_levels levels_behind(const struct taken_lists *lists, const struct some_levels *before) {
    int64_t at = before ? before->at + WORD : 0;
    uint64_t repeats = levels_from(&lists->repeats, at, lists->levels);
    uint64_t all = lists->levels - at < WORD ? ((uint64_t)1 << (lists->levels - at)) - 1 : UINT64_MAX;
    return (struct some_levels){
        .at = at,
        .rows = before ? before->rows + __builtin_popcountll(before->begins) : 0,
        .listed = before ? before->listed + __builtin_popcountll(before->has_place) : 0,
        .begins = repeats ^ all,
        .has_place = levels_from(&lists->is_there, at, lists->levels),
    };
}

/* Whether each of the rows has its levels, and each place one: what repeats a list has one. */
static int lists_are_whole(const struct taken_lists *lists, int64_t rows) {
    struct some_levels some = levels_behind(lists, NULL);
    if (!(some.begins & 1)) return 0;
    for (;; some = levels_behind(lists, &some)) {
        uint64_t all = lists->levels - some.at < WORD ? ((uint64_t)1 << (lists->levels - some.at)) - 1
                                                      : UINT64_MAX;
        if ((some.begins | some.has_place) != all) return 0;
        if (some.at + WORD >= lists->levels) break;
    }
    return some.rows + __builtin_popcountll(some.begins) == rows &&
           some.listed + __builtin_popcountll(some.has_place) == lists->listed;
}

int64_t sorted_keys_find_folded(const uint64_t *firsts, int64_t rows, const uint8_t *page, size_t size,
                                uint64_t *listed, int64_t listed_room, const uint64_t *asked,
                                int64_t from, int64_t to, int place_bits, struct found_key *found,
                                int64_t room) {
    uint64_t places = ((uint64_t)1 << place_bits) - 1;
    struct taken_lists lists;
    int64_t hits = 0, first = 0;
    if (rows < 1 || take_lists(page, size, rows, places, listed, listed_room, &lists) < 0 ||
        !lists_are_whole(&lists, rows))
        return -1;
    struct some_levels some = levels_behind(&lists, NULL);
    for (int64_t a = from; a < to; a++) {
        first = next_from(firsts, rows, first, asked[a]);
        for (int64_t row = first; row < rows && firsts[row] <= (asked[a] | places); row++) {
            if (row < some.rows) some = levels_behind(&lists, NULL);
            while (some.rows + __builtin_popcountll(some.begins) <= row)
                some = levels_behind(&lists, &some);
            uint64_t begins = some.begins;
            for (int64_t before = some.rows; before < row; before++) begins &= begins - 1;
            int bit = __builtin_ctzll(begins);
            int64_t at = some.at + bit, others = 0;
            if (some.has_place >> bit & 1) others = next_unset(&lists.repeats, at + 1, lists.levels) - at;
            uint64_t before = some.has_place & (((uint64_t)1 << bit) - 1);
            const uint64_t *list = listed + some.listed + __builtin_popcountll(before);
            int descends = others > 1 && list[0] > list[others - 1];
            for (int64_t j = -1; j < others; j++, hits++) {
                uint64_t place = j < 0 ? firsts[row] & places : list[descends ? others - 1 - j : j];
                if (hits < room) found[hits] = (struct found_key){a, (int64_t)place};
            }
        }
    }
    return hits;
}
