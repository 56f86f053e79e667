"""How the bits of each filter are distributed: a histogram of its blocks, a map, and the FPP measured
with random values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from parquet_bloom.container import Bits, Located, Place
from parquet_bloom.container.protocols import Describable
from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters import occupancy
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.options import InspectOptions
from parquet_bloom.verbs.inspect import FileInspection, inspect_file

if TYPE_CHECKING:
    from parquet_bloom.container.descriptions import ChunkDescription, GetBits

# Enough to see where a filter is empty, full or different, but not too much to look at.
MAP_CELLS = 512


@dataclass(frozen=True, slots=True)
class FilterOccupancy(Located):
    """How the bits of one filter are distributed.

    `measured_fpp`: the share of random values that it seems to have. `histogram`: blocks by the
    number of bits set, 0 to 256; `expected`: the same for uniform hashes and an equal fill.
    `spread`: variance of the bits per block, divided by the expected variance, and its standard
    error; None if no variance is expected. `map`: mean fill, 0 to 1, of up to MAP_CELLS runs of
    neighbouring blocks.
    """

    place: Place
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
        """Whether the blocks vary as much as uniform hashes make them; None if that is unknown."""
        if self.spread is None or self.spread_error is None:
            return None
        return occupancy.Spread(self.spread, self.spread_error).is_even


# Called with the occupancy of a filter, and the description of its chunk.
Take = Callable[[FilterOccupancy, "ChunkDescription"], None]


def inspect_occupancy(file: Describable, options: InspectOptions, take: Take) -> FileInspection:
    """As inspect_file. Each occupancy goes to `take` at once: all of them together could need more
    memory than the file. Also raises UnsupportedError for filters without blocks."""
    file.check_has_blocks("histogram")

    def visit(place: Place, position: int, found: ChunkDescription, read: GetBits) -> None:
        take(occupancy_of(place, found.column, read()), found)

    return inspect_file(file, options, visit)


def occupancy_of(place: Place, column: str, bits: Bits) -> FilterOccupancy:
    """Look at all bits of one split block filter."""
    assert isinstance(bits, SplitBlockBloomFilter)
    per_block = occupancy.bits_per_block(bits)
    counts = occupancy.histogram(per_block)
    expected = occupancy.expected_histogram(counts)
    spread = occupancy.spread(counts, expected)
    return FilterOccupancy(
        place=place,
        column=column,
        num_blocks=bits.num_blocks,
        measured_fpp=occupancy.measured_fpp(bits),
        histogram=tuple(counts.tolist()),
        expected=tuple(expected.tolist()),
        spread=spread.ratio if spread else None,
        spread_error=spread.error if spread else None,
        map=tuple(occupancy.occupancy_map(per_block, MAP_CELLS).tolist()),
    )
