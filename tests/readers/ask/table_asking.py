"""What the programs that run beside a reader of tables share.

They run in the reader's environment and know nothing of the project but how to answer.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from answering import answer


@dataclass
class Question:
    """The rows of the table in the folder `path` where the column `id` is `name`, or all if that is None.
    `table`: delta or iceberg; `metadata`: of an Iceberg table, the newest metadata file; `version`:
    of a Delta table, or a snapshot of an Iceberg table."""

    id: str
    table: str
    path: str
    metadata: str
    version: int
    name: str | None


def answer_from(package: str, ask: Callable[[Question], Iterable[dict[str, Any]]]) -> None:
    """Answer with the text of `id`, with `n`, -1 for null, and the text of all other columns of each
    row."""

    def rows(question: Question) -> list[Any]:
        return [_row(dict(row)) for row in ask(question)]

    def question_of(line: str) -> Question:
        return Question(**json.loads(line))

    answer(package, version(package), rows, question_of=question_of)


def _row(row: dict[str, Any]) -> list[Any]:
    name, number = row.pop("id"), row.pop("n")
    return [str(name), -1 if number is None else int(number), str(sorted(row.items()))]
