# Filters of k hashes, as ORC has them.


cdef int _check_k_hash(
        const uint64_t[::1] words, uint32_t num_bits, uint32_t num_hashes) except -1:
    if num_bits == 0 or num_bits > <uint64_t>words.shape[0] * 64:
        raise ValueError(f"num_bits: {num_bits}, expected 1 to {words.shape[0] * 64}")
    if num_hashes == 0:
        raise ValueError("num_hashes: 0, expected 1 or more")
    return 0


def k_hash_insert(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[::1] hashes not None):
    _check_k_hash(words, num_bits, num_hashes)
    if hashes.shape[0]:
        with nogil:
            c_k_hash_insert(&words[0], num_bits, num_hashes, &hashes[0], hashes.shape[0])


cdef Py_ssize_t _words_of_each(
        const uint64_t[::1] words, uint32_t num_bits, uint32_t num_hashes,
        const int64_t[::1] counts, size_t num_values) except -1:
    """The size of each of as many filters side by side as there are counts of values; raises
    ValueError unless these add up to all values."""
    cdef int64_t i, left = num_values, num_filters = counts.shape[0]
    if num_filters == 0 or words.shape[0] % num_filters:
        raise ValueError(f"words: {words.shape[0]}, expected as many for each of {num_filters} filters")
    cdef Py_ssize_t each = words.shape[0] // num_filters
    _check_k_hash(words[:each], num_bits, num_hashes)
    for i in range(num_filters):
        if not 0 <= counts[i] <= left:
            break
        left -= counts[i]
    else:
        if left == 0:
            return each
    raise ValueError(f"counts: expected {num_values} values in all")


def k_hash_insert_numbers(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const int64_t[::1] values not None, const int64_t[::1] counts not None):
    cdef Py_ssize_t i, at = 0, each = _words_of_each(
        words, num_bits, num_hashes, counts, values.shape[0])
    if values.shape[0]:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_numbers(
                    &words[0] + i * each, num_bits, num_hashes, &values[0] + at, counts[i])
                at += counts[i]


def k_hash_insert_texts(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint8_t[::1] data not None, const int64_t[::1] starts not None,
        const int64_t[::1] counts not None):
    cdef size_t count = _num_slices(data, starts, 0)
    cdef Py_ssize_t i, at = 0, each = _words_of_each(words, num_bits, num_hashes, counts, count)
    if count:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_texts(
                    &words[0] + i * each, num_bits, num_hashes, _bytes(data), data.shape[0],
                    &starts[0] + at, counts[i], _HIVE_SEED)
                at += counts[i]


def k_hash_insert_decimals(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint8_t[::1] values not None, int scale, const int64_t[::1] counts not None):
    cdef size_t count = _num_decimals(values, scale)
    cdef Py_ssize_t i, at = 0, each = _words_of_each(words, num_bits, num_hashes, counts, count)
    if count:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_decimals(
                    &words[0] + i * each, num_bits, num_hashes, &values[0] + 16 * at, counts[i],
                    scale, _HIVE_SEED)
                at += counts[i]


def k_hash_insert_floats(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint8_t[::1] values not None, size_t width, const int64_t[::1] counts not None):
    cdef size_t count = _num_fixed(values, width)
    if width not in (4, 8):
        raise ValueError(f"width: {width}, expected 4 or 8")
    cdef Py_ssize_t i, at = 0, each = _words_of_each(words, num_bits, num_hashes, counts, count)
    if count:
        with nogil:
            for i in range(counts.shape[0]):
                c_k_hash_insert_floats(
                    &words[0] + i * each, num_bits, num_hashes, &values[0] + width * at, counts[i],
                    width)
                at += counts[i]


def k_hash_bits_set(const uint64_t[::1] words not None):
    return c_k_hash_bits_set(&words[0], words.shape[0]) if words.shape[0] else 0


def k_hash_check(
        const uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[::1] hashes not None):
    import numpy as np

    _check_k_hash(words, num_bits, num_hashes)
    found = np.empty(hashes.shape[0], np.uint8)
    cdef uint8_t[::1] out = found
    if hashes.shape[0]:
        with nogil:
            c_k_hash_check(&words[0], num_bits, num_hashes, &hashes[0], hashes.shape[0], &out[0])
    return found.view(np.bool_)


cdef int _check_wide(const uint64_t[:, ::1] hashes) except -1:
    if hashes.shape[1] != 2:
        raise ValueError(f"hashes: {hashes.shape[1]} to a value, expected 2")
    return 0


def k_hash_insert_wide(
        uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[:, ::1] hashes not None):
    _check_k_hash(words, num_bits, num_hashes)
    _check_wide(hashes)
    if hashes.shape[0]:
        with nogil:
            c_k_hash_insert_wide(
                &words[0], num_bits, num_hashes, <const murmur3_hash *>&hashes[0, 0],
                hashes.shape[0])


def k_hash_check_wide(
        const uint64_t[::1] words not None, uint32_t num_bits, uint32_t num_hashes,
        const uint64_t[:, ::1] hashes not None):
    import numpy as np

    _check_k_hash(words, num_bits, num_hashes)
    _check_wide(hashes)
    found = np.empty(hashes.shape[0], np.uint8)
    cdef uint8_t[::1] out = found
    if hashes.shape[0]:
        with nogil:
            c_k_hash_check_wide(
                &words[0], num_bits, num_hashes, <const murmur3_hash *>&hashes[0, 0],
                hashes.shape[0], &out[0])
    return found.view(np.bool_)
