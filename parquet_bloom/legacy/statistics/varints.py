"""Many Thrift varints at once: the elements of a list<i64>, as numpy arrays.

    varint   7 bits to a byte, the lowest first; every byte but the last has its high bit set
    zigzag   0, -1, 1, -2, ... as 0, 1, 2, 3, ...

Spec: thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BITS = 7
_MORE = 0x80
# Of the longest varint of 64 bits.
MAX_BYTES = 10


def encode(values: NDArray[np.int64]) -> bytes:
    """Consecutive zigzag varints of `values`, shape (n,)."""
    left = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(left.size, np.int64)
    for length in range(1, MAX_BYTES):
        lengths += left >= np.uint64(1 << _BITS * length)
    ends = np.cumsum(lengths)
    out = np.zeros(int(ends[-1]) if ends.size else 0, np.uint8)
    for place in range(MAX_BYTES):
        (longer,) = np.nonzero(lengths > place)
        low = (left[longer] >> np.uint64(_BITS * place)) & np.uint64(_MORE - 1)
        more = np.where(lengths[longer] > place + 1, _MORE, 0)
        out[ends[longer] - lengths[longer] + place] = low | more.astype(np.uint64)
    return out.tobytes()


def decode(data: bytes) -> NDArray[np.int64]:
    """The numbers in `data`, whole zigzag varints: shape (n,)."""
    stored = np.frombuffer(data, np.uint8)
    (last,) = np.nonzero(stored < _MORE)
    starts = np.concatenate(([0], last[:-1] + 1)).astype(np.int64)
    lengths = last - starts + 1
    zigzag = np.zeros(last.size, np.uint64)
    for place in range(min(MAX_BYTES, int(lengths.max(initial=0)))):
        (longer,) = np.nonzero(lengths > place)
        bits = stored[starts[longer] + place].astype(np.uint64) & np.uint64(_MORE - 1)
        zigzag[longer] |= bits << np.uint64(_BITS * place)
    return (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)
