"""Compression in ORC files: streams and footers, but not the postscript, are sequences of chunks.

    chunk    | length << 1 | is original (24 bits, little-endian) | length bytes |

A chunk expands to at most the postscript's compressionBlockSize. Original chunks are stored
uncompressed, whatever the codec. A file without a codec has no chunks.

Spec: apache/orc-format, specification/ORCv1.md "Compression".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from typing import Any, Final

import cramjam

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.parallel import check_fits

Compressor = Callable[[memoryview], Any]

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
        out = BytesIO()
        expanded = 0
        for chunk in self.parts((data,)):
            expanded += len(chunk)
            if expanded > MAX_EXPANDED_BYTES and self.codec != NONE:
                raise FormatError(f"expands to more than {MAX_EXPANDED_BYTES} bytes")
            # While room for more is made.
            check_fits("decompressed, it takes", 2 * expanded)
            out.write(chunk)
        return out.getvalue()

    def parts(self, stored: Iterable[bytes]) -> Iterator[memoryview | bytes]:
        """Decompress chunk by chunk what is `stored`, in pieces that may end anywhere. Each part holds
        until the next one is asked for. Raises as expand."""
        if self.codec == NONE:
            yield from stored
            return
        if self.codec not in _FUNCTIONS:
            raise UnsupportedError(f"codec {self.name} is not supported")
        pieces = _Pieces(stored)
        room = memoryview(bytearray(self.block_bytes))
        at = 0
        while header := pieces.take(_HEADER_BYTES):
            number = int.from_bytes(header, "little")
            length = number >> 1
            chunk = pieces.take(length)
            found = len(header) + len(chunk)
            if found < _HEADER_BYTES + length:
                raise FormatError(
                    f"chunk at byte {at}: ends at {at + _HEADER_BYTES + length}, expected {at + found}"
                )
            if length > self.block_bytes:
                raise FormatError(
                    f"chunk at byte {at}: {length} bytes, expected at most {self.block_bytes}"
                )
            yield chunk if number & 1 else room[: self._decompress(chunk, at, room)]
            at += found

    def _decompress(self, chunk: memoryview, at: int, room: memoryview) -> int:
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
        view = memoryview(data)
        return b"".join(
            part
            for at in range(0, len(data), self.block_bytes)
            for part in _chunk(view[at : at + self.block_bytes], compress)
        )


class _Pieces:
    """Bytes that come in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")

    def take(self, count: int) -> memoryview:
        """The next bytes, or as many as there are."""
        taken, self._piece = self._piece[:count], self._piece[count:]
        if len(taken) == count:
            return taken
        found = [taken]
        while count := count - len(found[-1]):
            if (piece := next(self._pieces, None)) is None:
                break
            self._piece = memoryview(piece)
            taken, self._piece = self._piece[:count], self._piece[count:]
            found.append(taken)
        return memoryview(b"".join(found))


def _chunk(data: memoryview, compress: Compressor) -> tuple[bytes, bytes | memoryview]:
    smaller = compress(data)
    is_original = len(smaller) >= len(data)
    payload = data if is_original else bytes(smaller)
    return (len(payload) << 1 | is_original).to_bytes(_HEADER_BYTES, "little"), payload
