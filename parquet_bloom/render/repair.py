"""What `pbloom repair` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.render.findings import place, rule_title
from parquet_bloom.render.terminal import write_line
from parquet_bloom.render.wording import size

if TYPE_CHECKING:
    from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport

_NUMBER = re.compile(r"\d+([.,]\d+)*")


def write_repair(report: RepairReport) -> None:
    """What was done to one file, then a line for what was done, or left, in the same way."""
    target = report.output or f"{report.path} (dry run)"
    filters = "1 filter" if len(report.repaired) == 1 else f"{len(report.repaired)} filters"
    write_line(
        f"{target}: {filters} repaired, {len(report.left)} left, {change(report.bytes_added)},"
        f" {report.seconds:.2f} s"
    )
    done = [(item.action, item) for item in report.repaired]
    for line in _lines([*done, *(("left", item) for item in report.left)]):
        write_line(line)


def change(bytes_added: int) -> str:
    """`1.0 KiB added`, `13 B removed`"""
    return f"{size(-bytes_added)} removed" if bytes_added < 0 else f"{size(bytes_added)} added"


def _lines(items: Sequence[tuple[str, RepairedFilter | LeftFilter]]) -> Iterator[str]:
    """Items of one column whose reasons differ in numbers only share a line."""
    groups: dict[tuple[str, ...], list[RepairedFilter | LeftFilter]] = {}
    for what, item in items:
        likeness = (what, item.column, item.rule, _NUMBER.sub("#", item.reason))
        groups.setdefault(likeness, []).append(item)
    for (what, column, rule, _), members in groups.items():
        where = place(column, [item.row_group for item in members])
        reasons = {item.reason for item in members}
        example = "for example " if len(reasons) > 1 else ""
        yield f"{what}: {where}: {rule_title(rule)}: {example}{members[0].reason}"
