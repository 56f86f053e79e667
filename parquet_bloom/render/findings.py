"""What `pbloom validate` prints for people: one line for what is wrong the same way in many places.

In a file of 1,000 row groups, everything is wrong 1,000 times. Findings of one rule in one leaf column
form a group if their messages differ only in numbers. What is said of several whole columns in the same words is
one line. Where the columns are too many for a terminal, groups of several columns are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from parquet_bloom.container import number_of
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import Diagnosis, without_list
from parquet_bloom.errors import quoted_name
from parquet_bloom.render.hints import OF_FILES, NextLines, for_any, united
from parquet_bloom.render.palette import painted
from parquet_bloom.render.reports import FileSummary, Remark, SummarizedView
from parquet_bloom.render.terminal import is_cut, write_line, write_text
from parquet_bloom.render.wording import MOST_SHOWN, asked_for, rows_to_look_at, shortened, where
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.rule import Severity
from parquet_bloom.verbs.validate import Checked, ValidationReport


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Like findings of one rule, in leaf columns or about the file; never empty."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def text(self) -> str:
        """Where, and what: `column user_id, row groups 0, 1: the message (expected 47, found 12)`.

        If they differ, the first stands for all, and the text says so.
        """
        where, what = place_of(self.findings), statement(self.first)
        if any(statement(other) != what for other in self.findings):
            where = f"{where}; the first" if where else "the first"
        return f"{where}: {what}" if where else what

    @property
    def columns(self) -> str:
        """`column user_id`; `columns a, b`; empty if they are about none."""
        return _columns_of(self.findings)

    @property
    def is_shortened(self) -> bool:
        """Whether some of the columns are not named."""
        return len({each.column for each in self.findings}) > MOST_SHOWN

    @property
    def diagnosis(self) -> str | None:
        """What the writer seems to have done instead, counted over the whole group; or that nothing
        which was tried explains the first."""
        found = [item.diagnosis for item in self.findings if item.diagnosis is not None]
        if not found:
            return self.first.undiagnosed
        first = found[0]
        alike = [one for one in found if one.explanation == first.explanation]
        hits, tried = sum(one.hits for one in alike), sum(one.tried for one in alike)
        text = explanation(Diagnosis(first.hypothesis, first.explanation, hits, tried))
        others = len(found) - len(alike)
        return f"{text}; {others:,} more in a similar way (--verbose)" if others else text

    @property
    def to_look_at(self) -> tuple[str, ...]:
        """Where rows are to be looked at, as nothing else tells what is wrong."""
        has_several = len({each.column for each in self.findings}) > 1
        return tuple(
            _to_look_at(each, with_column=has_several)
            for each in self.findings
            if each.is_open and each.next is None and each.place is not None
        )

    @property
    def causes(self) -> tuple[str, ...]:
        """What the writer seems to have done instead, each once."""
        found = (each.diagnosis.explanation for each in self.findings if each.diagnosis is not None)
        return tuple(dict.fromkeys(found))

    @property
    def lines(self) -> list[str]:
        """The text after severity and rule; the diagnosis, if any, on a line of its own, and so the rows to be looked
        at, if they are in several places."""
        lines = [f"{self.first.severity} {self.first.definition.heading}: {self.text}"]
        if self.diagnosis is not None:
            lines.append(f"    {self.diagnosis}")
        if len(places := self.to_look_at) > 1:
            lines.append(f"    {rows_to_look_at(places)}")
        return lines

    @property
    def painted_lines(self) -> list[str]:
        """The same in colour, for a terminal."""
        first, *others = self.lines
        severity = self.first.severity
        return [painted(severity) + first.removeprefix(severity), *others]

    def remark(self, path: str, looks: Sequence[str] = ()) -> Remark:
        """For many files, where it does not matter in which places of each it is. `looks`: the commands that say more
        of it in the file at `path`."""
        first = self.first
        columns = self.columns
        commands = united(filter(None, (each.next for each in self.findings)))
        by_hand = next((f"next: {each.by_hand}" for each in self.findings if each.by_hand), None)
        parts = first.statement, self.diagnosis, by_hand
        commands_in_order = [*(f"next: {each}" for each in looks), *next_commands(self.findings)]
        return Remark(
            what=f"{painted(first.severity)} {first.definition.heading}{': ' if columns else ''}{columns}",
            why=without_list("; ".join(filter(None, parts))),
            text=without_list("; ".join([*map(str.strip, self.painted_lines), *commands_in_order])),
            rank=first.severity.rank,
            varies=any(each.statement != first.statement for each in self.findings),
            next=for_any(commands[0], path) if commands else None,
            comes_first=any(each.is_to_be_looked_at for each in self.findings),
            look=next(iter(looks), None),
            places=self.to_look_at,
            causes=self.causes,
        )


def grouped(findings: Iterable[Finding]) -> list[FindingGroup]:
    """The most severe first, otherwise in the order of their first findings."""
    return _groups_of(findings, lambda each: (each.column, *each.likeness))


def grouped_in_text(findings: Sequence[Finding]) -> list[FindingGroup]:
    """The same, but one for what is said of several whole columns in the same words; and where these are too many for
    a terminal, one for like findings in several columns."""
    found = _groups_of(findings, lambda each: (*_said_of(each), *each.likeness))
    if not is_cut(len(found)):
        return found
    return _groups_of(findings, lambda each: (each.column is None, *each.likeness))


def _said_of(finding: Finding) -> tuple[str | None, ...]:
    """The column; of a whole one for which no command helps, what may be said of others, too."""
    is_of_whole = finding.column is not None and finding.place is None
    if is_of_whole and finding.next is None:
        return "", statement(finding), finding.by_hand
    return (finding.column,)


def _groups_of(
    findings: Iterable[Finding], likeness: Callable[[Finding], tuple[object, ...]]
) -> list[FindingGroup]:
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(likeness(finding), []).append(finding)
    return sorted(
        (FindingGroup(tuple(members)) for members in groups.values()),
        key=lambda group: -group.first.severity.rank,
    )


def grouped_by_rule(findings: Iterable[Finding]) -> list[list[FindingGroup]]:
    """The groups of each rule that is broken, the most severe first."""
    rules: dict[str, list[FindingGroup]] = {}
    for group in grouped(findings):
        rules.setdefault(group.first.rule, []).append(group)
    return list(rules.values())


def place_of(findings: Sequence[Finding]) -> str:
    """Where findings of some columns, or of none, are; empty if they are about the whole file."""
    places = [each.place for each in findings if each.place]
    return ", ".join(filter(None, (_columns_of(findings), where(None, places))))


def _columns_of(findings: Sequence[Finding]) -> str:
    """`column user_id`; `columns a, b`; empty if they are about none."""
    names = dict.fromkeys(each.column for each in findings if each.column is not None)
    columns = [quoted_name(name) for name in names]
    return f"column{'s' * (len(columns) > 1)} {shortened(columns)}" if columns else ""


def statement(finding: Finding) -> str:
    """The message with what was expected and found, the rows of missing values, and examples."""
    parts = [finding.statement]
    if finding.rows and finding.place:
        parts.append(missing_rows(finding.rows, finding.place.units.group))
    if finding.examples:
        parts.append(f"for example {', '.join(finding.examples)}")
    return "; ".join(parts)


def missing_rows(rows: MissingRows, group: str) -> str:
    """`in row 17, page 0`; `in 400 rows, 9600 to 9999, only at the end of the row group`"""
    text = f"in row {rows.first}"
    if rows.count > 1:
        text = f"in {rows.count:,} rows, {rows.first} to {rows.last}"
    if rows.first_page is not None:
        first, last = rows.first_page, rows.last_page
        text += f", page {first}" if first == last else f", pages {first} to {last}"
    return f"{text}, only at the end of the {group}" if rows.only_at_end else text


def _to_look_at(finding: Finding, *, with_column: bool) -> str:
    """`stripe 0, index group 3, row 3050`; `stripe 0, index group 3, rows 3050 to 3970 (12)`"""
    column = quoted_name(finding.column) if with_column and finding.column is not None else ""
    return ", ".join(filter(None, (column, str(finding.place), _rows_of(finding.rows))))


def _rows_of(rows: MissingRows | None) -> str:
    if rows is None:
        return ""
    if rows.count == 1:
        return f"row {rows.first}"
    return f"rows {rows.first} to {rows.last} ({rows.count:,})"


def explanation(diagnosis: Diagnosis) -> str:
    """`dictionary values were never inserted: 12 of 12 values that were tried are found that way`"""
    if not diagnosis.tried:
        return diagnosis.explanation
    return (
        f"{diagnosis.explanation.rstrip('.')}: {diagnosis.hits:,} of {diagnosis.tried:,} values"
        " that were tried are found that way"
    )


def summary(report: ValidationReport, there: str = "") -> str:
    """`3 errors, 1 note in 8 filters and 1,000,000 values: not ok`. `there`: see wording.asked_for."""
    return _summary(report, report.state, there)


def _summary(report: ValidationReport, state: str, there: str) -> str:
    if report.is_empty:
        return nothing_checked(there)
    if report.is_unknown and not report.checked.pages:
        return f"{severities_in(numbers_of(report))}; {NO_KEY_GIVEN}: {state}"
    return f"{findings_in(numbers_of(report))}: {state}"


def nothing_checked(there: str = "") -> str:
    """Nothing is wrong, but whoever expects filters must not read `ok`."""
    return f"no filters{there}, so nothing was checked"


# Nobody knows whether anything is.
NO_KEY_GIVEN: Final = "encrypted, no key, so no filter was checked"


class ValidationView(SummarizedView[ValidationReport]):
    """What is wrong with files. `next_lines`: the commands that help next; `columns`, `parts`: those that were asked
    for, if not all; `no_values`: whether values are named by hashes."""

    def __init__(
        self,
        next_lines: NextLines = OF_FILES,
        columns: Sequence[str] | None = None,
        parts: Sequence[int] | None = None,
        no_values: bool = False,
    ) -> None:
        self._next_lines = next_lines
        self._diagnose = f"{_DIAGNOSE}{' --no-values' * no_values}"
        self._columns = ",".join(map(quoted_name, columns or ()))
        self._there = asked_for(columns, parts)

    def summarize(self, report: ValidationReport) -> FileSummary:
        return FileSummary(
            state=report.state,
            line=self._painted_summary(report),
            remarks=[
                group.remark(report.path, self._diagnosing(report.path, group.findings))
                for group in grouped_in_text(report.findings)
            ],
            numbers=numbers_of(report),
        )

    def total(self, numbers: Mapping[str, int]) -> str:
        return findings_in(numbers)

    def write(self, report: ValidationReport, verbose: bool = False) -> None:
        """One line about the file, then one per group of findings, all findings if `verbose`, and the
        commands that help."""
        write_text(f"{report.path}: {self._painted_summary(report)}")
        groups, found = grouped(report.findings), grouped_in_text(report.findings)
        if verbose:
            found = [FindingGroup((each,)) for group in groups for each in group.findings]
        hides_some = is_cut(len(groups)) or any(each.is_shortened for each in found)
        for group in found:
            for line in group.painted_lines:
                write_text(f"  {line if verbose else without_list(line)}")
        if len(found) < len(groups) and hides_some:
            write_text("  -c NAME shows a column, --verbose shows all.")
        # Where nothing is cut, no command is.
        write_next = write_line if verbose else write_text
        for command in self._diagnosing(report.path, report.findings):
            write_next(f"  next: {command}")
        for command in next_commands(item for group in found for item in group.findings):
            write_next(f"  {command}")
        if not found and not report.checked.filters:
            of_columns = " -c COLUMN" * bool(self._columns)
            for line in self._next_lines.lines(
                report.path, f"advise FILES{of_columns}", self._columns
            ):
                write_line(f"  {line}")

    def _painted_summary(self, report: ValidationReport) -> str:
        return _summary(report, painted(report.state), self._there)

    def _diagnosing(self, path: str, findings: Iterable[Finding]) -> list[str]:
        """What says what the writer did, before another filter takes the place of the only evidence."""
        found = filter(_may_be_diagnosed, findings)
        columns = dict.fromkeys(each.column for each in found if each.column is not None)
        return united(
            line.removeprefix("next: ")
            for column in columns
            for line in self._next_lines.lines(path, self._diagnose, quoted_name(column))
        )


_DIAGNOSE: Final = "validate FILE -c COLUMN --diagnose"


def _may_be_diagnosed(found: Finding) -> bool:
    is_done = found.diagnosis is not None or found.undiagnosed is not None
    return found.rule == "PB401" and not is_done and "--diagnose" not in (found.next or "")


def numbers_of(report: ValidationReport) -> Counter[str]:
    """What is added up."""
    return numbers_in((item.severity for item in report.findings), report.checked)


def numbers_in(severities: Iterable[str], checked: Checked) -> Counter[str]:
    """The same of findings of these severities."""
    numbers = Counter(severities)
    values = checked.values
    numbers.update(filters=checked.filters, values=values or 0, deep=values is not None)
    pages = checked.pages
    numbers.update(pages=pages or 0, without_pages=pages == 0)
    numbers.update(unsummed=checked.pages_without_checksum or 0)
    return numbers


def findings_in(numbers: Mapping[str, int]) -> str:
    """`3 errors, 1 note in 8 filters and 1,000,000 values`; `no findings in 8 filters, whose values
    were not looked up`; `no findings in 8 filters and 1,000 values, 20 pages decoded, 1 file without pages`"""
    values = f" and {number_of(numbers['values'], 'value')}"
    if not numbers["deep"]:
        values = ", whose values were not looked up" if numbers["filters"] else ""
    filters = number_of(numbers["filters"], "filter")
    pages = f", {number_of(numbers['pages'], 'page')} decoded" if numbers["pages"] else ""
    if unsummed := numbers.get("unsummed", 0):
        of_them = "" if unsummed == numbers["pages"] else f"{unsummed:,} of them "
        pages += f" ({of_them}without checksums: changed values cannot be told)"
    without = numbers.get("without_pages", 0)
    none = f", {number_of(without, 'file')} without pages" if without else ""
    return f"{severities_in(numbers)} in {filters}{values}{pages}{none}"


def severities_in(numbers: Mapping[str, int]) -> str:
    """`3 errors, 1 note`; `no findings`"""
    severities = sorted(Severity, reverse=True)
    found = [number_of(numbers[each], each) for each in severities if numbers.get(each)]
    return ", ".join(found) or "no findings"


def next_commands(findings: Iterable[Finding]) -> list[str]:
    """`next: pbloom repair events.parquet --in-place`; each command once, in order, and one for all columns
    for which it is the same; then what helps where no command does, such as `next: take another copy of the file`."""
    told = [*findings]
    commands = united(filter(None, (found.next for found in told)))
    by_hand = dict.fromkeys(filter(None, (found.by_hand for found in told)))
    return [f"next: {each}" for each in (*commands, *by_hand)]
