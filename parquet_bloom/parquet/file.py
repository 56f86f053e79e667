"""Files with Bloom filters: of Parquet the row groups, leaf columns, filters, and what they exclude.

An ORC file is an OrcFile (see orc.file), which is imported only where one is met.

A verdict is `absent` (certain), `maybe`, or `unknown`: no usable filter, for the reason given.
Whatever is dubious about a filter makes it unusable, never a reason for `absent`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from parquet_bloom.container import ROW_GROUPS, Units
from parquet_bloom.errors import (
    ColumnError,
    FilterError,
    MissingKeyError,
    ParquetBloomError,
    TamperedError,
)
from parquet_bloom.filters.verdict import NO_FILTER, Verdict
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import LeafColumn, find_column
from parquet_bloom.parquet.footer.tail import read_footer
from parquet_bloom.storage.source import Source

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.parquet.column_filter import ColumnFilter
    from parquet_bloom.parquet.sealed.modules import ReadBits
    from parquet_bloom.values.encode import Encodings

NO_KEY = "encrypted, no key"


@dataclass(frozen=True, slots=True)
class RowGroupVerdict:
    """Whether a value is in one row group; `reason` says why it is `unknown`."""

    row_group: int
    verdict: Verdict
    reason: str | None
    num_rows: int


class ParquetFile:
    """An open Parquet file. Use as a context manager, or call close()."""

    format: Literal["parquet"] = "parquet"

    def __init__(self, source: Source, keys: Keys | None = None) -> None:
        """Read the footer. Raises FormatError if it is no Parquet file, or a damaged one;
        EncryptionError if it is encrypted and does not open with `keys`, those for this file."""
        self.source = source
        self.keys = keys
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

    def leaf(self, column: str) -> LeafColumn:
        """The leaf column with this dotted path. Raises ColumnError, naming the close ones."""
        try:
            return find_column(self.footer.leaves, column)
        except ColumnError as error:
            raise ColumnError(f"{self.path}: {error}") from None

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

    def probe(self, column: str, value: Any) -> tuple[RowGroupVerdict, ...]:
        """Whether `value` is in each row group, from the footer and 32 bytes of each filter; of an
        encrypted one all bytes are needed to know that none has been changed.

        `value` is a Python or numpy value of the column's type. Raises ColumnError, and
        ValueTypeError if the column cannot hold the value.
        """
        leaf = self.leaf(column)
        # Only who asks about values needs decimals, dates and UUIDs imported.
        from parquet_bloom.values.encode import encode

        (verdicts,) = self.probe_encodings(leaf, [encode(leaf.type, value)])
        return verdicts

    def probe_encodings(
        self, leaf: LeafColumn, values: Sequence[Encodings]
    ) -> list[tuple[RowGroupVerdict, ...]]:
        """As probe, for values whose stored bytes are known; each filter is opened once for all.

        Raises FooterError if row groups are missing from the footer.
        """
        self.footer.check_row_counts()
        verdicts: list[list[RowGroupVerdict]] = [[] for _ in values]
        for row_group in range(self.num_row_groups):
            num_rows = self.footer.row_group_num_rows(row_group)
            probe = _ChunkProbe(self, self.footer.chunk(row_group, leaf))
            for of_value, value in zip(verdicts, values, strict=True):
                of_value.append(RowGroupVerdict(row_group, *probe.verdict(value), num_rows))
        return [tuple(of_value) for of_value in verdicts]


class _ChunkProbe:
    """Asks the filter of one chunk, which is opened for the first value."""

    def __init__(self, file: ParquetFile, chunk: ColumnChunk) -> None:
        self._file = file
        self._chunk = chunk

    def verdict(self, value: Encodings) -> tuple[Verdict, str | None]:
        """The verdict on a value, and why it is `unknown`. Raises TamperedError."""
        if value.unknown:
            return "unknown", value.unknown
        try:
            filter = self._filter
            if filter is None:
                return "unknown", no_filter_reason(self._chunk)
            found = any(_finds(*filter, plain) for plain in value.plain)
            return "maybe" if found else "absent", None
        except MissingKeyError:
            return "unknown", NO_KEY
        except TamperedError:
            raise
        except ParquetBloomError as error:
            return "unknown", str(error)

    @cached_property
    def _filter(self) -> tuple[ReadBits, bloom.StoredFilter] | None:
        source = self._file.source
        stored = bloom.read_usable_header(source, self._file.footer, self._chunk)
        return None if stored is None else (bloom.bits(source, stored), stored)


def _finds(read: ReadBits, stored: bloom.StoredFilter, plain: bytes) -> bool:
    _, block = bloom.read_block(read, stored, _kernel.xxh64(plain))
    return block.check_value(plain)


def no_filter_reason(chunk: ColumnChunk) -> str:
    """Why a chunk whose footer points to no filter has none, as far as the footer tells."""
    if chunk.leaf.type.physical == "BOOLEAN":
        return f"{NO_FILTER}: BOOLEAN columns get none"
    if chunk.num_values == 0:
        return f"{NO_FILTER}: the chunk has no values"
    return NO_FILTER
