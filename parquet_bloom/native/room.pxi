"""Room for files, for which Python only has a call that writes to each block where none can be reserved."""

cdef extern from * nogil:
    """
    #include <fcntl.h>

    static int reserve_room(int file, int64_t start, int64_t length) {
    #ifdef FALLOC_FL_KEEP_SIZE
        return fallocate(file, FALLOC_FL_KEEP_SIZE, start, length) == 0;
    #else
        (void)file, (void)start, (void)length;
        return 0;
    #endif
    }
    """
    bint reserve_room(int file, int64_t start, int64_t length)


def reserve(int file, int64_t start, int64_t length):
    cdef bint reserved
    with nogil:
        reserved = reserve_room(file, start, length)
    return reserved
