"""What `pbloom inspect --histogram` prints: how many blocks of a filter have how many bits set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS, number_of
from parquet_bloom.filters.rates import percent
from parquet_bloom.render.charts import Bin, bins
from parquet_bloom.render.inspect import is_unusable
from parquet_bloom.render.terminal import terminal_columns, write_json, write_line, write_text
from parquet_bloom.render.wording import shortened, size
from parquet_bloom.verbs.documents import document_of, plain

if TYPE_CHECKING:
    from parquet_bloom.container import Units
    from parquet_bloom.container.descriptions import ChunkDescription
    from parquet_bloom.verbs.inspect import FileInspection
    from parquet_bloom.verbs.occupancy import FilterOccupancy

# A terminal has a screen of them.
MOST_CHARTS = 10
MOST_BARS = 16
COLUMNS = ("bits set", "blocks", "expected")
GAP = "  "
# The least that a line has for a bar, however narrow the terminal.
LEAST_ROOM = 10
# Rows without a block where fewer than this are expected are left out.
FEW = 0.5

BAR, MARK = "█", "│"
# The end of a bar, in eighths of a character.
ENDS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
# For terminals without such characters.
IN_ASCII = str.maketrans(
    {BAR: "#", MARK: "|"} | dict.fromkeys(ENDS[1:4], " ") | dict.fromkeys(ENDS[4:], "#")
)


class HistogramWriter:
    """Writes about each filter in a line, with a chart on a terminal; in a pipe, its rows of one table of counts, and
    the lines below that. A terminal shows the first few, unless all are wanted, `in_full`, and sums up the others."""

    def __init__(self, path: str, in_full: bool = False) -> None:
        self._path = path
        self._is_begun = False
        self._is_terminal = sys.stdout.isatty()
        self._most = MOST_CHARTS if self._is_terminal and not in_full else sys.maxsize
        self._num_taken = 0
        # What a pipe gets below the table.
        self._headings: list[str] = []
        # Of those that are not drawn.
        self._uneven: list[str] = []

    def take(self, found: FilterOccupancy, column: ChunkDescription) -> None:
        """Write about one filter."""
        self._begin(found.place.units)
        self._num_taken += 1
        if self._num_taken > self._most:
            if found.spread is not None and not found.is_even:
                self._uneven.append(f"{found.place}, column {found.column}")
            return
        if self._is_terminal:
            write_line("")
            write_text(heading(found, column))
            _write_chart(found)
        else:
            self._headings.append(heading(found, column))
            _write_counts(found)

    def finish(self, inspection: FileInspection) -> None:
        """Write which filters cannot be drawn, and why."""
        self._begin(UNITS[inspection.format])
        for line in self._headings:
            write_line(line)
        if self._num_taken > self._most:
            uneven = f", uneven: {shortened(self._uneven)}" * bool(self._uneven)
            more = number_of(self._num_taken - self._most, "more filter")
            write_text(f"And {more}{uneven}: -c NAME draws those of a column, --verbose all.")
        for line in _unusable(inspection):
            write_line(line)

    def _begin(self, units: Units) -> None:
        """Write the heading, once it is known that the file can be read."""
        if self._is_begun:
            return
        self._is_begun = True
        write_text(f"{self._path}: blocks by number of bits set, of 256, and how many are expected")
        if not self._is_terminal:
            write_line(units.part, "column", *COLUMNS)


def write_histograms_json(inspection: FileInspection, found: Iterable[FilterOccupancy]) -> None:
    """What `--json` alone writes, and in `occupancy` all that is known about the blocks."""
    units = UNITS[inspection.format]
    occupancy = [plain(each, units) for each in found]
    write_json({**document_of(inspection), "occupancy": occupancy})


def _write_counts(found: FilterOccupancy) -> None:
    where = str(found.place.part), found.column
    for bits, (count, expected) in enumerate(zip(found.histogram, found.expected, strict=True)):
        if count or expected >= FEW:
            write_line(*where, str(bits), str(count), f"{expected:.1f}")


def _write_chart(found: FilterOccupancy) -> None:
    characters = {} if _has_blocks(sys.stdout.encoding) else IN_ASCII
    for line in chart(found.histogram, found.expected, terminal_columns()):
        write_line(line.translate(characters).rstrip())


def heading(occupancy: FilterOccupancy, column: ChunkDescription) -> str:
    """Which filter it is, and its numbers."""
    found = column.filter
    assert found is not None
    parts = [
        f"{size(found.num_bytes)} in {number_of(occupancy.num_blocks, 'block')}",
        f"fill {percent(found.fill)}",
        f"FPP {percent(found.fpp)}, measured {percent(occupancy.measured_fpp)}",
    ]
    if occupancy.spread is not None:
        even = "" if occupancy.is_even else ": uneven"
        parts.append(f"spread {occupancy.spread:.2f} times the expected{even}")
    return f"{occupancy.place}, column {occupancy.column}: {'; '.join(parts)}"


def chart(counts: Sequence[int], expected: Sequence[float], width: int) -> list[str]:
    """Lines of up to `width` (at least about 40) characters: a bar for each run of numbers of bits,
    and a mark where it is expected to end."""
    found = bins(counts, expected, MOST_BARS)
    cells = [COLUMNS, *(_cells(one) for one in found)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = max(LEAST_ROOM, width - sum(widths) - len(GAP) * len(widths))
    scale = room / max(max(one.count, one.expected) for one in found)
    bars = ["", *(_bar(one.count * scale, one.expected * scale, room) for one in found)]
    justified = [map(str.rjust, row, widths) for row in cells]
    return [GAP.join([*row, bar]).rstrip() for row, bar in zip(justified, bars, strict=True)]


def _cells(one: Bin) -> tuple[str, ...]:
    label = str(one.low) if one.low == one.high else f"{one.low}-{one.high}"
    return label, f"{one.count:,}", f"{one.expected:,.0f}"


def _bar(length: float, mark: float, room: int) -> str:
    """A bar of `length` characters with a mark after `mark` of them; neither exceeds `room`."""
    whole, eighths = divmod(round(length * 8), 8)
    characters = list((BAR * whole + ENDS[eighths]).ljust(room))
    characters[min(int(mark), room - 1)] = MARK
    return "".join(characters)


def _has_blocks(encoding: str) -> bool:
    try:
        (BAR + MARK).encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _unusable(inspection: FileInspection) -> Iterator[str]:
    """Which filters cannot be used, and why."""
    for part in inspection.parts:
        for column in part.columns:
            if is_unusable(column):
                yield f"{part.place}, column {column.column}: {column.reason}"
