"""One view of a file with Bloom filters: row groups, leaf columns, filters, and what they exclude.

A verdict is `absent` (certain), `maybe`, or `unknown`: no usable filter, for the reason given.
Whatever is dubious about a filter makes it unusable, never a reason for `absent`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from parquet_bloom.errors import (
    ColumnError,
    FilterError,
    MissingKeyError,
    ParquetBloomError,
    TamperedError,
)
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.footer import ColumnChunk, Footer
from parquet_bloom.parquet.schema import LeafColumn, find_column
from parquet_bloom.parquet.tail import read_footer
from parquet_bloom.storage import Source, open_source

if TYPE_CHECKING:
    from parquet_bloom.column_filter import ColumnFilter
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.values import Encodings

Verdict = Literal["absent", "maybe", "unknown"]

NO_FILTER = "no filter"
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

    format = "parquet"

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
    def num_rows(self) -> int:
        return self.footer.num_rows

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
        from parquet_bloom.column_filter import ColumnFilter

        return ColumnFilter(bloom.read_bitset(self.source, stored).words, chunk.leaf.type)

    def probe(self, column: str, value: Any) -> tuple[RowGroupVerdict, ...]:
        """Whether `value` is in each row group, from the footer and 32 bytes of each filter; of an
        encrypted one all bytes are needed to know that none has been changed.

        `value` is a Python or numpy value of the column's type. Raises ColumnError, and
        ValueTypeError if the column cannot hold the value.
        """
        leaf = self.leaf(column)
        # Only who asks about values needs decimals, dates and UUIDs imported.
        from parquet_bloom.values import encode

        return self.probe_encodings(leaf, encode(leaf.type, value))

    def probe_encodings(
        self, leaf: LeafColumn, encodings: Encodings
    ) -> tuple[RowGroupVerdict, ...]:
        """As probe, for a value whose stored bytes are known.

        Raises FooterError if row groups are missing from the footer.
        """
        self.footer.check_row_counts()
        return tuple(
            self._probe_row_group(row_group, leaf, encodings)
            for row_group in range(self.num_row_groups)
        )

    def _probe_row_group(
        self, row_group: int, leaf: LeafColumn, encodings: Encodings
    ) -> RowGroupVerdict:
        num_rows = self.footer.row_group_num_rows(row_group)
        if encodings.unknown:
            return RowGroupVerdict(row_group, "unknown", encodings.unknown, num_rows)
        chunk = self.footer.chunk(row_group, leaf)
        try:
            found = self._check_blocks(chunk, encodings)
        except MissingKeyError:
            return RowGroupVerdict(row_group, "unknown", NO_KEY, num_rows)
        except TamperedError:
            raise
        except ParquetBloomError as error:
            return RowGroupVerdict(row_group, "unknown", str(error), num_rows)
        if found is None:
            return RowGroupVerdict(row_group, "unknown", no_filter_reason(chunk), num_rows)
        return RowGroupVerdict(row_group, "maybe" if found else "absent", None, num_rows)

    def _check_blocks(self, chunk: ColumnChunk, encodings: Encodings) -> bool | None:
        """Whether one of the encodings is found; None without a filter."""
        stored = bloom.read_usable_header(self.source, self.footer, chunk)
        if stored is None:
            return None
        for plain in encodings.plain:
            _, block = bloom.read_block(self.source, stored, _kernel.xxh64(plain))
            if block.check_value(plain):
                return True
        return False


def no_filter_reason(chunk: ColumnChunk) -> str:
    """Why a chunk whose footer points to no filter has none, as far as the footer tells."""
    if chunk.leaf.type.physical == "BOOLEAN":
        return f"{NO_FILTER}: BOOLEAN columns get none"
    if chunk.num_values == 0:
        return f"{NO_FILTER}: the chunk has no values"
    return NO_FILTER


def open(path: str | os.PathLike[str], keys: Keys | None = None) -> ParquetFile:
    """Open a local path or URL, with the keys of what is encrypted in it.

    Raises OSError, FormatError if it is no Parquet file, EncryptionError if it is encrypted and
    does not open.
    """
    source = open_source(path)
    try:
        return ParquetFile(source, None if keys is None else keys.for_file(source.path))
    except BaseException:
        source.close()
        raise
