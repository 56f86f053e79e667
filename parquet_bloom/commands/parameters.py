"""What the words of a command line become: paths, sizes, names, numbers, ages, settings."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, Final

import click

from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES, parse_share, parse_size
from parquet_bloom.options import names_in
from parquet_bloom.program import words_of
from parquet_bloom.render.wording import size
from parquet_bloom.storage.source import is_in_store, is_object, is_url, local_name

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.storage.shard import Shard


class LocalPath(click.Path):
    """A path of a file or of a folder, which need not be there, or its `file:` URL; another URL is refused, as it
    would become a folder called `s3:`."""

    def __init__(self, *, is_for_folders: bool) -> None:
        super().__init__(file_okay=not is_for_folders, dir_okay=is_for_folders)
        self.is_for_folders = is_for_folders

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        from pathlib import Path

        if is_url(os.fspath(value)):
            way = _way_to_change(os.fspath(value)) if _is_for_new_files(param, ctx) else ""
            self.fail(f"'{value}' is a URL, expected a local path{way}", param, ctx)
        try:
            value = local_name(value) if os.fspath(value).startswith("file:") else value
        except OSError as error:
            self.fail(f"'{value}' {error.strerror}", param, ctx)
        if self.is_for_folders and os.path.isfile(value):
            self.fail(f"'{value}' is a file, expected a folder", param, ctx)
        # By its name, one that is not there is meant as a folder, too.
        is_folder = os.path.isdir(value) or os.fspath(value).endswith("/")
        if not self.is_for_folders and is_folder:
            copies = ctx and any(each.name == "output_dir" for each in ctx.command.params)
            way = f"; did you mean --output-dir {shlex.quote(os.fspath(value))}?" if copies else ""
            self.fail(f"'{value}' is a folder, expected a file{way}", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


def _is_for_new_files(param: click.Parameter | None, ctx: click.Context | None) -> bool:
    """Whether the option names where new versions of files go, of a command that can change them instead."""
    names = {each.name for each in ctx.command.params} if ctx else set()
    return bool(param and param.name in ("output", "output_dir") and "in_place" in names)


def _way_to_change(url: str) -> str:
    """What to do in place of a URL as an output."""
    if is_in_store(url):
        return "; objects are changed with --in-place"
    return "; upload it from there: web servers are read-only" if is_object(url) else ""


class OutputPath(LocalPath):
    """A path that is written to."""


class OutputPlace(click.types.StringParamType):
    """A folder or URL that is written to."""


def is_written(param: click.Parameter) -> bool:
    """Whether the command writes to the place that an option names."""
    return isinstance(param.type, OutputPath | OutputPlace)


class CopyPath(OutputPath):
    """A new version of a file, which does not go to standard output: `-` would become a file that is called so."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        if os.fspath(value) == "-":
            self.fail("-: standard output is not supported here, expected a file", param, ctx)
        return super().convert(value, param, ctx)


class WrittenPath(OutputPath):
    """A file of one format that is written: `as_what`, in a message, with STEM in place of the name without its
    ending. A name that says another format is refused."""

    def __init__(self, as_what: str, *others: str) -> None:
        super().__init__(is_for_folders=False)
        self._as_what = as_what
        self._others = frozenset(others)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        path = super().convert(value, param, ctx)
        if path.suffix.lower() in self._others:
            as_what = self._as_what.replace("STEM", path.stem)
            self.fail(f"{path}: is written as {as_what}", param, ctx)
        return path


class TablePath(CopyPath, WrittenPath):
    """A table, which does not go to standard output either."""


class FileOfValues(click.File):
    """A file that is read as bytes, or - for standard input; not the values themselves."""

    def convert(
        self,
        value: str | os.PathLike[str] | IO[Any],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> IO[Any]:
        is_gone = isinstance(value, str) and not os.path.lexists(value)
        if is_gone and is_url(str(value)):
            self.fail(f"'{value}' is a URL, expected a local path", param, ctx)
        if isinstance(value, str) and os.path.isdir(value):
            self.fail(f"'{value}' is a folder, expected a file", param, ctx)
        if is_gone and re.fullmatch(r"\d[\w-]*(,\d[\w-]*)*", str(value)):
            meant = " ".join(f"-v {each}" for each in str(value).split(","))
            self.fail(f"'{value}': no such file; did you mean {meant}?", param, ctx)
        return super().convert(value, param, ctx)


# What names end with that are neither Parquet nor text, nor documents: text has lines to read above its tables. One
# is that of a policy that is found without --config.
_OTHERS: Final = (
    *(".csv", ".tsv", ".pdf", ".xls", ".xlsx", ".orc", ".avro", ".arrow"),
    *(".toml", ".feather", ".db", ".duckdb", ".sqlite", ".gz", ".zip"),
)
_PAGES: Final = (".html", ".htm")
TABLES: Final = (".parquet", ".pq", ".parq")
_TEXTS: Final = (".txt", ".json", ".jsonl", ".ndjson", ".xml", ".yaml", ".yml", ".md")

FILE = LocalPath(is_for_folders=False)
OUTPUT_FILE = OutputPath(is_for_folders=False)
COPY = CopyPath(is_for_folders=False)
_AS_TEXT: Final = "text, expected STEM.txt, or --json and STEM.json"
TEXT_FILE = WrittenPath(_AS_TEXT, *_OTHERS, *_PAGES, *TABLES)
VALUES_FILE = WrittenPath(f"{_AS_TEXT}, or --by-value and STEM.parquet", *_OTHERS, *_PAGES)
PARQUET_FILE = TablePath("Parquet, expected STEM.parquet", *_OTHERS, *_PAGES, *_TEXTS)
PAGE_FILE = WrittenPath("HTML, expected STEM.html", *_OTHERS, *TABLES, *_TEXTS)
JSON_FILE = WrittenPath("JSON, expected STEM.json", *_OTHERS, *_PAGES, *TABLES)
FOLDER = LocalPath(is_for_folders=True)
OUTPUT_FOLDER = OutputPath(is_for_folders=True)
OUTPUT_PLACE = OutputPlace()


class Number(click.IntRange):
    """A whole number within limits, which a message names in words. Digits are those of ASCII, as in all of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        with suppress(click.BadParameter):
            if str(value).isascii():
                return int(super().convert(value, param, ctx))
        limits = f"{self.min:,} or more" if self.max is None else f"{self.min:,} to {self.max:,}"
        meant = _number_like(str(value))
        such_as = f", such as {meant}" if meant is not None and self._takes(meant) else ""
        self.fail(f"'{value}': expected a whole number, {limits}{such_as}", param, ctx)

    def _takes(self, number: int) -> bool:
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)


_MANY: Final = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9}


def _number_like(text: str) -> int | None:
    """The number of `1,000,000`, `1e6`, `1 000 000` and `1M`; None for what is no such."""
    bare = re.sub(r"(?<=\d)[, '](?=\d{3}(?!\d))", "", text.strip().lower())
    matched = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d{1,2})?) ?([kmbg]?)", bare, re.ASCII)
    if matched is None:
        return None
    number = float(matched[1]) * _MANY[matched[2]]
    return int(number) if number.is_integer() else None


class Rate(click.ParamType[float]):
    """A number between 0 and 1, exclusive."""

    name = "rate"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        with suppress(ValueError):
            if str(value).isascii() and 0 < (rate := float(str(value))) < 1:
                return rate
        column, _, text = str(value).rpartition("=")
        expected = f"expected a rate between 0 and 1, such as {_rate_like(text):g}"
        if column:
            expected += f", for all columns: {column} at another one takes a call of its own"
        self.fail(f"'{value}': {expected}", param, ctx)


def _rate_like(text: str) -> float:
    """The rate of `0.001`, and of `0.1%` or `0.1 %`, as rates are shown."""
    matched = re.fullmatch(r"(\d*\.?\d+)( ?%)?", text.replace(",", "."), re.ASCII)
    rate = float(matched[1]) / (100 if matched[2] else 1) if matched else 0
    return rate if 0 < rate < 1 else 0.01


RATE = Rate()

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def any_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Bytes: a number, or one with a unit, see SIZES."""
    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}{_with_unit(ctx, text)}") from None


def _with_unit(ctx: click.Context, number: str | None) -> str:
    """What to add to a complaint about a size from which the shell has cut its unit: `; did you mean '1 GiB'?`"""
    for word, unit in pairwise(words_of(ctx)):
        with suppress(ValueError):
            if (
                word.rpartition("=")[2] == number
                and unit.isalpha()
                and parse_size(f"{number} {unit}")
            ):
                return f"; did you mean '{number} {unit}'?"
    return ""


def filter_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """The same, within the limits of a filter that can be written."""
    found = any_size(ctx, param, text)
    if found is not None and not MIN_BYTES <= found <= MAX_BYTES:
        limits = f"{size(MIN_BYTES)} to {size(MAX_BYTES)}"
        raise click.BadParameter(f"'{text}': expected {limits}{_with_unit(ctx, text)}")
    return found


def least_size(least: int) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """The same, at least so many bytes."""

    def convert(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
        found = any_size(ctx, param, text)
        if found is not None and found < least:
            raise click.BadParameter(
                f"'{text}': expected {size(least)} or more{_with_unit(ctx, text)}"
            )
        return found

    return convert


def budget_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | str | None:
    """Bytes, at least one, or a share of all files, as text."""
    if text is None or not text.endswith("%"):
        return least_size(1)(ctx, param, text)
    try:
        parse_share(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text.replace(" ", "")


_EMPTY: Final = "an empty name, expected a leaf column"


def names(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The comma-separated columns in each text; one is empty only where it is quoted."""
    lines = _lists_of_names(ctx, texts)
    if any("" in line and '""' not in text for text, line in zip(texts, lines, strict=True)):
        raise click.BadParameter(f"{_EMPTY}, or '\"\"' for one that is called so")
    return tuple(name for line in lines for name in line)


def names_like(
    expected: str,
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[str, ...]]:
    """The same of what has names that are never empty; `expected`: one of them, in a message."""

    def convert(
        ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
    ) -> tuple[str, ...]:
        found = tuple(name for line in _lists_of_names(ctx, texts) for name in line)
        if "" in found:
            raise click.BadParameter(f"an empty name, expected {expected}")
        return found

    return convert


def _lists_of_names(ctx: click.Context, texts: Sequence[str]) -> list[list[str]]:
    try:
        lines = [names_in(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    _check_lists_are_whole(ctx, texts)
    return lines


def _check_lists_are_whole(ctx: click.Context, texts: Iterable[str]) -> None:
    """Raise BadParameter for the beginning of a list that the shell has cut off."""
    for text in texts:
        if whole := _with_rest(text, words_of(ctx)):
            raise click.BadParameter(
                f"'{text}': ends with a comma; did you mean {shlex.quote(whole)}, without spaces?"
            )


def _with_rest(text: str, words: Sequence[str]) -> str:
    """The list of which a text is the beginning that the shell has cut off: `a,b` for the words `a, b`."""
    if not text.endswith(",") or text not in words:
        return ""
    parts = [text]
    for word in words[words.index(text) + 1 :]:
        if not parts[-1].endswith(",") or word.startswith("-") or os.path.lexists(word):
            break
        parts.append(word)
    return "".join(parts) if len(parts) > 1 else ""


def numbers(ctx: click.Context, texts: Sequence[str]) -> tuple[int, ...]:
    """The comma-separated numbers in each text, from 0."""
    _check_lists_are_whole(ctx, texts)
    found = [each.strip() for text in texts for each in text.split(",")]
    for each in found:
        if not (each.isascii() and each.isdigit()):
            expected = "expected numbers from 0, with commas between them"
            raise click.BadParameter(f"{each!r}: {expected}{_as_numbers(each)}")
    return tuple(map(int, found))


# A range of more numbers is not written out.
_MOST_NUMBERS: Final = 10


def _as_numbers(text: str) -> str:
    """How else to say the range that a text may have meant."""
    matched = re.fullmatch(r"(\d{1,9})(?:-|:|\.\.)(\d{1,9})", text, re.ASCII)
    between = range(int(matched[1]), int(matched[2]) + 1) if matched else ()
    return f", such as {','.join(map(str, between))}" if 1 < len(between) <= _MOST_NUMBERS else ""


def settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Values by name. They may be secrets: no message has a value."""
    found = {}
    for text in texts:
        name, is_given, value = text.partition("=")
        if not is_given or not name:
            raise click.BadParameter("expected NAME=VALUE")
        found[name] = value
    return found


def moment(text: str) -> datetime:
    """A time in ISO 8601. Raises BadParameter."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected a time, such as 2026-11-22T06:00Z") from None


_AGE: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])", re.ASCII)
_AGES = "an age: a number and s, m, h, d or w, such as 2d"


def age(text: str) -> timedelta:
    """`90s`, `30m`, `12h`, `2d`, `1w`; 0 is so in any unit."""
    if text == "0":
        return timedelta()
    matched = _AGE.fullmatch(text)
    if matched is None:
        raise click.BadParameter(f"'{text}': expected {_AGES}")
    try:
        return timedelta(**{_UNITS[matched[2]]: float(matched[1])})
    except OverflowError:
        raise click.BadParameter(f"{text}: too long ago") from None


def age_in_seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    return None if text is None else age(text).total_seconds()


def shard(ctx: click.Context, param: click.Parameter, text: str | None) -> Shard | None:
    """One of several shards: `0/3`."""
    if text is None:
        return None
    from parquet_bloom.storage.shard import Shard

    matched = re.fullmatch(r"(\d+)/(\d+)", text, re.ASCII)
    if matched is None:
        raise click.BadParameter(f"{text!r}: expected a number from 0, and of how many, as in 0/3")
    index, count = map(int, matched.groups())
    if index >= count:
        last = f"0/{count} to {count - 1}/{count}" if count else "at least one, as in 0/1"
        raise click.BadParameter(f"{text}: expected {last}: shards are counted from 0")
    return Shard(index, count)


def since(
    ctx: click.Context, param: click.Parameter, text: str | None
) -> datetime | int | str | None:
    """A time, or how long ago it was; another number is the version of a table, another text may be the name of a
    branch or tag."""
    if text is None:
        return None
    found = _moment(text)
    if found is None and not text:
        # As of a variable that is not set.
        raise click.BadParameter(no_moment(text))
    return text if found is None else found


def since_time(ctx: click.Context, param: click.Parameter, text: str | None) -> datetime | None:
    """The same of files alone, which have no versions."""
    if text is None:
        return None
    found = _moment(text)
    if found is None:
        raise click.BadParameter(no_moment(text))
    if isinstance(found, int):
        raise click.BadParameter(f"{text}: expected a time or an age")
    return found


def no_moment(text: str) -> str:
    """What is wrong with the text of a time."""
    return f"{text!r}: expected a time such as 2026-11-20, or {_AGES}"


def _moment(text: str) -> datetime | int | None:
    """None for what is no time, age or number. Raises BadParameter."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        pass
    if text.isascii() and text.isdigit():
        return int(text)
    if _AGE.fullmatch(text) is None:
        return None
    try:
        return datetime.now(UTC) - age(text)
    except OverflowError:
        raise click.BadParameter(f"{text}: too long ago") from None
