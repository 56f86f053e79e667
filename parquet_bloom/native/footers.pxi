# Structs in Thrift's compact protocol, as footers are made of them.


cdef int64_t _start(const uint8_t[::1] data, int64_t start) except -1:
    if not 0 <= start <= data.shape[0]:
        raise ScanError("ends before the value begins", start)
    return start


def struct_end(const uint8_t[::1] data not None, int64_t start=0):
    cdef int64_t where = 0, answer
    _start(data, start)
    with nogil:
        answer = thrift_struct_end(_bytes(data), data.shape[0], start, &where)
    return _scanned(answer, where)


def fields(const uint8_t[::1] data not None, int64_t start=0):
    cdef int64_t where = 0, count
    cdef field_span spans[MAX_FIELDS]
    _start(data, start)
    count = thrift_fields(_bytes(data), data.shape[0], start, spans, MAX_FIELDS, &where)
    _scanned(count, where)
    return [
        (spans[i].id, spans[i].type, spans[i].start, spans[i].value, spans[i].end)
        for i in range(count)
    ]


cdef int64_t _list_size(const uint8_t[::1] data, int64_t start) except -1:
    cdef int64_t where = 0, element_type = 0, answer
    _start(data, start)
    answer = thrift_list_size(_bytes(data), data.shape[0], start, &element_type, &where)
    return _scanned(answer, where)


def elements(const uint8_t[::1] data not None, int64_t start):
    cdef int64_t where = 0, answer, room = _list_size(data, start)
    boundaries = array("q", bytes(8 * (room + 1)))
    cdef int64_t[::1] out = boundaries
    with nogil:
        answer = thrift_elements(_bytes(data), data.shape[0], start, &out[0], room, &where)
    _scanned(answer, where)
    return boundaries


def row_groups(const uint8_t[::1] data not None, const int64_t[::1] starts not None):
    cdef int64_t where = 0, answer, count = starts.shape[0], i
    if count == 0:
        return array("q"), array("q"), array("q")
    for i in range(count):
        _start(data, starts[i])
    columns, num_rows, ordinals = (array("q", bytes(8 * count)) for _ in range(3))
    cdef int64_t[::1] of_columns = columns, of_rows = num_rows, of_ordinals = ordinals
    with nogil:
        answer = thrift_row_groups(
            _bytes(data), data.shape[0], &starts[0], count, &of_columns[0], &of_rows[0],
            &of_ordinals[0], &where)
    _scanned(answer, where)
    return columns, num_rows, ordinals


def chunks(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t expected):
    cdef int64_t where = 0, answer = 0, size, count = starts.shape[0], i
    for i in range(count):
        size = _list_size(data, starts[i])
        if size != expected:
            raise ScanError(f"list of {size}, expected {expected}", starts[i])
    spans = array("q", bytes(sizeof(chunk_span) * count * expected))
    if not spans:
        return spans
    cdef int64_t[::1] out = spans
    cdef chunk_span *next = <chunk_span *>&out[0]
    with nogil:
        for i in range(count):
            answer = thrift_chunks(
                _bytes(data), data.shape[0], starts[i], next, expected, &where)
            if answer < 0:
                break
            next += expected
    _scanned(answer, where)
    return spans


cdef int64_t _position(object at):
    """No range reaches as far as a number that no int64 holds."""
    return max(INT64_MIN, min(at, INT64_MAX))


cdef class Ranges:
    cdef object _ranges
    cdef const byte_range *_first
    cdef int64_t _count

    def __init__(self, const int64_t[::1] chunks not None, int64_t end, *kinds):
        cdef int64_t num_chunks = chunks.shape[0] // len(CHUNK_FIELDS), count = 0
        # Of each chunk: its pages, the two page indexes, its filter.
        room = num_chunks * (len(kinds) + ("indexes" in kinds)) or 1
        self._ranges = array("q", bytes(sizeof(byte_range) * room))
        cdef int64_t[::1] out = self._ranges
        cdef byte_range *first = <byte_range *>&out[0]
        cdef const chunk_span *spans = <const chunk_span *>&chunks[0] if num_chunks else NULL
        for kind in dict.fromkeys(kinds):
            if kind == "pages":
                count += layout_pages(spans, num_chunks, end, first + count)
            elif kind == "indexes":
                count += layout_indexes(spans, num_chunks, end, first + count)
            elif kind == "filters":
                count += layout_filters(spans, num_chunks, end, first + count)
            else:
                raise ValueError(f"kind: {kind!r}, expected pages, indexes or filters")
        with nogil:
            layout_order(first, count)
        self._first, self._count = first, count

    @property
    def last(self):
        return self._first[self._count - 1].reach if self._count else 0

    def overlap(self, start, end):
        cdef int64_t before = layout_before(self._first, self._count, _position(end))
        return before > 0 and self._first[before - 1].reach > _position(start)

    def overlap_another(self, start, end):
        return bool(
            layout_overlap_another(self._first, self._count, _position(start), _position(end)))

    def sharing(self, start, end):
        cdef int64_t before = layout_before(self._first, self._count, _position(end)), i
        cdef int64_t after = _position(start)
        return [
            (self._first[i].start, self._first[i].end)
            for i in range(before) if self._first[i].end > after
        ]

    def num_at(self, start):
        cdef int64_t at = _position(start)
        return layout_before(self._first, self._count, _position(start + 1)) - layout_before(
            self._first, self._count, at)


def ordinary_filters(
        const uint8_t[::1] data not None, int64_t base, const int64_t[::1] offsets not None,
        const int64_t[::1] lengths not None, Ranges everything not None):
    cdef int64_t count = offsets.shape[0], size = data.shape[0], i
    if lengths.shape[0] != count:
        raise ValueError(f"lengths: {lengths.shape[0]}, expected {count}")
    if count == 0:
        return []
    starts = array("q", bytes(8 * count))
    cdef int64_t[::1] begins = starts
    for i in range(count):
        if not 0 <= base <= offsets[i] or not 0 <= lengths[i] <= size - (offsets[i] - base):
            raise ValueError(f"offsets: {offsets[i]}: outside the {size} bytes from {base}")
        begins[i] = offsets[i] - base
    room = bytearray(sizeof(ordinary_filter) * count)
    cdef uint8_t[::1] memory = room
    cdef ordinary_filter *found = <ordinary_filter *>&memory[0]
    cdef int answer
    with nogil:
        answer = c_ordinary_filters(_bytes(data), &begins[0], &lengths[0], count, found)
    if answer != 0:
        raise MemoryError
    return [
        (found[i].header_bytes, found[i].num_bytes, found[i].bits_set, found[i].fpp)
        if found[i].header_bytes and not layout_overlap_another(
            everything._first, everything._count, offsets[i], offsets[i] + lengths[i])
        else None
        for i in range(count)
    ]
