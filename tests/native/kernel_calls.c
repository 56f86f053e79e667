/* The kernel of another machine or compiler: answers calls of its functions until standard input ends. It
 * takes the code path whose number is its argument.
 *
 *   call     | name, 24 bytes | four numbers | sizes of three buffers | the buffers |
 *   answer   | what the function returns | size of a buffer | the buffer |
 *
 * Numbers and sizes have 8 bytes. Each buffer ends where its memory ends: to read or write behind it is
 * a crash.
 */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { NUM_NUMBERS = 4, NUM_BUFFERS = 3, ANSWER = NUM_BUFFERS, NAME = 24, ROOM = 1 << 20 };

/* The ends of the memory of the buffers of a call, and of its answer. */
static uint8_t *ends[NUM_BUFFERS + 1];

struct call {
    char name[NAME];
    uint64_t numbers[NUM_NUMBERS], sizes[NUM_BUFFERS];
};

struct answer {
    int64_t returned;
    uint64_t size;
};

static void require(int is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void set_up_memory(void) {
    const size_t page = 65536;
    for (int i = 0; i <= ANSWER; i++) {
        uint8_t *start = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(start != MAP_FAILED && mprotect(start + ROOM, page, PROT_NONE) == 0, "no memory");
        ends[i] = start + ROOM;
    }
}

/* ---- what is called ------------------------------------------------------------------------------ */

/* Buffer `i`, and how many values it has. */
#define BUFFER(i) ((void *)(ends[i] - call->sizes[i]))
#define COUNT(i, type) (call->sizes[i] / sizeof(type))
#define NUMBER(i) call->numbers[i]

/* As many values in the answer. */
#define ANSWER_OF(count, type)                                                                     \
    ((type *)(ends[ANSWER] - (answer->size = (uint64_t)(count) * sizeof(type))))

/* Copy a buffer that was changed. */
#define ANSWER_BUFFER(i) memcpy(ANSWER_OF(call->sizes[i], uint8_t), BUFFER(i), call->sizes[i])

#define BLOCKS(i) (COUNT(i, uint32_t) / WORDS_PER_BLOCK)

#define FUNCTION(name)                                                                             \
    static void call_##name(const struct call *call, struct answer *answer)

FUNCTION(xxh64_fixed) {
    size_t count = call->sizes[0] / NUMBER(0);
    xxh64_fixed(BUFFER(0), count, NUMBER(0), ANSWER_OF(count, uint64_t));
}

FUNCTION(xxh64_slices) {
    size_t count = COUNT(1, int64_t) - 1;
    xxh64_slices(BUFFER(0), call->sizes[0], BUFFER(1), count, ANSWER_OF(count, uint64_t));
}

FUNCTION(plain_hash_byte_array) {
    size_t start = 0;
    uint64_t *hashes = ANSWER_OF(NUMBER(0), uint64_t);
    plain_hash_byte_array(BUFFER(0), call->sizes[0], &start, NUMBER(0), hashes);
    answer->returned = (int64_t)start;
}

FUNCTION(slices_turn) {
    size_t size = NUMBER(0) * WORDS_PER_BLOCK * sizeof(uint32_t), count = call->sizes[0] / size;
    const uint8_t *filters[1024], *first = BUFFER(0);
    require(count <= 1024, "too many filters");
    for (size_t k = 0; k < count; k++) filters[k] = first + k * size;
    slices_turn(filters, (int64_t)count, 0, (int64_t)NUMBER(0),
                ANSWER_OF(NUMBER(0) * SLICE_ROWS * ((count + 7) / 8), uint8_t));
}

FUNCTION(slices_copy) {
    size_t rows = NUMBER(3);
    slices_copy(BUFFER(0), call->sizes[0] / rows, (int64_t)NUMBER(0), BUFFER(1),
                call->sizes[1] / rows, (int64_t)NUMBER(1), (int64_t)NUMBER(2), rows);
    ANSWER_BUFFER(1);
}

FUNCTION(key_parts_deal) {
    enum { MOST_PARTS = 1 << 8 };
    static uint64_t lines[KEYS_IN_LINE * MOST_PARTS];
    int64_t starts[MOST_PARTS + 1] = {0}, filled[MOST_PARTS];
    int64_t count = (int64_t)COUNT(0, uint64_t), some = count / 3, num_parts = (int64_t)1 << NUMBER(0);
    const uint64_t *hashes = BUFFER(0);
    require(num_parts <= MOST_PARTS, "too many parts");
    key_parts_count(hashes, count, (int)NUMBER(0), starts + 1);
    for (int64_t i = 0; i < num_parts; i++) filled[i] = starts[i], starts[i + 1] += starts[i];
    struct key_parts parts = {(int)NUMBER(0), (int)NUMBER(1), starts, filled, lines,
                              ANSWER_OF(count, uint64_t)};
    key_parts_deal(hashes, some, 0, &parts);
    key_parts_deal(hashes + some, count - some, NUMBER(2), &parts);
    key_parts_end(&parts);
}

FUNCTION(plain_insert_fixed) {
    size_t count = call->sizes[0] / NUMBER(0);
    plain_insert_fixed(BUFFER(0), count, NUMBER(0), BUFFER(1), BLOCKS(1), NULL);
    ANSWER_BUFFER(1);
}

FUNCTION(plain_insert_byte_array) {
    answer->returned =
        plain_insert_byte_array(BUFFER(0), call->sizes[0], INT64_MAX, BUFFER(1), BLOCKS(1), NULL);
    ANSWER_BUFFER(1);
}

FUNCTION(plain_float_specials) {
    size_t count = call->sizes[0] / NUMBER(0);
    answer->returned = plain_float_specials(BUFFER(0), count, NUMBER(0));
}

FUNCTION(hive64_slices) {
    size_t count = COUNT(1, int64_t) - 1;
    uint64_t *hashes = ANSWER_OF(count, uint64_t);
    hive64_slices(BUFFER(0), call->sizes[0], BUFFER(1), count, 0, NUMBER(0), hashes);
}

FUNCTION(wang) { wang(BUFFER(0), COUNT(0, int64_t), ANSWER_OF(COUNT(0, int64_t), uint64_t)); }

FUNCTION(wang_logical) {
    wang_logical(BUFFER(0), COUNT(0, int64_t), ANSWER_OF(COUNT(0, int64_t), uint64_t));
}

FUNCTION(k_hash_insert) {
    k_hash_insert(BUFFER(0), (uint32_t)NUMBER(0), (uint32_t)NUMBER(1), BUFFER(1),
                  COUNT(1, uint64_t));
    ANSWER_BUFFER(0);
}

FUNCTION(k_hash_insert_numbers) {
    k_hash_insert_numbers(BUFFER(0), (uint32_t)NUMBER(0), (uint32_t)NUMBER(1), BUFFER(1),
                          COUNT(1, int64_t));
    ANSWER_BUFFER(0);
}

FUNCTION(k_hash_insert_texts) {
    k_hash_insert_texts(BUFFER(0), (uint32_t)NUMBER(0), (uint32_t)NUMBER(1), BUFFER(1),
                        call->sizes[1], BUFFER(2), COUNT(2, int64_t) - 1, NUMBER(2));
    ANSWER_BUFFER(0);
}

FUNCTION(k_hash_insert_decimals) {
    k_hash_insert_decimals(BUFFER(0), (uint32_t)NUMBER(0), (uint32_t)NUMBER(1), BUFFER(1),
                           call->sizes[1] / sizeof(orc_decimal), (int)NUMBER(2), NUMBER(3));
    ANSWER_BUFFER(0);
}

FUNCTION(k_hash_insert_floats) {
    k_hash_insert_floats(BUFFER(0), (uint32_t)NUMBER(0), (uint32_t)NUMBER(1), BUFFER(1),
                         call->sizes[1] / NUMBER(2), NUMBER(2));
    ANSWER_BUFFER(0);
}

FUNCTION(k_hash_check) {
    k_hash_check(BUFFER(0), (uint32_t)NUMBER(0), (uint32_t)NUMBER(1), BUFFER(1),
                 COUNT(1, uint64_t), ANSWER_OF(COUNT(1, uint64_t), uint8_t));
}

FUNCTION(k_hash_bits_set) {
    answer->returned = (int64_t)k_hash_bits_set(BUFFER(0), COUNT(0, uint64_t));
}

FUNCTION(split_block_insert) {
    split_block_insert(BUFFER(0), BLOCKS(0), BUFFER(1), COUNT(1, uint64_t));
    ANSWER_BUFFER(0);
}

FUNCTION(split_block_check) {
    split_block_check(BUFFER(0), BLOCKS(0), BUFFER(1), COUNT(1, uint64_t),
                      ANSWER_OF(COUNT(1, uint64_t), uint8_t));
}

FUNCTION(split_block_fold) {
    split_block_fold(BUFFER(0), BLOCKS(0), NUMBER(0),
                     ANSWER_OF(COUNT(0, uint32_t) / NUMBER(0), uint32_t));
}

FUNCTION(split_block_unite) {
    split_block_unite(BUFFER(0), BUFFER(1), BLOCKS(0));
    ANSWER_BUFFER(0);
}

FUNCTION(split_block_popcount) {
    answer->returned = (int64_t)split_block_popcount(BUFFER(0), BLOCKS(0));
}

FUNCTION(split_block_outside) {
    answer->returned = (int64_t)split_block_outside(BUFFER(0), BUFFER(1), BLOCKS(0));
}

FUNCTION(split_block_fpp) { *ANSWER_OF(1, double) = split_block_fpp(BUFFER(0), BLOCKS(0)); }

/* Any more than one is most: of all blocks. */
FUNCTION(split_block_halved_fpp) {
    *ANSWER_OF(1, double) = split_block_halved_fpp(BUFFER(0), BLOCKS(0), 1.0);
}

FUNCTION(join_streams) {
    size_t count = call->sizes[0] / NUMBER(0);
    join_streams(BUFFER(0), count, count, NUMBER(0), ANSWER_OF(call->sizes[0], uint8_t));
}

FUNCTION(orc_shift) {
    answer->returned = orc_shift(BUFFER(0), COUNT(0, int64_t), (int64_t)NUMBER(0));
    ANSWER_BUFFER(0);
}

/* The seconds of all times, and after them the nanoseconds. */
FUNCTION(orc_settle) {
    int64_t *seconds = BUFFER(0);
    size_t count = COUNT(0, int64_t) / 2;
    answer->returned = orc_settle(seconds, seconds + count, count);
    ANSWER_BUFFER(0);
}

FUNCTION(orc_millis) {
    const int64_t *seconds = BUFFER(0);
    size_t count = COUNT(0, int64_t) / 2;
    answer->returned = orc_millis(seconds, seconds + count, count, (int64_t)NUMBER(0),
                                  (int64_t)NUMBER(1), ANSWER_OF(count, int64_t));
}

/* -1 where zlib takes its place. */
FUNCTION(checksum) {
    answer->returned = checksum_is_quick() ? (int64_t)checksum(BUFFER(0), call->sizes[0]) : -1;
}

static const struct {
    const char *name;
    void (*call)(const struct call *call, struct answer *answer);
} functions[] = {
#define ENTRY(name) {#name, call_##name}
    ENTRY(xxh64_fixed),
    ENTRY(xxh64_slices),
    ENTRY(plain_hash_byte_array),
    ENTRY(key_parts_deal),
    ENTRY(slices_turn),
    ENTRY(slices_copy),
    ENTRY(plain_insert_fixed),
    ENTRY(plain_insert_byte_array),
    ENTRY(plain_float_specials),
    ENTRY(hive64_slices),
    ENTRY(wang),
    ENTRY(wang_logical),
    ENTRY(k_hash_insert),
    ENTRY(k_hash_insert_numbers),
    ENTRY(k_hash_insert_texts),
    ENTRY(k_hash_insert_decimals),
    ENTRY(k_hash_insert_floats),
    ENTRY(k_hash_check),
    ENTRY(k_hash_bits_set),
    ENTRY(split_block_insert),
    ENTRY(split_block_check),
    ENTRY(split_block_fold),
    ENTRY(split_block_unite),
    ENTRY(split_block_popcount),
    ENTRY(split_block_outside),
    ENTRY(split_block_fpp),
    ENTRY(split_block_halved_fpp),
    ENTRY(join_streams),
    ENTRY(orc_shift),
    ENTRY(orc_settle),
    ENTRY(orc_millis),
    ENTRY(checksum),
};

/* ---- calls and answers --------------------------------------------------------------------------- */

static void read_all(void *into, size_t size) {
    require(fread(into, 1, size, stdin) == size, "the input ends inside a call");
}

static void answer_call(const struct call *call) {
    struct answer answer = {0, 0};
    size_t i = 0, count = sizeof functions / sizeof *functions;
    while (i < count && strncmp(call->name, functions[i].name, NAME) != 0) i++;
    require(i < count, "no such function");
    functions[i].call(call, &answer);
    fwrite(&answer, sizeof answer, 1, stdout);
    fwrite(ends[ANSWER] - answer.size, 1, answer.size, stdout);
    fflush(stdout);
}

int main(int count, char **arguments) {
    struct call call;
    require(count == 2 && choose_code_path((enum code_path)atoi(arguments[1])) == 0, "no such path");
    set_up_memory();
    while (fread(&call, sizeof call, 1, stdin) == 1) {
        for (int i = 0; i < NUM_BUFFERS; i++) {
            require(call.sizes[i] <= ROOM, "a buffer is too large");
            read_all(ends[i] - call.sizes[i], call.sizes[i]);
        }
        answer_call(&call);
    }
    return 0;
}
