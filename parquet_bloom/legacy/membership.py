"""What a chunk's own values say about its legacy filter: which reading of it is right, and whether any
of them are missing.

A wrong reading finds a value only by chance, at the filter's FPP. So a few dozen values are enough to
tell, unless the filter is so full that everything is found in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from math import log
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError
from parquet_bloom.native.lazy import np
from parquet_bloom.parquet.filters.legacy_kind import LegacyFilter
from parquet_bloom.parquet.filters.membership import add_examples, rows_of_missing
from parquet_bloom.parquet.pages.pages import chunk_runs, located, used_entries
from parquet_bloom.parquet.pages.runs import run_of
from parquet_bloom.values.literals import as_examples, format_literal

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetContainer
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.pages.runs import Run

# Values of the first page that are looked up.
SAMPLE: Final = 4096

# A reading that finds fewer of them is wrong; one that finds most of them is of a filter that loses
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
    where: str = field(repr=False)

    @property
    def is_complete(self) -> bool:
        return self.found == self.sample

    def checked(self) -> Reading:
        """The reading. Raises FilterError if it misses values."""
        if not self.is_complete:
            raise FilterError(f"{self.where}: some stored values are not in the filter")
        return self.reading


def recognise(
    file: ParquetContainer, chunk: ColumnChunk, readings: Iterable[Reading], where: str, tried: str
) -> Recognised[Reading]:
    """The reading that finds most of the chunk's values, the first of several that do.

    `where` and `tried` are for messages: the place of the filter, and what the readings have in
    common. Raises FilterError if no reading fits, or any would; PageError and UnsupportedError if no
    values can be read.
    """
    best: Recognised[Reading] | None = None
    with located(file.footer, chunk):
        sample = _sample_of(file, chunk)
        for reading in readings if len(sample) else ():
            found = int(reading.check_run(sample).sum())
            if found < LEAST_SHARE * len(sample) or _may_be_luck(reading.bits.fpp, found):
                continue
            if best is None or found > best.found:
                best = Recognised(reading, len(sample), found, where)
    if not len(sample):
        raise FilterError(f"{where}: no stored values to identify its hash by")
    if best is None:
        raise FilterError(f"{where}: the chunk's values are not found by {tried}")
    return best


def _sample_of(file: ParquetContainer, chunk: ColumnChunk) -> Run:
    """Up to SAMPLE distinct values, spread over the first of the chunk's pages that has any."""
    runs = (part.run for part in chunk_runs(file.source, file.footer, chunk))
    run = next((run for run in runs if len(run)), None)
    if run is None:
        return run_of([], None)
    positions = np.unique(np.linspace(0, len(run) - 1, num=SAMPLE).astype(np.int64))
    return run_of(list(dict.fromkeys(run.take(positions.tolist()))), chunk.leaf.type.width)


def _may_be_luck(fpp: float, found: int) -> bool:
    return found == 0 or (fpp > 0 and found * log(fpp) > log(LUCK))


@dataclass(slots=True)
class LegacyMembership:
    """Of `num_values` stored values, `missing` are not found: `examples`, some of them as literals,
    and their `rows`."""

    num_values: int = 0
    missing: int = 0
    examples: tuple[str, ...] = ()
    rows: MissingRows | None = None


def check_membership(
    file: ParquetContainer, chunk: ColumnChunk, filter: LegacyFilter
) -> LegacyMembership:
    """Look up every stored value. Raises PageError, UnsupportedError."""
    membership = LegacyMembership()
    examples: list[bytes] = []
    with located(file.footer, chunk):
        for part in chunk_runs(file.source, file.footer, chunk):
            absent = ~filter.check_run(part.run)
            membership.num_values += absent.size
            if part.is_dictionary and absent.any():
                # What no row refers to need not be found.
                used = used_entries(file.source, file.footer, chunk, absent.size)
                absent &= np.frombuffer(used, np.bool_)
            membership.missing += int(absent.sum())
            add_examples(examples, part.run, absent)
    if membership.missing:
        kind = chunk.leaf.type
        membership.examples = as_examples(format_literal(kind, each) for each in examples)
        membership.rows = rows_of_missing(file, chunk, filter.check_run)
    return membership
