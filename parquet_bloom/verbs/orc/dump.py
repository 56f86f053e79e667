"""One filter of an ORC file, as stored or in a form that other tools read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np

from parquet_bloom.errors import ColumnError, FilterError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.bloom import stored_messages
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.stripe import read_stream
from parquet_bloom.vocabulary import NO_FILTER

HEX_LINE_BYTES = 32


@dataclass(frozen=True, slots=True)
class DumpedIndexGroup:
    """The filter of one index group, from a stream of this `kind` that takes `length` bytes from
    `offset` in the file. `message` is the BloomFilter as it is encoded there, once expanded;
    `bitset` are its words, little-endian, whichever form they have in the message."""

    path: str
    stripe: int
    index_group: int
    column: str
    kind: str
    offset: int
    length: int
    bloom_encoding: int
    num_hashes: int
    num_bits: int
    message: bytes = field(repr=False)
    bitset: bytes = field(repr=False)
    unverified: None = None

    def in_format(self, name: str) -> bytes:
        """The filter as `raw`, `hex`, `json` or `npy`."""
        return _FORMATS[name](self)


def _raw(found: DumpedIndexGroup) -> bytes:
    """The message as it is stored."""
    return found.message


def _hex(found: DumpedIndexGroup) -> bytes:
    """k and the number of bits on the first line, then four words per line."""
    lines = (
        found.bitset[at : at + HEX_LINE_BYTES].hex()
        for at in range(0, len(found.bitset), HEX_LINE_BYTES)
    )
    return "\n".join([f"{found.num_hashes} {found.num_bits}", *lines, ""]).encode()


def _json(found: DumpedIndexGroup) -> bytes:
    """What the file says of the filter, message and bitset in hex, on one line."""
    fields = asdict(found) | {"message": found.message.hex(), "bitset": found.bitset.hex()}
    # A path that is not UTF-8 has surrogates, whose backslashed form JSON reads as such.
    return json.dumps(fields, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _npy(found: DumpedIndexGroup) -> bytes:
    """The words in numpy's .npy format: shape (words,), dtype uint64."""
    out = io.BytesIO()
    np.save(out, np.frombuffer(found.bitset, np.uint64), allow_pickle=False)
    return out.getvalue()


_FORMATS: dict[str, Callable[[DumpedIndexGroup], bytes]] = {
    "hex": _hex,
    "json": _json,
    "npy": _npy,
    "raw": _raw,
}


def dump_orc(file: OrcFile, column: str, stripe: int, index_group: int) -> DumpedIndexGroup:
    """Read one filter. Raises ColumnError, FilterError if there is none that can be used,
    FooterError, UnsupportedError, OSError."""
    found = file.column(column)
    read = file.stripe(stripe)
    where = f"{read.where}, index group {index_group}"
    if not 0 <= index_group < read.num_index_groups:
        raise ColumnError(f"{where}: expected 0 to {read.num_index_groups - 1}")
    stored = file.filters(stripe, found)
    if stored is None:
        raise FilterError(f"{where}, column {column}: {NO_FILTER}")
    messages = stored_messages(read_stream(file.source, file.tail, read, stored.stream), where)
    filter: KHashFilter = stored.filters[index_group]
    return DumpedIndexGroup(
        path=file.path,
        stripe=stripe,
        index_group=index_group,
        column=found.name,
        kind=stored.stream.name,
        offset=stored.stream.offset,
        length=stored.stream.length,
        bloom_encoding=stored.bloom_encoding,
        num_hashes=filter.num_hashes,
        num_bits=filter.num_bits,
        message=messages[index_group],
        bitset=bytes(filter.bitset),
    )
