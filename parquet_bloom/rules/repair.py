"""What `repair` finds in a file, whichever format it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquet_bloom.container.protocols import Container
from parquet_bloom.options import RepairOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.repair_plan import Diagnosed
from parquet_bloom.vocabulary import Format


def diagnosed(file: Container, options: RepairOptions, progress: Progress | None) -> Diagnosed:
    """What is wrong with the filters of a file, as far as `repair` can do something about it.

    Raises ColumnError, FormatError for a footer that contradicts itself or is damaged,
    EncryptionError, UnsupportedError for files that cannot get filters, OSError.
    """
    return _DIAGNOSED[file.format](file, options, progress)


def _of_parquet(file: Any, options: RepairOptions, progress: Progress | None) -> Diagnosed:
    from parquet_bloom.rules.repair_parquet import diagnosed

    return diagnosed(file, options, progress)


def _of_orc(file: Any, options: RepairOptions, progress: Progress | None) -> Diagnosed:
    from parquet_bloom.rules.repair_orc import diagnosed

    return diagnosed(file, options, progress)


_DIAGNOSED: dict[Format, Callable[[Any, RepairOptions, Progress | None], Diagnosed]] = {
    "parquet": _of_parquet,
    "orc": _of_orc,
}
