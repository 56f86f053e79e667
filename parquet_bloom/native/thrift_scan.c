/* Byte spans in the Thrift compact protocol (thrift, doc/specs/thrift-compact-protocol.md).
 *
 *   field    | id delta (4 bits), type (4 bits) | value |     delta 0: the id follows as a zigzag
 *   struct   | field | field | ... | 0 |
 *   list     | size (4 bits), type (4 bits) | element | ...   size 15: the size follows as a varint
 *
 * Nothing is decoded unless needed: a footer of 100,000 column chunks takes one pass over its bytes.
 * Every step is checked against the end of the buffer, and every element of a list or map takes at
 * least one byte, so a hostile size cannot make the scan longer than its input.
 */
#include "kernel.h"

enum {
    STOP = 0, BOOL_TRUE, BOOL_FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID
};

/* The format itself nests about ten levels deep. */
enum { MAX_DEPTH = 64 };

struct cursor {
    const uint8_t *data;
    int64_t size, at;
    int error; /* 0, or the first SCAN_ error */
};

static int fail(struct cursor *c, int error) {
    if (!c->error) c->error = error;
    return 0;
}

INLINE int need(struct cursor *c, int64_t bytes) {
    if (c->error) return 0;
    if (c->size - c->at < bytes) return fail(c, SCAN_TRUNCATED);
    return 1;
}

INLINE uint8_t read_byte(struct cursor *c) { return need(c, 1) ? c->data[c->at++] : 0; }

INLINE uint64_t read_varint(struct cursor *c) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = read_byte(c);
        if (c->error) return 0;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    return (uint64_t)fail(c, SCAN_MALFORMED);
}

INLINE int64_t read_zigzag(struct cursor *c) {
    uint64_t value = read_varint(c);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

INLINE void skip_bytes(struct cursor *c, uint64_t bytes) {
    if (bytes > (uint64_t)INT64_MAX || !need(c, (int64_t)bytes)) {
        fail(c, SCAN_TRUNCATED);
        return;
    }
    c->at += (int64_t)bytes;
}

/* Size and element type of a list or set. */
INLINE int64_t read_list_header(struct cursor *c, int *type) {
    uint8_t byte = read_byte(c);
    uint64_t count = byte >> 4;
    if (count == 15) count = read_varint(c);
    *type = byte & 0x0f;
    if (!c->error && count > (uint64_t)(c->size - c->at)) fail(c, SCAN_TRUNCATED);
    return c->error ? 0 : (int64_t)count;
}

/* Id and type of the next field; 0 at the end of the struct. */
INLINE int read_field_header(struct cursor *c, int64_t *id, int *type) {
    uint8_t byte = read_byte(c);
    if (c->error || byte == STOP) return 0;
    *type = byte & 0x0f;
    *id = byte >> 4 ? *id + (byte >> 4) : read_zigzag(c);
    if (*type == STOP || *type > UUID || *id < INT16_MIN || *id > INT16_MAX)
        return fail(c, SCAN_MALFORMED);
    return !c->error;
}

static void skip_value(struct cursor *c, int type, int depth);

/* In a list or map, a boolean takes a byte; as a field, it is part of the field's type. */
INLINE void skip_element(struct cursor *c, int type, int depth) {
    if (type == BOOL_TRUE || type == BOOL_FALSE)
        skip_bytes(c, 1);
    else
        skip_value(c, type, depth);
}

static void skip_list(struct cursor *c, int depth) {
    int type;
    int64_t count = read_list_header(c, &type);
    for (int64_t i = 0; i < count && !c->error; i++) skip_element(c, type, depth);
}

static void skip_map(struct cursor *c, int depth) {
    uint64_t count = read_varint(c);
    if (c->error || count == 0) return;
    uint8_t types = read_byte(c);
    if (count > (uint64_t)(c->size - c->at)) fail(c, SCAN_TRUNCATED);
    for (uint64_t i = 0; i < count && !c->error; i++) {
        skip_element(c, types >> 4, depth);
        skip_element(c, types & 0x0f, depth);
    }
}

static void skip_struct(struct cursor *c, int depth) {
    int64_t id = 0;
    int type;
    while (read_field_header(c, &id, &type)) skip_value(c, type, depth);
}

static void skip_value(struct cursor *c, int type, int depth) {
    if (depth > MAX_DEPTH) {
        fail(c, SCAN_TOO_DEEP);
        return;
    }
    switch (type) {
    case BOOL_TRUE:
    case BOOL_FALSE:
        return;
    case BYTE:
        skip_bytes(c, 1);
        return;
    case I16:
    case I32:
    case I64:
        read_varint(c);
        return;
    case DOUBLE:
        skip_bytes(c, 8);
        return;
    case BINARY:
        skip_bytes(c, read_varint(c));
        return;
    case LIST:
    case SET:
        skip_list(c, depth + 1);
        return;
    case MAP:
        skip_map(c, depth + 1);
        return;
    case STRUCT:
        skip_struct(c, depth + 1);
        return;
    case UUID:
        skip_bytes(c, 16);
        return;
    default:
        fail(c, SCAN_MALFORMED);
    }
}

static int64_t finish(const struct cursor *c, int64_t answer, int64_t *where) {
    *where = c->at;
    return c->error ? c->error : answer;
}

int64_t thrift_struct_end(const uint8_t *data, int64_t size, int64_t start, int64_t *where) {
    struct cursor c = {data, size, start, 0};
    skip_struct(&c, 0);
    return finish(&c, c.at, where);
}

int64_t thrift_fields(const uint8_t *data, int64_t size, int64_t start, struct field_span *fields,
                      int64_t room, int64_t *where) {
    struct cursor c = {data, size, start, 0};
    int64_t count = 0, id = 0;
    for (;;) {
        int type;
        int64_t header = c.at;
        if (!read_field_header(&c, &id, &type)) break;
        if (count == room) {
            fail(&c, SCAN_FULL);
            break;
        }
        int64_t value = c.at;
        skip_value(&c, type, 0);
        fields[count++] = (struct field_span){id, type, header, value, c.at};
    }
    return finish(&c, count, where);
}

int64_t thrift_list_size(const uint8_t *data, int64_t size, int64_t start, int64_t *type,
                         int64_t *where) {
    struct cursor c = {data, size, start, 0};
    int element = 0;
    int64_t count = read_list_header(&c, &element);
    *type = element;
    return finish(&c, count, where);
}

int64_t thrift_elements(const uint8_t *data, int64_t size, int64_t start, int64_t *boundaries,
                        int64_t room, int64_t *where) {
    struct cursor c = {data, size, start, 0};
    int type;
    int64_t count = read_list_header(&c, &type);
    if (count > room) fail(&c, SCAN_FULL);
    boundaries[0] = c.at;
    for (int64_t i = 0; i < count && !c.error; i++) {
        skip_element(&c, type, 0);
        boundaries[i + 1] = c.at;
    }
    return finish(&c, count, where);
}

int64_t thrift_row_groups(const uint8_t *data, int64_t size, const int64_t *starts, int64_t count,
                          int64_t *columns, int64_t *num_rows, int64_t *ordinals, int64_t *where) {
    struct cursor c = {data, size, 0, 0};
    for (int64_t i = 0; i < count && !c.error; i++) {
        int64_t id = 0, fields = 0;
        int type;
        c.at = starts[i];
        columns[i] = ordinals[i] = ABSENT;
        num_rows[i] = 0;
        while (read_field_header(&c, &id, &type)) {
            if (fields++ == MAX_FIELDS) fail(&c, SCAN_FULL);
            if (id == 1 && type == LIST) columns[i] = c.at;
            if (id == 3 && type == I64)
                num_rows[i] = read_zigzag(&c);
            else if (id == 7 && type == I16)
                ordinals[i] = read_zigzag(&c);
            else if (!c.error)
                skip_value(&c, type, 0);
        }
    }
    return finish(&c, 0, where);
}

INLINE int64_t read_integer(struct cursor *c, int type) {
    if (type == I16 || type == I32 || type == I64) return read_zigzag(c);
    skip_value(c, type, 0);
    return ABSENT;
}

static void scan_statistics(struct cursor *c, struct chunk_span *chunk) {
    int64_t id = 0;
    int type;
    while (read_field_header(c, &id, &type)) {
        if (type == STRUCT) chunk->struct_in_statistics = 1;
        if (id == 3)
            chunk->null_count = read_integer(c, type);
        else
            skip_value(c, type, 1);
    }
}

static int64_t read_pointer(struct cursor *c, int64_t id, int type, struct chunk_span *chunk) {
    int64_t number = read_integer(c, type);
    if (type != I16 && type != I32 && type != I64 && chunk->foreign_pointer == ABSENT)
        chunk->foreign_pointer = id;
    return number;
}

static void scan_column_meta_data(struct cursor *c, struct chunk_span *chunk) {
    int64_t id = 0;
    int type;
    while (read_field_header(c, &id, &type)) {
        switch (id) {
        case 1: chunk->type = read_integer(c, type); break;
        case 4: chunk->codec = read_integer(c, type); break;
        case 5: chunk->num_values = read_integer(c, type); break;
        case 6: chunk->total_uncompressed_size = read_integer(c, type); break;
        case 7: chunk->total_compressed_size = read_integer(c, type); break;
        case 9: chunk->data_page_offset = read_integer(c, type); break;
        case 10: chunk->index_page_offset = read_integer(c, type); break;
        case 11: chunk->dictionary_page_offset = read_integer(c, type); break;
        case 12:
            if (type == STRUCT)
                scan_statistics(c, chunk);
            else
                skip_value(c, type, 0);
            break;
        case 14: chunk->bloom_filter_offset = read_pointer(c, id, type, chunk); break;
        case 15: chunk->bloom_filter_length = read_pointer(c, id, type, chunk); break;
        default: skip_value(c, type, 0);
        }
    }
}

static void scan_column_chunk(struct cursor *c, struct chunk_span *chunk) {
    int64_t id = 0;
    int type;
    *chunk = (struct chunk_span){
        .start = c->at, .meta_start = ABSENT, .meta_end = ABSENT,
        .offset_index_offset = ABSENT, .offset_index_length = ABSENT,
        .column_index_offset = ABSENT, .column_index_length = ABSENT,
        .type = ABSENT, .codec = ABSENT, .num_values = ABSENT,
        .total_uncompressed_size = ABSENT, .total_compressed_size = ABSENT,
        .data_page_offset = ABSENT, .index_page_offset = ABSENT, .dictionary_page_offset = ABSENT,
        .bloom_filter_offset = ABSENT, .bloom_filter_length = ABSENT,
        .null_count = ABSENT, .struct_in_statistics = ABSENT, .foreign_pointer = ABSENT,
    };
    while (read_field_header(c, &id, &type)) {
        switch (id) {
        case 1:
            chunk->has_file_path = 1;
            skip_value(c, type, 0);
            break;
        case 3:
            /* Readers disagree on which of two ColumnMetaData counts. */
            if (type != STRUCT || chunk->meta_start != ABSENT) {
                fail(c, SCAN_MALFORMED);
                break;
            }
            chunk->meta_start = c->at;
            scan_column_meta_data(c, chunk);
            chunk->meta_end = c->at;
            break;
        case 4: chunk->offset_index_offset = read_integer(c, type); break;
        case 5: chunk->offset_index_length = read_integer(c, type); break;
        case 6: chunk->column_index_offset = read_integer(c, type); break;
        case 7: chunk->column_index_length = read_integer(c, type); break;
        case 8:
            chunk->has_crypto_metadata = 1;
            skip_value(c, type, 0);
            break;
        default: skip_value(c, type, 0);
        }
    }
    chunk->end = c->at;
}

int64_t thrift_chunks(const uint8_t *data, int64_t size, int64_t start, struct chunk_span *chunks,
                      int64_t room, int64_t *where) {
    struct cursor c = {data, size, start, 0};
    int type = STRUCT;
    int64_t count = read_list_header(&c, &type);
    if (count > room) fail(&c, SCAN_FULL);
    if (count > 0 && type != STRUCT) fail(&c, SCAN_MALFORMED);
    for (int64_t i = 0; i < count && !c.error; i++) scan_column_chunk(&c, &chunks[i]);
    return finish(&c, count, where);
}

/* As generated readers do, ignore a field of another type. */
INLINE int64_t read_i32(struct cursor *c, int type) {
    if (type != I32) {
        skip_value(c, type, 1);
        return ABSENT;
    }
    int64_t value = read_zigzag(c);
    return value >= INT32_MIN && value <= INT32_MAX ? value : fail(c, SCAN_MALFORMED);
}

static struct page_details scan_page_details(struct cursor *c, int64_t page_type) {
    struct page_details found = NO_PAGE_DETAILS;
    int64_t id = 0;
    int type;
    while (read_field_header(c, &id, &type)) {
        int is_v2 = page_type == DATA_PAGE_V2;
        if (id == 1)
            found.num_values = read_i32(c, type);
        else if (id == (is_v2 ? 4 : 2))
            found.encoding = read_i32(c, type);
        else if (id == 3 && page_type == DATA_PAGE)
            found.definition_level_encoding = read_i32(c, type);
        else if (id == 4 && page_type == DATA_PAGE)
            found.repetition_level_encoding = read_i32(c, type);
        else if (id == 5 && is_v2)
            found.definition_levels_byte_length = read_i32(c, type);
        else if (id == 6 && is_v2)
            found.repetition_levels_byte_length = read_i32(c, type);
        else if (id == 7 && is_v2 && (type == BOOL_TRUE || type == BOOL_FALSE))
            found.is_compressed = type == BOOL_TRUE;
        else
            skip_value(c, type, 1);
    }
    return found;
}

int64_t thrift_page_header(const uint8_t *data, int64_t size, int64_t start,
                           struct page_header *header, int64_t *where) {
    struct cursor c = {data, size, start, 0};
    struct page_details v1 = NO_PAGE_DETAILS, dictionary = NO_PAGE_DETAILS, v2 = NO_PAGE_DETAILS;
    int64_t id = 0;
    int type;
    *header = (struct page_header){ABSENT, ABSENT, ABSENT, ABSENT, NO_PAGE_DETAILS};
    while (read_field_header(&c, &id, &type)) {
        if (id == 1)
            header->type = read_i32(&c, type);
        else if (id == 2)
            header->uncompressed_page_size = read_i32(&c, type);
        else if (id == 3)
            header->compressed_page_size = read_i32(&c, type);
        else if (id == 4)
            header->crc = read_i32(&c, type);
        else if (id == 5 && type == STRUCT)
            v1 = scan_page_details(&c, DATA_PAGE);
        else if (id == 7 && type == STRUCT)
            dictionary = scan_page_details(&c, DICTIONARY_PAGE);
        else if (id == 8 && type == STRUCT)
            v2 = scan_page_details(&c, DATA_PAGE_V2);
        else
            skip_value(&c, type, 0);
    }
    if (header->type == DATA_PAGE) header->details = v1;
    if (header->type == DICTIONARY_PAGE) header->details = dictionary;
    if (header->type == DATA_PAGE_V2) header->details = v2;
    return finish(&c, c.at, where);
}
