/* Hashes that are asked for, found among many others.
 *
 *   asked    ascending
 *   begins   of all numbers of so many bits, where the hashes begin whose first bits are no less; and where all end
 *
 * Both are larger than the caches that are near: what a hash needs is asked for while those before it are looked for.
 */
#include "kernel.h"

enum { AHEAD = 8 };

void asked_hashes_index(struct asked_hashes *asked) {
    uint64_t count = (uint64_t)1 << asked->bits;
    int64_t at = 0;
    for (uint64_t first = 0; first < count; first++) {
        asked->begins[first] = at;
        while (at < asked->count && asked->hashes[at] >> (64 - asked->bits) <= first) at++;
    }
    asked->begins[count] = at;
}

int64_t asked_hashes_find(const struct asked_hashes *asked, const uint64_t *hashes, int64_t count,
                          struct found_hash *found, int64_t room) {
    const int64_t *begins = asked->begins;
    int shift = 64 - asked->bits;
    int64_t hits = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i + 2 * AHEAD < count) __builtin_prefetch(begins + (hashes[i + 2 * AHEAD] >> shift));
        if (i + AHEAD < count) __builtin_prefetch(asked->hashes + begins[hashes[i + AHEAD] >> shift]);
        uint64_t first = hashes[i] >> shift;
        for (int64_t at = begins[first]; at < begins[first + 1]; at++) {
            if (asked->hashes[at] != hashes[i]) continue;
            if (hits < room) found[hits] = (struct found_hash){i, at};
            hits++;
        }
    }
    return hits;
}
