"""Build filters of any dialect, and remove those of all dialects.

A container builds and removes only filters of today, so verbs ask here.
"""

from __future__ import annotations

from parquet_bloom.container import BuildChange, StripChange
from parquet_bloom.container.protocols import Container
from parquet_bloom.options import BuildOptions, Selection
from parquet_bloom.parallel import Progress


def build_change(
    file: Container, options: BuildOptions, progress: Progress | None = None
) -> BuildChange:
    """The filters that `options` ask for, of whichever dialect. Raises TypeError if `dialect` is not
    one, and as Container.build."""
    if options.dialect in (None, "xxhash"):
        return file.build(options, progress)
    from parquet_bloom.parquet.file import ParquetContainer

    if not isinstance(file, ParquetContainer):
        return file.build(options, progress)
    # They import numpy, which takes longer than to build today's filters for most files.
    from parquet_bloom.legacy.murmur3.build import Murmur3Build
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.build import StatisticsBuild
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter

    usual = {"murmur3": Murmur3, "statistics": StatisticsFilter}
    dialect = options.dialect
    if isinstance(dialect, str) and dialect in usual:
        dialect = usual[dialect]()
    match dialect:
        case Murmur3():
            return Murmur3Build(file, dialect, options, progress)
        case StatisticsFilter():
            return StatisticsBuild(file, dialect, options, progress)
    raise TypeError(
        f"dialect: {dialect!r}, expected a Murmur3, a StatisticsFilter or one of"
        " xxhash, murmur3, statistics"
    )


def strip_change(file: Container, selection: Selection) -> StripChange:
    """The file without the filters of `selection`, of any dialect. Raises as Container.strip."""
    from parquet_bloom.parquet.file import ParquetContainer

    if not isinstance(file, ParquetContainer):
        return file.strip(selection)
    from parquet_bloom.legacy.presence import any_private, may_have_private

    if not any_private(file.footer):
        return file.strip(selection)
    chunks = tuple(file.selected(selection))
    if not may_have_private(file.footer, chunks):
        return file.strip(selection)
    # It imports numpy, too.
    from parquet_bloom.legacy.removal import removal_of
    from parquet_bloom.parquet.edit.strip import ParquetStrip

    return ParquetStrip(file, selection, removal_of(file, chunks))
