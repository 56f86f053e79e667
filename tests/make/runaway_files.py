"""Files that take much more memory than they have bytes: pages that are honest, and pages that are
not."""

from make.pages import data_page
from make.parquet_files import Column, forge

from parquet_bloom.parquet.thrift.ttypes import CompressionCodec, Type

# Of a frame of Zstandard: a window of 128 KiB, no checksum, no size.
_FRAME = b"\x28\xb5\x2f\xfd\x00\x38"
_BLOCK_BYTES = 1 << 17
_RAW, _REPEATED = 0, 1


def zstd_zeros(first: bytes, size: int) -> bytes:
    """A frame of `size` bytes: `first`, and zeros. One block of 4 bytes for each 128 KiB.

    Source: RFC 8878, 3.1.1.
    """

    def block(kind: int, num_bytes: int, content: bytes) -> bytes:
        is_last = at + num_bytes == size
        return (num_bytes << 3 | kind << 1 | is_last).to_bytes(3, "little") + content

    at = 0
    frame = _FRAME + block(_RAW, len(first), first)
    for at in range(len(first), size, _BLOCK_BYTES):
        frame += block(_REPEATED, min(_BLOCK_BYTES, size - at), b"\0")
    return frame


def _column(name: str, body: bytes, size: int, num_values: int, type: int, codec: int) -> Column:
    page = data_page(body, num_values, uncompressed_page_size=size)
    meta = {"total_uncompressed_size": size}
    return Column([page], num_values, name, type, codec, meta=meta)


def strings(num_columns: int, length: int) -> bytes:
    """Columns a0, a1, … of one string each, of `length` zeros."""
    body = zstd_zeros(length.to_bytes(4, "little"), 4 + length)
    codec = CompressionCodec.ZSTD
    return forge(
        *(
            _column(f"a{number}", body, 4 + length, 1, Type.BYTE_ARRAY, codec)
            for number in range(num_columns)
        )
    )


def numbers(num_values: int) -> bytes:
    """A column a0 of INT64: 1, and zeros."""
    size = 8 * num_values
    body = zstd_zeros((1).to_bytes(8, "little"), size)
    return forge(_column("a0", body, size, num_values, Type.INT64, CompressionCodec.ZSTD))


def claims(size: int, codec: int) -> bytes:
    """Columns a0 to a7 whose pages have ten bytes, and claim to have `size`."""
    return forge(
        *(_column(f"a{number}", bytes(10), size, 10, Type.INT64, codec) for number in range(8))
    )
