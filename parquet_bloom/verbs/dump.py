"""One filter's header and bitset, as stored or in a form that other tools read."""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloom.errors import FilterError, UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.sizing import BLOCK_BYTES, WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.presence import reason_for_none
from parquet_bloom.parquet import bloom
from parquet_bloom.storage.local_output import default_mode
from parquet_bloom.storage.new_version import resolve_target
from parquet_bloom.storage.source import is_url, local_path
from parquet_bloom.verbs.dump_older import DumpedOlder, dump_older, older_dialect
from parquet_bloom.vocabulary import Dialect

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.source import Source
    from parquet_bloom.verbs.orc.dump import DumpedIndexGroup


@dataclass(frozen=True, slots=True)
class DumpedFilter:
    """`header` and `bitset` are the bytes in the file, or of an encrypted column what its envelopes
    hold if that was asked for (`is_decrypted`); `stored` is what the header says. `unverified`: why
    the footer can be another one than was written, None if it cannot."""

    path: str
    row_group: int
    column: str
    stored: bloom.StoredFilter
    header: bytes
    bitset: bytes
    is_decrypted: bool
    unverified: str | None = None

    def in_format(self, name: str) -> bytes:
        """The filter as `raw`, `hex`, `json` or `npy` (see FORMATS).

        Raises FilterError for the words of a bitset that is encrypted.
        """
        return FORMATS[name](self)


def _raw(found: DumpedFilter) -> bytes:
    """Header and bitset as they are stored."""
    return found.header + found.bitset


def _hex(found: DumpedFilter) -> bytes:
    """The header on the first line, then a block per line."""
    blocks = (
        found.bitset[at : at + BLOCK_BYTES].hex() for at in range(0, len(found.bitset), BLOCK_BYTES)
    )
    return "\n".join([found.header.hex(), *blocks, ""]).encode()


def _json(found: DumpedFilter) -> bytes:
    """What the header says, and header and bitset in hex, on one line."""
    fields = {
        "path": found.path,
        "row_group": found.row_group,
        "column": found.column,
        **{name: getattr(found.stored, name) for name in _STORED},
        "encrypted": found.stored.is_encrypted and not found.is_decrypted,
        "unverified": found.unverified,
        "header": found.header.hex(),
        "bitset": found.bitset.hex(),
    }
    # A path that is not UTF-8 has surrogates, whose backslashed form JSON reads as such.
    return json.dumps(fields, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _npy(found: DumpedFilter) -> bytes:
    """The words in numpy's .npy format: shape (blocks, 8), dtype uint32."""
    if found.stored.is_encrypted and not found.is_decrypted:
        raise FilterError(
            f"{found.stored.where}: the bitset is encrypted, and words are to be shown: expected"
            " to be asked to decrypt it"
        )
    out = io.BytesIO()
    words = SplitBlockBloomFilter.from_bytes(found.bitset).words
    np.save(out, words.reshape(-1, WORDS_PER_BLOCK), allow_pickle=False)
    return out.getvalue()


# What a dump says of the filter; of one that is encrypted, header_bytes count its envelope.
_STORED = ("offset", "length", "header_bytes", "num_bytes", "algorithm", "hash", "compression")

FORMATS: dict[str, Callable[[DumpedFilter], bytes]] = {
    "hex": _hex,
    "json": _json,
    "npy": _npy,
    "raw": _raw,
}


def dump(
    path: str | os.PathLike[str],
    column: str,
    row_group: int,
    *,
    index_group: int | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    keys: Keys | None = None,
    decrypt: bool = False,
) -> DumpedFilter | DumpedIndexGroup | DumpedOlder:
    """Read one filter, of an ORC file that of an index group (None: the first) in the stripe
    `row_group`.

    dialect: the filter of this one; otherwise that to which bloom_filter_offset leads, whichever it
    is. seed: of the hash of a `murmur3` filter, if nothing in the file tells it. keys: for
    encrypted files. decrypt: give out header and bits of an encrypted column, which tell
    whoever has them what values are stored; otherwise they stay in their envelopes. Raises
    ColumnError, FilterError if there is none that can be used, EncryptionError if it does not open.
    """
    with open_file(path, keys) as file:
        if file.format == "orc":
            from parquet_bloom.verbs.orc.dump import dump_orc

            if dialect is not None:
                raise UnsupportedError(f"{file.path}: an ORC file: its filters have one dialect")
            return dump_orc(file, column, row_group, index_group or 0)
        if index_group is not None:
            raise UnsupportedError(f"{file.path}: a Parquet file, which has no index groups")
        chunk = file.chunk(row_group, column)
        older = older_dialect(file, chunk, dialect, seed)
        if older is not None:
            return dump_older(file, chunk, older, seed)
        stored = bloom.read_usable_header(file.source, file.footer, chunk)
        if stored is None:
            raise FilterError(f"{file.path}: {chunk.where}: {reason_for_none(file.footer, chunk)}")
        read = _decrypted if decrypt else _as_stored
        header, bitset = read(file.source, stored)
        unverified = file.footer.protection.unverified or None
        return DumpedFilter(
            file.path, row_group, chunk.leaf.name, stored, header, bitset, decrypt, unverified
        )


def _as_stored(source: Source, stored: bloom.StoredFilter) -> tuple[bytes, bytes]:
    # What does not open is not given out.
    bloom.bits(source, stored)
    data = source.read_at(stored.offset, stored.end - stored.offset)
    return data[: stored.header_bytes], data[stored.header_bytes :]


def _decrypted(source: Source, stored: bloom.StoredFilter) -> tuple[bytes, bytes]:
    """Of a filter that is not encrypted, the same."""
    header = bloom.header_of(source, stored)
    return header, bloom.bits(source, stored)(0, stored.num_bytes)


def save(
    data: bytes,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Write what was dumped of `source` to `output`, for those only who may read `source`.

    Raises RewriteError if that is `source`, or exists and `overwrite` is not set; OSError.
    """
    target = resolve_target(source, output, False, overwrite)
    with target.output(_mode(source), 0) as written:
        written.append(data)
        written.flush()
        written.commit()


def _mode(source: str | os.PathLike[str]) -> int:
    """That of a new file, which none may read who may not read the source."""
    if is_url(os.fspath(source)):
        return default_mode()
    return default_mode() & (local_path(source).stat().st_mode | stat.S_IRWXU)
