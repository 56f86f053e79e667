"""How the bits of a file's filters lie: per filter a histogram of its blocks, a map, and the FPP
measured with values that are not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloom.errors import FilterError
from parquet_bloom.files import open_parquet
from parquet_bloom.filters import occupancy
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.chunk_filters import published
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.membership import measured_fpp
from parquet_bloom.verbs.inspect import FileInspection, FilterInspection

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

# Enough to see where a filter is empty, full or different, and little enough to look at.
MAP_CELLS = 512


@dataclass(frozen=True, slots=True)
class InspectedFilter:
    """A filter that an inspection has found, with its bits; `column` is the place of its leaf
    column among those inspected."""

    row_group: int
    column: int
    name: str
    stored: FilterInspection
    bits: SplitBlockBloomFilter


@dataclass(frozen=True, slots=True)
class FilterOccupancy:
    """How the bits of one filter lie.

    `measured_fpp`: the share of random values that is found. `histogram`: blocks by the number of
    bits set, 0 to 256; `expected`: the same for even hashes and the same fill. `spread`: variance
    of the bits per block as a multiple of the expected one, with its standard error; None if there
    is none to expect. `map`: mean fill of up to MAP_CELLS runs of neighbouring blocks, 0 to 1.
    """

    row_group: int
    column: str
    num_blocks: int
    measured_fpp: float
    histogram: tuple[int, ...]
    expected: tuple[float, ...]
    spread: float | None
    spread_error: float | None
    map: tuple[float, ...]

    @property
    def is_even(self) -> bool | None:
        """Whether the blocks differ neither more nor less than hashes do; None if nobody can say."""
        if self.spread is None or self.spread_error is None:
            return None
        return occupancy.Spread(self.spread, self.spread_error).is_even


def occupancies(inspection: FileInspection, keys: Keys | None = None) -> Iterator[FilterOccupancy]:
    """Each filter of an inspection, in its order; `keys` are those that it was made with. Raises
    OSError, FormatError if the file has become another."""
    return map(filter_occupancy, inspected_filters(inspection, keys))


def inspected_filters(
    inspection: FileInspection, keys: Keys | None = None
) -> Iterator[InspectedFilter]:
    """The filters of an inspection with their bits, one at a time."""
    with open_parquet(inspection.path, keys) as file:
        for group in inspection.row_groups:
            for place, column in enumerate(group.columns):
                if column.filter is not None:
                    bits = _bits_at(file, group.row_group, column.filter.offset)
                    yield InspectedFilter(
                        group.row_group, place, column.column, column.filter, bits
                    )


def _bits_at(file: ParquetFile, row_group: int, offset: int) -> SplitBlockBloomFilter:
    """The filter that begins at `offset`; names need not tell the leaf columns apart."""
    offsets = file.footer.chunks.every("bloom_filter_offset")
    for leaf in file.footer.leaves:
        if offsets[row_group * len(file.footer.leaves) + leaf.index] == offset:
            chunk = file.footer.chunk(row_group, leaf)
            older = published(file, chunk)
            if older is not None:
                return older.bits
            stored = bloom.read_usable_header(file.source, file.footer, chunk)
            if stored is not None:
                return bloom.read_bitset(file.source, stored)
    raise FilterError(f"{file.path}: row group {row_group}: no filter at {offset} any more")


def filter_occupancy(found: InspectedFilter) -> FilterOccupancy:
    """Look at all bits of one filter."""
    bits = occupancy.bits_per_block(found.bits)
    counts = occupancy.histogram(bits)
    expected = occupancy.expected_histogram(counts)
    spread = occupancy.spread(counts, expected)
    return FilterOccupancy(
        row_group=found.row_group,
        column=found.name,
        num_blocks=found.bits.num_blocks,
        measured_fpp=measured_fpp(found.bits),
        histogram=tuple(counts.tolist()),
        expected=tuple(expected.tolist()),
        spread=spread.ratio if spread else None,
        spread_error=spread.error if spread else None,
        map=tuple(occupancy.occupancy_map(bits, MAP_CELLS).tolist()),
    )
