"""What `pbloom repair` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import number_of
from parquet_bloom.render.findings import rule_title, where
from parquet_bloom.render.terminal import write_line
from parquet_bloom.render.wording import size

if TYPE_CHECKING:
    from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport

_NUMBER = re.compile(r"\d+([.,]\d+)*")


def write_repair(report: RepairReport) -> None:
    """What was done to one file, then a line for what was done, or left, in the same way."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {number_of(len(report.repaired), 'filter')} repaired,"
        f" {len(report.left):,} left, {_change(report.bytes_added)}, {report.seconds:.2f} s"
    )
    done = [(item.action, item) for item in report.repaired]
    for line in _lines([*done, *(("left", item) for item in report.left)]):
        write_line(line)


def _change(bytes_added: int) -> str:
    """`1.0 KiB added`, `13 B removed`"""
    return f"{size(-bytes_added)} removed" if bytes_added < 0 else f"{size(bytes_added)} added"


def _lines(items: Sequence[tuple[str, RepairedFilter | LeftFilter]]) -> Iterator[str]:
    """Items of one column whose reasons differ in numbers only share a line."""
    groups: dict[tuple[str | None, ...], list[RepairedFilter | LeftFilter]] = {}
    for what, item in items:
        likeness = (what, item.column, item.rule, _NUMBER.sub("#", item.reason))
        groups.setdefault(likeness, []).append(item)
    for alike, members in groups.items():
        first = members[0]
        place = where(first.column, [item.place for item in members if item.place])
        is_example = len({item.reason for item in members}) > 1 or len(first.groups or ()) > 1
        example = "for example " if is_example else ""
        yield f"{alike[0]}: {place}: {rule_title(first.rule)}: {example}{first.reason}"
