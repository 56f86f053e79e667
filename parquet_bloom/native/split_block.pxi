# Split block Bloom filters, and what inserts stored values into them.


cdef enum:
    # Of a line of the cache: no block lies in two of them.
    _ALIGNMENT = 64
    # Of a huge page, on nearly all machines.
    _HUGE_ALIGNMENT = 2 << 20
    # Less than this, the allocator keeps and has again, which takes no faults at all.
    _LARGE = 4 << 20


def clear_words(uint64_t num_blocks):
    cdef size_t size = 32 * num_blocks, alignment = _ALIGNMENT
    if size < _LARGE:
        memory = bytearray(size + _ALIGNMENT - 1)
    else:
        alignment = _HUGE_ALIGNMENT
        memory = _huge_pages(size + _HUGE_ALIGNMENT - 1)
    cdef const uint8_t[::1] view = memory
    cdef size_t start = -<size_t>&view[0] % alignment
    return memoryview(memory)[start : start + size].cast("I")


cdef object _huge_pages(size_t size):
    """Clear memory that takes few page faults, where the system has a way: inserts come to all of its
    pages, and as many faults would take longer than they do."""
    import mmap

    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return bytearray(size)
    # Shared memory, which is what mmap takes by default, has small pages.
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"{size} bytes") from None
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        # The system was built without them.
        pass
    return memory


def insert_value(uint32_t[::1] words not None, const uint8_t[::1] value not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef uint64_t hash = c_xxh64(_bytes(value), value.shape[0])
    split_block_insert(&words[0], num_blocks, &hash, 1)


def check_value(const uint32_t[::1] words not None, const uint8_t[::1] value not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef uint64_t hash = c_xxh64(_bytes(value), value.shape[0])
    cdef uint8_t found = 0
    split_block_check(&words[0], num_blocks, &hash, 1, &found)
    return bool(found)


def insert(uint32_t[::1] words not None, const uint64_t[::1] hashes not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    if hashes.shape[0]:
        with nogil:
            split_block_insert(&words[0], num_blocks, &hashes[0], hashes.shape[0])


def check(const uint32_t[::1] words not None, const uint64_t[::1] hashes not None):
    import numpy as np

    cdef uint64_t num_blocks = _num_blocks(words)
    found = np.empty(hashes.shape[0], np.uint8)
    cdef uint8_t[::1] out = found
    if hashes.shape[0]:
        with nogil:
            split_block_check(&words[0], num_blocks, &hashes[0], hashes.shape[0], &out[0])
    return found.view(np.bool_)


def fold(const uint32_t[::1] words not None, uint64_t factor, uint32_t[::1] folded not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    if factor == 0 or num_blocks % factor:
        raise ValueError(f"factor: {factor}, expected a divisor of {num_blocks} blocks")
    if folded.shape[0] * factor != <uint64_t>words.shape[0]:
        raise ValueError(f"folded: {folded.shape[0]}, expected {words.shape[0] // factor} words")
    with nogil:
        split_block_fold(&words[0], num_blocks, factor, &folded[0])


cdef uint64_t _num_of_both(const uint32_t[::1] words, const uint32_t[::1] others) except? 0:
    if others.shape[0] != words.shape[0]:
        raise ValueError(f"others: {others.shape[0]}, expected {words.shape[0]} words")
    return _num_blocks(words)


def unite(uint32_t[::1] words not None, const uint32_t[::1] others not None):
    cdef uint64_t num_blocks = _num_of_both(words, others)
    with nogil:
        split_block_unite(&words[0], &others[0], num_blocks)


def popcount(const uint32_t[::1] words not None):
    cdef uint64_t num_blocks = _num_blocks(words), bits
    with nogil:
        bits = split_block_popcount(&words[0], num_blocks)
    return bits


def outside(const uint32_t[::1] words not None, const uint32_t[::1] others not None):
    cdef uint64_t num_blocks = _num_of_both(words, others), bits
    with nogil:
        bits = split_block_outside(&words[0], &others[0], num_blocks)
    return bits


def fpp(const uint32_t[::1] words not None):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef double answer
    with nogil:
        answer = split_block_fpp(&words[0], num_blocks)
    return answer


def halved_fpp(const uint32_t[::1] words not None, double most):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef double answer
    if num_blocks % 2:
        raise ValueError(f"words: {num_blocks} blocks, expected an even number")
    with nogil:
        answer = split_block_halved_fpp(&words[0], num_blocks, most)
    return answer


def insert_fixed(uint32_t[::1] words not None, const uint8_t[::1] values not None, size_t width):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef size_t count = _num_fixed(values, width)
    if count:
        with nogil:
            plain_insert_fixed(&values[0], count, width, &words[0], num_blocks, NULL)
    return count


cdef int64_t _counted(int64_t count) except -1:
    if count < 0:
        raise ValueError(f"BYTE_ARRAY: the value at byte {-1 - count} runs past the end")
    return count


def insert_byte_array(
        uint32_t[::1] words not None, const uint8_t[::1] data not None, int64_t most=INT64_MAX):
    cdef uint64_t num_blocks = _num_blocks(words)
    cdef int64_t count
    with nogil:
        count = plain_insert_byte_array(
            _bytes(data), data.shape[0], most, &words[0], num_blocks, NULL)
    return _counted(count)


def check_fixed(
        const uint32_t[::1] words not None, const uint8_t[::1] values not None, size_t width):
    import numpy as np

    cdef uint64_t num_blocks = _num_blocks(words)
    cdef size_t count = _num_fixed(values, width)
    found = np.empty(count, np.uint8)
    cdef uint8_t[::1] out = found
    if count:
        with nogil:
            plain_check_fixed(&values[0], count, width, &words[0], num_blocks, &out[0])
    return found.view(np.bool_)


def check_slices(
        const uint32_t[::1] words not None, const uint8_t[::1] data not None,
        const int64_t[::1] offsets not None):
    import numpy as np

    cdef uint64_t num_blocks = _num_blocks(words)
    cdef size_t count = _num_slices(data, offsets, 0)
    found = np.empty(count, np.uint8)
    cdef uint8_t[::1] out = found
    if count:
        with nogil:
            slices_check(
                _bytes(data), data.shape[0], &offsets[0], count, &words[0], num_blocks, &out[0])
    return found.view(np.bool_)


def check_byte_array(
        const uint32_t[::1] words not None, const uint8_t[::1] data not None,
        int64_t most=INT64_MAX):
    import numpy as np

    cdef uint64_t num_blocks = _num_blocks(words)
    cdef int64_t count
    # To count them first takes half as long as to check them.
    found = np.empty(max(0, min(data.shape[0] // 4, most)), np.uint8)
    cdef uint8_t[::1] out = found
    with nogil:
        count = plain_check_byte_array(
            _bytes(data), data.shape[0], most, &words[0], num_blocks, <uint8_t *>_bytes(out))
    # Nothing is left that refers to what `found` shrinks from.
    out = None
    found.resize(_counted(count), refcheck=False)
    return found.view(np.bool_)
