/* BYTE_STREAM_SPLIT (parquet-format, Encodings.md).
 *
 *   | the first byte of each value | the second byte of each value | ...
 */
#include "kernel.h"

/* A constant `width` compiles to code that takes many values at a time. */
INLINE void join(const uint8_t *streams, size_t stride, size_t count, size_t width,
                 uint8_t *values) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < width; k++) values[i * width + k] = streams[k * stride + i];
}

void join_streams(const uint8_t *streams, size_t stride, size_t count, size_t width,
                  uint8_t *values) {
    if (width == 4)
        join(streams, stride, count, 4, values);
    else if (width == 8)
        join(streams, stride, count, 8, values);
    else
        join(streams, stride, count, width, values);
}
