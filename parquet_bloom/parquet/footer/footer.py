"""The footer: read as spans, edited as bytes.

    | PAR1 | row groups | page indexes, Bloom filters | FileMetaData | length (4) | PAR1 |
                                                      ^ start

In an encrypted file, the FileMetaData is sealed (encrypted) or signed, and the ColumnMetaData in it
may be sealed separately; see protection and opened_chunks.

The FileMetaData is scanned once; its parts are decoded on demand. An edit splices
`bloom_filter_offset` (14) and `bloom_filter_length` (15) into the ColumnMetaData of the given
chunks and keeps every other byte, unknown fields included.

Spec: parquet-format, README.md "File format", parquet.thrift.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FooterError, FormatError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import check_fits, memory, read_once
from parquet_bloom.parquet.footer import arrow_schema, compact
from parquet_bloom.parquet.footer.checksums import PageChecksums
from parquet_bloom.parquet.footer.chunk_table import ChunkKey, ChunkTable, GroupTable, known
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.compact import StructT
from parquet_bloom.parquet.footer.layout import Layout
from parquet_bloom.parquet.footer.schema import LeafColumn, leaves_of
from parquet_bloom.parquet.footer.top_fields import TopFields, top_fields_of
from parquet_bloom.parquet.sealed.modules import Modules, named
from parquet_bloom.parquet.sealed.opened_chunks import Edit, EditOf, Fields, OpenedChunks, Seal
from parquet_bloom.parquet.sealed.protection import UNPROTECTED, Protection
from parquet_bloom.parquet.thrift import ttypes

# Ids, names and compact protocol types; fields of another type are ignored.
_FILE_FIELDS = {
    2: ("schema", compact.TYPE_LIST),
    3: ("num_rows", compact.TYPE_I64),
    4: ("row_groups", compact.TYPE_LIST),
    5: ("key_value_metadata", compact.TYPE_LIST),
    6: ("created_by", compact.TYPE_BINARY),
    7: ("column_orders", compact.TYPE_LIST),
    8: ("encryption_algorithm", compact.TYPE_STRUCT),
    9: ("footer_signing_key_metadata", compact.TYPE_BINARY),
}
_SCHEMA, _KEY_VALUES = 2, 5
BLOOM_FILTER_OFFSET, BLOOM_FILTER_LENGTH = 14, 15

# Of a ColumnMetaData; in it, min_value and max_value, the deprecated min and max, and nan_count.
_STATISTICS, _BOUNDS, _NAN_COUNT = 12, ((6, 5), (2, 1)), 9
# In the same, is_max_value_exact and is_min_value_exact.
_ARE_EXACT = frozenset({7, 8})
# Members of ColumnOrder: TYPE_ORDER, IEEE_754_TOTAL_ORDER; INT96_TIMESTAMP_ORDER.
_ORDERS, _ORDER_OF_INT96 = ([1], [2]), [3]

# An edited footer is in memory several times: the old and the new one, and those that are compared.
_COPIES = 6
# Of each chunk: the numbers that are kept, with room to grow; of each element of the schema, decoded,
# and of the leaf column that it becomes.
_CHUNK_BYTES, _ELEMENT_BYTES = 200, 1_000

# LogicalType with its member FILE, an empty struct: the header of field 19 takes two bytes.
_FILE_TYPE = bytes([compact.TYPE_STRUCT, 2 * 19, 0, 0])

# The edit that removes a filter from a ColumnMetaData.
NO_POINTER: Fields = {BLOOM_FILTER_OFFSET: None, BLOOM_FILTER_LENGTH: None}


@dataclass(frozen=True, slots=True)
class FilterPlace:
    """The location of a filter, header and bitset: `length` bytes from `offset`. `is_shown`: also
    set it in the redacted plaintext copy of sealed ColumnMetaData, if there is one."""

    offset: int
    length: int
    is_shown: bool = field(default=False, compare=False)


class Footer:
    """A lossless view of the FileMetaData in `raw`, located at `start` in the file."""

    def __init__(
        self, raw: bytes, start: int, where: str, protection: Protection = UNPROTECTED
    ) -> None:
        """Scan `raw`. Raises FooterError if it is not FileMetaData; `where` names the file."""
        self.protection = protection
        self.raw, self.start, self.where = raw, start, where
        self.checksums = PageChecksums()
        self._mentions: dict[bytes, bool] = {}
        self._fields = self._spans()
        for name in ("schema", "row_groups"):
            if name not in self._fields:
                raise FooterError(f"{where}: footer: damaged: no {name}")

    def _damaged(self, error: _kernel.ScanError) -> FooterError:
        return FooterError(f"{self.where}: footer: damaged: byte {error.position}: {error.problem}")

    def _spans(self) -> dict[str, tuple[int, int]]:
        try:
            fields = _kernel.fields(self.raw)
        except _kernel.ScanError as error:
            raise self._damaged(error) from None
        return {
            _FILE_FIELDS[field_id][0]: (value, end)
            for field_id, field_type, _, value, end in fields
            if field_id in _FILE_FIELDS and field_type == _FILE_FIELDS[field_id][1]
        }

    def _boundaries(self, start: int) -> array[int]:
        try:
            return _kernel.elements(self.raw, start)
        except _kernel.ScanError as error:
            raise self._damaged(error) from None

    @read_once
    def created_by(self) -> str:
        """The writer's name and version, empty if missing."""
        return (self._binary("created_by") or b"").decode(errors="replace")

    def _binary(self, name: str) -> bytes | None:
        if name not in self._fields:
            return None
        return compact.read_binary(self.raw, self._fields[name][0])

    @read_once
    def keys(self) -> frozenset[str]:
        """The keys of the file's key-value metadata."""
        return frozenset(pair.key or "" for pair in self._key_values())

    def value_of(self, key: str) -> str | None:
        """What the file's key-value metadata has for a key."""
        if not self.mentions(key.encode()):
            return None
        return next((pair.value for pair in self._key_values() if pair.key == key), None)

    def _key_values(self) -> list[ttypes.KeyValue]:
        if "key_value_metadata" not in self._fields:
            return []
        return self._decoded(ttypes.KeyValue, "key_value_metadata")

    @read_once
    def has_file_references(self) -> bool:
        """Whether values of a column may refer to ranges of bytes in this file."""
        return self.mentions(_FILE_TYPE) and any(
            element.logicalType is not None and element.logicalType.FILE is not None
            for element in self._decoded(ttypes.SchemaElement, "schema")
        )

    def _decoded(self, struct_class: type[StructT], name: str) -> list[StructT]:
        """The elements of a list in the FileMetaData."""
        boundaries = self._boundaries(self._fields[name][0])
        return [self._struct(struct_class, name, start) for start in boundaries[:-1]]

    def _struct(self, struct_class: type[StructT], name: str, start: int) -> StructT:
        try:
            return compact.decode(struct_class, self.raw, start)[0]
        except (FormatError, _kernel.ScanError) as error:
            raise FooterError(f"{self.where}: footer: {name}: {error}") from None

    def mentions(self, text: bytes) -> bool:
        """Whether these bytes are anywhere in the footer, which is searched for them once."""
        if text not in self._mentions:
            self._mentions[text] = text in self.raw
        return self._mentions[text]

    @read_once
    def has_struct_in_statistics(self) -> bool:
        """Whether the Statistics of any chunk have a field that is a struct."""
        found = self.chunks.every("struct_in_statistics")
        return found.count(_kernel.ABSENT) < len(found)

    @property
    def is_signed(self) -> bool:
        """Whether this is the plaintext footer of an encrypted file, and therefore signed."""
        return "encryption_algorithm" in self._fields

    @property
    def encryption_algorithm(self) -> ttypes.EncryptionAlgorithm:
        """The algorithm in a signed footer."""
        start = self._fields["encryption_algorithm"][0]
        return self._struct(ttypes.EncryptionAlgorithm, "encryption_algorithm", start)

    @property
    def footer_signing_key_metadata(self) -> bytes | None:
        """The writer's description of the key that signed the footer."""
        return self._binary("footer_signing_key_metadata")

    @read_once
    def num_rows(self) -> int:
        return self._integer(self._fields, "num_rows")

    def ordinal(self, row_group: int) -> int | None:
        """The ordinal stored in the row group; None if there is none."""
        return known(self.row_groups.ordinals[row_group])

    @read_once
    def repeated_ordinals(self) -> frozenset[int]:
        """The row groups that share their ordinal with another: their modules have the same AAD, so
        somebody could have swapped them."""
        stored = map(self.ordinal, range(self.num_row_groups))
        ordinals = [group if found is None else found for group, found in enumerate(stored)]
        counts = Counter(ordinals)
        return frozenset(group for group, found in enumerate(ordinals) if counts[found] > 1)

    def _integer(self, spans: Mapping[str, tuple[int, int]], name: str) -> int:
        if name not in spans:
            return 0
        return compact.read_zigzag(self.raw, spans[name][0])

    @read_once
    def compresses_always(self) -> bool:
        """Whether data pages of version 2 are compressed even if their header denies it. Source:
        Arrow C++ before 2.0, ARROW-10353, ARROW-17100."""
        application, _, version = self.created_by.partition(" version ")
        return application == "parquet-cpp" and version[:2] in ("0.", "1.")

    @read_once
    def leaves_out_headers(self) -> bool:
        """Whether sizes of chunks may be without the header of the dictionary page. Source: parquet-mr before
        1.2.9, PARQUET-816."""
        application, _, version = self.created_by.partition(" version ")
        return (
            application == "parquet-mr"
            and re.match(r"$|0\.|1\.[01]\.|1\.2\.[0-8]\b", version) is not None
        )

    @read_once
    def leaves(self) -> tuple[LeafColumn, ...]:
        """The leaf columns. Raises FooterError if the schema is damaged."""
        try:
            return leaves_of(self.raw[slice(*self._fields["schema"])], self.elements)
        except (FooterError, UnsupportedError) as error:
            raise type(error)(f"{self.where}: {error}") from None

    def elements(self) -> list[ttypes.SchemaElement]:
        """Those of the schema, decoded. Raises FooterError, UnsupportedError for very many."""
        size = len(self._boundaries(self._fields["schema"][0])) - 1
        check_fits(f"schema: {number_of(size, 'element')} take", _ELEMENT_BYTES * size)
        return self._decoded(ttypes.SchemaElement, "schema")

    @read_once
    def top_fields(self) -> TopFields:
        """Those that readers call columns. Raises as leaves."""
        # They prove that the elements are a tree.
        _ = self.leaves
        bounds = self._boundaries(self._fields["schema"][0])
        stored = [self.raw[start:end] for start, end in pairwise(bounds)]
        return top_fields_of(stored, self.elements)

    @read_once
    def has_views(self) -> bool:
        """See arrow_schema.has_views."""
        text = self.value_of(arrow_schema.KEY)
        return text is not None and arrow_schema.has_views(text)

    @read_once
    def arrow_extensions(self) -> dict[str, str]:
        """See arrow_schema.extensions."""
        text = self.value_of(arrow_schema.KEY)
        return {} if text is None else arrow_schema.extensions(text)

    @read_once
    def arrow_dictionaries(self) -> frozenset[str]:
        """See arrow_schema.dictionaries."""
        text = self.value_of(arrow_schema.KEY)
        return frozenset() if text is None else arrow_schema.dictionaries(text)

    def as_called(self) -> bytes:
        """FileMetaData with the names that the table has for which the file is opened, and without a schema of Arrow
        that has views. Raises as leaves."""
        fields = {_SCHEMA: compact.list_of(self.top_fields.as_called(self.leaves))}
        if self.has_views:
            bounds = self._boundaries(self._fields["key_value_metadata"][0])
            pairs = zip(pairwise(bounds), self._key_values(), strict=True)
            kept = [
                self.raw[start:end] for (start, end), pair in pairs if pair.key != arrow_schema.KEY
            ]
            fields[_KEY_VALUES] = compact.list_of(kept)
        return compact.splice(self.raw, 0, fields)

    @read_once
    def row_groups(self) -> GroupTable:
        try:
            return GroupTable(self.raw, self._group_bounds[:-1])
        except _kernel.ScanError as error:
            raise self._damaged(error) from None

    @read_once
    def _group_bounds(self) -> array[int]:
        return self._boundaries(self._fields["row_groups"][0])

    @read_once
    def num_row_groups(self) -> int:
        return len(self._group_bounds) - 1

    def row_group_start(self, row_group: int) -> int:
        """Where its RowGroup begins in `raw`."""
        return self._group_bounds[row_group]

    def row_group_num_rows(self, row_group: int) -> int:
        return self.row_groups.num_rows[row_group]

    def row_group_bytes(self, row_group: int) -> int | None:
        """What its chunks take; None if the footer lacks the size of one, or has it encrypted."""
        sizes = self.chunks_of(()).part("total_compressed_size", row_group)
        return None if _kernel.ABSENT in sizes else sum(sizes)

    @read_once
    def row_count_doubt(self) -> str:
        """What is wrong if the rows of the row groups do not add up to the file's; empty if they do:
        a lost row group must not make a value seem absent."""
        if (held := sum(self.row_groups.num_rows)) == self.num_rows:
            return ""
        return f"footer: the row groups hold {held} rows, the file {self.num_rows}"

    def check_row_counts(self) -> None:
        """Raise FooterError if there is a row_count_doubt."""
        if self.row_count_doubt:
            raise FooterError(f"{self.where}: {self.row_count_doubt}")

    @property
    def chunks(self) -> ChunkTable:
        """The numbers of every column chunk."""
        return self._opened.table

    def chunks_of(self, leaves: Sequence[LeafColumn]) -> ChunkTable:
        """The same, where those of other columns do not matter, and are not decrypted."""
        return self._opened.table_of([leaf.index for leaf in leaves])

    def may_encrypt(self, column: int) -> bool:
        """Whether a leaf column, by its index, is encrypted in any row group, or may be, as nobody could verify the
        footer. Raises as check_chunks, but decrypts nothing."""
        if self.protection.unverified or not self.num_row_groups:
            return True
        if not self.protection.is_encrypted:
            return False
        one = self.chunks_of(()).one
        return any(
            one("has_crypto_metadata", row_group, column)
            for row_group in range(self.num_row_groups)
        )

    def doubt_about_plaintext(self, leaf: LeafColumn, row_groups: Iterable[int]) -> str:
        """Why a column may not be in plaintext in all of these row groups where it says so: anyone may have made what
        is there. Empty if nothing speaks against it."""
        doubt = self.protection.doubt(leaf.path)
        if not doubt:
            return ""
        one = self.chunks_of(()).one
        are_sealed = all(one("has_crypto_metadata", each, leaf.index) for each in row_groups)
        return "" if are_sealed else doubt

    def check_chunks(self) -> None:
        """Raise FooterError if what the footer says of them is damaged, UnsupportedError if it does not
        fit the memory budget, EncryptionError if it cannot be decrypted."""
        _ = self.chunks

    @read_once
    def undescribed(self) -> ChunkKey | None:
        """The first chunk without a ColumnMetaData that is not encrypted; None if there is none."""
        encrypted = self.chunks.every("has_crypto_metadata")
        found = (index for index in self.chunks.lacking("meta_start") if not encrypted[index])
        index = next(found, None)
        return None if index is None else divmod(index, len(self.leaves))

    def check_open(self, leaves: Sequence[LeafColumn]) -> None:
        """Raise TamperedError for a column that was given another key than it is encrypted with, and as check_chunks
        for these columns."""
        if self.protection.is_encrypted:
            _ = self.chunks_of(leaves)
            for leaf in leaves:
                self._opened.check_opens(leaf.index)

    @property
    def has_locked_chunks(self) -> bool:
        """Whether there is no key, or another one, for one of them."""
        return self._opened.has_locked

    @read_once
    def _opened(self) -> OpenedChunks:
        shape = self.num_row_groups, len(self.leaves)
        if shape[0] * shape[1] > len(self.raw):
            raise FooterError(
                f"{self.where}: footer: {shape[0]} row groups of {shape[1]} columns in"
                f" {len(self.raw)} bytes"
            )
        if (taken := _COPIES * len(self.raw) + _CHUNK_BYTES * shape[0] * shape[1]) > memory():
            size = f"{number_of(shape[0], 'row group')} of {number_of(shape[1], 'column')}"
            check_fits(f"{self.where}: footer: {size} take", taken)
        return OpenedChunks(
            self.raw, self.where, self.protection, self.leaves, self.ordinal, self._scanned_chunks()
        )

    def _scanned_chunks(self) -> ChunkTable:
        columns = self.row_groups.columns
        if _kernel.ABSENT in columns:
            row_group = columns.index(_kernel.ABSENT)
            raise FooterError(f"{self.where}: footer: row group {row_group} has no columns")
        try:
            return ChunkTable(self.raw, columns, len(self.leaves))
        except _kernel.ScanError as error:
            raise self._damaged(error) from None

    def chunk(self, row_group: int, leaf: LeafColumn) -> ColumnChunk:
        """The chunk of `leaf` in `row_group`."""
        opened = self._opened
        modules = opened.modules(row_group, leaf.index)
        is_elsewhere, is_encrypted, meta_data = opened.table_of([leaf.index]).chunk(
            row_group, leaf.index
        )
        return ColumnChunk(row_group, leaf, modules, is_elsewhere, is_encrypted, *meta_data)

    def column_meta_data(self, chunk: ColumnChunk) -> ttypes.ColumnMetaData:
        """The chunk's decoded ColumnMetaData. Raises FooterError if it is damaged."""
        try:
            text = self._opened.text(*chunk.key)
            return compact.decode(ttypes.ColumnMetaData, text, chunk.meta_start or 0)[0]
        except (FormatError, _kernel.ScanError) as error:
            raise FooterError(f"{self.where}: {chunk.where}: {error}") from None

    def meta_data(self, chunk: ColumnChunk) -> tuple[bytes, int]:
        """Bytes, and where in them its ColumnMetaData begins. Raises FooterError if it is missing."""
        if chunk.meta_start is None:
            raise FooterError(f"{self.where}: {chunk.where}: no ColumnMetaData")
        return self._opened.text(*chunk.key), chunk.meta_start

    def is_opened(self, chunk: ColumnChunk) -> bool:
        """Whether its ColumnMetaData was decrypted, so that it is not in `raw`."""
        return self._opened.is_opened(*chunk.key)

    def stored_bounds(
        self, row_group: int, leaf: LeafColumn, takes_deprecated: bool
    ) -> tuple[bytes, bytes] | None:
        """The least and greatest value in the Statistics of a chunk as they are stored, if the footer says in which
        order they are; `takes_deprecated`: or in signed order. None if there are none. Raises FooterError for
        damage."""
        places = self._statistics(row_group, leaf, compact.TYPE_BINARY)
        is_ordered = self.is_ordered(leaf) or False
        for (least, most), counts in zip(_BOUNDS, (is_ordered, takes_deprecated), strict=True):
            if counts and least in places and most in places:
                low, high = places[least], places[most]
                text = self._opened.text(row_group, leaf.index)
                return compact.read_binary(text, low), compact.read_binary(text, high)
        return None

    def says_bound_is_cut(self, row_group: int, leaf: LeafColumn) -> bool:
        """Whether the Statistics of a chunk say of a bound that it is not exact. Raises FooterError for damage."""
        said = self._statistics(row_group, leaf, compact.TYPE_FALSE)
        return not _ARE_EXACT.isdisjoint(said)

    def lacks_nan(self, row_group: int, leaf: LeafColumn) -> bool:
        """Whether the Statistics of a chunk say that it has no NaN. Raises FooterError for damage."""
        at = self._statistics(row_group, leaf, compact.TYPE_I64).get(_NAN_COUNT)
        text = self._opened.text(row_group, leaf.index)
        return at is not None and compact.read_zigzag(text, at) == 0

    def is_ordered(self, leaf: LeafColumn) -> bool | None:
        """Whether the bounds of a column are in an order that is known here; None if the footer does not
        say, which means that those of INT96 are not."""
        is_int96 = leaf.physical_type == "INT96"
        if leaf.index >= len(self._column_orders):
            return False if is_int96 else None
        order = self._column_orders[leaf.index]
        return order == _ORDER_OF_INT96 if is_int96 else order in _ORDERS

    def _statistics(self, row_group: int, leaf: LeafColumn, wanted: int) -> Mapping[int, int]:
        """Where in the text the fields of this type are in the Statistics of a chunk, by their ids."""
        start = self.chunks_of([leaf]).one("meta_start", row_group, leaf.index)
        if start < 0:
            return {}
        try:
            return _statistics(self._opened.text(row_group, leaf.index), start, wanted)
        except _kernel.ScanError as error:
            where = f"row group {row_group}, column {leaf.name}"
            raise FooterError(f"{self.where}: {where}: statistics: {error}") from None

    @read_once
    def _column_orders(self) -> list[list[int]]:
        """The members of each ColumnOrder."""
        if "column_orders" not in self._fields:
            return []
        try:
            return [
                [field[0] for field in _kernel.fields(self.raw, start)]
                for start in self._boundaries(self._fields["column_orders"][0])[:-1]
            ]
        except _kernel.ScanError as error:
            raise self._damaged(error) from None

    @property
    def num_column_orders(self) -> int | None:
        """None if it has no list of them."""
        return len(self._column_orders) if "column_orders" in self._fields else None

    def fields(self, chunk: ColumnChunk, numbers: Iterable[int]) -> Fields:
        """These fields of the chunk's ColumnMetaData, as with_fields takes them; None for missing
        ones. Raises as meta_data does."""
        text, start = self.meta_data(chunk)
        there = {
            number: (kind, text[value:end])
            for number, kind, _, value, end in _kernel.fields(text, start)
        }
        return {number: there.get(number) for number in numbers}

    def shown_fields(self, row_group: int, column: int) -> frozenset[int]:
        """The ids of the fields in an encrypted chunk's ColumnMetaData that can be read without the
        column's key."""
        start = self._opened.shown(row_group, column)
        if start is None:
            return frozenset()
        return frozenset(field[0] for field in _kernel.fields(self.raw, start))

    @read_once
    def layout(self) -> Layout:
        """The use of every byte range of the file."""
        return Layout(self.chunks, self.start)

    def with_filters(self, places: Mapping[ChunkKey, FilterPlace | None]) -> bytes:
        """FileMetaData with the filters of chunks set, or removed if None.

        Keeps every byte outside fields 14 and 15 of these chunks' ColumnMetaData, except the header
        of the field after them, which holds the distance to the previous id. Sealed ColumnMetaData
        is sealed again; its redacted copy gets no new fields unless the place `is_shown`. Raises
        EncryptionError if there is no key for that.
        """

        def edit_of(chunk: ChunkKey) -> Edit:
            place = places[chunk]
            return Edit(_filter_fields(place), place is not None and place.is_shown)

        return self._edited(places, edit_of, _sealed)

    def without_filters(self, chunks: Collection[ChunkKey]) -> bytes:
        """FileMetaData without the filters of `chunks`, all ColumnMetaData in plaintext: for comparisons."""
        return self.with_opened_fields(chunks, lambda _: NO_POINTER)

    def with_fields(self, fields: Mapping[ChunkKey, Fields]) -> bytes:
        """FileMetaData with fields of chunks' ColumnMetaData set or dropped; keeps other bytes as
        with_filters does. Raises EncryptionError if there is no key for that."""
        return self._edited(fields, lambda chunk: Edit(fields[chunk]), _sealed)

    def with_opened_fields(
        self, chunks: Collection[ChunkKey], fields_of: Callable[[ChunkKey], Fields]
    ) -> bytes:
        """As with_fields, but with all ColumnMetaData in plaintext, as without_filters."""
        return self._edited(chunks, lambda chunk: Edit(fields_of(chunk)), None)

    def _edited(self, chunks: Collection[ChunkKey], edit_of: EditOf, seal: Seal | None) -> bytes:
        for row_group, column in chunks:
            if self.chunks.one("meta_start", row_group, column) == _kernel.ABSENT:
                where = f"row group {row_group}, column {self.leaves[column].name}"
                raise FooterError(f"{self.where}: {where}: no ColumnMetaData")
        return self._opened.edited(chunks, edit_of, seal)

    def tail(self, places: Mapping[ChunkKey, FilterPlace | None]) -> bytes:
        """The end of a file with these filters: the footer and what follows it."""
        raw = self.with_filters(places)
        with named(self.where):
            return self.protection.tail(raw)


def _statistics(text: bytes, start: int, wanted: int) -> dict[int, int]:
    """Where fields of this type are in the Statistics of the ColumnMetaData at `start`, by their ids."""
    for number, kind, _, value, _ in _kernel.fields(text, start):
        if number == _STATISTICS and kind == compact.TYPE_STRUCT:
            found = _kernel.fields(text, value)
            return {field: at for field, kind, _, at, _ in found if kind == wanted}
    return {}


def _sealed(modules: Modules, meta_data: bytes) -> bytes:
    return modules.seal_meta_data(meta_data)


def _filter_fields(place: FilterPlace | None) -> Fields:
    if place is None:
        return NO_POINTER
    return {
        BLOOM_FILTER_OFFSET: (compact.TYPE_I64, compact.zigzag(place.offset)),
        BLOOM_FILTER_LENGTH: (compact.TYPE_I32, compact.zigzag(place.length)),
    }
