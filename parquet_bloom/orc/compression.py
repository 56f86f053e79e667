"""Compression in ORC files: streams and footers, but not the postscript, are sequences of chunks.

    chunk    | length << 1 | is original (24 bits, little-endian) | length bytes |

A chunk expands to at most the postscript's compressionBlockSize. Original chunks are stored
uncompressed, whatever the codec. A file without a codec has no chunks.

Spec: apache/orc-format, specification/ORCv1.md "Compression".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO
from typing import Any, Final

import cramjam

from parquet_bloom.codecs import lz4_into, zstd_into
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

# To decompress at a time, if chunks are smaller: about what a processor's nearest caches hold.
_PART_BYTES: Final = 1 << 18

# By codec: decompress into a buffer, compress.
_FUNCTIONS: dict[int, tuple[Callable[[memoryview, memoryview], int], Compressor]] = {
    1: (cramjam.deflate.decompress_into, cramjam.deflate.compress),
    2: (cramjam.snappy.decompress_raw_into, cramjam.snappy.compress_raw),
    4: (lz4_into, partial(cramjam.lz4.compress_block, store_size=False)),
    5: (zstd_into, cramjam.zstd.compress),
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
        parts = self.parts((data,))
        while part := parts.following(b""):
            expanded += len(part)
            if expanded > MAX_EXPANDED_BYTES and self.codec != NONE:
                raise FormatError(f"expands to more than {MAX_EXPANDED_BYTES} bytes")
            # While room for more is made.
            check_fits("decompressed, it takes", 2 * expanded)
            out.write(part)
        return out.getvalue()

    def parts(self, stored: Iterable[bytes]) -> PieceReader | Chunks:
        """What is `stored`, in pieces that may end anywhere, to be decompressed in parts."""
        return PieceReader(stored) if self.codec == NONE else Chunks(self, stored)

    def decompress(self, chunk: memoryview, at: int, room: memoryview) -> int:
        """Decompress the chunk at byte `at` into `room`; its size. Raises FormatError."""
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

    def most_bytes(self, num_bytes: int) -> int:
        """What so many bytes take at the most: as original chunks."""
        num_chunks = 0 if self.codec == NONE else -(-num_bytes // self.block_bytes)
        return num_bytes + num_chunks * _HEADER_BYTES

    def _in_chunks(self, data: bytes, compress: Compressor) -> bytes:
        if self.codec == NONE:
            return data
        view = memoryview(data)
        return b"".join(
            part
            for at in range(0, len(data), self.block_bytes)
            for part in _chunk(view[at : at + self.block_bytes], compress)
        )


class PieceReader:
    """Bytes that come in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")

    def following(self, rest: memoryview | bytes) -> bytes | None:
        """The next piece behind `rest`, the end of the one before; None if there is none."""
        piece = next(filter(len, self._pieces), None)
        return b"".join([rest, piece]) if piece and len(rest) else piece

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


class Chunks:
    """Compressed chunks, of which as many are decompressed at a time as have room, one after the other:
    to go on with a part takes about as long as to decode a chunk. The room is used again."""

    def __init__(self, compression: Compression, stored: Iterable[bytes]) -> None:
        self._compression = compression
        self._stored = PieceReader(stored)
        self._at = 0
        self._room = memoryview(b"")
        self._damage: FormatError | None = None

    def following(self, rest: memoryview | bytes) -> memoryview | None:
        """The next chunks behind `rest`, the end of the part before, which holds until now; None if there
        are none. Raises FormatError, once all before the damage was returned, UnsupportedError."""
        block = self._compression.block_bytes
        if self._compression.codec not in _FUNCTIONS:
            raise UnsupportedError(f"codec {self._compression.name} is not supported")
        start = end = len(rest)
        # Most streams of small files have one chunk.
        room = max(_PART_BYTES if self._at else 0, start + block)
        if len(self._room) < room:
            self._room, rest = memoryview(bytearray(room)), bytes(rest)
        self._room[:start] = rest
        while self._damage is None and end + block <= len(self._room):
            try:
                size = self._next(self._room[end : end + block])
            except FormatError as error:
                self._damage = error
                break
            if size is None:
                break
            end += size
        if end == start and self._damage is not None:
            raise self._damage
        return self._room[:end] if end > start else None

    def _next(self, room: memoryview) -> int | None:
        """Decompress the next chunk into `room`; its size, or None at the end."""
        header = self._stored.take(_HEADER_BYTES)
        if not header:
            return None
        at, block = self._at, len(room)
        number = int.from_bytes(header, "little")
        length = number >> 1
        chunk = self._stored.take(length)
        found = len(header) + len(chunk)
        if found < _HEADER_BYTES + length:
            raise FormatError(
                f"chunk at byte {at}: ends at {at + _HEADER_BYTES + length}, expected {at + found}"
            )
        if length > block:
            raise FormatError(f"chunk at byte {at}: {length} bytes, expected at most {block}")
        self._at += found
        if number & 1:
            room[:length] = chunk
            return length
        return self._compression.decompress(chunk, at, room)


def _chunk(data: memoryview, compress: Compressor) -> tuple[bytes, bytes | memoryview]:
    smaller = compress(data)
    is_original = len(smaller) >= len(data)
    payload = data if is_original else bytes(smaller)
    return (len(payload) << 1 | is_original).to_bytes(_HEADER_BYTES, "little"), payload
