"""From findings to repairs: what becomes of the filters of a file.

What `repair` does about a broken rule is the rule's own (rule.Rule.repair). In doubt a filter goes:
without one readers lose time, with a wrong one they lose rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parquet_bloom.container import Repairs
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.options import RepairOptions
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import rules
from parquet_bloom.vocabulary import Remedy, RepairAction


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and what `repair` does about it."""

    finding: Finding
    remedy: Remedy


@dataclass(slots=True)
class BrokenFilters:
    """The filters of one chunk, and what is wrong with them. `had_filters`: there were some once, so
    that others may be built."""

    chunk: Chunk
    had_filters: bool = True
    problems: list[Problem] = field(default_factory=list)

    def add(self, finding: Finding, remedy: Remedy | None = None) -> None:
        """What is wrong; `remedy`: if the place of the filter tells better than the rule."""
        self.problems.append(Problem(finding, remedy or rules()[finding.rule].repair))

    @property
    def fatal(self) -> Finding | None:
        """Why the filters go."""
        return self._first("drop", "remove length")

    @property
    def length(self) -> Finding | None:
        """Why their length is set."""
        return self._first("set length")

    @property
    def shortcoming(self) -> Finding | None:
        """What remains wrong unless they are built again."""
        return self._first("rebuild")

    @property
    def beyond_repair(self) -> list[Finding]:
        """What can only be said."""
        return [each.finding for each in self.problems if is_beyond_repair(each.finding)]

    def _first(self, *remedies: Remedy) -> Finding | None:
        found = (each.finding for each in self.problems if each.remedy in remedies)
        return next(found, None)


def concerns_repair(finding: Finding) -> bool:
    """Whether `repair` does something about it, or at least says so."""
    return rules()[finding.rule].repair != "nothing" or is_beyond_repair(finding)


def is_beyond_repair(finding: Finding) -> bool:
    """Whether all that `repair` can do is say so."""
    return rules()[finding.rule].instead is not None


def way_out(finding: Finding) -> str:
    """What to do about what is beyond repair, as the end of a sentence."""
    instead = rules()[finding.rule].instead
    return f"; {instead}" if instead else ""


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """What was found: the `filters` with which something is wrong, in file order; and what nothing can
    be done about, with what to add to that in words.

    `drops_unread`: filters can be dropped without a look at the values, by another footer; `dropping`:
    what that is called.
    """

    filters: Sequence[BrokenFilters]
    beyond_repair: Sequence[tuple[Finding, str]]
    drops_unread: bool = True
    dropping: RepairAction = "pointer dropped"

    def repairs(self, options: RepairOptions) -> Repairs:
        """What to do about it."""
        dropped, resized, rebuilt = [], [], []
        for each in self.filters:
            if each.fatal and self.may_drop(options):
                dropped.append(each.chunk)
            elif each.length and not each.fatal:
                resized.append(each.chunk)
            if options.rebuild and each.had_filters and (each.fatal or each.shortcoming):
                rebuilt.append(each.chunk)
        return Repairs(tuple(dropped), tuple(resized), tuple(rebuilt))

    def may_drop(self, options: RepairOptions) -> bool:
        return self.drops_unread or options.reads_values
