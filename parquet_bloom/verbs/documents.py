"""A report as a JSON document, as a table, and as Python and notebooks show it.

The document is made of dictionaries and lists, whose keys name places as the format does:

    place: Place(3)              "row_group": 3                        "stripe": 3
    place: Place(3, 1)           -                                     "stripe": 3, "index_group": 1
    num_parts, parts             "num_row_groups", "row_groups"        "num_stripes", "stripes"
    groups, group_ndv            "row_groups", "row_group_ndv"         "index_groups", ...

Fields marked WHERE_KNOWN are left out where they are None, those marked IN_PYTHON always; those marked AS_TEXT are
text, and bytes are in hexadecimal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloom.container import Units, number_of
from parquet_bloom.container.shown_names import NamedAsShown, key_of, place_fields, units_of
from parquet_bloom.values.given import show_value

_COLLECTIONS = (list, tuple, set, frozenset)

# Annotations of fields whose values are in a document as they are.
_PLAIN = re.compile(r"(str|int|float|bool)( \| None)?")

# In UTF-8: U+007F to U+009F, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069; and how they begin.
_OBEYED = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")
_BEGIN_OBEYED = (b"\x7f", b"\xc2", b"\xe2\x80", b"\xe2\x81")

# What notebooks show of a table: every sentence whole, as nobody points at paper.
MOST_ROWS = 50
LONGEST_CELL = 1000
# What is longer is text to read.
LONGEST_WORD = 40
# What fits a line with others.
LONGEST_SHOWN = 80
# What a line does.
MOST_NOTES = 2


class VerbReport(NamedAsShown):
    """What the reports of all verbs can do. `_rows`: the field whose items are the rows of the report
    as a table; a second one is a field of these items; without any, the report is its only row. `_item`: the
    class of the items, where the field does not tell; `_left_out`: fields that are not in the only row;
    `_merged`: a field whose own fields stand in its place.
    `_shown_first`: the columns that a notebook begins with, those that answer, and fit a page of paper;
    `_told_below`: fields whose items it sums up below the rows."""

    __slots__ = ()
    _rows: ClassVar[tuple[str, ...]] = ()
    _item: ClassVar[type | None] = None
    _left_out: ClassVar[tuple[str, ...]] = ()
    _merged: ClassVar[str] = ""
    _shown_first: ClassVar[tuple[str, ...]] = ()
    _told_below: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if self._merged and not name.startswith("_") and name != self._merged:
                merged = getattr(self, self._merged)
                if hasattr(merged, name):
                    return getattr(merged, name)
            return super().__getattr__(name)

    def to_dict(self) -> dict[str, Any]:
        """The document that the command prints with --json. Raises UnsupportedError if
        it exceeds the memory budget, although the report does not."""
        self._check_document()
        return document_of(self._in_full())

    def _in_full(self) -> object:
        """What becomes the document: the report itself, unless a part of it has another form there."""
        return self

    def _check_document(self) -> None:
        """Raise as to_dict."""

    def to_arrow(self) -> Any:
        """The items of the report as a pyarrow.Table, with the path of the file in each row. Columns
        are named like the keys of the document; those of an item's item have a dot, as in
        `filter.fpp`. Their names and types are those of the class, whatever the report says."""
        from parquet_bloom.verbs.arrow_table import arrow_table

        return arrow_table(self)

    def _items(self) -> Iterator[dict[str, Any]]:
        if not self._rows:
            document = self.to_dict()
            yield {name: each for name, each in document.items() if name not in self._left_out}
            return
        units = units_of(self)
        outer, *inner = self._rows
        for item in getattr(self, outer):
            around = plain(item, units)
            rows = [around.pop(key_of(name, units)) for name in inner]
            # An item without any, such as a value that is absent, has a row of its own.
            for row in (rows[0] if rows else ()) or [{}]:
                yield dict(_flat({**_paths(self), **around, **row}))

    def __repr__(self) -> str:
        paths = " and ".join(_paths(self).values())
        name = f"{type(self).__name__} {paths}".rstrip()
        return f"<{name}: {', '.join(_facts(self))}{_noted(getattr(self, 'notes', ()))}>"

    def _repr_html_(self) -> str:
        """The first rows as a table, of the columns that have anything in them that fits a cell, those that answer
        first."""
        from html import escape

        rows = list(islice(self._page_rows(), MOST_ROWS))
        cells = {
            name: [_cell(row.get(name)) for row in rows]
            for name in (*self._begins_with(), *_names(rows))
            if name not in _paths(self) and not any(_is_nested(row.get(name)) for row in rows)
        }
        cells = {name: column for name, column in cells.items() if any(column)}
        table = html_table(cells, zip(*cells.values(), strict=True)) if rows else ""
        left = self._num_rows() - len(rows)
        more = f"<p>and {left:,} more</p>" if left else ""
        return f"<p>{escape(repr(self))}</p>{table}{more}{_html_list(self._page_notes())}"

    def _begins_with(self) -> Iterator[str]:
        units = units_of(self)
        return (key_of(name, units) for name in self._shown_first)

    def _page_rows(self) -> Iterator[dict[str, Any]]:
        """The rows as a notebook shows them."""
        return self._items()

    def _page_notes(self) -> Sequence[str]:
        """What a notebook says below the rows."""
        told = [line for name in self._told_below for line in _summed_up(name, getattr(self, name))]
        return [*told, *getattr(self, "notes", ())]

    def _as_row(self) -> dict[str, Any]:
        """What the report says, field by field, in a row about its file: of items, their number."""
        units = units_of(self)
        row: dict[str, Any] = {}
        for each in _shown(self):
            value = getattr(self, each.name)
            name = each.name if each.name.startswith("path") else key_of(each.name, units)
            is_many = isinstance(value, _COLLECTIONS) or (
                isinstance(value, Sequence) and not isinstance(value, str)
            )
            if is_many:
                row[name] = len(value)
            elif value is None or isinstance(value, str | int | float):
                row[name] = value
        return row

    @property
    def _num_files(self) -> int:
        """How many files it is about."""
        return 1

    @staticmethod
    def _in_total(reports: Sequence[Any]) -> str:
        """What these say together, beside how many they are; empty if nothing."""
        return ""

    def _num_rows(self) -> int:
        """The number of items, which are not made for that."""
        if not self._rows:
            return 1
        outer, *inner = self._rows
        items = getattr(self, outer)
        return sum(max(1, len(getattr(item, *inner))) for item in items) if inner else len(items)


def html_table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """For notebooks."""
    from html import escape

    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(text: str) -> str:
    """In a table wider than the page, a sentence keeps a width that it can be read in, and what has no spaces is as
    wide."""
    from html import escape

    if len(text) <= LONGEST_WORD:
        return f"<td>{escape(text)}</td>"
    shown = escape(text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…")
    return f'<td style="min-width: 20em; text-align: left; overflow-wrap: anywhere">{shown}</td>'


def _html_list(lines: Sequence[str]) -> str:
    from html import escape

    items = "".join(f"<li>{escape(line)}</li>" for line in lines[:MOST_ROWS])
    left = len(lines) - MOST_ROWS
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return (f"<ul>{items}</ul>" if items else "") + more


def _shown(report: Any) -> Iterator[Field[Any]]:
    """The fields that are in documents."""
    return (each for each in fields(report) if not each.metadata.get("in_python"))


def _paths(report: object) -> dict[str, str]:
    """The fields that name files."""
    names = ("path", "path_a", "path_b")
    return {name: getattr(report, name) for name in names if hasattr(report, name)}


def _facts(report: Any) -> Iterator[str]:
    """What a report says, field by field, with the number of items instead of the items, unless a field says it."""
    units, found = units_of(report), list(_shown(report))
    numbers = {each.name: getattr(report, each.name) for each in found if each.type == "int"}
    for each in found:
        value = getattr(report, each.name)
        is_elsewhere = each.name.startswith("path") or each.name == "notes"
        if is_elsewhere or value is None or isinstance(value, VerbReport):
            continue
        if isinstance(value, _COLLECTIONS):
            if numbers.get(f"num_{each.name}") == len(value):
                continue
            name = key_of(each.name, units)
            named = all(isinstance(item, str) for item in value) and len(str(value)) < LONGEST_SHOWN
            noun = name.removesuffix("s") if len(value) == 1 else name
            counted = _chunks(value, noun) or f"{len(value):,} {noun}{_actions(value)}"
            yield f"{name}={list(value)}" if named and value else counted
        elif not isinstance(value, str) or len(value) <= LONGEST_SHOWN:
            shown = f"{value:.4g}" if isinstance(value, float) else repr(value)
            yield f"{key_of(each.name, units)}={shown}"


def _noted(notes: Sequence[str]) -> str:
    """What is to be known, if that is a sentence or two; otherwise how much."""
    if len(notes) > MOST_NOTES:
        return f"; {len(notes):,} notes"
    return "".join(f"; note: {note}" for note in notes)


def _chunks(items: Iterable[object], noun: str) -> str:
    """`20 chunks skipped` of items that stand for so many each: beside files, `1 skipped` would be one of these."""
    chunks = [each.num_chunks for each in items if hasattr(each, "num_chunks")]
    return f"{number_of(sum(chunks), 'chunk')} {noun}" if chunks else ""


def _summed_up(name: str, items: Iterable[Any]) -> Iterator[str]:
    """`skipped id, 4 chunks: has a filter already`"""
    chunks: Counter[tuple[str | None, str, str]] = Counter()
    for each in items:
        rule = getattr(each, "rule", "")
        chunks[each.column, rule, each.reason] += getattr(each, "num_chunks", 1)
    for (column, rule, reason), count in chunks.items():
        where = f"{name} {column or ''}".rstrip()
        what = f"{rule}: {reason}" if rule else reason
        yield f"{where}, {number_of(count, 'chunk')}: {what}"


def _actions(items: Iterable[object]) -> str:
    """What was done, as in ` (3 appended, 20 too small)`; nothing of items to which nothing is done."""
    counts = Counter(each.action for each in items if hasattr(each, "action"))
    told = ", ".join(f"{count:,} {action}" for action, count in sorted(counts.items()))
    return f" ({told})" if told else ""


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", each) for key, each in _flat(value))
        else:
            yield name, value


def _names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of all columns; not of what is an item with columns of its own in any row."""
    names = [name for row in rows for name in row]
    nested = {name[: name.index(".")] for name in names if "." in name}
    return [name for name in dict.fromkeys(names) if name not in nested]


def _is_nested(value: object) -> bool:
    return isinstance(value, list) and not all(
        isinstance(each, str | int | float) for each in value
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def document_of(report: object) -> dict[str, Any]:
    """The document of a report."""
    document: dict[str, Any] = plain(report, units_of(report))
    return document


def as_json(document: object) -> bytes:
    """A document, or a report as one, on one line. Of a report with a million items, each becomes a
    document when it is written. Raises as VerbReport.to_dict."""
    # Ten times as fast as json, which for 100,000 chunks takes longer than to inspect them.
    import json

    import orjson

    if isinstance(document, VerbReport):
        document._check_document()
        document = document._in_full()
    units = units_of(document)
    try:
        return _shown_as_text(
            orjson.dumps(document, _item_converters(units).plain, orjson.OPT_PASSTHROUGH_DATACLASS)
        )
    except TypeError as error:
        if error.__cause__ is not None:
            # What a conversion raised: an interruption, say.
            raise error.__cause__ from None
    # A path that is not UTF-8, or an integer of more than 64 bits. JSON readers take the backslashed
    # form of a surrogate as such.
    text = json.dumps(plain(document, units), ensure_ascii=False, allow_nan=False)
    return _shown_as_text(text.encode(errors="backslashreplace"))


def _shown_as_text(line: bytes) -> bytes:
    """The same JSON, in which characters that JSON allows in text are escaped if a terminal would obey
    them: DEL and C1, ends of lines, and what changes the direction of text."""
    if not any(each in line for each in _BEGIN_OBEYED):
        return line
    return _OBEYED.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), line)


def plain(value: object, units: Units) -> Any:
    """The JSON value for any part of a report."""
    return _converters(units).plain(value)


class _Converters(dict[Any, "Callable[[Any], Any] | None"]):
    """What makes JSON values of each class; None for values that are in JSON as they are. A file may
    have 100,000 chunks: whatever their class alone decides is decided here, once."""

    def __init__(self, units: Units) -> None:
        self._units = units

    def plain(self, value: Any) -> Any:
        convert = self[value.__class__]
        return value if convert is None else convert(value)

    def inner(self, value: Any) -> Any:
        """What is in place of a part of a value."""
        return self.plain(value)

    def __missing__(self, kind: Any) -> Callable[[Any], Any] | None:
        self[kind] = found = self._converter(kind)
        return found

    def _converter(self, kind: Any) -> Callable[[Any], Any] | None:
        # Some collections make their items when they are asked for.
        is_lazy = issubclass(kind, Sequence) and not issubclass(kind, str | bytes)
        if is_lazy or issubclass(kind, _COLLECTIONS):
            return lambda value: [self.inner(each) for each in value]
        if issubclass(kind, dict):
            return lambda value: {key: self.inner(each) for key, each in value.items()}
        if is_dataclass(kind):
            return self._of_fields(kind)
        if issubclass(kind, StrEnum):
            return str
        return bytes.hex if issubclass(kind, bytes) else None

    def _of_fields(self, report: Any) -> Callable[[Any], dict[str, Any]]:
        units = self._units
        found = {each.name: each for each in _shown(report)}
        has_place = found.pop("place", None) is not None
        where_known = [name for name, each in found.items() if each.metadata.get("where_known")]
        as_text = [name for name, each in found.items() if each.metadata.get("as_text")]
        nested = [name for name, each in found.items() if not _PLAIN.fullmatch(str(each.type))]
        keys = {name: key_of(name, units) for name in found if key_of(name, units) != name}
        # A record has all its fields in a dictionary.
        is_record = not has_place and "__slots__" not in vars(report)

        def convert(value: Any) -> dict[str, Any]:
            document: dict[str, Any]
            document = (
                value.__dict__.copy()
                if is_record
                else {name: getattr(value, name) for name in found}
            )
            for name in where_known:
                if document[name] is None:
                    del document[name]
            for name in as_text:
                document[name] = _as_text(document[name])
            for name in nested:
                content = document.get(name)
                # Most chunks have no notes and the like.
                if content == ():
                    document[name] = []
                elif content is not None:
                    document[name] = self.inner(content)
            if not keys.keys().isdisjoint(document):
                document = {keys.get(name, name): each for name, each in document.items()}
            if has_place:
                return place_fields(value.place, units) | document
            return document

        return convert


def _as_text(value: Any) -> str | list[str]:
    """A value that was asked for, or several."""
    is_many = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return list(map(show_value, value)) if is_many else show_value(value)


class _ItemConverters(_Converters):
    """The same for one item, whose own items stay what they are."""

    def plain(self, value: Any) -> Any:
        convert = self[value.__class__]
        if convert is None:
            raise TypeError(f"{value.__class__.__name__}: has no place in a document")
        return convert(value)

    def inner(self, value: Any) -> Any:
        return value


_converters, _item_converters = cache(_Converters), cache(_ItemConverters)
