"""Bit slices of filters: turned, put side by side, and asked."""

from libc.string cimport memset

cdef enum:
    _BLOCK_BYTES = 32


def hash_rows(uint64_t hash):
    cdef uint32_t bits[8]
    split_block_bits(hash, bits)
    return [32 * word + bits[word] for word in range(8)]


cdef class FilterPages:
    """Filters of one size, which are kept, and the pages of their slices."""

    cdef readonly int64_t num_slots, num_blocks
    cdef list _filters
    cdef const uint8_t **_starts

    def __cinit__(self, list filters not None, int64_t num_blocks):
        cdef const uint8_t[::1] each
        cdef Py_ssize_t at
        self._filters, self.num_slots, self.num_blocks = filters, len(filters), num_blocks
        if not (num_blocks > 0 and self.num_slots > 0):
            raise ValueError(f"{self.num_slots} filters of {num_blocks} blocks")
        self._starts = <const uint8_t **>malloc(self.num_slots * sizeof(uint8_t *))
        if self._starts is NULL:
            raise MemoryError("filters to be turned")
        for at in range(self.num_slots):
            each = filters[at]
            if each.shape[0] != _BLOCK_BYTES * num_blocks:
                raise ValueError(f"filter {at}: {each.shape[0]} bytes, expected {num_blocks} blocks")
            self._starts[at] = &each[0]

    def __dealloc__(self):
        free(self._starts)

    def write(self, int64_t first, int64_t end, uint8_t[::1] pages not None):
        if not 0 <= first < end <= self.num_blocks:
            raise ValueError(f"blocks {first} to {end} of {self.num_blocks}")
        if pages.shape[0] != (end - first) * SLICE_ROWS * ((self.num_slots + 7) // 8):
            raise ValueError(f"{pages.shape[0]} bytes for pages of {self.num_slots} filters")
        with nogil:
            slices_turn(self._starts, self.num_slots, first, end - first, &pages[0])


def copy_slots(
        const uint8_t[::1] rows not None, int64_t num_slots, int64_t slot, uint8_t[::1] to not None,
        int64_t to_slots, int64_t to_slot, int64_t count):
    cdef int64_t width = (num_slots + 7) // 8, to_width = (to_slots + 7) // 8
    if count <= 0 or slot < 0 or to_slot < 0 or slot > num_slots - count or to_slot > to_slots - count:
        raise ValueError(f"{count} of {num_slots} from {slot}, to {to_slot} of {to_slots}")
    cdef int64_t num_rows = rows.shape[0] // width
    if rows.shape[0] != num_rows * width or to.shape[0] != num_rows * to_width:
        raise ValueError(f"rows: {rows.shape[0]} bytes of {num_slots}, {to.shape[0]} of {to_slots}")
    if num_rows:
        with nogil:
            slices_copy(&rows[0], width, slot, &to[0], to_width, to_slot, count, num_rows)


def checksums(const uint8_t[::1] data not None, int64_t each):
    cdef int64_t at, count = data.shape[0] // each if each > 0 else 0
    if each <= 0 or data.shape[0] != count * each:
        raise ValueError(f"{data.shape[0]} bytes, expected a multiple of {each}")
    sums = array("I", bytes(4 * count))
    cdef uint32_t[::1] out = sums
    with nogil:
        for at in range(count):
            out[at] = checksum(&data[at * each], each)
    return sums


cdef class SliceSearch:
    """What pages of slices hold of many hashes."""

    cdef found_slot *_found
    cdef readonly int64_t num_slots
    cdef int64_t _width, _count, _room, _at_once

    def __cinit__(self, int64_t num_slots, int64_t rows_at_once):
        if num_slots <= 0 or rows_at_once not in (1, SLICE_ROWS):
            raise ValueError(f"{num_slots} filters, {rows_at_once} rows for a checksum")
        self.num_slots, self._width, self._at_once = num_slots, (num_slots + 7) // 8, rows_at_once
        self._room = 1024
        self._found = <found_slot *>malloc(self._room * sizeof(found_slot))
        if self._found is NULL:
            raise MemoryError("an answer of an index")

    def __dealloc__(self):
        free(self._found)

    def look_in(
            self, const uint8_t[::1] data not None, int64_t start, int64_t sums,
            const uint64_t[::1] hashes not None, int64_t first, int64_t end):
        cdef int64_t size = SLICE_ROWS * self._width, asked, hits
        cdef int64_t sums_size = SLICE_ROWS // self._at_once * 4
        cdef uint8_t is_right[SLICE_ROWS]
        cdef uint32_t bits[8]
        cdef const uint8_t *rows[8]
        cdef int word, unit, damaged = -1
        if not (0 <= start <= data.shape[0] - size and 0 <= sums <= data.shape[0] - sums_size):
            raise ValueError(f"a page at {start}, its checksums at {sums} of {data.shape[0]} bytes")
        if not 0 <= first <= end <= hashes.shape[0]:
            raise ValueError(f"hashes {first} to {end} of {hashes.shape[0]}")
        memset(is_right, 0, sizeof(is_right))
        with nogil:
            for asked in range(first, end):
                split_block_bits(hashes[asked], bits)
                for word in range(8):
                    unit = (32 * word + bits[word]) // self._at_once
                    rows[word] = &data[start] + (32 * word + bits[word]) * self._width
                    if not is_right[unit]:
                        is_right[unit] = self._is_right(&data[start], &data[sums], unit)
                        if not is_right[unit]:
                            damaged = unit
                if damaged >= 0:
                    break
                hits = slices_find(
                    rows, self._width, self.num_slots, asked, self._found + self._count,
                    self._room - self._count)
                if hits > self._room - self._count:
                    with gil:
                        self._make_room(hits)
                    slices_find(
                        rows, self._width, self.num_slots, asked, self._found + self._count, hits)
                self._count += hits
        if damaged >= 0:
            raise ValueError(f"row {damaged * self._at_once} at {start}: its CRC-32 is wrong")

    cdef bint _is_right(self, const uint8_t *page, const uint8_t *sums, int unit) noexcept nogil:
        cdef uint32_t expected
        cdef int64_t size = self._at_once * self._width
        memcpy(&expected, sums + 4 * unit, 4)
        return checksum(page + unit * size, size) == expected

    cdef int _make_room(self, int64_t more) except -1:
        cdef int64_t room = 2 * (self._count + more)
        cdef found_slot *larger = <found_slot *>realloc(self._found, room * sizeof(found_slot))
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
            memcpy(&out[0, 0], self._found, self._count * sizeof(found_slot))
        return pairs


def slots_in_rows(const uint8_t[::1] data not None, int64_t num_slots):
    cdef int64_t width = (num_slots + 7) // 8, at, hits
    cdef const uint8_t *rows[8]
    cdef found_slot *found
    if num_slots <= 0 or data.shape[0] != 8 * width:
        raise ValueError(f"{data.shape[0]} bytes, expected eight rows of {num_slots} filters")
    for at in range(8):
        rows[at] = &data[at * width]
    hits = slices_find(rows, width, num_slots, 0, NULL, 0)
    found = <found_slot *>malloc((hits + 1) * sizeof(found_slot))
    if found is NULL:
        raise MemoryError("an answer of an index")
    try:
        slices_find(rows, width, num_slots, 0, found, hits)
        return [found[at].slot for at in range(hits)]
    finally:
        free(found)
