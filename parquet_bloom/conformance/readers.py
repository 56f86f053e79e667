"""The judge of readers: what an engine does with the filters of each case, by its answers about the forms of
its file.

    plain       filtered      filtered-damaged   verdict
    lacks rows  right                            loses: takes no filter for one that excludes
    wrong       otherwise                        not applicable: the engine cannot be asked that
    right       not all of the rows              loses
    right       all of them, and others          differs
    right       error                            fails
    right       right         right              uses
    right       right         otherwise          ignores

An adapter that gives the same rows whatever it is asked is right wherever these happen to be expected. That says
nothing about its engine, and no verdict is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from parquet_bloom.conformance.adapter import Answer, Session, said
from parquet_bloom.conformance.report import BY_OTHERS, DIFFERENT, LOST, Result
from parquet_bloom.container import number_of
from parquet_bloom.errors import AdapterError

NOT_APPLICABLE: Final = "not applicable"


def read_results(
    folder: Path,
    cases: Sequence[Mapping[str, Any]],
    session: Session,
    progress: Callable[[int, int], None],
    shown: str = "suite",
) -> Iterator[Result]:
    """A result for each case of a manifest; `shown`: the folder, in what is said. Raises AdapterError, also if the
    rows are the same for all of them, and wrong for some."""
    given: list[tuple[list[Sequence[int]], bool]] = []
    for number, case in enumerate(cases):
        judge = _Judge(folder, case, session, shown)
        verdict, found = judge.verdict()
        can_use = case["use"] != "never"
        yield Result(
            case["id"],
            case["level"],
            verdict,
            found,
            can_use,
            judge.is_declined,
            about=case["about"],
            form=judge.form,
        )
        progress(number + 1, len(cases))
        if judge.given:
            given.append((judge.given, verdict != NOT_APPLICABLE))
    _check_given(given)


def _check_given(given: Sequence[tuple[Sequence[Sequence[int]], bool]]) -> None:
    """`given`: by case, the rows of each form that was asked, and whether these are right without filters."""
    wrong = sum(not is_right for _, is_right in given)
    rows = [each for of_case, _ in given for each in of_case]
    if 0 < wrong < len(given) and all(each == rows[0] for each in rows):
        raise AdapterError(
            f"nothing was judged: the adapter answers rows {_few(rows[0])} whatever it is asked, which is wrong "
            f"in {wrong:,} of {number_of(len(given), 'case')}"
        )


class _Judge:
    """Of one case."""

    def __init__(self, folder: Path, case: Mapping[str, Any], session: Session, shown: str) -> None:
        self._folder, self._case, self._session, self._shown = folder, case, session, shown
        self.is_declined = False
        # Of which the rows are wrong, if they are.
        self.form = "filtered"
        # The rows of each answer that has some.
        self.given: list[Sequence[int]] = []

    def verdict(self) -> tuple[str, str]:
        """With what was found that is not as it should be."""
        plain = self._ask("plain")
        if "rows" not in plain:
            self.is_declined = "skip" in plain
            return NOT_APPLICABLE, self._said(plain)
        filtered = self._ask("filtered")
        if self._lacks(plain) and self._is_right(filtered):
            self.form = "plain"
            return LOST, f"without filters: {self._said(plain)}, found with filters"
        if not self._is_right(plain):
            return NOT_APPLICABLE, self._said(plain)
        if "rows" not in filtered:
            return "fails", self._said(filtered)
        if not self._is_right(filtered):
            return LOST if self._lacks(filtered) else DIFFERENT, self._said(filtered)
        if "filtered-damaged" not in self._case["files"]:
            return "ignores", ""
        if not self._is_right(self._ask("filtered-damaged")):
            return "ignores", ""
        if self._is_right(self._ask("plain-damaged")):
            return "ignores", BY_OTHERS
        return "uses", ""

    def _ask(self, form: str) -> Answer:
        case, ask = self._case, self._case["ask"]
        path = str((self._folder / case["files"][form]).absolute())
        sql = ask["sql"].get(self._session.greeting.dialect, ask["sql"].get("*", ""))
        question = {
            "id": case["id"],
            "path": path,
            "type": case["type"],
            "op": ask["op"],
            "column": ask["column"],
            "stored": ask["stored"],
            "literal": ask["literal"],
            "key": case["key"],
            "sql": sql.replace("{path}", path),
        }
        answer = self._session.ask(question)
        self.given += [answer["rows"]] if "rows" in answer else []
        return answer

    def _lacks(self, answer: Answer) -> bool:
        """Whether there are rows that it has not, or not as often."""
        return bool(Counter(self._case["rows"]) - Counter(answer["rows"]))

    def _is_right(self, answer: Answer) -> bool:
        return "rows" in answer and sorted(answer["rows"]) == self._case["rows"]

    def _said(self, answer: Answer) -> str:
        if "rows" in answer:
            return f"rows {_few(answer['rows'])}, expected {_few(self._case['rows'])}"
        return said(answer).replace(str(self._folder.absolute()), self._shown)


def _few(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(rows)[:6]))
    return f"[{shown}, …]" if len(rows) > 6 else f"[{shown}]"
