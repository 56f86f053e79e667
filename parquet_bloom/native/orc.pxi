# Values of ORC.


cdef int64_t _orc(int64_t answer, str what) except -1:
    if answer == ORC_DAMAGED:
        raise ValueError(f"{what} is damaged")
    if answer < 0:
        raise OverflowError(f"{what} is too large")
    return answer


cdef class OrcIntegers:
    cdef orc_integer_runs _runs

    def __init__(self, int version, bint is_signed):
        if version not in (1, 2):
            raise ValueError(f"version: {version}, expected 1 or 2")
        self._runs.version = version
        self._runs.is_signed = is_signed
        self._runs.next = self._runs.count = 0

    def decode(
            self, const uint8_t[::1] data not None, int64_t start, int64_t[::1] values not None):
        cdef int64_t decoded = 0
        self._runs.at = _start(data, start)
        if values.shape[0]:
            with nogil:
                decoded = orc_integers(
                    _bytes(data), data.shape[0], &self._runs, <uint64_t *>&values[0],
                    values.shape[0])
        return _orc(decoded, "a run"), self._runs.at


cdef class OrcBytes:
    cdef orc_byte_runs _runs

    def __init__(self):
        self._runs.left = 0

    def decode(
            self, const uint8_t[::1] data not None, int64_t start, uint8_t[::1] values not None):
        cdef int64_t decoded = 0
        self._runs.at = _start(data, start)
        if values.shape[0]:
            with nogil:
                decoded = orc_bytes(
                    _bytes(data), data.shape[0], &self._runs, &values[0], values.shape[0])
        return decoded, self._runs.at


def orc_decimals(const uint8_t[::1] data not None, int64_t start, uint64_t[::1] words not None):
    cdef int64_t at = _start(data, start), decoded = 0
    if words.shape[0] % 2:
        raise ValueError(f"words: {words.shape[0]}, expected two for each number")
    if words.shape[0]:
        with nogil:
            decoded = c_orc_decimals(
                _bytes(data), data.shape[0], &at, <orc_decimal *>&words[0], words.shape[0] // 2)
    return _orc(decoded, "a number"), at


def orc_rescale(uint64_t[::1] words not None, const int64_t[::1] scales not None, int64_t scale):
    cdef int answer
    if words.shape[0] != 2 * scales.shape[0]:
        raise ValueError(f"words: {words.shape[0]}, scales: {scales.shape[0]}")
    if not 0 <= scale <= 38:
        raise ValueError(f"scale: {scale}, expected 0 to 38")
    if scales.shape[0]:
        with nogil:
            answer = c_orc_rescale(<orc_decimal *>&words[0], &scales[0], scales.shape[0], scale)
        _orc(answer, "a number or its scale")


def orc_narrow(int64_t[::1] values not None, int bits):
    if not 1 <= bits <= 64:
        raise ValueError(f"bits: {bits}, expected 1 to 64")
    if values.shape[0]:
        with nogil:
            c_orc_narrow(&values[0], values.shape[0], bits)


def orc_bits(const uint8_t[::1] packed not None, size_t first, size_t count):
    cdef int64_t num_set = 0
    if first > 8 * <size_t>packed.shape[0] or count > 8 * <size_t>packed.shape[0] - first:
        raise ValueError(f"bits: {first} and {count}, expected {8 * packed.shape[0]}")
    bits = PyByteArray_FromStringAndSize(NULL, count)
    cdef uint8_t[::1] out = bits
    if count:
        with nogil:
            num_set = c_orc_bits(&packed[0], first, count, &out[0])
    return memoryview(bits).cast("?"), num_set


def orc_shift(int64_t[::1] seconds not None, int64_t by):
    cdef int answer
    if seconds.shape[0]:
        with nogil:
            answer = c_orc_shift(&seconds[0], seconds.shape[0], by)
        _orc(answer, "a time")


cdef Py_ssize_t _num_times(const int64_t[::1] seconds, const int64_t[::1] nanos) except -1:
    if seconds.shape[0] != nanos.shape[0]:
        raise ValueError(f"seconds: {seconds.shape[0]}, nanoseconds: {nanos.shape[0]}")
    return seconds.shape[0]


def orc_settle(int64_t[::1] seconds not None, int64_t[::1] nanos not None):
    cdef int answer
    if _num_times(seconds, nanos):
        with nogil:
            answer = c_orc_settle(&seconds[0], &nanos[0], seconds.shape[0])
        _orc(answer, "nanoseconds")


def orc_millis(
        const int64_t[::1] seconds not None, const int64_t[::1] nanos not None, int64_t low,
        int64_t high):
    cdef bint is_near = False
    millis = _int64s(_num_times(seconds, nanos))
    cdef int64_t[::1] out = millis
    if seconds.shape[0]:
        with nogil:
            is_near = c_orc_millis(
                &seconds[0], &nanos[0], seconds.shape[0], low, high, &out[0])
    return millis, is_near


cdef object _int64s(Py_ssize_t count):
    """Room for numbers, without numpy."""
    return memoryview(PyByteArray_FromStringAndSize(NULL, 8 * count)).cast("q")


def orc_starts(const int64_t[::1] lengths not None, int64_t limit):
    cdef int64_t end
    starts = _int64s(lengths.shape[0] + 1)
    cdef int64_t[::1] out = starts
    with nogil:
        end = c_orc_starts(
            &lengths[0] if lengths.shape[0] else NULL, lengths.shape[0], limit, &out[0])
    _orc(end, "a length")
    return starts


cdef object _no_entry(int64_t num_entries):
    return ValueError(f"an entry is not among the {num_entries} of the dictionary")


def orc_used(const int64_t[::1] picks not None, int64_t num_entries):
    cdef int64_t num_used
    marks = bytearray(num_entries)
    used = _int64s(min(num_entries, picks.shape[0]))
    cdef uint8_t[::1] is_used = marks
    cdef int64_t[::1] out = used
    if not picks.shape[0]:
        return used
    with nogil:
        num_used = c_orc_used(
            &picks[0], picks.shape[0], <uint8_t *>_bytes(is_used), num_entries,
            &out[0] if out.shape[0] else NULL)
    if num_used < 0:
        raise _no_entry(num_entries)
    return used[:num_used]


def orc_picked(
        const uint8_t[::1] data not None, const int64_t[::1] starts not None,
        const int64_t[::1] picks not None, int64_t limit):
    cdef int64_t end, num_entries = _num_slices(data, starts, 0)
    picked_starts = _int64s(picks.shape[0] + 1)
    cdef int64_t[::1] out = picked_starts
    cdef const int64_t *first = &picks[0] if picks.shape[0] else NULL
    with nogil:
        end = c_orc_picked_starts(&starts[0], num_entries, first, picks.shape[0], limit, &out[0])
    if end == ORC_DAMAGED:
        raise _no_entry(num_entries)
    _orc(end, "the size")
    picked = PyByteArray_FromStringAndSize(NULL, end)
    cdef uint8_t[::1] bytes_out = picked
    if end:
        with nogil:
            c_orc_pick(&data[0], &starts[0], first, picks.shape[0], &bytes_out[0])
    return memoryview(picked), picked_starts


def orc_extremes(const uint8_t[::1] data not None, const int64_t[::1] starts not None):
    cdef int64_t count = _num_slices(data, starts, 0), least = 0, greatest = 0
    if not count:
        raise ValueError("no text")
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    with nogil:
        c_orc_extremes(first, &starts[0], count, &least, &greatest)
    return least, greatest
