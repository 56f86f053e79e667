/* What MurmurHash3 is made of (see murmur3.c), shared by one value at a time and by eight. */
#ifndef PARQUET_BLOOM_MURMUR3_H
#define PARQUET_BLOOM_MURMUR3_H

#include "kernel.h"

static const uint64_t C1 = 0x87c37b91114253d5u, C2 = 0x4cf5ad432745937fu, C3 = 0xff51afd7ed558ccdu,
                      C4 = 0xc4ceb9fe1a85ec53u;

/* murmur3_lanes.c, only for the path WITH_AVX512: hash values eight by eight as hive64_slices does, up to the
 * first eight of which one has to be hashed by itself. Returns how many were hashed. */
size_t lanes_hive64(const uint8_t *data, size_t size, const int64_t *starts, size_t count,
                    int64_t gap, uint64_t seed, uint64_t *hashes);

#endif
