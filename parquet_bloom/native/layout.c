/* Which byte ranges of a file the footer gives to what.
 *
 *   | PAR1 | pages, page indexes, filters, gaps | footer at `end`
 *
 * Ranges are in order of their starts; `reach` is the greatest end up to there, so that one binary
 * search tells whether anything overlaps.
 */
#include "kernel.h"

#include <stdlib.h>

enum { MAGIC_BYTES = 4 };

int64_t layout_pages(const struct chunk_span *chunks, int64_t count, int64_t end,
                     struct byte_range *ranges) {
    struct byte_range *next = ranges;
    for (const struct chunk_span *c = chunks; c < chunks + count; c++) {
        if (c->meta_start == ABSENT || c->has_file_path || c->num_values == 0) continue;
        int has_dictionary =
            0 < c->dictionary_page_offset && c->dictionary_page_offset < c->data_page_offset;
        int64_t start = has_dictionary ? c->dictionary_page_offset : c->data_page_offset;
        int64_t size = c->total_compressed_size;
        if (start < MAGIC_BYTES || start > end)
            *next++ = (struct byte_range){MAGIC_BYTES, end + 1, 0};
        else if (size <= 0 || size > end - start)
            *next++ = (struct byte_range){start, end + 1, 0};
        else
            *next++ = (struct byte_range){start, start + size, 0};
    }
    return next - ranges;
}

static struct byte_range *add_index(struct byte_range *next, int64_t start, int64_t length,
                                    int64_t end) {
    if (0 < start && start < end && 0 < length && length <= end - start)
        *next++ = (struct byte_range){start, start + length, 0};
    return next;
}

int64_t layout_indexes(const struct chunk_span *chunks, int64_t count, int64_t end,
                       struct byte_range *ranges) {
    struct byte_range *next = ranges;
    for (const struct chunk_span *c = chunks; c < chunks + count; c++) {
        next = add_index(next, c->offset_index_offset, c->offset_index_length, end);
        next = add_index(next, c->column_index_offset, c->column_index_length, end);
    }
    return next - ranges;
}

int64_t layout_filters(const struct chunk_span *chunks, int64_t count, int64_t end,
                       struct byte_range *ranges) {
    struct byte_range *next = ranges;
    for (const struct chunk_span *c = chunks; c < chunks + count; c++) {
        int64_t start = c->bloom_filter_offset, length = c->bloom_filter_length, stop;
        if (start == ABSENT) continue;
        length = length < 0 ? 0 : length > end ? end : length;
        if (__builtin_add_overflow(start, length, &stop)) stop = INT64_MAX;
        *next++ = (struct byte_range){start, stop, 0};
    }
    return next - ranges;
}

static int by_start(const void *a, const void *b) {
    const struct byte_range *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

void layout_order(struct byte_range *ranges, int64_t count) {
    qsort(ranges, (size_t)count, sizeof *ranges, by_start);
    int64_t reach = INT64_MIN;
    for (int64_t i = 0; i < count; i++) {
        if (ranges[i].end > reach) reach = ranges[i].end;
        ranges[i].reach = reach;
    }
}

int64_t layout_before(const struct byte_range *ranges, int64_t count, int64_t at) {
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ranges[middle].start < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int layout_overlap_another(const struct byte_range *ranges, int64_t count, int64_t start,
                           int64_t end) {
    int64_t first = layout_before(ranges, count, start);
    int64_t behind = layout_before(ranges, count, end);
    return behind - first > 1 || (first > 0 && ranges[first - 1].reach > start);
}
