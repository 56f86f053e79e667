"""The shapes of the report's charts as SVG path data: only numbers, so nothing needs escaping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from math import ceil, log2, sqrt

from parquet_bloom.dataclass import dataclass

# Of a map: shades between empty and full.
SHADES = 32
EMPTY, FULL = 0, SHADES + 1
# The opacity of the lightest shade: unlike the dark ones, but visible on paper.
PALEST = 0.08

# Of a histogram, in units of about a pixel.
WIDTH, HEIGHT = 320, 96
MOST_BARS = 64
# Beyond these quantiles the expected curve is invisible.
TAIL = 0.001

# Of a strip.
MOST_STRIPES = 100


@dataclass(frozen=True, slots=True)
class Shade:
    """The cells of one fill; `opacity` 0 to 1. `kind` is `empty`, `full` or `part`."""

    kind: str
    opacity: float
    path: str


@dataclass(frozen=True, slots=True)
class MapChart:
    """Cells of 1 by 1, `columns` in a row, row by row; `lowest` and `highest` are fills."""

    columns: int
    rows: int
    shades: tuple[Shade, ...]
    lowest: float
    highest: float
    num_empty: int
    num_full: int


def map_chart(cells: Sequence[float]) -> MapChart:
    """A map of the mean fills of `cells` (at least one), about twice as wide as high."""
    columns = 1 << ceil(log2(sqrt(2 * len(cells))))
    levels = [_level(fill) for fill in cells]
    return MapChart(
        columns=min(columns, len(cells)),
        rows=ceil(len(cells) / columns),
        shades=tuple(_shade(level, levels, columns) for level in sorted(set(levels))),
        lowest=min(cells),
        highest=max(cells),
        num_empty=levels.count(EMPTY),
        num_full=levels.count(FULL),
    )


def _level(fill: float) -> int:
    """EMPTY and FULL are for fills of exactly 0 and 1."""
    return ceil(fill * SHADES) if fill < 1 else FULL


def _shade(level: int, levels: Sequence[int], columns: int) -> Shade:
    kind = {EMPTY: "empty", FULL: "full"}.get(level, "part")
    opacity = round(PALEST + (1 - PALEST) * min(level, SHADES) / SHADES, 3)
    runs = (
        (row, run)
        for row, start in enumerate(range(0, len(levels), columns))
        for run in _runs(levels[start : start + columns], level)
    )
    path = "".join(f"M{x} {row}h{length}v1h-{length}z" for row, (x, length) in runs)
    return Shade(kind, opacity, path)


def _runs(row: Sequence[int], level: int) -> Iterator[tuple[int, int]]:
    """Start and length of each run of `level`."""
    at = 0
    for found, run in groupby(row):
        length = len(list(run))
        if found == level:
            yield at, length
        at += length


@dataclass(frozen=True, slots=True)
class Bin:
    """How many blocks have `low` to `high` bits set, both included, and how many are expected to."""

    low: int
    high: int
    count: int
    expected: float


def bins(counts: Sequence[int], expected: Sequence[float], most: int) -> list[Bin]:
    """The part of two histograms, of the same length and sum, where either is not empty: in up to
    `most` bins of equal width; the last one may reach further."""
    low, high = _domain(counts, expected)
    step = ceil((high - low + 1) / most)
    return [
        Bin(
            low=start,
            high=min(start + step, len(counts)) - 1,
            count=sum(counts[start : start + step]),
            expected=sum(expected[start : start + step]),
        )
        for start in range(low, high + 1, step)
    ]


def _domain(counts: Sequence[int], expected: Sequence[float]) -> tuple[int, int]:
    """The first and last number of bits that blocks have, or may well have."""
    total = sum(expected)
    least, most = TAIL * total, (1 - TAIL) * total
    usual = [
        place
        for place, (one, upto) in enumerate(zip(expected, accumulate(expected), strict=True))
        if upto > least and upto - one < most
    ]
    there = [place for place, count in enumerate(counts) if count]
    return min(there + usual), max(there + usual)


@dataclass(frozen=True, slots=True)
class HistogramChart:
    """Blocks by bits set, WIDTH by HEIGHT: `bars`, and a `curve` of what is expected.

    The bars go from `low` to `high` bits, both included; the highest point of bars and curve is
    `most` blocks, and touches the top.
    """

    bars: str
    curve: str
    low: int
    high: int
    most: float


def histogram_chart(counts: Sequence[int], expected: Sequence[float]) -> HistogramChart:
    """The shapes of two histograms, of the same length and sum."""
    found = bins(counts, expected, MOST_BARS)
    most = max(max(one.count, one.expected) for one in found)
    width, scale = WIDTH / len(found), HEIGHT / most
    gap = 1 if width > 3 else 0
    bars = (
        f"M{place * width:.1f} {HEIGHT}v{-one.count * scale:.2f}h{width - gap:.1f}"
        f"v{one.count * scale:.2f}z"
        for place, one in enumerate(found)
        if one.count
    )
    curve = (
        f"{(place + 0.5) * width:.1f} {HEIGHT - one.expected * scale:.2f}"
        for place, one in enumerate(found)
    )
    return HistogramChart(
        bars="".join(bars),
        curve="M" + "L".join(curve),
        low=found[0].low,
        high=found[-1].high,
        most=most,
    )


def strip_chart(present: Sequence[bool]) -> str:
    """Which row groups have a filter, 100 by 8: a stripe for each or for several neighbours, as high
    as the share that has one."""
    stripes = min(len(present), MOST_STRIPES)
    width = 100 / stripes
    edges = [place * len(present) // stripes for place in range(stripes + 1)]
    parts = [present[edges[place] : edges[place + 1]] for place in range(stripes)]
    return "".join(
        f"M{place * width:.2f} 8v{-8 * sum(part) / len(part):.2f}h{width:.2f}V8z"
        for place, part in enumerate(parts)
        if any(part)
    )
