"""Decompression of pages, and Parquet's framing of the codecs.

A page must decompress to exactly the size in its header. That size is refused if the codec cannot
reach it, or the memory budget has no room for it; what is within takes memory only as far as it is
written to.

Spec: parquet-format, Compression.md.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import NamedTuple

import cramjam

from parquet_bloom.codecs import lz4_into, zstd_into
from parquet_bloom.errors import PageError, UnreadableError
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec

GZIP_MAGIC = b"\x1f\x8b"

# The most bytes that one compressed byte can stand for. A copy of 64 bytes takes 3 in Snappy, one of
# 258 bytes takes 2 bits in DEFLATE; a length grows by 255 with each byte in LZ4; a block of 128 KiB
# takes 4 bytes in Zstandard. Brotli has no such limit: 27 bytes stand for 16 MiB.
# Source: format_description.txt of Snappy, RFC 1951, lz4_Block_format.md, RFC 8878.
_MOST_EACH = {
    CompressionCodec.SNAPPY: 22,
    CompressionCodec.GZIP: 1032,
    CompressionCodec.ZSTD: 32768,
    CompressionCodec.LZ4: 255,
    CompressionCodec.LZ4_RAW: 255,
}

# No header can say more.
MAX_PAGE_BYTES = (1 << 31) - 1

# From here on, memory is not cleared before it is used, which would make all of it resident.
LARGE_BYTES = 16 << 20


class PageBuffer:
    """Memory that one page after the other is decompressed into, each in place of the one before:
    memory that is new takes a third as long as the decompression itself."""

    def __init__(self) -> None:
        self._memory = bytearray()

    def room(self, size: int) -> memoryview:
        """The first `size` bytes of it."""
        return self.all(size)[:size]

    def all(self, least: int = 0) -> memoryview:
        """All of it, at least so many bytes."""
        if least > len(self._memory):
            self._memory = bytearray(least)
        return memoryview(self._memory)


# What a thread keeps from one chunk to the next. A dictionary and a page, as large as writers make them by
# default, take half of it.
KEPT_BYTES = 4 << 20


class ChunkBuffers:
    """What the pages of one column chunk after the other are decompressed into. For one thread."""

    def __init__(self) -> None:
        # What pages are read into is freed, and had again for the next ones.
        _kernel.keep_freed_memory(KEPT_BYTES)
        self.page = PageBuffer()
        # Lasts until there is another dictionary.
        self.dictionary = PageBuffer()

    @property
    def num_bytes(self) -> int:
        return len(self.page.all()) + len(self.dictionary.all())


def decompress(
    codec: int | None,
    data: memoryview,
    size: int,
    held: int = 0,
    buffer: PageBuffer | None = None,
) -> memoryview:
    """Decompress `data` into exactly `size` bytes, beside `held` bytes of the same chunk; into
    `buffer` if there is one and the page is not large.

    Raises PageError if they are damaged or of another size, UnreadableError for another codec and
    for more than fits the memory budget.
    """
    name = check_supported(codec)
    if codec is None or codec == CompressionCodec.UNCOMPRESSED:
        plain, length = data, len(data)
    else:
        if size > (len(data) + 1) * _MOST_EACH.get(codec, size):
            raise PageError(f"{name}: {len(data)} bytes, which cannot decompress to {size} bytes")
        check_fits(f"{name}: a page takes", held + len(data) + size)
        out = _room(size, buffer)
        try:
            length = _CODECS[codec](data, out)
        except cramjam.DecompressionError as error:
            raise PageError(f"{name}: {error}") from None
        plain = out
    if length != size:
        raise PageError(f"{name}: {length} bytes, expected {size}")
    return plain


def _room(size: int, buffer: PageBuffer | None) -> memoryview:
    if size >= LARGE_BYTES:
        return memoryview(mmap.mmap(-1, size))
    return buffer.room(size) if buffer else memoryview(bytearray(size))


class Codec(NamedTuple):
    """`decompress_into(data, out)` returns the number of bytes that it has written to `out`, or raises
    `error`; it is None for bytes that are not compressed. Of more than `most_each` for each byte of
    `data`, none has to be asked for."""

    decompress_into: Callable[[memoryview, memoryview], int] | None
    error: type[Exception]
    most_each: int


def codec_of(codec: int | None) -> Codec:
    """How the kernel decompresses. Raises UnreadableError if that cannot be done."""
    check_supported(codec)
    known = codec if codec is not None else CompressionCodec.UNCOMPRESSED
    return Codec(
        _CODECS.get(known), cramjam.DecompressionError, _MOST_EACH.get(known, MAX_PAGE_BYTES)
    )


def check_supported(codec: int | None) -> str:
    """The name of a codec. Raises UnreadableError if it cannot be decompressed."""
    name = str(CompressionCodec._VALUES_TO_NAMES.get(codec, codec))
    if codec != CompressionCodec.UNCOMPRESSED and codec not in _CODECS:
        raise UnreadableError(f"codec {name} is not supported")
    return name


def _gzip(data: memoryview, out: memoryview) -> int:
    """One or several members; some writers write zlib instead."""
    if data[:2] == GZIP_MAGIC:
        return cramjam.gzip.decompress_into(data, out)
    return cramjam.zlib.decompress_into(data, out)


def _lz4(data: memoryview, out: memoryview) -> int:
    """The deprecated codec: Hadoop's framing, or a bare block as parquet-cpp used to write."""
    try:
        return _hadoop_lz4(data, out)
    except cramjam.DecompressionError:
        return lz4_into(data, out)


def _hadoop_lz4(data: memoryview, out: memoryview) -> int:
    """Hadoop's framing of LZ4 blocks; sizes are big-endian.

    | uncompressed size | compressed size | block | compressed size | block | ... | repeated

    Blocks follow until they add up to the uncompressed size; after a size of 0, one of nothing or none.
    """
    done = at = wanted = 0
    while at < len(data):
        if done == wanted:
            wanted += int.from_bytes(data[at : at + 4], "big")
            at += 4
            if done == wanted and at == len(data):
                break
        compressed = int.from_bytes(data[at : at + 4], "big")
        at += 4
        block = data[at : at + compressed]
        if len(block) != compressed or not done <= wanted <= len(out):
            raise cramjam.DecompressionError("no Hadoop framing")
        done += lz4_into(block, memoryview(out)[done:wanted])
        at += compressed
    return done


_CODECS: dict[int, Callable[[memoryview, memoryview], int]] = {
    CompressionCodec.SNAPPY: cramjam.snappy.decompress_raw_into,
    CompressionCodec.GZIP: _gzip,
    CompressionCodec.BROTLI: cramjam.brotli.decompress_into,
    CompressionCodec.ZSTD: zstd_into,
    CompressionCodec.LZ4: _lz4,
    CompressionCodec.LZ4_RAW: lz4_into,
}
