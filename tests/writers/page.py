"""The table of writers in docs/reliability.md, from results.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- writers: written by make writers -->\n", "<!-- end of writers -->\n"

HEAD = """| written by | files | filters | look-ups | wrongly `absent` | `unknown` | absent elsewhere | its own filters: look-ups | wrongly `absent` |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def table(results: dict[str, Any]) -> str:
    rows = [_row(f"{name.split('-')[0]} {each['version']}", each) for name, each in results.items()]
    total = sum(sum(each["look_ups"].values()) for each in results.values())
    absent = sum(each["absent"] for each in results.values())
    own = sum(each["own"]["look_ups"] for each in results.values())
    own_absent = sum(each["own"]["absent"] for each in results.values())
    unknown = sum(sum(each["unknown"].values()) for each in results.values())
    files, filters = (sum(each[key] for each in results.values()) for key in ("files", "filters"))
    last = f"| **all** | {files:,} | {filters:,} | {total:,} | {absent:,} | {unknown:,} | | {own:,} | {own_absent:,} |\n"
    return HEAD + "".join(rows) + last


def _row(name: str, found: dict[str, Any]) -> str:
    elsewhere, own = found["elsewhere"], found["own"]
    share = (
        f"{100 * elsewhere['absent'] / elsewhere['look_ups']:.1f} %"
        if elsewhere["look_ups"]
        else ""
    )
    cells = (
        name,
        f"{found['files']:,}",
        f"{found['filters']:,}",
        f"{sum(found['look_ups'].values()):,}",
        f"{found['absent']:,}",
        f"{sum(found['unknown'].values()):,}",
        share,
        f"{own['look_ups']:,}" if own["look_ups"] else "",
        f"{own['absent']:,}" if own["look_ups"] else "",
    )
    return f"| {' | '.join(cells)} |\n"


def page(results: dict[str, Any] | None = None) -> str:
    """docs/reliability.md with the table of these results, by default those of the last run."""
    if results is None:
        results = json.loads(RESULTS.read_text())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(results)}{END}{after}"
