"""How the bits of a file's filters lie: per filter a histogram of its blocks, a map, and the FPP
measured with values that are not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloom.container import Bits, Located, Place
from parquet_bloom.files import open as open_file
from parquet_bloom.filters import occupancy
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.options import Selection
from parquet_bloom.verbs.inspect import FileInspection, inspect_file

if TYPE_CHECKING:
    from parquet_bloom.container.descriptions import ChunkDescription
    from parquet_bloom.encryption.keys import Keys

# Enough to see where a filter is empty, full or different, and little enough to look at.
MAP_CELLS = 512


@dataclass(frozen=True, slots=True)
class FilterOccupancy(Located):
    """How the bits of one filter lie.

    `measured_fpp`: the share of random values that is found. `histogram`: blocks by the number of
    bits set, 0 to 256; `expected`: the same for even hashes and the same fill. `spread`: variance
    of the bits per block as a multiple of the expected one, with its standard error; None if there
    is none to expect. `map`: mean fill of up to MAP_CELLS runs of neighbouring blocks, 0 to 1.
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
        """Whether the blocks differ neither more nor less than hashes do; None if nobody can say."""
        if self.spread is None or self.spread_error is None:
            return None
        return occupancy.Spread(self.spread, self.spread_error).is_even


# Takes the occupancy of a filter, and what is said of its chunk.
Take = Callable[[FilterOccupancy, "ChunkDescription"], None]


def inspect_occupancy(
    path: str | os.PathLike[str],
    take: Take,
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    keys: Keys | None = None,
) -> FileInspection:
    """As inspect, and `take` gets the occupancy of each filter when it is read: of all of them
    together it can take more memory than the file. Raises UnsupportedError, too, for filters
    without blocks."""
    with open_file(path, keys) as file:
        file.check_has_blocks("histogram")
        selection = Selection(
            columns=None if columns is None else tuple(columns),
            parts=None if row_groups is None else tuple(row_groups),
        )

        def visit(place: Place, position: int, found: ChunkDescription, bits: Bits) -> None:
            take(occupancy_of(place, found.column, bits), found)

        return inspect_file(file, selection, visit=visit)


def occupancy_of(place: Place, column: str, bits: Bits) -> FilterOccupancy:
    """Look at all bits of one filter, which has blocks."""
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
