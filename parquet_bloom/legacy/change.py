"""What changes where filters of legacy dialects are built or removed.

What a Parquet file itself knows of are filters of today; so verbs ask here, and filters that are
none of its concern join what it does.
"""

from __future__ import annotations

from parquet_bloom.container import BuildChange, Container, StripChange
from parquet_bloom.legacy.presence import may_have_hidden
from parquet_bloom.options import BuildOptions, Selection
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.strip_change import ParquetStrip, selected


def build_change(
    file: Container, options: BuildOptions, progress: Progress | None = None
) -> BuildChange:
    """The filters that `options` ask for, of whichever dialect. Raises TypeError for a dialect that
    is none, and as Container.build."""
    if options.dialect is None or not isinstance(file, ParquetFile):
        return file.build(options, progress)
    # Only here is numpy needed, which takes longer to import than most files take to build.
    from parquet_bloom.legacy.murmur3.build_change import Murmur3Build
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.build import StatisticsBuild
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter

    match options.dialect:
        case Murmur3():
            return Murmur3Build(file, options.dialect, options, progress)
        case StatisticsFilter():
            return StatisticsBuild(file, options.dialect, options, progress)
    raise TypeError(f"dialect: {options.dialect!r}, expected a Murmur3 or a StatisticsFilter")


def strip_change(file: Container, selection: Selection) -> StripChange:
    """Without the filters of `selection`, of all dialects. Raises as Container.strip."""
    if not isinstance(file, ParquetFile):
        return file.strip(selection)
    chunks = selected(file, selection).values()
    if not may_have_hidden(file.footer, chunks):
        return file.strip(selection)
    # Only here is numpy needed.
    from parquet_bloom.legacy.removal import removal_of

    return ParquetStrip(file, selection, removal_of(file, chunks))
