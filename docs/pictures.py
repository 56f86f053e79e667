"""Draw docs/block.svg, docs/row-groups.svg and docs/both-lengths.svg; `make pictures` runs it.

Each is light or dark as its reader's system is. What block.svg shows is what docs/how-a-filter-works.md has from the
command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

DOCS = Path(__file__).parent

# The value of the tutorial in its row group, as `pbloom probe --explain` shows it.
VALUE, STORED_BYTES, HASH = "361045656987", "9b85ff0f54000000", "679b21d918ecd78a"
BLOCK, NUM_BLOCKS, BITS = 3315, 8192, (1, 4, 17, 22, 10, 16, 25, 21)

STYLE = """<style>
text { font: 14px system-ui, sans-serif; fill: #1f2933 }
.small { font-size: 12px; fill: #52606d }
.code { font-family: ui-monospace, monospace }
.middle { text-anchor: middle }
.end { text-anchor: end }
.empty { fill: #eef2f6; stroke: #9aa5b1 }
.old { fill: #d9e2ec; stroke: #829ab1 }
.new, .set { fill: #2f9e7e; stroke: #1f7a5f }
.chosen { fill: #c6f0e2; stroke: #1f7a5f }
.line { fill: none; stroke: #829ab1; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb }
  .small { fill: #a9b4c0 }
  .empty { fill: #232931; stroke: #52606d }
  .old { fill: #3e4c59; stroke: #7b8794 }
  .chosen { fill: #1d4a3d; stroke: #3fc79f }
  .new, .set { fill: #3fc79f; stroke: #8ee6cc }
}
</style>"""


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f"<title>{title}</title>", STYLE, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, *kinds: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{" ".join(kinds)}">{words}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2" class="{kind}"/>'
    )


def line(*points: tuple[float, float]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" class="line"/>'


def block() -> Iterator[str]:
    """From a value to its block, and to eight bits of it."""
    yield text(20, 26, "value")
    yield text(90, 26, VALUE, "code")
    yield text(230, 26, f"stored as {STORED_BYTES}", "code", "small")
    yield text(20, 56, "XXH64")
    yield text(90, 56, HASH[:8], "code")
    yield text(160, 56, HASH[8:], "code")
    yield text(90, 74, "which block", "small")
    yield text(178, 74, "which bits", "small")
    # The array of blocks, of which one is chosen.
    yield text(20, 112, "filter")
    left, cell = 90, 24
    for at in range(23):
        yield box(left + at * cell, 96, cell - 3, 24, "chosen" if at == 9 else "empty")
    yield text(left + 9 * cell + 10, 138, f"block {BLOCK:,} of {NUM_BLOCKS:,}", "small", "middle")
    yield line((left + 9 * cell, 144), (left, 166))
    yield line((left + 10 * cell - 3, 144), (left + 32 * 17, 166))
    # Its eight words.
    for word, bit in enumerate(BITS):
        y = 172 + word * 22
        yield text(20, y + 13, f"word {word}", "small")
        for each in range(32):
            yield box(left + each * 17, y, 14, 16, "set" if each == bit else "empty")
        yield text(left + 32 * 17 + 6, y + 13, f"{bit}", "small")
    yield text(
        90,
        366,
        "Eight bits are set, one in each word. If one of them is clear, the value was never inserted.",
        "small",
    )


def row_groups() -> Iterator[str]:
    """What a look-up of one value reads of eight row groups."""
    for row, (name, read) in enumerate((("without filters", range(8)), ("with filters", (4,)))):
        y = 20 + row * 84
        yield text(20, y + 30, name)
        for group in range(8):
            x = 140 + group * 62
            yield box(x, y, 54, 46, "old" if group in read else "empty")
            yield text(x + 27, y + 28, "read" if group in read else "skipped", "middle", "small")
            if row:
                yield box(x, y + 50, 54, 7, "new")
    yield text(140, 184, "Green: the filters, which are asked first.", "small")


def both_lengths() -> Iterator[str]:
    """The layout of a file with filters behind its old footer."""
    parts = (
        (20, 300, "pages, statistics, indexes", "old"),
        (320, 110, "old footer", "old"),
        (430, 80, "filters", "new"),
        (510, 110, "new footer", "chosen"),
    )
    for x, width, name, kind in parts:
        yield box(x, 20, width, 44, kind)
        yield text(x + width / 2, 84, name, "middle", "small")
    for end, y, words in (
        (430, 112, "recorded size: the old file, byte for byte"),
        (620, 144, "whole: the same rows, with filters"),
    ):
        yield line((20, y - 6), (20, y), (end, y), (end, y - 6))
        yield text(24, y + 16, words, "small")


PICTURES = {
    "block.svg": (720, 380, "A split block Bloom filter", block),
    "row-groups.svg": (660, 200, "Row groups that a look-up reads", row_groups),
    "both-lengths.svg": (640, 172, "A file that is valid at both lengths", both_lengths),
}


def drawn(name: str) -> str:
    width, height, title, parts = PICTURES[name]
    return picture(width, height, title, parts())


if __name__ == "__main__":
    for name in PICTURES:
        (DOCS / name).write_text(drawn(name))
