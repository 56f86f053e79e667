"""ORC files that no writer writes, so that every number in them can be a lie.

    file     | ORC | stripe | stripe | ... | metadata | footer | postscript | length |
    stripe   | index streams | data streams | stripe footer |

`forge` puts stripes of given streams together; nothing decodes their data, which is a few bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cramjam
import numpy as np

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.columns import KINDS
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, ROW_INDEX

NONE, ZLIB, SNAPPY, LZO, LZ4, ZSTD = range(6)

DATA = 1
INDEX_KINDS = (ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8)
BLOCK_BYTES = 256

COMPRESSORS: dict[int, Callable[[bytes], Any]] = {
    ZLIB: cramjam.deflate.compress,
    SNAPPY: cramjam.snappy.compress_raw,
    LZ4: lambda data: cramjam.lz4.compress_block(data, store_size=False),
    ZSTD: cramjam.zstd.compress,
}


def chunk(data: bytes, original: bool = False) -> bytes:
    return (len(data) << 1 | original).to_bytes(3, "little") + data


def framed(data: bytes, codec: int, block_bytes: int = BLOCK_BYTES) -> bytes:
    """`data` as writers put it into a file: in chunks, compressed where that makes them smaller."""
    if codec == NONE:
        return data
    out = b""
    for at in range(0, len(data), block_bytes):
        block = data[at : at + block_bytes]
        small = bytes(COMPRESSORS[codec](block)) if codec in COMPRESSORS else block
        out += chunk(small) if len(small) < len(block) else chunk(block, original=True)
    return out


@dataclass
class Stream:
    kind: int
    column: int
    data: bytes


@dataclass
class Stripe:
    """`encrypted`: index streams of an encryption variant, behind the others. `encodings`:
    bloomEncoding by column id. `place` and `footer` override fields."""

    num_rows: int
    streams: Sequence[Stream]
    encrypted: Sequence[Stream] = ()
    encodings: dict[int, int] = field(default_factory=dict)
    timezone: bytes = b"UTC"
    place: dict[str, int] = field(default_factory=dict)
    footer: dict[str, Any] = field(default_factory=dict)


def type_of(kind: str, *children: int, names: Sequence[bytes] = (), **more: Any) -> Any:
    return orc_pb2.Type(kind=KINDS.index(kind), subtypes=children, fieldNames=names, **more)


def table(**columns: str) -> list[Any]:
    """The types of a flat table: `table(id="LONG")`."""
    children = range(1, len(columns) + 1)
    root = type_of("STRUCT", *children, names=[name.encode() for name in columns])
    return [root, *(type_of(kind) for kind in columns.values())]


def forge(
    types: Sequence[Any],
    stripes: Sequence[Stripe],
    *,
    codec: int = NONE,
    stride: int = 100,
    postscript: dict[str, Any] | None = None,
    footer: dict[str, Any] | None = None,
    magic: bytes = b"ORC",
    block_bytes: int = BLOCK_BYTES,
) -> bytes:
    """A file, by ORC Java 2.3.0 unless the footer says otherwise."""
    data = b"ORC"
    places = []

    def framing(data: bytes) -> bytes:
        return framed(data, codec, block_bytes)

    for stripe in stripes:
        written, place = _stripe(stripe, len(types), len(data), framing)
        data += written
        places.append(place)
    told = {
        "headerLength": 3,
        "contentLength": len(data),
        "stripes": places,
        "types": types,
        "numberOfRows": sum(stripe.num_rows for stripe in stripes),
        "rowIndexStride": stride,
        "writer": 0,
        "softwareVersion": b"2.3.0",
    }
    tail = framing(orc_pb2.Footer(**(told | (footer or {}))).SerializeToString())
    said = {
        "footerLength": len(tail),
        "compression": codec,
        "compressionBlockSize": block_bytes,
        "version": [0, 12],
        "writerVersion": 9,
        "magic": magic,
    }
    end = orc_pb2.PostScript(**(said | (postscript or {})))
    if not magic:
        end.ClearField("magic")
    raw = end.SerializeToString()
    return data + tail + raw + bytes([len(raw)])


def _stripe(
    stripe: Stripe, num_columns: int, offset: int, framing: Callable[[bytes], bytes]
) -> tuple[bytes, Any]:
    stored = [framing(stream.data) for stream in stripe.streams]
    hidden = b"".join(stream.data for stream in stripe.encrypted)
    index = len(hidden) + sum(
        len(data) for data, stream in zip(stored, stripe.streams, strict=True)
        if stream.kind in INDEX_KINDS
    )  # fmt: skip
    told = {
        "streams": [
            orc_pb2.Stream(kind=stream.kind, column=stream.column, length=len(data))
            for data, stream in zip(stored, stripe.streams, strict=True)
        ],
        "columns": [
            orc_pb2.ColumnEncoding(kind=2, bloomEncoding=stripe.encodings.get(column, 1))
            for column in range(num_columns)
        ],
        "writerTimezone": stripe.timezone,
    }
    if stripe.encrypted:
        streams = [
            orc_pb2.Stream(kind=stream.kind, column=stream.column, length=len(stream.data))
            for stream in stripe.encrypted
        ]
        told["encryption"] = [orc_pb2.StripeEncryptionVariant(streams=streams)]
    plain = b"".join(stored)
    body = plain[: index - len(hidden)] + hidden + plain[index - len(hidden) :]
    foot = framing(orc_pb2.StripeFooter(**(told | stripe.footer)).SerializeToString())
    place = {
        "offset": offset,
        "indexLength": index,
        "dataLength": len(body) - index,
        "footerLength": len(foot),
        "numberOfRows": stripe.num_rows,
    }
    return body + foot, orc_pb2.StripeInformation(**(place | stripe.place))


def filter_of(hashes: Sequence[int], num_bits: int = 640, num_hashes: int = 5) -> KHashFilter:
    made = KHashFilter.empty(num_bits, num_hashes)
    made.insert_hashes(np.array(hashes, np.uint64))
    return made


def index_of(filters: Sequence[KHashFilter], kind: int = BLOOM_FILTER_UTF8) -> bytes:
    """A stream of filters as other writers have it, without a mark."""
    messages = [
        orc_pb2.BloomFilter(numHashFunctions=filter.num_hashes, bitset=filter.words.tolist())
        if kind == BLOOM_FILTER
        else orc_pb2.BloomFilter(
            numHashFunctions=filter.num_hashes, utf8bitset=bytes(filter.bitset)
        )
        for filter in filters
    ]
    return bytes(orc_pb2.BloomFilterIndex(bloomFilter=messages).SerializeToString())


def row_index(*statistics: dict[str, Any]) -> bytes:
    """A ROW_INDEX stream with these ColumnStatistics."""
    entries = [
        orc_pb2.RowIndexEntry(positions=[0, 0], statistics=orc_pb2.ColumnStatistics(**each))
        for each in statistics
    ]
    return bytes(orc_pb2.RowIndex(entry=entries).SerializeToString())


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
