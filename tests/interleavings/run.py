"""Search all interleavings, and write what came of it into docs/reliability.md.

PYTHONPATH=tests python tests/interleavings/run.py [PLACE...]

Lines of other places stay.
"""

import sys
import time
from collections.abc import Mapping
from typing import Any

from fuzz import page
from interleavings import stores
from interleavings.scenarios import SEARCHED, Searched
from interleavings.search import search

Line = dict[str, Any]


def table(lines: page.Lines) -> str:
    head = "| | who | where | turns taken | states | runs | seconds |\n|-|-|-|-:|-:|-:|-:|\n"
    rows = [
        f"| {line['place']} | {line['who']} | {line['where']} | {line['turns']}"
        f" | {line['states']:,} | {line['runs']:,} | {line['seconds']:,} |\n"
        for line in lines
    ]
    states = sum(line["states"] for line in lines)
    runs = sum(line["runs"] for line in lines)
    seconds = sum(line["seconds"] for line in lines)
    total = f"\n{states:,} states, {runs:,} runs to their end, {seconds:,} seconds, 0 failures.\n"
    return head + "".join(rows) + total


def searched(each: Searched) -> Line:
    began = time.perf_counter()
    found = search(each.scenario, each.deep)
    for failure in found.failures:
        sys.exit(f"{each.place}, {each.who}, {each.where}: {failure.problem}: {failure.choices}")
    return {
        "place": each.place,
        "who": each.who,
        "where": each.where,
        "turns": "any" if each.deep is None else each.deep,
        "states": found.states,
        "runs": found.runs,
        "seconds": round(time.perf_counter() - began),
    }


def main() -> None:
    places = sys.argv[1:]
    found = {_key(line): line for line in page.known("interleavings")}
    with stores.servers():
        for each in SEARCHED:
            if not places or each.place in places:
                line = searched(each)
                found[_key(line)] = line
                sys.stderr.write(f"{line}\n")
                _write(found)


def _write(found: Mapping[tuple[str, str, str], Line]) -> None:
    order = [(each.place, each.who, each.where) for each in SEARCHED]
    page.write("interleavings", [found[key] for key in order if key in found], table)


def _key(line: Line) -> tuple[str, str, str]:
    return line["place"], line["who"], line["where"]


if __name__ == "__main__":
    main()
