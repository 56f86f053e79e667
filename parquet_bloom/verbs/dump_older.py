"""One filter of an older dialect: its header and bitset, in the forms of dump."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloom.errors import FilterError
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.legacy.chunk_filters import headers_at, of_dialect
from parquet_bloom.options import check_dialect
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.legacy_kind import NOT_OF_DIALECT
from parquet_bloom.vocabulary import Dialect, LegacyDialect

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.legacy_kind import LegacyFilter

# Of the words in .npy: shape (blocks, 8) for split blocks, (longs,) for k hashes.
_WORDS = {"murmur3": ("<u4", (-1, 8)), "statistics": ("<u8", (-1,))}


@dataclass(frozen=True, slots=True)
class DumpedOlder:
    """`header` and `bitset` are as stored; of a filter in the footer, the struct without its bits,
    and the longs little-endian."""

    path: str
    row_group: int
    column: str
    filter: LegacyFilter
    header: bytes
    bitset: bytes

    # Files with such filters are not encrypted.
    unverified: str | None = None

    def in_format(self, name: str) -> bytes:
        """The filter as `raw`, `hex`, `json` or `npy`."""
        return _FORMATS[name](self)


def _raw(found: DumpedOlder) -> bytes:
    return found.header + found.bitset


def _hex(found: DumpedOlder) -> bytes:
    """The header on the first line, then 32 bytes per line."""
    lines = (
        found.bitset[at : at + BLOCK_BYTES].hex() for at in range(0, len(found.bitset), BLOCK_BYTES)
    )
    return "\n".join([found.header.hex(), *lines, ""]).encode()


def _json(found: DumpedOlder) -> bytes:
    filter = found.filter
    fields = {
        "path": found.path,
        "row_group": found.row_group,
        "column": found.column,
        "dialect": filter.dialect,
        "pointer": filter.pointer,
        "form": filter.form,
        "hash": filter.hash,
        "offset": filter.offset,
        "length": filter.stored_bytes,
        "header_bytes": filter.header_bytes,
        "num_bytes": filter.bits.num_bytes,
        "header": found.header.hex(),
        "bitset": found.bitset.hex(),
    }
    return json.dumps(fields, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _npy(found: DumpedOlder) -> bytes:
    kind, shape = _WORDS[found.filter.dialect]
    out = io.BytesIO()
    np.save(out, np.frombuffer(found.bitset, kind).reshape(shape), allow_pickle=False)
    return out.getvalue()


_FORMATS: dict[str, Callable[[DumpedOlder], bytes]] = {
    "hex": _hex,
    "json": _json,
    "npy": _npy,
    "raw": _raw,
}


def older_dialect(
    file: ParquetFile, chunk: ColumnChunk, dialect: Dialect | None, seed: int | None
) -> LegacyDialect | None:
    """The older dialect that is asked for, or that bloom_filter_offset leads to; None if neither."""
    check_dialect(dialect, seed)
    if dialect is None and headers_at(file, chunk):
        return "murmur3"
    return None if dialect == "xxhash" else dialect


def dump_older(
    file: ParquetFile, chunk: ColumnChunk, dialect: LegacyDialect, seed: int | None
) -> DumpedOlder:
    """Read one filter. Raises FilterError if there is none that can be used."""
    filter = of_dialect(file, chunk, dialect, seed)
    if filter is None:
        raise FilterError(f"{file.path}: {chunk.where}: {NOT_OF_DIALECT}")
    header, bitset = filter.header_and_bitset()
    return DumpedOlder(file.path, chunk.row_group, chunk.leaf.name, filter, header, bitset)
