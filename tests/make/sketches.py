"""What `advise` keeps of files of one table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from parquet_bloom.options import AdviseOptions
from parquet_bloom.verbs.advise import TableAdvisor


def sketch_of(paths: Iterable[Path], options: AdviseOptions | None = None) -> bytes:
    advisor = TableAdvisor(options)
    for path in paths:
        advisor.add(path)
    (found,) = advisor.sketches().values()
    return found
