"""Room for files, for which Python only has a call that writes to each block where none can be reserved."""

cdef extern from "<fcntl.h>" nogil:
    int c_fallocate "fallocate"(int file, int mode, int64_t start, int64_t length)
    enum: FALLOC_FL_KEEP_SIZE


def reserve(int file, int64_t start, int64_t length):
    cdef int failed
    with nogil:
        failed = c_fallocate(file, FALLOC_FL_KEEP_SIZE, start, length)
    return not failed
