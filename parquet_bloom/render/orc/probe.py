"""What `pbloom probe` prints of an ORC file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.terminal import shortened, write_line, write_table

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.probe import BitExplanation, OrcProbeReport


def write_orc_probe(report: OrcProbeReport) -> None:
    """One row per value: the verdict, and the index groups that remain, as stripe/index group."""
    write_line(f"{report.path}: {report.column}, {report.bytes_read:,} bytes read")
    write_table(("value", "verdict", "index groups to read", "rows to read", "reason"), [
        (
            result.value,
            result.verdict,
            shortened([
                f"{group.stripe}/{group.index_group}"
                for group in result.index_groups
                if group.verdict != "absent"
            ]),
            str(result.rows_to_read),
            next((group.reason for group in result.index_groups if group.reason), "") or "",
        )
        for result in report.results
    ])  # fmt: skip


def write_orc_rows_to_read(report: OrcProbeReport) -> None:
    """`path, stripe, index group, first row, rows` for each that any of the values may be in."""
    worth = {
        (group.stripe, group.index_group): (group.first_row, group.num_rows)
        for result in report.results
        for group in result.index_groups
        if group.verdict != "absent"
    }
    for place in sorted(worth):
        write_line(report.path, *map(str, (*place, *worth[place])))


def write_orc_explanations(path: str, explanations: Sequence[BitExplanation]) -> None:
    """One row per hash of a value and index group."""
    write_line(path)
    write_table(
        ("stripe", "index group", "value", "hash", "k", "of bits", "bits", "clear", "reason"),
        [
            (
                str(item.stripe),
                str(item.index_group),
                item.value,
                item.hash,
                "" if item.num_hashes is None else str(item.num_hashes),
                "" if item.num_bits is None else str(item.num_bits),
                " ".join(str(bit) for bit in item.bits),
                " ".join(str(bit) for bit in item.clear),
                item.reason or "",
            )
            for item in explanations
        ],
    )
