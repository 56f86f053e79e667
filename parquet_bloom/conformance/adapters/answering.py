"""What adapters in Python share: a JSON line in, a JSON line out.

They run beside an engine and need nothing else of the suite.
"""

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


class Skip(Exception):
    """The engine cannot be asked that."""


@dataclass
class Question:
    """Which row numbers `n` has a query, or `column` `op` one of the values? `path`: a file, or a folder of
    several; `stored`: the values' PLAIN bytes; `literal`: the same as text; `sql`: a query of {source}, in which
    {type} is what the engine calls the column's type; `key`: of an encrypted file."""

    id: str
    path: str
    type: str
    column: str
    op: str
    stored: list[bytes]
    literal: list[str]
    sql: str = ""
    key: bytes = b""

    @classmethod
    def of(cls, line: str) -> "Question":
        told = json.loads(line)
        told["key"] = bytes.fromhex(told["key"])
        told["stored"] = [bytes.fromhex(each) for each in told["stored"]]
        # Later versions of the suite may say more.
        return cls(**{name: told[name] for name in cls.__dataclass_fields__ if name in told})

    @property
    def files(self) -> str:
        """A glob, for engines that want one instead of a folder."""
        return self.path if self.path.endswith(".parquet") else f"{self.path}/*.parquet"

    def query(self, source: str, type: Callable[[], str]) -> str:
        """The SQL about a source; `type` is asked only if the query has it."""
        if not self.sql:
            raise Skip("no SQL")
        sql = self.sql.replace("{source}", source)
        return sql.replace("{type}", type()) if "{type}" in sql else sql

    def one(self) -> tuple[bytes, str]:
        """The only value, for engines without SQL."""
        if self.op != "=":
            raise Skip("neither SQL nor more than one value")
        return self.stored[0], self.literal[0]


def answer(
    engine: str,
    version: str,
    ask: Callable[[Any], Iterable[Any]],
    dialect: str = "*",
    inside: str = "",
    question_of: Callable[[str], Any] = Question.of,
) -> None:
    """Answer the questions of standard input. `inside`: what the engine reads Parquet with; `question_of`: makes what
    `ask` takes of a line."""
    _say({"engine": engine, "version": version, "dialect": dialect, "inside": inside})
    for line in sys.stdin:
        if "output" in (told := json.loads(line)):
            _say({"id": told["id"], "error": "asked to write, and this adapter reads"})
            continue
        question = question_of(line)
        try:
            _say({"id": question.id, "rows": sorted(ask(question))})
        except KeyboardInterrupt:
            raise
        except Skip as reason:
            _say({"id": question.id, "skip": str(reason)})
        except BaseException as error:  # noqa: BLE001 -- a panic of Rust is no Exception
            _say({"id": question.id, "error": f"{type(error).__name__}: {error}"})


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()
