"""The judge of readers: what an engine does with the filters of each case, by its answers about the forms of
its file.

    plain       filtered      filtered-damaged   verdict
    wrong                                        not applicable: the engine cannot be asked that
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
from parquet_bloom.conformance.report import DIFFERENT, LOST, Result
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
    given: list[tuple[Sequence[int], bool]] = []
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
        )
        progress(number + 1, len(cases))
        if judge.rows is not None:
            given.append((judge.rows, verdict != NOT_APPLICABLE))
    _check_given(given)


def _check_given(given: Sequence[tuple[Sequence[int], bool]]) -> None:
    """`given`: rows without filters, and whether these are right."""
    wrong = sum(not is_right for _, is_right in given)
    if 0 < wrong < len(given) and all(rows == given[0][0] for rows, _ in given):
        raise AdapterError(
            f"nothing was judged: the adapter answers rows {_few(given[0][0])} whatever it is asked, which is wrong "
            f"in {wrong:,} of {number_of(len(given), 'case')}"
        )


class _Judge:
    """Of one case."""

    def __init__(self, folder: Path, case: Mapping[str, Any], session: Session, shown: str) -> None:
        self._folder, self._case, self._session, self._shown = folder, case, session, shown
        self.is_declined = False
        # What is answered without filters.
        self.rows: Sequence[int] | None = None

    def verdict(self) -> tuple[str, str]:
        """With what was found that is not as it should be."""
        plain = self._ask("plain")
        self.rows = plain.get("rows")
        if not self._is_right(plain):
            self.is_declined = "skip" in plain
            return NOT_APPLICABLE, self._said(plain)
        filtered = self._ask("filtered")
        if "rows" not in filtered:
            return "fails", self._said(filtered)
        if not self._is_right(filtered):
            lacking = Counter(self._case["rows"]) - Counter(filtered["rows"])
            return LOST if lacking else DIFFERENT, self._said(filtered)
        if "filtered-damaged" not in self._case["files"]:
            return "ignores", ""
        if not self._is_right(self._ask("filtered-damaged")):
            return "ignores", ""
        if self._is_right(self._ask("plain-damaged")):
            return "ignores", "something else than filters excludes row groups"
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
        return self._session.ask(question)

    def _is_right(self, answer: Answer) -> bool:
        return "rows" in answer and sorted(answer["rows"]) == self._case["rows"]

    def _said(self, answer: Answer) -> str:
        if "rows" in answer:
            return f"rows {_few(answer['rows'])}, expected {_few(self._case['rows'])}"
        return said(answer).replace(str(self._folder.absolute()), self._shown)


def _few(rows: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(rows)[:6]))
    return f"[{shown}, …]" if len(rows) > 6 else f"[{shown}]"
