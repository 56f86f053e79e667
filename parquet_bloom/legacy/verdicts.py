"""What filters of older dialects exclude, row group by row group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloom.errors import FormatError, MissingKeyError, UnsupportedError
from parquet_bloom.filters.verdict import NO_FILTER as NONE_OF_TODAY
from parquet_bloom.legacy.of_chunk import NO_FILTER, OlderDialect, of_dialect, published
from parquet_bloom.legacy.presence import reason_for_none
from parquet_bloom.parquet.file import NO_KEY, ParquetFile, RowGroupVerdict

if TYPE_CHECKING:
    from parquet_bloom.filters.verdict import Verdict
    from parquet_bloom.legacy.other_filter import OtherFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.values.encode import Encodings

# The verdicts on each of several values, by row group.
Verdicts = list[tuple[RowGroupVerdict, ...]]

Find = Callable[[ParquetFile, "ColumnChunk"], "OtherFilter | None"]


def of_older(
    file: ParquetFile,
    leaf: LeafColumn,
    values: Sequence[Encodings],
    dialect: OlderDialect,
    seed: int | None,
) -> Verdicts:
    """The verdicts of this dialect's filters. Raises FooterError if row groups are missing."""
    file.footer.check_row_counts()

    def find(file: ParquetFile, chunk: ColumnChunk) -> OtherFilter | None:
        return of_dialect(file, chunk, dialect, seed)

    return _transposed(
        [
            _of_chunk(file, file.footer.chunk(row_group, leaf), values, find)
            for row_group in range(file.num_row_groups)
        ],
        len(values),
    )


def of_published(
    file: ParquetFile, leaf: LeafColumn, values: Sequence[Encodings], verdicts: Verdicts
) -> Verdicts:
    """`verdicts` of today's filters, and where bloom_filter_offset leads to an older one its own.
    Where there is none, the reason names the dialects that may be asked for."""
    by_group = []
    for row_group in range(file.num_row_groups):
        of_group = [of_value[row_group] for of_value in verdicts]
        chunk = file.footer.chunk(row_group, leaf)
        is_doubtful = any(each.verdict == "unknown" for each in of_group)
        if is_doubtful and chunk.bloom_filter_offset is not None:
            older = _of_chunk(file, chunk, values, published)
            of_group = of_group if _has_none(older) else older
        elif is_doubtful:
            of_group = _with_hint(file, chunk, of_group)
        by_group.append(of_group)
    return _transposed(by_group, len(values))


def _with_hint(
    file: ParquetFile, chunk: ColumnChunk, verdicts: Sequence[RowGroupVerdict]
) -> list[RowGroupVerdict]:
    reason = reason_for_none(file.footer, chunk)
    return [
        replace(each, reason=reason) if each.reason == NONE_OF_TODAY else each for each in verdicts
    ]


def _has_none(verdicts: Sequence[RowGroupVerdict]) -> bool:
    return any(verdict.reason == NO_FILTER for verdict in verdicts)


def _transposed(by_group: Sequence[Sequence[RowGroupVerdict]], num_values: int) -> Verdicts:
    return [tuple(of_group[place] for of_group in by_group) for place in range(num_values)]


def _of_chunk(
    file: ParquetFile, chunk: ColumnChunk, values: Sequence[Encodings], find: Find
) -> list[RowGroupVerdict]:
    """The verdict on each value in one row group."""
    filter, reason = _found(file, chunk, find)
    num_rows = file.footer.row_group_num_rows(chunk.row_group)
    return [
        RowGroupVerdict(chunk.row_group, *_verdict(filter, reason, value), num_rows)
        for value in values
    ]


def _found(file: ParquetFile, chunk: ColumnChunk, find: Find) -> tuple[OtherFilter | None, str]:
    """The chunk's filter; None, and why."""
    try:
        return find(file, chunk), NO_FILTER
    except MissingKeyError:
        return None, NO_KEY
    except (FormatError, UnsupportedError) as error:
        return None, str(error)


def _verdict(
    filter: OtherFilter | None, reason: str, value: Encodings
) -> tuple[Verdict, str | None]:
    if filter is None or value.unknown:
        return "unknown", reason if filter is None else value.unknown
    found = any(filter.check(plain) for plain in value.plain)
    return "maybe" if found else "absent", None
