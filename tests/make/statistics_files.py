"""Files with filters inside Statistics, ours and as others may have written them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from make.parquet_files import open_parquet

from parquet_bloom.legacy.statistics.build import StatisticsBuild
from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
from parquet_bloom.legacy.statistics.edits import added
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct
from parquet_bloom.native import _kernel
from parquet_bloom.options import BuildOptions
from parquet_bloom.parquet.edit.change import FieldsChange
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.moved import Cuts
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.storage.new_version import Target, write_version

Edits = Mapping[ChunkKey, Fields]


def with_filters(
    source: Path, output: Path, dialect: StatisticsFilter, columns: Sequence[str] | None = None
) -> StatisticsBuild:
    """Give `source` filters, in the place of those that it has; returns what was built."""
    chosen = None if columns is None else tuple(columns)
    with open_parquet(source) as file:
        built = StatisticsBuild(file, dialect, BuildOptions(columns=chosen, existing="replace"))
        write_version(file.source, Target(str(output)), built)
        return built


def with_edits(
    source: Path, output: Path, edits: Callable[[ParquetContainer], Edits], verify: bool = False
) -> None:
    """Give the ColumnMetaData of chunks other fields: `edits` of the file."""
    with open_parquet(source) as file:
        change = FieldsChange(file, Cuts(file.footer.start), edits(file))
        write_version(file.source, Target(str(output)), change, verify)


def with_struct(
    source: Path,
    output: Path,
    struct: StatisticsStruct,
    column: str,
    field_id: int = 31420,
    row_group: int = 0,
) -> None:
    """Give one chunk the filter of a StatisticsStruct."""

    def edits(file: ParquetContainer) -> Edits:
        chunk = file.chunk(row_group, column)
        return {chunk.key: added(file.footer, chunk, field_id, struct)}

    with_edits(source, output, edits)


def with_field(
    source: Path, output: Path, column: str, field_id: int, field: tuple[int, bytes]
) -> None:
    """Give the Statistics of the first chunk a Thrift field, (type, value), whatever it is."""

    def edits(file: ParquetContainer) -> Edits:
        chunk = file.chunk(0, column)
        statistics = compact.splice(statistics_of(file, chunk), 0, {field_id: field})
        return {chunk.key: {12: (compact.TYPE_STRUCT, statistics)}}

    with_edits(source, output, edits)


def statistics_of(file: ParquetContainer, chunk: ColumnChunk) -> bytes:
    """The bytes of the chunk's Statistics."""
    text, start = file.footer.meta_data(chunk)
    (found,) = [
        text[value:end] for number, _, _, value, end in _kernel.fields(text, start) if number == 12
    ]
    return found
