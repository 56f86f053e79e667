"""The tables of readers in docs/tables.md, from results.json."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.json"
PAGE = ROOT / "docs" / "tables.md"
BEGIN, END = "<!-- readers: written by make readers -->\n", "<!-- end of readers -->\n"

TITLES = {
    "query": "QueryBuilder (deltalake)",
    "dataset": "datasets (deltalake)",
    "pyiceberg": "PyIceberg",
    "polars": "Polars",
    "chdb": "chDB",
    "daft": "Daft",
    "pysail": "Sail",
}
KINDS = {"delta": "Delta Lake", "iceberg": "Iceberg"}


def tables(results: dict[str, Any]) -> str:
    return "\n".join(_table(kind, found) for kind, found in results.items())


def _table(kind: str, found: dict[str, Any]) -> str:
    readers = [name for name in TITLES if name in found["versions"]]
    heads = [f"{TITLES[name]} {found['versions'][name]}" for name in readers]
    lines = [
        f"| {KINDS[kind]} | {' | '.join(heads)} |",
        "|---" * (len(readers) + 1) + "|",
    ]
    features: dict[str, dict[str, Any]] = {}
    for case, answers in found["cases"].items():
        feature, _, variant = case.partition(": ")
        features.setdefault(feature, {})[variant] = answers
    for feature, variants in features.items():
        cells = (
            _cell({name: each[reader] for name, each in variants.items() if reader in each})
            for reader in readers
        )
        lines.append(f"| {feature} | {' | '.join(cells)} |")
    return "".join(f"{line}\n" for line in lines)


def _cell(variants: dict[str, dict[str, str]]) -> str:
    """What a reader does with all kinds of a feature; which of them are other than the most."""
    kinds: dict[str, list[str]] = {}
    for variant, states in variants.items():
        kinds.setdefault(word(states), []).append(variant)
    first, *others = sorted(kinds, key=lambda each: -len(kinds[each]))
    return "; ".join([first, *(f"{each}: {', '.join(kinds[each])}" for each in others)])


def word(states: dict[str, str]) -> str:
    """For what a reader found of one table in each state."""
    if wrong := [state for state in _states(states) if states[state] != "same"]:
        return f"**wrong** when {', '.join(wrong)}"
    if states["before"].startswith("refuses"):
        return "cannot read it"
    if states["before"] != "right":
        return "other rows, as before"
    return "equal, skips" if states["filters"] == "uses" else "equal"


def _states(states: dict[str, str]) -> Iterable[str]:
    return (state for state in states if state not in ("before", "filters"))


def page(results: dict[str, Any] | None = None) -> str:
    """docs/tables.md with the tables of these results, by default those of the last run."""
    if results is None:
        results = json.loads(RESULTS.read_text())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables(results)}{END}{after}"
