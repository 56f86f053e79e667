"""What `pbloom dump --footer` prints: a line for each field, indented below the struct around it.

    offset  bytes
      4040    321  FileMetaData
      4040      2    1 version: 2
      4042     77    2 schema: list<SchemaElement>, 3 items

On a terminal, each line fits its width; a pipe gets all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from parquet_bloom.container import number_of
from parquet_bloom.container.footer_fields import Several
from parquet_bloom.render.terminal import printable, standard_output, terminal_columns

if TYPE_CHECKING:
    from parquet_bloom.container.footer_fields import FooterField
    from parquet_bloom.verbs.dump_footer import FooterDump

# How much is written at a time.
BATCH = 64 << 10

# Characters or bytes of a value that become text at a time.
_PART = 16 << 10

_INDENT = "  "


def write_footer(report: FooterDump) -> None:
    """One line about the footer, and one for each of its fields."""
    width = terminal_columns() if sys.stdout.isatty() else None
    with standard_output() as out:
        for batch in _batches(_cut(_lines(report), width)):
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


def _cut(lines: Iterable[Iterable[str]], width: int | None) -> Iterator[str]:
    """The pieces of lines, each of which ends at `width`, if there is one."""
    for line in lines:
        if width is None:
            yield from line
        else:
            yield _fitting(line, width)
        yield "\n"


def _fitting(pieces: Iterable[str], width: int) -> str:
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > width:
            break
    if len(text) <= width and text.isascii():
        return text
    from parquet_bloom.render.table import shortened

    return shortened(text, width)


# ------------------------------------------------------------------------------------------------
# Lines, in pieces: a value may be as long as the footer


def _lines(report: FooterDump) -> Iterator[Iterable[str]]:
    footer = report.footer
    place = f"{footer.length:,} bytes at {footer.offset}"
    yield (printable(f"{report.path}: {footer.protection} footer, {place}, {footer.magic}"),)
    widths = max(6, len(str(report.size))), max(5, len(str(footer.length)))

    def start(offset: int | str, length: int | str, depth: int = 0) -> str:
        return f"{offset:>{widths[0]}}  {length:>{widths[1]}}  {_INDENT * depth}"

    def lines(found: FooterField, label: str, depth: int) -> Iterator[Iterable[str]]:
        yield _line(start(found.offset, found.length, depth) + printable(label), found)
        for each in found.content.fields or ():
            yield from lines(each, _field_label(each), depth + 1)
        for each in found.content.items or ():
            yield from lines(each, f"[{each.number}]", depth + 1)

    yield (start("offset", "bytes").rstrip(),)
    for whole in filter(None, (footer.crypto_metadata, footer.metadata)):
        yield from lines(whole, "", 0)
    for found, about in ((footer.signature, "signature"), (footer.rest, "read by nobody")):
        if found is not None:
            yield (start(found.offset, found.length) + about,)


def _field_label(found: FooterField) -> str:
    """`4 codec:`, `99 unknown:`"""
    return f"{found.number} {found.name or 'unknown'}:"


def _line(start: str, found: FooterField) -> Iterator[str]:
    """The line of a field: its type if others follow, its value, what that means, its bytes if readers skip
    it, what is wrong."""
    content = found.content
    yield start
    has_inner = content.fields is not None or content.items is not None
    if has_inner or found.stored is not None:
        yield f" {found.type}" if start[-1:].strip() else found.type
    if found.name is not None and start.endswith("]"):
        yield printable(f" {found.name}")
    if content.items is not None:
        yield f", {number_of(content.items.count, 'item')}"
    if content.note is not None:
        yield printable(f" ({content.note})")
    if content.value is not None and content.fields is None:
        yield " "
        is_text = found.stored is not None or "string" in found.type
        yield from _value(content.value, is_quoted=is_text)
    if content.decoded is not None:
        yield f" = {printable(content.decoded)}"
    if found.stored is not None:
        yield ", bytes "
        yield from _value(found.stored)


def _value(value: Any, is_quoted: bool = True) -> Iterator[str]:
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
    elif isinstance(value, str) and not is_quoted:
        yield value
    elif isinstance(value, str):
        yield '"'
        for at in range(0, len(value), _PART):
            yield printable(value[at : at + _PART])
        yield '"'
    elif isinstance(value, bool):
        yield "true" if value else "false"
    else:
        yield str(value)
