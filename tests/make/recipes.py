"""The recipes of docs/reading.md: the page's Python, by what it needs."""

from __future__ import annotations

import re
from typing import NamedTuple

from conftest import ROOT
from make.documents import blocks

# What is not installed with the others, as it wants another version of pyarrow, or starts servers: `make recipes`.
APART = ("daft", "ray")


class Recipe(NamedTuple):
    """`module`: whose import it begins with, other than ours and pyarrow's."""

    module: str
    code: str


def recipes() -> list[Recipe]:
    """In the order of the page."""
    return [
        Recipe(_module(code), code)
        for code in blocks((ROOT / "docs" / "reading.md").read_text(), "python")
    ]


def _module(code: str) -> str:
    found = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
    return next((name for name in found if name not in ("parquet_bloom", "pyarrow")), "pyarrow")
