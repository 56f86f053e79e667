# Pages of Parquet: values, levels, deltas, byte streams, headers, whole pages.


def count_byte_array(const uint8_t[::1] data not None, int64_t most=INT64_MAX):
    cdef int64_t count
    with nogil:
        count = plain_count_byte_array(_bytes(data), data.shape[0], most)
    return _counted(count)


def hash_byte_array(const uint8_t[::1] data not None, int64_t most=INT64_MAX):
    import numpy as np

    cdef int64_t count = count_byte_array(data, most)
    cdef size_t at = 0
    hashes = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = hashes
    if count:
        with nogil:
            plain_hash_byte_array(&data[0], data.shape[0], &at, count, &out[0])
    return hashes


def byte_array_starts(const uint8_t[::1] data not None, int64_t most=INT64_MAX):
    cdef int64_t count = count_byte_array(data, most)
    starts = _int64s(count + 1)
    cdef int64_t[::1] out = starts
    with nogil:
        plain_byte_array_starts(_bytes(data), count, &out[0])
    return starts


def texts_at(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, list numbers not None):
    cdef int64_t number, start, size
    found = []
    for number in numbers:
        if not 0 <= number < starts.shape[0] - 1:
            raise ValueError(f"text {number} of {starts.shape[0] - 1}")
        start, size = starts[number], starts[number + 1] - 4 - starts[number]
        if start < 0 or size < 0 or size > data.shape[0] - start:
            raise ValueError(f"text {number}: outside of {data.shape[0]} bytes")
        found.append(PyUnicode_DecodeUTF8(<const char *>_bytes(data) + start, size, "surrogateescape"))
    return found


def float_specials(const uint8_t[::1] values not None, size_t width):
    if width not in (2, 4, 8) or values.shape[0] % width:
        raise ValueError(f"values: {values.shape[0]} bytes of width {width}")
    cdef int answer
    with nogil:
        answer = plain_float_specials(_bytes(values), values.shape[0] // width, width)
    return answer


def count_levels(const uint8_t[::1] data not None, int bit_width, int64_t count, uint32_t level):
    cdef int64_t equal
    if not 1 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"levels: {count} of {bit_width} bits")
    with nogil:
        equal = levels_count_hybrid(_bytes(data), data.shape[0], bit_width, count, level)
    if equal < 0:
        raise ValueError(f"levels: the bytes end before {count} levels")
    return equal


def count_bit_packed_levels(
        const uint8_t[::1] data not None, int bit_width, int64_t count, uint32_t level):
    cdef int64_t equal
    if not 1 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"levels: {count} of {bit_width} bits")
    with nogil:
        equal = levels_count_bit_packed(_bytes(data), data.shape[0], bit_width, count, level)
    if equal < 0:
        raise ValueError(f"levels: the bytes end before {count} levels")
    return equal


def mark_indices(
        const uint8_t[::1] data not None, int bit_width, int64_t count, uint8_t[::1] used not None):
    cdef int failed
    if not 0 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"dictionary indices: {count} of {bit_width} bits")
    with nogil:
        failed = indices_mark(
            _bytes(data), data.shape[0], bit_width, count, <uint8_t *>_bytes(used), used.shape[0])
    if failed == INDICES_OUTSIDE:
        raise ValueError(f"dictionary indices: one is not below {used.shape[0]}")
    if failed:
        raise ValueError(f"dictionary indices: the bytes end before {count} of them")


def decode_hybrid(const uint8_t[::1] data not None, int bit_width, int64_t count):
    cdef int failed = 0
    if not 0 <= bit_width <= 32 or not 0 <= count <= INT32_MAX:
        raise ValueError(f"levels or dictionary indices: {count} of {bit_width} bits")
    import numpy as np

    numbers = np.empty(count, np.uint32)
    cdef uint32_t[::1] out = numbers
    if count:
        with nogil:
            failed = hybrid_decode(_bytes(data), data.shape[0], bit_width, count, &out[0])
    if failed:
        raise ValueError(f"levels or dictionary indices: the bytes end before {count} of them")
    return numbers


_MOST_AT_ONCE = 1 << 17


cdef class DeltaDecoder:
    cdef const uint8_t[::1] _data
    cdef delta_state _state

    def __init__(self, const uint8_t[::1] data not None):
        self._data = data
        if delta_start(_bytes(data), data.shape[0], &self._state) != 0:
            raise ValueError("DELTA_BINARY_PACKED: impossible header")

    @property
    def count(self):
        return self._state.count

    def __iter__(self):
        return self

    def __next__(self):
        import numpy as np

        if self._state.left == 0:
            raise StopIteration
        cdef int64_t room = min(self._state.left, _MOST_AT_ONCE) + (1 << 16) + 1, decoded
        values = np.empty(room, np.uint64)
        cdef uint64_t[::1] out = values
        with nogil:
            decoded = delta_next(
                &self._data[0], self._data.shape[0], &self._state, &out[0], room)
        if decoded < 0:
            raise ValueError("DELTA_BINARY_PACKED: the bytes end too early")
        return values[:decoded]


def delta_end(const uint8_t[::1] data not None):
    cdef int64_t end
    with nogil:
        end = c_delta_end(_bytes(data), data.shape[0])
    if end < 0:
        raise ValueError("DELTA_BINARY_PACKED: the bytes end too early")
    return end


def delta_join(
        const uint8_t[::1] suffixes not None, const int64_t[::1] prefix_lengths not None,
        const int64_t[::1] suffix_lengths not None, int64_t room):
    import numpy as np

    cdef size_t count = prefix_lengths.shape[0]
    cdef int64_t end
    if <size_t>suffix_lengths.shape[0] != count:
        raise ValueError(f"suffix_lengths: {suffix_lengths.shape[0]}, expected {count}")
    values, starts = np.empty(room, np.uint8), np.zeros(count + 1, np.int64)
    cdef uint8_t[::1] out = values
    cdef int64_t[::1] begins = starts
    if count:
        with nogil:
            end = c_delta_join(
                _bytes(suffixes), suffixes.shape[0], &prefix_lengths[0], &suffix_lengths[0],
                count, <uint8_t *>_bytes(out), room, &begins[0])
        if end < 0:
            raise ValueError("DELTA_BYTE_ARRAY: a prefix or suffix that is not there")
    return values, starts


cdef class AlpDecoder:
    cdef const uint8_t[::1] _data
    cdef alp_state _state

    def __init__(self, const uint8_t[::1] data not None, size_t width):
        if width not in (4, 8):
            raise ValueError(f"values: of width {width}, expected 4 or 8")
        self._data = data
        if alp_start(_bytes(data), data.shape[0], width, &self._state) != 0:
            raise ValueError("ALP: impossible header")

    @property
    def count(self):
        return self._state.count

    def __iter__(self):
        return self

    def __next__(self):
        import numpy as np

        if self._state.left == 0:
            raise StopIteration
        cdef int64_t room = max(self._state.vector, min(self._state.left, _MOST_AT_ONCE)), decoded
        values = np.empty(room * self._state.width, np.uint8)
        cdef uint8_t[::1] out = values
        with nogil:
            decoded = alp_next(
                &self._data[0], self._data.shape[0], &self._state, &out[0], room)
        if decoded < 0:
            raise ValueError("ALP: a vector that is cut, impossible or not where the page says")
        return values[:decoded * self._state.width]


def join_streams(const uint8_t[::1] streams not None, size_t width):
    cdef size_t count = _num_fixed(streams, width)
    values = bytearray(streams.shape[0])
    cdef uint8_t[::1] out = values
    if count:
        with nogil:
            c_join_streams(&streams[0], count, count, width, &out[0])
    return values


def crc32(const uint8_t[::1] data not None):
    cdef uint32_t crc
    if not checksum_is_quick():
        from zlib import crc32

        return crc32(data)
    with nogil:
        crc = checksum(_bytes(data), data.shape[0])
    return crc


def page_header(const uint8_t[::1] data not None, int64_t start=0):
    cdef int64_t where = 0, answer
    cdef page_header_t header
    cdef const int64_t *fields = <const int64_t *>&header
    _start(data, start)
    answer = thrift_page_header(_bytes(data), data.shape[0], start, &header, &where)
    _scanned(answer, where)
    return [
        None if fields[i] == INT64_MIN else fields[i] for i in range(_PAGE_HEADER_FIELDS)
    ], answer


# Statistics can make a header long.
cdef enum:
    _LONG_HEADER = 1 << 16


cdef class Turns:
    cdef pthread_mutex_t mutex

    def __cinit__(self):
        if pthread_mutex_init(&self.mutex, NULL) != 0:
            raise MemoryError("a mutex")

    def __dealloc__(self):
        pthread_mutex_destroy(&self.mutex)


cdef class WholePages:
    cdef page_column _column
    cdef object _decompress, _errors
    cdef int64_t _most_each, _largest
    cdef bint _compresses_always
    cdef readonly int64_t num_bytes, num_pages, num_values, inserted, room
    cdef int _specials

    def __init__(self, column, largest, compresses_always, codec):
        type, width, is_float, repetition, definition = column
        if not 0 <= width <= INT32_MAX or (is_float and width not in (4, 8)):
            raise ValueError(f"width: {width} bytes")
        if width != {INT32: 4, INT64: 8, BYTE_ARRAY: 0}.get(type, width or -1):
            raise ValueError(f"width: {width} bytes of type {type}")
        if not 0 <= repetition <= INT32_MAX or not 0 <= definition <= INT32_MAX:
            raise ValueError(f"levels: {repetition} and {definition}")
        self._column = page_column(type, width, is_float, repetition, definition)
        self._largest = largest
        self._compresses_always = compresses_always
        self._decompress, self._errors, self._most_each = codec

    @property
    def specials(self):
        return self._specials

    def find(self, data, int64_t wanted, int64_t most):
        cdef const uint8_t[::1] stored = data
        cdef int64_t needed = 0, body
        cdef page_header_t header
        self._begin()
        while self.num_values < wanted:
            body = self._next_page(stored, &header, most, &needed)
            if body < 0:
                break
            self.room = max(self.room, self._plain_size(&header))
            self._pass_page(&header, body)
        return needed

    def insert(
            self, uint32_t[::1] words not None, data, room, int64_t wanted, Turns turns not None):
        cdef const uint8_t[::1] stored = data
        cdef uint8_t[::1] plain = room
        cdef uint64_t num_blocks = _num_blocks(words)
        cdef int64_t needed = 0, body
        cdef page_header_t header
        self._begin()
        while self.num_values < wanted:
            body = self._next_page(stored, &header, plain.shape[0], &needed)
            if body < 0 or not self._insert_page(
                    words, num_blocks, &header, data, stored, body, room, plain, turns):
                break
            self._pass_page(&header, body)

    cdef void _begin(self) noexcept:
        self.num_bytes = self.num_pages = self.num_values = self.inserted = self.room = 0

    cdef int64_t _next_page(
            self, const uint8_t[::1] stored, page_header_t *header, int64_t most,
            int64_t *needed) noexcept:
        """Where the body of the next page begins. -1 if it is unusual, takes more room than `most`, or
        does not end within `stored`: then it takes `needed` bytes or more."""
        cdef int64_t size = stored.shape[0], where = 0, body
        body = thrift_page_header(_bytes(stored), size, self.num_bytes, header, &where)
        if body == SCAN_TRUNCATED and size - self.num_bytes < _LONG_HEADER:
            needed[0] = size - self.num_bytes + 1
            return -1
        if body < 0 or not self._is_usual(header) or self._plain_size(header) > most:
            return -1
        if header.compressed_page_size > size - body:
            needed[0] = body - self.num_bytes + header.compressed_page_size
            return -1
        return body

    cdef int64_t _plain_size(self, const page_header_t *header) noexcept:
        """The room that a page is decompressed into."""
        return 0 if self._decompress is None else header.uncompressed_page_size

    cdef void _pass_page(self, const page_header_t *header, int64_t body) noexcept:
        self.num_bytes = body + header.compressed_page_size
        self.num_pages += 1
        self.num_values += header.details.num_values

    cdef bint _is_usual(self, const page_header_t *header) noexcept:
        """Whether it is the header of a data page in a known encoding."""
        return (
            (header.type == DATA_PAGE or header.type == DATA_PAGE_V2)
            and whole_page_is_known(&self._column, header.details.encoding)
            and 0 <= header.details.num_values <= INT32_MAX
            and 0 <= header.compressed_page_size <= INT32_MAX
            and 0 <= header.uncompressed_page_size <= self._largest
        )

    cdef bint _insert_page(
            self, uint32_t[::1] words, uint64_t num_blocks, const page_header_t *header,
            object data, const uint8_t[::1] stored, int64_t start, object room,
            uint8_t[::1] plain, Turns turns) except -1:
        """Whether the page is as usual, so that its values have been inserted. Its body, which begins at
        `start`, is in the data, and it fits the room."""
        cdef int64_t end = start + header.compressed_page_size, levels, inserted
        cdef whole_page page
        if header.crc != INT64_MIN and crc32(data[start:end]) != <uint32_t>header.crc:
            return False
        levels = _levels_size(header)
        if levels < 0 or levels > end - start or levels > header.uncompressed_page_size:
            return False
        page.header = header
        page.levels = _bytes(stored) + start
        page.levels_size = levels
        page.data = page.levels + levels
        page.size = end - start - levels
        if self._is_compressed(header) and (page.size or header.uncompressed_page_size > levels):
            if self._decompress is None:
                if <int64_t>page.size != header.uncompressed_page_size - levels:
                    return False
            elif not self._decompressed(&page, data[start + levels:end], room):
                return False
            else:
                page.data = _bytes(plain)
        with nogil:
            inserted = whole_page_insert(
                &self._column, &page, &words[0], num_blocks, &turns.mutex, &self._specials)
        self.inserted += max(0, inserted)
        return inserted >= 0

    cdef bint _is_compressed(self, const page_header_t *header) noexcept:
        return (
            header.type == DATA_PAGE or self._compresses_always
            or header.details.is_compressed != 0
        )

    cdef bint _decompressed(self, whole_page *page, object stored, object room) except -1:
        """Whether the data of the page is what its header says, after which `size` is that."""
        cdef int64_t size = page.header.uncompressed_page_size - <int64_t>page.levels_size
        # Before anything is written to.
        if size > (<int64_t>page.size + 1) * self._most_each:
            return False
        try:
            if self._decompress(stored, room[:size]) != size:
                return False
        except self._errors:
            return False
        page.size = size
        return True


cdef int64_t _levels_size(const page_header_t *header) noexcept:
    """The bytes of levels that are not compressed; -1 if that is impossible."""
    cdef int64_t repetition = header.details.repetition_levels_byte_length
    cdef int64_t definition = header.details.definition_levels_byte_length
    if header.type == DATA_PAGE:
        return 0
    repetition = 0 if repetition == INT64_MIN else repetition
    definition = 0 if definition == INT64_MIN else definition
    return repetition + definition if repetition >= 0 and definition >= 0 else -1
