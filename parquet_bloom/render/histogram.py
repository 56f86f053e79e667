"""What `pbloom inspect --histogram` prints: how many blocks of a filter have how many bits set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from parquet_bloom.render.charts import Bin, bins
from parquet_bloom.render.terminal import percent, size, write_json, write_line
from parquet_bloom.vocabulary import NO_FILTER

if TYPE_CHECKING:
    from parquet_bloom.verbs.inspect import FileInspection, FilterInspection
    from parquet_bloom.verbs.occupancy import FilterOccupancy

MOST_BARS = 16
COLUMNS = ("bits set", "blocks", "expected")
GAP = "  "
# What is left of a line for a bar, whatever the terminal says.
LEAST_ROOM = 10
# Rows where fewer blocks are expected, and none is, say nothing.
FEW = 0.5

BAR, MARK = "█", "│"
# The last part of a bar, in eighths of a character; less than one is nothing.
ENDS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
# Where the terminal has no such characters.
IN_ASCII = str.maketrans(
    {BAR: "#", MARK: "|"} | dict.fromkeys(ENDS[1:4], " ") | dict.fromkeys(ENDS[4:], "#")
)


def write_histograms(inspection: FileInspection, found: Iterable[FilterOccupancy]) -> None:
    """A chart for each filter on a terminal; in a pipe one table of all counts. Then what cannot be
    drawn, and why."""
    write_line(
        f"{inspection.path}: blocks by the number of bits set, of 256, and as many as are expected"
    )
    if sys.stdout.isatty():
        _write_charts(inspection, found)
    else:
        _write_counts(found)
    for line in _unusable(inspection):
        write_line(line)


def write_histograms_json(inspection: FileInspection, found: Iterable[FilterOccupancy]) -> None:
    """What `--json` alone writes, and under the key `occupancy` all that is known of the blocks."""
    write_json({**asdict(inspection), "occupancy": [asdict(occupancy) for occupancy in found]})


def _write_counts(found: Iterable[FilterOccupancy]) -> None:
    write_line("group", "column", *COLUMNS)
    for occupancy in found:
        counts = zip(occupancy.histogram, occupancy.expected, strict=True)
        for bits, (count, expected) in enumerate(counts):
            if count or expected >= FEW:
                where = str(occupancy.row_group), occupancy.column
                write_line(*where, str(bits), str(count), f"{expected:.1f}")


def _write_charts(inspection: FileInspection, found: Iterable[FilterOccupancy]) -> None:
    stored = {
        (group.row_group, column.column): column.filter
        for group in inspection.row_groups
        for column in group.columns
        if column.filter
    }
    width = get_terminal_size().columns
    characters = {} if _has_blocks(sys.stdout.encoding) else IN_ASCII
    for occupancy in found:
        write_line("")
        write_line(heading(occupancy, stored))
        for line in chart(occupancy.histogram, occupancy.expected, width):
            write_line(line.translate(characters).rstrip())


def heading(occupancy: FilterOccupancy, stored: Mapping[tuple[int, str], FilterInspection]) -> str:
    """Which filter it is, and the numbers that belong to it."""
    found = stored[occupancy.row_group, occupancy.column]
    parts = [
        f"{size(found.num_bytes)} in {found.num_blocks:,} blocks",
        f"fill {percent(found.fill)}",
        f"FPP {percent(found.fpp)}, measured {percent(occupancy.measured_fpp)}",
    ]
    if occupancy.spread is not None:
        even = "" if occupancy.is_even else ": uneven"
        parts.append(f"spread {occupancy.spread:.2f} times the expected{even}")
    return f"row group {occupancy.row_group}, column {occupancy.column}: {'; '.join(parts)}"


def chart(counts: Sequence[int], expected: Sequence[float], width: int) -> list[str]:
    """Lines of up to `width` (at least some 40) characters: for some neighbouring numbers of bits a
    bar, and a mark where it is expected to end."""
    found = bins(counts, expected, MOST_BARS)
    cells = [COLUMNS, *(_cells(one) for one in found)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = max(LEAST_ROOM, width - sum(widths) - len(GAP) * len(widths))
    scale = room / max(max(one.count, one.expected) for one in found)
    bars = ["", *(_bar(one.count * scale, one.expected * scale, room) for one in found)]
    return [
        GAP.join(
            [*(cell.rjust(wide) for cell, wide in zip(row, widths, strict=True)), bar]
        ).rstrip()
        for row, bar in zip(cells, bars, strict=True)
    ]


def _cells(one: Bin) -> tuple[str, ...]:
    label = str(one.low) if one.low == one.high else f"{one.low}-{one.high}"
    return label, f"{one.count:,}", f"{one.expected:,.0f}"


def _bar(length: float, mark: float, room: int) -> str:
    """A bar of `length` characters with a mark behind `mark` of them; neither exceeds `room`."""
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
    """Where there is a filter that cannot be used, and why."""
    for group in inspection.row_groups:
        for column in group.columns:
            if column.reason and not column.reason.startswith(NO_FILTER):
                where = f"row group {group.row_group}, column {column.column}: "
                reason = column.reason.removeprefix(f"{inspection.path}: ").removeprefix(where)
                yield where + reason
