"""Reads single rows of a file: of each stripe that has any, the streams of the wanted columns, up to the last index
group with such rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from parquet_bloom.errors import ColumnError, FormatError, UnsupportedError, no_column
from parquet_bloom.orc.arrow_arrays import ArrowColumn, type_of
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.reader import OrcReader, value_ranges
from parquet_bloom.orc.values import check_readable
from parquet_bloom.parallel import check_fits
from parquet_bloom.vocabulary import ENCRYPTED

# The number of a row.
_ROW_BYTES: Final = 8


def read_rows(
    file: OrcReader, columns: Sequence[str], rows: Mapping[int, Sequence[int]]
) -> pa.Table:
    """See Askable.read_rows."""
    wanted = _tops(file, columns)
    if not wanted:
        return pa.table({})
    try:
        schema = pa.schema([(each.name, type_of(file.tail.columns, each)) for each in wanted])
    except UnsupportedError as error:
        raise UnsupportedError(f"{file.path}: {error}") from None
    parts = [part for part in rows if len(rows[part])]
    if file.source.is_remote:
        below = [each for top in wanted for each in _below(file, top)]
        file.will_read_stripes(parts)
        file.source.will_read(
            value_ranges(chunk for part in parts for chunk in file.chunks(part, below))
        )
    batches = [batch for part in parts for batch in _batches(file, part, wanted, rows[part])]
    try:
        return pa.Table.from_batches(batches, schema)
    except pa.ArrowException as error:
        raise FormatError(f"{file.path}: {' '.join(str(error).split())}") from None


def _batches(
    file: OrcReader, part: int, columns: Sequence[OrcColumn], rows: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """The rows of a stripe, those of each index group."""
    stripe = file.stripe(part)
    check_readable(file, stripe)
    check_fits(f"{stripe.where}: {len(rows)} rows take", _ROW_BYTES * len(rows))
    readers = [ArrowColumn(file, stripe, column) for column in columns]
    names, wanted = [column.name for column in columns], np.asarray(rows, np.int64)
    for group in range(stripe.num_index_groups):
        first, num_rows = stripe.group_first_row(group), stripe.group_num_rows(group)
        if first > wanted[-1]:
            return
        made = [reader.take(num_rows) for reader in readers]
        file.pages_read += len(readers)
        start, end = np.searchsorted(wanted, (first, first + num_rows))
        here = wanted[start:end] - first
        if here.size:
            try:
                found = pa.RecordBatch.from_arrays([each() for each in made], names)
            except pa.ArrowException as error:
                reason = " ".join(str(error).split())
                raise FormatError(f"{stripe.where}: index group {group}: {reason}") from None
            yield found if here.size == num_rows else found.take(pa.array(here))


def _tops(file: OrcReader, names: Sequence[str]) -> list[OrcColumn]:
    """Whole columns. Raises ColumnError, UnsupportedError."""
    top, found = file.top_columns, []
    ids, counts = dict(zip(top, file.tail.columns[0].children, strict=False)), Counter(top)
    for name in names:
        if name not in ids:
            raise ColumnError(f"{file.path}: {no_column(name, top)}")
        if counts[name] > 1:
            raise UnsupportedError(f"{file.path}: two columns are named {name}: rows are not read")
        found.append(file.tail.columns[ids[name]])
    for each in (each for one in found for each in _below(file, one)):
        if file.tail.is_encrypted_column(each):
            raise UnsupportedError(f"{file.path}: column {each.name}: {ENCRYPTED}")
    return found


def _below(file: OrcReader, column: OrcColumn) -> list[OrcColumn]:
    """A column and all that is nested in it."""
    found = [column]
    for each in found:
        found += [file.tail.columns[child] for child in each.children]
    return found
