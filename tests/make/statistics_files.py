"""Files with filters inside Statistics, ours and as others may have written them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parquet_bloom.files import open_parquet
from parquet_bloom.legacy.statistics.build import statistics_edits
from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
from parquet_bloom.legacy.statistics.edits import added, write_edits
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.storage.new_version import resolve_target


def with_filters(
    source: Path, output: Path, dialect: StatisticsFilter, columns: Sequence[str] | None = None
) -> Any:
    """Give `source` filters; returns what was built."""
    with open_parquet(source) as file:
        chunks = [
            file.footer.chunk(row_group, leaf)
            for row_group in range(file.num_row_groups)
            for leaf in file.leaves(columns)
        ]
        built = statistics_edits(file, chunks, dialect)
        write_edits(file, resolve_target(source, output, False, False), built.edits, True)
        return built


def with_struct(
    source: Path,
    output: Path,
    struct: StatisticsStruct,
    column: str,
    field_id: int = 31420,
    row_group: int = 0,
) -> None:
    """Give one chunk the filter of a StatisticsStruct."""
    with open_parquet(source) as file:
        chunk = file.chunk(row_group, column)
        edits = {chunk.key: added(file.footer, chunk, field_id, struct)}
        write_edits(file, resolve_target(source, output, False, False), edits, False)


def with_field(
    source: Path, output: Path, column: str, field_id: int, field: tuple[int, bytes]
) -> None:
    """Give the Statistics of the first chunk a Thrift field, (type, value), whatever it is."""
    with open_parquet(source) as file:
        chunk = file.chunk(0, column)
        statistics = compact.splice(statistics_of(file, chunk), 0, {field_id: field})
        edits = {chunk.key: {12: (compact.TYPE_STRUCT, statistics)}}
        write_edits(file, resolve_target(source, output, False, False), edits, False)


def statistics_of(file: ParquetFile, chunk: ColumnChunk) -> bytes:
    """The bytes of the chunk's Statistics."""
    text, start = file.footer.meta_data(chunk)
    (found,) = [
        text[value:end] for number, _, _, value, end in _kernel.fields(text, start) if number == 12
    ]
    return found
