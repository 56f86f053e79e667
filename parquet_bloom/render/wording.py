"""Numbers, lists and places as people read them."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from parquet_bloom.container import NUMBER, UNITS, number_of
from parquet_bloom.errors import quoted_name

if TYPE_CHECKING:
    from parquet_bloom.container import Place, Units
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import Format

# So many files are named one by one.
MOST_PATHS = 3
# Where nothing else says which they are.
MOST_PATHS_NAMED = 10

# A number that counts or measures, and what stands around it: no part of a date, a version or a value, and none that
# says which row or which page is meant.
_AMOUNT = re.compile(r"(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
_BEFORE_AMOUNT = re.compile(
    r"(^|[ (])(?<! to )(?<!row )(?<!page )(?<!group )(?<!stripe )(?<!byte )$"
)
_BEHIND_AMOUNT = re.compile(r"$|%| (?!to )|[),;:.]( |$)")


# So many of a list are shown.
MOST_SHOWN = 10

# Where an answer has more than a screen.
SHOWS_ALL = "--verbose, --output and --json show all"


def shortened(items: Sequence[str], in_all: int | None = None) -> str:
    """The first ten, and how many there are: `in_all`, if the others are not among the items."""
    shown = ", ".join(items[:MOST_SHOWN])
    number = len(items) if in_all is None else in_all
    return f"{shown}, … ({number:,} in all)" if number > MOST_SHOWN else shown


def rows_to_look_at(places: Sequence[str]) -> str:
    """`rows to look at: stripe 0, index group 3, row 3050; stripe 1, index group 0, rows 6000 to 6200 (2)`, the first
    ten."""
    more = len(places) - MOST_SHOWN
    shown = [*places[:MOST_SHOWN], *([f"and {more:,} more (--verbose)"] if more > 0 else [])]
    return f"rows to look at: {'; '.join(shown)}"


def listed(items: Sequence[str], in_full: bool) -> str:
    """All of them, or the first ten."""
    return ", ".join(items) if in_full else shortened(items)


def asked_for(columns: Sequence[str] | None, parts: Sequence[int] | None) -> str:
    """` in user_id`: of which filters a line about a file speaks, if not of all that it has."""
    if columns is None and parts is None:
        return ""
    if parts is None and columns is not None and len(columns) == 1:
        return f" in {quoted_name(columns[0])}"
    return " in what was asked for"


def either(words: Sequence[str]) -> str:
    """`text, json or sarif`"""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def part_in(formats: Sequence[Format]) -> str:
    """What files of these formats have: a `row group`, a `stripe`, or a `row group or stripe`."""
    return either([UNITS[each].part for each in formats or ("parquet",)])


def shows_parts(part: str) -> str:
    """What shows more than a table by column, where that is not what was asked for."""
    return f"-c NAME shows a column by {part}, --verbose shows each {part} of all."


def parts_of(formats: Sequence[Format]) -> str:
    """Several of them: `row groups`, `stripes`, or `row groups or stripes`."""
    return either([f"{UNITS[each].part}s" for each in formats or ("parquet",)])


def parts_in(count: int, formats: Sequence[Format]) -> str:
    """So many in files of these formats: `1 stripe`, `196 row groups or stripes`."""
    many = "s" * (count != 1)
    return f"{count:,} {either([UNITS[each].part + many for each in formats or ('parquet',)])}"


def size(num_bytes: int) -> str:
    """`2.0 MiB`"""
    amount = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def as_indexed(made: float) -> str:
    """Of an index that was `made` so many seconds after 1970: `as indexed 2026-11-27 08:12 UTC`"""
    return time.strftime("as indexed %Y-%m-%d %H:%M UTC", time.gmtime(made))


def requests_text(requests: Requests) -> str:
    """`6 requests to object stores (5 get, 1 list), 25.1 MiB received, 1 retry`"""
    if not requests.num_requests:
        return "no requests to object stores"
    kinds = ("get", "head", "list", "put")
    counts = ((getattr(requests, kind), kind) for kind in kinds)
    by_kind = ", ".join(f"{count:,} {kind}" for count, kind in counts if count)
    sent = f", {size(requests.bytes_up)} sent" if requests.put else ""
    retries = "1 retry" if requests.retries == 1 else f"{requests.retries:,} retries"
    return (
        f"{number_of(requests.num_requests, 'request')} to object stores ({by_kind}),"
        f" {size(requests.bytes_down)} received{sent}, {retries}"
    )


def files_of(paths: Sequence[str], num_files: int, noun: str = "file") -> str:
    """Some of all input files: `300 files`; `a, b`; `12 of 300 files, such as a`."""
    if len(paths) == num_files > 1:
        return number_of(num_files, noun)
    if len(paths) <= MOST_PATHS:
        return ", ".join(paths)
    return f"{len(paths):,} of {number_of(num_files, noun)}, such as {paths[0]}"


def files_in(paths: Sequence[str], in_full: bool) -> str:
    """All of them, or `a.parquet, b.parquet, c.parquet and 2 more files`"""
    return first_of(paths if in_full else paths[:MOST_PATHS], len(paths))


def first_of(paths: Sequence[str], num_files: int) -> str:
    """The first of so many files: `a.parquet, b.parquet and 2 more files`"""
    shown, more = ", ".join(paths), num_files - len(paths)
    return f"{shown} and {number_of(more, 'more file')}" if more > 0 else shown


def files_named(paths: Sequence[str], num_files: int) -> str:
    """The same where nothing else says which they are: more are named, and all of many are `300 files, such as a`."""
    if len(paths) <= MOST_PATHS_NAMED:
        return ", ".join(paths)
    such_as = f", such as {paths[0]}" * (len(paths) == num_files)
    return f"{files_of(paths, num_files)}{such_as}"


def in_one(texts: Iterable[str]) -> str:
    """What texts say that differ only in numbers: `(expected 528 to 1,040, found 0)`, with the least and
    the largest; the first text, if what differs is no amount, as in dates."""
    first, *others = dict.fromkeys(texts)
    if not others:
        return first
    between = NUMBER.split(first)
    numbers = zip(*map(NUMBER.findall, (first, *others)), strict=True)
    merged = between[0]
    for before, each, behind in zip(between, numbers, between[1:], strict=False):
        number = each[0]
        if len({*each}) > 1:
            if not _are_amounts(before, each, behind):
                return in_the_first(first)
            ordered = sorted(each, key=lambda text: float(text.replace(",", "")))
            number = f"{ordered[0]} to {ordered[-1]}"
        merged += number + behind
    return merged


def _are_amounts(before: str, numbers: Iterable[str], behind: str) -> bool:
    stand_alone = _BEFORE_AMOUNT.search(before) and _BEHIND_AMOUNT.match(behind)
    return bool(stand_alone) and all(map(_AMOUNT.fullmatch, numbers))


def in_the_first(text: str) -> str:
    """About several, of which the first is known."""
    return f"in the first: {text}"


def columns_alike(
    chunks: Iterable[tuple[str, Place, str]], in_full: bool = False
) -> Iterator[tuple[str, list[Place], str]]:
    """Chunks as (column, place, text), by equal texts: the names of all columns that have it in the
    same places, or the first ten unless `in_full`, these places, and the text."""
    by_column: dict[tuple[str, str], list[Place]] = {}
    for column, place, text in chunks:
        by_column.setdefault((column, text), []).append(place)
    alike: dict[tuple[str, tuple[Place, ...]], list[str]] = {}
    for (column, text), places in by_column.items():
        alike.setdefault((text, tuple(places)), []).append(column)
    for (text, those), columns in alike.items():
        yield listed([*map(quoted_name, columns)], in_full), list(those), text


def where(column: str | None, places: Sequence[Place]) -> str:
    """`column user_id, row groups 0, 1`; `column user_id, stripe 0, index groups 3, 4`;
    `column user_id, stripes 0, 1, in 7 index groups`"""
    words = [] if column is None else [f"column {quoted_name(column)}"]
    parts = {place.part for place in places}
    groups = [place.group for place in places if place.group is not None]
    if places:
        words.append(_numbered(places[0].units.part, parts))
    if groups and len(parts) == 1:
        words.append(_numbered(places[0].units.group, groups))
    elif groups:
        words.append(f"in {number_of(len(groups), places[0].units.group)}")
    return ", ".join(words)


def _numbered(noun: str, numbers: Collection[int]) -> str:
    """`row groups 0, 1`"""
    plural = "s" if len(numbers) > 1 else ""
    return f"{noun}{plural} {shortened([str(number) for number in sorted(numbers)])}"


def place_heads(units: Units) -> tuple[str, ...]:
    """The headings of a table's columns for places: `row group`; `stripe`, `index group`."""
    return (units.part, units.group) if units.has_groups else (units.part,)


def places_word(units: Units, count: int = 2) -> str:
    """What place_cells name, joined: `row groups`; `stripe/index groups`, such as `0/3`."""
    return "/".join(place_heads(units)) + "s" * (count != 1)


def place_cells(place: Place) -> tuple[str, ...]:
    """The cells below them."""
    return (str(place.part),) if place.group is None else (str(place.part), str(place.group))
