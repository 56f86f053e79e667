"""What was meant by a word among FILE... that is no file: a column or a value of an option before it, part of a name
with spaces or commas, standard input."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.files import open_file
from parquet_bloom.storage.paths import expand, stands_for_several
from parquet_bloom.storage.source import has_data_suffix, is_url

# So many words of a command line are looked at as one name.
_MOST_WORDS: Final = 8

# The options whose values are columns of the files.
_OF_COLUMNS: Final = frozenset(("-c", "--column", "--columns", "--require"))

_STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Typed:
    """A command line behind its command. `repeatable`: the options that take several values, one at a time;
    `single`: whether a text is a value of an option that takes one, by its name."""

    words: Sequence[str]
    repeatable: Collection[str]
    single: Mapping[str, Callable[[str], bool]]

    def option_before(self, word: str) -> tuple[str, str] | None:
        """The option behind whose value a word stands, or behind more such words, and all of these as one; None if it
        stands elsewhere."""
        if word not in self.words:
            return None
        at = self.words.index(word)
        for start in range(at - 1, -1, -1):
            name, value = _split(self.words[start])
            if name in self.repeatable or name in self.single:
                said = [*filter(None, (value,)), *self.words[start + 1 : at + 1]]
                return (name, " ".join(said)) if len(said) > 1 else None
            if name.startswith("-") or os.path.lexists(name):
                return None
        return None


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


def command_meant(names: Sequence[str], commands: Collection[str], path: str) -> str | None:
    """What to say of FILE... where a word is one of the `commands`, of which one is asked at a time. `path`: the
    command that is asked, such as `pbloom build`."""
    for name in filter(_is_missing, names):
        if name == "help":
            return f"help: no such file; did you mean {path} --help?"
        if name in commands:
            return f"{name}: no such file, but a command: expected one at a time, as in {path} FILE"
    return None


def list_meant(names: Sequence[str]) -> str | None:
    """What to say of FILE... where several stand in one word, with commas between them."""
    for name in names:
        parts = [part.strip() for part in name.split(",") if part.strip()]
        if parts and "," in name and _is_missing(name) and all(map(os.path.lexists, parts)):
            how = ", with spaces between" if len(parts) > 1 else ", without the comma"
            return f"{name}: no such file; did you mean {shlex.join(parts)}{how}?"
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
        option, whole = typed.option_before(name) or ("", "")
        if option in typed.single and (name == "%" or typed.single[option](whole)):
            return f"{name}: no such file; did you mean {option} {shlex.quote(whole)}?"
        columns = _columns_of_first(files) if columns is None else columns
        if column := columns.get(name.strip(",").lower()):
            called = option if option in _OF_COLUMNS else "-c"
            if called in typed.repeatable:
                return f"{name}: no such file; did you mean {called} {shlex.quote(column)}?"
        is_another = option in typed.repeatable and option not in _OF_COLUMNS
        if is_another and os.path.lexists(files[0]):
            return f"{name}: no such file; did you mean {option} {shlex.quote(name)}?"
    return None


def column_meant(files: Sequence[str]) -> str | None:
    """What to say of names of FILE... where no column is named: after the first,
    a word that is no file may be one."""
    for name in files[1:]:
        is_word = all(part.isidentifier() for part in name.split("."))
        if is_word and _may_be_a_value(name):
            return f"{name}: no such file; did you mean -c {name}?"
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


def value_meant(files: Sequence[str]) -> str | None:
    """What to say of FILE... where values are given: after one that is there,
    what is no file and no place for files may be one."""
    if not os.path.lexists(files[0]):
        return None
    for name in filter(_may_be_a_value, files[1:]):
        # `-c id = 42`
        if any(map(str.isalnum, name)):
            return f"{name}: no such file; did you mean -v {shlex.quote(name)}?"
    return None


def _is_missing(name: str) -> bool:
    return not is_url(name) and not os.path.lexists(name)


def _may_be_a_value(name: str) -> bool:
    """Whether a word is neither there nor called like a file or a place for files."""
    is_plain = not (has_data_suffix(name) or set(name) & set("/\\*?["))
    return bool(name) and is_plain and _is_missing(name)


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
