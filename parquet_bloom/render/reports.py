"""How the reports of a verb are shown to people: one in full; of many, a line for each of a few, what is
alike in many of them once, and a total. As JSON they are shown by verbs.documents.

    12 of 300 files, such as a.parquet: skipped user_id: has a filter already
    300 files: 288 built, 12 unchanged; 1,196 filters, 12.3 MiB added

A verb tells it in one place, its SummarizedView, or ReportView where every file is shown in full.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar

from parquet_bloom.container import number_of, without_numbers
from parquet_bloom.render.hints import by_name, concerned_of, for_many, is_rebuilding, on_others
from parquet_bloom.render.palette import painted
from parquet_bloom.render.stopwatch import Stopwatch
from parquet_bloom.render.terminal import complain, write_text
from parquet_bloom.render.wording import (
    files_named,
    files_of,
    first_of,
    in_one,
    in_the_first,
    rows_to_look_at,
)
from parquet_bloom.vocabulary import DRY_RUN

# Up to so many files have a line each.
FEW = 20
# Of those that are in the same state without a line, so many are named.
MOST_IN_STATE = 5

SomeReport = TypeVar("SomeReport")


class Remark(NamedTuple):
    """Something to know about one file, where `text` says it all. In several files, remarks are alike
    that have the same `what`, differ only in numbers in `why`, and are helped by the same command, `next`, in which
    the file is called FILE: no shell takes a range of numbers. Those of the highest `rank` come first. `varies`: in
    the file itself there are several, and `why` is about the first; where it knows the `others`, it speaks of all.
    `comes_first`: before `repair` changes what may be the only trace of something else. `look`: the command that says
    more of this file, before anything changes there; of several, one is enough. `places`: in the file, where people
    have to look at rows, and need the evidence of one place rather than the range over all. `causes`: what `why` says
    that caused it in this file; numbers in them that differ are no amounts, but make it another cause."""

    what: str
    why: str
    text: str
    rank: int = 0
    varies: bool = False
    others: tuple[str, ...] = ()
    next: str | None = None
    comes_first: bool = False
    look: str | None = None
    places: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def likeness(self) -> tuple[str, str, str | None]:
        """Equal for remarks that are alike."""
        return self.what, without_numbers(self.why), self.next

    def without_others(self) -> Remark:
        """Without its commands, if they are for a table, and so for files of which something else is said."""
        if self.next is None or "FILE" in self.next.split():
            return self
        text = self.text
        for command in filter(None, (self.look, self.next)):
            text = text.replace(f"; next: {command}", "")
        return self._replace(next=None, look=None, text=text)


def about_alike(
    remarks: Sequence[Remark],
    names: Sequence[str] = (),
    concerned: Sequence[str] = (),
    places: Sequence[str] = (),
) -> str:
    """What several remarks that are alike say, once, and what helps with the files that `names` mean, or with those
    that it is said of, `concerned`. `places`: where rows are to be looked at, in which file."""
    first, reasons = remarks[0], [why for each in remarks for why in (each.why, *each.others)]
    num_similar = sum(each.causes != first.causes for each in remarks)
    are_varied = (
        num_similar > 0
        or any(each.varies for each in remarks)
        or (first.places and len({*reasons}) > 1)
    )
    why = in_the_first(reasons[0]) if are_varied else in_one(reasons)
    what_is_wrong, then, what_helps = why.partition("; next: ")
    if places:
        what_is_wrong += f"; {rows_to_look_at(places)}"
    if num_similar:
        what_is_wrong += f"; {number_of(num_similar, 'more file')} in a similar way (--verbose)"
    why = f"{what_is_wrong}{then}{what_helps}"
    text = f"{first.what}: {why}" if first.what else why
    if first.look is not None:
        text += f"; next: {first.look}"
    if first.next is None:
        return text
    command = for_many(first.next, "FILE", names, concerned)
    others = on_others(command, names, concerned)
    if others:
        command = by_name(command)
    return "; ".join(filter(None, (text, f"next: {command}", others)))


class FileSummary(NamedTuple):
    """One of many files. `state`: what became of it, which is counted; `line`: about it, without its
    path; `numbers`: what is added up for the total, where `dry` says that nothing was written;
    `is_answer`: whether the line is what was asked for, however many files there are; `heading`: the
    first line about it where it is the only one; `output`: the file that was written, if it is another."""

    state: str
    line: str
    remarks: Sequence[Remark] = ()
    numbers: Mapping[str, int] = {}
    is_answer: bool = False
    heading: str = ""
    output: str | None = None


class ReportView(ABC, Generic[SomeReport]):
    """How the reports of a verb are shown, each in full."""

    @abstractmethod
    def write(self, report: SomeReport, verbose: bool = False) -> None:
        """Write the report on one file in full; with `verbose`, nothing in it is merged or cut."""


class SummarizedView(ReportView[SomeReport]):
    """The same; of several files each has but a line, unless more is asked for. `in_short`: what a terminal shows
    below more than a few lines, about the option that sums them up; `named`: states of which the one with the fewest
    files has the first of them named, where only some are in it, and none has a line."""

    in_short: ClassVar[str] = ""
    named: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def summarize(self, report: SomeReport) -> FileSummary:
        """What is said about one of many files."""

    @abstractmethod
    def total(self, numbers: Mapping[str, int]) -> str:
        """What is said about the sum of their numbers, such as `12.3 MiB added`."""

    def hint(self, states: Mapping[str, int], numbers: Mapping[str, int]) -> str:
        """What helps next, by what became of how many files and by the sum of their numbers,
        where none has failed."""
        return ""

    def write(self, report: SomeReport, verbose: bool = False) -> None:
        summary = self.summarize(report)
        write_text(summary.heading)
        self.write_details(report, verbose)
        for remark in summary.remarks:
            write_text(remark.text)

    def write_details(self, report: SomeReport, verbose: bool) -> None:
        """Write what stands between the heading and the remarks."""
        return


class Summary:
    """Takes the reports on many files one by one; `noun`: what they are about; `few`: up to so many have a
    line each."""

    def __init__(
        self,
        num_files: int,
        view: SummarizedView[SomeReport],
        noun: str = "file",
        few: int = FEW,
    ) -> None:
        self._num_files = num_files
        self._noun = noun
        self._few = few
        self._total = view.total
        self._hint = view.hint
        self._stopwatch = Stopwatch()
        self._in_short = view.in_short
        self._named: dict[str, list[str]] = {state: [] for state in view.named}
        self._num_failed = self._num_unlisted = 0
        self._states: Counter[str] = Counter()
        self._numbers: Counter[str] = Counter()
        self._remarks: dict[tuple[str, str, str | None], list[tuple[str, Remark]]] = {}

    def add(self, path: str, file: FileSummary) -> None:
        path = file.output or path
        self._states[file.state] += 1
        named = self._named.get(file.state)
        if named is not None and len(named) < MOST_IN_STATE:
            named.append(path)
        # What Counter.update does for any mapping, in a third of the time for so few.
        for name, number in file.numbers.items():
            self._numbers[name] += number
        if file.is_answer or self._num_files <= self._few:
            write_text(f"{path}: {file.line}")
        for remark in file.remarks:
            self._remarks.setdefault(remark.likeness, []).append((path, remark))

    def add_failed(self) -> None:
        self._num_failed += 1

    def add_unlisted(self) -> None:
        """Take note of a folder of whose files nobody knows."""
        self._num_unlisted += 1

    def finish(self, names: Sequence[str] = ()) -> None:
        """Write what is alike, and the total. `names`: what means all of the files that could be read."""
        every = [remark for alike in self._remarks.values() for _, remark in alike]
        some_come_first = any(each.comes_first for each in every)
        for alike in sorted(self._remarks.values(), key=lambda alike: -alike[0][1].rank):
            if some_come_first and is_rebuilding(alike[0][1].next):
                these = [(path, remark.without_others()) for path, remark in alike]
                write_text(self._grouped(these, ()))
            else:
                write_text(self._grouped(alike, names))
        there = [state for state in self._named if self._states[state]]
        fewest = min(there, key=self._states.__getitem__, default=None)
        if self._num_files > self._few and fewest and len(self._states) > 1:
            write_text(f"{fewest}: {first_of(self._named[fewest], self._states[fewest])}")
        states = [f"{count:,} {painted(state)}" for state, count in self._states.most_common()]
        if self._num_failed:
            states.append(f"{self._num_failed:,} {painted('failed')}")
        if self._num_unlisted:
            states.append(f"{number_of(self._num_unlisted, 'folder')} {painted('not listed')}")
        if rest := self._num_files - self._states.total() - self._num_failed:
            states.append(f"{rest:,} {painted('not reached')}")
        done = number_of(self._num_files, self._noun)
        if states:
            done += f": {', '.join(states)}"
        total = self._total(self._numbers) if self._states else ""
        dry = DRY_RUN if self._numbers["dry"] else ""
        took = self._stopwatch.so_far(self._num_files)
        write_text("; ".join(filter(None, (done, total, dry))) + took)
        if self._in_short and self._states and self._num_files > FEW and sys.stdout.isatty():
            write_text(self._in_short)
        if not self._has_failed and (hint := self._hint(self._states, self._numbers)):
            complain(hint)

    @property
    def _has_failed(self) -> bool:
        return self._num_failed > 0 or self._num_unlisted > 0

    def _grouped(self, alike: Sequence[tuple[str, Remark]], names: Sequence[str]) -> str:
        paths = list(dict.fromkeys(path for path, _ in alike))
        files = files_of(paths, self._num_files, self._noun)
        if len(alike) == 1:
            return f"{files}: {alike[0][1].text}"
        are_all = len(paths) == self._states.total()
        concerned = concerned_of(paths, names, are_all, self._has_failed)
        # Of several places in one file, the first has its name.
        places = [
            place if at else f"{path}, {place}"
            for path, remark in alike
            for at, place in enumerate(remark.places)
        ]
        remarks = [remark for _, remark in alike]
        return f"{files}: {about_alike(remarks, names, concerned, places)}"


def lines_of_alike(
    said: Iterable[tuple[str, Remark]], num_files: int, noun: str = "file"
) -> Iterator[str]:
    """What is said of some of so many files, by their paths: what is alike once, but all that is said of one."""
    alike: dict[tuple[object, int], dict[str, Remark]] = {}
    before: Counter[tuple[str, object]] = Counter()
    for path, remark in said:
        alike.setdefault((remark.likeness, before[path, remark.likeness]), {})[path] = remark
        before[path, remark.likeness] += 1
    for remarks in alike.values():
        first = next(iter(remarks.values()))
        text = about_alike([*remarks.values()]) if len(remarks) > 1 else first.text
        yield f"{files_of([*remarks], num_files, noun)}: {text}"


class Complaints:
    """Complains about files; about many with equal messages once, when all is done, unless `at_once`.
    A context manager. `told`: what was complained about before, and is not again."""

    def __init__(self, num_files: int, at_once: bool = False, told: set[str] | None = None) -> None:
        self._num_files = num_files
        self.told = set() if told is None else told
        self.are_gathered = num_files > 1 and not at_once
        self._alike: dict[str, list[tuple[str, str]]] = {}

    def add(self, path: str, message: str) -> None:
        """`message` begins with this path, or with that of an output with the same name."""
        if message in self.told:
            return
        self.told.add(message)
        if self.are_gathered:
            about, text = without_path(message, path)
            self._alike.setdefault(text, []).append((about, message))
        else:
            complain(message)

    def add_if_unverified(self, path: str, report: object) -> None:
        """Complain if the report is on an encrypted file whose footer may have been replaced."""
        reason = getattr(report, "unverified", None)
        if reason is not None:
            self.add_unverified(path, reason)

    def add_unverified(self, path: str, reason: str) -> None:
        self.add(path, f"{path}: footer signature not verified: {reason}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Write what was gathered, whatever has happened."""
        for text, alike in self._alike.items():
            if len(alike) == 1:
                complain(alike[0][1])
            else:
                complain(f"{files_named([path for path, _ in alike], self._num_files)}: {text}")


def without_path(message: str, path: str) -> tuple[str, str]:
    """The path in front, which may be that of an output with the same name, and what is wrong."""
    if message.startswith(f"{path}: "):
        return path, message.removeprefix(f"{path}: ")
    name = path.rpartition("/")[2]
    before, found, text = message.partition(f"{name}: ")
    return (before + name, text) if found and ": " not in before else (path, message)
