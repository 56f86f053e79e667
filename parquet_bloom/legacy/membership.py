"""Whether every stored value of a column chunk is found in a legacy filter, and which reading of the
filter finds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloom.legacy.murmur3 import block_filter
from parquet_bloom.legacy.recognise import Reading, Recognised, recognised, sample_of
from parquet_bloom.parquet.membership import MAX_EXAMPLES
from parquet_bloom.parquet.pages.pages import chunk_runs, located, used_entries
from parquet_bloom.values.literals import shown

if TYPE_CHECKING:
    from parquet_bloom.parquet.file import ParquetFile
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.legacy_kind import LegacyFilter


@dataclass(slots=True)
class LegacyMembership:
    """Values that are stored and not found: how many of how many, and some of them, as literals."""

    num_values: int = 0
    missing: int = 0
    examples: list[str] = field(default_factory=list)


def check_membership(
    file: ParquetFile, chunk: ColumnChunk, filter: LegacyFilter
) -> LegacyMembership:
    """Look up every stored value. Raises PageError, UnsupportedError."""
    membership = LegacyMembership()
    with located(file.footer, chunk):
        for part in chunk_runs(file.source, file.footer, chunk):
            absent = ~filter.check_run(part.run)
            membership.num_values += absent.size
            if part.is_dictionary and absent.any():
                # What no row refers to need not be found.
                used = used_entries(file.source, file.footer, chunk, absent.size)
                absent &= np.frombuffer(used, np.bool_)
            membership.missing += int(absent.sum())
            places = np.flatnonzero(absent)[: MAX_EXAMPLES - len(membership.examples)]
            plain = part.run.take(places.tolist())
            membership.examples += (shown(chunk.leaf.type, value) for value in plain)
    return membership


def fitting(
    file: ParquetFile, chunk: ColumnChunk, places: Sequence[block_filter.Place]
) -> block_filter.BlockFilter:
    """The reading of a split block filter that fits the values. Raises FilterError, PageError,
    UnsupportedError."""
    with located(file.footer, chunk):
        return block_filter.fitting(file, chunk, list(places)).reading


def other_fitting(
    file: ParquetFile, chunk: ColumnChunk, readings: Iterable[Reading]
) -> Recognised[Reading] | None:
    """Of other readings the one that best explains the values. Raises PageError, UnsupportedError."""
    with located(file.footer, chunk):
        return recognised(readings, sample_of(file, chunk))
