"""Tables on a terminal: each row is one line, however narrow the terminal is.

A number, a hash or a name is never folded. What gives way, and in which order, is said by the table:

    ("note…", "data", "column…")    shorten the notes, then leave out data, then shorten the names

After that, columns go from the right. What was shortened gets back what room is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquet_bloom.render.palette import unmarked

GAP = 2
# What is left of a shortened column.
LEAST = 16
DOTS, RULE = "…", "─"
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
        name = step.removesuffix(DOTS)
        if name not in names:
            continue
        at = names.index(name)
        if name == step:
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


def names_last(gives: Sequence[str]) -> Sequence[str]:
    """The same, but the names of columns are whole until all else that gives has gone."""
    names = f"column{DOTS}"
    return [*(step for step in gives if step != names), names]


def not_whole(table: Sequence[Sequence[str]], widths: Sequence[int], name: str) -> list[str]:
    """The cells of a column, if there is one of that name, which these widths shorten or leave out; each once."""
    header, *rows = table
    return [
        cell
        for head, column, width in zip(header, zip(*rows, strict=True), widths, strict=False)
        if head == name
        for cell in dict.fromkeys(column)
        if _width(cell) > width
    ]


def lines(table: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """The headings, a rule, and a line for each row; numbers are flush right, but for the first."""
    header, *rows = table
    to_the_right = [
        at > 0 and all(cell[:1].isdigit() or cell[:1] in "<-" for cell in column[1:])
        for at, column in enumerate(zip(*table, strict=True))
    ]
    cells = [(at, width) for at, width in enumerate(widths) if width]
    short = {at: _shortened_alike((row[at] for row in table), width) for at, width in cells}

    def line(row: Sequence[str]) -> str:
        shown = (_set(short[at][row[at]], width, to_the_right[at]) for at, width in cells)
        return (" " * GAP).join(shown).rstrip()

    yield line(header)
    yield RULE * total([width for _, width in cells])
    yield from map(line, rows)


def shortened(text: str, width: int) -> str:
    """`text` in this many cells: a name loses its middle, other text its end."""
    return _shortened(text, width, 0 if " " in text else (width - 1) // 2)


def _shortened(text: str, width: int, tail: int) -> str:
    """`text` in this many cells, `tail` of which are its end."""
    if _width(text) <= width:
        return text
    from rich.cells import set_cell_size

    end = set_cell_size(text[::-1], tail)[::-1].lstrip() if tail else ""
    return set_cell_size(text, width - 1 - tail).rstrip() + DOTS + end


def _shortened_alike(texts: Iterable[str], width: int) -> dict[str, str]:
    """Each of these texts, shortened in such a way that names that differ still do: without what is
    most often alike, the middle, else the beginning or the end, else not at all."""
    names = dict.fromkeys(texts)
    ways = ((width - 1) // 2, width - 1, 0, (width - 1) // 4, 3 * (width - 1) // 4)
    for tail in ways:
        found = {each: _shortened(each, width, 0 if " " in each else tail) for each in names}
        told = {short for each, short in found.items() if " " not in each}
        if len(told) == sum(" " not in each for each in names):
            return found
    return {each: each for each in names}


def folded(text: str, room: int) -> list[str]:
    """`text` in lines of at most `room` cells, but for words that are longer. A command behind
    `next: ` is one word. All lines but the first are indented."""
    before, mark, command = text.lstrip().partition("next: ")
    first, *words = [*before.split(), *([mark + command] if mark else ())] or [""]
    lines = [text[: len(text) - len(text.lstrip())] + first]
    for word in words:
        if _width(lines[-1]) + 1 + _width(word) <= room:
            lines[-1] += f" {word}"
        else:
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
