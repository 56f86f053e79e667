# Hashes of values: XXH64, SipHash, Murmur3, Hive's Murmur3, Thomas Wang's. And which of them are asked for.

from libc.stdlib cimport free, malloc


def xxh64(const uint8_t[::1] data not None):
    return c_xxh64(_bytes(data), data.shape[0])


cdef size_t _num_fixed(const uint8_t[::1] values, size_t width) except? 0:
    if width == 0 or values.shape[0] % width:
        raise ValueError(f"values: {values.shape[0]} bytes, expected a multiple of {width}")
    return values.shape[0] // width


def xxh64_fixed(const uint8_t[::1] values not None, size_t width):
    import numpy as np

    cdef size_t count = _num_fixed(values, width)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_xxh64_fixed(&values[0], count, width, &out[0])
    return hashes


cdef size_t _num_slices(
        const uint8_t[::1] data, const int64_t[::1] starts, int64_t gap) except? 0:
    """The number of slices; raises ValueError if one is outside of `data`."""
    cdef int64_t size = data.shape[0]
    cdef Py_ssize_t i
    if starts.shape[0] == 0 or gap < 0:
        raise ValueError("offsets: none, expected one more than values")
    cdef int64_t end = starts[starts.shape[0] - 1]
    # No difference of numbers from 0 up overflows.
    if starts[0] < 0 or (end >= 0 and end - gap > size):
        raise ValueError(f"offsets: outside the {size} bytes of data")
    for i in range(starts.shape[0] - 1):
        if starts[i + 1] < 0 or starts[i] > starts[i + 1] - gap:
            raise ValueError("offsets: not ascending")
    return starts.shape[0] - 1


def xxh64_slices(const uint8_t[::1] data not None, const int64_t[::1] offsets not None):
    import numpy as np

    cdef size_t count = _num_slices(data, offsets, 0)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_xxh64_slices(_bytes(data), data.shape[0], &offsets[0], count, &out[0])
    return hashes


cdef const uint8_t *_siphash_key(const uint8_t[::1] key) except NULL:
    if key.shape[0] != 16:
        raise ValueError(f"key: {key.shape[0]} bytes, expected 16")
    return &key[0]


def siphash(const uint8_t[::1] data not None, const uint8_t[::1] key not None):
    return c_siphash(_bytes(data), data.shape[0], _siphash_key(key))


def siphash_words(const uint64_t[::1] words not None, const uint8_t[::1] key not None):
    import numpy as np

    cdef const uint8_t *secret = _siphash_key(key)
    cdef size_t count = words.shape[0]
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_siphash_words(&words[0], count, secret, &out[0])
    return hashes


def murmur3(const uint8_t[::1] data not None, uint32_t seed=0):
    return c_murmur3(_bytes(data), data.shape[0], seed).low


def murmur3_128(const uint8_t[::1] data not None, uint32_t seed=0):
    cdef murmur3_hash hash = c_murmur3(_bytes(data), data.shape[0], seed)
    return hash.low, hash.high


def murmur3_slices(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t gap,
        uint32_t seed):
    import numpy as np

    cdef size_t count = _num_slices(data, starts, gap)
    hashes = np.empty((count, 2), np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    if count:
        with nogil:
            c_murmur3_slices(
                _bytes(data), &starts[0], count, gap, seed, <murmur3_hash *>&out[0, 0])
    return hashes


def murmur3_fixed(const uint8_t[::1] values not None, size_t width, uint32_t seed):
    import numpy as np

    cdef size_t count = _num_fixed(values, width)
    hashes = np.empty((count, 2), np.uint64)
    cdef uint64_t[:, ::1] out = hashes
    if count:
        with nogil:
            c_murmur3_fixed(&values[0], count, width, seed, <murmur3_hash *>&out[0, 0])
    return hashes


def hive64(const uint8_t[::1] data not None, uint64_t seed=HIVE_SEED):
    return c_hive64(_bytes(data), data.shape[0], seed)


def hive64_slices(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t gap,
        uint64_t seed=HIVE_SEED):
    import numpy as np

    cdef size_t count = _num_slices(data, starts, gap)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_hive64_slices(
                _bytes(data), data.shape[0], &starts[0], count, gap, seed, &out[0])
    return hashes


def hive64_padded(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t characters,
        uint64_t seed=HIVE_SEED):
    import numpy as np

    cdef size_t count = _num_slices(data, starts, 0)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_hive64_padded(_bytes(data), &starts[0], count, characters, seed, &out[0])
    return hashes


cdef size_t _num_decimals(const uint8_t[::1] values, int scale) except? 0:
    if not 0 <= scale <= 38:
        raise ValueError(f"scale: {scale}, expected 0 to 38")
    return _num_fixed(values, 16)


def hive64_decimals(const uint8_t[::1] values not None, int scale, uint64_t seed=HIVE_SEED):
    import numpy as np

    cdef size_t count = _num_decimals(values, scale)
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            c_hive64_decimals(&values[0], count, scale, seed, &out[0])
    return hashes


def wang(const int64_t[::1] values not None):
    import numpy as np

    hashes = np.empty(values.shape[0], np.uint64)
    cdef uint64_t[::1] out = hashes
    if values.shape[0]:
        with nogil:
            c_wang(&values[0], values.shape[0], &out[0])
    return hashes


def wang_logical(const int64_t[::1] values not None):
    import numpy as np

    hashes = np.empty(values.shape[0], np.uint64)
    cdef uint64_t[::1] out = hashes
    if values.shape[0]:
        with nogil:
            c_wang_logical(&values[0], values.shape[0], &out[0])
    return hashes


# Of hashes that are asked for, so many of the first bits tell where they are, in 128 MiB at most. With that many more
# than hashes take, most others begin as none does, and no processor has to guess.
cdef enum:
    _MOST_FIRST_BITS = 24
    _SPARE_BITS = 2


cdef class HashSearch:
    """Hashes that are asked for, which are kept, and where they are among others."""

    cdef const uint64_t[::1] _hashes
    cdef asked_hashes _asked

    def __cinit__(self, const uint64_t[::1] hashes not None):
        cdef int64_t count = hashes.shape[0]
        self._hashes = hashes
        self._asked.count, self._asked.bits = count, _SPARE_BITS + 1
        self._asked.hashes = &hashes[0] if count else NULL
        while self._asked.bits < _MOST_FIRST_BITS and count >> (self._asked.bits - _SPARE_BITS):
            self._asked.bits += 1
        self._asked.begins = <int64_t *>malloc(((1 << self._asked.bits) + 1) * sizeof(int64_t))
        if self._asked.begins is NULL:
            raise MemoryError("hashes that are asked for")
        with nogil:
            asked_hashes_index(&self._asked)

    def __dealloc__(self):
        free(self._asked.begins)

    def find(self, const uint64_t[::1] hashes not None):
        import numpy as np

        # Mostly, each is asked for once at most.
        cdef int64_t count = hashes.shape[0], room = count, hits = 0
        cdef int64_t[:, ::1] out
        found = np.empty((room, 2), np.int64)
        while count:
            out = found
            with nogil:
                hits = asked_hashes_find(
                    &self._asked, &hashes[0], count, <found_hash *>&out[0, 0], room)
            if hits <= room:
                break
            room = hits
            found = np.empty((room, 2), np.int64)
        return found[:hits]
