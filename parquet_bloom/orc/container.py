"""An ORC file as verbs know it: what they do with its filters.

Above what does it, which takes an OrcFile; whatever a verb does not use it does not load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.native import _kernel
from parquet_bloom.orc.file import OrcFile

if TYPE_CHECKING:
    from parquet_bloom.container import Repairs
    from parquet_bloom.options import BuildOptions, RepairOptions, Selection
    from parquet_bloom.orc.build_change import OrcBuild
    from parquet_bloom.orc.repair_change import OrcRepair
    from parquet_bloom.orc.strip_change import OrcStrip
    from parquet_bloom.parallel import Progress


class OrcContainer(OrcFile):
    """An open ORC file. Use as a context manager, or call close()."""

    @property
    def fingerprint(self) -> str:
        """The same only for a file that has not changed."""
        return f"{self.source.size}:{_kernel.xxh64(self.tail.footer_raw):016x}"

    def build(self, options: BuildOptions, progress: Progress | None = None) -> OrcBuild:
        """Filters for what `options` name, see container.Container.build."""
        from parquet_bloom.orc.build_change import OrcBuild

        return OrcBuild(self, options, progress)

    def repair(
        self, repairs: Repairs, options: RepairOptions, progress: Progress | None = None
    ) -> OrcRepair:
        """With repaired filters, see container.Container.repair."""
        from parquet_bloom.orc.repair_change import OrcRepair

        return OrcRepair(self, repairs, options)

    def strip(self, selection: Selection) -> OrcStrip:
        """Without the filters of a selection, see container.Container.strip."""
        from parquet_bloom.orc.strip_change import OrcStrip

        return OrcStrip(self, selection)
