"""An array of longs as Java serializes it, which is how parquet-java once put a bitset into bytes.

    AC ED 00 05                    stream magic and version
    75                             an array
    72 00 02 "[J" 78 20 04 B5 12 B1 75 93   of the class long[], with its serialVersionUID
    02 00 00 78 70                 serializable, no fields, end of the class, no superclass
    count (4) | long (8) | ...     big-endian

Sources: Java Object Serialization Specification, "Object Serialization Stream Protocol";
parquet-java pull request 215.
"""

from __future__ import annotations

from parquet_bloom.errors import FilterError

_HEADER = bytes.fromhex("aced0005 75 72 00025b4a 782004b512b17593 02 0000 78 70")
_COUNT_BYTES = 4
WORD_BYTES = 8


def serialized(bitset: bytes) -> bytes:
    """The stream of a long[] whose longs are those of `bitset`, which has them little-endian."""
    count = len(bitset) // WORD_BYTES
    return _HEADER + count.to_bytes(_COUNT_BYTES, "big") + _swapped(bitset)


def deserialized(data: bytes) -> bytes:
    """The longs of a stream, little-endian. Raises FilterError if it is anything but one long[]."""
    if not data.startswith(_HEADER):
        raise FilterError(
            f"bitSet: {len(data)} bytes, expected whole longs, or a long[] as Java serializes it"
        )
    start = len(_HEADER) + _COUNT_BYTES
    count = int.from_bytes(data[len(_HEADER) : start], "big")
    if len(data) - start != WORD_BYTES * count:
        raise FilterError(
            f"bitSet: {len(data)} bytes of Java's long[{count}], expected"
            f" {start + WORD_BYTES * count}"
        )
    return _swapped(data[start:])


def _swapped(words: bytes) -> bytes:
    """Each 8 bytes the other way round."""
    swapped = bytearray(len(words))
    for place in range(WORD_BYTES):
        swapped[place::WORD_BYTES] = words[WORD_BYTES - 1 - place :: WORD_BYTES]
    return bytes(swapped)
