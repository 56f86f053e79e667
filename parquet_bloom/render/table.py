"""Tables on a terminal: each row is one line, however narrow the terminal is.

A number, a hash or a name is never folded. What gives way, and in which order, is said by the table:

    ("note…", "data", "column…")    shorten the notes, then leave out data, then shorten the names
    ("min, max",)                   leave out both, as one says little without the other

After that, columns go from the right. What was shortened gets back what room is left.

Where nothing may give way, rows are records: the facts of a row, on as few lines as hold them.

    column: id  row group: 0  type: int64  filter: 8.0 KiB  FPP: 0.98 %
      note: the filter is larger than it has to be
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from parquet_bloom.render.palette import unmarked

GAP = 2
# What is left of a shortened column.
LEAST = 16
DOTS, RULE = "…", "─"
# Above names, and what else is told apart, though it has spaces; the first stands first in a record.
NAMES = ("column", "file", "value")
# Of a folded text.
INDENT = "  "


def natural_widths(table: Sequence[Sequence[str]]) -> list[int]:
    """How many cells of the terminal each column takes; the first row has the headings."""
    return [max(map(_width, column)) for column in zip(*table, strict=True)]


def total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def fitted(
    names: Sequence[str], natural: Sequence[int], room: int, gives: Sequence[str]
) -> list[int]:
    """The width of each column, 0 if it is left out."""
    widths = list(natural)
    shortened = []
    for step in (*gives, *names[:0:-1]):
        if total([width for width in widths if width]) <= room:
            break
        for name in step.removesuffix(DOTS).split(", "):
            if name not in names:
                continue
            at = names.index(name)
            if not step.endswith(DOTS):
                widths[at] = 0
            elif widths[at]:
                widths[at] = min(widths[at], max(LEAST, _width(name)))
                shortened.append(at)
    spare = room - total([width for width in widths if width])
    for at in reversed(shortened):
        if widths[at] and spare > 0:
            more = min(spare, natural[at] - widths[at])
            widths[at] += more
            spare -= more
    return widths


def cut(table: Sequence[Sequence[str]], widths: Sequence[int]) -> Sequence[Sequence[str]] | None:
    """The table without columns of no width, whose cells are as wide as these at most; None if names that differ
    would look alike then, or are left out."""
    columns = []
    for column, width in zip(zip(*table, strict=True), widths, strict=True):
        if width:
            short = _shortened_apart(column, width)
            if short is None:
                return None
            columns.append([short[cell] for cell in column])
        elif column[0] in NAMES:
            return None
    return list(zip(*columns, strict=True))


def not_whole(
    table: Sequence[Sequence[str]], widths: Sequence[int], name: str
) -> dict[str, list[str]]:
    """The cells of a column, if there is one of that name, which these widths shorten or leave out; of each, in which
    columns of a file it is said, where rows are about such."""
    header, *rows = table
    found: dict[str, list[str]] = {}
    for head, cells, width in zip(header, zip(*rows, strict=True), widths, strict=False):
        if head != name:
            continue
        for cell, row in zip(cells, rows, strict=True):
            if _width(cell) > width:
                subjects = [each for at, each in zip(header, row, strict=True) if at == NAMES[0]]
                found.setdefault(cell, []).extend(subjects)
    return {cell: list(dict.fromkeys(subjects)) for cell, subjects in found.items()}


def lines(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """The headings, a rule, and a line for each row; numbers are flush right, but for the first."""
    header, *rows = table
    widths = natural_widths(table)
    to_the_right = [
        at > 0 and all(cell[:1].isdigit() or cell[:1] in "<-" for cell in column[1:])
        for at, column in enumerate(zip(*table, strict=True))
    ]

    def line(row: Sequence[str]) -> str:
        return (" " * GAP).join(map(_set, row, widths, to_the_right)).rstrip()

    yield line(header)
    yield RULE * total(widths)
    yield from map(line, rows)


def records(table: Sequence[Sequence[str]], room: int) -> Iterator[str]:
    """Each row on as few lines as hold all of its cells with their headings, its name first."""
    header, *rows = table
    order = sorted(range(len(header)), key=lambda at: header[at] != NAMES[0])
    for row in rows:
        line = ""
        for fact in (f"{header[at]}: {row[at]}" for at in order if row[at]):
            longer = f"{line}{' ' * GAP}{fact}"
            if line and _width(longer) <= room:
                line = longer
                continue
            if line:
                yield line
            *full, line = folded(f"{INDENT if line else ''}{fact}", room)
            yield from full
        yield line


def shortened(text: str, width: int) -> str:
    """`text` in this many cells: a name loses its middle, other text its end."""
    return _with_both_ends(text, width, 0 if " " in text else (width - 1) // 2)


def _shortened_apart(column: Sequence[str], width: int) -> dict[str, str] | None:
    """Each cell of a column, shortened in such a way that names that differ still do; None if they cannot."""
    texts = dict.fromkeys(column)
    names = [text for text in texts if column[0] in NAMES or " " not in text]
    short = {text: shortened(text, width) for text in texts} | _apart(names, width)
    return short if len({short[name] for name in names}) == len(names) else None


def _apart(names: Sequence[str], width: int, at: int | None = None) -> dict[str, str]:
    """Names without their middle, but for what begins at character `at`; those that look alike then also with the
    place where they begin to differ."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_with_place(name, width, at), []).append(name)
    found: dict[str, str] = {}
    for text, those in alike.items():
        start = _where_they_differ(those)
        if len(those) == 1 or start == at:
            found |= dict.fromkeys(those, text)
        else:
            found |= _apart(those, width, start)
    return found


def _where_they_differ(names: Sequence[str]) -> int:
    """How many characters they all begin with."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(first))


def _with_place(name: str, width: int, at: int | None) -> str:
    """`name` in this many cells: its ends, and between them what stands around character `at`, if any."""
    end = (width - 2) // 3
    middle = width - 2 - 2 * end
    if at is None or _width(name) <= width:
        return _with_both_ends(name, width, (width - 1) // 2)
    place = name[max(at - middle // 3, 0) :]
    if _width(place) <= middle + 1 + end:
        return _with_both_ends(name, width, middle + 1 + end)
    return DOTS.join((_begin(name, end), _begin(place, middle), _end(name, end)))


def _with_both_ends(text: str, width: int, tail: int) -> str:
    """`text` in this many cells, `tail` of which are its end."""
    if _width(text) <= width:
        return text
    return _begin(text, width - 1 - tail) + DOTS + _end(text, tail)


def _begin(text: str, width: int) -> str:
    from rich.cells import set_cell_size

    return set_cell_size(text, width).rstrip()


def _end(text: str, width: int) -> str:
    return _begin(text[::-1], width)[::-1]


# Between words: a number stays with its unit.
_BLANK: Final = re.compile(r"\s+(?!(?:%|B|m?s|[KMGT]iB)(?!\w))")


def folded(text: str, room: int) -> list[str]:
    """`text` in lines of at most `room` cells, but for words that are longer. A command behind
    `next: ` is one word; on a line of its own, it needs no semicolon before it. All lines but the first are indented.
    What fits keeps its blanks: it may be a value."""
    if _width(text) <= room:
        return [text]
    before, mark, command = text.lstrip().partition("next: ")
    first, *words = [*filter(None, _BLANK.split(before)), *([mark + command] if mark else ())] or [
        ""
    ]
    lines = [text[: len(text) - len(text.lstrip())] + first]
    for word in words:
        if _width(lines[-1]) + 1 + _width(word) <= room:
            lines[-1] += f" {word}"
            continue
        if mark and word is words[-1]:
            lines[-1] = lines[-1].removesuffix(";")
        lines.append(f"{INDENT}{word}")
    return lines


def _set(text: str, width: int, to_the_right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if to_the_right else text + blank


def _width(text: str) -> int:
    text = unmarked(text)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
