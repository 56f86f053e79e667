"""What defective files are made of: sound ones, and how one thing in them is made wrong.

`sound()` is a file in which nothing is wrong by any rule, not even by a note: two row groups of
distinct integers and texts, each with a filter of its own that takes a twentieth of its chunk.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from make.hostile import (
    edited,
    filter_header,
    footer_start,
    meta_of,
    pointer,
    with_filter_bytes,
    with_footer,
)

import parquet_bloom as pb
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

ROWS = 2000
ROW_GROUPS = 2

# The longest header of the usual members: numBytes takes up to five bytes.
MAX_HEADER_BYTES = 20


@dataclass(frozen=True)
class Defect:
    """One thing that is wrong: `make(folder)` writes a file that has it.

    `rule` must be found at `row_group` and `column` (None: at no place in particular) with this
    policy; `deep`: only where the values are looked up. `issue`: which of the defects of real
    writers it is, "B1" to "B36" (see test_defects). `beside`: rules of errors that cannot but be
    broken, too. `keys`: what the file is opened with.
    """

    name: str
    rule: str
    make: Callable[[Path], Path]
    row_group: int | None = 0
    column: str | None = "a"
    policy: dict[str, Any] | None = None
    issue: str | None = None
    deep: bool = False
    keys: Keys | None = None
    beside: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.rule} {self.name}"


# ------------------------------------------------------------------------------------------------
# Sound files


def integer(row_group: int, row: int) -> int:
    """Distinct, of both signs, and in no order."""
    digest = hashlib.sha256(f"{row_group} {row}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def text(row_group: int, row: int) -> str:
    return hashlib.sha512(f"{row_group} {row}".encode()).hexdigest()


def integers(row_group: int) -> list[int]:
    return [integer(row_group, row) for row in range(ROWS)]


def texts(row_group: int) -> list[str]:
    return [text(row_group, row) for row in range(ROWS)]


def plain_integers(values: Iterable[int]) -> list[bytes]:
    return [struct.pack("<q", value) for value in values]


def written(table: pa.Table, **options: Any) -> bytes:
    """What pyarrow makes of a table, in one row group unless told otherwise."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{"compression": "none", "use_dictionary": False} | options)
    return sink.getvalue().to_pybytes()


def built(data: bytes, columns: Iterable[str], **options: Any) -> bytes:
    """The same file with filters that `build` makes for these columns."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "built.parquet"
        path.write_bytes(data)
        pb.build(path, in_place=True, columns=list(columns), **options)
        return path.read_bytes()


def table(columns: str = "ast") -> pa.Table:
    """`a` integers, `s` texts, `t` more texts, which have no filter and fill the file."""
    groups = range(ROW_GROUPS)
    values = {
        "a": pa.array([value for group in groups for value in integers(group)], pa.int64()),
        "s": [value for group in groups for value in texts(group)],
        "t": [2 * value for group in groups for value in texts(group)],
    }
    return pa.table({name: values[name] for name in columns})


@cache
def without_filters() -> bytes:
    return written(table(), row_group_size=ROWS)


@cache
def sound() -> bytes:
    return built(without_filters(), "as")


# ------------------------------------------------------------------------------------------------
# Changes


def making(edit: Callable[[], bytes]) -> Callable[[Path], Path]:
    """A maker of a file of these bytes."""

    def make(folder: Path) -> Path:
        path = folder / "defective.parquet"
        path.write_bytes(edit())
        return path

    return make


def bits_of(values: Iterable[bytes], num_blocks: int) -> bytes:
    """The bitset of these values, as they are hashed."""
    bits = pb.SplitBlockBloomFilter.empty(num_blocks)
    for value in values:
        bits.insert_value(value)
    return bits.to_bytes()


def stored_filter(bits: bytes) -> bytes:
    return filter_header(len(bits)) + bits


def with_bits(data: bytes, bits: bytes, row_group: int = 0, column: int = 0) -> bytes:
    """The same file with this bitset as the filter of one chunk: in the place of the one that is
    there, if it is as large, or else behind all that there is."""
    if len(bits) == len(bitset(data, row_group, column)):
        return with_bitset(data, bits, row_group, column)
    return with_filter_bytes(data, row_group, column, stored_filter(bits))


def with_filters(data: bytes, bitsets: Iterable[bytes], column: int = 0) -> bytes:
    """The same with a bitset for each row group."""
    for row_group, bits in enumerate(bitsets):
        data = with_bits(data, bits, row_group, column)
    return data


def header_bytes(data: bytes, row_group: int = 0, column: int = 0) -> int:
    offset, _ = pointer(data, row_group, column)
    _, end = compact.decode(ttypes.BloomFilterHeader, data[offset : offset + MAX_HEADER_BYTES])
    return end


def bitset(data: bytes, row_group: int = 0, column: int = 0) -> bytes:
    """The bits of a chunk's filter; none if it has no filter."""
    offset, length = pointer(data, row_group, column)
    if offset is None:
        return b""
    return data[offset + header_bytes(data, row_group, column) : offset + length]


def with_bitset(data: bytes, bits: bytes, row_group: int = 0, column: int = 0) -> bytes:
    """The same file with other bits in the same place."""
    offset, length = pointer(data, row_group, column)
    start = offset + header_bytes(data, row_group, column)
    assert start + len(bits) == offset + length
    return data[:start] + bits + data[start + len(bits) :]


def with_header(data: bytes, at: int, byte: int) -> bytes:
    """The same file with one byte of the first filter's header changed, counted from its start."""
    offset, _ = pointer(data, 0, 0)
    return data[: offset + at] + bytes([byte]) + data[offset + at + 1 :]


def with_own_header(data: bytes, header: bytes, bits: bytes) -> bytes:
    return with_filter_bytes(data, 0, 0, header + bits)


def with_created_by(data: bytes, created_by: str) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        footer.created_by = created_by

    return edited(data, edit)


def with_key(data: bytes, key: str, value: str) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        pairs = footer.key_value_metadata or []
        footer.key_value_metadata = [*pairs, ttypes.KeyValue(key=key, value=value)]

    return edited(data, edit)


def without_pointer(data: bytes, row_group: int, column: int) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        meta = meta_of(footer, row_group, column)
        meta.bloom_filter_offset = meta.bloom_filter_length = None

    return edited(data, edit)


def encrypted(data: bytes, column: int) -> bytes:
    """The same with a column that the footer calls encrypted; its bytes stay as they are, and the
    signature is none, which nobody sees without the key."""

    def edit(footer: ttypes.FileMetaData) -> None:
        algorithm = ttypes.AesGcmV1(aad_file_unique=b"unique")
        footer.encryption_algorithm = ttypes.EncryptionAlgorithm(AES_GCM_V1=algorithm)
        for row_group in footer.row_groups:
            key = ttypes.EncryptionWithFooterKey()
            crypto = ttypes.ColumnCryptoMetaData(ENCRYPTION_WITH_FOOTER_KEY=key)
            chunk = row_group.columns[column]
            chunk.crypto_metadata = crypto
            chunk.meta_data.statistics = chunk.meta_data.encoding_stats = None
            chunk.meta_data.size_statistics = None

    changed = edited(data, edit)
    start = footer_start(changed)
    return with_footer(changed[:start], changed[start:-8] + bytes(28))


def inserted_before_footer(data: bytes, more: bytes) -> tuple[bytes, int]:
    """The same file with `more` before its footer, and where that begins."""
    start = footer_start(data)
    return data[:start] + more + data[start:], start


def random_bytes(count: int) -> bytes:
    return np.random.default_rng(0).bytes(count)
