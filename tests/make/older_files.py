"""Split block filters of before xxHash, bit by bit, and files that have them."""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from make.pages import byte_arrays, data_page, int64s
from make.parquet_files import Column, forge
from oracle import hashing
from oracle import specification as spec
from oracle.hashing import x64_128
from xxhash import xxh64_intdigest

from parquet_bloom.legacy.murmur3.pointers import decoded
from parquet_bloom.parquet.thrift.ttypes import Type

PARQUET_SEED = 1361930890

# A union whose member 1 is an empty struct; its place among the fields is one after the last.
FIRST_MEMBER = "1c1c0000"

Hash = Callable[[bytes], int]


def murmur3(seed: int = PARQUET_SEED) -> Hash:
    return lambda value: x64_128(value, seed)[0]


# What parquet-mr and parquet-cpp hashed with.
PARQUET_HASH = murmur3()


def prefixed_hive(value: bytes) -> int:
    return hashing.hive64(len(value).to_bytes(4, "little") + value)


def masked(hash: int, num_blocks: int) -> int:
    assert num_blocks & (num_blocks - 1) == 0
    return hash >> 32 & num_blocks - 1


def multiplied(hash: int, num_blocks: int) -> int:
    return (hash >> 32) * num_blocks >> 32


def bitset(
    values: Iterable[bytes],
    num_blocks: int,
    hash: Hash = PARQUET_HASH,
    select: Callable[[int, int], int] = masked,
    words: str = "<8I",
) -> bytes:
    """The bits of `values`, one after the other as the documents say."""
    blocks = spec.new_filter(num_blocks)
    for value in values:
        hashed = hash(value)
        spec.block_insert(blocks[select(hashed, num_blocks)], hashed & 0xFFFFFFFF)
    return b"".join(struct.pack(words, *block) for block in blocks)


def plain_header(num_bytes: int, header_bytes: int) -> bytes:
    return num_bytes.to_bytes(4, "little") + bytes(header_bytes - 4)


def thrift_header(num_bytes: int) -> bytes:
    """Three fields: numBytes, algorithm, hash."""
    size = spec.varint(2 * num_bytes)
    return b"\x15" + size + bytes.fromhex(FIRST_MEMBER + FIRST_MEMBER) + b"\0"


def enum_header(num_bytes: int) -> bytes:
    """The same from before there were unions."""
    return b"\x15" + spec.varint(2 * num_bytes) + b"\x15\x00\x15\x00\x00"


def page_header(num_bytes: int) -> bytes:
    """A PageHeader of type 4 with both sizes, and field 9."""
    size = spec.varint(2 * num_bytes)
    return b"\x15\x08\x15" + size + b"\x15" + size + b"\x6c" + thrift_header(num_bytes) + b"\0"


def texts(count: int, prefix: str = "value") -> list[bytes]:
    return [f"{prefix} {number}".encode() for number in range(count)]


STORED = texts(100)
BLOCKS = 32
SIZE = 32 * BLOCKS

# Header, hash, block selection, words; and what is said of them.
DRAFTS: dict[str, tuple[Any, ...]] = {
    "2017, 8 bytes": (
        plain_header(SIZE, 8), prefixed_hive, masked, ">8I", "8-byte", "HIVE seed 104729, mask",
    ),
    "2018, 12 bytes, Guava's seed": (
        plain_header(SIZE, 12), murmur3(104729), masked, "<8I", "12-byte",
        "MURMUR3 seed 104729, mask",
    ),
    "2018, 12 bytes": (
        plain_header(SIZE, 12), PARQUET_HASH, masked, "<8I", "12-byte",
        "MURMUR3 seed 1361930890, mask",
    ),
    "2018, enums": (
        enum_header(SIZE), PARQUET_HASH, masked, "<8I", "thrift", "MURMUR3 seed 1361930890, mask",
    ),
    "2018, unions": (
        thrift_header(SIZE), PARQUET_HASH, masked, "<8I", "thrift",
        "MURMUR3 seed 1361930890, mask",
    ),
    "2018, unions, as the document may be read": (
        thrift_header(SIZE), murmur3(0), multiplied, "<8I", "thrift",
        "MURMUR3 seed 0, multiply-shift",
    ),
    "2018, a page": (
        page_header(SIZE), PARQUET_HASH, masked, "<8I", "page", "MURMUR3 seed 1361930890, mask",
    ),
    "2019, 12 bytes": (
        plain_header(SIZE, 12), xxh64_intdigest, masked, "<8I", "12-byte", "XXHASH, mask",
    ),
    "2019, unions": (
        thrift_header(SIZE), xxh64_intdigest, multiplied, "<8I", "thrift",
        "XXHASH, multiply-shift",
    ),
    "2020, 16 bytes": (
        plain_header(SIZE, 16), xxh64_intdigest, multiplied, "<8I", "16-byte",
        "XXHASH, multiply-shift",
    ),
}  # fmt: skip


def draft_of(draft: str, values: Sequence[bytes] = STORED) -> bytes:
    """A filter of this draft: header and bitset."""
    header, hash, select, words, *_ = DRAFTS[draft]
    return header + bitset(values, BLOCKS, hash, select, words)


def file_of(
    folder: Path,
    values: Sequence[bytes],
    stored: bytes,
    *,
    place: str = "footer",
    name: str = "old",
) -> Path:
    """A file of one BYTE_ARRAY column `a` with `stored`, header and bitset, which
    bloom_filter_offset leads to. `place`: `footer`, before it; `before`, before the chunk's pages;
    `inside`, behind its last page, and counted to it."""
    page = data_page(byte_arrays(*values), len(values))
    meta, pages = {}, [page]
    if place == "footer":
        pages += [stored]
        meta = {"bloom_filter_offset": 4 + len(page), "total_compressed_size": len(page)}
    elif place == "inside":
        pages += [stored]
        meta = {"bloom_filter_offset": 4 + len(page)}
    else:
        pages = [stored, page]
        meta = {"bloom_filter_offset": 4, "data_page_offset": 4 + len(stored)}
        meta["total_compressed_size"] = len(page)
    column = Column(pages, len(values), type=Type.BYTE_ARRAY, meta=meta)
    path = folder / f"{name}.parquet"
    path.write_bytes(forge(column))
    return path


def file_of_integers(folder: Path, values: Sequence[int], stored: bytes, **meta: Any) -> Path:
    page = data_page(int64s(*values), len(values))
    told = {"bloom_filter_offset": 4 + len(page), "total_compressed_size": len(page)}
    path = folder / "integers.parquet"
    path.write_bytes(forge(Column([page, stored], len(values), meta=told | meta)))
    return path


def with_other_note(data: bytes, name: str) -> bytes:
    """The first note of a file with another number of this name, and as long as it was, so that
    nothing else changes."""
    start = data.index(b'{"offset"')
    end = data.index(b"}", start) + 1
    note = decoded(data[start:end].decode())
    for more in count(1):
        other = replace(note, **{name: getattr(note, name) + more}).encoded().encode()
        if len(other) == end - start:
            break
    return data[:start] + other + data[end:]
