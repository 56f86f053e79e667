"""What `repair` finds in a file, whichever format it has."""

from __future__ import annotations

from typing import Any

from parquet_bloom.options import RepairOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.repair_plan import Diagnosed


def diagnosed(file: Any, options: RepairOptions, progress: Progress | None) -> Diagnosed:
    """What is wrong with the filters of a file, as far as `repair` is concerned.

    Raises ColumnError, FormatError for a footer that contradicts itself or is damaged,
    EncryptionError, UnsupportedError for files that cannot get filters, OSError.
    """
    if file.format == "parquet":
        from parquet_bloom.rules import repair_parquet

        return repair_parquet.diagnosed(file, options, progress)
    from parquet_bloom.rules import repair_orc

    return repair_orc.diagnosed(file, options, progress)
