"""What was meant by a word among FILE... that is no file: a column or a value of an option before it, part of a name
with spaces or commas, standard input."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import is_engine
from parquet_bloom.errors import ParquetBloomError, quoted_name
from parquet_bloom.files import open_file
from parquet_bloom.storage.near_names import near_name
from parquet_bloom.storage.paths import expand, stands_for_several
from parquet_bloom.storage.source import has_data_suffix, is_url
from parquet_bloom.values.literals import without_quotes

# So many words of a command line are looked at as one name.
_MOST_WORDS: Final = 8

# The options whose values are columns of the files, and those whose values are any text.
_OF_COLUMNS: Final = frozenset(("-c", "--column", "--columns", "--require"))
_OF_TEXT: Final = frozenset(("-v", "--value"))
_OF_ENGINES: Final = "--engine"

_STDIN: Final = "-"

# Between a column and its values, as in SQL.
_OPERATORS: Final = frozenset(("in", "is", "eq", "equals", "like"))

# What programs for texts make of the hyphens that are typed.
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


@dataclass(frozen=True, slots=True)
class Run:
    """The words behind an `option`, up to the next option or file: those before one that is no file, and those
    from it on. Of a word that stands elsewhere, or in a run of too many, there is it alone."""

    option: str
    before: Sequence[str]
    rest: Sequence[str]

    @property
    def words(self) -> Sequence[str]:
        return (*self.before, *self.rest)

    def names(self) -> Iterator[str]:
        """What the word may be a part of, with spaces between, the longest first."""
        words, at = self.words, len(self.before)
        spans = [words[i:j] for i in range(at + 1) for j in range(at + 1, len(words) + 1)]
        yield from map(" ".join, sorted(spans, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Typed:
    """A command line behind its command. `repeatable`: the options that take several values, one at a time;
    `single`: whether a text is a value of an option that takes one, by its name."""

    words: Sequence[str]
    repeatable: Collection[str]
    single: Mapping[str, Callable[[str], bool]]

    def run_of(self, word: str) -> Run:
        """The run that a word stands in behind the first value of an option."""
        at = self._place_of(word)
        for start in range(at - 1, -1, -1):
            name, value = _split(self.words[start])
            if self._is_option(name):
                before = [*filter(None, (value,)), *self.words[start + 1 : at]]
                rest = [*takewhile(_is_no_file, self.words[at : at + _MOST_WORDS + 1])]
                few = len(before) + len(rest) <= _MOST_WORDS
                return Run(name, before, rest) if few else Run(name, (), (word,))
            if name.startswith("-") or os.path.lexists(name):
                break
        return Run("", (), (word,))

    def _place_of(self, word: str) -> int:
        """Where it stands and is not the value of the option before it."""
        options = ("", *self.words)
        return next(
            (
                at
                for at, each in enumerate(self.words)
                if each == word and not self._is_option(options[at])
            ),
            0,
        )

    def _is_option(self, name: str) -> bool:
        return name in self.repeatable or name in self.single


def _split(word: str) -> tuple[str, str]:
    """An option and the value that is written with it: `--require=a`, `-ca`."""
    if word.startswith("--"):
        name, _, value = word.partition("=")
        return name, value
    return (word[:2], word[2:]) if word.startswith("-") else (word, "")


def check_stdin(names: Sequence[str], options: Collection[str]) -> str | None:
    """What to say of `-` among FILE..., which is a file only if one is called so. `options`: of the command."""
    if _STDIN not in names or os.path.lexists(_STDIN):
        return None
    ways = {"--values-from": "reads values", "--manifest": "reads the names of files"}
    helps = [f"{option} - {does} from it" for option, does in ways.items() if option in options]
    also = f"; {', '.join(helps)}" * bool(helps)
    return f"-: standard input is not supported: expected a file, which is read from its end{also}"


def dash_meant(names: Sequence[str], options: Collection[str]) -> str | None:
    """What to say of an option among FILE... whose hyphens were copied from a text. `options`: of the command."""
    for name in (each for each in names if each.startswith((*_DASHES,)) and _is_missing(each)):
        bare = name.lstrip(_DASHES + "-")
        for meant in (f"-{bare}", f"--{bare}"):
            if meant in options:
                return f"{name}: no such file; did you mean {meant}, with hyphens for the dash?"
    return None


def command_meant(names: Sequence[str], commands: Collection[str], path: str) -> str | None:
    """What to say of FILE... where a word is one of the `commands`, of which one is asked at a time. `path`: the
    command that is asked, such as `pbloom build`."""
    for name in filter(_is_missing, names):
        if name == "help":
            return f"help: no such file; did you mean {path} --help?"
        if name in commands:
            return f"{name}: no such file, but a command: expected one at a time, as in {path} FILE"
    return None


def table_meant(names: Sequence[str], options: Collection[str], words: Sequence[str]) -> str | None:
    """What to say of FILE... that is called as tables in catalogs are, where none is named. `options`: of the
    command."""
    is_named = any(word.startswith(("--catalog", "--table")) for word in words)
    first = names[0] if names and "--catalog" in options and not is_named else ""
    is_called_so = "." in first and all(part.isidentifier() for part in first.split("."))
    if not is_called_so or has_data_suffix(first) or not _is_missing(first) or near_name(first):
        return None
    return (
        f"{first}: no such file; a table in a catalog is named with --table iceberg --catalog NAME"
    )


def list_meant(names: Sequence[str]) -> str | None:
    """What to say of FILE... where several stand in one word, with commas or, in quotes, spaces between them."""
    for name in filter(_is_missing, names):
        parts = [part.strip() for part in name.split(",") if part.strip()]
        how = "with spaces between" if len(parts) > 1 else "without the comma"
        if "," not in name:
            parts, how = name.split(), "without the quotes around all"
        if parts and all(map(os.path.lexists, parts)):
            return f"{name}: no such file; did you mean {shlex.join(parts)}, {how}?"
    return None


def name_meant(files: Sequence[str]) -> str | None:
    """What to say of FILE... where the shell has made several words of a name with spaces."""
    for start, name in enumerate(files[:-1]):
        if not _is_missing(name):
            continue
        for end in range(start + 2, min(start + _MOST_WORDS, len(files)) + 1):
            if os.path.lexists(whole := " ".join(files[start:end])):
                return f"{name}: no such file; did you mean {shlex.quote(whole)}?"
    return None


def option_meant(files: Sequence[str], typed: Typed) -> str | None:
    """What to say of FILE... where a word is more of what an option before it takes, or a column of another of the
    files."""
    columns: dict[str, str] | None = None
    for name in filter(_may_be_a_value, files):
        run = typed.run_of(name)
        option, whole = run.option, " ".join((*run.before, name))
        if option in typed.single and (name == "%" or typed.single[option](whole)):
            return f"{name}: no such file; did you mean {option} {shlex.quote(whole)}?"
        columns = _columns_of_first(files) if columns is None else columns
        called, parts = (option, run.names()) if option in _OF_COLUMNS else ("-c", (name,))
        found = (columns.get(part.strip(",").lower()) for part in parts)
        if called in typed.repeatable and (column := next(filter(None, found), None)):
            as_typed = shlex.quote(quoted_name(column))
            return f"{name}: no such file; did you mean {called} {as_typed}?"
        is_another = option in typed.repeatable and option not in _OF_COLUMNS
        if is_another and any(map(os.path.lexists, files)) and _is_no_file(name):
            return f"{name}: no such file; did you mean {_as_values(run)}?"
    return None


def _as_values(run: Run) -> str:
    """The values of a run: text may be one with spaces, or several; some engines have a name with a space."""
    engine = " ".join(run.words)
    if run.option == _OF_ENGINES and is_engine(engine):
        return f"{run.option} {shlex.quote(engine)}"
    if run.option not in _OF_TEXT or len(run.words) == 1:
        return f"{run.option} {shlex.quote(run.rest[0])}"
    several = " ".join(f"{run.option} {shlex.quote(each)}" for each in run.words)
    return f"{run.option} {shlex.quote(' '.join(run.words))} or {several}"


def column_meant(files: Sequence[str]) -> str | None:
    """What to say of names of FILE... where no column is named, or there may be one file only: after the first, a
    word that is no file may be a column, unless one of the files was read and has no such."""
    for name in files[1:]:
        is_word = all(part.isidentifier() for part in name.split("."))
        if is_word and _is_no_file(name):
            columns = _columns_of_first(files)
            is_none = columns and name.lower() not in columns
            return (
                f"{name}: no such file{' or column' if is_none else f'; did you mean -c {name}?'}"
            )
    return None


def output_meant(files: Sequence[str]) -> str | None:
    """What to say of FILE... where nothing says where to write: behind one that is there,
    one that is not may be the copy."""
    if len(files) != len(("input", "copy")) or _is_missing(files[0]):
        return None
    name = files[1]
    if _is_missing(name) and has_data_suffix(name) and not stands_for_several(name):
        return f"{name}: no such file; did you mean -o {shlex.quote(name)}?"
    return None


def value_meant(files: Sequence[str], is_index_asked: bool, are_given: bool) -> str | None:
    """What to say of FILE... where values are expected: after one that is there, or beside an index, what is no file
    and no place for files may be one; where none `are_given` yet, so may what stands before the first file."""
    if not is_index_asked and not any(map(os.path.lexists, files[:1] if are_given else files)):
        return None
    for name in filter(_is_no_file, files):
        # `-c id = 42`, `-c id IN 5 42`, `-c id =42`
        if any(map(str.isalnum, name)) and name.lower() not in _OPERATORS:
            column, value = _condition(name) or ("", name)
            named = f"-c {shlex.quote(quoted_name(column))} " if column else ""
            return f"{name}: no such file; did you mean {named}-v {shlex.quote(value)}?"
    return None


def condition_meant(columns: Sequence[str]) -> str | None:
    """What to say of the names of columns where no value is given: as in `id=42`, one may be in them."""
    for each in columns:
        column, value = _condition(each) or ("", "")
        if column:
            as_typed = shlex.quote(quoted_name(column))
            return f"{each}: no value; did you mean -c {as_typed} -v {shlex.quote(value)}?"
    return None


def _condition(text: str) -> tuple[str, str] | None:
    """The column, which may be empty, and the value of `id=42`, `id == 42`, `"Order ID" = 'O-1'` or `=42`."""
    column, equals, value = text.partition("=")
    value = without_quotes(value.lstrip("=").strip())
    return (without_quotes(column.strip()), value) if equals and value else None


def _is_missing(name: str) -> bool:
    return not is_url(name) and not os.path.lexists(name)


def _may_be_a_value(name: str) -> bool:
    """Whether a word is neither there nor called like a file, a place for files or an option."""
    is_plain = not (has_data_suffix(name) or name.startswith("-") or set(name) & set("/\\*?["))
    return bool(name) and is_plain and _is_missing(name)


def _is_no_file(name: str) -> bool:
    """Whether it is not nearly the name of a file either, as `b.parqet` is."""
    return _may_be_a_value(name) and near_name(name) is None


def _columns_of_first(names: Sequence[str]) -> dict[str, str]:
    """Those of the first file that is there and can be read, and what they are in, by their names in lower case."""
    for path in _files_there(names):
        with suppress(ParquetBloomError, OSError, ValueError):
            with open_file(path) as file:
                columns = file.columns
            tops = (name.partition(".")[0] for name in columns)
            return {name.lower(): name for name in (*tops, *columns)}
    return {}


def _files_there(names: Sequence[str]) -> Iterator[str]:
    """Of each local name, the first file that it means."""
    for name in names:
        if not is_url(name) and os.path.lexists(name):
            found, _ = expand([name])
            yield from (each.path for each in found[:1])
