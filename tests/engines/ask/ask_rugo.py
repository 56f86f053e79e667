"""Ask rugo. The value is of the kind that it returns."""

import datetime
from typing import Any

from asking import Question, answer
from rugo.parquet import read_parquet


def rows(path: str, column: str, predicates: list[tuple[str, str, object]]) -> list[Any]:
    with read_parquet(path, columns=[column], predicates=predicates, threads=1) as morsels:
        return [row for morsel in morsels for row in morsel.column(column).to_pylist()]


def sample(path: str) -> Any:
    with read_parquet(path, columns=["v"], threads=1) as morsels:
        return next(iter(morsels)).column("v").to_pylist()[0]


def value(like: Any, question: Question) -> Any:
    literal = question.literal.removesuffix("Z")
    match like:
        case bytes():
            return question.stored
        case str():
            return question.literal
        case int():
            return int(literal) if "INTEGER" in question.type else question.number
        case datetime.datetime():
            return datetime.datetime.fromisoformat(literal).replace(tzinfo=like.tzinfo)
        case datetime.date() | datetime.time():
            return type(like).fromisoformat(literal[:15])
    return type(like)(literal)


def ask(question: Question) -> list[int]:
    like = sample(question.path)
    return rows(question.path, "n", [("v", "=", value(like, question))])


answer("", ask)
