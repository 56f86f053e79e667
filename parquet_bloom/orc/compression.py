"""Compression in ORC files: streams and footers, but not the postscript, are sequences of chunks.

    chunk    | length << 1 | is original (24 bits, little-endian) | length bytes |

A chunk expands to at most the postscript's compressionBlockSize. Original chunks are stored
uncompressed, whatever the codec. A file without a codec has no chunks.

Spec: apache/orc-format, specification/ORCv1.md "Compression".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import cramjam

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.parallel import check_fits

Compressor = Callable[[bytes], Any]

NONE: Final = 0
CODECS = ("NONE", "ZLIB", "SNAPPY", "LZO", "LZ4", "ZSTD")

DEFAULT_BLOCK_BYTES: Final = 262_144
# The largest 23-bit length; writers refuse more.
MAX_BLOCK_BYTES: Final = (1 << 23) - 1

# Many times the largest footer or index stream: tiny chunks that expand to whole blocks must not
# exhaust memory.
MAX_EXPANDED_BYTES: Final = 1 << 28

_HEADER_BYTES = 3

# By codec: decompress into a buffer, compress.
_FUNCTIONS: dict[int, tuple[Callable[[memoryview, Any], int], Compressor]] = {
    1: (cramjam.deflate.decompress_into, cramjam.deflate.compress),
    2: (cramjam.snappy.decompress_raw_into, cramjam.snappy.compress_raw),
    4: (cramjam.lz4.decompress_block_into, partial(cramjam.lz4.compress_block, store_size=False)),
    5: (cramjam.zstd.decompress_into, cramjam.zstd.compress),
}


@dataclass(frozen=True, slots=True)
class Compression:
    """The codec of a file, and the most bytes that one of its chunks expands to."""

    codec: int = NONE
    block_bytes: int = DEFAULT_BLOCK_BYTES

    @property
    def name(self) -> str:
        """The codec's name in the format, or its number."""
        return CODECS[self.codec] if self.codec < len(CODECS) else str(self.codec)

    def expand(self, data: bytes) -> bytes:
        """Decompress the chunks in `data`.

        Raises FormatError for chunks that are damaged or expand to too much, UnsupportedError for
        an unknown codec and for more than fits the memory budget.
        """
        chunks = []
        expanded = 0
        for chunk in self.parts(data):
            expanded += len(chunk)
            if expanded > MAX_EXPANDED_BYTES and self.codec != NONE:
                raise FormatError(f"expands to more than {MAX_EXPANDED_BYTES} bytes")
            # In chunks, and as one.
            check_fits("decompressed, it takes", 2 * expanded)
            chunks.append(chunk)
        return b"".join(chunks)

    def parts(self, stored: bytes) -> Iterator[memoryview | bytes]:
        """Decompress chunk by chunk. Raises as expand."""
        data = memoryview(stored)
        if self.codec == NONE:
            yield data
            return
        if self.codec not in _FUNCTIONS:
            raise UnsupportedError(f"codec {self.name} is not supported")
        room = bytearray(self.block_bytes)
        at = 0
        while at < len(data):
            header = int.from_bytes(data[at : at + _HEADER_BYTES], "little")
            start = at + _HEADER_BYTES
            end = start + (header >> 1)
            if end > len(data):
                raise FormatError(f"chunk at byte {at}: ends at {end}, expected {len(data)}")
            if end - start > self.block_bytes:
                raise FormatError(
                    f"chunk at byte {at}: {end - start} bytes, expected at most {self.block_bytes}"
                )
            if header & 1:
                yield data[start:end]
            else:
                length = self._decompress(data[start:end], at, room)
                part = memoryview(room)[:length]
                if length == self.block_bytes:
                    yield part
                    room = bytearray(self.block_bytes)
                else:
                    yield bytes(part)
            at = end

    def _decompress(self, chunk: memoryview, at: int, room: bytearray) -> int:
        try:
            return _FUNCTIONS[self.codec][0](chunk, room)
        except cramjam.DecompressionError as error:
            raise FormatError(f"chunk at byte {at}: {self.name}: {error}") from None

    def stored(self, data: bytes) -> bytes:
        """`data` as original chunks."""
        return self._in_chunks(data, lambda part: part)

    def compressed(self, data: bytes) -> bytes:
        """`data` as chunks, each compressed if that makes it smaller."""
        compress = _FUNCTIONS[self.codec][1] if self.codec in _FUNCTIONS else lambda part: part
        return self._in_chunks(data, compress)

    def _in_chunks(self, data: bytes, compress: Compressor) -> bytes:
        if self.codec == NONE:
            return data
        return b"".join(
            part
            for at in range(0, len(data), self.block_bytes)
            for part in _chunk(data[at : at + self.block_bytes], compress)
        )


def _chunk(data: bytes, compress: Compressor) -> tuple[bytes, bytes]:
    smaller = bytes(compress(data))
    is_original = len(smaller) >= len(data)
    payload = data if is_original else smaller
    return (len(payload) << 1 | is_original).to_bytes(_HEADER_BYTES, "little"), payload
