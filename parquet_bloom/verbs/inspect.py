"""What filters a file has: per column chunk the header, the bits' fill and FPP, or why there is none.

Of an ORC file: see verbs.orc.inspect.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

from parquet_bloom.errors import MissingKeyError, ParquetBloomError, TamperedError, UnsupportedError
from parquet_bloom.files import open as open_file
from parquet_bloom.files import open_parquet
from parquet_bloom.legacy.presence import may_have_hidden
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import NO_KEY, ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.inspect import OrcInspection


@dataclass(frozen=True, slots=True)
class FilterInspection:
    """One filter. `length` is what the footer says, None if nothing; `stored_bytes` is what it
    takes in the file, `header_bytes` of them for its header; `num_bytes` is the bitset's size.
    `encrypted`: header and bitset lie in envelopes, which count. `fpp` is computed from the bits;
    `ndv_estimate` is None if all are set."""

    offset: int
    length: int | None
    header_bytes: int
    num_bytes: int
    num_blocks: int
    algorithm: str
    hash: str
    compression: str
    fill: float
    fpp: float
    ndv_estimate: float | None
    dialect: str
    stored_bytes: int
    encrypted: bool


@dataclass(frozen=True, slots=True)
class OtherInspection:
    """A filter of an older dialect to which bloom_filter_offset does not lead, but `pointer` does.

    `offset` is None inside the footer. `reason` says why it cannot be used, and then what only its
    bits tell is None.
    """

    dialect: str
    pointer: str
    form: str | None = None
    hash: str | None = None
    offset: int | None = None
    stored_bytes: int = 0
    header_bytes: int | None = None
    num_bytes: int | None = None
    fill: float | None = None
    fpp: float | None = None
    ndv_estimate: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnInspection:
    """One column chunk; `reason` says why `filter` is None."""

    column: str
    physical_type: str
    logical_type: str | None
    num_values: int | None
    chunk_bytes: int | None
    filter: FilterInspection | None
    reason: str | None
    other_filters: tuple[OtherInspection, ...] = ()


@dataclass(frozen=True, slots=True)
class RowGroupInspection:
    row_group: int
    num_rows: int
    columns: tuple[ColumnInspection, ...]


@dataclass(frozen=True, slots=True)
class FileInspection:
    """One file. `filter_bytes` are those of the filters inspected; `filter_share` is of `size`.

    `unverified`: why the footer of an encrypted file can be another one than was written, None if
    it cannot."""

    path: str
    format: Literal["parquet"]
    size: int
    created_by: str
    encrypted: bool
    num_rows: int
    num_row_groups: int
    row_groups: tuple[RowGroupInspection, ...]
    filter_bytes: int
    filter_share: float
    unverified: str | None = None

    @property
    def num_filters(self) -> int:
        """Those that can be used, of whatever dialect."""
        return sum(
            (column.filter is not None) + sum(each.reason is None for each in column.other_filters)
            for group in self.row_groups
            for column in group.columns
        )


def inspect(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    index_groups: bool = False,
    keys: Keys | None = None,
) -> FileInspection | OrcInspection:
    """Describe the filters of `columns` (dotted paths; default: all) in `row_groups`, of an ORC
    file the stripes with these numbers.

    index_groups: each index group of an ORC file, too. keys: for encrypted files. Raises
    ColumnError, FormatError, UnsupportedError, OSError, and EncryptionError for what does not open.
    A filter that cannot be used is not an error, nor one without a key: its chunk has a `reason`.
    """
    with open_file(path, keys) as file:
        if file.format == "orc":
            from parquet_bloom.verbs.orc.inspect import inspect_orc

            return inspect_orc(file, columns=columns, stripes=row_groups, index_groups=index_groups)
        if index_groups:
            raise UnsupportedError(f"{file.path}: a Parquet file, which has no index groups")
        return _inspect_file(file, columns, row_groups)


def inspect_parquet(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    keys: Keys | None = None,
) -> FileInspection:
    """The same for those who take nothing but Parquet: an ORC file is an UnsupportedError."""
    with open_parquet(path, keys) as file:
        return _inspect_file(file, columns, row_groups)


def _inspect_file(
    file: ParquetFile, columns: Sequence[str] | None, row_groups: Sequence[int] | None
) -> FileInspection:
    leaves = file.leaves(columns)
    groups = tuple(
        RowGroupInspection(
            row_group,
            file.footer.row_group_num_rows(row_group),
            tuple(_inspect_chunk(file, file.footer.chunk(row_group, leaf)) for leaf in leaves),
        )
        for row_group in file.row_groups(row_groups)
    )
    filter_bytes = sum(
        found.stored_bytes
        for group in groups
        for column in group.columns
        for found in (column.filter, *column.other_filters)
        if found
    )
    return FileInspection(
        path=file.path,
        format=file.format,
        size=file.source.size,
        created_by=file.footer.created_by,
        encrypted=file.footer.protection.is_encrypted,
        num_rows=file.num_rows,
        num_row_groups=file.num_row_groups,
        row_groups=groups,
        filter_bytes=filter_bytes,
        filter_share=filter_bytes / file.source.size,
        unverified=file.footer.protection.unverified or None,
    )


def _inspect_chunk(file: ParquetFile, chunk: ColumnChunk) -> ColumnInspection:
    try:
        stored = bloom.read_usable_header(file.source, file.footer, chunk)
        filter = None if stored is None else _inspect_filter(file, stored)
        reason = None if filter else bloom.no_filter_reason(chunk)
    except MissingKeyError:
        filter, reason = None, NO_KEY
    except TamperedError:
        raise
    except ParquetBloomError as error:
        filter, reason = _inspect_older(file, chunk, str(error))
    leaf = chunk.leaf
    return ColumnInspection(
        column=leaf.name,
        physical_type=leaf.type.physical,
        logical_type=str(leaf.type.logical) if leaf.type.logical else None,
        num_values=chunk.num_values,
        chunk_bytes=chunk.total_compressed_size,
        filter=filter,
        reason=reason,
        other_filters=tuple(_inspect_hidden(file, chunk)),
    )


def _inspect_older(
    file: ParquetFile, chunk: ColumnChunk, reason: str
) -> tuple[FilterInspection | None, str | None]:
    """What bloom_filter_offset leads to that is none of today's filters, for this reason."""
    # Only here is numpy needed, which takes longer to import than most files take to inspect.
    from parquet_bloom.legacy.chunk_filters import published

    try:
        found = published(file, chunk)
    except ParquetBloomError as error:
        return None, str(error)
    if found is None:
        return None, reason
    return FilterInspection(
        offset=found.offset,
        length=chunk.bloom_filter_length,
        header_bytes=found.header_bytes,
        num_bytes=found.bits.num_bytes,
        num_blocks=found.bits.num_blocks,
        algorithm=bloom.SPLIT_BLOCK,
        hash=found.hash,
        compression=bloom.UNCOMPRESSED,
        fill=found.bits.fill,
        fpp=found.bits.fpp,
        ndv_estimate=_finite(found.bits.ndv_estimate),
        dialect=found.dialect,
        stored_bytes=found.stored_bytes,
        encrypted=False,
    ), None


def _inspect_hidden(file: ParquetFile, chunk: ColumnChunk) -> Iterator[OtherInspection]:
    if not may_have_hidden(file.footer, [chunk]):
        return
    # Only here is numpy needed.
    from parquet_bloom.legacy.chunk_filters import private
    from parquet_bloom.parquet.legacy_kind import UnusableLegacy

    for found in private(file, chunk):
        if isinstance(found, UnusableLegacy):
            yield OtherInspection(found.dialect, found.pointer, reason=found.reason)
        else:
            yield OtherInspection(
                dialect=found.dialect,
                pointer=found.pointer,
                form=found.form,
                hash=found.hash,
                offset=found.offset,
                stored_bytes=found.stored_bytes,
                header_bytes=found.header_bytes,
                num_bytes=found.bits.num_bytes,
                fill=found.bits.fill,
                fpp=found.bits.fpp,
                ndv_estimate=_finite(found.bits.ndv_estimate),
            )


def _finite(estimate: float) -> float | None:
    return estimate if isfinite(estimate) else None


def _inspect_filter(file: ParquetFile, stored: bloom.StoredFilter) -> FilterInspection:
    bits = bloom.read_bitset(file.source, stored)
    return FilterInspection(
        offset=stored.offset,
        length=stored.length,
        header_bytes=stored.header_bytes,
        num_bytes=stored.num_bytes,
        num_blocks=stored.num_blocks,
        algorithm=stored.algorithm,
        hash=stored.hash,
        compression=stored.compression,
        fill=bits.fill,
        fpp=bits.fpp,
        ndv_estimate=_finite(bits.ndv_estimate),
        dialect=stored.dialect,
        stored_bytes=stored.end - stored.offset,
        encrypted=stored.is_encrypted,
    )
