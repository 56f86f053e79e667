"""Decompression of pages.

The libraries do the work (zlib, and pyarrow for the others); what is ours is Parquet's framing and
the check that a page has exactly the size that its header promises, since a shorter one would leave
arbitrary memory at its end.

Spec: parquet-format, Compression.md.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

from parquet_bloom.errors import PageError, UnsupportedError
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec

Buffer = Any


def decompress(codec: int, data: Buffer, size: int) -> Buffer:
    """The `size` bytes (uncompressed) that `data` stands for.

    Raises PageError if they are more, fewer or damaged, UnsupportedError for another codec.
    """
    check_supported(codec)
    if size == 0:
        return b""
    try:
        plain = _CODECS[codec](data, size)
    except (OSError, ValueError, zlib.error) as error:
        raise PageError(f"{codec_name(codec)}: {str(error).splitlines()[0]}") from None
    if len(plain) != size:
        raise PageError(f"{codec_name(codec)}: {len(plain)} bytes, expected {size}")
    return plain


def check_supported(codec: int) -> None:
    """Raise UnsupportedError unless `codec` can be decompressed."""
    if codec not in _CODECS:
        raise UnsupportedError(f"codec {codec_name(codec)} is not supported")


def codec_name(codec: int) -> str:
    """The format's name of a codec, or its number."""
    return str(CompressionCodec._VALUES_TO_NAMES.get(codec, codec))


@cache
def _arrow(name: str) -> Any:
    import pyarrow as pa

    return pa.Codec(name)


def _uncompressed(data: Buffer, size: int) -> Buffer:
    return data


def _snappy(data: Buffer, size: int) -> Buffer:
    """Snappy says at its start how long its output is."""
    length = shift = 0
    for byte in bytes(data[:5]):
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if length != size:
        raise ValueError(f"{length} bytes, expected {size}")
    return _arrow("snappy").decompress(data, decompressed_size=size)


def _gzip(data: Buffer, size: int) -> Buffer:
    """One or several members (or zlib streams) one after the other."""
    plain = bytearray()
    rest = bytes(data)
    while rest and len(plain) <= size:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        plain += member.decompress(rest, size + 1 - len(plain))
        if not member.eof:
            if len(plain) <= size:
                raise ValueError("truncated")
            break
        rest = member.unused_data
    return plain


def _brotli(data: Buffer, size: int) -> Buffer:
    """As a stream, which tells how long the output is."""
    import pyarrow as pa

    return pa.CompressedInputStream(pa.BufferReader(data), "brotli").read(size + 1)


def _zstd(data: Buffer, size: int) -> Buffer:
    return _arrow("zstd").decompress(data, decompressed_size=size)


def _lz4_raw(data: Buffer, size: int) -> Buffer:
    """pyarrow does not tell how much came out, so one byte less must be too little."""
    codec = _arrow("lz4_raw")
    plain = codec.decompress(data, decompressed_size=size)
    try:
        codec.decompress(data, decompressed_size=size - 1)
    except OSError:
        return plain
    raise ValueError(f"fewer bytes than {size}")


def _lz4(data: Buffer, size: int) -> Buffer:
    """The deprecated codec: Hadoop's framing, or a bare block as parquet-cpp once wrote it."""
    blocks = _hadoop_blocks(memoryview(data))
    if blocks is None or sum(length for _, length in blocks) != size:
        return _lz4_raw(data, size)
    return b"".join(bytes(_lz4_raw(block, length)) for block, length in blocks)


def _hadoop_blocks(data: memoryview) -> list[tuple[memoryview, int]] | None:
    """The LZ4 blocks in Hadoop's framing and their uncompressed lengths; None if it is not that.

    | uncompressed size | compressed size | block | compressed size | block | ... | and again
    Sizes are big-endian; blocks follow until they make up the uncompressed size.
    """
    blocks = []
    at = wanted = 0
    while at < len(data):
        if wanted == 0:
            wanted = int.from_bytes(data[at : at + 4], "big")
            at += 4
        compressed = int.from_bytes(data[at : at + 4], "big")
        at += 4
        block = data[at : at + compressed]
        length = _lz4_block_length(block)
        if len(block) != compressed or not 0 < length <= wanted:
            return None
        blocks.append((block, length))
        at += compressed
        wanted -= length
    return blocks if wanted == 0 else None


def _lz4_block_length(block: memoryview) -> int:
    """How many bytes an LZ4 block stands for: the sum of its literals and matches."""
    at = total = 0
    while at < len(block):
        token = block[at]
        literals, at = _lz4_run(block, at + 1, token >> 4)
        at += literals
        total += literals
        if at < len(block):
            match, at = _lz4_run(block, at + 2, token & 15)
            total += match + 4
    return total


def _lz4_run(block: memoryview, at: int, length: int) -> tuple[int, int]:
    more = length == 15
    while more and at < len(block):
        length += block[at]
        more = block[at] == 255
        at += 1
    return length, at


_CODECS: dict[int, Callable[[Buffer, int], Buffer]] = {
    CompressionCodec.UNCOMPRESSED: _uncompressed,
    CompressionCodec.SNAPPY: _snappy,
    CompressionCodec.GZIP: _gzip,
    CompressionCodec.BROTLI: _brotli,
    CompressionCodec.ZSTD: _zstd,
    CompressionCodec.LZ4: _lz4,
    CompressionCodec.LZ4_RAW: _lz4_raw,
}
