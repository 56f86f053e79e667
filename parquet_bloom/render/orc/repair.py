"""What `pbloom repair` prints of an ORC file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.findings import place, rule_title
from parquet_bloom.render.repair import change
from parquet_bloom.render.terminal import write_line

if TYPE_CHECKING:
    from parquet_bloom.verbs.orc.repair import LeftOrcFilters, OrcRepairReport, RepairedOrcFilters

_NUMBER = re.compile(r"\d+([.,]\d+)*")


def write_orc_repair(report: OrcRepairReport) -> None:
    """What was done to one file, then a line for what was done, or left, in the same way."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: filters of {len(report.repaired)} columns of stripes repaired,"
        f" {len(report.left)} left, {change(report.bytes_added)}, {report.seconds:.2f} s"
    )
    done = [(item.action, item) for item in report.repaired]
    for line in _lines([*done, *(("left", item) for item in report.left)]):
        write_line(line)


def _lines(items: Sequence[tuple[str, RepairedOrcFilters | LeftOrcFilters]]) -> Iterator[str]:
    """Items of one column whose reasons differ in numbers only share a line."""
    groups: dict[tuple[str | None, ...], list[RepairedOrcFilters | LeftOrcFilters]] = {}
    for what, item in items:
        likeness = (what, item.column, item.rule, _NUMBER.sub("#", item.reason))
        groups.setdefault(likeness, []).append(item)
    for alike, members in groups.items():
        first = members[0]
        where = place(first.column, [item.stripe for item in members], "stripe")
        is_example = len({item.reason for item in members}) > 1 or len(first.index_groups) > 1
        example = "for example " if is_example else ""
        yield f"{alike[0]}: {where}: {rule_title(first.rule)}: {example}{first.reason}"
