"""What `pbloom probe` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloom.container import UNITS
from parquet_bloom.render.terminal import write_line, write_table
from parquet_bloom.render.wording import place_cells, place_heads, shortened

if TYPE_CHECKING:
    from parquet_bloom.container import Explanation
    from parquet_bloom.verbs.probe import ProbeReport


def write_probe(report: ProbeReport) -> None:
    """One row per value: the verdict, and the groups to read, such as `3`, or `0/3` in ORC."""
    group = UNITS[report.format].group
    write_line(f"{report.path}: {report.column}, {report.bytes_read:,} bytes read")
    write_table(
        ("value", "verdict", f"{group}s to read", "rows to read", "reason"),
        [
            (
                result.value,
                result.verdict,
                shortened(
                    ["/".join(place_cells(g.place)) for g in result.groups if g.verdict != "absent"]
                ),
                str(result.rows_to_read),
                next((group.reason for group in result.groups if group.reason), "") or "",
            )
            for result in report.results
        ],
    )


def write_groups_to_read(report: ProbeReport) -> None:
    """Path, place, first row and number of rows of each group that may have any of the values."""
    groups = {
        group.place: group
        for result in report.results
        for group in result.groups
        if group.verdict != "absent"
    }
    for place, group in sorted(groups.items()):
        write_line(report.path, *place_cells(place), str(group.first_row), str(group.num_rows))


def write_explanations(report: ProbeReport) -> None:
    """One row per group and hash of a value."""
    write_line(report.path)
    heads = (
        *place_heads(UNITS[report.format]), "value", "stored bytes", "hash", "block",
        "bits of words 0 to 7", "clear in words", "k", "of bits", "bits", "clear", "reason",
    )  # fmt: skip
    rows = [(*place_cells(each.place), *_cells(each)) for each in report.explanations or ()]
    write_table(heads, rows)


def _cells(item: Explanation) -> tuple[str | None, ...]:
    """Split block filters have blocks, with a bit in each word; others only bits."""
    selected, clear = (" ".join(map(str, numbers)) for numbers in (item.bits, item.clear))
    in_block: tuple[str | None, ...] = (None,) * 3
    in_filter: tuple[str | None, ...] = (None,) * 4
    if item.num_bits is not None:
        in_filter = (str(item.num_hashes), str(item.num_bits), selected, clear)
    elif item.bits:
        block = "" if item.block is None else f"{item.block} of {item.num_blocks}"
        in_block = (block, selected, clear)
    return item.value, item.plain, item.hash, *in_block, *in_filter, item.reason or ""
