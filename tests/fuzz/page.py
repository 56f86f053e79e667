"""The tables in docs/reliability.md, each between its marks, and the results that they show."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

Lines = Sequence[dict[str, Any]]


def result(name: str) -> Path:
    """Where the lines of the table `name` are kept."""
    return Path(__file__).with_name(f"{name}.json")


def known(name: str) -> list[dict[str, Any]]:
    """The lines that are kept; none if nothing was written yet."""
    lines: list[dict[str, Any]] = (
        json.loads(result(name).read_text()) if result(name).exists() else []
    )
    return lines


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table between the marks of `name`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, rest = page.split(begin)
    return f"{before}{begin}{table}{end}{rest.split(end)[1]}"


def write(name: str, lines: Lines, table: Callable[[Lines], str]) -> None:
    """Keep the lines, and show them on the page."""
    result(name).write_text(json.dumps(lines, indent=1) + "\n")
    PAGE.write_text(with_table(PAGE.read_text(), name, table(lines)))
