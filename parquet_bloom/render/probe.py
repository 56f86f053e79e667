"""What `pbloom probe` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import shortened, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.probe import BlockExplanation, ProbeReport


def write_probe(report: ProbeReport) -> None:
    """One row per value: the verdict, and the row groups that remain."""
    write_line(f"{report.path}: {report.column}, {report.bytes_read:,} bytes read")
    write_table(("value", "verdict", "row groups to read", "rows to read", "reason"), [
        (
            result.value,
            result.verdict,
            shortened([str(g.row_group) for g in result.row_groups if g.verdict != "absent"]),
            str(result.rows_to_read),
            next((group.reason for group in result.row_groups if group.reason), "") or "",
        )
        for result in report.results
    ])  # fmt: skip


def write_rows_to_read(report: ProbeReport) -> None:
    """`path, row group, rows` for each row group that any of the values may be in."""
    worth = {
        group.row_group: group.num_rows
        for result in report.results
        for group in result.row_groups
        if group.verdict != "absent"
    }
    for row_group in sorted(worth):
        write_line(report.path, str(row_group), str(worth[row_group]))


def write_explanations(path: str, explanations: Sequence[BlockExplanation]) -> None:
    """One row per stored form of a value and row group."""
    write_line(path)
    write_table(
        ("row group", "value", "stored bytes", "hash", "block", "bits of words 0 to 7",
         "clear in words", "reason"),
        [
            (
                str(item.row_group),
                item.value,
                item.plain,
                item.hash,
                "" if item.block is None else f"{item.block} of {item.num_blocks}",
                " ".join(str(bit) for bit in item.bits),
                " ".join(str(word) for word in item.clear),
                item.reason or "",
            )
            for item in explanations
        ],
    )  # fmt: skip
