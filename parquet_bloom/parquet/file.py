"""An open Parquet file, a Container: its row groups, leaf columns, filters, and what they exclude."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from parquet_bloom.container import ROW_GROUPS, Answer, NoFilters, ReadFilter, Units
from parquet_bloom.errors import ColumnError, FilterError, UnsupportedError, ValueTypeError
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn, find_column
from parquet_bloom.parquet.footer.tail import read_footer
from parquet_bloom.parquet.probe import Asked, ChunkProber, probers
from parquet_bloom.storage.source import Source
from parquet_bloom.storage.window import Window

if TYPE_CHECKING:
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        Look,
        PartDescription,
        StoredFilter,
    )
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.parquet.column_filter import ColumnFilter
    from parquet_bloom.parquet.legacy_kind import LegacyKind
    from parquet_bloom.vocabulary import Dialect, LiteralType

NO_KEY = "encrypted, no key"


class ParquetFile:
    """An open Parquet file. Use as a context manager, or call close()."""

    format: Literal["parquet"] = "parquet"

    def __init__(
        self, source: Source, keys: Keys | None = None, legacy: LegacyKind | None = None
    ) -> None:
        """Read the footer. `legacy` knows legacy filters; None: they are passed over.

        Raises FormatError if it is no Parquet file, or a damaged one; EncryptionError if it is
        encrypted and does not open with `keys`, those for this file.
        """
        self.source = source
        self.keys = keys
        self.legacy = legacy
        self.footer: Footer = read_footer(source, keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.source.close()

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def units(self) -> Units:
        return ROW_GROUPS

    @property
    def created_by(self) -> str:
        return self.footer.created_by

    @property
    def is_encrypted(self) -> bool:
        return self.footer.protection.is_encrypted

    @property
    def unverified(self) -> str | None:
        return self.footer.protection.unverified or None

    @property
    def num_rows(self) -> int:
        return self.footer.num_rows

    @property
    def num_parts(self) -> int:
        return self.footer.num_row_groups

    def parts(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These row groups in order, checked; all of them for None. Raises ColumnError."""
        return self.row_groups(wanted)

    def select(self, names: Sequence[str] | None) -> tuple[LeafColumn, ...]:
        """These leaf columns in schema order, without repetition; all of them for None."""
        return self.leaves(names)

    def chunks(self, part: int, columns: Sequence[LeafColumn]) -> Iterator[ColumnChunk]:
        """The chunks of these columns in one row group."""
        return (self.footer.chunk(part, column) for column in columns)

    @property
    def num_row_groups(self) -> int:
        return self.footer.num_row_groups

    @property
    def columns(self) -> tuple[str, ...]:
        """The dotted paths of the leaf columns."""
        return tuple(leaf.name for leaf in self.footer.leaves)

    def column(self, name: str) -> LeafColumn:
        """The leaf column with this dotted path. Raises ColumnError, naming the close ones."""
        try:
            return find_column(self.footer.leaves, name)
        except ColumnError as error:
            raise ColumnError(f"{self.path}: {error}") from None

    def leaf(self, column: str) -> LeafColumn:
        """As column."""
        return self.column(column)

    def leaves(self, columns: Sequence[str] | None) -> tuple[LeafColumn, ...]:
        """These leaf columns in schema order, without repetition; all of them for None."""
        if columns is None:
            return self.footer.leaves
        wanted = {self.leaf(column).index for column in columns}
        return tuple(leaf for leaf in self.footer.leaves if leaf.index in wanted)

    def row_groups(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These row groups in order, checked; all of them for None. Raises ColumnError."""
        for row_group in wanted or ():
            self.check_row_group(row_group)
        return tuple(range(self.num_row_groups)) if wanted is None else tuple(sorted(set(wanted)))

    def check_row_group(self, row_group: int) -> None:
        """Raise ColumnError unless the file has this row group."""
        if not 0 <= row_group < self.num_row_groups:
            raise ColumnError(
                f"{self.path}: row group {row_group}: expected 0 to {self.num_row_groups - 1}"
            )

    def chunk(self, row_group: int, column: str) -> ColumnChunk:
        """The column chunk; raises ColumnError if there is no such row group or column."""
        self.check_row_group(row_group)
        return self.footer.chunk(row_group, self.leaf(column))

    def bloom_filter(self, row_group: int, column: str) -> ColumnFilter:
        """The filter of one column chunk, read whole.

        Raises ColumnError if there is no such chunk, FilterError if it has no usable filter.
        """
        chunk = self.chunk(row_group, column)
        stored = bloom.read_usable_header(self.source, self.footer, chunk)
        if stored is None:
            raise FilterError(f"{self.path}: {chunk.where}: no filter")
        # Only here is numpy needed, which takes longer to import than most files take to probe.
        from parquet_bloom.parquet.column_filter import ColumnFilter

        return ColumnFilter(bloom.read_bitset(self.source, stored).words, chunk.leaf.type)

    def probe(self, column: str, value: Any) -> tuple[Answer, ...]:
        """Whether `value` is in each row group, from the footer and 32 bytes of each filter; of an
        encrypted one all bytes are needed to know that none has been changed.

        `value` is a Python or numpy value of the column's type. Raises ColumnError, and
        ValueTypeError if the column cannot hold the value.
        """
        leaf = self.column(column)
        asked = self.encode(leaf, value)
        return tuple(answer for each in self.probers(leaf) for answer in each.answers(asked))

    def encode(self, column: LeafColumn, value: Any) -> Asked:
        """A Python or numpy value, to ask probers about. Raises ValueTypeError."""
        # Only who asks about values needs decimals, dates and UUIDs imported.
        from parquet_bloom.values.encode import encode

        return Asked("", encode(column.type, value))

    def read_literal(
        self, column: LeafColumn, text: str, read_as: LiteralType | None = None
    ) -> Asked:
        """A literal, likewise. Raises ValueTypeError, naming file and column."""
        from parquet_bloom.values.literals import encode_literal

        try:
            return Asked(text, encode_literal(column.type, text, read_as))
        except ValueTypeError as error:
            raise ValueTypeError(f"{self.path}: column {column.name}: {error}") from None

    def probers(
        self, column: LeafColumn, dialect: Dialect | None = None, seed: int | None = None
    ) -> Iterator[ChunkProber]:
        """For each row group what asks its filter of this dialect, or the one to which
        bloom_filter_offset leads. Raises FooterError if row groups are missing from the footer."""
        return probers(self, column, dialect, seed)

    @property
    def row_index_stride(self) -> None:
        """There are no index groups."""

    @property
    def compression(self) -> None:
        """That of a whole file: every column has its own."""

    def check_has_blocks(self, what: str) -> None:
        """Its filters have blocks."""

    def check_has_groups(self) -> None:
        """Raise UnsupportedError: a row group is what readers skip."""
        raise UnsupportedError(f"{self.path}: a Parquet file has no index groups")

    def describe_part(self, part: int) -> PartDescription:
        """A row group, apart from its columns."""
        # Only who shows filters needs what describes them.
        from parquet_bloom.container.descriptions import PartDescription

        return PartDescription(self.footer.row_group_num_rows(part))

    def describe(
        self, chunk: ColumnChunk, groups: bool = False, look: Look | None = None
    ) -> ChunkDescription:
        """What there is of filters, or why there is none. `look` gets the bits. Raises
        TamperedError."""
        from parquet_bloom.parquet.describe import describe

        return describe(self, self.window, chunk, look)

    @cached_property
    def window(self) -> Window:
        """The source for whoever reads one small filter or header after another, in one thread."""
        return Window(self.source)

    def stored_filter(
        self,
        column: str,
        part: int,
        group: int | None = None,
        dialect: Dialect | None = None,
        seed: int | None = None,
        decrypt: bool = False,
    ) -> StoredFilter:
        """The bytes of one filter: of this dialect, or that to which bloom_filter_offset leads.

        seed: of the hash of a `murmur3` filter, if nothing in the file tells it. decrypt: give out
        what the envelopes of an encrypted column hold. Raises ColumnError, FilterError if there is
        none that can be used, EncryptionError if it does not open.
        """
        if group is not None:
            self.check_has_groups()
        from parquet_bloom.parquet.describe import stored_filter

        return stored_filter(self, self.chunk(part, column), dialect, seed, decrypt)

    def read_filters(self, part: int, column: LeafColumn) -> Sequence[ReadFilter] | NoFilters:
        """The filter of a chunk, if bloom_filter_offset leads to one whose bits can be read."""
        from parquet_bloom.parquet.whole_filter import read_whole

        return read_whole(self.source, self.footer, part, column)

    def private_filters(self, columns: Sequence[LeafColumn]) -> Mapping[str, int]:
        """How many legacy filters there are, by dialect, to which bloom_filter_offset does not
        lead."""
        return {} if self.legacy is None else self.legacy.num_private(self, columns)
