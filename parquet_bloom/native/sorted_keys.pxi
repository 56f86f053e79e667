"""The keys of an index: pages of them, and what is in these."""

from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

# More keys than a page has, and the room that the decoder wants behind them.
cdef enum:
    _MOST_KEYS = 1 << 16
    _KEYS_ROOM = (1 << 16) + 128


cdef int64_t _pages_of(const uint64_t[::1] keys, int64_t per_page) except -1:
    cdef int64_t count = keys.shape[0]
    if not 0 < per_page <= _MOST_KEYS:
        raise ValueError(f"keys in a page: {per_page}")
    if count and keys[count - 1] >> 63:
        raise ValueError("keys: one of 64 bits")
    return (count + per_page - 1) // per_page


def key_pages(const uint64_t[::1] keys not None, int64_t per_page):
    cdef int64_t count = keys.shape[0], at = 0, end = 0, num_pages = _pages_of(keys, per_page)
    sizes = array("I", bytes(4 * num_pages))
    cdef uint32_t[::1] each = sizes
    # Much more than they take, of which nothing is cleared.
    cdef uint8_t *out = <uint8_t *>malloc(num_pages * sorted_keys_room(min(per_page, count)) + 1)
    if out is NULL:
        raise MemoryError("pages of keys")
    try:
        with nogil:
            for at in range(num_pages):
                each[at] = <uint32_t>sorted_keys_page(
                    &keys[at * per_page], min(per_page, count - at * per_page), out + end)
                end += each[at]
        return out[:end], sizes
    finally:
        free(out)


def folded_pages(const uint64_t[::1] keys not None, int64_t per_page, int place_bits):
    cdef int64_t count = keys.shape[0], num_pages = _pages_of(keys, per_page), at, some, rows
    cdef int64_t end = 0, lists_end = 0, room = sorted_keys_room(min(per_page, count))
    if not 0 <= place_bits < 63:
        raise ValueError(f"bits of a place: {place_bits}")
    pages, lists = bytearray(num_pages * room), bytearray(num_pages * 2 * room)
    sizes, lists_sizes = array("I", bytes(4 * num_pages)), array("I", bytes(4 * num_pages))
    num_rows, num_levels = array("I", bytes(4 * num_pages)), array("I", bytes(4 * num_pages))
    last = array("Q", bytes(8 * num_pages))
    scratch, bits = array("Q", bytes(16 * per_page)), bytearray(2 * (per_page // 8 + 1))
    cdef uint8_t[::1] out = pages, lists_out = lists, bits_out = bits
    cdef uint32_t[::1] each = sizes, lists_each = lists_sizes, rows_each = num_rows
    cdef uint32_t[::1] levels_each = num_levels
    cdef uint64_t[::1] last_each = last, firsts = scratch
    cdef key_lists found
    found.repeats, found.is_there = &bits_out[0], &bits_out[per_page // 8 + 1]
    found.places = &firsts[per_page]
    with nogil:
        for at in range(num_pages):
            some = min(per_page, count - at * per_page)
            rows = sorted_keys_fold(
                &keys[at * per_page], some, place_bits, &firsts[0], &found)
            each[at] = <uint32_t>sorted_keys_page(&firsts[0], rows, &out[end])
            lists_each[at] = <uint32_t>sorted_keys_lists_page(&found, rows, &lists_out[lists_end])
            end += each[at]
            lists_end += lists_each[at]
            rows_each[at], levels_each[at] = <uint32_t>rows, <uint32_t>found.levels
            last_each[at] = firsts[rows - 1]
    out = lists_out = None
    del pages[end:]
    del lists[lists_end:]
    return pages, sizes, lists, lists_sizes, num_rows, num_levels, last


def narrow_keys(list wide not None, int from_bits, int drop, int place_bits):
    import numpy as np

    if not (0 <= from_bits < 64 and 0 <= drop < 64 - from_bits and 0 <= place_bits < 64):
        raise ValueError(f"bits: {from_bits} of places, {drop} to drop, {place_bits} to keep")
    cdef const uint64_t[::1] part
    cdef uint64_t[::1] out
    cdef int64_t count = 0, kept
    for part in wide:
        count += part.shape[0]
    keys = np.empty(count, np.uint64)
    out, count = keys, 0
    for part in wide:
        if part.shape[0]:
            with nogil:
                sorted_keys_narrow(
                    &part[0], part.shape[0], from_bits, drop, place_bits, &out[count])
            count += part.shape[0]
    keys.sort()
    kept = sorted_keys_distinct(&out[0], count) if count else 0
    return keys[:kept]


def parted_keys(list runs not None, int place_bits, int bits, room not None):
    import numpy as np

    if not (1 <= bits <= 16 and 0 <= place_bits <= 64 - bits):
        raise ValueError(f"bits: {bits} of a part, {place_bits} of a place")
    cdef int64_t count = 1 << bits
    starts, last = np.zeros(count + 1, np.int64), np.empty(KEYS_IN_LINE * count, np.uint64)
    cdef int64_t[::1] begins = starts, ends
    cdef uint64_t[::1] lines = last, out
    cdef const uint64_t[::1] hashes
    cdef uint64_t place
    for hashes, _ in runs:
        if hashes.shape[0]:
            with nogil:
                key_parts_count(&hashes[0], hashes.shape[0], bits, &begins[1])
    np.cumsum(starts, out=starts)
    ends = starts[:count].copy()
    keys = room(int(starts[count]))
    out = keys
    if out.shape[0] != begins[count]:
        raise ValueError(f"room for {out.shape[0]} keys, expected {begins[count]}")
    if not out.shape[0]:
        return keys, starts
    cdef key_parts parts
    parts.bits, parts.place_bits, parts.starts, parts.ends = bits, place_bits, &begins[0], &ends[0]
    parts.lines, parts.keys = &lines[0], &out[0]
    for hashes, place in runs:
        if place >> place_bits:
            raise ValueError(f"place {place} of {place_bits} bits")
        if hashes.shape[0]:
            with nogil:
                key_parts_deal(&hashes[0], hashes.shape[0], place, &parts)
    key_parts_end(&parts)
    return keys, starts


cdef int64_t _decode(
        const uint8_t[::1] page, const uint8_t[::1] lists, int place_bits, uint64_t *keys) except -1:
    """All keys, in the first of three rooms."""
    cdef uint64_t *firsts = keys if lists is None else keys + _KEYS_ROOM
    cdef int64_t count
    if not 0 <= place_bits < 63:
        raise ValueError(f"bits of a place: {place_bits}")
    with nogil:
        count = sorted_keys_decode(_bytes(page), page.shape[0], UINT64_MAX, firsts, _KEYS_ROOM)
        if lists is not None and count > 0:
            count = sorted_keys_unfold(
                firsts, count, _bytes(lists), lists.shape[0], place_bits,
                keys + 2 * _KEYS_ROOM, keys, _KEYS_ROOM)
    if count < 0:
        raise ValueError("no page of keys")
    return count


cdef int64_t _find(
        const uint8_t[::1] page, const uint8_t[::1] lists, const uint64_t *asked, int64_t first,
        int64_t end, int place_bits, uint64_t *keys, found_key *found, int64_t room) except -1:
    """How many keys there are of what is asked; `keys`: room for two pages."""
    cdef uint64_t last
    cdef int64_t count, hits = -1
    if not 0 <= place_bits < 63:
        raise ValueError(f"bits of a place: {place_bits}")
    with nogil:
        last = asked[end - 1] | ((<uint64_t>1 << place_bits) - 1) if lists is None else UINT64_MAX
        count = sorted_keys_decode(_bytes(page), page.shape[0], last, keys, _KEYS_ROOM)
        if count > 0 and lists is None:
            hits = sorted_keys_find(keys, count, asked, first, end, place_bits, found, room)
        elif count > 0:
            hits = sorted_keys_find_folded(
                keys, count, _bytes(lists), lists.shape[0], keys + _KEYS_ROOM, _KEYS_ROOM,
                asked, first, end, place_bits, found, room)
    if hits < 0:
        raise ValueError("no page of keys")
    return hits


cdef const uint8_t[::1] _checked(
        const uint8_t[::1] data, const int64_t[:, ::1] pages, int64_t number):
    """A page, of which start, size and CRC-32 are given. Raises ValueError if that is wrong."""
    if pages.shape[1] != 3 or number >= pages.shape[0]:
        raise ValueError("pages: not all of them have a start, a size and a checksum")
    cdef int64_t start = pages[number, 0], size = pages[number, 1]
    if not (0 <= start <= data.shape[0] and 0 <= size <= data.shape[0] - start):
        raise ValueError(f"page {number}: outside of {data.shape[0]} bytes")
    page = data[start:start + size]
    if crc32(page) != pages[number, 2]:
        raise ValueError(f"page {number}: not the checksum of its record")
    return page


cdef void _fetch(const uint8_t[::1] data, int64_t start, int64_t size) noexcept:
    """Have a page at hand soon, if it is one."""
    if 0 <= start < data.shape[0] and 0 <= size <= data.shape[0] - start:
        sorted_keys_fetch(&data[start], size)


cdef uint64_t *_room_for_keys() except NULL:
    cdef uint64_t *keys = <uint64_t *>malloc(3 * _KEYS_ROOM * sizeof(uint64_t))
    if keys is NULL:
        raise MemoryError("keys of a page")
    return keys


def keys_in_page(const uint8_t[::1] page not None, const uint8_t[::1] lists, int place_bits):
    import numpy as np

    cdef int64_t count
    cdef uint64_t *keys = _room_for_keys()
    cdef uint64_t[::1] out
    try:
        count = _decode(page, lists, place_bits, keys)
        found = np.empty(count, np.uint64)
        out = found
        memcpy(&out[0], keys, count * sizeof(uint64_t))
        return found
    finally:
        free(keys)


def find_in_page(
        const uint8_t[::1] page not None, const uint8_t[::1] lists, uint64_t key, int place_bits):
    cdef found_key some
    cdef int64_t at, hits
    cdef uint64_t *keys = _room_for_keys()
    cdef found_key *found = NULL
    try:
        hits = _find(page, lists, &key, 0, 1, place_bits, keys, &some, 1)
        found = <found_key *>malloc((hits + 1) * sizeof(found_key))
        if found is NULL:
            raise MemoryError("an answer of an index")
        _find(page, lists, &key, 0, 1, place_bits, keys, found, hits)
        return [found[at].place for at in range(hits)]
    finally:
        free(keys)
        free(found)


cdef class KeySearch:
    """Asked keys in ascending order, and what pages hold of them."""

    cdef const uint64_t[::1] _asked
    cdef uint64_t *_keys
    cdef found_key *_found
    cdef int64_t _count, _room
    cdef int _place_bits

    def __cinit__(self, const uint64_t[::1] asked not None, int place_bits):
        if not (asked.shape[0] and 0 <= place_bits < 63):
            raise ValueError(f"{asked.shape[0]} keys, {place_bits} bits of a place")
        self._asked, self._place_bits = asked, place_bits
        self._room = 2 * asked.shape[0] + 1024
        self._keys = _room_for_keys()
        self._found = <found_key *>malloc(self._room * sizeof(found_key))
        if self._found is NULL:
            raise MemoryError("an answer of an index")

    def __dealloc__(self):
        free(self._keys)
        free(self._found)

    def look_in(
            self, const uint8_t[::1] data not None, const int64_t[:, ::1] asked not None,
            const int64_t[:, ::1] pages not None, const int64_t[:, ::1] lists):
        cdef const uint8_t[::1] page, listed = None
        cdef int64_t i, hits, first, end
        if asked.shape[1] != 2 or asked.shape[0] != pages.shape[0]:
            raise ValueError(f"{pages.shape[0]} pages, and not what is asked of each")
        for i in range(asked.shape[0]):
            first, end = asked[i, 0], asked[i, 1]
            if not 0 <= first < end <= self._asked.shape[0]:
                raise ValueError(f"page {i}: values {first} to {end} of {self._asked.shape[0]}")
            if i + 1 < pages.shape[0]:
                _fetch(data, pages[i + 1, 0], pages[i + 1, 1])
            page = _checked(data, pages, i)
            if lists is not None:
                listed = _checked(data, lists, i)
            while True:
                hits = _find(
                    page, listed, &self._asked[0], first, end, self._place_bits, self._keys,
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
