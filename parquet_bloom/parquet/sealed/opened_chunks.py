"""The column chunks of a footer with their ColumnMetaData, sealed or not.

    raw      | FileMetaData as stored
    opened   | list of ColumnChunk, each with only the ColumnMetaData
             | decrypted from encrypted_column_metadata, in file order

What is sealed is opened when its column is asked for, or all that is left if the numbers of all chunks are: most
verbs ask for one column. Positions in the table refer to what `text` gives for a chunk, so readers need not know
where its ColumnMetaData is. An edit seals those that were opened again, puts them back in place, and keeps every
other byte.

Spec: parquet-format, Encryption.md section 5.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from io import BytesIO
from itertools import compress
from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import EncryptionError, FooterError, TamperedError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.chunk_table import ChunkKey, ChunkTable
from parquet_bloom.parquet.footer.definition import fields_of, fits, type_found
from parquet_bloom.parquet.sealed.modules import (
    PLAIN,
    LockedModules,
    MislockedModules,
    Modules,
    named,
)
from parquet_bloom.parquet.sealed.protection import EncryptedChunk
from parquet_bloom.parquet.thrift import ttypes

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.sealed.protection import Protection

_META_DATA, _CRYPTO_METADATA, _ENCRYPTED_COLUMN_METADATA = 3, 8, 9
_KINDS = {
    _META_DATA: compact.TYPE_STRUCT,
    _CRYPTO_METADATA: compact.TYPE_STRUCT,
    _ENCRYPTED_COLUMN_METADATA: compact.TYPE_BINARY,
}

# What an edit may replace or drop in a ColumnMetaData: Statistics, and the place of a filter.
_OFFSET, _LENGTH = 14, 15
_REPLACEABLE = {
    12: ("statistics", "a struct"),
    _OFFSET: ("bloom_filter_offset", "an integer"),
    _LENGTH: ("bloom_filter_length", "an integer"),
}

# The rest of a ColumnChunk with nothing but a ColumnMetaData, for the kernel to scan.
_BEFORE = bytes([_META_DATA << 4 | compact.TYPE_STRUCT])
_AFTER = b"\0"

# Thrift fields to set: id -> (type, encoded value), or None to drop it.
Fields = Mapping[int, tuple[int, bytes] | None]

# Returns the bytes to store for a ColumnMetaData.
Seal = Callable[[Modules, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Edit:
    """Fields to set in one ColumnMetaData. A redacted copy gets those that it already has; with
    `is_shown` all of them."""

    fields: Fields
    is_shown: bool = False


EditOf = Callable[[ChunkKey], Edit]


class OpenedChunks:
    """The chunks of one footer: `table` has their numbers, `text` their ColumnMetaData. What needs chunks that are
    not opened yet raises FooterError if the plaintext is no ColumnMetaData."""

    def __init__(
        self,
        raw: bytes,
        where: str,
        protection: Protection,
        leaves: Sequence[LeafColumn],
        ordinal_of: Callable[[int], int | None],
        scanned: ChunkTable,
    ) -> None:
        """`raw`: FileMetaData. `where` names the file. `ordinal_of`: the ordinal stored in a row
        group. `scanned`: the result of scanning `raw`; takes the numbers of decrypted chunks."""
        self._table = scanned
        self._raw = raw
        self._protection = protection
        self._where = where
        self._leaves = leaves
        self._ordinal_of = ordinal_of
        self._modules: dict[ChunkKey, Modules] = {}
        # By column, the first chunk that its key does not open, or whose key cannot be unwrapped.
        self._mislocked: dict[int, ChunkKey] = {}
        # For each sealed ColumnMetaData, the start of its redacted plaintext copy, if there is one.
        self._copies: dict[ChunkKey, int | None] = {}
        # Where each decrypted ColumnMetaData is.
        self._opened: dict[ChunkKey, bytes] = {}
        is_encrypted = scanned.every("has_crypto_metadata")
        found = compress(range(len(is_encrypted)), is_encrypted)
        # By column, the row groups in which it is encrypted; and the columns that nobody has asked for yet.
        self._sealed: dict[int, list[int]] = {}
        for row_group, column in (divmod(index, len(leaves)) for index in found):
            self._sealed.setdefault(column, []).append(row_group)
        self._unopened = frozenset(self._sealed)
        self._opening = Lock()

    @property
    def table(self) -> ChunkTable:
        """The numbers of all chunks."""
        self._open(self._unopened)
        return self._table

    def table_of(self, columns: Collection[int]) -> ChunkTable:
        """The same, where only those of these columns are needed."""
        self._open(columns)
        return self._table

    def _open(self, columns: Collection[int]) -> None:
        """Decrypt the chunks of these columns, unless they are."""
        if self._unopened.isdisjoint(columns):
            return
        with self._opening:
            wanted = self._unopened.intersection(columns)
            opened: dict[ChunkKey, bytes] = {}
            keys = ((group, column) for column in wanted for group in self._sealed[column])
            for key in sorted(keys):
                try:
                    meta_data = self._opened_meta_data(key)
                except (EncryptionError, UnsupportedError):
                    with named(self._named(key)):
                        raise
                if meta_data is not None:
                    opened[key] = meta_data
            if opened:
                self._take(opened)
            self._unopened -= wanted

    def text(self, row_group: int, column: int) -> bytes:
        """That in which the ColumnMetaData of a chunk is."""
        self._open((column,))
        return self._opened.get((row_group, column), self._raw)

    def is_opened(self, row_group: int, column: int) -> bool:
        """Whether the ColumnMetaData of a chunk was decrypted."""
        self._open((column,))
        return (row_group, column) in self._opened

    def modules(self, row_group: int, column: int) -> Modules:
        self._open((column,))
        return self._modules.get((row_group, column), PLAIN)

    @property
    def has_locked(self) -> bool:
        """Whether there is no key, or another one, for one of them."""
        self._open(self._unopened)
        return any(isinstance(modules, LockedModules) for modules in self._modules.values())

    def check_opens(self, column: int) -> None:
        """Raise TamperedError for a column that was given another key than its chunks are sealed with."""
        self._open((column,))
        if (key := self._mislocked.get(column)) is not None:
            with named(self._named(key)):
                self._modules[key].check_readable()

    def shown(self, row_group: int, column: int) -> int | None:
        """The position of the ColumnMetaData of an encrypted chunk that can be read without its
        key; None if there is none."""
        self._open((column,))
        if (row_group, column) in self._copies:
            return self._copies[row_group, column]
        start = self._table.one("meta_start", row_group, column)
        return None if self._protection.hides_footer or start == _kernel.ABSENT else start

    def _opened_meta_data(self, key: ChunkKey) -> bytes | None:
        """The ColumnMetaData of an encrypted chunk; None if it is not sealed by itself, or cannot be decrypted."""
        start = self._table.one("start", *key)
        fields = {
            number: (value, end)
            for number, kind, _, value, end in _kernel.fields(self._raw, start)
            if kind == _KINDS.get(number)
        }
        crypto = self._raw[slice(*fields.get(_CRYPTO_METADATA, (0, 0)))]
        is_sealed = _ENCRYPTED_COLUMN_METADATA in fields
        path = self._leaves[key[1]].path
        chunk = EncryptedChunk(*key, self._ordinal_of(key[0]), path, crypto, is_sealed)
        modules = self._modules[key] = self._protection.modules(chunk)
        if not is_sealed:
            return None
        self._copies[key], _ = fields.get(_META_DATA, (None, None))
        if isinstance(modules, MislockedModules):
            self._mislocked.setdefault(key[1], key)
        if isinstance(modules, LockedModules):
            return None
        value, end = fields[_ENCRYPTED_COLUMN_METADATA]
        _, value = compact.read_varint(self._raw, value)
        try:
            opened = modules.open_meta_data(self._raw[value:end])
        except TamperedError as error:
            # That is no matter unless the column is asked for: somebody else may have the key.
            self._modules[key] = MislockedModules(error)
            self._mislocked.setdefault(key[1], key)
            return None
        try:
            # Without the zeros that writers pad it with.
            return opened[: _kernel.struct_end(opened)]
        except _kernel.ScanError as error:
            raise FooterError(f"{self._named(key)}: no ColumnMetaData: {error.problem}") from None

    def _named(self, key: ChunkKey) -> str:
        """The chunk's name in messages."""
        return f"{self._where}: row group {key[0]}, column {self._leaves[key[1]].name}"

    def _take(self, opened: Mapping[ChunkKey, bytes]) -> None:
        """Enter decrypted ColumnMetaData."""
        header = compact.list_header(compact.TYPE_STRUCT, len(opened))
        text = header + b"".join(_BEFORE + meta_data + _AFTER for meta_data in opened.values())
        # Cannot fail: each is one struct, and the scan skips unknown fields.
        table = ChunkTable(text, array("q", [0]), len(opened))
        for index, key in enumerate(opened):
            self._table.take_meta_data(*key, table, index)
            self._opened[key] = text

    def edited(self, chunks: Collection[ChunkKey], edit_of: EditOf, seal: Seal | None) -> bytes:
        """FileMetaData with an edit applied to the ColumnMetaData of each of these chunks. Without a
        `seal`, all that could be decrypted is in plaintext: sealed again, it would be other bytes."""
        # There may be a million: neither their edits nor pieces of the whole are kept.
        self._open(self._unopened)
        edited, done = BytesIO(), 0
        for key in sorted(chunks if seal or not self._opened else {*chunks, *self._opened}):
            edit = edit_of(key) if key in chunks else Edit({})
            start, end, new = self._edit(key, edit, seal)
            edited.write(self._raw[done:start])
            edited.write(new)
            done = end
        edited.write(self._raw[done:])
        return edited.getvalue()

    def _applicable(
        self, key: ChunkKey, stored: Sequence[compact.StoredField], fields: Fields
    ) -> Fields:
        """The fields of an edit, without those that another writer has used for something else, which
        could not be brought back: they are not dropped, and a filter can do without its length. Raises
        UnsupportedError where the edit needs the place of one."""
        kept = set()
        for number, kind, _, _, _ in stored:
            if number not in _REPLACEABLE or number not in fields:
                continue
            name, expected = _REPLACEABLE[number]
            found = compact.TYPE_NAMES[kind]
            if found == expected:
                continue
            kept.add(number)
            if number != _LENGTH and (number != _OFFSET or fields[number] is not None):
                raise UnsupportedError(
                    f"{self._named(key)}: ColumnMetaData field {number}, {name}: expected"
                    f" {expected}, found {found}, which would be lost"
                )
        return {number: field for number, field in fields.items() if number not in kept}

    def _check_types(
        self, key: ChunkKey, text: bytes, stored: Sequence[compact.StoredField]
    ) -> None:
        """Raise FooterError if a field is not of its type: some readers, which check none, may still read it, and
        would not any more if what follows it was edited, which they take for something else."""
        known = fields_of(ttypes.ColumnMetaData)
        for number, wire, _, value, _ in stored:
            if number in _REPLACEABLE or number not in known:
                continue
            name, kind = known[number]
            if not fits(kind, wire, text, value):
                found = type_found(text, wire, value)
                raise FooterError(
                    f"{self._named(key)}: ColumnMetaData field {number}, {name}: expected {kind.name}, found {found}:"
                    " take another copy of the file"
                )

    def _edit(self, key: ChunkKey, edit: Edit, seal: Seal | None) -> tuple[int, int, bytes]:
        """The start and end of the bytes to replace, and the new bytes."""
        start, end = (self._table.one(field, *key) for field in ("meta_start", "meta_end"))
        text = self.text(*key)
        stored = _kernel.fields(text, start)
        self._check_types(key, text, stored)
        fields = self._applicable(key, stored, edit.fields)
        meta_data = compact.spliced(text, stored, fields)
        if key not in self._copies:
            return start, end, meta_data
        with named(self._named(key)):
            sealed = meta_data if seal is None else seal(self._modules[key], meta_data)
        binary = compact.varint(len(sealed)) + sealed
        new = {_ENCRYPTED_COLUMN_METADATA: (compact.TYPE_BINARY, binary)}
        copy_start = self._copies[key]
        if copy_start is not None:
            present = {field[0] for field in _kernel.fields(self._raw, copy_start)}
            shown = {
                number: field
                for number, field in fields.items()
                if edit.is_shown or number in present
            }
            copy = compact.splice(self._raw, copy_start, shown)
            new[_META_DATA] = (compact.TYPE_STRUCT, copy)
        start, end = (self._table.one(field, *key) for field in ("start", "end"))
        return start, end, compact.splice(self._raw, start, new)
