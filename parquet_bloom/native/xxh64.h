/* What XXH64 is made of (see xxh64.c), shared by one value at a time and by eight. */
#ifndef PARQUET_BLOOM_XXH64_H
#define PARQUET_BLOOM_XXH64_H

#include "kernel.h"

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

/* ---- lanes.c: only for the path WITH_AVX512 --------------------------------------------------- */

/* Each hashes values eight by eight, from the first on, up to the first eight of which one has to be
 * hashed by itself. Returns how many were hashed. The arguments are those of xxh64_fixed, xxh64_slices
 * and plain_hash_byte_array. */
size_t lanes_hash_fixed(const uint8_t *values, size_t count, size_t width, uint64_t *hashes);
size_t lanes_hash_slices(const uint8_t *data, size_t size, const int64_t *offsets, size_t count,
                         uint64_t *hashes);
size_t lanes_hash_byte_array(const uint8_t *data, size_t size, size_t *start, size_t room,
                             uint64_t *hashes);

#endif
