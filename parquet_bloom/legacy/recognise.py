"""Which of several readings of a filter is right: the one in which it finds the chunk's own values.

A wrong reading finds as many values as any value is found, the filter's FPP. So a few dozen values
tell, unless the filter is so full that everything is found in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from parquet_bloom.parquet.legacy_kind import LegacyFilter
from parquet_bloom.parquet.pages.pages import chunk_runs
from parquet_bloom.parquet.pages.runs import FixedRun, SlicedRun

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.pages.runs import Run

# Values of the first page that are looked up.
SAMPLE: Final = 4096

# A reading that finds fewer of them is wrong; one that does not find all is of a filter that loses
# rows.
LEAST_SHARE: Final = 0.5

# How unlikely it must be that a wrong reading finds what was found.
LUCK: Final = 1e-9

Reading = TypeVar("Reading", bound=LegacyFilter)


@dataclass(frozen=True, slots=True)
class Recognised(Generic[Reading]):
    """The reading that fits: it finds `found` of `sample` values."""

    reading: Reading
    sample: int
    found: int

    @property
    def is_complete(self) -> bool:
        return self.found == self.sample


def sample_of(file: ParquetFile, chunk: ColumnChunk) -> Run:
    """Up to SAMPLE distinct values, spread over the first of the chunk's pages that has any.

    Raises PageError, UnsupportedError.
    """
    runs = (part.run for part in chunk_runs(file.source, file.footer, chunk))
    run = next((run for run in runs if len(run)), None)
    if run is None:
        return FixedRun(memoryview(b""), 1)
    positions = np.unique(np.linspace(0, len(run) - 1, num=SAMPLE).astype(np.int64))
    values = list(dict.fromkeys(run.take(positions.tolist())))
    if chunk.leaf.type.width:
        return FixedRun(memoryview(b"".join(values)), chunk.leaf.type.width)
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    return SlicedRun(memoryview(b"".join(values)), offsets)


def recognised(readings: Iterable[Reading], sample: Run) -> Recognised[Reading] | None:
    """The reading that best explains distinct values, the first of several that do so; None if none
    does, or any would."""
    best: Recognised[Reading] | None = None
    for reading in readings:
        found = int(reading.check_run(sample).sum())
        if found >= LEAST_SHARE * len(sample) and not _may_be_luck(reading.bits.fpp, found):
            candidate = Recognised(reading, len(sample), found)
            if best is None or candidate.found > best.found:
                best = candidate
    return best


def _may_be_luck(fpp: float, found: int) -> bool:
    return found == 0 or (fpp > 0 and found * log(fpp) > log(LUCK))
