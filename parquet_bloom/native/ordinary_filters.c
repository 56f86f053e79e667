/* Split block filters with the header that nearly all have, many of them side by side.
 *
 *   | 0x15, numBytes as a zigzag varint | three unions, each with the only member of the format |
 *   | bitset: numBytes bytes            |
 *
 * (parquet-format, parquet.thrift BloomFilterHeader, in the Thrift compact protocol.)
 */
#include "kernel.h"

#include <stdlib.h>

enum { NUM_BYTES_FIELD = 0x15, BLOCK_BYTES = 4 * WORDS_PER_BLOCK };

/* Fields 2 to 4 are structs, each with a field 1 that is an empty struct. */
static const uint8_t UNIONS[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};

/* The size of the header, and numBytes; 0 for any other bytes. */
static int64_t parse_header(const uint8_t *data, int64_t size, int64_t *num_bytes) {
    uint64_t zigzag = 0;
    int64_t at = 1;
    if (size < 1 || data[0] != NUM_BYTES_FIELD) return 0;
    for (int shift = 0;; shift += 7, at++) {
        if (at == size || shift > 28) return 0;
        zigzag |= (uint64_t)(data[at] & 0x7f) << shift;
        if (!(data[at] & 0x80)) break;
    }
    at++;
    if (size - at < (int64_t)sizeof UNIONS || memcmp(data + at, UNIONS, sizeof UNIONS) != 0)
        return 0;
    if (zigzag & 1 || zigzag > UINT32_MAX - 1) return 0;
    *num_bytes = (int64_t)(zigzag >> 1);
    return at + (int64_t)sizeof UNIONS;
}

int ordinary_filters(const uint8_t *data, const int64_t *starts, const int64_t *lengths,
                     int64_t count, struct ordinary_filter *filters) {
    int64_t room = 0;
    uint32_t *words = NULL;
    for (int64_t i = 0; i < count; i++) {
        struct ordinary_filter *found = &filters[i];
        *found = (struct ordinary_filter){0};
        const uint8_t *stored = data + starts[i];
        int64_t header_bytes = parse_header(stored, lengths[i], &found->num_bytes);
        if (header_bytes == 0 || found->num_bytes != lengths[i] - header_bytes ||
            found->num_bytes == 0 || found->num_bytes % BLOCK_BYTES != 0)
            continue;
        if (found->num_bytes > room) {
            uint32_t *more = realloc(words, (size_t)found->num_bytes);
            if (more == NULL) {
                free(words);
                return -1;
            }
            words = more;
            room = found->num_bytes;
        }
        /* Filters begin at any byte. */
        memcpy(words, stored + header_bytes, (size_t)found->num_bytes);
        uint64_t num_blocks = (uint64_t)found->num_bytes / BLOCK_BYTES;
        found->header_bytes = header_bytes;
        found->bits_set = (int64_t)split_block_popcount(words, num_blocks);
        found->fpp = split_block_fpp(words, num_blocks);
    }
    free(words);
    return 0;
}
