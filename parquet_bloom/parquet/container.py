"""A Parquet file as verbs know it: what they do with its filters.

Above what does it, which takes a ParquetFile; whatever a verb does not use it does not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.native import _kernel
from parquet_bloom.parquet.file import ParquetFile

if TYPE_CHECKING:
    from parquet_bloom.container import Repairs
    from parquet_bloom.options import BuildOptions, RepairOptions, Selection
    from parquet_bloom.parallel import Progress
    from parquet_bloom.parquet.build_change import ParquetBuild
    from parquet_bloom.parquet.repair_change import ParquetRepair
    from parquet_bloom.parquet.strip_change import ParquetStrip


class ParquetContainer(ParquetFile):
    """An open Parquet file. Use as a context manager, or call close()."""

    @property
    def fingerprint(self) -> str:
        """The same only for a file that has not changed."""
        return f"{self.source.size}:{_kernel.xxh64(self.footer.raw):016x}"

    def build(self, options: BuildOptions, progress: Progress | None = None) -> ParquetBuild:
        """Filters of today for what `options` name, see container.Container.build."""
        from parquet_bloom.parquet.build_change import ParquetBuild

        return ParquetBuild(self, options, progress)

    def repair(
        self, repairs: Repairs, options: RepairOptions, progress: Progress | None = None
    ) -> ParquetRepair:
        """With repaired filters, see container.Container.repair."""
        from parquet_bloom.parquet.repair_change import ParquetRepair

        return ParquetRepair(self, repairs, options, progress)

    def strip(self, selection: Selection) -> ParquetStrip:
        """Without the filters of today of a selection, see container.Container.strip."""
        from parquet_bloom.parquet.strip_change import ParquetStrip

        return ParquetStrip(self, selection)
