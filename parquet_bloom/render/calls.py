"""Commands that are needless where others are run: these do the same, with more files or columns."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import NamedTuple, Self

from parquet_bloom.options import names_in
from parquet_bloom.render.hints import options_in
from parquet_bloom.verbs.advise import ANY_FILE

# A rate that is advised is the right one where a rule names another, or none.
_RATE = "--fpp"


class Call(NamedTuple):
    """A command: `names` those of files; `columns`, of none for all; `others`: the other options, each with what
    follows it."""

    text: str
    verb: str
    names: frozenset[str]
    columns: frozenset[str]
    others: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, command: str) -> Self:
        (_, verb, *names), *options = options_in(shlex.split(command))
        columns = [name for word, *values in options if word == "-c" for name in names_in(*values)]
        others = frozenset(each for each in options if each[0] != "-c")
        return cls(command, verb, frozenset(names), frozenset(columns), others)

    def is_done_by(self, other: Call, *, at_any_rate: bool = False) -> bool:
        """Whether the other makes it needless: it does the same, or builds all the filters again that advice was to
        be asked about."""
        if self == other:
            return True
        if ANY_FILE in self.names or not all(map(other._means, self.names)):
            return False
        if not (self.columns <= other.columns and bool(self.columns) == bool(other.columns)):
            return False
        if self.verb == "advise":
            words = {each[0] for each in other.others}
            return other.verb == "build" and "--existing" in words and "-g" not in words
        return self.verb == other.verb and self._as_is(at_any_rate) == other._as_is(at_any_rate)

    def _means(self, path: str) -> bool:
        """Whether it is for the file at `path`, too, which may be in a folder that it names."""
        return any(path == name or path.startswith(f"{name.rstrip('/')}/") for name in self.names)

    def _as_is(self, at_any_rate: bool) -> set[tuple[str, ...]]:
        return {each for each in self.others if not (at_any_rate and each[0] == _RATE)}


def widest(call: Call, others: Iterable[Call], *, at_any_rate: bool = False) -> Call:
    """The one that does most of what this does; itself, if it is none of the others."""
    for each in others:
        if call.is_done_by(each, at_any_rate=at_any_rate):
            call = each
    return call
