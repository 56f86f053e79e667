"""Commands that are needless where others are run: these do the same, with more files or columns."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from parquet_bloom.options import names_in
from parquet_bloom.render.hints import options_in
from parquet_bloom.verbs.advise import ANY_FILE

# A rate that is advised is the right one where a rule names another, or none; it is no matter who chose columns, or
# that some files may lack them.
_CHOOSING = frozenset(
    ("--auto", "--budget", "--config", "--engine", "--fpp", "--no-config", "--union-by-name")
)


class Call(NamedTuple):
    """A command: `names` those of files; `columns`, of none for all; `done`: those that it is sure to work on in all
    files that have them; `others`: the other options, each with what follows it."""

    text: str
    verb: str
    names: frozenset[str]
    columns: frozenset[str]
    done: frozenset[str]
    others: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, command: str, chosen: Iterable[str] = ()) -> Self:
        """`chosen`: the columns that `build --auto` chooses in all files that have them."""
        (_, verb, *names), *options = options_in(shlex.split(command))
        columns = [name for word, *values in options if word == "-c" for name in names_in(*values)]
        others = frozenset(each for each in options if each[0] != "-c")
        done = chosen if ("--auto",) in others else columns
        return cls(command, verb, frozenset(names), frozenset(columns), frozenset(done), others)

    def is_done_by(self, other: Call, *, as_advised: bool = False) -> bool:
        """Whether the other makes it needless: it does the same, or builds all the filters again that advice was to
        be asked about."""
        if self == other:
            return True
        if ANY_FILE in self.names or not all(map(other._means, self.names)):
            return False
        if other.columns and not self.columns:
            return False
        if not self.columns <= other.done:
            return False
        if self.verb == "advise":
            words = {each[0] for each in other.others}
            return other.verb == "build" and "--existing" in words and "-g" not in words
        return self.verb == other.verb and self._as_is(as_advised) == other._as_is(as_advised)

    def _means(self, path: str) -> bool:
        """Whether it is for the file at `path`, too, which may be in a folder that it names."""
        return any(path == name or is_in(path, name) for name in self.names)

    def _as_is(self, as_advised: bool) -> set[tuple[str, ...]]:
        return {each for each in self.others if not (as_advised and each[0] in _CHOOSING)}


def is_in(path: str, folder: str) -> bool:
    """Whether a file is in the folder. What is in the folder `.` is called without it."""
    if folder in (".", "./"):
        return not path.startswith(("/", "../")) and "://" not in path
    return path.startswith(f"{folder.rstrip('/')}/")


def widest(call: Call, others: Iterable[Call], *, as_advised: bool = False) -> Call:
    """The one that does most of what this does; itself, if it is none of the others."""
    for each in others:
        if call.is_done_by(each, as_advised=as_advised):
            call = each
    return call


def advised_for(call: Call, advised: Sequence[Call]) -> list[Call]:
    """Those of the calls that are advised which do what this does, each for some of its files; itself, if they leave
    any of them."""
    of_one = [call._replace(names=frozenset((name,))) for name in sorted(call.names)]
    found = {each: widest(each, advised, as_advised=True) for each in of_one}
    are_all_done = all(each != done for each, done in found.items())
    return [*dict.fromkeys(found.values())] if are_all_done else [call]
