"""What came of the cases: results, how many there should be, and what is news beside what is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from parquet_bloom.conformance.case import LEVELS, Level
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ConfigError, similar

LOST: Final = "loses"
# None is lost, but there are others, or one twice.
DIFFERENT: Final = "differs"
# Wrong rows, and nothing says so: no level excuses that.
_WRONG: Final = (LOST, DIFFERENT)
BAD: Final = (*_WRONG, "fails")
# What says nothing about the engine.
_ASIDE: Final = "not applicable"
# What is found where row groups are left out of a file without filters.
BY_OTHERS: Final = "something else than filters excludes row groups"
# A badge is green if no larger share of what was asked could not be judged.
_MOST_NOT_JUDGED: Final = 0.1

# What is known of an engine, by case: `{"semantics/nan": {"verdict": "loses", "issue": "…"}}`. Beside failures,
# what could not be judged.
Failures: TypeAlias = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Result:
    """`verdict`: of readers, uses, ignores, loses, differs, fails or not applicable; of writers, right, loses, fails
    or not applicable. `found`: what is not as it should be, or, of what is right, where there is no filter to judge.
    `can_use`: whether a filter could be of use. `is_declined`: if it is not applicable, because it is about something
    else, or the engine says that it cannot. `more`: what is found besides, in other chunks. `about`: what the case,
    or the column, is there for; `form`: that of the case's file of which the rows are wrong."""

    id: str
    level: Level
    verdict: str
    found: str = ""
    can_use: bool = False
    is_declined: bool = False
    more: tuple[str, ...] = ()
    about: str = ""
    form: str = "filtered"

    @property
    def group(self) -> str:
        return self.id.partition("/")[0]

    @property
    def applies(self) -> bool:
        return self.verdict != _ASIDE

    @property
    def is_not_judged(self) -> bool:
        """Although nobody has declined it: whether rows are wrong in it remains open, whatever its level."""
        return not self.applies and not self.is_declined

    def breaks(self, level: Level) -> bool:
        """Whether it is not as it must be, or should be, or may be: a case of a lower level breaks `must` if rows
        are wrong."""
        counts = LEVELS.index(self.level) <= LEVELS.index(level)
        return self.verdict in _WRONG or (self.verdict in BAD and counts)

    def document(self) -> dict[str, Any]:
        more = {"more": [*self.more]} if self.more else {}
        told = {"id": self.id, "about": self.about, "level": self.level}
        return told | {"verdict": self.verdict, "found": self.found} | more


@dataclass(frozen=True, slots=True)
class News:
    """What differs from what is known of an engine."""

    id: str
    known: str
    found: str

    @property
    def group(self) -> str:
        return self.id.partition("/")[0]


@dataclass(frozen=True, slots=True)
class NotJudged:
    """The cases, or columns, that could not be judged for one reason, although nobody has declined them; or only in
    part."""

    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Of a reader or a writer (`kind`), by a version of the suite."""

    suite: str
    kind: str
    engine: str
    version: str
    inside: str
    results: tuple[Result, ...]

    def tally(self, level: Level, group: str = "") -> tuple[int, int]:
        """Of the cases of this level that apply: how many are right, and how many there are. No reader must give
        wrong rows in a case of any level."""
        all_of_them = level == "must" and self.kind == "read"
        counted = [
            each for each in self.of(group) if each.applies and (each.level == level or all_of_them)
        ]
        return sum(not each.breaks(level) for each in counted), len(counted)

    def uses(self, group: str = "") -> tuple[int, int]:
        able = [each for each in self.of(group) if each.applies and each.can_use]
        return sum(each.verdict == "uses" for each in able), len(able)

    @property
    def partly_judged(self) -> list[NotJudged]:
        """Columns that are right where they have filters, and have none in some chunks."""
        return self._by_reason(
            each for each in self.results if each.verdict == "right" and each.found
        )

    @property
    def unused(self) -> list[str]:
        """The cases that are right although no row group was left out by a filter, where one could have been."""
        return [each.id for each in self._ignoring if each.found != BY_OTHERS]

    @property
    def excluded_otherwise(self) -> list[str]:
        """Those in which nobody knows: the same row groups are left out without filters."""
        return [each.id for each in self._ignoring if each.found == BY_OTHERS]

    @property
    def _ignoring(self) -> list[Result]:
        return [each for each in self.results if each.can_use and each.verdict == "ignores"]

    def of(self, group: str) -> list[Result]:
        return [each for each in self.results if group in ("", each.group)]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(each.group for each in self.results))

    def broken(self, level: Level) -> list[Result]:
        return [each for each in self.results if each.breaks(level)]

    @property
    def not_judged(self) -> list[NotJudged]:
        return self._by_reason(each for each in self.results if each.is_not_judged)

    def _by_reason(self, results: Iterable[Result]) -> list[NotJudged]:
        """Those that are about fewest first: a file that is wrong before many that are not there."""
        names: dict[str, dict[str, None]] = {}
        for each in results:
            names.setdefault(each.found, {})[self._name(each)] = None
        found = [NotJudged(tuple(of_reason), reason) for reason, of_reason in names.items()]
        return sorted(found, key=lambda each: len(each.names))

    @property
    def num_not_judged(self) -> int:
        return sum(len(each.names) for each in self.not_judged)

    @property
    def num_judged(self) -> int:
        return len({self._name(each) for each in self.results if each.applies})

    def _name(self, result: Result) -> str:
        """Of the case, or of a writer's column, of which each check says the same."""
        return result.id if self.kind == "read" else result.id.partition("/")[2]

    def news(self, known: Failures | None, level: Level) -> list[News]:
        """Failures that are not known, failures of another kind, and known ones that are none. If anything is known,
        even that nothing fails, also what is not judged: it may have been right before."""
        told = [(each, (known or {}).get(each.id, {}).get("verdict")) for each in self.results]
        return [
            News(each.id, expected or "right", each.verdict)
            for each, expected in told
            if (
                each.verdict != expected
                if expected
                else each.breaks(level) or (known is not None and each.is_not_judged)
            )
        ]

    def failures(self, known: Failures | None, level: Level) -> Failures:
        """What is no news from now on, that is what fails or is not judged; with the links of what is known."""
        links = known or {}
        return {
            each.id: {**links.get(each.id, {}), "verdict": each.verdict}
            for each in self.results
            if each.breaks(level)
            or each.is_not_judged
            or (each.id in links and each.verdict in BAD)
        }

    def document(self) -> dict[str, Any]:
        summary: dict[str, Any] = {level: list(self.tally(level)) for level in LEVELS}
        return {
            "suite": self.suite,
            "kind": self.kind,
            "engine": self.engine,
            "version": self.version,
            "inside": self.inside,
            "results": [each.document() for each in self.results],
            "summary": summary | {"uses": list(self.uses()), "not_judged": self.num_not_judged},
        }

    def badge(self) -> dict[str, Any]:
        """For shields.io: red if rows are wrong, orange if it fails where it must not,
        yellow if much was not judged."""
        right, of = self.tally("must")
        used = f", {self.uses()[0]} used" if self.kind == "read" else ""
        broken = self.broken("must")
        is_wrong = any(each.verdict in _WRONG for each in broken)
        aside = self.num_not_judged
        is_partial = aside > _MOST_NOT_JUDGED * (aside + self.num_judged)
        color = (
            "red" if is_wrong else "orange" if broken else "yellow" if is_partial else "brightgreen"
        )
        return {
            "schemaVersion": 1,
            "label": "bloom filters",
            "message": f"{right}/{of} must{used}" + (f", {aside} not judged" if aside else ""),
            "color": color,
        }


def known_failures(path: Path) -> Failures:
    """Those in a file. Raises ConfigError; OSError."""
    try:
        known: Failures = json.loads(path.read_bytes())
        verdicts = {id: each["verdict"] for id, each in known.items()}
    except (ValueError, AttributeError, TypeError, KeyError):
        shape = '{"CASE": {"verdict": "loses", "issue": "https://…"}}'
        raise ConfigError(f"{path}: expected {shape}") from None
    for id, verdict in verdicts.items():
        if verdict not in (*BAD, _ASIDE):
            expected = f"{', '.join(BAD)} or {_ASIDE}"
            raise ConfigError(f"{path}: {id}: verdict {verdict!r}, expected {expected}")
    return known


def _has_word(id: str, beginning: str) -> bool:
    return any(word.startswith(beginning) for word in _WORDS.split(id))


_WORDS: Final = re.compile("[-/]")
_LISTED: Final = "`pbloom conformance list` names them"


def _groups(ids: Iterable[str]) -> dict[str, None]:
    """Those of cases; columns have none."""
    return dict.fromkeys(id.partition("/")[0] for id in ids if "/" in id)


def is_any(wanted: str, ids: Iterable[str]) -> bool:
    """Whether it is one of the ids, or a group of some."""
    return any(id == wanted or id.startswith(f"{wanted}/") for id in ids)


def matching(ids: Sequence[str], wanted: Sequence[str]) -> Iterator[str]:
    """The ids that are, or are in a group that is, among the wanted ones; all of them if none are. Raises
    ConfigError for one that is not there."""
    for each in wanted:
        if not is_any(each, ids):
            raise ConfigError(f"{each}: no such case or group{_hint(each, [*_groups(ids), *ids])}")
    yield from (id for id in ids if not wanted or any(is_any(each, [id]) for each in wanted))


def check_known(known: Failures, ids: Sequence[str], asked: Sequence[str], path: Path) -> None:
    """Raise ConfigError if a failure that is known, by a file, is one of no case, or of one that is not asked: it
    would never be news."""
    for each in known:
        if each not in ids:
            raise ConfigError(f"{path}: {each}: no such case{_hint(each, ids)}")
        if each not in asked:
            raise ConfigError(f"{path}: {each}: is not asked with this --case")


def _hint(id: str, ids: Sequence[str]) -> str:
    """`; did you mean legal/first-group?`; of what a word begins with, those that have it: for `int64`,
    int64-integer-64-true."""
    close = similar(id, ids, cutoff=0.75)
    close = close or [each for each in ids if _has_word(each, id.lower())][:3]
    return f"; did you mean {', '.join(close)}?" if close else f"; {_LISTED}"
