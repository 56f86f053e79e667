"""A Parquet file as a container.Container: what can be done with its filters.

Every method imports what it needs when it is called, so that nothing is loaded without being used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from threading import local
from typing import TYPE_CHECKING, Any, Literal

from parquet_bloom.container import ROW_GROUPS, NoFilters, Place, ReadFilter
from parquet_bloom.errors import EncryptionError, UnsupportedError, ValueTypeError
from parquet_bloom.filters.sizing import MAX_BYTES
from parquet_bloom.native import _kernel
from parquet_bloom.options import check_dialect
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.footer import shredded
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.footer.tail import TAIL_BYTES
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.sealed.protection import MAGIC
from parquet_bloom.storage.source import FileEnd

if TYPE_CHECKING:
    from parquet_bloom.container import (
        BuildChange,
        FoundIn,
        OneFilter,
        Repairs,
        StripChange,
        descriptions,
    )
    from parquet_bloom.container.column_filter import ColumnFilter
    from parquet_bloom.container.conditions import Condition, PartsLeft
    from parquet_bloom.container.footer_fields import FooterDescription
    from parquet_bloom.options import BuildOptions, RepairOptions, Selection
    from parquet_bloom.parallel import Progress
    from parquet_bloom.parquet.edit.repair import ParquetRepair
    from parquet_bloom.parquet.filters.asked import Asked
    from parquet_bloom.parquet.filters.field import FieldProber
    from parquet_bloom.parquet.filters.probe import ChunkProber
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import Dialect


class ParquetContainer(OpenFile):
    """An open Parquet file. Use as a context manager, or call close()."""

    format: Literal["parquet"] = "parquet"
    units = ROW_GROUPS
    # Of ORC only.
    row_index_stride = None
    compression = None

    @property
    def created_by(self) -> str:
        return self.footer.created_by

    @property
    def unverified(self) -> str | None:
        return self.footer.protection.unverified or None

    @property
    def key_arguments(self) -> tuple[str, ...]:
        return self.keys.arguments if self.keys and self.is_encrypted else ()

    @property
    def missing_key_arguments(self) -> tuple[str, ...]:
        return self.footer.protection.missing

    def missing_column_keys(self, names: Collection[str] | None) -> Mapping[str, tuple[str, ...]]:
        if not (self.is_encrypted and self.num_row_groups):
            return {}
        wanted = [leaf for leaf in self.leaves if names is None or leaf.name in names]
        missing = {chunk.leaf.name: chunk.missing_key_arguments for chunk in self.chunks(0, wanted)}
        return {name: arguments for name, arguments in missing.items() if arguments}

    @property
    def num_rows(self) -> int:
        return self.footer.num_rows

    @property
    def num_parts(self) -> int:
        return self.num_row_groups

    @property
    def part_rows(self) -> Sequence[int]:
        return self.footer.row_groups.num_rows

    @property
    def part_bytes(self) -> Sequence[int | None]:
        return [*map(self.footer.row_group_bytes, range(self.num_parts))]

    @property
    def earlier_ends(self) -> tuple[int, ...]:
        from parquet_bloom.parquet.edit.ends import earlier_ends

        return tuple(reversed([older.source.size for older in earlier_ends(self)]))

    @property
    def ends_within(self) -> tuple[int, ...]:
        from parquet_bloom.parquet.edit.ends import ends_within

        return tuple(reversed([older.source.size for older in ends_within(self)]))

    def chunks_since(self, end: int) -> list[ColumnChunk]:
        from parquet_bloom.parquet.edit.ends import pointing_since

        return [*map(self.chunk_at, pointing_since(self, end))]

    @property
    def obstacles(self) -> tuple[str, ...]:
        from parquet_bloom.parquet.edit.obstacles import obstacles

        return tuple(obstacles(self))

    def lost_rows_of(self, column: LeafColumn) -> tuple[str, ...]:
        from parquet_bloom.engines.reading import lost_rows
        from parquet_bloom.parquet.footer.column_kind import column_kind

        return tuple(map(str, lost_rows(column_kind(column))))

    @property
    def fingerprint(self) -> str:
        """Changes whenever the file does."""
        return f"{self.source.size}:{_kernel.xxh64(self.footer.raw):016x}"

    def bloom_filter(self, wanted: OneFilter) -> ColumnFilter:
        """The filter of a column chunk."""
        if wanted.group is not None:
            self.check_has_groups()
        from parquet_bloom.parquet.filters.probe import ChunkProber

        check_dialect(wanted.dialect, wanted.seed)
        chunk = self.chunk(wanted.part, wanted.column)
        self.will_read_filters([chunk.key[0]], [chunk.leaf])
        return ChunkProber(self, chunk, wanted.dialect, wanted.seed).column_filter()

    def encode(self, column: LeafColumn, values: Sequence[Any]) -> Asked:
        """Values, to ask probers about. Raises ValueTypeError; for a field of a VARIANT, which can have values of
        any type, such values are `unknown`."""
        from parquet_bloom.parquet.filters.asked import asked_of

        if isinstance(column, shredded.ShreddedField):
            from parquet_bloom.parquet.filters.field import asked_of_field

            return asked_of_field(column.type, values)
        try:
            return asked_of(column.in_table or column.type, values)
        except ValueTypeError as error:
            raise ValueTypeError(f"{self.path}: column {column.name}: {error}") from None

    def caveat(self, column: LeafColumn) -> str | None:
        """That a part of a VARIANT is not all of it."""
        return shredded.caveat(column) if shredded.is_in_variant(column) else None

    def check_answers(
        self, parts: Sequence[int] | None = None, dialect: Dialect | None = None
    ) -> None:
        """Raise FooterError if the file has rows, but no row group that could answer."""
        if self.num_row_groups == 0:
            self.footer.check_row_counts()

    def check_row_counts(self) -> None:
        self.footer.check_row_counts()

    def num_groups(self, part: int) -> int:
        """A row group has one filter."""
        return 1

    def prober(
        self, column: LeafColumn, part: int, dialect: Dialect | None = None, seed: int | None = None
    ) -> ChunkProber | FieldProber:
        """For the filter of one row group: the one of this dialect, or for None the one at
        bloom_filter_offset. Answers `unknown` if row groups may be missing from the footer."""
        from parquet_bloom.parquet.filters.probe import ChunkProber

        prober = ChunkProber(self, self.footer.chunk(part, column), dialect, seed)
        if not isinstance(column, shredded.ShreddedField):
            return prober
        from parquet_bloom.parquet.filters.field import Elsewhere, FieldProber

        return FieldProber(prober, Elsewhere(self, column, part))

    def parts_left(
        self, condition: Condition, parts: Sequence[int], by_filters: bool = True
    ) -> PartsLeft:
        """Those of these row groups that neither statistics nor filters exclude."""
        from parquet_bloom.parquet.filters.left import parts_left

        return parts_left(self, condition, parts, by_filters)

    def within_bounds(
        self, column: LeafColumn, parts: Sequence[int], asked: Asked
    ) -> dict[int, None]:
        """Those of these row groups that min/max statistics do not exclude."""
        from parquet_bloom.parquet.filters.bounds import among

        self._check_plaintext(column, parts)
        # Of a field of a VARIANT, other values are outside of its typed column.
        bounds = None if shredded.is_in_variant(column) else among(column.type, asked)
        if bounds is not None:
            parts = [part for part in parts if bounds.hold(self, column, part)]
        self.will_read_filters(parts, [column], len(asked))
        return dict.fromkeys(parts)

    def groups_within_bounds(
        self, column: LeafColumn, part: int, asked: Asked, values: Mapping[int, Sequence[int]]
    ) -> Collection[int]:
        """See Askable; a row group is one group."""
        from parquet_bloom.parquet.filters.bounds import reaching

        if shredded.is_in_variant(column):
            return values.keys()
        keys = {group: asked.keys_at(each) for group, each in values.items()}
        bounds = {group: reaching(column.type, each) for group, each in keys.items()}
        return [at for at, each in bounds.items() if each is None or each.hold(self, column, part)]

    def _check_plaintext(self, column: LeafColumn, parts: Iterable[int]) -> None:
        """Raises EncryptionError for a column of which neither values nor statistics may be believed."""
        if doubt := self.footer.doubt_about_plaintext(column, parts):
            raise EncryptionError(f"{self.path}: column {column.name}: {doubt}")

    def not_sought(self, asked: Asked) -> Mapping[int, str]:
        """None: NaN is at fault in every file."""
        return {}

    def find_rows(
        self, column: LeafColumn, places: Mapping[int, Collection[int] | None], asked: Asked
    ) -> Iterator[FoundIn]:
        """The rows that hold one of the values."""
        if isinstance(column, shredded.ShreddedField):
            from parquet_bloom.parquet.filters.field import check_shredded

            check_shredded(self, column, places)
        self._check_plaintext(column, places)
        from parquet_bloom.parquet.filters.rows import finder_of

        return finder_of(column.type, asked).rows(self, column, places)

    def will_read_rows(
        self, columns: Sequence[str], parts: Collection[int], column: LeafColumn | None = None
    ) -> None:
        from parquet_bloom.parquet.pages.row_reader import will_read_rows

        will_read_rows(self, columns, parts, column)

    @property
    def top_columns(self) -> tuple[str, ...]:
        return self.footer.top_fields.names(self.footer.leaves)

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        from parquet_bloom.parquet.pages.row_reader import read_rows

        return read_rows(self, columns, rows)

    def has_encrypted(self, names: Iterable[str]) -> bool:
        """See Askable."""
        asked = {*names}
        wanted = [
            leaf
            for leaf in (self.footer.leaves if self.is_encrypted else ())
            if any(".".join(leaf.path[:end]) in asked for end in range(1, len(leaf.path) + 1))
        ]
        is_encrypted = self.footer.chunks_of(wanted).one
        return any(
            is_encrypted("has_crypto_metadata", part, leaf.index)
            for leaf in wanted
            for part in range(self.num_parts)
        )

    @property
    def has_views(self) -> bool:
        """Whether readers make views of text, of a file that is not encrypted."""
        return not self.is_encrypted and self.footer.has_views

    def end_as_called(self) -> FileEnd:
        """The end of the file for readers that know no names but those in it: with the table's, and without views.
        Raises UnsupportedError if it is encrypted."""
        if self.is_encrypted:
            raise UnsupportedError(f"{self.path}: encrypted, and its columns have other names")
        footer = self.footer.as_called()
        end = footer + len(footer).to_bytes(TAIL_BYTES - len(MAGIC), "little") + MAGIC
        return FileEnd(self.footer.start, end)

    def check_has_blocks(self, what: str) -> None:
        """Split block filters do."""

    def check_has_groups(self) -> None:
        """Raise UnsupportedError: a row group has one filter."""
        raise UnsupportedError(f"{self.path}: a Parquet file has no index groups")

    def describe_part(self, part: int) -> descriptions.PartDescription:
        """A row group, without its columns."""
        from parquet_bloom.container.descriptions import PartDescription

        return PartDescription(Place(part), self.footer.row_group_num_rows(part))

    def describe_chunks(
        self,
        part: int,
        columns: Sequence[LeafColumn],
        groups: bool = False,
        on_bits: descriptions.OnBits | None = None,
    ) -> Iterator[descriptions.ChunkDescription]:
        """The chunks of `columns` in one row group and their filters, or why one has none. `on_bits` is
        called with what returns the bits of a filter before its chunk comes. Raises TamperedError."""
        from parquet_bloom.parquet.filters.describe import describe_chunks

        return describe_chunks(self, self.window, part, columns, on_bits)

    @read_once
    def _windows(self) -> local:
        return local()

    @property
    def window(self) -> Source:
        """The source for whoever reads one small filter or header after another: each thread has its
        own."""
        found: Source | None = getattr(self._windows, "of_thread", None)
        if found is None:
            found = self._windows.of_thread = self.source.window()
        return found

    def describe_footer(
        self, columns: Sequence[LeafColumn] | None = None, parts: Sequence[int] | None = None
    ) -> FooterDescription:
        """Every field of the FileMetaData, without the chunks of other columns and other row groups."""
        from parquet_bloom.parquet.footer.every_field import every_field

        indexes = None if columns is None else {column.index for column in columns}
        wanted = None if parts is None else {*self.select_parts(parts)}
        return every_field(self.footer, self.source.size - TAIL_BYTES, indexes, wanted)

    def stored_filter(
        self,
        column: str,
        part: int,
        group: int | None = None,
        dialect: Dialect | None = None,
        seed: int | None = None,
        decrypt: bool = False,
        unparsed: bool = False,
    ) -> descriptions.FilterBytes:
        """The bytes of one filter: the one of this dialect, or for None the one at
        bloom_filter_offset.

        seed: of the hash of a `murmur3` filter, if the file does not say. decrypt: return an encrypted
        filter decrypted. unparsed: see verbs.dump. Raises ColumnError, FilterError if there is no
        usable filter, EncryptionError if it cannot be decrypted.
        """
        if group is not None:
            self.check_has_groups()
        chunk = self.chunk(part, column)
        self.will_read_filters([part], [chunk.leaf])
        if unparsed:
            from parquet_bloom.parquet.filters.unparsed import unparsed_filter

            return unparsed_filter(self, chunk)
        from parquet_bloom.parquet.filters.describe import stored_filter

        return stored_filter(self, chunk, dialect, seed, decrypt)

    def will_read_filters(
        self,
        parts: Sequence[int] | None,
        columns: Sequence[LeafColumn],
        num_values: int | None = None,
    ) -> None:
        """Fetch them ahead, if the file is remote: whole, or what is quickest for so many values of
        one column, with what there is instead of a filter."""
        if not self.source.is_remote:
            return
        from parquet_bloom.parquet.filters.ahead import block_ranges, filter_ranges, null_ranges

        wanted = self.select_parts(parts)
        if num_values is None:
            self.source.will_read(filter_ranges(self, wanted, columns))
        else:
            (column,) = columns
            nulls = null_ranges(self, wanted, column)
            self.source.will_read(chain(nulls, block_ranges(self, wanted, column, num_values)))

    def will_read_values(self, chunks: Sequence[ColumnChunk]) -> None:
        """Fetch their pages ahead, if the file is remote."""
        from parquet_bloom.parquet.filters.ahead import pages_ranges

        self.source.will_read(pages_ranges(self, chunks))

    def room_for_filters(self, part: int, column: LeafColumn) -> int:
        """The length of the filter; the limit if it is missing."""
        # Without making a ColumnChunk: a file can have very many without filters.
        one = self.footer.chunks_of([column]).one
        offset = one("bloom_filter_offset", part, column.index)
        length = one("bloom_filter_length", part, column.index)
        if one("has_crypto_metadata", part, column.index):
            chunk = self.footer.chunk(part, column)
            offset = _kernel.ABSENT if chunk.bloom_filter_offset is None else 0
            length = chunk.bloom_filter_length or _kernel.ABSENT
        if offset == _kernel.ABSENT:
            return 0
        return MAX_BYTES if length == _kernel.ABSENT else max(0, min(length, MAX_BYTES))

    def read_filters(self, part: int, column: LeafColumn) -> Sequence[ReadFilter] | NoFilters:
        """The filter at a chunk's bloom_filter_offset, or why its bits cannot be read."""
        from parquet_bloom.parquet.filters.describe import read_whole

        return read_whole(self, part, column)

    def private_filters(self, columns: Sequence[LeafColumn]) -> Mapping[str, int]:
        """The number of private legacy filters, by dialect (see legacy_kind)."""
        return {} if self.legacy is None else self.legacy.num_private(self, columns)

    def build(self, options: BuildOptions, progress: Progress | None = None) -> BuildChange:
        if self.legacy and options.dialect not in (None, "xxhash"):
            return self.legacy.build(self, options, progress)
        from parquet_bloom.parquet.edit.build import ParquetBuild

        return ParquetBuild(self, options, progress)

    def repair(
        self, repairs: Repairs, options: RepairOptions, progress: Progress | None = None
    ) -> ParquetRepair:
        from parquet_bloom.parquet.edit.repair import ParquetRepair

        return ParquetRepair(self, repairs, options, progress)

    def strip(self, selection: Selection) -> StripChange:
        if self.legacy and (change := self.legacy.strip(self, selection)) is not None:
            return change
        from parquet_bloom.parquet.edit.strip import ParquetStrip

        return ParquetStrip(self, selection)
