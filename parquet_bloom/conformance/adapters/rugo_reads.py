"""Ask rugo. The value is of the kind that it returns."""

import datetime
from importlib.metadata import version
from typing import Any

from answering import Question, answer
from rugo.parquet import read_parquet


def rows(path: str, column: str, predicates: list[tuple[str, str, object]]) -> list[Any]:
    with read_parquet(path, columns=[column], predicates=predicates, threads=1) as morsels:
        return [row for morsel in morsels for row in morsel.column(column).to_pylist()]


def sample(path: str, column: str) -> Any:
    with read_parquet(path, columns=[column], threads=1) as morsels:
        return next(
            each for each in next(iter(morsels)).column(column).to_pylist() if each is not None
        )


def value(like: Any, question: Question) -> Any:
    stored, literal = question.one()
    text = literal.removesuffix("Z")
    match like:
        case bytes():
            return stored
        case str():
            return literal
        case int():
            is_count = "TIME" in question.type or "DATE" in question.type
            return int.from_bytes(stored, "little", signed=True) if is_count else int(text)
        case datetime.datetime():
            return datetime.datetime.fromisoformat(text).replace(tzinfo=like.tzinfo)
        case datetime.date() | datetime.time():
            return type(like).fromisoformat(text[:15])
    return type(like)(text)


def ask(question: Question) -> list[int]:
    like = sample(question.path, question.column)
    return rows(question.path, "n", [(question.column, "=", value(like, question))])


answer("rugo", version("rugo"), ask)
