"""What `pbloom dump --footer` prints: a line for each field, indented below the struct around it.

    offset  bytes
      4040    321  FileMetaData
      4040      2    1 version: 2
      4042     77    2 schema: list<SchemaElement>, 3 items

On a terminal, each line fits its width, and a large footer is an outline; a pipe gets all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from parquet_bloom.container import number_of
from parquet_bloom.container.footer_fields import Several
from parquet_bloom.render.table import shortened
from parquet_bloom.render.terminal import (
    printable,
    standard_output,
    terminal_columns,
    write_text,
)

if TYPE_CHECKING:
    from parquet_bloom.container.footer_fields import FooterField
    from parquet_bloom.verbs.dump_footer import FooterDump

# How much is written at a time.
BATCH = 64 << 10

# Characters or bytes of a value that become text at a time.
_PART = 16 << 10

_INDENT = "  "

# What an outline is made of: a footer with more lines; and what it shows of each list.
_MOST_LINES = 200
_FIRST_ITEMS = 10

# Each line below a struct, with its label and how deep it is; None is no field.
_Walk = Iterator[tuple[str, int, "FooterField | None"]]


def write_footer(report: FooterDump) -> None:
    """One line about the footer, and one for each of its fields."""
    _write(_lines(report, _tree))


def write_outline(report: FooterDump) -> None:
    """The same of a footer that is not large; of another, what is at its top, and how to see the rest."""
    whole = list(islice(_lines(report, _tree), _MOST_LINES + 1))
    if len(whole) <= _MOST_LINES:
        _write(whole)
        return
    _write(_lines(report, _outline))
    write_text("An outline: -c and -g show some columns and row groups, --verbose shows all.")


def _write(lines: Iterable[tuple[str, FooterField | None]]) -> None:
    width = terminal_columns() if sys.stdout.isatty() else None
    with standard_output() as out:
        for batch in _batches(_pieces(lines, width)):
            out.write(batch)


def write_footer_json(report: FooterDump) -> None:
    """Its document, on one line."""
    with standard_output() as out:
        out.flush()
        for part in report.json_parts():
            out.buffer.write(part)


def _batches(texts: Iterable[str]) -> Iterator[str]:
    waiting: list[str] = []
    taken = 0
    for text in texts:
        waiting.append(text)
        taken += len(text)
        if taken >= BATCH:
            yield "".join(waiting)
            waiting, taken = [], 0
    yield "".join(waiting)


def _pieces(lines: Iterable[tuple[str, FooterField | None]], width: int | None) -> Iterator[str]:
    """Lines, those of long values in pieces: one may be as long as the footer. `width`: cut them there."""
    for start, found in lines:
        line = [start] if found is None else _line(start, found)
        if width is not None:
            yield _cut(line, width)
        elif found is not None and found.length > _PART:
            yield from line
        else:
            yield "".join(line)
        yield "\n"


def _cut(pieces: Iterable[str], width: int) -> str:
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > width:
            break
    if len(text) <= width and text.isascii():
        return text
    return shortened(text, width)


def _lines(
    report: FooterDump, walk: Callable[[FooterField], _Walk]
) -> Iterator[tuple[str, FooterField | None]]:
    """How each line starts, and the field whose type and value follow, if it is one."""
    footer = report.footer
    place = f"{footer.length:,} bytes at {footer.offset}"
    yield printable(f"{report.path}: {footer.protection} footer, {place}, {footer.magic}"), None
    widths = max(6, len(str(report.size))), max(5, len(str(footer.length)))

    def start(offset: int | str, length: int | str) -> str:
        return f"{str(offset).rjust(widths[0])}  {str(length).rjust(widths[1])}  "

    yield start("offset", "bytes").rstrip(), None
    for whole in filter(None, (footer.crypto_metadata, footer.metadata)):
        for label, depth, found in walk(whole):
            offset, length = ("", "") if found is None else (found.offset, found.length)
            yield start(offset, length) + _INDENT * depth + label, found
    for stretch, about in ((footer.signature, "signature"), (footer.rest, "ignored by readers")):
        if stretch is not None:
            yield start(stretch.offset, stretch.length) + about, None


def _outline(whole: FooterField) -> _Walk:
    """Its fields, and the first items of those that are lists."""
    yield "", 0, whole
    for found in whole.content.fields or ():
        yield _label(found), 1, found
        items = found.content.items
        for item in islice(items or (), _FIRST_ITEMS):
            yield _item_label(item), 2, item
        if items is not None and items.count > _FIRST_ITEMS:
            yield f"… {items.count - _FIRST_ITEMS:,} more", 2, None


def _tree(whole: FooterField) -> _Walk:
    """Every field, with its label and how deep it is; without recursion, as there may be millions."""
    yield "", 0, whole
    inner = [(_label, iter(whole.content.fields or ()))]
    while inner:
        label, following = inner[-1]
        found = next(following, None)
        if found is None:
            inner.pop()
            continue
        yield label(found), len(inner), found
        if found.content.fields is not None:
            inner.append((_label, iter(found.content.fields)))
        elif found.content.items is not None:
            inner.append((_item_label, iter(found.content.items)))


def _label(found: FooterField) -> str:
    """`4 codec: `, `99 unknown: `"""
    return f"{found.number} {found.name or 'unknown'}: "


def _item_label(found: FooterField) -> str:
    """`[3] `, `[3] user_id: `"""
    return f"[{found.number}] " + ("" if found.name is None else f"{printable(found.name)}: ")


def _line(start: str, found: FooterField) -> Iterator[str]:
    """The type of a field in which others are, or that readers skip; what is wrong; its value, what that
    means, and its bytes if readers skip it."""
    content = found.content
    yield start
    if type(content.value) is int and content.note is None and found.stored is None:
        yield str(content.value)
        return
    gap = ""
    if content.fields is not None or content.items is not None or found.stored is not None:
        yield found.type
        gap = " "
    if content.items is not None:
        yield f", {number_of(content.items.count, 'item')}"
    if content.note is not None:
        yield f"{gap}({printable(content.note)})"
        gap = " "
    if content.value is not None and content.fields is None:
        yield gap
        is_text = found.stored is not None or "string" in found.type
        yield from _value(content.value, is_quoted=is_text)
    if content.decoded is not None:
        yield f" = {printable(content.decoded)}"
    if found.stored is not None:
        yield ", bytes "
        yield from _value(found.stored)


def _value(value: object, is_quoted: bool = True) -> Iterator[str]:
    """`is_quoted`: whether text is one, not a word of an enum."""
    if isinstance(value, Several):
        yield "["
        for index, each in enumerate(value):
            if index:
                yield ", "
            yield from _value(each, is_quoted)
        yield "]"
    elif isinstance(value, bytes):
        yield "0x"
        for at in range(0, len(value), _PART):
            yield value[at : at + _PART].hex()
    elif isinstance(value, str) and is_quoted:
        yield '"'
        for at in range(0, len(value), _PART):
            yield printable(value[at : at + _PART])
        yield '"'
    elif isinstance(value, bool):
        yield "true" if value else "false"
    else:
        yield str(value)
