"""From findings to repairs: what becomes of the filters of a file.

What `repair` does about a broken rule is in the catalogue (rule.Rule.repair). In doubt, a filter is
dropped: without it, readers lose time; with a wrong one, rows.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import field, replace

from parquet_bloom.container import Repairs, number_of
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.dataclass import dataclass
from parquet_bloom.options import RepairOptions
from parquet_bloom.rules.finding import UNREAD, Finding
from parquet_bloom.vocabulary import Remedy, RepairAction


@dataclass(slots=True)
class BrokenFilters:
    """The filters of one chunk, and what is wrong with them: findings, each with what `repair` does
    about it. `had_filters`: whether the chunk ever had any, so that they may be rebuilt.

    Where values are missing as if bytes of them had changed: `only_trace`, of what is wrong with their pages, so that
    the filter stays, with what it lacks; else, wherever some are, `doubt_about_values`, if nothing proves them right.
    `fpp`: computed from the bits of the only one, where values were looked up.
    """

    chunk: Chunk
    had_filters: bool = True
    problems: list[tuple[Finding, Remedy]] = field(default_factory=list)
    only_trace: tuple[Finding, Finding] | None = None
    doubt_about_values: str = ""
    fpp: float | None = None

    def add(self, finding: Finding, remedy: Remedy | None = None) -> None:
        """Note what is wrong; `remedy`: if the place of the filter calls for another than the rule."""
        self.problems.append((finding, remedy or finding.definition.repair))

    @property
    def fatal(self) -> Finding | None:
        """Why the filters are dropped."""
        return self._first("drop", "remove length")

    @property
    def unproven(self) -> Finding | None:
        """What speaks against filters whose values were to be looked up: something is wrong, or nobody could."""
        unread = (finding for finding, _ in self.problems if finding.rule in UNREAD)
        lacking = self.only_trace and self.only_trace[0]
        return self.fatal or self.length or self._first("rebuild") or lacking or next(unread, None)

    @property
    def num_sound(self) -> int:
        """How many of its filters have nothing wrong, if it has several and that is not said of all of them."""
        groups = {finding.place.group for finding, _ in self.problems if finding.place}
        return 0 if None in groups else self.chunk.num_filters - len(groups)

    @property
    def length(self) -> Finding | None:
        """Why their length is set."""
        return self._first("set length")

    @property
    def shortcoming(self) -> Finding | None:
        """What stays wrong unless they are rebuilt, which the only trace of damage is not."""
        return None if self.only_trace else self._first("rebuild")

    @property
    def beyond_repair(self) -> list[Finding]:
        """What can only be reported."""
        return [finding for finding, _ in self.problems if finding.definition.instead]

    def broken(self, rule: str) -> Finding | None:
        """Where this rule is broken, if it is."""
        return next((finding for finding, _ in self.problems if finding.rule == rule), None)

    def _first(self, *remedies: Remedy) -> Finding | None:
        return next((finding for finding, remedy in self.problems if remedy in remedies), None)


def count_useless(findings: Iterable[Finding]) -> int:
    """How many filters exclude next to nothing."""
    return sum(finding.rule in ("PB301", "PB303") for finding in findings)


def way_out(finding: Finding) -> str:
    """What to do about a finding beyond repair, as the end of a sentence."""
    instead = finding.definition.instead
    return f"; {instead}" if instead else ""


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """What was found: broken `filters` in file order, and what is beyond repair, each finding with
    what to add to it.

    `dropping`: what happens to filters that go. Pointers can be dropped by a new footer alone;
    filters only if the file is read and written anyway. `damage_rule`: that of values that cannot be read.
    `useless`: how many filters exclude next to nothing, where values were looked up.
    """

    filters: Sequence[BrokenFilters]
    beyond_repair: Sequence[tuple[Finding, str]]
    dropping: RepairAction
    damage_rule: str
    useless: int = 0

    def with_known(self, filters: Sequence[BrokenFilters]) -> Diagnosed:
        """The same with what is known of these, in place of what was found."""
        both = {each.chunk.key: each for each in (*self.filters, *filters)}
        return replace(self, filters=[both[key] for key in sorted(both)])

    @property
    def notes(self) -> tuple[str, ...]:
        """What is no error of a filter, and may be taken for one."""
        if not self.useless:
            return ()
        exclude, stay = ("excludes", "stays") if self.useless == 1 else ("exclude", "stay")
        filters = f"{number_of(self.useless, 'filter')} that {exclude} next to nothing"
        way_out = "pbloom build --existing replace builds others (PB301, PB303)"
        return (f"{filters} {stay}, as no value is missing: {way_out}",)

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

    def dropped_too(
        self, rebuilt: Container[tuple[int, int]], options: RepairOptions
    ) -> Iterator[str]:
        """What becomes of filters that nothing is wrong with, where they are stored with others. `rebuilt`: the keys
        of the chunks that have new ones."""
        if not self.may_drop(options):
            return
        dropped = [each for each in self.filters if each.fatal and each.chunk.key not in rebuilt]
        if count := sum(each.num_sound for each in dropped):
            are = "is" if count == 1 else "are"
            part = dropped[0].chunk.place.units.part
            again = "" if options.rebuild else "; --rebuild builds all of them again"
            yield (
                f"{number_of(count, 'filter')} in which nothing is wrong {are} dropped, too, as those of a column in"
                f" a {part} are one stream{again}"
            )

    def may_drop(self, options: RepairOptions) -> bool:
        return self.dropping == "pointer dropped" or options.reads_values
