"""Give a file filters, and look up every value that it holds: none may be absent.

A look-up is one value in one form (Python's, numpy's, Arrow's, a literal), asked of the filter of a row
group, or index group, that holds it. NaN, which no filter can exclude, is not asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from writers import judge

import parquet_bloom as pb
from parquet_bloom.container.data_file import DataFile
from parquet_bloom.files import open_file
from parquet_bloom.options import ProbeOptions
from parquet_bloom.values.given import list_values
from parquet_bloom.verbs.probe import probe_file

# Findings that say that a filter lacks values.
LACKS_VALUES = {"PB401", "PB402"}


@dataclass
class Tally:
    """What came of the files of one writer. `elsewhere`: values that other groups hold and this one does
    not; `excluded`: how many of these were absent, as they should be. `own`: the same of filters that the
    writer had put into its files, where `convicted` were absent and validate says why."""

    created_by: set[str] = field(default_factory=set)
    files: int = 0
    columns: int = 0
    filters: int = 0
    look_ups: Counter[str] = field(default_factory=Counter)
    absent: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0
    excluded: int = 0
    own_filters: int = 0
    own_look_ups: int = 0
    own_absent: list[str] = field(default_factory=list)
    own_convicted: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    own_findings: Counter[str] = field(default_factory=Counter)
    unread: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)


def take(tally: Tally, path: Path, scratch: Path) -> None:
    """Look up what `path` holds, in its own filters and in ours."""
    said = judge.Judge(path)
    tally.files += 1
    tally.unread |= {f"{name}: {why}" for name, why in said.unread.items()}
    with pb.open(path) as file:
        tally.created_by.add(file.created_by)
        names = list(file.columns)
    own = {name for name, count in _filters(path).items() if count}
    if own:
        _own(tally, path, said, own)
    built = scratch / f"built{path.suffix}"
    report = pb.build(path, built, columns=names, existing="replace", overwrite=True)
    tally.skipped.update(each.reason for each in report.skipped)
    tally.filters += report.num_filters
    found = pb.validate(built)
    tally.findings.update(each.rule for each in found.findings)
    for each in found.findings:
        if each.severity == "error":
            tally.errors.append(f"{path.name}: {each.rule}: {each.column}: {each.message}")
    with_filter = {each.column for each in report.filters}
    tally.columns += len(with_filter)
    for lookup in _look_ups(built, said, with_filter):
        tally.look_ups[lookup.form] += len(lookup.answers)
        tally.absent += lookup.absent(path)
        tally.unknown.update(lookup.reasons)
        tally.elsewhere += lookup.elsewhere
        tally.excluded += lookup.excluded


@dataclass
class LookUps:
    """The answers about the values of one column in one group, in one form. `elsewhere`: of values that
    only other groups have, `excluded` of them absent."""

    column: str
    place: Any
    form: str
    values: list[Any]
    answers: list[Any]
    elsewhere: int
    excluded: int

    @property
    def reasons(self) -> list[str]:
        """Why verdicts are `unknown`."""
        return [each.reason or "" for each in self.answers if each.verdict == "unknown"]

    def absent(self, path: Path) -> list[str]:
        """Each value that seems absent, although it is there."""
        return [
            f"{path.name}: {self.column}, {self.place}: {self.form} {value!r}"
            for value, answer in zip(self.values, self.answers, strict=True)
            if answer.verdict == "absent"
        ]


def _own(tally: Tally, path: Path, said: judge.Judge, own: set[str]) -> None:
    report = pb.validate(path)
    tally.own_findings.update(each.rule for each in report.findings)
    lacking = {(each.column, _group(each)) for each in report.findings if each.rule in LACKS_VALUES}
    for lookup in _look_ups(path, said, own):
        tally.own_filters += lookup.form == "arrow"
        tally.own_look_ups += len(lookup.answers)
        wrong = lookup.absent(path)
        place = (lookup.place.part, lookup.place.group)
        if (lookup.column, place) in lacking or (lookup.column, (place[0], None)) in lacking:
            tally.own_convicted += len(wrong)
        else:
            tally.own_absent += wrong


def _group(finding: Any) -> tuple[int, int | None] | None:
    return None if finding.place is None else (finding.place.part, finding.place.group)


def _filters(path: Path) -> Counter[str]:
    """How many filters each column has."""
    found: Counter[str] = Counter()
    for part in pb.inspect(path).parts:
        for column in part.columns:
            found[column.column] += column.filter is not None
    return found


def _look_ups(path: Path, said: judge.Judge, columns: Iterable[str]) -> Iterator[LookUps]:
    """Each form of each value of the whole file is asked of all groups at once."""
    wanted = set(columns)
    held: defaultdict[tuple[str, str], dict[int, pa.Array]] = defaultdict(dict)
    with open_file(path) as file:
        first, *_ = file.columns
        groups = DataFile(file).probe(first, None)
        for number, group in enumerate(groups):
            for column, array in said.columns(group.first_row, group.num_rows):
                if column in wanted and len(array):
                    held[column, str(array.type)][number] = array
        for (column, _), arrays in held.items():
            array = judge.distinct(pa.concat_arrays(arrays.values()))
            keys = judge.comparable(array)
            here = {number: set(judge.comparable(each)) for number, each in arrays.items()}
            for form, values in judge.forms(array, said.kinds.get(column, "")):
                known = [number for number, value in enumerate(values) if value is not None]
                if known:
                    asked = (
                        values if len(known) == len(values) else [values[each] for each in known]
                    )
                    results = _results(file, column, form, asked)
                    of_form = [keys[each] for each in known]
                    for number, held_here in here.items():
                        answers = [each.groups[number] for each in results]
                        yield _of_group(
                            LookUps(column, groups[number].place, form, [], [], 0, 0),
                            zip(of_form, asked, answers, strict=True), held_here,
                        )  # fmt: skip


def _of_group(found: LookUps, answered: Iterable[Any], held: set[Any]) -> LookUps:
    for key, value, answer in answered:
        if key in held:
            found.values.append(value)
            found.answers.append(answer)
        else:
            found.elsewhere += 1
            found.excluded += answer.verdict == "absent"
    return found


def _results(file: Any, column: str, form: str, values: Any) -> Any:
    given = list(map(pb.literal, values)) if form == "literal" else list_values(values)
    return probe_file(file, ProbeOptions(column=column, values=given)).results
