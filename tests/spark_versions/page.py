"""The table of versions in docs/spark.md, from results.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
PAGE = ROOT / "docs" / "spark.md"
BEGIN, END = "<!-- versions: written by make spark-matrix -->\n", "<!-- end of versions -->\n"

# What counts beside Spark itself.
WITH = {"java": "Java", "python": "Python", "pandas": "pandas", "pyarrow": "pyarrow"}
# What a step comes to if nothing is wrong.
FINE = ("yes", "refused")
# A step that is newer than the last run with a version.
NOT_TRIED = "not tried"


def table(results: dict[str, Any]) -> str:
    """A line for each version, Python and kind of session."""
    heads = ["Spark", "with", "session", *_steps(results)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for found in results.values():
        for kind, each in found.items():
            versions = each["versions"]
            place = [
                versions["spark"],
                ", ".join(f"{title} {versions[name]}" for name, title in WITH.items()),
                _session(kind, versions),
            ]
            words = [_word(each["steps"].get(step, NOT_TRIED)) for step in _steps(results)]
            lines.append(f"| {' | '.join(place + words)} |")
    return "".join(f"{line}\n" for line in lines)


def _steps(results: dict[str, Any]) -> list[str]:
    """All; a version that was not tried since may lack the newest."""
    found = [each["steps"] for kinds in results.values() for each in kinds.values()]
    return list(max(found, key=len))


def _session(kind: str, versions: dict[str, str]) -> str:
    is_other = versions["server"] != versions["spark"]
    return f"{kind}, server {versions['server']}" if is_other else kind


def _word(said: str) -> str:
    return said if said in (*FINE, NOT_TRIED) else "**no**"


def page(results: dict[str, Any] | None = None) -> str:
    """docs/spark.md with the table of these results, by default those of the last run."""
    if results is None:
        results = json.loads(RESULTS.read_text())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(results)}{END}{after}"
