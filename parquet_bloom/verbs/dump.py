"""One filter, as stored or in a format that other tools read."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.arguments import flag_given, name_given, number_given, number_if_given
from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError
from parquet_bloom.files import open_file
from parquet_bloom.native.lazy import np
from parquet_bloom.options import check_dialect
from parquet_bloom.storage.near_names import telling_near_names
from parquet_bloom.verbs.documents import VerbReport, as_json, document_of
from parquet_bloom.vocabulary import DumpFormat, Format, check_word

if TYPE_CHECKING:
    from parquet_bloom.container import Place
    from parquet_bloom.container.descriptions import FilterBytes
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import Dialect

HEX_LINE_BYTES = 32
HEX_PART_BYTES = 1 << 20

# The words of a bitset, by dialect: dtype, and shape, (blocks, 8) or (words,).
_BLOCKS, _LONGS = ("<u4", (-1, 8)), ("<u8", (-1,))
_WORDS = {"xxhash": _BLOCKS, "murmur3": _BLOCKS, "statistics": _LONGS, "orc": _LONGS}

# Bytes that are not known to be a filter.
_BYTES = ("u1", (-1,))


@dataclass(frozen=True, slots=True, repr=False)
class Dump(VerbReport):
    """One filter of a file, whose attributes are those of `stored`, too. `unverified`: why the footer of an encrypted
    file may have been replaced, None if it cannot have been. `requests`: sent to the object store that has the
    file."""

    _left_out: ClassVar = ("unverified", "requests")
    _merged: ClassVar = "stored"

    path: str
    format: Format
    unverified: str | None
    stored: FilterBytes
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def place(self) -> Place:
        return self.stored.place

    @property
    def header(self) -> bytes:
        """What precedes the bitset; empty if both are in a message."""
        return self.stored.header or b""

    @property
    def bitset(self) -> bytes:
        return self.stored.bitset

    def to_dict(self) -> dict[str, Any]:
        """The document that `pbloom dump --format json` prints."""
        document = document_of(self)
        stored: dict[str, Any] = document.pop(self._merged)
        return document | stored

    def _page_rows(self) -> Iterator[dict[str, Any]]:
        """With as much of the bits as a line of `hex` has."""
        digits = 2 * HEX_LINE_BYTES
        for row in self._items():
            cut = {name: row.get(name) or "" for name in ("bitset", "message")}
            yield row | {
                name: f"{each[:digits]}…" for name, each in cut.items() if len(each) > digits
            }

    def in_format(self, name: DumpFormat) -> bytes:
        """The filter as `raw`, `hex`, `json` or `npy`.

        Raises FilterError for the words of a bitset that is encrypted, ValueError for another format.
        """
        return b"".join(self.parts(name))

    def parts(self, name: DumpFormat) -> Iterator[bytes]:
        """The same in parts, as a filter can be large, and in hex twice as large."""
        check_word("name", name, DumpFormat)
        return _FORMATS[name](self)


def _raw(found: Dump) -> Iterator[bytes]:
    """The bytes of the file; for a filter in the footer, the struct without its bits, and then the
    longs, little-endian."""
    if found.stored.message is None:
        yield found.header
        yield found.bitset
    else:
        yield found.stored.message


def _hex(found: Dump) -> Iterator[bytes]:
    """The header on the first line, or the numbers of hashes and bits, if there are any; then 32 bytes
    per line."""
    stored, bitset = found.stored, memoryview(found.bitset)
    is_message = stored.header is None
    first = f"{stored.num_hashes} {stored.num_bits}" if is_message else found.header.hex()
    if first:
        yield first.encode() + b"\n"
    for at in range(0, len(bitset), HEX_PART_BYTES):
        # From the left, where the last line may be shorter.
        lines = bitset[at : at + HEX_PART_BYTES].hex("\n", -HEX_LINE_BYTES)
        yield lines.encode() + b"\n"


def _json(found: Dump) -> Iterator[bytes]:
    """What the file says about the filter, and its bytes in hex, on one line."""
    yield as_json(found.to_dict())
    yield b"\n"


def _npy(found: Dump) -> Iterator[bytes]:
    """The words in numpy's .npy format."""
    if found.stored.encrypted:
        raise FilterError(
            f"{found.path}: {found.place}, column {found.stored.column}: the bitset is encrypted:"
            " its words can be written only if it is decrypted (--decrypt)"
        )
    dtype, shape = _WORDS.get(found.stored.dialect, _BYTES)
    words = np.frombuffer(found.bitset, dtype).reshape(shape)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(words))
    yield header.getvalue()
    yield found.bitset


_FORMATS = {"raw": _raw, "hex": _hex, "json": _json, "npy": _npy}


def dump(
    path: str | os.PathLike[str],
    column: str,
    row_group: int,
    *,
    index_group: int | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    decrypt: bool = False,
    unparsed: bool = False,
) -> Dump:
    """Read one filter; in an ORC file, the filter of one index group (None: the first) in the stripe
    `row_group`.

    dialect: of the filter; by default, whatever bloom_filter_offset leads to, or else a private legacy
    one. seed: of the hash of a `murmur3` filter, if the file does not say. keys: for encrypted files.
    storage_options: for the object store behind a URL, such as {"region": "eu-west-1"}. decrypt: reveal the
    header and bits of an encrypted column, which tell everyone what values are stored; otherwise they stay
    in their envelopes. unparsed: the bytes that bloom_filter_offset leads to, whatever they are, as
    the bitset of a filter without a header.

    Raises ColumnError, FilterError if no filter can be used, EncryptionError if a key is wrong,
    UnsupportedError for what the format does not have.
    """
    check_dialect(dialect, number_if_given("seed", seed))
    flag_given("decrypt", decrypt)
    flag_given("unparsed", unparsed)
    name, part = name_given("column", column), number_given("row_group", row_group)
    group = number_if_given("index_group", index_group)
    with telling_near_names(), open_file(path, keys, storage_options) as file:
        stored = file.stored_filter(name, part, group, dialect, seed, decrypt, unparsed)
        return Dump(file.path, file.format, file.unverified, stored, file.source.requests)
