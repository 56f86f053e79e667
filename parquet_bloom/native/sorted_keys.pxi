"""The keys of an index: pages of them, and what is in these."""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

# More keys than a page has, and the room that the decoder wants behind them.
cdef enum:
    _MOST_KEYS = 1 << 16
    _KEYS_ROOM = (1 << 16) + 128


def key_pages(const uint64_t[::1] keys not None, int64_t per_page):
    cdef int64_t count = keys.shape[0], at = 0, end = 0
    if not 0 < per_page <= _MOST_KEYS:
        raise ValueError(f"keys in a page: {per_page}")
    if count and keys[count - 1] >> 63:
        raise ValueError("keys: one of 64 bits")
    cdef int64_t num_pages = (count + per_page - 1) // per_page
    pages = bytearray(num_pages * sorted_keys_room(min(per_page, count)))
    sizes = array("I", bytes(4 * num_pages))
    cdef uint8_t[::1] out = pages
    cdef uint32_t[::1] each = sizes
    with nogil:
        for at in range(num_pages):
            each[at] = <uint32_t>sorted_keys_page(
                &keys[at * per_page], min(per_page, count - at * per_page), &out[end])
            end += each[at]
    out = None
    del pages[end:]
    return pages, sizes


def narrow_keys(uint64_t[::1] keys not None, int from_bits, int drop, int place_bits):
    cdef int64_t kept = 0
    if not (0 <= from_bits < 64 and 0 <= drop < 64 - from_bits and 0 <= place_bits < 64):
        raise ValueError(f"bits: {from_bits} of places, {drop} to drop, {place_bits} to keep")
    if keys.shape[0]:
        with nogil:
            kept = sorted_keys_narrow(&keys[0], keys.shape[0], from_bits, drop, place_bits)
    return kept


cdef int64_t _decode(const uint8_t[::1] page, uint64_t *keys) except -1:
    cdef int64_t count
    with nogil:
        count = sorted_keys_decode(_bytes(page), page.shape[0], keys, _KEYS_ROOM)
    if count < 0:
        raise ValueError("no page of keys")
    return count


def keys_in_page(const uint8_t[::1] page not None):
    import numpy as np

    keys = np.empty(_KEYS_ROOM, np.uint64)
    cdef uint64_t[::1] out = keys
    return keys[:_decode(page, &out[0])]


def find_in_page(const uint8_t[::1] page not None, uint64_t key, int place_bits):
    cdef uint64_t *keys = <uint64_t *>malloc(_KEYS_ROOM * sizeof(uint64_t))
    cdef uint64_t last
    cdef int64_t count, at, low = 0, high
    if keys is NULL:
        raise MemoryError("keys of a page")
    if not 0 <= place_bits < 64:
        raise ValueError(f"bits of a place: {place_bits}")
    last = key | ((<uint64_t>1 << place_bits) - 1)
    try:
        count = high = _decode(page, keys)
        while low < high:
            at = (low + high) // 2
            if keys[at] < key:
                low = at + 1
            else:
                high = at
        places = []
        while low < count and keys[low] <= last:
            places.append(keys[low] - key)
            low += 1
        return places
    finally:
        free(keys)


cdef class KeySearch:
    """Asked keys in ascending order, and what pages hold of them."""

    cdef const uint64_t[::1] _asked
    cdef uint64_t *_keys
    cdef found_key *_found
    cdef int64_t _count, _room
    cdef int _place_bits

    def __cinit__(self, const uint64_t[::1] asked not None, int place_bits):
        if not (asked.shape[0] and 0 <= place_bits < 64):
            raise ValueError(f"{asked.shape[0]} keys, {place_bits} bits of a place")
        self._asked, self._place_bits = asked, place_bits
        self._room = 2 * asked.shape[0] + 1024
        self._keys = <uint64_t *>malloc(_KEYS_ROOM * sizeof(uint64_t))
        self._found = <found_key *>malloc(self._room * sizeof(found_key))
        if self._keys is NULL or self._found is NULL:
            raise MemoryError("an answer of an index")

    def __dealloc__(self):
        free(self._keys)
        free(self._found)

    def look_in(
            self, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
            const int64_t[::1] sizes not None, const uint32_t[::1] checksums not None,
            const int64_t[::1] first not None, const int64_t[::1] end not None):
        cdef int64_t i, count, hits, asked = self._asked.shape[0]
        cdef Py_ssize_t pages = starts.shape[0]
        if not pages == sizes.shape[0] == checksums.shape[0] == first.shape[0] == end.shape[0]:
            raise ValueError("pages: not all of them have a start, a size, a checksum and values")
        for i in range(pages):
            if not (0 <= starts[i] <= data.shape[0] and 0 <= sizes[i] <= data.shape[0] - starts[i]):
                raise ValueError(f"page {i}: outside of {data.shape[0]} bytes")
            if not 0 <= first[i] <= end[i] <= asked:
                raise ValueError(f"page {i}: values {first[i]} to {end[i]} of {asked}")
            page = data[starts[i]:starts[i] + sizes[i]]
            if crc32(page) != checksums[i]:
                raise ValueError(f"page {i}: not the checksum of its record")
            count = _decode(page, self._keys)
            while True:
                with nogil:
                    hits = sorted_keys_find(
                        self._keys, count, &self._asked[0], first[i], end[i], self._place_bits,
                        self._found + self._count, self._room - self._count)
                if hits <= self._room - self._count:
                    break
                self._make_room(hits)
            self._count += hits

    cdef int _make_room(self, int64_t more) except -1:
        cdef int64_t room = 2 * (self._count + more)
        cdef found_key *larger = <found_key *>realloc(self._found, room * sizeof(found_key))
        if larger is NULL:
            raise MemoryError("an answer of an index")
        self._found, self._room = larger, room
        return 0

    @property
    def found(self):
        import numpy as np

        pairs = np.empty((self._count, 2), np.int64)
        cdef int64_t[:, ::1] out = pairs
        if self._count:
            memcpy(&out[0, 0], self._found, self._count * sizeof(found_key))
        return pairs
