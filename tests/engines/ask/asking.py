"""What the programs that run beside an engine share: a question in, an answer out, a line each.

They run in the engine's environment and know nothing of the project.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Question:
    """The row numbers `n` of a file where `v` equals a value? `type`: as parquet-java spells it;
    `literal`: the value as text; `stored`: its bytes; `number`: of an INT32 or INT64, the integer.
    `query`: if not empty, to be asked instead, in which {source} is the file."""

    path: str
    type: str
    literal: str
    stored: bytes
    number: int | None
    query: str = ""

    @classmethod
    def of(cls, stored: str, **fields: Any) -> "Question":
        """`stored` in hexadecimal digits."""
        return cls(stored=bytes.fromhex(stored), **fields)

    def about(self, source: str) -> str:
        """The query about a file, called `source` in it."""
        return self.query.replace("{source}", source)

    @property
    def logical(self) -> str:
        """`DECIMAL(9,2)`, or empty."""
        return self.type.partition(" ")[2]


def answer(
    inside: str,
    ask: Callable[[Any], list[Any]],
    question_of: Callable[..., Any] = Question.of,
) -> None:
    """Answer the questions of the standard input. `inside`: what the engine reads Parquet with;
    `question_of`: makes what `ask` takes of the fields of a line."""
    _say({"inside": inside})
    for line in sys.stdin:
        question = question_of(**json.loads(line))
        try:
            _say({"rows": sorted(ask(question))})
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- a panic of Rust is no Exception
            _say({"error": f"{type(error).__name__}: {error}"})


def _say(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()
